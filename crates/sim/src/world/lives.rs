//! How tasks are created and end, and what that takes of them.

use super::objects::{Attempt, Grants, Lock};
use super::steps::Next;
use super::tasks::{Leaving, Spawning};
use super::{Birth, World};
use schedlab_model::workload::{self, Kind};
use schedlab_model::{ids::*, machine::Costs, machine::Mechanisms, time::Time, trace::EventKind, trace::WakeSource};

/// How many threads there are, and were at most: what a thread has of its process's memory remains for one that comes later.
#[derive(Debug)]
pub struct Threads {
    now: u32,
    most: u32,
}

impl Threads {
    /// Those that are there before the run: all that begin at a known instant.
    pub(super) fn of(roles: &[workload::Role]) -> Threads {
        let from_the_start =
            |role: &&workload::Role| role.kind == Kind::Thread && matches!(role.birth, workload::Birth::At(_));
        let now = roles.iter().filter(from_the_start).map(|role| role.count.unwrap_or(1)).sum();
        Threads { now, most: now }
    }

    fn comes(&mut self) {
        self.now += 1;
        self.most = self.most.max(self.now);
    }

    fn goes(&mut self) {
        self.now = self.now.saturating_sub(1);
    }

    /// All of them.
    fn all(&self) -> u64 {
        u64::from(self.most)
    }

    /// All but one of them.
    fn others(&self) -> u64 {
        u64::from(self.most.saturating_sub(1))
    }
}

/// What a thread has while it creates a process.
pub(super) fn forks(mechanisms: &Mechanisms) -> Option<Lock> {
    mechanisms.one_fork_at_a_time.then(|| Lock::new(Grants::Retry))
}

impl World {
    /// Creates a task; the scheduler makes it runnable afterwards.
    pub fn create(&mut self, birth: Birth, cpu: u32) -> u32 {
        let slot = self.tasks.create(birth.role, &self.role_rngs[birth.role.index()], birth.asked_ns);
        self.begin_class(slot);
        let born = &mut self.born[birth.role.index()];
        self.tasks[slot].member = *born;
        *born += 1;
        // A task that is there from the start has done that before; others of its role may be spawned later.
        let is_late = birth.parent.is_some() || !matches!(self.role(slot).birth, workload::Birth::At(_));
        let kind = self.role(slot).kind;
        let [_, start, _] = self.life_costs(birth.role);
        let copies = if birth.shares && kind == Kind::Process { self.costs.process_start_shared.ns() } else { 0 };
        self.tasks[slot].work_ns = if is_late { start.ns() + copies } else { 0 };
        if is_late && kind == Kind::Thread {
            self.threads.comes();
        }
        if let Some(parent) = birth.parent.filter(|_| kind == Kind::Process && !birth.shares) {
            self.tasks[slot].memory_of = Some(parent);
            self.tasks[parent].shares_with = Some(self.tasks[slot].id);
        }
        let parent = birth.parent.and_then(|p| self.tasks.get(p)).map(|t| t.id);
        self.emit(cpu, EventKind::Fork { task: self.tasks[slot].id, role: birth.role, parent });
        slot
    }

    /// A task runs for the first time: the one that created it last and still has to pay for what both write to, if any.
    pub fn owing_creator(&mut self, slot: u32) -> Option<u32> {
        let parent = self.tasks[slot].memory_of.take()?;
        let id = self.tasks[slot].id;
        let task = self.tasks.get_mut(parent)?;
        task.shares_with.take_if(|child| *child == id)?;
        (task.owed_ns > 0).then_some(parent)
    }

    /// A process that runs before its creator continues copies what that one would: the first of the two that writes to a
    /// page gets a copy, and the other keeps the page (`do_wp_page`, `wp_page_reuse`).
    pub fn copy_first(&mut self, slot: u32, parent: u32) {
        let parent = &mut self.tasks[parent];
        let copies_ns = self.costs.process_start_first.ns().min(parent.work_ns + parent.owed_ns);
        let at_once_ns = copies_ns.min(parent.work_ns);
        parent.work_ns -= at_once_ns;
        parent.owed_ns -= copies_ns - at_once_ns;
        self.tasks[slot].work_ns += copies_ns;
    }

    /// The task works for one child after the other, each of which begins when its work is done, and returns from each
    /// creation; all come at once where that costs nothing. All of them were asked for when the step began.
    pub(super) fn spawn(&mut self, slot: u32, role: RoleId, count: u32) -> Next {
        if let Some(next) = self.do_unseen(slot) {
            return next;
        }
        let kind = self.workload.roles[role.index()].kind;
        let [fork, ..] = self.life_costs(role);
        let return_ns = if kind == Kind::Process { self.costs.process_return.ns() } else { 0 };
        if fork == Time::ZERO {
            self.ask_for_children(slot, role, self.now_ns, count, true);
            self.tasks[slot].owed_ns += return_ns * u64::from(count);
            self.tasks[slot].step += 1;
            return Next::Again;
        }
        let begun = Spawning { since_ns: self.now_ns, paid: 0 };
        let Spawning { since_ns, paid } = *self.tasks[slot].spawning.get_or_insert(begun);
        if paid == 0 && kind == Kind::Process && !self.begins_to_fork(slot) {
            return Next::Block;
        }
        if (1..=count).contains(&paid) {
            self.ask_for_children(slot, role, since_ns, 1, paid == count);
        }
        let task = &mut self.tasks[slot];
        task.fresh = false;
        task.work_ns = match paid {
            0 => fork.ns(),
            _ if paid < count => return_ns + fork.ns(),
            _ if paid == count => return_ns,
            _ => 0,
        };
        if task.work_ns > 0 {
            task.spawning = Some(Spawning { since_ns, paid: paid + 1 });
            return Next::Work;
        }
        task.spawning = None;
        task.step += 1;
        match &mut self.forks {
            Some(forks) if kind == Kind::Process => {
                forks.unlock(&mut self.woken);
                self.wake_all(slot, WakeSource::Semaphore, true)
            }
            _ => Next::Again,
        }
    }

    /// Asks for children of a task. After the last process of a step, it owes what it copies.
    fn ask_for_children(&mut self, slot: u32, role: RoleId, since_ns: u64, count: u32, is_last: bool) {
        let last = u32::from(is_last).min(count);
        let birth = Birth { parent: Some(slot), shares: true, ..Birth::outside(role, since_ns) };
        self.ask_for(birth, count - last);
        self.ask_for(Birth { shares: false, ..birth }, last);
        let is_process = self.workload.roles[role.index()].kind == Kind::Process;
        let task = &mut self.tasks[slot];
        task.fresh = false;
        if is_last && is_process {
            task.owed_ns = self.costs.process_copy.ns();
        }
    }

    /// Whether a thread may fork now, and has the others wait; else it waits for one that does.
    fn begins_to_fork(&mut self, slot: u32) -> bool {
        let task = &mut self.tasks[slot];
        let has_waited = std::mem::take(&mut task.waits);
        task.waits = self.forks.as_mut().is_some_and(|forks| forks.lock(slot, has_waited) == Attempt::Wait);
        !task.waits
    }

    /// The last that a task does.
    pub(super) fn leave(&mut self, slot: u32) -> Next {
        let kind = self.role(slot).kind;
        let [.., exit] = self.life_costs(self.tasks[slot].role);
        let moves = self.workload.machine.mechanisms.move_at_exit;
        let task = &mut self.tasks[slot];
        let cost_ns = exit.ns() + task.take_debts();
        match task.leaving {
            Leaving::No if cost_ns > 0 => {
                (task.leaving, task.work_ns) = (Leaving::Frees, cost_ns);
                Next::Leave
            }
            Leaving::Frees if moves => {
                task.leaving = Leaving::Moved;
                Next::Move
            }
            _ => {
                if kind == Kind::Thread {
                    self.threads.goes();
                }
                Next::Exit
            }
        }
    }

    /// What creating a task that arrives takes of its creator, a thread next to those of the run.
    pub(super) fn arrival_cost(&self, role: RoleId) -> Time {
        let Costs { arrival, process_arrival, process_fork_thread, .. } = self.costs;
        match self.workload.roles[role.index()].kind {
            Kind::Process if process_arrival > Time::ZERO => {
                Time(process_arrival.ns().saturating_add(process_fork_thread.ns().saturating_mul(self.threads.all())))
            }
            _ => arrival,
        }
    }

    /// What the creation, the start and the end of a task of a role take.
    fn life_costs(&self, role: RoleId) -> [Time; 3] {
        let (costs, role) = (&self.costs, &self.workload.roles[role.index()]);
        match role.kind {
            Kind::Thread => [costs.fork, costs.start, costs.exit],
            Kind::Process => {
                // What creates those that arrive is none of the run's threads.
                let others = if role.birth.arrives() { self.threads.all() } else { self.threads.others() };
                let with_threads =
                    |own: Time, each: Time| Time(own.ns().saturating_add(each.ns().saturating_mul(others)));
                [
                    with_threads(costs.process_fork, costs.process_fork_thread),
                    with_threads(costs.process_start, costs.process_start_thread),
                    with_threads(costs.process_exit, costs.process_exit_thread),
                ]
            }
        }
    }
}
