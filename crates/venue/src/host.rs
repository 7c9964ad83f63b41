//! This machine as a venue: real threads and processes under the scheduler of the kernel that runs.

use crate::sim::scenario_info;
use crate::{Control, Policy, Request, Run, Scheduler, Venue, VenueError};
use schedlab_load::{Algorithm, Calibration, CalibrationError, LoadError, Report, Settings, Watcher};
use schedlab_metrics::collector::{Collector, RunIdentity, RunMeasures};
use schedlab_model::ids::{CpuId, GroupId, TaskId};
use schedlab_model::result::{CalibrationInfo, Provenance};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Sink};
use schedlab_model::workload::Workload;
use std::sync::OnceLock;

/// Where a kernel says that it has sched_ext.
const SCHED_EXT: &str = "/sys/kernel/sched_ext";

/// The running kernel.
#[derive(Debug)]
pub struct HostVenue {
    algorithm: Algorithm,
    calibration: OnceLock<Result<Calibration, CalibrationError>>,
}

impl HostVenue {
    /// With tasks that compute by this algorithm.
    pub fn new(algorithm: Algorithm) -> HostVenue {
        HostVenue { algorithm, calibration: OnceLock::new() }
    }

    /// How much work a nanosecond is here; measured once, before the first run.
    fn calibration(&self) -> Result<Calibration, VenueError> {
        let calibration = self.calibration.get_or_init(|| schedlab_load::obtain(self.algorithm, false));
        calibration.clone().map_err(|error| LoadError::Failed(error.to_string()).into())
    }
}

impl Venue for HostVenue {
    fn name(&self) -> &'static str {
        "host"
    }

    fn accepts(&self, policy: &Policy) -> Result<(), VenueError> {
        let why = match policy.scheduler {
            Scheduler::Kernel => return Ok(()),
            Scheduler::Ideal(_) => "an ideal discipline exists in the simulator alone; use --venue sim".into(),
            Scheduler::Object { .. } if std::path::Path::new(SCHED_EXT).exists() => {
                "loading policies into the running kernel is not built yet; use --venue sim".into()
            }
            Scheduler::Object { .. } => format!(
                "the running kernel, {}, has no sched_ext; boot one that has (6.12 or newer), or use --venue sim; the \
                 kernel's own scheduler is --policy kernel",
                kernel_release()
            ),
        };
        Err(VenueError::NotHere { policy: policy.label.clone(), venue: self.name(), why })
    }

    fn is_shareable(&self) -> bool {
        false
    }

    fn run(
        &self,
        request: &Request,
        sink: Option<&mut dyn Sink>,
        control: &mut dyn Control,
    ) -> Result<Run, VenueError> {
        self.accepts(request.policy)?;
        let calibration = self.calibration()?;
        let settings = Settings { algorithm: self.algorithm, calibration: calibration.clone(), seed: request.seed };
        let report = schedlab_load::run(request.workload, &settings, &mut Watch(control))?;
        let mut sinks = (Collector::new_fluid(request.workload), sink);
        events_of_tasks(&report).iter().for_each(|event| sinks.event(event));
        sinks.finish(Time(end_ns(request.workload, &report)));
        let mut measures = sinks.0.into_measures();
        add_what_tasks_know(&mut measures, request.workload, &report);
        let response_batches = std::mem::take(&mut measures.response_batches);
        let mut result = measures.into_result(identity(request, &report, &calibration));
        result.jain = None;
        result.work_conservation_violation = None;
        result.overhead_ns = None;
        Ok(Run { result, response_batches, printed: Vec::new(), printed_dropped: 0 })
    }
}

struct Watch<'a>(&'a mut dyn Control);

impl Watcher for Watch<'_> {
    fn go_on(&mut self, now: Time) -> bool {
        self.0.go_on(now)
    }
}

/// The end of the run: the scenario's, or that of its last task.
fn end_ns(workload: &Workload, report: &Report) -> u64 {
    let asked = workload.run.duration.ns();
    if report.length_ns < asked || asked == u64::MAX { report.length_ns } else { asked }
}

/// What the tasks themselves saw, as events in the order of time. Nothing is said of who ran where: each task's CPU
/// time comes in one piece, at its end.
fn events_of_tasks(report: &Report) -> Vec<Event> {
    let end = report.tasks.iter().map(|task| task.ended_ns).max().unwrap_or(0);
    let mut events = Vec::new();
    let mut add = |at: u64, kind| events.push(Event { time: Time(at.min(end)), cpu: CpuId(0), kind });
    for (number, task) in report.tasks.iter().enumerate() {
        let Some(began) = task.began_ns else { continue };
        let id = TaskId(number as u32);
        let parent = task.parent.map(TaskId);
        add(task.intended_ns.min(began), EventKind::Fork { task: id, group: GroupId(task.group), parent });
        if let Some(intended) = task.open_intended_ns {
            add(intended.max(task.intended_ns), EventKind::RequestBegin { task: id, intended: Time(intended) });
        }
        add(task.ended_ns, EventKind::Share { task: id, cpu_time: Time(task.cpu_ns) });
    }
    for request in &report.requests {
        let task = TaskId(request.task);
        add(request.begin_ns, EventKind::RequestBegin { task, intended: Time(request.intended_ns) });
        add(request.end_ns, EventKind::RequestEnd { task, demand: Time(request.demand_ns) });
    }
    events.sort_by_key(|event| (event.time, rank(&event.kind)));
    events
}

/// The order of what happens at one instant: births first, ends before begins, accounts last.
fn rank(kind: &EventKind) -> u8 {
    match kind {
        EventKind::Fork { .. } => 0,
        EventKind::RequestEnd { .. } => 1,
        EventKind::RequestBegin { .. } => 2,
        _ => 3,
    }
}

/// What the kernel told each task at its end, and what only this venue knows: late and dropped arrivals.
fn add_what_tasks_know(measures: &mut RunMeasures, workload: &Workload, report: &Report) {
    for (index, group) in measures.groups.iter_mut().enumerate() {
        let tasks = || report.tasks.iter().filter(move |task| task.group as usize == index);
        group.measures.switches.voluntary = tasks().map(|task| task.switches.0).sum();
        group.measures.switches.involuntary = tasks().map(|task| task.switches.1).sum();
        let is_open = matches!(workload.groups[index].birth, schedlab_model::workload::Birth::Arrivals { .. });
        if is_open {
            let late = |task: &&schedlab_load::TaskReport| {
                task.began_ns.is_some_and(|began| began > task.intended_ns + schedlab_load::LATE_NS)
            };
            group.measures.requests_late = Some(tasks().filter(late).count() as u64);
            group.measures.requests_dropped = Some(tasks().filter(|task| task.began_ns.is_none()).count() as u64);
        }
    }
    for task in &mut measures.tasks {
        let seen = &report.tasks[task.id as usize];
        (task.measures.switches.voluntary, task.measures.switches.involuntary) = seen.switches;
    }
}

fn identity(request: &Request, report: &Report, calibration: &Calibration) -> RunIdentity {
    RunIdentity {
        scenario: scenario_info(request.workload),
        policy: request.policy.info.clone(),
        venue: "host".into(),
        seed: request.seed,
        provenance: Provenance {
            version: env!("CARGO_PKG_VERSION").into(),
            scenario_hash: request.scenario_hash.into(),
            policy_hash: request.policy.hash.clone(),
            kernel: Some(kernel_release()),
        },
        lost: report.requests_lost,
        partial: report.partial,
        calibration: Some(CalibrationInfo {
            algorithm: calibration.algorithm.clone(),
            ns_per_piece: calibration.ns_per_piece,
            spread_frac: calibration.spread,
        }),
        missing: vec![
            "waits, migrations, run-queue lengths, balance and overhead: the kernel's scheduling events were not \
             recorded"
                .into(),
        ],
    }
}

/// The release of the running kernel.
fn kernel_release() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim())
}
