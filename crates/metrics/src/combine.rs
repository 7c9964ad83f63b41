//! Several runs that differ in the seed, as one outcome: of each metric the mean over the runs.

use crate::statistics::{is_repeated, mean, mean_interval};
use schedlab_model::metric::{Combine, Found, Part};
use schedlab_model::outcome::Outcome;
use schedlab_model::result::{EngineInfo, Provenance, RunResult};
use schedlab_model::runs::{
    Combined, ControlGroupRuns, CpuRuns, Estimate, Numbers, RoleRuns, Runs, RunsResult, SCHEMA, Total,
};

/// The coverage of all intervals.
pub const LEVEL: f64 = 0.95;

/// Puts runs of one scenario under one policy together, at least one. `wanted` runs had been asked for; fewer make the
/// outcome partial. One that was wanted alone stays as it is.
pub fn combine(runs: &[&RunResult], wanted: usize) -> Outcome {
    let first = runs[0];
    if wanted < 2 {
        return first.clone().into();
    }
    let roles = first.roles.iter().enumerate().map(|(index, role)| RoleRuns {
        name: role.name.clone(),
        metrics: numbers(&parts(runs, |run| Part::Role(&run.roles[index])), true),
    });
    let cpus = first.cpus.iter().enumerate().map(|(index, cpu)| CpuRuns {
        id: cpu.id,
        metrics: numbers(&parts(runs, |run| Part::Cpu(&run.cpus[index])), true),
    });
    let control_groups = first.control_groups.iter().enumerate().map(|(index, group)| ControlGroupRuns {
        path: group.path.clone(),
        knobs: group.knobs.clone(),
        metrics: numbers(&parts(runs, |run| Part::ControlGroup(&run.control_groups[index])), true),
    });
    let missing = once_each(runs.iter().flat_map(|run| &run.missing));
    let cautions = once_each(runs.iter().flat_map(|run| &run.cautions));
    let result = RunsResult {
        schema: SCHEMA.into(),
        scenario: first.scenario.clone(),
        policy: first.policy.clone(),
        venue: first.venue.clone(),
        warmup_ns: runs.iter().map(|run| run.warmup_ns).max().unwrap_or(0),
        provenance: common(&first.provenance),
        runs: Runs { count: runs.len() as u32, seeds: runs.iter().map(|run| run.seed).collect() },
        roles: roles.collect(),
        control_groups: control_groups.collect(),
        cpus: cpus.collect(),
        metrics: numbers(&parts(runs, Part::Run), true),
        partial: runs.iter().any(|run| run.partial) || runs.len() < wanted,
        algorithm: first.calibration.as_ref().map(|calibration| calibration.algorithm.clone()),
        missing,
        cautions,
    };
    result.into()
}

/// The tasks of several runs, each with its means and without intervals; none where the runs have other tasks, as where
/// arrivals make them.
pub fn tasks(runs: &[&RunResult]) -> Option<Vec<TaskRuns>> {
    let names = |run: &RunResult| run.tasks.iter().map(|task| (task.id, task.role.clone())).collect::<Vec<_>>();
    let first = names(runs.first()?);
    if runs.iter().any(|run| names(run) != first) {
        return None;
    }
    let task = |(index, (id, role)): (usize, (u32, String))| {
        let metrics = numbers(&parts(runs, |run| Part::Task(&run.tasks[index].measures)), false);
        TaskRuns { id, role, metrics }
    };
    Some(first.into_iter().enumerate().map(task).collect())
}

/// A task of several runs.
pub struct TaskRuns {
    /// Its number.
    pub id: u32,
    /// Its role's name.
    pub role: String,
    /// Its metrics.
    pub metrics: Numbers,
}

fn parts<'a>(runs: &[&'a RunResult], part: impl Fn(&'a RunResult) -> Part<'a>) -> Vec<Part<'a>> {
    runs.iter().map(|run| part(run)).collect()
}

/// What is the same in all runs.
fn common(provenance: &Provenance) -> Provenance {
    let engine = provenance.engine.clone().map(|engine| EngineInfo { boot_ns: None, ..engine });
    Provenance { engine, ..provenance.clone() }
}

/// All that is known of a part in some run, over the runs; with intervals if wanted.
fn numbers(parts: &[Part], has_intervals: bool) -> Numbers {
    let combined = |found: Found| {
        let values: Vec<Option<f64>> = parts.iter().map(|part| found.of(*part)).collect();
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        let n = known.len() as u32;
        let combined = match found.metric.combine {
            Combine::Sum => Combined::Sum(Total { sum: known.iter().sum(), n, values }),
            Combine::Mean => Combined::Mean(estimate(&known, values, has_intervals)?),
        };
        Some((found.path(), combined))
    };
    Part::all_known(parts).into_iter().filter_map(combined).collect()
}

fn estimate(known: &[f64], values: Vec<Option<f64>>, has_intervals: bool) -> Option<Estimate> {
    let interval = if has_intervals { mean_interval(known, LEVEL) } else { None };
    Some(Estimate {
        // A number that all runs gave is their mean to the last bit.
        mean: if is_repeated(known) { *known.first()? } else { mean(known)? },
        // No metric is negative.
        low: interval.map(|interval| interval.low.max(0.0)),
        high: interval.map(|interval| interval.high),
        level: interval.map(|interval| interval.level),
        n: known.len() as u32,
        values,
    })
}

/// The texts of all runs, each once.
fn once_each<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for text in texts {
        if !told.contains(text) {
            told.push(text.clone());
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::metric;
    use schedlab_model::result::{ControlGroupResult, CpuResult, LoadDistribution, Measures, RoleResult, Summary};
    use std::collections::BTreeMap;

    /// A run whose numbers are all made of `x`; requests end in runs with an even one only.
    fn run(x: u64) -> RunResult {
        let times = Summary {
            count: x,
            mean: 10 * x,
            sd: Some(x),
            cv: Some(0.1),
            min: x,
            p50: 2 * x,
            p90: 3 * x,
            p99: 4 * x,
            p999: 5 * x,
            max: 6 * x,
        };
        let measures = Measures {
            requests: x,
            longest_wait_ns: Some(x * x),
            response_ns: (x.is_multiple_of(2)).then_some(times),
            ..Measures::default()
        };
        let loads = BTreeMap::from([(x as u32, 0.5), (0, 0.5)]);
        RunResult {
            seed: x,
            duration_ns: 100 * x,
            roles: vec![RoleResult {
                name: "g".into(),
                count: x,
                measures,
                cv_of_task_means: None,
                jain_of_tasks: None,
                starved: None,
            }],
            control_groups: vec![ControlGroupResult { usage_ns: 2 * x, ..ControlGroupResult::default() }],
            cpus: vec![CpuResult { busy_frac: x as f64 / 10.0, ..CpuResult::default() }],
            load_distribution: Some(LoadDistribution { estimated: BTreeMap::new(), actual: Some(loads) }),
            lost: x,
            ..RunResult::default()
        }
    }

    fn combined(runs: &[RunResult]) -> Outcome {
        combine(&runs.iter().collect::<Vec<_>>(), runs.len())
    }

    #[test]
    fn one_run_that_was_wanted_alone_stays_as_it_is() {
        assert_eq!(combine(&[&run(3)], 1), Outcome::from(run(3)));
        let cut = combine(&[&run(3)], 2);
        assert!(cut.is_partial() && cut.whole().value("duration_ns").unwrap().interval.is_none());
    }

    #[test]
    fn every_metric_is_the_mean_of_the_runs_that_know_it() {
        let runs = [run(1), run(2), run(4)];
        let outcome = combined(&runs);
        for metric in metric::all().iter().filter(|metric| !metric.is_distribution()) {
            let found = metric::find(&metric.path).unwrap();
            let values: Vec<f64> = runs.iter().filter_map(|run| found.of(part(run, found))).collect();
            let view = match metric.level {
                metric::Level::Task | metric::Level::Role => outcome.roles()[0].metrics,
                metric::Level::ControlGroup => outcome.control_groups()[0].metrics,
                metric::Level::Cpu => outcome.cpus()[0].metrics,
                metric::Level::Run => outcome.whole(),
            };
            let value = view.of(found);
            assert_eq!(value.map_or(0, |value| value.n) as usize, values.len(), "{}", metric.path);
            let sum: f64 = values.iter().sum();
            let whole = if metric.combine == Combine::Sum { sum } else { sum / values.len() as f64 };
            assert!(value.is_none_or(|value| (value.number - whole).abs() < 1e-9), "{}: {value:?}", metric.path);
        }
        let response = outcome.roles()[0].metrics.value("response_ns.mean").unwrap();
        assert_eq!((response.number, response.n), (30.0, 2));
        assert!(response.interval.unwrap().low < 30.0 && 30.0 < response.interval.unwrap().high);
        assert_eq!(outcome.whole().get("lost"), Some(7.0));
    }

    fn part(run: &RunResult, found: Found) -> Part<'_> {
        match found.metric.level {
            metric::Level::Task | metric::Level::Role => Part::Role(&run.roles[0]),
            metric::Level::ControlGroup => Part::ControlGroup(&run.control_groups[0]),
            metric::Level::Cpu => Part::Cpu(&run.cpus[0]),
            metric::Level::Run => Part::Run(run),
        }
    }

    #[test]
    fn a_distribution_is_the_mean_of_its_fractions() {
        let outcome = combined(&[run(1), run(2), run(2), run(4)]);
        let loads = outcome.whole().distribution("load_distribution.true").unwrap();
        assert_eq!(loads, BTreeMap::from([(0, 0.5), (1, 0.125), (2, 0.25), (4, 0.125)]));
        assert_eq!(outcome.whole().distribution("load_distribution.estimated"), None);
        let none = outcome.whole().value("load_distribution.true.9").unwrap();
        assert_eq!((none.number, none.n), (0.0, 4));
    }

    #[test]
    fn what_was_written_is_read_again() {
        for outcome in
            [combined(&[run(1), run(2)]), combine(&[&RunResult { schema: "schedlab.result/2".into(), ..run(3) }], 1)]
        {
            let text = serde_json::to_string(&outcome).unwrap();
            assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome);
        }
        let told = |text: &str| serde_json::from_str::<Outcome>(text).unwrap_err().to_string();
        assert!(told(r#"{"schema": "schedlab.runs/1", "runs": {}}"#).contains("of an earlier version: run it again"));
        assert!(told(r#"{"schema": 3}"#).contains("its field `schema` is ``"));
    }
}
