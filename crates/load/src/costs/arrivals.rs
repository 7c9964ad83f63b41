//! What creating a task takes that arrives from outside.

use super::settings;
use super::steps::workload;
use crate::run::{LoadError, Unwatched, run};

/// Arrivals in two runs. The difference leaves out what only the first ones cost.
const ARRIVALS: [u32; 2] = [32, 160];

/// CPU time of the master for each arrival, in nanoseconds.
pub fn arrival_ns() -> Result<f64, LoadError> {
    let [few, many] = ARRIVALS;
    let taken_ns = |count| {
        Ok::<f64, LoadError>(run(&workload(&scenario(count)), &settings(), &mut Unwatched)?.arrivals_cpu_ns as f64)
    };
    Ok((taken_ns(many)? - taken_ns(few)?) / f64::from(many - few))
}

/// Tasks that arrive one after the other and do nothing.
fn scenario(count: u32) -> String {
    format!(
        "name = \"costs\"\n[machine]\ncpus = 1\n[run]\nduration = \"10s\"\n[[task]]\nname = \"t\"\narrivals = \"3ms\"\n\
         limit = {count}\nonce = [{{ yield = true }}]\n"
    )
}
