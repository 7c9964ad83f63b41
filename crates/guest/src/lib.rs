//! A run on a real kernel: the load under the eyes of the recorder. As a library on this machine, and as the first and
//! only program of a virtual machine.
//!
//! A guest has no network and reads no disk. Its initramfs holds [`init::main`]'s program and its [`Setup`]. Its [`Work`] lies there too,
//! or is handed over when the machine is set up ([`handover`]). What it has to say leaves through one I/O port, in checked frames
//! ([`frame`]), after the run and at no virtual time.

mod charge;
pub mod frame;
pub mod handover;
pub mod init;
mod measurer;
pub mod message;
mod port;
mod program;
mod watch;

pub use charge::InCharge;
pub use message::{
    Job, Loaded, LoadedWhat, MachineBlank, Message, ObjectJob, Outcome, PolicyJob, ProgramJob, ProgramReport, Room,
    Setup, Work,
};
pub use port::Port;
pub use watch::{Counted, MeasureError, Measured, measure};
