//! Searches for the smallest scenario that shows what is wrong with a policy.
//!
//! [`draw`] makes a scenario from a seed: a machine and tasks that do anything that tasks can do. [`Judge`] runs it under a
//! policy and says what is wrong, if anything is: a [`Finding`]. [`shrink`] makes a scenario smaller as long as the same is
//! wrong. [`search`] does this for one seed after the other, on all cores, and the same seeds give the same findings.

mod draw;
mod finding;
mod judge;
mod kept;
mod kernel;
mod overload;
mod reached;
mod search;
mod shrink;
mod text;

pub use draw::draw;
pub use finding::{Finding, Kind};
pub use judge::{Bounds, Judge};
pub use kernel::{InKernel, Shows};
pub use reached::File;
pub use search::{Found, Options, Search, SearchError, State, Told};
pub use shrink::{Shrunk, shrink};
pub use text::{lines, to_toml};
