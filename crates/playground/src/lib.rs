//! The simulator as a page runs it: a scenario and a policy in, the bytes that `schedlab run --json` prints out.
//!
//! [`policies`] describes the policies for the page, [`simulate`] makes one run. [`abi`] is how a page calls that.

pub mod abi;
mod choice;
mod description;
mod simulate;

pub use choice::{Choice, NoChoice};
pub use description::{PolicyDescription, policies};
pub use simulate::{Answer, Question, simulate};
