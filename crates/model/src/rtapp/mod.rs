//! rt-app files, in and out.
//!
//! rt-app is a load generator whose workloads are JSON files with all times in microseconds. What its documentation
//! describes and the scenario language can say *exactly* is carried over; anything else is an error that names it:
//!
//! | rt-app | here |
//! |---|---|
//! | `run` | `compute`: it is work, not wall time |
//! | `sleep`, `yield`, `lock`, `unlock` | the same |
//! | `sem_wait`, `sem_post` | `wait`, `post` |
//! | `barrier` | `barrier`, with as many parties as rt-app counts: each use by each instance |
//! | `fork` | `spawn` |
//! | `instance`, `delay`, `cpus`, `policy`, `priority` | `count` (0: `spawned`), `start`, `cpus`, `class`, `nice` |
//! | `loop` of a thread, of a phase | `loop` or `once`, `repeat` |
//! | `runtime` | none: it burns wall time, however fast the CPU is |
//! | `timer` | `period`; after an overrun `"relative"` begins anew, `"absolute"` catches up |
//! | `wait`, `signal`, `broad`, `sync`, `suspend`, `resume` | none: a signal is lost when nobody waits, a `post` never |
//! | `mem`, `memrun`, `iorun` | none: bytes are not a time |
//! | `SCHED_DEADLINE`, `util_min`, `util_max`, `taskgroup`, `nodes_membind` | none |
//!
//! An rt-app file says nothing about the machine: an imported scenario gets as many CPUs as its sets name.

mod events;
mod export;
mod import;
mod json;

pub use export::export;
pub use import::import;

#[cfg(test)]
mod tests;
