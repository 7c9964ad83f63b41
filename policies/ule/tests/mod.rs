//! Tests of `ule`: its formulas against numbers worked out by hand, what it does in scenarios, what was published about
//! it, what each parameter changes, and how they look into a run.

mod balancing;
mod behaviour;
mod formulas;
mod observe;
mod variants;
