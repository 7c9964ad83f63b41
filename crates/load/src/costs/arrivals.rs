//! What creating a task takes that arrives from outside.

use super::steps::workload;
use crate::algorithm::Algorithm;
use crate::calibration::Calibration;
use crate::run::{LoadError, Settings, Watcher, run};
use schedlab_model::time::Time;
use std::time::Duration;

/// Tasks that arrive one after the other and do nothing.
const SCENARIO: &str = "name = \"costs\"\n[machine]\ncpus = 1\n[run]\nduration = \"10s\"\n[[task]]\nname = \"t\"\n\
                        arrivals = \"1ms\"\nlimit = 64\nonce = [{ yield = true }]\n";

/// Nobody watches.
struct Unwatched;

impl Watcher for Unwatched {
    fn go_on(&mut self, _: Time) -> bool {
        true
    }
}

/// CPU time of who creates them, for each.
pub fn arrival_ns() -> Result<Option<f64>, LoadError> {
    let settings = Settings {
        algorithm: Algorithm::Spin,
        calibration: Calibration::unknown(Algorithm::Spin),
        seed: 1,
        look: Duration::from_secs(1),
        others: None,
    };
    let report = run(&workload(SCENARIO), &settings, &mut Unwatched)?;
    Ok((report.arrivals > 0).then(|| report.arrivals_cpu_ns as f64 / f64::from(report.arrivals)))
}
