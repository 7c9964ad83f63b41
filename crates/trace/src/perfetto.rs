//! Traces as Perfetto's protobuf.
//!
//! In the Perfetto UI a trace shows
//! - one track per CPU with the tasks that ran (scheduling events in the kernel's form, so that Perfetto's tables of
//!   scheduling, `sched` and `thread_state`, are filled too),
//! - one process per role and in it one track per task, with slices `running`, `runnable` and `blocked`; below it the
//!   task's requests, and what the policy said about it as a counter,
//! - an arrow from each waker to the task that it woke,
//! - ticks and overhead on a track per CPU.
//!
//! Every event of ours has exactly one packet that carries all its fields as annotations, which the UI shows when the
//! slice is selected; reading the file back is collecting these. The header is in a packet of attributes, once at
//! the start, where it says that the file is ours, and once at the end, where it says that the file is whole.

mod annotations;
mod messages;
mod reader;
mod tracks;
mod writer;

pub(crate) use reader::open;
pub(crate) use writer::Encoder;

/// The key under which the header stands among the trace's attributes.
const HEADER_KEY: &str = "schedlab.trace";
