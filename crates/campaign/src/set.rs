//! The runs of a case together.

use crate::runner::Seen;
use schedlab_metrics::combine::combine;
use schedlab_metrics::curve::{Curve, RoleCurves};
use schedlab_model::outcome::Outcome;
use schedlab_model::result::RunResult;
use schedlab_venue::Run;

/// All runs of a case.
#[derive(Clone, Debug)]
pub struct RunSet {
    /// The runs put together.
    pub result: Outcome,
    /// Each run, in the order of the seeds.
    pub runs: Vec<Run>,
    /// How the times of each role are distributed: the means of the runs' curves.
    pub curves: Vec<RoleCurves>,
}

impl RunSet {
    /// Combines the runs that were made, at least one, of the `wanted` ones.
    pub fn of(seen: Vec<Seen>, wanted: usize) -> RunSet {
        let runs: Vec<Run> = seen.into_iter().map(|seen| seen.run).collect();
        let results: Vec<&RunResult> = runs.iter().map(|run| &run.result).collect();
        let result = combine(&results, wanted);
        let curves = (0..results[0].roles.len()).map(|role| mean_curves(&runs, role)).collect();
        RunSet { result, runs, curves }
    }
}

/// The means of the curves of a role.
fn mean_curves(runs: &[Run], role: usize) -> RoleCurves {
    let mean = |of: fn(&RoleCurves) -> &Curve| Curve::mean(runs.iter().map(|run| of(&run.curves[role])));
    RoleCurves { response: mean(|curves| &curves.response), wakeup_latency: mean(|curves| &curves.wakeup_latency) }
}
