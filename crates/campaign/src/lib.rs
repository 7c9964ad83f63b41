//! Many runs: what `compare`, `study` and `sweep` have in common.
//!
//! A [`Case`] is a scenario under a policy in a place, with its seeds and listeners. Each of its runs has a name made
//! of all that decides it ([`Case::identity`]). [`Runner`] makes runs: in parallel where time is simulated, round by
//! round on a real machine, and each only once where there is a [`Cache`]. This crate chooses what is left open: the
//! kernel and the emulator of a virtual machine ([`Place`]), and the number of threads ([`threads`]).
//!
//! Readers of what was seen are elsewhere: they make cases and know what their listeners heard.

mod cache;
mod case;
mod digest;
mod ear;
mod perturb;
mod place;
mod runner;
mod seeds;
mod set;
mod spread;
mod vary;

pub use cache::Cache;
pub use case::{Case, Keeps};
pub use ear::{Ear, Heard, Hearing};
pub use perturb::{Changes, copies};
pub use place::Place;
pub use runner::{Errors, Known, Made, Runner, Seen};
pub use seeds::{further_seeds, seeds};
pub use set::RunSet;
pub use spread::{each, spread};
pub use vary::{Axis, Variant, short_paths, written};

/// How many runs may happen at once: as many as asked for, or one for each CPU.
pub fn threads(asked: Option<u32>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or_else(cores, |threads| threads as usize)
}
