//! The places where a run can happen, behind one trait, and what is the same for all of them: finding the policy,
//! watching a run, putting several runs together.
//!
//! A [`Policy`] is found once and holds everything a venue needs to know about it. A [`Venue`] turns a [`Request`] into
//! a [`Run`]. The crate `schedlab-campaign` makes many runs.

mod charge;
mod error;
mod host;
mod identity;
mod inspect;
mod loaded;
mod machine;
mod measured;
mod monitor;
mod name;
mod native;
mod own_file;
mod policy;
mod program;
mod recording;
mod replay;
mod sim;
mod survey;
mod vm;

pub use charge::Charge;
pub use error::{ErrorClass, VenueError};
pub use host::HostVenue;
pub use inspect::{Need, Needs, inspect};
pub use monitor::{Monitor, Watch};
pub use name::VenueName;
pub use native::{NativeMaker, NativeScheduler};
pub use own_file::own_file;
pub use policy::{KERNEL, Policy, Scheduler};
pub use program::Program;
pub use recording::{Order, RecordError, Recording, Ring, RoleBy, TraceOf, Wholeness, import, record};
pub use replay::{Measured, Replay, remeasure, replay};
pub use schedlab_bpf::{Coverage, Executor, SourceLine};
pub use schedlab_import::{PassedOver, Place};
pub use schedlab_kernel::{Counters, Rates, tick};
pub use schedlab_load::costs::{Cost, Costs, Effort, measure as measure_costs};
pub use schedlab_load::{
    Algorithm, Calibration, CalibrationError, Reserve, Verification, cache_folder, fingerprint, obtain as calibrate,
    verified,
};
pub use schedlab_sim::scx::native::{KernelCalls, Native, Signature, TaskView, Word, Writable, refused_flags};
pub use schedlab_sim::{Control, PolicyFailure};
pub use schedlab_simulation::{Discipline, MachineParameters, ObjectPolicy, RunFailure, ideal_name};
pub use schedlab_vm::engine::EngineSpec;
pub use schedlab_vm::{KeptGuests, VmError, kernels};
pub use sim::{SimVenue, coverage};
pub use survey::{Support, survey};
pub use vm::{VmVenue, guest_program};

use schedlab_metrics::curve::RoleCurves;
use schedlab_metrics::statistics::BatchMeans;
use schedlab_model::{result::RunResult, time::Time, trace::Sink, workload::Workload};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A place where a workload can run under a policy.
pub trait Venue: Send + Sync {
    /// The name of the place, as results give it.
    fn name(&self) -> &'static str;

    /// Whether the policy can be run here at all.
    fn accepts(&self, policy: &Policy) -> Result<(), VenueError>;

    /// Whether several runs may happen at once: where time is simulated.
    fn is_shareable(&self) -> bool {
        true
    }

    /// Runs a workload under a policy. `sink`, when there is one, gets every event; `control` can end the run early,
    /// which makes the result partial.
    fn run(&self, request: &Request, sink: Option<&mut dyn Sink>, control: &mut dyn Control)
    -> Result<Run, VenueError>;
}

/// One run to be made.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What the tasks do, and on what machine.
    pub workload: &'a Workload,
    /// The hash of the scenario behind the workload, for the result.
    pub scenario_hash: &'a str,
    /// The policy.
    pub policy: &'a Policy,
    /// The seed of all random numbers; it replaces the workload's.
    pub seed: u64,
    /// How the policy's programs are executed; when absent, shipped ones as machine code, a user's checked.
    pub executor: Option<Executor>,
    /// Whether the events are compared with the laws of traces while they happen.
    pub check: bool,
    /// Whether a virtual machine measures after the run what its scheduler takes, which is often longer than the run.
    pub costs: bool,
}

/// What came of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// What is printed.
    pub result: RunResult,
    /// How the times of each role are distributed.
    pub curves: Vec<RoleCurves>,
    /// The mean response times of consecutive batches of requests, for each role: what there is for an interval when
    /// there is one run only.
    pub response_batches: Vec<BatchMeans>,
    /// Lines that the policy printed, each with the simulated time.
    pub printed: Vec<(Time, String)>,
    /// How many more lines it printed.
    pub printed_dropped: u64,
    /// The wall time that a virtual machine took; not known of a run that was kept.
    #[serde(skip)]
    pub wall: Option<Wall>,
    /// Why trace files of this run could not be written, a line each. The run is what it is without them.
    #[serde(skip)]
    pub unwritten: Vec<String>,
    /// What this machine's kernel kept from real-time tasks, if there were any.
    #[serde(skip)]
    pub reserve: Option<Reserve>,
}

/// Wall time, which is no part of a result.
#[derive(Clone, Copy, Debug)]
pub struct Wall {
    /// Up to the scenario's first instruction.
    pub boot: Duration,
    /// From there on.
    pub run: Duration,
}
