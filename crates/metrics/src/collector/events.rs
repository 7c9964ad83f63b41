//! What each event does to the numbers.

use super::cpus::Cpus;
use super::idle_watch::IdleWatch;
use super::measures::Totals;
use super::outcome::{self, Detail};
use super::task::{Activity, NOT_YET, Task};
use super::{Collector, MAX_TASKS_IN_DETAIL, charge_running};
use schedlab_model::ids::{ControlGroupId, CpuId, RoleId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Overhead, Reason, Sink, Untraced, WakeSource};

impl Collector {
    fn fork(&mut self, id: TaskId, role: RoleId) {
        self.events.forks += 1;
        let Some(state) = self.roles.get_mut(role.index()) else { return };
        state.count += 1;
        if self.in_detail && self.details.len() == MAX_TASKS_IN_DETAIL {
            self.in_detail = false;
            self.join_details();
            for slot in self.tasks.slots() {
                let task = self.tasks.get_mut(slot);
                task.observations = task.role.0;
            }
        }
        let observations = if self.in_detail {
            let detail = Detail { id, role, totals: Totals::default(), measured: true };
            outcome::keep_apart(&mut self.details, &mut self.observations, detail)
        } else {
            role.0
        };
        self.tasks.insert(Task::new(id, role, observations, self.now));
    }

    #[inline(always)]
    fn wakeup(&mut self, id: TaskId, target: CpuId, source: WakeSource) {
        if source == WakeSource::Untold {
            return self.rouse(id, target);
        }
        self.events.wakeups += 1;
        let Some(task) = self.tasks.find(id) else { return };
        if task.is_runnable() || self.fluid {
            return;
        }
        if task.request_open || task.taken > 0 {
            task.blocked_ns += self.now - task.since;
        } else {
            (task.blocked_ns, task.waited_ns) = (0, 0);
        }
        task.activity = Activity::Woken;
        (task.since, task.woken) = (self.now, self.now);
        task.cpu = target;
        self.cpus.joins(target, task.role, self.now);
        if let Some(watch) = &mut self.idle_watch {
            watch.wait_begins(task.role.index());
        }
    }

    /// A task is runnable, and since when was not recorded. That is no wake-up, and what follows is no wait that is known.
    #[cold]
    fn rouse(&mut self, id: TaskId, target: CpuId) {
        let Some(task) = self.tasks.find(id) else { return };
        let before = task.activity;
        if before == Activity::Running || self.fluid {
            return;
        }
        (task.waited_ns, task.blocked_ns) = task.clocks(self.now);
        (task.activity, task.since, task.woken) = (Activity::Roused, self.now, self.now);
        if before != Activity::Off {
            return;
        }
        task.cpu = target;
        self.cpus.joins(target, task.role, self.now);
        if let Some(watch) = &mut self.idle_watch {
            watch.wait_begins(task.role.index());
        }
    }

    #[inline(always)]
    fn switch(&mut self, cpu: CpuId, previous: Option<TaskId>, reason: Reason, next: Option<TaskId>) {
        self.events.switches += 1;
        if previous == next {
            return;
        }
        let state = &mut self.cpus[cpu.index()];
        let overhead_clock = state.overhead.elapsed(self.now);
        if !state.occupied {
            state.end_idle(self.now);
            self.unwatch_idle(cpu);
        }
        if let Some(id) = previous {
            self.leave(cpu, id, reason, overhead_clock);
        }
        match next {
            Some(id) => self.enter(cpu, id, overhead_clock),
            None => {
                let state = &mut self.cpus[cpu.index()];
                state.begin_idle(self.now);
                if let Some(watch) = &mut self.idle_watch {
                    Self::watch_idle(watch, state, cpu.index(), self.now);
                }
            }
        }
    }

    #[inline(always)]
    fn leave(&mut self, cpu: CpuId, id: TaskId, reason: Reason, overhead_clock: u64) {
        let (now, held) = (self.now, self.is_held(id));
        let Some(task) = self.tasks.find(id) else { return };
        match task.activity {
            Activity::Running => charge_running(task, now, overhead_clock),
            _ => enter_unseen(task, cpu, &mut self.cpus, &mut self.idle_watch, now),
        }
        match reason {
            Reason::SliceEnd | Reason::Preempted => task.involuntary += 1,
            Reason::Yielded | Reason::Blocked | Reason::Exited | Reason::Idle => task.voluntary += 1,
        }
        if matches!(reason, Reason::SliceEnd | Reason::Preempted | Reason::Yielded) {
            task.activity = Activity::Preempted;
            task.since = now;
            if let Some(watch) = self.idle_watch.as_mut().filter(|_| !held) {
                watch.wait_begins(task.role.index());
            }
            return;
        }
        task.activity = Activity::Off;
        self.cpus.leaves(task.cpu, task.role, now);
        if task.exited {
            self.part_with(id);
        }
    }

    #[inline(always)]
    fn enter(&mut self, cpu: CpuId, id: TaskId, overhead_clock: u64) {
        let (now, held) = (self.now, self.is_held(id));
        let Some(task) = self.tasks.find(id) else { return };
        let before = std::mem::replace(&mut task.activity, Activity::Running);
        if matches!(before, Activity::Woken | Activity::Roused | Activity::Preempted) {
            let observations = &mut self.observations[task.observations as usize];
            task.waited_ns += now - task.since;
            match before {
                Activity::Woken => observations.wakeup_latency.record(task.note_wait(now)),
                Activity::Preempted => observations.preempt_wait.record(task.note_wait(now)),
                Activity::Roused | Activity::Running | Activity::Off => {}
            }
            if let Some(watch) = self.idle_watch.as_mut().filter(|_| !held) {
                watch.wait_ends(task.role.index());
            }
        }
        if held {
            self.held.remove(&id);
        }
        task.since = now;
        task.overhead_mark = overhead_clock;
        if task.first_run_due {
            (task.first_run, task.first_run_due) = (now, false);
        }
        let from = std::mem::replace(&mut task.cpu, cpu);
        match before {
            // Only in traces that lost events.
            Activity::Off => self.cpus.joins(cpu, task.role, now),
            _ => self.cpus.moves(from, cpu, task.role, now),
        }
    }

    #[inline(always)]
    fn migrate(&mut self, id: TaskId, to: CpuId) {
        self.events.migrations += 1;
        let Some(task) = self.tasks.find(id) else { return };
        task.migrations += 1;
        if task.is_waiting() {
            let from = std::mem::replace(&mut task.cpu, to);
            self.cpus.moves(from, to, task.role, self.now);
        }
    }

    fn exit(&mut self, id: TaskId) {
        self.events.exits += 1;
        self.end_job(id);
        let held = self.is_held(id);
        let Some(task) = self.tasks.find(id) else { return };
        self.observations[task.observations as usize].turnaround.record(self.now - task.born);
        if task.activity == Activity::Running {
            // The switch that follows takes it off its CPU.
            task.exited = true;
            return;
        }
        if task.is_waiting() {
            task.note_wait(self.now);
            self.cpus.leaves(task.cpu, task.role, self.now);
            if let Some(watch) = self.idle_watch.as_mut().filter(|_| !held) {
                watch.wait_ends(task.role.index());
            }
        }
        self.part_with(id);
    }

    /// Lets the numbers of a task flow into its role, and forgets the task.
    fn part_with(&mut self, id: TaskId) {
        if let Some(slot) = self.tasks.slot(id) {
            self.account(slot);
            self.leave_control_group(slot);
            self.tasks.remove(slot);
        }
    }

    fn account(&mut self, slot: usize) {
        let task = self.tasks.get_mut(slot);
        let totals = Totals::of(task);
        let role = &mut self.roles[task.role.index()];
        role.totals.add(&totals);
        role.starved += u64::from(task.cpu_ns == 0 && task.longest_wait().is_some_and(|wait| wait > 0));
        if task.responses > 0 {
            role.task_means.record(task.response_sum as f64 / task.responses as f64);
        }
        let lived = self.now - task.born.max(self.window_from);
        if lived > 0 {
            let share_by = |weight: u32| task.cpu_ns as f64 / (lived as f64 * f64::from(weight));
            role.jain.record(share_by(1));
            role.weight.iter().for_each(|weight| self.jain.record(share_by(*weight)));
        }
        if let Some(place) = (task.observations as usize).checked_sub(self.roles.len()) {
            self.details[place].totals = totals;
        }
    }

    /// Whether a task waits for a limit; before the event that is at hand.
    #[inline]
    fn is_held(&self, id: TaskId) -> bool {
        match &self.control_groups {
            Some(groups) => groups.is_held(id),
            None => !self.held.is_empty() && self.held.contains(&id),
        }
    }

    /// A task that waits for a limit is no work that a CPU leaves undone.
    #[cold]
    fn hold(&mut self, id: TaskId, on: bool) {
        let held = self.is_held(id);
        // A trace that is measured again has throttled tasks and no control groups.
        match on && self.control_groups.is_none() {
            true => _ = self.held.insert(id),
            false => _ = self.held.remove(&id),
        }
        let Some(task) = self.tasks.find(id) else { return };
        if held == on || !task.is_waiting() {
            return;
        }
        match (&mut self.idle_watch, on) {
            (Some(watch), true) => watch.wait_ends(task.role.index()),
            (Some(watch), false) => watch.wait_begins(task.role.index()),
            (None, _) => {}
        }
    }

    /// A task moves into another control group, with the CPU time that it has got so far.
    #[cold]
    fn join_control_group(&mut self, id: TaskId, to: ControlGroupId) {
        let (Some(groups), Some(task)) = (&mut self.control_groups, self.tasks.find(id)) else { return };
        if task.activity == Activity::Running {
            let clock = &self.cpus[task.cpu.index()].overhead;
            charge_running(task, self.now, clock.elapsed(self.now));
        }
        groups.join(id, task.cpu_ns, to);
    }

    fn leave_control_group(&mut self, slot: usize) {
        if let Some(groups) = &mut self.control_groups {
            let task = self.tasks.get_mut(slot);
            groups.leave(task.id, task.cpu_ns);
        }
    }

    /// A CPU without a task turns to something else.
    #[cold]
    fn turn_to(&mut self, cpu: CpuId, what: Untraced) {
        self.tells_of_others = true;
        let state = &mut self.cpus[cpu.index()];
        if state.occupied {
            return;
        }
        state.turn_to(what, self.now);
        if what != Untraced::Idle {
            self.unwatch_idle(cpu);
        } else if let Some(watch) = &mut self.idle_watch {
            Self::watch_idle(watch, state, cpu.index(), self.now);
        }
    }

    fn overhead(&mut self, cpu: CpuId, what: Overhead, length: Time) {
        let state = &mut self.cpus[cpu.index()];
        state.overhead.announce(self.now, what, length.0);
        if !state.occupied && length > Time::ZERO {
            let until = state.overhead.until();
            self.unwatch_idle(cpu);
            if let Some(watch) = &mut self.idle_watch {
                watch.overhead_until(cpu.index(), until);
            }
        }
    }
}

/// A task leaves a CPU on which it was not seen to come, in a trace that lost events. How long it waited before is not
/// known.
#[cold]
fn enter_unseen(task: &mut Task, cpu: CpuId, cpus: &mut Cpus, watch: &mut Option<IdleWatch>, now: u64) {
    let from = std::mem::replace(&mut task.cpu, cpu);
    if !task.is_runnable() {
        return cpus.joins(cpu, task.role, now);
    }
    cpus.moves(from, cpu, task.role, now);
    if let Some(watch) = watch {
        watch.wait_ends(task.role.index());
    }
}

impl Sink for Collector {
    #[inline(always)]
    fn event(&mut self, event: &Event) {
        if event.time.0 > self.now {
            self.advance(event.time.0);
        }
        if let Some(groups) = &mut self.control_groups {
            groups.pass(event.time.0);
        }
        match event.kind {
            EventKind::Switch { previous, reason, next } => self.switch(event.cpu, previous, reason, next),
            EventKind::Wakeup { task, target, source, .. } => self.wakeup(task, target, source),
            EventKind::RequestBegin { task, intended, request: None } => self.request_begin(task, intended),
            EventKind::RequestEnd { task, demand, request: None } => self.request_end(task, demand),
            EventKind::RequestBegin { task, intended, request: Some(request) } => self.take(task, request, intended),
            EventKind::RequestEnd { task, demand, request: Some(request) } => self.answer(task, request, demand),
            EventKind::RequestQueue { request, task, role } => self.queue(request, task, role),
            EventKind::Overhead { what, length } => self.overhead(event.cpu, what, length),
            EventKind::Migrate { task, to, .. } => self.migrate(task, to),
            EventKind::Tick => self.events.ticks += 1,
            EventKind::Fork { task, role, .. } => self.fork(task, role),
            EventKind::Exit { task } => self.exit(task),
            EventKind::Share { task, cpu_time } => self.charge(event.time, task, cpu_time.0),
            EventKind::Untraced { what } => self.turn_to(event.cpu, what),
            EventKind::Join { task, control_group } => self.join_control_group(task, control_group),
            EventKind::Throttle { task, on } => self.hold(task, on),
            EventKind::Release { task, deadline, skipped, .. } => self.release(task, deadline, skipped),
            EventKind::Status { .. } | EventKind::Call { .. } => {}
        }
        if let Some(groups) = &mut self.control_groups {
            groups.event(event);
        }
    }

    fn events(&mut self, events: &[Event]) {
        events.iter().for_each(|event| self.event(event));
    }

    fn finish(&mut self, end: Time) {
        assert!(!self.finished, "a run ends once");
        // A run that ends during the warm-up has measured nothing.
        self.warmup_end = if self.warmup_end == NOT_YET { NOT_YET } else { self.warmup_end.min(end.0) };
        self.advance(end.0.max(self.now));
        self.settle();
        if let Some(groups) = &mut self.control_groups {
            groups.pass(self.now);
        }
        for slot in self.tasks.slots() {
            let task = self.tasks.get_mut(slot);
            // Of one that became runnable at this instant it is not known that it waits at all.
            if task.is_waiting() && task.since < self.now {
                task.note_wait(self.now);
            }
            if task.request_open {
                let observations = &mut self.observations[task.observations as usize];
                observations.open_age.record(self.now - task.intended);
            }
            self.account(slot);
            self.leave_control_group(slot);
        }
        self.note_open_requests();
        self.note_overdue_jobs();
        self.finished = true;
    }
}
