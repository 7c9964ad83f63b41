//! Replays a trace file through the validator.

use crate::policy::{Discipline, discipline};
use schedlab_metrics::validator::{Expectations, Findings, Validator};
use schedlab_model::ids::CpuId;
use schedlab_model::machine::Machine;
use schedlab_model::time::Time;
use schedlab_model::workload::{Birth, Class, Group, Kind, Objects, Program, Run, Workload};
use schedlab_trace::{Error, Header, Reader, Report, check};
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

/// As much of the workload as the header tells: the CPUs, the groups and where their tasks may run.
pub(crate) fn workload(header: &Header) -> Workload {
    let group = |group: &schedlab_trace::Group| Group {
        name: group.name.clone(),
        count: None,
        birth: Birth::At(Time::ZERO),
        start_on: None::<CpuId>,
        nice: 0,
        slice: None,
        class: Class::Other,
        cpus: group.cpus.clone(),
        kind: Kind::Thread,
        program: Program { steps: Vec::new(), repeats: false, repeat_depth: 0 },
    };
    Workload {
        name: header.scenario.clone(),
        about: String::new(),
        machine: Machine::flat(header.cpus),
        groups: header.groups.iter().map(group).collect(),
        objects: Objects::default(),
        run: Run { duration: header.end, warmup: Time::ZERO, seed: header.seed },
    }
}
