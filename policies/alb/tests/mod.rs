//! Tests of `alb`: the vectors of its divisions, what it does on a machine, what each parameter changes, and what has been
//! published about it.

mod behaviour;
mod observe;
mod parameters;
mod published;
mod vectors;
