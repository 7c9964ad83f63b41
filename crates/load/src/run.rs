//! A run from outside: checks first whether the machine can hold what is promised, starts the process in which the
//! tasks live, watches it, and reads what it left in shared memory.

use crate::algorithm::Algorithm;
use crate::calibration::Calibration;
use crate::clock::now_ns;
use crate::control_groups::{ControlGroups, Counters};
use crate::guarded::{Ended, Guarded};
use crate::master::{self, code};
use crate::reserve::Served;
use crate::shared::{MAX_REQUESTS, Moment, Shared, fate};
use crate::site::Site;
use crate::{attributes, program, refusal, standstill};
use schedlab_model::ids::ControlGroupId;
use schedlab_model::time::Time;
use schedlab_model::workload::{Step, Workload};
use serde::{Deserialize, Serialize};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::Ordering::*;
use std::time::Duration;

/// How long a run may last beyond its duration before it is killed.
const OVERTIME: Duration = Duration::from_secs(30);
/// Between two looks whether the tasks are about to begin: less than the master gives them.
const BEFORE_BEGIN: Duration = Duration::from_millis(1);
/// A request that begins that much later than intended because its task was created late, counts as late.
pub const LATE_NS: u64 = 1_000_000;

/// Why a run did not happen or is not to be believed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The machine cannot hold what the scenario asks for.
    #[error("{0}")]
    Refused(String),
    /// The kernel refused something.
    #[error("cannot {what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        error: std::io::Error,
    },
    /// All tasks that are left wait for one another.
    #[error("{0}")]
    Standstill(String),
    /// The process of the tasks failed.
    #[error("{0}")]
    Failed(String),
}

/// What a task saw. Times in nanoseconds from the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskReport {
    /// Its number for the kernel, and its process's.
    pub tid: i32,
    /// Its process.
    pub pid: i32,
    /// The index of its role.
    pub role: u32,
    /// The number of the task that created it.
    pub parent: Option<u32>,
    /// When it should have begun.
    pub intended_ns: u64,
    /// When it began; none if it could not be created.
    pub began_ns: Option<u64>,
    /// When it ended, unless the end of the run ended it.
    pub ended_ns: u64,
    /// CPU time, as the kernel counts it: of a process with its exit, of a thread without most of it.
    pub cpu_ns: u64,
    /// CPU time before its first step, if the run reads that ([`Settings::reads_cpu_time`]), else zero.
    pub start_cpu_ns: u64,
    /// CPU time after its last step; for a process, if the run reads that, else zero.
    pub done_cpu_ns: u64,
    /// How long it waited for a CPU since the run began, if the kernel says.
    pub run_delay_ns: Option<u64>,
    /// Voluntary and involuntary switches.
    pub switches: (u64, u64),
    /// When its open request should have begun.
    pub open_intended_ns: Option<u64>,
    /// The process of the real program that it ran.
    pub program: Option<i32>,
}

/// A request as a task saw it: its own, or one that it took. Times in nanoseconds from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestReport {
    /// The task's number.
    pub task: u32,
    /// Where it was taken from, if it was.
    pub taken: Option<WaitingReport>,
    /// When it should have begun: its birth.
    pub intended_ns: u64,
    /// When the task got it.
    pub begin_ns: u64,
    /// When the task answered it or handed it on, if it did.
    pub end_ns: Option<u64>,
    /// Whether it ended with an answer.
    pub answered: bool,
    /// CPU work that it asked for.
    pub demand_ns: u64,
}

/// A release of a periodic task. Times in nanoseconds from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseReport {
    /// The task's number.
    pub task: u32,
    /// When the task was done with the job before.
    pub at_ns: u64,
    /// When the job is released.
    pub release_ns: u64,
    /// When it is to be done.
    pub deadline_ns: u64,
    /// Releases before it that got no job.
    pub skipped: u32,
}

/// A request that waits for a worker. Times in nanoseconds from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingReport {
    /// Its number.
    pub request: u32,
    /// The task that sent it; none for one from outside.
    pub from: Option<u32>,
    /// Since when it waits.
    pub queued_ns: u64,
    /// The role for which it waits.
    pub role: u32,
}

/// What the kernel has counted for all tasks of a run, from their begins to their ends, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TasksCpu {
    /// For those that were threads, up to the instant at which the last one said that it ends.
    pub threads: u64,
    /// For those that were processes, and for the programs that tasks ran.
    pub processes: u64,
}

/// What a run left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The start of the run on the monotonic clock.
    pub start_ns: u64,
    /// How long it lasted.
    pub length_ns: u64,
    /// All tasks by number.
    pub tasks: Vec<TaskReport>,
    /// All requests that tasks had, in the order of their ends, those that did not end last.
    pub requests: Vec<RequestReport>,
    /// Releases of periodic tasks, in the order in which the tasks came to them.
    pub releases: Vec<ReleaseReport>,
    /// Requests that no task took.
    pub waiting: Vec<WaitingReport>,
    /// Requests for which there was no memory.
    pub requests_lost: u64,
    /// Tasks that arrived and could not be created.
    pub dropped: u64,
    /// Tasks that arrived and were created more than [`LATE_NS`] late.
    pub late: u64,
    /// Tasks that arrived and were created.
    pub arrivals: u32,
    /// CPU time that creating them took.
    pub arrivals_cpu_ns: u64,
    /// What the kernel has counted for all tasks, their ends included.
    pub cpu_ns: TasksCpu,
    /// What the kernel counted of each control group after the warm-up, by number; empty where there are none.
    pub control_groups: Vec<Counters>,
    /// Tasks that moved to another control group: when, which, where to.
    pub joins: Vec<(u64, u32, ControlGroupId)>,
    /// From the first to the last task that was set free from the CPU on which it was placed.
    pub freeing_ns: u64,
    /// Whether it was stopped before its time.
    pub partial: bool,
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What tasks compute.
    pub algorithm: Algorithm,
    /// How much of it a nanosecond is.
    pub calibration: Calibration,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The longest time between two calls of [`Watcher::go_on`].
    pub look: Duration,
    /// The class of the machine's other programs, for which the kernel has to keep time; none in a guest, which is the
    /// run's alone.
    pub others: Option<Served>,
    /// Whether each task reads its CPU time before its first step, and each process after its last one. The kernel then
    /// looks whether the task's slice is over (`task_sched_runtime`, `update_curr`), so that another may run before its
    /// exit. A task that reads no CPU time never has that.
    pub reads_cpu_time: bool,
}

/// Told how a run goes, and asked whether it continues.
pub trait Watcher {
    /// The process of the tasks exists; no task has begun.
    fn started(&mut self, _pid: i32) -> Result<(), LoadError> {
        Ok(())
    }
    /// The run begins in a moment: within two milliseconds next to others, in a guest whenever the next look comes.
    fn begins(&mut self) {}
    /// The run is over and all its tasks are gone.
    fn ended(&mut self) {}
    /// So much of the run is over. False ends it. Each call takes a CPU from a task for a moment, which its waits show.
    fn go_on(&mut self, now: Time) -> bool;
    /// What is readable when the next call should come before its time.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Watches nothing.
pub(crate) struct Unwatched;

impl Watcher for Unwatched {
    fn go_on(&mut self, _: Time) -> bool {
        true
    }
}

/// Runs a workload on this machine.
pub fn run(workload: &Workload, settings: &Settings, watcher: &mut dyn Watcher) -> Result<Report, LoadError> {
    refusal::check(workload, settings.others)?;
    let system = |what| move |error| LoadError::System { what, error };
    let control_groups = ControlGroups::make(&workload.control_groups, settings.others.is_some())?;
    let mut site = Site::open(workload, &settings.calibration, settings.algorithm, settings.seed, control_groups)
        .map_err(system("open what the tasks share"))?;
    site.reads_cpu_time = settings.reads_cpu_time;
    // No task may run before the supervisor is ready.
    let start = Guarded::start_work(|| master::run(&site));
    let mut guarded = start.map_err(system("start a process for the tasks"))?;
    watcher.started(guarded.pid())?;
    guarded.go().map_err(system("let the tasks begin"))?;
    let (status, partial) = watch(&site, &mut guarded, settings, watcher)?;
    // With all that the tasks started, wherever it has gone.
    drop(guarded);
    if let Some((task, failure)) = program::failure(&site.shared) {
        return Err(LoadError::Failed(of_program(workload, site.shared.task(task).role.load(Relaxed), failure)));
    }
    judge(status)?;
    Ok(report(&site, partial))
}

fn of_program(workload: &Workload, role: u32, failure: program::Failure) -> String {
    let role = &workload.roles[role as usize];
    let words = role.program.steps.iter().find_map(|step| match step {
        Step::Command(words) => Some(words.join(" ")),
        _ => None,
    });
    format!("task `{}`: {}", role.name, failure.text(&words.unwrap_or_default()))
}

/// Waits until the process has ended, but not for long, and not when the other descriptor is readable.
fn await_end(guarded: &Guarded, limit: Duration, other: Option<BorrowedFd>) {
    let other = other.map_or(-1, |descriptor| descriptor.as_raw_fd());
    let mut waits =
        [guarded.descriptor().as_raw_fd(), other].map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: two structures that live. Negative descriptors only take the time.
    unsafe { libc::poll(waits.as_mut_ptr(), 2, limit.as_millis() as libc::c_int) };
}

/// Waits for the end; gives the status (none if it had to be killed) and whether it was asked to end early.
fn watch(
    site: &Site,
    guarded: &mut Guarded,
    settings: &Settings,
    watcher: &mut dyn Watcher,
) -> Result<(Option<libc::c_int>, bool), LoadError> {
    let begun = now_ns();
    let limit = site.workload.run.duration.ns().saturating_add(OVERTIME.as_nanos() as u64);
    let endless = site.workload.run.end().is_none();
    let (mut stopped, mut has_begun) = (None, false);
    loop {
        if let Some(status) = ended(guarded)? {
            watcher.ended();
            return Ok((Some(status), stopped.is_some()));
        }
        let control = site.shared.control();
        let start = control.start_ns.load(Relaxed);
        if start != 0 && !std::mem::replace(&mut has_begun, true) {
            watcher.begins();
        }
        let passed = if start == 0 { 0 } else { now_ns().saturating_sub(start) };
        if stopped.is_none() && !watcher.go_on(Time(passed)) {
            site.shared.stop();
            stopped = Some(now_ns());
        }
        // Only the end of its last task ends it.
        if endless
            && stopped.is_none()
            && start != 0
            && let Some(who) = standstill::find(site)
        {
            return Err(LoadError::Standstill(who));
        }
        let overdue = stopped.is_some_and(|at| now_ns() - at > OVERTIME.as_nanos() as u64);
        if now_ns() - begun > limit || overdue {
            return Ok((None, stopped.is_some()));
        }
        // Its descriptor is not read once the run is to end.
        // In a guest each look would move what comes later.
        let is_about_to_begin = start == 0 && settings.others.is_some();
        let wait = if is_about_to_begin { BEFORE_BEGIN } else { settings.look };
        await_end(guarded, wait, watcher.descriptor().filter(|_| stopped.is_none()));
    }
}

/// The status of the process of the tasks, once it has ended.
fn ended(guarded: &mut Guarded) -> Result<Option<libc::c_int>, LoadError> {
    let gone = |error| LoadError::System { what: "watch the process of the tasks", error };
    Ok(guarded.ended().map_err(gone)?.map(|ended| match ended {
        Ended::Status(status) => status.into_raw(),
        Ended::NotStarted(_) => code::PANIC << 8,
    }))
}

fn judge(status: Option<libc::c_int>) -> Result<(), LoadError> {
    let failed = |text: &str| Err(LoadError::Failed(text.into()));
    let Some(status) = status else {
        return failed("the tasks did not end in time and were killed; a step of the scenario may wait for ever");
    };
    if !libc::WIFEXITED(status) {
        let signal = libc::WTERMSIG(status);
        return Err(LoadError::Failed(format!("the process of the tasks was killed by signal {signal}")));
    }
    match libc::WEXITSTATUS(status) {
        0 => Ok(()),
        code::NO_TASK => failed("the kernel creates no more threads or processes: fewer tasks, or raise `ulimit -u`"),
        code::REFUSED => failed(
            "the kernel refuses a task's class, nice value or CPUs, or has no room for what tasks of the class deadline reserve",
        ),
        code::NOT_READY => failed("the tasks did not get ready within 20 s: this machine is too slow for that many"),
        code::PLUG => {
            failed("the kernel does not take a CPU offline or online as the scenario asks: `dmesg` may say why")
        }
        code::HUNG => failed("tasks hung at the end of the run and were killed"),
        other => Err(LoadError::Failed(format!("the process of the tasks ended with code {other}"))),
    }
}

fn report(site: &Site, partial: bool) -> Report {
    let shared = &site.shared;
    let control = shared.control();
    let start_ns = control.start_ns.load(Relaxed);
    let since = |ns: u64| ns.saturating_sub(start_ns);
    let counted = |group: usize| shared.counted(Moment::End, group).since(shared.counted(Moment::Begin, group));
    let control_groups = match site.control_groups.is_empty() {
        true => Vec::new(),
        false => (0..site.workload.control_groups.len()).map(counted).collect(),
    };
    let joins = shared.joins().map(|(at, task, group)| (since(at), task, ControlGroupId(group))).collect();
    let tasks: Vec<TaskReport> = (0..shared.tasks())
        .map(|number| {
            let record = shared.task(number);
            let some = |value: u64| (value != 0).then(|| since(value));
            TaskReport {
                tid: record.tid.load(Relaxed),
                pid: record.pid.load(Relaxed),
                role: record.role.load(Relaxed),
                parent: record.parent.load(Relaxed).checked_sub(1),
                intended_ns: since(record.intended_ns.load(Relaxed)),
                began_ns: some(record.began_ns.load(Relaxed)),
                ended_ns: since(record.ended_ns.load(Acquire)),
                cpu_ns: record.cpu_ns.load(Relaxed),
                start_cpu_ns: record.start_cpu_ns.load(Relaxed),
                done_cpu_ns: record.done_cpu_ns.load(Relaxed),
                run_delay_ns: Some(record.run_delay_ns.load(Relaxed)).filter(|&ns| ns != u64::MAX),
                switches: (record.switches[0].load(Relaxed), record.switches[1].load(Relaxed)),
                open_intended_ns: some(record.open_intended_ns.load(Relaxed)),
                program: Some(record.last_program.load(Relaxed)).filter(|&pid| pid != 0),
            }
        })
        .collect();
    let length_ns = tasks.iter().map(|task| task.ended_ns).max().unwrap_or(0);
    let late = |task: &&TaskReport| task.began_ns.is_some_and(|began| began > task.intended_ns + LATE_NS);
    Report {
        start_ns,
        length_ns,
        requests: requests(site, start_ns),
        releases: releases(shared, start_ns),
        waiting: waiting(site, start_ns, length_ns),
        requests_lost: control.requests_lost.load(Relaxed),
        dropped: tasks.iter().filter(|task| task.began_ns.is_none()).count() as u64,
        late: tasks.iter().filter(late).count() as u64,
        arrivals: control.arrivals.load(Relaxed),
        arrivals_cpu_ns: control.arrivals_cpu_ns.load(Relaxed),
        cpu_ns: {
            let [threads, processes] = control.tasks_cpu_ns.each_ref().map(|ns| ns.load(Relaxed));
            TasksCpu { threads, processes }
        },
        control_groups,
        joins,
        freeing_ns: control.freed_ns[1].load(Relaxed) - control.freed_ns[0].load(Relaxed),
        tasks,
        partial,
    }
}

fn requests(site: &Site, start_ns: u64) -> Vec<RequestReport> {
    let shared = &site.shared;
    let places = shared.control().requests.load(Acquire).min(MAX_REQUESTS);
    let since = |ns: u64| ns.saturating_sub(start_ns);
    let of = |place: u32| {
        let record = shared.request(place);
        let task = record.task.load(Acquire).checked_sub(1)?;
        let fate = Some(record.fate.load(Acquire)).filter(|fate| *fate != fate::RELEASE)?;
        let taken = record.request.load(Relaxed).checked_sub(1).map(|request| WaitingReport {
            request,
            from: record.from.load(Relaxed).checked_sub(1),
            queued_ns: since(record.queued_ns.load(Relaxed)),
            role: shared.task(task).role.load(Relaxed),
        });
        Some(RequestReport {
            task,
            taken,
            intended_ns: since(record.intended_ns.load(Relaxed)),
            begin_ns: since(record.begin_ns.load(Relaxed)),
            end_ns: (fate != fate::OPEN).then(|| since(record.end_ns.load(Relaxed))),
            answered: fate == fate::ANSWERED,
            demand_ns: record.demand_ns.load(Relaxed),
        })
    };
    // A place that a task had begun to fill in when it was killed says nothing.
    let mut all: Vec<RequestReport> = (0..places).filter_map(of).filter(|r| r.taken.is_some() || r.answered).collect();
    all.sort_by_key(|request| (request.end_ns.unwrap_or(u64::MAX), request.task));
    all
}

fn releases(shared: &Shared, start_ns: u64) -> Vec<ReleaseReport> {
    let places = shared.control().requests.load(Acquire).min(MAX_REQUESTS);
    let since = |ns: u64| ns.saturating_sub(start_ns);
    let of = |place: u32| {
        let record = shared.request(place);
        let task = record.task.load(Acquire).checked_sub(1)?;
        (record.fate.load(Acquire) == fate::RELEASE).then(|| ReleaseReport {
            task,
            at_ns: since(record.begin_ns.load(Relaxed)),
            release_ns: since(record.intended_ns.load(Relaxed)),
            deadline_ns: since(record.end_ns.load(Relaxed)),
            skipped: record.request.load(Relaxed),
        })
    };
    let mut all: Vec<ReleaseReport> = (0..places).filter_map(of).collect();
    all.sort_by_key(|release| (release.at_ns, release.task, release.release_ns));
    all
}

/// The requests that no task took: those that tasks sent, and those that have come from outside until the end.
fn waiting(site: &Site, start_ns: u64, end_ns: u64) -> Vec<WaitingReport> {
    let objects = &site.workload.objects;
    let semaphores = objects.semaphores.iter().map(|semaphore| semaphore.work).enumerate();
    let channels = objects.channels.iter().map(|channel| channel.work).enumerate();
    let queues = semaphores
        .map(|(index, work)| (work, site.at_semaphore(index)))
        .chain(channels.map(|(index, work)| (work, site.at_channel(index))));
    let sent = queues.filter_map(|(work, queue)| Some((work?.role.0, queue?))).flat_map(|(role, queue)| {
        queue.left().into_iter().map(move |request| WaitingReport {
            request: request.id,
            from: request.from,
            queued_ns: request.queued_ns.saturating_sub(start_ns),
            role,
        })
    });
    let unclaimed = site.outside.iter().enumerate().flat_map(|(channel, outside)| {
        let role = objects.channels[channel].work.map_or(0, |work| work.role.0);
        let claimed = site.shared.object(site.claims(channel))[0].load(Relaxed);
        let come = outside.iter().flat_map(|outside| outside.at_ns.iter().zip(outside.first_id..));
        let left = come.skip(claimed as usize).take_while(move |(at_ns, _)| **at_ns <= end_ns);
        left.map(move |(&queued_ns, request)| WaitingReport { request, from: None, queued_ns, role })
    });
    sent.chain(unclaimed).collect()
}

/// Binds the calling thread to the CPU on which it is while `f` runs.
pub(crate) fn pinned<T>(f: impl FnOnce() -> T) -> std::io::Result<T> {
    let before = attributes::cpus()?;
    // SAFETY: it takes nothing.
    let cpu = unsafe { libc::sched_getcpu() };
    let here = [schedlab_model::ids::CpuId(cpu.max(0) as u32)].into_iter().collect();
    attributes::set_cpus(0, &here)?;
    let result = f();
    attributes::set_cpus(0, &before)?;
    Ok(result)
}
