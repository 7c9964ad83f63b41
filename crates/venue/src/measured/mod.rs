//! A run on a real kernel, here or in a virtual machine, as a result.

mod control_groups;
mod late;
mod others;
mod recorded;
pub mod scheduler_program;
mod seen;

use crate::{Request, Run, VenueError};
use schedlab_guest::Counted;
use schedlab_kernel::{Record, Stats, Summary};
use schedlab_load::{Calibration, LATE_NS, Report, TaskReport};
use schedlab_metrics::collector::{Collector, RunIdentity, RunMeasures};
use schedlab_metrics::curve::RoleCurves;
use schedlab_metrics::statistics::BatchMeans;
use schedlab_metrics::validator::{Expectations, Validator};
use schedlab_model::count::counted;
use schedlab_model::layout::Layout;
use schedlab_model::machine::Topology;
use schedlab_model::result::{CalibrationInfo, EngineInfo, Provenance, RunResult};
use schedlab_model::scenario::Notation;
use schedlab_model::time::Time;
use schedlab_model::trace::Sink;
use schedlab_model::workload::Workload;
use schedlab_simulation::{check_warmup, is_lawful, scenario_info};
use std::mem::take;

/// A run that is over.
pub struct KernelRun<'a> {
    /// What was asked for.
    pub request: &'a Request<'a>,
    /// Where.
    pub venue: &'static str,
    /// The machine that the policy got to know; none where nothing was loaded.
    pub layout: Option<&'a Layout>,
    /// Under which kernel.
    pub kernel: &'a str,
    /// In which virtual machine.
    pub engine: Option<EngineInfo>,
    /// What the tasks saw.
    pub report: &'a Report,
    /// How much work a nanosecond was.
    pub calibration: &'a Calibration,
    /// What the kernel counted of the use of its CPUs; none where the run was alone.
    pub counted: Option<&'a Counted>,
    /// Whether the recorder told of other programs.
    pub others_told: bool,
}

impl KernelRun<'_> {
    /// The result: by what was recorded, or, where nothing was, by what the tasks saw.
    pub fn result(
        &self,
        recorded: Result<(Vec<Record>, Stats), String>,
        sink: Option<&mut dyn Sink>,
    ) -> Result<Run, VenueError> {
        let end = Time(end_ns(self.request.workload, self.report));
        check_warmup(self.request.workload, self.named(), end, self.report.partial)?;
        match recorded {
            Ok((records, stats)) => self.recorded(&records, &stats, sink),
            Err(lack) => Ok(self.seen(&lack, sink)),
        }
    }

    /// What errors call it.
    fn named(&self) -> (&str, u64) {
        (&self.request.policy.label, self.request.seed)
    }

    /// What the kernel's scheduling events say.
    fn recorded(&self, records: &[Record], stats: &Stats, sink: Option<&mut dyn Sink>) -> Result<Run, VenueError> {
        let workload = self.request.workload;
        let end = end_ns(workload, self.report);
        let (events, summary) = recorded::events(records, self.report, workload.machine.cpus(), end, self.others_told);
        let expectations = Expectations { workload: Some(workload), ..Expectations::default() };
        let validator = self.request.check.then(|| Validator::new(expectations));
        let mut sinks = (Collector::new(workload), (validator, sink));
        sinks.events(&events);
        sinks.finish(Time(end));
        let (collector, (validator, _)) = sinks;
        // Lost events break laws that the kernel kept.
        if !stats.is_partial() {
            is_lawful(self.named(), &collector, validator)?;
        }
        let mut measures = collector.into_measures();
        self.add_arrivals(&mut measures);
        control_groups::add(&mut measures, self.report, self.policy_limits());
        for (role, late) in late::from_outside(&events) {
            measures.roles[role.index()].measures.requests_late = Some(late);
        }
        let (curves, response_batches) = (take(&mut measures.curves), take(&mut measures.response_batches));
        let mut result = measures.into_result(self.identity(stats.lost.total(), self.unknown(&summary)));
        // What the kernel takes for itself is in the tasks' time, and between two tasks it looks idle.
        (result.overhead_ns, result.work_conservation_violation) = (None, None);
        if let Some(counted) = self.counted {
            let wanted_ns = others::wanted_ns(workload, &events, Time(end));
            let used = counted.end.since(&counted.warm, workload.machine.cpus());
            others::add_held(&mut result, workload, &used, wanted_ns);
        }
        Ok(run(result, curves, response_batches))
    }

    /// What the tasks saw themselves, when nothing else is known.
    fn seen(&self, lack: &str, sink: Option<&mut dyn Sink>) -> Run {
        let mut sinks = (Collector::new_fluid(self.request.workload), sink);
        sinks.events(&seen::whole(self.report));
        sinks.finish(Time(end_ns(self.request.workload, self.report)));
        let mut measures = sinks.0.into_measures();
        self.add_switches(&mut measures);
        control_groups::add(&mut measures, self.report, self.policy_limits());
        self.add_arrivals(&mut measures);
        let (curves, response_batches) = (take(&mut measures.curves), take(&mut measures.response_batches));
        let missing = format!("waits, migrations, run-queue lengths, balance: {lack}");
        let mut result = measures.into_result(self.identity(0, vec![missing]));
        (result.jain, result.work_conservation_violation, result.overhead_ns) = (None, None, None);
        if let Some(counted) = self.counted {
            let workload = self.request.workload;
            let used = counted.end.since(&counted.begin, workload.machine.cpus());
            others::add_bound(&mut result, workload, &used);
        }
        run(result, curves, response_batches)
    }

    /// Whether a policy has the tasks: the kernel's limits do not apply then.
    fn policy_limits(&self) -> bool {
        self.layout.is_some()
    }

    /// The switches that the kernel counted for each task.
    fn add_switches(&self, measures: &mut RunMeasures) {
        for (index, role) in measures.roles.iter_mut().enumerate() {
            let tasks = || self.report.tasks.iter().filter(move |task| task.role as usize == index);
            role.measures.switches.voluntary = tasks().map(|task| task.switches.0).sum();
            role.measures.switches.involuntary = tasks().map(|task| task.switches.1).sum();
        }
        for task in &mut measures.tasks {
            let seen = &self.report.tasks[task.id as usize];
            (task.measures.switches.voluntary, task.measures.switches.involuntary) = seen.switches;
        }
    }

    /// Arrivals that came late, and those that were dropped.
    fn add_arrivals(&self, measures: &mut RunMeasures) {
        let late = |task: &&TaskReport| task.began_ns.is_some_and(|began| began > task.intended_ns + LATE_NS);
        for (index, role) in measures.roles.iter_mut().enumerate() {
            if self.request.workload.roles[index].birth.arrives() {
                let tasks = || self.report.tasks.iter().filter(move |task| task.role as usize == index);
                role.measures.requests_late = Some(tasks().filter(late).count() as u64);
                role.measures.requests_dropped = Some(tasks().filter(|task| task.began_ns.is_none()).count() as u64);
            }
        }
    }

    fn identity(&self, lost: u64, missing: Vec<String>) -> RunIdentity {
        let Request { workload, policy, seed, scenario_hash, .. } = self.request;
        RunIdentity {
            scenario: scenario_info(workload),
            policy: self.layout.map_or_else(|| policy.info.clone(), |layout| policy.info_on(layout)),
            venue: self.venue.into(),
            seed: *seed,
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION").into(),
                scenario_hash: (*scenario_hash).into(),
                policy_hash: policy.hash.clone(),
                kernel: Some(self.kernel.into()),
                engine: self.engine.clone(),
            },
            lost: lost + self.report.requests_lost,
            partial: self.report.partial,
            calibration: Some(CalibrationInfo {
                algorithm: self.calibration.algorithm.clone(),
                ns_per_piece: self.calibration.ns_per_piece,
                spread_frac: self.calibration.spread,
            }),
            kernel_run_delay_ns: self.report.tasks.iter().map(|task| task.run_delay_ns).sum(),
            missing,
            cautions: [
                self.layout.map(|layout| self.cautions_on(layout)).unwrap_or_default(),
                workload.control_groups.remarks(),
            ]
            .concat(),
        }
    }

    /// What the kernel's events cannot say.
    fn unknown(&self, summary: &Summary) -> Vec<String> {
        let untold = (summary.repaired > 0).then(|| {
            format!(
                "what happened around {} that the kernel did not report: the CPU's time counts as unknown until the \
                 next event, and a wait that begins with such a step is not counted",
                counted(summary.repaired, "step")
            )
        });
        let threads = "what the kernel's own threads took of the CPUs: that time counts as idle";
        let threads = (!self.others_told).then(|| threads.to_string());
        let idle = "whether a CPU idled while tasks waited: between two tasks the kernel takes time that looks idle";
        untold.into_iter().chain(threads).chain([idle.to_string()]).collect()
    }

    /// What is to be known of the machine that the policy got to know.
    fn cautions_on(&self, layout: &Layout) -> Vec<String> {
        let topology = self.request.workload.machine.topology;
        let as_wanted = Layout::from(topology).ticking(layout.tick());
        let is_other = topology != Topology::flat(topology.cpus()) && as_wanted != *layout;
        let (wanted, counts) = (topology.write(), layout.in_words());
        let other = format!("the scenario's topology is {wanted} and this kernel has {counts}: the policy sees these");
        is_other.then_some(other).into_iter().chain(self.request.policy.cautions_on(layout)).collect()
    }
}

/// A run under a kernel; its policy prints nothing.
fn run(result: RunResult, curves: Vec<RoleCurves>, response_batches: Vec<BatchMeans>) -> Run {
    let (printed, unwritten) = (Vec::new(), Vec::new());
    Run { result, curves, response_batches, printed, printed_dropped: 0, wall: None, unwritten, reserve: None }
}

/// The end of the run: the scenario's, or that of its last task.
fn end_ns(workload: &Workload, report: &Report) -> u64 {
    workload.run.end().map_or(report.length_ns, |asked| asked.ns().min(report.length_ns))
}
