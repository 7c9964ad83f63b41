//! Tests of `eevdf`: the vectors of its formulas and of the order of tasks, what it does on a machine, what has been published
//! about it, and what each parameter changes.

mod behaviour;
mod control_groups;
mod formulas;
mod group_weights;
pub(super) mod observe;
mod parameters;
mod published;
mod tree;
mod turns;
