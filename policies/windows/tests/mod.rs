//! Tests of `windows`: the vectors of the dispatcher, what has been published about it, what each parameter changes, and
//! how they look into a run.

mod observe;
mod published;
mod variants;
mod vectors;
