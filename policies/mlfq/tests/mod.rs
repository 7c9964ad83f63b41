//! Tests of `mlfq`: the vectors of the base policy, what each parameter changes, and how they look into a run.

mod observe;
mod variants;
mod vectors;
