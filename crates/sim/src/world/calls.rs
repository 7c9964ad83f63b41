//! What a task pays for its steps beside what they say: the calls that they are. All of it is CPU time of the task.

use super::World;
use super::steps::Next;
use super::timers::Due;
use schedlab_model::machine::Costs;
use schedlab_model::time::Time;
use schedlab_model::workload::{ChannelKind, Kind, Step};

impl World {
    /// Whether the task has to work first for the call that its step is; it is at the same step then when it has.
    pub(super) fn works_for_call(&mut self, slot: u32, step: &Step) -> bool {
        if std::mem::take(&mut self.tasks[slot].paid) {
            return false;
        }
        let cost = self.call_cost(slot, step);
        let task = &mut self.tasks[slot];
        (task.paid, task.work_ns) = (cost > Time::ZERO, cost.ns());
        task.paid
    }

    /// What the call takes as things are: one that will wait goes further into the kernel, and so does one that wakes.
    fn call_cost(&self, slot: u32, step: &Step) -> Time {
        if self.is_unseen(slot) {
            return Time::ZERO;
        }
        let Costs { futex_wait, futex_wake, semaphore, .. } = self.costs;
        let first = |cost: Time| if self.tasks[slot].waits { Time::ZERO } else { cost };
        let when = |condition: bool, cost: Time| if condition { cost } else { Time::ZERO };
        match step {
            Step::Wait(s) => first(semaphore) + when(self.objects.semaphores[s.index()].would_wait(slot), futex_wait),
            Step::Post(s, _) => semaphore + when(self.objects.semaphores[s.index()].waiters() > 0, futex_wake),
            Step::Lock(l) => when(self.objects.locks[l.index()].would_wait(slot), futex_wait),
            Step::Unlock(l) => when(self.objects.locks[l.index()].is_contended(), futex_wake),
            Step::Barrier(b) => match self.objects.barriers[b.index()].is_last() {
                true => futex_wake,
                false => futex_wait,
            },
            Step::Send(c, _) => first(match self.objects.channels[c.index()].kind {
                ChannelKind::Pipe => self.costs.pipe_send,
                ChannelKind::Socket => self.costs.socket_send,
            }),
            // Who receives from outside sleeps until the message is due.
            Step::Recv(c, _) if self.objects.channels[c.index()].is_fed_from_outside() => first(self.costs.sleep),
            Step::Recv(c, _) => first(match self.objects.channels[c.index()].kind {
                ChannelKind::Pipe => self.costs.pipe_recv,
                ChannelKind::Socket => self.costs.socket_recv,
            }),
            _ => Time::ZERO,
        }
    }

    /// Sleeps until an instant that is known when the call begins; `cost` is its way in.
    pub(super) fn call_sleep(&mut self, slot: u32, until_ns: u64, due: Due, cost: Time) -> Next {
        if cost == Time::ZERO {
            return self.sleep_until(until_ns, due);
        }
        let task = &mut self.tasks[slot];
        (task.asleep_at_ns, task.work_ns) = (Some((until_ns, due)), cost.ns());
        Next::Work
    }

    /// A task that has worked for the call of a sleep goes to sleep, unless its time is over already.
    pub(super) fn fall_asleep(&mut self, slot: u32) -> Option<Next> {
        let (until_ns, due) = self.tasks[slot].asleep_at_ns.take()?;
        Some(self.sleep_until(until_ns.max(self.now_ns), due))
    }

    /// What the creation, the begin and the end of a task of a group take.
    pub(super) fn life_costs(&self, kind: Kind) -> [Time; 3] {
        let costs = &self.costs;
        match kind {
            Kind::Thread => [costs.fork, costs.start, costs.exit],
            Kind::Process => [costs.process_fork, costs.process_start, costs.process_exit],
        }
    }
}
