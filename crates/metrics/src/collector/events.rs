//! What each event does to the numbers.

use super::measures::{SLOWDOWN_SCALE, Totals};
use super::outcome::{self, Detail};
use super::task::{Activity, NOT_YET, Task};
use super::{Collector, MAX_TASKS_IN_DETAIL, charge_running};
use crate::load::estimated_load;
use schedlab_model::ids::{CpuId, GroupId, TaskId};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Overhead, Reason, Sink};

impl Collector {
    fn change_load(&mut self, cpu: CpuId, more: bool) {
        let (before, after) = self.cpus[cpu.index()].change_load(self.now, more);
        if let Some(balance) = &mut self.balance {
            balance.change(before, after);
        }
    }

    fn move_load(&mut self, slot: usize, to: CpuId) {
        let from = std::mem::replace(&mut self.tasks.get_mut(slot).cpu, to);
        if from != to && !self.fluid {
            let (left, _) = self.cpus[from.index()].change_load(self.now, false);
            let (joined, _) = self.cpus[to.index()].change_load(self.now, true);
            if let Some(balance) = &mut self.balance {
                balance.change_two(left, joined);
            }
        }
    }

    fn fork(&mut self, id: TaskId, group: GroupId) {
        self.events.forks += 1;
        let Some(state) = self.groups.get_mut(group.index()) else { return };
        state.count += 1;
        if self.in_detail && self.details.len() == MAX_TASKS_IN_DETAIL {
            self.in_detail = false;
            self.join_details();
            for slot in self.tasks.slots() {
                let task = self.tasks.get_mut(slot);
                task.observations = task.group.0;
            }
        }
        let observations = if self.in_detail {
            let detail = Detail { id, group, totals: Totals::default(), measured: true };
            outcome::keep_apart(&mut self.details, &mut self.observations, detail)
        } else {
            group.0
        };
        self.tasks.insert(Task::new(id, group, observations, self.now));
    }

    fn wakeup(&mut self, id: TaskId, target: CpuId) {
        self.events.wakeups += 1;
        let Some(slot) = self.tasks.slot(id) else { return };
        let task = self.tasks.get_mut(slot);
        if task.is_runnable() || self.fluid {
            return;
        }
        task.activity = Activity::Woken;
        task.since = self.now;
        task.cpu = target;
        let group = task.group.index();
        self.change_load(target, true);
        if let Some(watch) = &mut self.idle_watch {
            watch.wait_begins(group);
        }
    }

    #[inline]
    fn switch(&mut self, cpu: CpuId, previous: Option<TaskId>, reason: Reason, next: Option<TaskId>) {
        self.events.switches += 1;
        if previous == next {
            return;
        }
        let state = &mut self.cpus[cpu.index()];
        if !state.occupied {
            state.end_idle(self.now);
        }
        if let Some(id) = previous {
            self.leave(cpu, id, reason);
        }
        match next {
            Some(id) => {
                self.enter(cpu, id);
                self.unwatch_idle(cpu);
            }
            None => {
                let state = &mut self.cpus[cpu.index()];
                state.begin_idle(self.now);
                if let Some(watch) = &mut self.idle_watch {
                    Self::watch_idle(watch, state, cpu.index(), self.now);
                }
            }
        }
    }

    fn leave(&mut self, cpu: CpuId, id: TaskId, reason: Reason) {
        let Some(slot) = self.tasks.slot(id) else { return };
        let task = self.tasks.get_mut(slot);
        if task.activity == Activity::Running {
            charge_running(task, self.now, self.cpus[cpu.index()].overhead.elapsed(self.now));
        }
        let stays = match reason {
            Reason::SliceEnd | Reason::Preempted => {
                task.involuntary += 1;
                true
            }
            Reason::Yielded => {
                task.voluntary += 1;
                true
            }
            Reason::Blocked | Reason::Exited | Reason::Idle => {
                task.voluntary += 1;
                false
            }
        };
        if stays {
            task.activity = Activity::Preempted;
            task.since = self.now;
            if let Some(watch) = &mut self.idle_watch {
                watch.wait_begins(task.group.index());
            }
            return;
        }
        task.activity = Activity::Off;
        let (queue, exited) = (task.cpu, task.exited);
        self.change_load(queue, false);
        if exited {
            self.part_with(slot);
        }
    }

    fn enter(&mut self, cpu: CpuId, id: TaskId) {
        let now = self.now;
        let Some(slot) = self.tasks.slot(id) else { return };
        let task = self.tasks.get_mut(slot);
        let before = std::mem::replace(&mut task.activity, Activity::Running);
        match before {
            Activity::Woken | Activity::Preempted => {
                let wait = task.note_wait(now);
                let observations = &mut self.observations[task.observations as usize];
                match before {
                    Activity::Woken => observations.wakeup_latency.record(wait),
                    _ => observations.preempt_wait.record(wait),
                }
                if let Some(watch) = &mut self.idle_watch {
                    watch.wait_ends(task.group.index());
                }
            }
            // Only in traces that lost events.
            Activity::Off | Activity::Running => {}
        }
        task.since = now;
        task.overhead_mark = self.cpus[cpu.index()].overhead.elapsed(now);
        if task.request_open && task.first_run == NOT_YET {
            task.first_run = now;
        }
        if before == Activity::Off {
            task.cpu = cpu;
            self.change_load(cpu, true);
        } else if task.cpu != cpu {
            self.move_load(slot, cpu);
        }
    }

    fn migrate(&mut self, id: TaskId, to: CpuId) {
        self.events.migrations += 1;
        let Some(slot) = self.tasks.slot(id) else { return };
        let task = self.tasks.get_mut(slot);
        task.migrations += 1;
        if task.is_waiting() {
            self.move_load(slot, to);
        }
    }

    fn exit(&mut self, id: TaskId) {
        self.events.exits += 1;
        let Some(slot) = self.tasks.slot(id) else { return };
        let task = self.tasks.get_mut(slot);
        self.observations[task.observations as usize].turnaround.record(self.now - task.born);
        if task.activity == Activity::Running {
            // The switch that follows takes it off its CPU.
            task.exited = true;
            return;
        }
        if task.is_waiting() {
            task.note_wait(self.now);
            let (queue, group) = (task.cpu, task.group.index());
            self.change_load(queue, false);
            if let Some(watch) = &mut self.idle_watch {
                watch.wait_ends(group);
            }
        }
        self.part_with(slot);
    }

    /// Lets the numbers of a task flow into its group, and forgets the task.
    fn part_with(&mut self, slot: usize) {
        self.account(slot);
        self.tasks.remove(slot);
    }

    fn account(&mut self, slot: usize) {
        let task = self.tasks.get_mut(slot);
        let totals = Totals::of(task);
        let group = &mut self.groups[task.group.index()];
        group.totals.add(&totals);
        if task.responses > 0 {
            group.task_means.record(task.response_sum as f64 / task.responses as f64);
        }
        let lived = self.now - task.born.max(self.window_from);
        if let Some(weight) = group.weight.filter(|_| lived > 0) {
            self.jain.record(task.cpu_ns as f64 / (lived as f64 * f64::from(weight)));
        }
        if let Some(place) = (task.observations as usize).checked_sub(self.groups.len()) {
            self.details[place].totals = totals;
        }
    }

    fn request_begin(&mut self, id: TaskId, intended: Time) {
        let Some(slot) = self.tasks.slot(id) else { return };
        let fluid = self.fluid;
        let task = self.tasks.get_mut(slot);
        task.request_open = true;
        task.intended = intended.0.min(self.now);
        let runs = fluid || task.activity == Activity::Running;
        task.first_run = if runs { self.now } else { NOT_YET };
    }

    fn request_end(&mut self, id: TaskId, demand: Time) {
        let Some(slot) = self.tasks.slot(id) else { return };
        let task = self.tasks.get_mut(slot);
        if !std::mem::take(&mut task.request_open) {
            return;
        }
        let response = self.now - task.intended;
        task.responses += 1;
        task.response_sum += response;
        let observations = &mut self.observations[task.observations as usize];
        observations.response.record(response);
        if task.first_run != NOT_YET {
            observations.response_from_first_run.record(self.now - task.first_run);
        }
        if let Some(load) = estimated_load(response, demand.0) {
            observations.slowdown.record((response as f64 / demand.0 as f64 * SLOWDOWN_SCALE + 0.5) as u64);
            self.estimated_load[load as usize] += 1;
        }
        self.groups[task.group.index()].response_batches.record(response as f64);
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

impl Sink for Collector {
    #[inline(always)]
    fn event(&mut self, event: &Event) {
        if event.time.0 > self.now {
            self.advance(event.time.0);
        }
        match event.kind {
            EventKind::Switch { previous, reason, next } => self.switch(event.cpu, previous, reason, next),
            EventKind::Wakeup { task, target, .. } => self.wakeup(task, target),
            EventKind::RequestBegin { task, intended } => self.request_begin(task, intended),
            EventKind::RequestEnd { task, demand } => self.request_end(task, demand),
            EventKind::Overhead { what, length } => self.overhead(event.cpu, what, length),
            EventKind::Migrate { task, to, .. } => self.migrate(task, to),
            EventKind::Tick => self.events.ticks += 1,
            EventKind::Fork { task, group, .. } => self.fork(task, group),
            EventKind::Exit { task } => self.exit(task),
            EventKind::Share { task, cpu_time } => self.charge(event.time, task, cpu_time.0),
            EventKind::Status { .. } => {}
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
        for slot in self.tasks.slots() {
            let task = self.tasks.get_mut(slot);
            if task.is_waiting() {
                task.note_wait(self.now);
            }
            if task.request_open {
                let observations = &mut self.observations[task.observations as usize];
                observations.open_age.record(self.now - task.intended);
            }
            self.account(slot);
        }
        self.finished = true;
    }
}
