//! One thing to run, maybe several times, and the names of its runs.

use crate::ear::Ear;
use crate::place::Place;
use schedlab_model::time::Time;
use schedlab_model::workload::Workload;
use schedlab_venue::{Executor, Policy, Scheduler, VenueName};
use std::path::PathBuf;
use std::sync::Arc;

/// A scenario under a policy in a place.
#[derive(Clone)]
pub struct Case {
    /// What the tasks do, and on what machine.
    pub workload: Arc<Workload>,
    /// The hash of the scenario behind the workload.
    pub scenario_hash: String,
    /// The policy.
    pub policy: Policy,
    /// Where.
    pub place: Place,
    /// The seeds, at least one; see [`crate::seeds`].
    pub seeds: Vec<u64>,
    /// See [`schedlab_venue::Request`].
    pub executor: Option<Executor>,
    /// See [`schedlab_venue::Request`].
    pub check: bool,
    /// See [`schedlab_venue::Request`].
    pub costs: bool,
    /// The listeners.
    pub ears: Vec<Arc<dyn Ear>>,
    /// Trace files to write of the first run.
    pub traces: Vec<PathBuf>,
    /// How long what is seen is kept.
    pub keeps: Keeps,
}

/// How long what is seen of a run is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// Asking for the same run again finds it. A run in real time is a measurement, and kept as a record of it.
    ForEver,
    /// The same, except for a run in real time: it is kept until all runs it was made with have come to their end, so that a
    /// campaign that was stopped continues, and the next one measures again.
    ToGoOn,
    /// Not at all: the caller keeps it.
    Nothing,
}

impl Case {
    /// Everything that decides a run with this seed, except for the program and what the place is made of.
    pub fn identity(&self, seed: u64) -> String {
        let Case { scenario_hash, executor, check, .. } = self;
        let measures_costs = self.costs && self.place.name == VenueName::Vm;
        let how = format!("{executor:?}, checked {check}, costs {measures_costs}");
        [scenario_hash, &self.policy.identity(), &how, &seed.to_string()].map(String::as_str).join("\n")
    }

    /// Whether what is seen can be kept: the identity of a scheduler of the calling program does not tell what it does.
    pub(crate) fn can_be_kept(&self) -> bool {
        self.keeps != Keeps::Nothing && !matches!(self.policy.scheduler, Scheduler::Native(_))
    }

    /// Whether a run gives the same bytes whenever it is made.
    pub fn repeats(&self) -> bool {
        self.place.repeats(self.workload.machine.cpus())
    }

    /// The listeners of a run, by its place among the seeds.
    pub(crate) fn ears_of(&self, run: usize) -> impl Iterator<Item = &Arc<dyn Ear>> {
        self.ears.iter().filter(move |ear| run == 0 || !ear.hears_first_only())
    }

    /// The simulated time of a run, where it has an end.
    pub fn duration(&self) -> Option<Time> {
        self.workload.run.end()
    }
}
