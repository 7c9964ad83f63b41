//! rt-app files, in and out.
//!
//! rt-app is a load generator whose workloads are JSON files with all times in microseconds. What its documentation
//! describes and the scenario language can say *exactly* is carried over; anything else is an error that names it:
//!
//! | rt-app | here |
//! |---|---|
//! | `run`, `runtime` | `compute`, which is work, and `busy`, which is a time |
//! | `sleep`, `yield`, `lock`, `unlock`, `signal`, `suspend`, `resume` | the same |
//! | `sem_wait`, `sem_post` | `wait`, `post` |
//! | `wait`, `broad`, `sync` | `cond_wait`, `broadcast`, `signal` and `cond_wait` |
//! | `barrier` | `barrier`, with as many parties as rt-app counts: each use by each instance |
//! | `fork` | `spawn` |
//! | `timer` | `period`; after an overrun `"relative"` restarts, `"absolute"` catches up |
//! | `mem`, `iorun` | `compute`, at a speed that a remark says |
//! | `instance`, `delay`, `cpus`, `policy`, `priority`, `dl-runtime` | `count` (0: `spawned`), `start`, `cpus`, `class`, `nice`, `slice` |
//! | `dl-runtime`, `dl-deadline`, `dl-period` of `SCHED_DEADLINE` | `class` |
//! | `taskgroup` | `control_group`, `join` |
//! | `cpus`, `priority`, `taskgroup` of a phase | `set`, `join` |
//! | `loop` of a thread, of a phase | `loop` or `once`, `repeat`; each pass is a request, as each is a line of rt-app's log |
//! | `memrun` | none |
//!
//! An rt-app file says nothing about the machine: an imported scenario gets as many CPUs as its sets name. What is carried
//! over with changes, [`crate::scenario::Scenario::remarks`] says.

mod events;
mod export;
mod import;
mod json;
mod thread;

pub use export::export;
pub use import::{import, is_likely};

#[cfg(test)]
mod tests;
