//! The simulated machine.
//!
//! [`world`] holds time, the tasks' programs and the objects they share; [`scx`] is the sched_ext core, which runs a
//! BPF policy object; [`ideal`] holds the disciplines that theory speaks about. Both schedulers drive the same world.

pub mod error;
pub mod ideal;
mod per_cpu;
pub mod scx;
mod table;
#[cfg(feature = "testing")]
pub mod testing;
pub mod world;

pub use error::{PolicyFailure, RunError};
use schedlab_bpf::{Executor, Value};
use schedlab_model::time::Time;

/// How a policy is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Checked interpreter or machine code.
    pub executor: Executor,
    /// Values for the policy's parameters.
    pub settings: Vec<(String, Value)>,
    /// The seed of all random numbers; replaces the workload's.
    pub seed: u64,
}

/// Watches a run from outside.
pub trait Control {
    /// Called now and then with the simulated time; false ends the run early.
    fn go_on(&mut self, now: Time) -> bool;
}

/// Lets the run continue to its end.
impl Control for () {
    fn go_on(&mut self, _: Time) -> bool {
        true
    }
}

/// Where a CPU's time went; the three add up to the length of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// With tasks.
    pub task: Time,
    /// With nothing to run.
    pub idle: Time,
    /// With the system.
    pub overhead: Time,
}

/// What a run was, in addition to its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The instant at which it ended.
    pub end: Time,
    /// Whether it was ended from outside.
    pub partial: bool,
    /// Where each CPU's time went.
    pub cpus: Vec<CpuTime>,
    /// Tasks that have been.
    pub tasks: u32,
    /// Timer ticks that happened one by one.
    pub ticks: u64,
    /// Lines that the policy printed (`bpf_printk`), each with the simulated time.
    pub printed: Vec<(Time, String)>,
    /// Lines beyond those kept.
    pub printed_dropped: u64,
    /// What a policy has counted of the limits of control groups since the warm-up, by their numbers; empty where it counts
    /// nothing.
    pub limits: Vec<Option<LimitCounters>>,
    /// Events of a kernel that the policy's programs watch and that never happen here.
    pub unseen: Vec<String>,
}

/// What a policy counts of a control group's limit, as `cpu.stat` does: periods, throttled periods, throttled nanoseconds,
/// bursts, nanoseconds of bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitCounters(pub [u64; 5]);

impl LimitCounters {
    /// What was counted since.
    pub fn since(self, before: LimitCounters) -> LimitCounters {
        LimitCounters(std::array::from_fn(|place| self.0[place].saturating_sub(before.0[place])))
    }
}
