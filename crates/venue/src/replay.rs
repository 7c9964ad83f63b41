//! Replays a trace file: through the validator, and to be measured.

use schedlab_metrics::collector::{Collector, RunIdentity};
use schedlab_metrics::curve::RoleCurves;
use schedlab_metrics::validator::{Expectations, Findings, Validator};
use schedlab_model::control_group::ControlGroups;
use schedlab_model::ids::CpuId;
use schedlab_model::machine::Machine;
use schedlab_model::result::{CpuResult, PolicyInfo, Provenance, RunResult};
use schedlab_model::time::Time;
use schedlab_model::trace::Sink;
use schedlab_model::workload::{Birth, Class, Kind, Objects, Program, Role, Run, Workload};
use schedlab_simulation::{Discipline, discipline, scenario_info};
use schedlab_trace::{Error, Header, Reader, Report, check};
use std::collections::BTreeMap;
use std::path::Path;

/// What a trace file was found to be.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The file and its header.
    pub report: Report,
    /// What the laws say about it.
    pub findings: Findings,
}

/// Checks a trace file against the laws that every trace obeys.
pub fn replay(path: &Path) -> Result<Replay, Error> {
    let header = Reader::open(path)?.header().clone();
    let workload = workload(&header);
    let fluid = discipline(&header.policy).is_some_and(Discipline::is_fluid);
    let expectations = Expectations { workload: Some(&workload), lost_events: header.lost > 0, fluid };
    let (report, validator) = check(path, |_| Validator::new(expectations))?;
    Ok(Replay { report, findings: validator.into_findings() })
}

/// What a trace file shows when it is measured again.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The measures, as far as a trace says.
    pub result: RunResult,
    /// How the times of each role are distributed.
    pub curves: Vec<RoleCurves>,
}

/// What is not in a trace.
const UNKNOWN: &str = "what a trace does not hold: a warm-up, nice values, the parameters of the policy";

/// Measures what is in a trace file; the listener that `listener` makes for its workload hears all events. A trace that breaks a
/// law has no measures: it is an error, [`Error::Damaged`].
pub fn remeasure<S: Sink>(path: &Path, listener: impl FnOnce(&Workload) -> S) -> Result<(Measured, S), Error> {
    if let Some(first) = replay(path)?.findings.reported.first() {
        return Err(Error::Damaged { path: path.to_owned(), what: format!("it violates an invariant: {first}") });
    }
    let mut reader = Reader::open(path)?;
    let header = reader.header().clone();
    let workload = workload(&header);
    let is_fluid = discipline(&header.policy).is_some_and(Discipline::is_fluid);
    let collector = if is_fluid { Collector::new_fluid(&workload) } else { Collector::new(&workload) };
    let mut sinks = (collector, listener(&workload));
    reader.try_for_each(|event| event.map(|event| sinks.event(&event)))?;
    sinks.finish(header.end);
    let (collector, listener) = sinks;
    let mut measures = collector.into_measures();
    let curves = std::mem::take(&mut measures.curves);
    let mut result = measures.into_result(identity(&header, &workload));
    if header.venue != "sim" {
        // What a kernel takes for itself is in the tasks' time, and a CPU that serves others looks idle.
        (result.overhead_ns, result.work_conservation_violation) = (None, None);
    }
    result.missing.extend(unknown_time(&result.cpus, result.duration_ns));
    Ok((Measured { result, curves }, listener))
}

/// What it means for the numbers that it is not known what had the CPUs for a part of the time, if there is one.
pub(crate) fn unknown_time(cpus: &[CpuResult], duration_ns: u64) -> Option<String> {
    let unknown: f64 = cpus.iter().filter_map(|cpu| cpu.unknown_frac).sum();
    let time = Time((unknown * duration_ns as f64).round() as u64);
    let percent = 100.0 * unknown / cpus.len().max(1) as f64;
    (time > Time::ZERO).then(|| {
        format!(
            "which task had the CPUs for {time} ({percent:.2} % of their time), since events are missing: each role may have had up to \
             that much more CPU time, and waits of that time are not known"
        )
    })
}

fn identity(header: &Header, workload: &Workload) -> RunIdentity {
    RunIdentity {
        scenario: scenario_info(workload),
        policy: PolicyInfo { name: header.policy.clone(), parameters: BTreeMap::new() },
        venue: header.venue.clone(),
        seed: header.seed,
        provenance: Provenance {
            version: env!("CARGO_PKG_VERSION").into(),
            scenario_hash: String::new(),
            policy_hash: None,
            kernel: None,
            engine: None,
        },
        lost: header.lost,
        partial: false,
        calibration: None,
        kernel_run_delay_ns: None,
        missing: vec![UNKNOWN.into()],
        cautions: Vec::new(),
    }
}

/// As much of the workload as the header says: the CPUs, the roles and where their tasks may run.
pub(crate) fn workload(header: &Header) -> Workload {
    let role = |role: &schedlab_trace::Role| Role {
        name: role.name.clone(),
        count: None,
        birth: Birth::At(Time::ZERO),
        start_on: None::<CpuId>,
        nice: 0,
        slice: None,
        class: Class::Other,
        cpus: role.cpus.clone(),
        kind: Kind::Thread,
        control: Default::default(),
        program: Program { steps: Vec::new(), repeats: false, repeat_depth: 0, items: None },
    };
    Workload {
        name: header.scenario.clone(),
        about: String::new(),
        machine: Machine::flat(header.cpus),
        roles: header.roles.iter().map(role).collect(),
        control_groups: ControlGroups::root_alone(header.cpus),
        objects: Objects::default(),
        sources: Vec::new(),
        hotplug: Vec::new(),
        run: Run {
            duration: header.end,
            warmup: header.setting.as_ref().map_or(Time::ZERO, |setting| setting.warmup),
            period_phase: Default::default(),
            seed: header.seed,
            calls: false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_which_nobody_knows_is_told_with_what_it_touches() {
        let cpu = |unknown_frac| CpuResult { unknown_frac, ..CpuResult::default() };
        assert_eq!(unknown_time(&[cpu(Some(0.0)), cpu(None)], 1_000_000_000), None);
        let told = unknown_time(&[cpu(Some(0.25)), cpu(Some(0.0))], 1_000_000_000).unwrap();
        assert!(told.starts_with("which task had the CPUs for 250ms (12.50 % of their time)"), "{told}");
    }
}
