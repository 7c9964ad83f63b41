//! What was seen of a value: once, and as often as it can be looked at again.

use crate::case::Experiment;
use crate::claim::{Per, ValueSpec};
use crate::language::Metric;
use crate::measure::{in_unit, look_up, look_up_each};
use crate::overhead::{self, Missing};
use crate::runner::{CaseOutcome, Observed};
use toml::Table;

/// Which of all that was seen.
#[derive(Clone, Copy, Debug)]
pub enum Look {
    /// All runs of a case together.
    Together,
    /// The same under another seed or with a small change: which.
    Further(usize),
    /// One of its runs alone: which.
    Run(usize),
}

impl Look {
    /// What a metric is there.
    fn at(self, observed: &Observed, metric: Metric, unit: &str) -> Result<f64, Missing> {
        let none = || Missing::NotRun("there are no further runs".into());
        match self {
            Look::Together => look_up(observed, metric, unit).map_err(Missing::NotRun),
            Look::Further(further) => {
                look_up(observed.further.get(further).ok_or_else(none)?, metric, unit).map_err(Missing::NotRun)
            }
            Look::Run(run) => look_up_each(observed, metric, unit).get(run).copied().ok_or_else(none),
        }
    }
}

/// What is run, and what came of it.
pub type Seen<'a> = (&'a Experiment, &'a [CaseOutcome]);

/// A value in its unit. A ratio is that of what the same look shows of both.
pub fn seen(value: &ValueSpec, at: &Table, all: Seen, look: Look) -> Result<f64, Missing> {
    let Some(per) = &value.per else { return own(value, at, all, look, &value.unit) };
    Ok(ratio(value, own(value, at, all, look, "")?, divisor(value, per, at, all, look)?))
}

/// A value in each run alone. A ratio of two cases is that of each run of one to each other run of the other: runs of one seed
/// share what is random, and samples of two machines do not.
pub fn in_each_run(value: &ValueSpec, at: &Table, all: Seen) -> Vec<f64> {
    let each = |of: &dyn Fn(Look) -> Result<f64, Missing>| -> Vec<f64> {
        (0..).map_while(|run| of(Look::Run(run)).ok()).collect()
    };
    let Some(per) = &value.per else { return each(&|look| own(value, at, all, look, &value.unit)) };
    let above = each(&|look| own(value, at, all, look, ""));
    let below = each(&|look| divisor(value, per, at, all, look));
    let pairs = above.iter().enumerate().flat_map(|(one, above)| {
        let others = below.iter().enumerate().filter(move |(other, _)| *other != one);
        others.map(move |(_, below)| ratio(value, *above, *below))
    });
    pairs.collect()
}

/// The ends of the middle of some numbers that has this part of them.
pub fn middle(mut numbers: Vec<f64>, part: f64) -> Option<[f64; 2]> {
    numbers.sort_by(f64::total_cmp);
    let last = numbers.len().checked_sub(1)?;
    let end = |q: f64| numbers[(q * last as f64).round() as usize];
    Some([end((1.0 - part) / 2.0), end((1.0 + part) / 2.0)])
}

/// A ratio has no unit of time; a percentage of a ratio stays one.
fn ratio(value: &ValueSpec, above: f64, below: f64) -> f64 {
    let ratio = above / below;
    if value.unit == "%" { 100.0 * ratio } else { ratio }
}

fn own(value: &ValueSpec, at: &Table, all: Seen, look: Look, unit: &str) -> Result<f64, Missing> {
    let metric = value.asks().expect("the study was checked");
    of((&value.run, value.policy.as_ref()), at, all, look, (metric, unit))
}

fn divisor(value: &ValueSpec, per: &Per, at: &Table, all: Seen, look: Look) -> Result<f64, Missing> {
    let Per { run, policy, at: elsewhere, metric } = per;
    let mut there = at.clone();
    there.extend(elsewhere.clone());
    let own = value.asks().expect("the study was checked");
    let metric = metric.as_ref().map_or(own, |path| Metric::Path(path));
    let case = (run.as_ref().unwrap_or(&value.run).as_str(), policy.as_ref().or(value.policy.as_ref()));
    of(case, &there, all, look, (metric, ""))
}

fn of(
    (run, policy): (&str, Option<&String>),
    at: &Table,
    (experiment, outcomes): Seen,
    look: Look,
    (metric, unit): (Metric, &str),
) -> Result<f64, Missing> {
    match metric {
        Metric::Overhead(metric) => {
            overhead::value((experiment, outcomes), (run, policy), at, metric, look).map(|value| in_unit(value, unit))
        }
        metric => {
            let observed = experiment.observed(run, policy, at, outcomes).map_err(Missing::NotRun)?;
            look.at(observed, metric, unit)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_leaves_the_same_part_out_on_both_sides() {
        let numbers: Vec<f64> = (0..=40).map(f64::from).collect();
        assert_eq!(middle(numbers.clone(), 0.95), Some([1.0, 39.0]));
        assert_eq!(middle(numbers, 1.0), Some([0.0, 40.0]));
        assert_eq!(middle(vec![3.0], 0.95), Some([3.0, 3.0]));
        assert_eq!(middle(Vec::new(), 0.95), None);
    }
}
