//! What the shipped policies do: golden traces for all, vectors and variants for some. The tests crate includes this.

mod golden;
#[path = "mlfq/tests/mod.rs"]
mod mlfq;
#[path = "rr/tests.rs"]
mod rr;
#[path = "ule/tests/mod.rs"]
mod ule;
