//! Turns a scenario's programs into real threads and processes, which burn calibrated work and really sleep, wait,
//! send and fork, and says what they saw.
//!
//! The tasks live in a child process of the program: it dies with the program, they die with it, and everything that
//! they saw is in memory which the program shares with them. Nothing here looks at the kernel's scheduler; that is the
//! recorder's business.

mod account;
pub mod algorithm;
mod apart;
mod arrivals;
mod attributes;
pub mod calibration;
mod channel;
mod clock;
mod control_groups;
pub mod costs;
mod device;
mod futex;
mod gate;
mod guarded;
mod master;
mod plug;
mod process;
mod program;
mod rank;
mod refusal;
mod requests;
mod reserve;
mod run;
mod rwlock;
mod shared;
mod site;
mod standstill;
mod stat;
mod store;
mod worker;

pub use algorithm::Algorithm;
pub use apart::Apart;
pub use calibration::{Calibration, CalibrationError, Verification};
pub use clock::{now_ns, sleep_until};
pub use control_groups::{Counters as ControlGroupCounters, here as control_groups_here};
pub use guarded::{Ended, Guarded};
pub use master::TICKS_NS;
pub use program::find as find_program;
pub use rank::{Ranks, calm};
pub use reserve::{Reserve, Served, reserve};
pub use run::{
    LATE_NS, LoadError, ReleaseReport, Report, RequestReport, Settings, TaskReport, TasksCpu, WaitingReport, Watcher,
    run,
};
pub use store::{cache_folder, calibration as obtain, fingerprint, verified};
