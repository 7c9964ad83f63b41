//! A policy in the simulator and what it is held against.

use crate::cell::{Cell, Tolerance};
use schedlab_model::result::{RunResult, SchedulerCosts};
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_model::trace::Sink;
use schedlab_model::workload::Workload;
use schedlab_policy::PolicySpec;
use schedlab_trace::{Header, Writer};
use schedlab_venue::{Algorithm, KERNEL, Policy, Request, SimVenue, Venue, VmVenue};
use std::path::Path;

/// The kernel in which policies run.
const WITH_SCHED_EXT: &str = "debian:13-backports";
/// Guests that are as fast as real machines, a nanosecond for an instruction on one CPU and five on several: what a kernel
/// takes beside the costs that are measured is then small against the milliseconds that tasks compute.
const ON_ONE_CPU: &str = "qemu:shift=0";
const ON_SEVERAL: &str = "bochs:ips=200000000";
/// The timer tick of Debian's kernels, which has nothing to do with when a policy begins.
const TICK: Time = Time::from_ms(4);
const TICK_OFFSET: Time = Time::from_ms(2);

/// A policy in the simulator, and the scheduler of a kernel.
pub struct Pair {
    text: String,
    simulated: Policy,
    real: Policy,
    kernel: String,
}

impl Pair {
    /// `mlfq`, or `cfs@debian:12`.
    pub fn find(text: &str) -> Result<Pair, String> {
        let (policy, kernel) = text.split_once('@').map_or((text, None), |(policy, kernel)| (policy, Some(kernel)));
        let found = |name: &str| -> Result<Policy, String> {
            let spec = PolicySpec::parse(name).map_err(|error| error.to_string())?;
            Policy::find(&spec).map_err(|error| error.to_string())
        };
        Ok(Pair {
            text: text.into(),
            simulated: found(policy)?,
            real: found(if kernel.is_some() { KERNEL } else { policy })?,
            kernel: kernel.unwrap_or(WITH_SCHED_EXT).into(),
        })
    }

    /// The same object in both must agree better than two schedulers of one name.
    pub fn tolerance(&self) -> Tolerance {
        match self.simulated.label == self.real.label {
            true => Tolerance { mean: 0.05, p99: 0.15, share: 0.02 },
            false => Tolerance { mean: 0.10, p99: 0.20, share: 0.02 },
        }
    }

    /// Runs a scenario in both. With a folder, the traces of both runs are kept there.
    pub fn cell(&self, file: &Path, keep: Option<&Path>) -> Result<Cell, String> {
        let scenario = Scenario::from_file(file).map_err(|error| error.to_string())?;
        let mut workload = scenario.compile().map_err(|error| error.to_string())?;
        let engine = if workload.machine.cpus() == 1 { ON_ONE_CPU } else { ON_SEVERAL };
        let engine = engine.parse().expect("an engine");
        let venue = VmVenue { kernel: self.kernel.clone(), engine, algorithm: Algorithm::Spin, kept: None };
        let trace =
            |place: &str| keep.map(|folder| folder.join(format!("{}-{}-{place}.parquet", self.text, workload.name)));
        let (real_trace, simulated_trace) = (trace("kernel"), trace("sim"));
        let real = run(&venue, &workload, &scenario.hash(), &self.real, real_trace.as_deref())?;
        let costs = real.costs.as_ref().ok_or("the kernel's costs were not measured")?;
        set_costs(&mut workload, costs);
        let simulated = run(&SimVenue, &workload, &scenario.hash(), &self.simulated, simulated_trace.as_deref())?;
        Ok(Cell::of(&self.text, &simulated, &real))
    }
}

fn run(
    venue: &dyn Venue,
    workload: &Workload,
    scenario_hash: &str,
    policy: &Policy,
    trace: Option<&Path>,
) -> Result<RunResult, String> {
    let seed = workload.run.seed;
    let request = Request { workload, scenario_hash, policy, seed, executor: None, check: true };
    let header = Header::of(workload, &policy.label, venue.name());
    let mut writer = trace.map(|path| Writer::create(path, &header)).transpose().map_err(|error| error.to_string())?;
    let sink = writer.as_mut().map(|writer| writer as &mut dyn Sink);
    let run = venue.run(&request, sink, &mut ()).map_err(|error| error.to_string())?;
    writer.map(Writer::close).transpose().map_err(|error| error.to_string())?;
    Ok(run.result)
}

/// Gives the simulated machine what the kernel takes. What the policy's own instructions take is part of it. Where a
/// task that yields may go on, a switch is what a hand-over takes without the wakeup in it.
fn set_costs(workload: &mut Workload, costs: &SchedulerCosts) {
    let time = |ns: Option<f64>| Time(ns.unwrap_or(0.0).round() as u64);
    let wakeup = costs.wakeup_ns;
    let switch = costs.switch_thread_ns.or_else(|| Some((costs.hand_over_ns? - wakeup?).max(0.0)));
    (workload.machine.tick, workload.machine.tick_offset) = (TICK, TICK_OFFSET);
    let of = &mut workload.machine.costs;
    (of.switch, of.wakeup, of.tick) = (time(switch), time(wakeup), time(costs.tick_ns));
    of.migration = time(costs.migration_ns);
    (of.fork, of.start, of.exit) = (time(costs.fork_ns), time(costs.start_ns), time(costs.exit_ns));
    of.policy_instruction_ps = 0;
}
