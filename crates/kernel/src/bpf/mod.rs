//! What libbpf does: our programs in the kernel, their rings, and policies.

mod backlog;
mod enumerators;
mod followed;
mod order;
mod preempt_count;
mod recorder;
mod ring;
mod scheduler;
mod threads;
mod verifier;
mod wire;

pub use recorder::Recorder;
pub use scheduler::{Scheduler, VerifiedScheduler};
