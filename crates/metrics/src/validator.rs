//! The laws that every trace obeys, simulated, recorded or imported.

mod ranges;

use ranges::Ranges;
use schedlab_model::ids::{CpuId, RequestId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason, Sink, WakeSource};
use schedlab_model::workload::Workload;
use std::collections::BTreeMap;

/// That many violations are reported in words; the others are counted.
pub const MAX_REPORTED: usize = 20;

/// What a trace knows about itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expectations<'a> {
    /// The workload that ran, when it is known: its CPUs, roles and allowed sets bound what may happen.
    pub workload: Option<&'a Workload>,
    /// Whether events are missing, at the beginning or between. What a missing event may explain is then no violation:
    /// an unknown task, a task or CPU in another state than seen last, an unpaired request.
    pub lost_events: bool,
    /// Whether the trace is of a fluid discipline: tasks share CPUs and nothing is switched, so a task that is done is
    /// not seen to leave.
    pub fluid: bool,
}

/// One broken law, as one line: `12.5ms cpu 1 task 7 event 93: a task runs on two CPUs …`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{time} cpu {cpu} {}event {number}: {what}", task.map(|task| format!("task {task} ")).unwrap_or_default())]
pub struct TraceViolation {
    /// When.
    pub time: Time,
    /// The CPU of the event.
    pub cpu: CpuId,
    /// The task that it concerns.
    pub task: Option<TaskId>,
    /// The number of the event in the trace, from 1; one more than the last at the end of the trace.
    pub number: u64,
    /// The law and how it was broken.
    pub what: String,
}

/// What was found in a trace.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The first violations, in the order of the trace.
    pub reported: Vec<TraceViolation>,
    /// All violations.
    pub violations: u64,
    /// Events looked at.
    pub events: u64,
    /// Tasks that were seen.
    pub tasks: u64,
}

impl Findings {
    /// Whether no law was broken.
    pub fn is_lawful(&self) -> bool {
        self.violations == 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Known to exist, not runnable.
    Off,
    Runnable,
    Running(CpuId),
    /// Left its CPU for good; its end is still to be announced.
    Gone,
}

#[derive(Clone, Copy, Debug)]
struct TaskFacts {
    state: State,
    role: Option<usize>,
    /// Its end was announced while it was on a CPU, at this time.
    exit: Option<Time>,
    request_open: bool,
    /// On a CPU since, or sum of it.
    ran_ns: u64,
    since: Time,
}

/// Checks a trace while it streams by. Keeps the living tasks only, and the numbers of those that ended as ranges.
pub struct Validator<'a> {
    expectations: Expectations<'a>,
    now: Time,
    cpus: BTreeMap<CpuId, CpuFacts>,
    tasks: BTreeMap<TaskId, TaskFacts>,
    /// The open requests that have a number, and the task that has each; none while it waits.
    requests: BTreeMap<RequestId, Option<TaskId>>,
    ended: Ranges,
    /// Time on CPUs of tasks that ended.
    ended_ran_ns: u64,
    findings: Findings,
}

#[derive(Clone, Copy, Debug, Default)]
struct CpuFacts {
    task: Option<TaskId>,
    since: Time,
    occupied_ns: u64,
}

impl<'a> Validator<'a> {
    /// For a trace of which this is known.
    pub fn new(expectations: Expectations<'a>) -> Validator<'a> {
        Validator {
            expectations,
            now: Time::ZERO,
            cpus: BTreeMap::new(),
            tasks: BTreeMap::new(),
            requests: BTreeMap::new(),
            ended: Ranges::default(),
            ended_ran_ns: 0,
            findings: Findings::default(),
        }
    }

    /// What was found.
    pub fn into_findings(self) -> Findings {
        self.findings
    }

    fn report(&mut self, event: &Event, task: Option<TaskId>, what: impl Into<String>) {
        self.findings.violations += 1;
        if self.findings.reported.len() < MAX_REPORTED {
            let number = self.findings.events;
            let violation = TraceViolation { time: event.time, cpu: event.cpu, task, number, what: what.into() };
            self.findings.reported.push(violation);
        }
    }

    /// As `report`, for what a missing event may explain.
    fn report_unless_lost(&mut self, event: &Event, task: TaskId, what: impl Into<String>) {
        if !self.expectations.lost_events {
            self.report(event, Some(task), what);
        }
    }

    /// The task, which must be known and alive. After a loss, an unknown one is taken for `state`.
    fn task(&mut self, event: &Event, id: TaskId, state: State) -> Option<&mut TaskFacts> {
        if !self.tasks.contains_key(&id) {
            if self.ended.contains(id.0) {
                self.report_unless_lost(event, id, "an event of a task that has ended");
            } else {
                self.report_unless_lost(event, id, "an event of a task that never came to be");
            }
            if !self.expectations.lost_events {
                return None;
            }
            self.findings.tasks += 1;
            self.tasks.insert(id, TaskFacts::new(state, None, event.time));
        }
        self.tasks.get_mut(&id)
    }

    fn check_cpu(&mut self, event: &Event, cpu: CpuId) {
        if let Some(workload) = self.expectations.workload {
            let cpus = workload.machine.cpus();
            if cpu.0 >= cpus {
                self.report(event, None, format!("CPU {cpu} does not exist, the machine has {cpus}"));
            }
        }
    }

    fn check_allowed(&mut self, event: &Event, id: TaskId, cpu: CpuId) {
        let role = self.tasks.get(&id).and_then(|task| task.role);
        if let (Some(workload), Some(role)) = (self.expectations.workload, role) {
            let role = &workload.roles[role];
            if !role.all_cpus().any(|cpus| cpus.contains(cpu)) && !workload.possible_cpus(role).contains(cpu) {
                let what = format!("a task of {:?} on CPU {cpu}, allowed are {}", role.name, role.possible_cpus());
                self.report(event, Some(id), what);
            }
        }
    }

    fn fork(&mut self, event: &Event, id: TaskId, role: usize) {
        if self.tasks.contains_key(&id) || self.ended.contains(id.0) {
            self.report(event, Some(id), "a task comes to be for the second time");
        }
        let roles = self.expectations.workload.map(|workload| workload.roles.len());
        if let Some(roles) = roles.filter(|&roles| role >= roles) {
            self.report(event, Some(id), format!("role {role} does not exist, the workload has {roles}"));
        }
        let role = (roles.is_some_and(|roles| role < roles)).then_some(role);
        self.findings.tasks += 1;
        self.tasks.insert(id, TaskFacts::new(State::Off, role, event.time));
    }

    fn exit(&mut self, event: &Event, id: TaskId) {
        let Some(task) = self.task(event, id, State::Off) else { return };
        if task.exit.is_some() {
            self.report(event, Some(id), "a task ends for the second time");
        } else if let State::Running(_) = task.state {
            task.exit = Some(event.time);
        } else {
            self.end(id);
        }
    }

    fn end(&mut self, id: TaskId) {
        if let Some(task) = self.tasks.remove(&id) {
            self.ended_ran_ns += task.ran_ns;
            self.ended.insert(id.0);
        }
    }

    fn wakeup(&mut self, event: &Event, id: TaskId, target: CpuId, source: WakeSource) {
        self.check_cpu(event, target);
        let fluid = self.expectations.fluid;
        let Some(task) = self.task(event, id, State::Off) else { return };
        let before = std::mem::replace(&mut task.state, State::Runnable);
        match before {
            State::Off => {}
            State::Runnable if fluid || source == WakeSource::Untold => {}
            State::Runnable => self.report_unless_lost(event, id, "a runnable task wakes up"),
            State::Gone => self.report(event, Some(id), "a task wakes up after it left its CPU for good"),
            State::Running(on) => {
                task.state = before;
                self.report_unless_lost(event, id, format!("a task wakes up while it runs on CPU {on}"));
            }
        }
        self.check_allowed(event, id, target);
    }

    fn switch(&mut self, event: &Event, previous: Option<TaskId>, reason: Reason, next: Option<TaskId>) {
        if previous.is_some() && previous == next {
            self.report(event, previous, "a switch from a task to itself");
            return;
        }
        if previous.is_none() != (reason == Reason::Idle) {
            self.report(event, previous, format!("reason {reason:?} does not fit the task that left the CPU"));
        }
        let facts = self.cpus.entry(event.cpu).or_default();
        let current = std::mem::replace(&mut facts.task, next);
        facts.occupied_ns += current.map_or(0, |_| event.time.since(facts.since).ns());
        facts.since = event.time;
        if current != previous {
            let name = |task: Option<TaskId>| task.map_or("no task".to_string(), |task| format!("task {task}"));
            let what = format!("{} leaves the CPU, but {} is on it", name(previous), name(current));
            if !self.expectations.lost_events {
                self.report(event, previous.or(current), what);
            }
        }
        if let Some(id) = previous {
            self.leave(event, id, reason);
        }
        if let Some(id) = next {
            self.enter(event, id);
        }
    }

    fn leave(&mut self, event: &Event, id: TaskId, reason: Reason) {
        let Some(task) = self.task(event, id, State::Running(event.cpu)) else { return };
        let after = match reason {
            Reason::SliceEnd | Reason::Preempted | Reason::Yielded => State::Runnable,
            Reason::Blocked | Reason::Idle => State::Off,
            Reason::Exited => State::Gone,
        };
        let before = std::mem::replace(&mut task.state, after);
        let exit = task.exit;
        if before == State::Running(event.cpu) {
            task.ran_ns += event.time.since(task.since).ns();
        } else {
            let what = match before {
                State::Running(on) => format!("a task leaves this CPU while it runs on CPU {on}"),
                _ => "a task leaves a CPU without having been switched in".to_string(),
            };
            self.report_unless_lost(event, id, what);
        }
        match exit {
            Some(at) if reason != Reason::Exited || at != event.time => {
                let what = format!("it ended at {at} and leaves the CPU now, as {reason:?}");
                self.report(event, Some(id), what);
                self.end(id);
            }
            Some(_) => self.end(id),
            None => {}
        }
    }

    fn enter(&mut self, event: &Event, id: TaskId) {
        let Some(task) = self.task(event, id, State::Runnable) else { return };
        let before = std::mem::replace(&mut task.state, State::Running(event.cpu));
        task.since = event.time;
        match before {
            State::Runnable => {}
            State::Off => self.report_unless_lost(event, id, "a task that is not runnable is switched in"),
            State::Gone => self.report(event, Some(id), "a task is switched in after it left its CPU for good"),
            State::Running(on) => {
                self.report_unless_lost(event, id, format!("a task runs on two CPUs, this one and CPU {on}"));
                if let Some(other) = self.cpus.get_mut(&on).filter(|other| other.task == Some(id)) {
                    // Forget the older one, so that one mistake is reported once.
                    other.task = None;
                }
            }
        }
        self.check_allowed(event, id, event.cpu);
    }

    fn untraced(&mut self, event: &Event) {
        if let Some(id) = self.cpus.get(&event.cpu).and_then(|cpu| cpu.task) {
            self.report_unless_lost(event, id, "the CPU does what is not in the trace while a task is on it");
        }
    }

    fn migrate(&mut self, event: &Event, id: TaskId, from: CpuId, to: CpuId) {
        self.check_cpu(event, from);
        self.check_cpu(event, to);
        if from == to {
            self.report(event, Some(id), "a migration to where the task is");
        }
        if let Some(TaskFacts { state: State::Running(on), .. }) = self.task(event, id, State::Runnable) {
            let what = format!("a task migrates while it runs on CPU {on}");
            self.report_unless_lost(event, id, what);
        }
        self.check_allowed(event, id, to);
    }

    fn request(&mut self, event: &Event, id: TaskId, begins: bool) {
        let Some(task) = self.task(event, id, State::Runnable) else { return };
        if std::mem::replace(&mut task.request_open, begins) == begins {
            let what = if begins { "a request begins within a request" } else { "a request ends that never began" };
            self.report_unless_lost(event, id, what);
        }
    }

    /// A request with a number goes to where it waits, from outside or from the task that has it or bears it.
    fn request_waits(&mut self, event: &Event, request: RequestId, by: Option<TaskId>) {
        if let Some(by) = by {
            self.task(event, by, State::Runnable);
        }
        match self.requests.insert(request, None) {
            Some(None) => self.report(event, by, format!("request {request} waits already")),
            Some(holder) if holder != by => {
                self.report(event, by, format!("request {request} is handed on by a task that does not have it"))
            }
            _ => {}
        }
    }

    /// A task takes a request with a number. One that was never seen to wait was there from the start.
    fn request_taken(&mut self, event: &Event, request: RequestId, by: TaskId) {
        self.task(event, by, State::Off);
        if let Some(Some(_)) = self.requests.insert(request, Some(by)) {
            self.report_unless_lost(event, by, format!("request {request} is taken twice"));
        }
    }

    fn request_answered(&mut self, event: &Event, request: RequestId, by: TaskId) {
        self.task(event, by, State::Runnable);
        if self.requests.remove(&request) != Some(Some(by)) {
            self.report_unless_lost(
                event,
                by,
                format!("request {request} is answered by a task that does not have it"),
            );
        }
    }

    /// Time on CPUs, seen from the tasks, is the time CPUs were occupied.
    fn check_conservation(&mut self, end: &Event) {
        let running = |task: &TaskFacts| match task.state {
            State::Running(_) => end.time.since(task.since).ns(),
            _ => 0,
        };
        let tasks: u64 = self.tasks.values().map(|task| task.ran_ns + running(task)).sum::<u64>() + self.ended_ran_ns;
        let open = |cpu: &CpuFacts| cpu.task.map_or(0, |_| end.time.since(cpu.since).ns());
        let cpus: u64 = self.cpus.values().map(|cpu| cpu.occupied_ns + open(cpu)).sum();
        if tasks != cpus && !self.expectations.lost_events {
            self.report(end, None, format!("tasks ran for {tasks} ns, but CPUs were occupied for {cpus} ns"));
        }
    }
}

impl TaskFacts {
    fn new(state: State, role: Option<usize>, since: Time) -> TaskFacts {
        TaskFacts { state, role, exit: None, request_open: false, ran_ns: 0, since }
    }

    fn half_ended(&self) -> Option<&'static str> {
        match (self.exit, self.state) {
            (Some(_), _) => Some("it ended and never left its CPU"),
            (None, State::Gone) => Some("it left its CPU for good and its end was never announced"),
            _ => None,
        }
    }
}

impl Sink for Validator<'_> {
    fn event(&mut self, event: &Event) {
        self.findings.events += 1;
        if event.time < self.now {
            self.report(event, None, format!("time goes back from {} by {}", self.now, self.now.since(event.time)));
        }
        self.now = self.now.max(event.time);
        self.check_cpu(event, event.cpu);
        match event.kind {
            EventKind::Fork { task, role, parent } => {
                if let Some(parent) = parent {
                    self.task(event, parent, State::Off);
                }
                self.fork(event, task, role.index());
            }
            EventKind::Exit { task } => self.exit(event, task),
            EventKind::Wakeup { task, target, waker, source } => {
                if let Some(waker) = waker {
                    self.task(event, waker, State::Runnable);
                }
                self.wakeup(event, task, target, source);
            }
            EventKind::Switch { previous, reason, next } => self.switch(event, previous, reason, next),
            EventKind::Migrate { task, from, to } => self.migrate(event, task, from, to),
            EventKind::RequestQueue { request, task, .. } => self.request_waits(event, request, task),
            EventKind::RequestBegin { task, intended, request } => {
                if intended > event.time {
                    self.report(event, Some(task), format!("a request begins before it is due at {intended}"));
                }
                match request {
                    Some(request) => self.request_taken(event, request, task),
                    None => self.request(event, task, true),
                }
            }
            EventKind::RequestEnd { task, request: Some(request), .. } => self.request_answered(event, request, task),
            EventKind::RequestEnd { task, .. } => self.request(event, task, false),
            EventKind::Status { task, .. }
            | EventKind::Share { task, .. }
            | EventKind::Join { task, .. }
            | EventKind::Throttle { task, .. } => {
                self.task(event, task, State::Off);
            }
            EventKind::Release { task, release, deadline, .. } => {
                self.task(event, task, State::Off);
                if deadline < release {
                    self.report(event, Some(task), format!("a job is due at {deadline}, before its release"));
                }
            }
            EventKind::Call { task: Some(task), .. } => {
                self.task(event, task, State::Off);
            }
            EventKind::Untraced { .. } => self.untraced(event),
            EventKind::Call { task: None, .. } | EventKind::Tick | EventKind::Overhead { .. } => {}
        }
    }

    fn finish(&mut self, end: Time) {
        self.findings.events += 1;
        let event = Event { time: end, cpu: CpuId(0), kind: EventKind::Tick };
        if end < self.now {
            self.report(&event, None, format!("the run ends before its last event at {}", self.now));
        }
        let unfinished: Vec<(TaskId, &str)> =
            self.tasks.iter().filter_map(|(&id, task)| Some((id, task.half_ended()?))).collect();
        for (id, what) in unfinished {
            self.report_unless_lost(&event, id, what);
        }
        self.check_conservation(&event);
        self.findings.events -= 1;
    }
}

#[cfg(test)]
mod tests;
