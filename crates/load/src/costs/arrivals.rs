//! What creating a task takes that arrives from outside.

use super::settings;
use super::steps::workload;
use crate::run::{LoadError, Unwatched, run};

/// Tasks that arrive one after the other and do nothing.
const SCENARIO: &str = "name = \"costs\"\n[machine]\ncpus = 1\n[run]\nduration = \"10s\"\n[[task]]\nname = \"t\"\n\
                        arrivals = \"1ms\"\nlimit = 64\nonce = [{ yield = true }]\n";

/// CPU time of who creates them, for each.
pub fn arrival_ns() -> Result<Option<f64>, LoadError> {
    let report = run(&workload(SCENARIO), &settings(), &mut Unwatched)?;
    Ok((report.arrivals > 0).then(|| report.arrivals_cpu_ns as f64 / f64::from(report.arrivals)))
}
