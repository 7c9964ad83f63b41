//! What goes into a guest and what comes out.

use schedlab_kernel::{LoadedProgram, Record, Setting, Stats};
use schedlab_load::costs::Costs;
use schedlab_load::{Calibration, Report};
use schedlab_model::workload::Workload;
use serde::{Deserialize, Serialize};

/// Where the job lies in the initramfs.
pub const JOB_PATH: &str = "/job";

/// What a guest has to do. It is read once, by the same version of schedlab that wrote it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// What the tasks do.
    pub workload: Workload,
    /// The seed of all random numbers.
    pub seed: u64,
    /// What tasks compute, by name.
    pub algorithm: String,
    /// Who decides; none stands for the kernel's own scheduler.
    pub policy: Option<PolicyJob>,
}

/// A policy to be put in charge of the guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PolicyJob {
    /// The object.
    pub object: Vec<u8>,
    /// What is put into its data before.
    pub settings: Vec<Setting>,
}

/// What a kernel was handed of a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// SHA-256 of the object, in hexadecimal.
    pub hash: String,
    /// Its programs.
    pub programs: Vec<LoadedProgram>,
}

/// What a guest says, in this order: hello, begun, records, outcome; or a failure at any place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// Our program runs.
    Hello {
        /// The kernel's release.
        kernel: String,
        /// Virtual nanoseconds since the kernel began to count.
        at_ns: u64,
    },
    /// The load is calibrated; the scenario's first instruction comes now.
    Begun {
        /// Virtual nanoseconds since the kernel began to count.
        at_ns: u64,
    },
    /// So much of the run is over.
    Progress(u64),
    /// Some of the records, in order.
    Records(Vec<Record>),
    /// The end.
    Outcome(Box<Outcome>),
    /// The run did not happen, for a reason that whoever asked for it can read.
    Failed(String),
    /// The kernel did not take the policy, or threw it out.
    PolicyFailed(String),
}

/// What a run left, but for the records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What the tasks saw.
    pub report: Report,
    /// What the recorder says of the records, or why there are none.
    pub recorded: Result<Stats, String>,
    /// What the policy was; none for the kernel's own scheduler.
    pub loaded: Option<Loaded>,
    /// How much work a nanosecond was.
    pub calibration: Calibration,
    /// What the scheduler itself takes, measured after the run.
    pub costs: Result<Costs, String>,
    /// How many records were sent.
    pub records: u64,
}
