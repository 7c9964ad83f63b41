//! Tests of `cfs`: the vectors of its formulas, what it does on a machine, what has been published about it, and what each
//! parameter changes.

mod behaviour;
mod formulas;
mod groups;
mod limits;
pub(super) mod observe;
mod parameters;
mod published;
mod weights;
