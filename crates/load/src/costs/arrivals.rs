//! What creating a task takes that arrives from outside.

use super::settings;
use super::steps::workload;
use crate::run::{LoadError, Unwatched, run};
use schedlab_model::workload::Kind;

/// Arrivals in two runs. The difference leaves out what only the first ones cost.
const ARRIVALS: [u32; 2] = [32, 160];

/// CPU time of the master for each arrival of a task of this kind, in nanoseconds.
pub fn arrival_ns(kind: Kind) -> Result<f64, LoadError> {
    let [few, many] = ARRIVALS;
    let taken_ns = |count| {
        Ok::<f64, LoadError>(
            run(&workload(&scenario(kind, count)), &settings(), &mut Unwatched)?.arrivals_cpu_ns as f64,
        )
    };
    Ok((taken_ns(many)? - taken_ns(few)?) / f64::from(many - few))
}

/// Tasks that arrive one after the other and do nothing.
fn scenario(kind: Kind, count: u32) -> String {
    let kind = match kind {
        Kind::Thread => "thread",
        Kind::Process => "process",
    };
    format!(
        "name = \"costs\"\n[machine]\ncpus = 1\n[run]\nduration = \"10s\"\n[[task]]\nname = \"t\"\nkind = \"{kind}\"\narrivals = \"3ms\"\n\
         limit = {count}\nonce = [{{ yield = true }}]\n"
    )
}
