//! What continues attacking: for each entry point for untrusted bytes, a *target* that takes any bytes.
//!
//! A target must come back, soon, without a panic, and with what it promises; it says in a number what came of the
//! bytes. An input with a new number is kept and changed further, so that inputs get deeper without any instrumentation
//! of the program: it runs with the compiler and the flags that everything else is built with.
//!
//! ```text
//! seeds ──▶ change ──▶ target, in a process of its own ──▶ new answer: kept · panic, abort, too slow: a finding
//! ```

pub mod change;
pub mod drive;
pub mod notebook;
pub mod rng;
pub mod signals;
pub mod target;
mod targets;

pub use target::{Answer, Target, all};
