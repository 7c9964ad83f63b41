//! A run on a real kernel: the load under the eyes of the recorder. As a library on this machine, and as the first and
//! only program of a virtual machine.
//!
//! A guest has no disk and no network. Its initramfs holds [`init::main`]'s program and a [`Job`]; what it has to say
//! leaves through one I/O port, in checked frames ([`frame`]), after the run and at no virtual time.

mod charge;
pub mod frame;
pub mod init;
mod measurer;
pub mod message;
mod port;
mod program;
mod watch;

pub use charge::InCharge;
pub use message::{
    Job, Loaded, LoadedWhat, MachineBlank, Message, ObjectJob, Outcome, PolicyJob, ProgramJob, ProgramReport, Room,
};
pub use port::Port;
pub use watch::{Counted, MeasureError, Measured, measure};
