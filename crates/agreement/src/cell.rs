//! What is judged: every scenario under every pair on every number of CPUs.

use crate::machine::TICK;
use crate::pair::{Against, Pair};
use schedlab_campaign::Place;
#[cfg(doc)]
use schedlab_model::machine::Machine;
use schedlab_model::scenario::{Costs, Scenario, ScenarioError};
use schedlab_model::time::Time;
use schedlab_model::workload::Workload;
use schedlab_venue::{EngineSpec, Policy, VenueError, VenueName};
use std::path::PathBuf;
use std::sync::Arc;

/// Guests that are as fast as real machines, a nanosecond for an instruction on one CPU and five on several: what a kernel takes
/// in addition to the costs that are measured is then small against the milliseconds that tasks compute.
const ON_ONE_CPU: &str = "qemu:shift=0";
const ON_SEVERAL: &str = "bochs:ips=200000000";

/// How many runs are made under each seed where the same run differs from time to time: their spread is its noise.
const RUNS_IN_REAL_TIME: u32 = 3;

/// A scenario that is judged.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What reports call it.
    pub name: String,
    /// What it is one of, if it belongs to a family of scenarios: there is a summary for each. Such a scenario was drawn for the
    /// CPUs that it has, and has no others.
    pub family: Option<String>,
    /// What the tasks do.
    pub scenario: Scenario,
}

/// How everything is judged.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the real runs happen: in virtual machines or on this one.
    pub venue: VenueName,
    /// The kernel of virtual machines where a pair names none.
    pub kernel: Option<String>,
    /// The emulator; by default one that is as fast as real machines.
    pub engine: Option<EngineSpec>,
    /// Numbers of CPUs instead of the scenarios' own.
    pub cpus: Vec<u32>,
    /// How many times its measured time each scenario runs.
    pub length: u32,
    /// The most times its measured time that an undecided cell runs.
    pub max_length: u32,
    /// What this machine takes for itself, for real runs on it. In virtual machines that is measured first.
    pub costs: Costs,
    /// Mechanisms that the simulated machine is not to have, to see what they do; see [`Machine::without`].
    pub without: Vec<String>,
    /// How many seeds: 1, 2, 3 and so on.
    pub seeds: u32,
    /// The most seeds that a cell gets while it is undecided.
    pub max_seeds: u32,
    /// How many copies of the simulation there are under each seed; at least two.
    pub copies: u32,
    /// A folder for the traces of both runs under the first seed.
    pub keep: Option<PathBuf>,
}

/// A scenario under a pair in a place.
#[derive(Clone, Debug)]
pub struct Cell {
    pub(crate) name: String,
    pub(crate) family: Option<String>,
    pub(crate) pair: Pair,
    pub(crate) simulated: Policy,
    pub(crate) real: Policy,
    pub(crate) place: Place,
    pub(crate) workload: Arc<Workload>,
    /// What the scenario is, its length apart.
    pub(crate) scenario_hash: String,
    /// How many times as long as the scenario says its runs are.
    pub(crate) length: u32,
    pub(crate) source: CostSource,
}

/// Where the costs of the simulated machine come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CostSource {
    /// They are measured under the kernel that really runs.
    Run,
    /// They are the workload's own; the machine's tick is this one.
    Workload(Time),
}

/// Why something cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A scenario says something that cannot be.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A policy is not there, or cannot be run where it is to run.
    #[error(transparent)]
    Policy(#[from] VenueError),
    /// The simulator is compared with itself.
    #[error("agreement compares the simulator with a kernel: use --venue vm or host")]
    Simulator,
    /// A scenario that ends when its tasks do runs no longer.
    #[error("`{0}` has no duration, so its runs cannot be longer: write one, or leave out --length and --max-length")]
    Endless(String),
    /// A kernel by name on this machine.
    #[error(
        "`{0}` names a kernel for virtual machines; to compare with the kernel that runs here, write POLICY@kernel"
    )]
    KernelHere(String),
}

impl Cell {
    /// How many CPUs its machine has.
    pub fn cpus(&self) -> u32 {
        self.workload.machine.cpus()
    }

    /// Whether both execute the same object.
    pub(crate) fn is_same_object(&self) -> bool {
        self.pair.against == Against::Itself
    }

    /// The kernel as it was asked for; of a path the file's name.
    pub(crate) fn kernel(&self) -> String {
        match self.place.name {
            VenueName::Vm => self.place.kernel().rsplit('/').next().unwrap_or_default().into(),
            venue => venue.name().into(),
        }
    }

    /// How many real runs are made under each seed.
    pub(crate) fn real_runs(&self) -> u32 {
        if self.place.repeats(self.cpus()) { 1 } else { RUNS_IN_REAL_TIME }
    }

    /// The same, with runs of this many times what the scenario measures, after the same warmup.
    pub(crate) fn lasting(&self, length: u32) -> Cell {
        let mut longer = self.clone();
        if length != self.length {
            let workload = Arc::make_mut(&mut longer.workload);
            let measured = workload.run.duration.since(workload.run.warmup).ns() / u64::from(self.length);
            let measured = Time(measured.saturating_mul(length.into()));
            workload.run.duration = (workload.run.warmup + measured).min(Time::LATEST);
            longer.length = length;
        }
        longer
    }

    /// The scenario's identity for kept runs: the same for any way to its length.
    pub(crate) fn kept_as(&self) -> String {
        match self.length {
            1 => self.scenario_hash.clone(),
            length => format!("{}, {length} times as long", self.scenario_hash),
        }
    }

    /// How long all of its runs together are, in nanoseconds of their own time; unknown where they have no end.
    pub fn duration_ns(&self, options: &Options) -> Option<u64> {
        let runs = u64::from(options.seeds) * u64::from(self.real_runs() + 1 + options.copies);
        Some(self.workload.run.end()?.ns().saturating_mul(runs))
    }
}

/// Everything that is judged, scenario by scenario.
///
/// # Errors
///
/// What cannot be.
pub fn plan(subjects: &[Subject], pairs: &[Pair], options: &Options) -> Result<Vec<Cell>, PlanError> {
    let (mut cells, mut refused) = (Vec::new(), Vec::<VenueError>::new());
    let simulated = Policy::find_each(pairs.iter().map(|pair| &pair.policy))?;
    let policies = pairs.iter().zip(simulated).map(|(pair, simulated)| Ok((pair, simulated, pair.real()?)));
    let policies: Vec<(&Pair, Policy, Policy)> = policies.collect::<Result<_, VenueError>>()?;
    for subject in subjects {
        for scenario in machines(subject, options) {
            let workload = Arc::new(scenario.compile()?);
            if workload.run.end().is_none() && options.max_length > 1 {
                return Err(PlanError::Endless(subject.name.clone()));
            }
            for (pair, simulated, real) in &policies {
                let place = place(pair, simulated, workload.machine.cpus(), options)?;
                let accepts = |place: &Place, policy| place.venue(workload.machine.cpus()).accepts(policy);
                let here = Place::new(VenueName::Sim, None, None);
                let refusals = [accepts(&place, real), accepts(&here, simulated)].into_iter().filter_map(Result::err);
                for refusal in refusals {
                    // Each scenario asks again.
                    if !refused.iter().any(|known| known.to_string() == refusal.to_string()) {
                        refused.push(refusal);
                    }
                }
                let source = match options.venue {
                    VenueName::Host => CostSource::Workload(schedlab_venue::tick().unwrap_or(TICK)),
                    _ => CostSource::Run,
                };
                let cell = Cell {
                    name: subject.name.clone(),
                    family: subject.family.clone(),
                    pair: (*pair).clone(),
                    simulated: simulated.clone(),
                    real: real.clone(),
                    place,
                    workload: workload.clone(),
                    scenario_hash: scenario.hash(),
                    length: 1,
                    source,
                };
                cells.push(cell.lasting(options.length));
            }
        }
    }
    VenueError::all(refused)?;
    Ok(cells)
}

/// The scenario on each of the machines that are asked for.
fn machines(subject: &Subject, options: &Options) -> Vec<Scenario> {
    let mut scenario = subject.scenario.clone();
    if options.venue == VenueName::Host {
        scenario.machine.costs = options.costs.clone();
    }
    let with = |cpus: &u32| {
        let mut scenario = scenario.clone();
        (scenario.machine.cpus, scenario.machine.topology) = (Some(*cpus), None);
        scenario
    };
    if options.cpus.is_empty() || subject.family.is_some() {
        vec![scenario]
    } else {
        options.cpus.iter().map(with).collect()
    }
}

fn place(pair: &Pair, simulated: &Policy, cpus: u32, options: &Options) -> Result<Place, PlanError> {
    let fast = if cpus == 1 { ON_ONE_CPU } else { ON_SEVERAL };
    let engine = options.engine.unwrap_or_else(|| fast.parse().expect("an engine"));
    match (options.venue, &pair.against) {
        (VenueName::Sim, _) => Err(PlanError::Simulator),
        (VenueName::Host, Against::KernelOf(_)) => Err(PlanError::KernelHere(pair.to_string())),
        (VenueName::Host, _) => Ok(Place::new(VenueName::Host, None, None)),
        (VenueName::Vm, Against::KernelOf(kernel)) => Ok(Place::new(VenueName::Vm, Some(kernel), Some(engine))),
        (VenueName::Vm, _) => {
            Ok(Place::new(VenueName::Vm, options.kernel.as_deref(), Some(engine)).for_policies([simulated]))
        }
    }
}

/// The tick of the kernel under which the costs were measured.
impl CostSource {
    pub(crate) fn tick(self) -> Time {
        if let CostSource::Workload(tick) = self { tick } else { TICK }
    }
}
