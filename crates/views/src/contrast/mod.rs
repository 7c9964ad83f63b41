//! Two traces next to each other: whose waits for a CPU changed, where, and why.
//!
//! [`Account`] goes over one trace and keeps, for each role, how long its tasks waited in each *block* of time, on which
//! CPU, and what had it meanwhile. [`Contrast`] holds two accounts against each other. Waits of one moment depend on
//! one another, so the block and not the wait is the unit of what is resampled; blocks are equally long in both traces,
//! which need not be. [`Evidence`] goes over a trace once more, for the worst waits, and says about each why that CPU and why
//! that long.

mod account;
mod compare;
mod evidence;

pub use account::{Account, Had, Waited, Worst};
pub use compare::{BLOCKS, Change, Contrast, Shift, block_length};
pub use evidence::{Case, Evidence, Who};
