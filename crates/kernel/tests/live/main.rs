//! The recorder on the kernel that runs, compared with that kernel's own counters.

mod accounts;
mod lives;
mod remains;
mod rights;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod workers;
