//! Requests: when they begin and end, and where their time went.

use super::Collector;
use super::measures::SLOWDOWN_SCALE;
use super::samples::Samples;
use super::task::{Activity, NOT_YET, Task};
use crate::load::estimated_load;
use schedlab_model::ids::{RequestId, RoleId, TaskId};
use schedlab_model::time::Time;

/// The parts of response times.
#[derive(Clone, Debug, Default)]
pub(super) struct PartSamples {
    pub worker_wait: Samples,
    pub cpu_wait: Samples,
    pub running: Samples,
    pub blocked: Samples,
}

impl PartSamples {
    pub fn all_mut(&mut self) -> [&mut Samples; 4] {
        [&mut self.worker_wait, &mut self.cpu_wait, &mut self.running, &mut self.blocked]
    }
}

/// The parts of a response time but running, which is the rest. Times in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    worker_wait: u64,
    cpu_wait: u64,
    blocked: u64,
}

/// An open request that does not belong to one task from its start to its end. Times in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    born: u64,
    /// The task that has it; none while it waits.
    holder: Option<TaskId>,
    /// The role that takes it, or the role of its holder.
    role: RoleId,
    /// Since when it waits or the task has it.
    since: u64,
    parts: Parts,
    /// What the task's clocks of waiting and being blocked showed then.
    marks: (u64, u64),
    /// When a task that had it first ran.
    first_run: u64,
}

/// What ended.
struct Response {
    born: u64,
    first_run: u64,
    demand: u64,
    parts: Parts,
    /// Whether it could wait for a worker.
    is_taken: bool,
}

impl Task {
    /// How long it has waited for a CPU and been blocked, up to now.
    pub(super) fn clocks(&self, now: u64) -> (u64, u64) {
        let lasts = now - self.since;
        match self.activity {
            Activity::Off => (self.waited_ns, self.blocked_ns + lasts),
            Activity::Woken | Activity::Roused | Activity::Preempted => (self.waited_ns + lasts, self.blocked_ns),
            Activity::Running => (self.waited_ns, self.blocked_ns),
        }
    }

    /// Its next time on a CPU is the first of a request, unless it is on one.
    fn expect_first_run(&mut self, now: u64, runs: bool) {
        (self.first_run, self.first_run_due) = if runs { (now, false) } else { (NOT_YET, true) };
    }
}

impl Taken {
    /// The task gives the request away; what its clocks showed more since it took it is the request's.
    fn leave(&mut self, task: &mut Task, now: u64) {
        let (waited, blocked) = task.clocks(now);
        self.parts.cpu_wait += waited.saturating_sub(self.marks.0);
        self.parts.blocked += blocked.saturating_sub(self.marks.1);
        task.taken = task.taken.saturating_sub(1);
        if self.first_run == NOT_YET && task.first_run != NOT_YET {
            self.first_run = task.first_run.max(self.since);
        }
    }
}

impl Collector {
    #[inline(always)]
    pub(super) fn request_begin(&mut self, id: TaskId, intended: Time) {
        let now = self.now;
        let Some(task) = self.tasks.find(id) else { return };
        task.request_open = true;
        task.intended = intended.0.min(now);
        let runs = self.fluid || task.activity == Activity::Running;
        task.expect_first_run(now, runs);
        // What the clocks show is since the task woke up. Before that it was not there, or its timer was late.
        if task.intended == now {
            (task.waited_ns, task.blocked_ns) = (0, 0);
        } else {
            task.waited_ns = task.waited_ns.min(now - task.intended);
            task.blocked_ns = task.woken.saturating_sub(task.intended);
        }
    }

    #[inline(always)]
    pub(super) fn request_end(&mut self, id: TaskId, demand: Time) {
        let Some(slot) = self.tasks.slot(id) else { return };
        let task = self.tasks.get_mut(slot);
        if !std::mem::take(&mut task.request_open) {
            return;
        }
        task.first_run_due = false;
        let (cpu_wait, blocked) = task.clocks(self.now);
        let parts = Parts { worker_wait: 0, cpu_wait, blocked };
        let response =
            Response { born: task.intended, first_run: task.first_run, demand: demand.0, parts, is_taken: false };
        self.response(slot, response);
    }

    /// A request waits: a new one, or one that a task hands on.
    pub(super) fn queue(&mut self, request: RequestId, by: Option<TaskId>, role: RoleId) {
        let now = self.now;
        let new = Taken {
            born: now,
            holder: None,
            role,
            since: now,
            parts: Parts::default(),
            marks: (0, 0),
            first_run: NOT_YET,
        };
        let taken = self.requests.entry(request).or_insert(new);
        if taken.holder.is_some()
            && let Some(task) = by.and_then(|id| self.tasks.find(id))
        {
            taken.leave(task, now);
        }
        (taken.holder, taken.since, taken.role) = (None, now, role);
    }

    /// A task takes a request that waits. One that was not seen to wait was born as it says.
    pub(super) fn take(&mut self, id: TaskId, request: RequestId, intended: Time) {
        let (now, fluid) = (self.now, self.fluid);
        let Some(task) = self.tasks.find(id) else { return };
        let born = intended.0.min(now);
        let unseen = Taken {
            born,
            holder: None,
            role: task.role,
            since: born,
            parts: Parts::default(),
            marks: (0, 0),
            first_run: NOT_YET,
        };
        let taken = self.requests.entry(request).or_insert(unseen);
        taken.parts.worker_wait += now - taken.since;
        (taken.holder, taken.role, taken.since, taken.marks) = (Some(id), task.role, now, task.clocks(now));
        if task.taken == 0 && !task.request_open {
            let runs = fluid || task.activity == Activity::Running;
            task.expect_first_run(now, runs);
        }
        task.taken += 1;
    }

    /// A task answers a request that it took.
    pub(super) fn answer(&mut self, id: TaskId, request: RequestId, demand: Time) {
        let Some(mut taken) = self.requests.remove(&request) else { return };
        let Some(slot) = self.tasks.slot(id) else { return };
        taken.leave(self.tasks.get_mut(slot), self.now);
        let Taken { born, first_run, parts, .. } = taken;
        self.response(slot, Response { born, first_run, demand: demand.0, parts, is_taken: true });
    }

    #[inline(always)]
    fn response(&mut self, slot: usize, ended: Response) {
        let task = self.tasks.get_mut(slot);
        let response = self.now - ended.born;
        task.responses += 1;
        task.response_sum += response;
        let observations = &mut self.observations[task.observations as usize];
        observations.response.record(response);
        if ended.first_run != NOT_YET {
            observations.response_from_first_run.record(self.now - ended.first_run);
        }
        if !self.fluid {
            // Only in traces that lost events is there less left than a part.
            let worker_wait = ended.parts.worker_wait.min(response);
            let cpu_wait = ended.parts.cpu_wait.min(response - worker_wait);
            let blocked = ended.parts.blocked.min(response - worker_wait - cpu_wait);
            if ended.is_taken {
                observations.parts.worker_wait.record(worker_wait);
            }
            observations.parts.cpu_wait.record(cpu_wait);
            observations.parts.blocked.record(blocked);
            observations.parts.running.record(response - worker_wait - cpu_wait - blocked);
        }
        if let Some(load) = estimated_load(response, ended.demand) {
            observations.slowdown.record(slowdown(response, ended.demand));
            self.estimated_load[load as usize] += 1;
        }
        self.roles[task.role.index()].response_batches.record(response as i64 as f64);
    }

    /// Requests that wait, or that a task took, are open when the run ends.
    pub(super) fn note_open_requests(&mut self) {
        for taken in self.requests.values() {
            let task = taken.holder.and_then(|id| self.tasks.find(id));
            let place = task.map_or(taken.role.0, |task| task.observations);
            if let Some(observations) = self.observations.get_mut(place as usize) {
                observations.open_age.record(self.now - taken.born);
            }
        }
    }
}

/// In units of 1 / [`SLOWDOWN_SCALE`], rounded. A signed number becomes a float, and back, by one instruction, an unsigned
/// one by eight.
#[inline]
fn slowdown(response_ns: u64, demand_ns: u64) -> u64 {
    (response_ns as i64 as f64 / demand_ns as i64 as f64 * SLOWDOWN_SCALE + 0.5) as i64 as u64
}

#[cfg(test)]
mod tests {
    use super::super::{Collector, RunMeasures};
    use crate::test_helpers::*;
    use schedlab_model::ids::{RequestId, RoleId, TaskId};
    use schedlab_model::result::Measures;
    use schedlab_model::time::Time;
    use schedlab_model::trace::{Event, EventKind, Reason, Sink};

    fn waits(time: u64, request: u32, by: Option<u32>) -> Event {
        let (request, task) = (RequestId(request), by.map(TaskId));
        event(time, 0, EventKind::RequestQueue { request, task, role: RoleId(0) })
    }

    fn takes(time: u64, task: u32, request: u32, born: u64) -> Event {
        let (task, intended, request) = (TaskId(task), Time(born), Some(RequestId(request)));
        event(time, 0, EventKind::RequestBegin { task, intended, request })
    }

    fn answers(time: u64, task: u32, request: u32, demand: u64) -> Event {
        let (task, demand, request) = (TaskId(task), Time(demand), Some(RequestId(request)));
        event(time, 0, EventKind::RequestEnd { task, demand, request })
    }

    fn measures(events: &[Event], end: u64) -> RunMeasures {
        let mut collector = Collector::new(&plain(1));
        collector.events(events);
        collector.finish(Time(end));
        collector.into_measures()
    }

    /// The parts of the only request that ended: worker wait, CPU wait, running, blocked. They add up to the response.
    fn parts(of: &Measures) -> [u64; 4] {
        let parts =
            [of.response_worker_wait_ns, of.response_cpu_wait_ns, of.response_running_ns, of.response_blocked_ns];
        let parts = parts.map(|part| part.map_or(0, |part| (assert_eq!(part.count, 1), part.mean).1));
        assert_eq!(parts.iter().sum::<u64>(), of.response_ns.unwrap().mean);
        parts
    }

    /// A worker waits from the start; a request comes at 100, a second one at 105 while it is busy.
    #[test]
    fn a_worker_that_waits_is_no_part_of_a_response() {
        let begin = [fork(0, 0), fork(0, 1), wakeup(0, 0, 0), switch(0, 0, None, Reason::Idle, Some(0))];
        let rest = [
            switch(1, 0, Some(0), Reason::Blocked, None),
            waits(100, 0, None),
            takes(100, 0, 0, 100),
            wakeup(100, 0, 0),
            switch(103, 0, None, Reason::Idle, Some(0)),
            waits(105, 1, None),
            switch(110, 0, Some(0), Reason::Preempted, None),
            switch(112, 0, None, Reason::Idle, Some(0)),
            switch(115, 0, Some(0), Reason::Blocked, None),
            wakeup(122, 0, 0),
            switch(123, 0, None, Reason::Idle, Some(0)),
            answers(125, 0, 0, 12),
            takes(125, 0, 1, 105),
        ];
        let measures = measures(&[&begin[..], &rest].concat(), 130);
        let role = &measures.roles[0].measures;
        assert_eq!(parts(role), [0, 3 + 2 + 1, 7 + 3 + 2, 7]);
        assert_eq!((role.response_ns.unwrap().mean, role.response_from_first_run_ns.unwrap().mean), (25, 22));
        assert_eq!((role.requests_open, role.open_age_ns.unwrap().max), (1, 25));
        assert!((role.slowdown.unwrap().mean - 25.0 / 12.0).abs() < 1e-6);
    }

    #[test]
    fn a_request_keeps_its_birth_and_its_parts_from_task_to_task() {
        let events = [
            fork(0, 0),
            fork(0, 1),
            wakeup(0, 0, 0),
            switch(0, 0, None, Reason::Idle, Some(0)),
            waits(10, 7, None),
            takes(20, 0, 7, 10),
            waits(25, 7, Some(0)),
            switch(30, 0, Some(0), Reason::Blocked, None),
            takes(32, 1, 7, 10),
            wakeup(32, 1, 0),
            switch(36, 0, None, Reason::Idle, Some(1)),
            answers(40, 1, 7, 9),
        ];
        let measures = measures(&events, 50);
        assert_eq!(parts(&measures.roles[0].measures), [10 + 7, 4, 5 + 4, 0]);
        let of = |id: usize| (measures.tasks[id].measures.requests, measures.tasks[id].measures.requests_open);
        assert_eq!((of(0), of(1)), ((0, 0), (1, 0)), "the task that answers has it");
        // It first ran where it was first taken.
        assert_eq!(measures.roles[0].measures.response_from_first_run_ns.unwrap().max, 20);
    }

    #[test]
    fn what_waits_at_the_end_is_open() {
        let measures = measures(&[waits(10, 0, None), waits(25, 1, None)], 40);
        let role = &measures.roles[0].measures;
        assert_eq!((role.requests, role.requests_open, role.open_age_ns.unwrap().max), (0, 2, 30));
    }

    /// After a sleep the request began when the task woke up, before it had a CPU.
    #[test]
    fn a_request_of_its_own_has_parts_too() {
        let events = [
            fork(0, 0),
            wakeup(0, 0, 0),
            switch(0, 0, None, Reason::Idle, Some(0)),
            switch(5, 0, Some(0), Reason::Blocked, None),
            wakeup(20, 0, 0),
            switch(23, 0, None, Reason::Idle, Some(0)),
            begin(23, 0, 20),
            switch(30, 0, Some(0), Reason::Blocked, None),
            wakeup(34, 0, 0),
            switch(35, 0, None, Reason::Idle, Some(0)),
            end(37, 0, 9),
        ];
        assert_eq!(parts(&measures(&events, 50).roles[0].measures), [0, 3 + 1, 7 + 2, 4]);
    }
}
