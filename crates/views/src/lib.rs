//! What a trace shows when it is asked: events in, data out. Knows no file and no terminal.
//!
//! | view | question |
//! |---|---|
//! | [`latency`] | how long after its wake-up did each task run? |
//! | [`queue`] | why did one of them wait: which tasks were there, and which ran before it? |
//! | [`status`] | what did the policy say about a task, and when? |
//! | [`timeline`] | which task ran where? |
//! | [`slices`] | the same, of all slices and wake-ups, packed for a picture that can be zoomed into |
//! | [`course`] | how did loads, shares and statuses go over time? |
//! | [`usage`] | what did control groups use over time, against their limits? |
//! | [`summary`] | what is in the trace? |
//! | [`contrast`] | whose waits changed from one trace to another, where and why? |
//!
//! The first three are what Torrey, Coleman and Miller (*A comparison of interactivity in the Linux 2.6 scheduler and an
//! MLFQ scheduler*, 2007) added to a kernel as system calls: `trace_pid`, `trace_queue`, `trace_status`. Here they need a
//! trace only, so they work for every venue.
//!
//! A view is a [`schedlab_model::trace::Sink`]: it sees all events of a trace once, in order, and keeps what it was
//! asked for. What that is, a [`Selection`] says.

pub mod buckets;
pub mod contrast;
pub mod course;
pub mod latency;
pub mod queue;
mod roster;
mod selection;
pub mod slices;
pub mod status;
pub mod summary;
#[cfg(test)]
mod test_helpers;
pub mod timeline;
pub mod usage;
mod waits;

pub use roster::Roster;
pub use selection::{Selection, TaskChoice, Who};
pub use waits::{Wait, WaitEnd};
