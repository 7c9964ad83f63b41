//! Tests of `linux-o1`: the vectors of both versions, what studies published, and how the tests look into a run.

mod balancing;
mod interactivity;
mod observe;
mod published;
mod sharing;
