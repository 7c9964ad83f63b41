//! Unseen tasks take CPUs from the others, as in a kernel, but are in no event and no result: their CPU time is
//! overhead. Each waits in a channel of its own until it is called.
//!
//! *The creator.* A real task does not arrive by itself. Where a workload runs for real, a thread of a real-time class
//! sleeps until the next one is due and creates it (`load::master`); a server has such a thread too.
//!
//! *The thread of RCU.* What a task leaves is freed when no CPU can still read it. A kernel thread waits for that
//! (`rcu_gp_kthread`): a tick after a task's end it begins a grace period, and the next tick, at which all CPUs have passed a
//! quiescent state, ends it and begins another one if more tasks have ended (`rcu_core`, `rcu_report_qs_rnp`). It is a task as
//! others are, and may preempt the one that runs.
//!
//! *What frees.* At the end of a grace period that is freed what tasks have left that ended before its start: in softirqs for
//! which `ksoftirqd` is woken, and by a worker for their stacks (`delayed_vfree_work`), which are one thread here.
//!
//! *The keepers of statistics.* Once a second a worker of each CPU that is busy then brings the CPU's part of the machine's
//! counters up to date (`vmstat_update`, `sysctl_stat_interval`), three ticks after that of the CPU before it
//! (`round_jiffies_common`). Where the seconds begin has as little to do with a policy's start as where ticks do: here it is at
//! the same part of a second as `tick_offset` is of a tick.

use super::steps::Next;
use super::timers::Due;
use super::{Birth, World, objects};
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::*;
use schedlab_model::machine::Machine;
use schedlab_model::time::Time;
use schedlab_model::trace::WakeSource;
use schedlab_model::workload::{self, Channel, ChannelKind, Class, Kind, Program, Role, Step, Workload};
use std::collections::VecDeque;
use std::rc::Rc;

/// The number of an unseen task.
pub const UNSEEN: TaskId = TaskId(u32::MAX);

/// An unseen task.
#[derive(Clone, Copy, Debug)]
pub struct Unseen {
    /// Its slot.
    pub slot: u32,
    /// Its role, one of the last.
    pub role: RoleId,
    /// The channel in which it waits.
    channel: ObjectId,
    /// Whether its CPU has paid for what it was called for.
    has_paid: bool,
}

/// What creates the tasks that arrive.
pub struct Creator {
    task: Unseen,
    /// Arrivals whose tasks are not created yet: role and instant.
    pub(super) arrived: VecDeque<(RoleId, u64)>,
}

/// What waits for grace periods, and what frees.
pub struct Grace {
    waiter: Unseen,
    frees: Unseen,
    /// Tasks that have ended since the last period began.
    ended: u32,
    /// Tasks that had ended before the period that continues.
    covered: u32,
    /// Ended tasks whose remains can be freed now.
    over: u32,
    /// Whether the next tick is set.
    is_set: bool,
}

/// How often a CPU's statistics are brought up to date.
const STATISTICS_NS: u64 = 1_000_000_000;

/// How many CPUs have a keeper of statistics.
fn keepers(machine: &Machine) -> u32 {
    let are_simulated = machine.costs.statistics > Time::ZERO && machine.tick > Time::ZERO;
    if are_simulated { machine.cpus() } else { 0 }
}

/// Whether the workload needs a creator on a machine, and whether what comes after the ends of tasks is simulated.
fn needed(workload: &Workload, machine: &Machine) -> [bool; 2] {
    let arrives = |role: &Role| role.birth.arrives();
    let costs = &machine.costs;
    let ends = |role: &Role| !role.program.repeats || role.program.steps.contains(&Step::Exit);
    let after_ends = costs.grace_period.max(costs.reclaim);
    [
        costs.arrival.max(costs.process_arrival) > Time::ZERO && workload.roles.iter().any(arrives),
        after_ends > Time::ZERO && machine.tick > Time::ZERO && workload.roles.iter().any(ends),
    ]
}

/// The workload with roles and channels of the unseen tasks.
pub fn with_unseen(workload: &Rc<Workload>, machine: &Machine) -> Rc<Workload> {
    let [creator, grace] = needed(workload, machine);
    let keepers = keepers(machine);
    if !creator && !grace && keepers == 0 {
        return workload.clone();
    }
    let mut workload = Workload::clone(workload);
    // The lowest real-time priority where no task is of a real-time class, else the highest.
    let class = Class::Fifo(if workload.has_realtime() { 99 } else { 1 });
    let all = CpuSet::first(machine.cpus());
    if creator {
        add(&mut workload, "(arrivals)", class, all.clone());
    }
    if grace {
        add(&mut workload, "(rcu)", Class::Other, all.clone());
        add(&mut workload, "(reclaim)", Class::Other, all);
    }
    for cpu in 0..keepers {
        add(&mut workload, "(statistics)", Class::Other, [CpuId(cpu)].into_iter().collect());
    }
    Rc::new(workload)
}

fn add(workload: &mut Workload, name: &str, class: Class, cpus: CpuSet) {
    let channel = ObjectId(workload.objects.channels.len() as u32);
    let role = RoleId(workload.roles.len() as u32);
    let (name, kind) = (name.to_string(), ChannelKind::Socket);
    workload.objects.channels.push(Channel { name: name.clone(), capacity: u32::MAX / 2, kind, work: None });
    let steps = vec![Step::Recv(channel, 1), Step::Spawn(role, 1)];
    workload.roles.push(Role {
        name,
        count: Some(0),
        start_on: None,
        nice: 0,
        class,
        slice: None,
        cpus,
        kind: Kind::Process,
        control: Default::default(),
        birth: workload::Birth::Spawned,
        program: Program { steps, repeats: true, repeat_depth: 0, items: None },
    });
}

impl World {
    /// Makes the unseen tasks of a workload whose first `seen` roles are seen. They wait to be called.
    pub(super) fn make_unseen(&mut self, seen: usize) {
        let machine = Machine { costs: self.costs, ..self.workload.machine.clone() };
        let [creator, grace] = needed(&self.workload, &machine);
        let mut roles = (seen as u32..).map(RoleId);
        let channels = self.objects.channels.len() - (self.workload.roles.len() - seen);
        let mut channels = (channels as u32..).map(ObjectId);
        let mut next = |world: &mut World| {
            let (role, channel) = roles.next().zip(channels.next()).expect("they go on");
            world.make_one(role, channel)
        };
        if creator {
            self.creator = Some(Creator { task: next(self), arrived: VecDeque::new() });
        }
        if grace {
            let (waiter, frees) = (next(self), next(self));
            self.grace = Some(Grace { waiter, frees, ended: 0, covered: 0, over: 0, is_set: false });
        }
        self.keepers = (0..keepers(&machine)).map(|_| next(self)).collect();
        if self.keepers.is_empty() {
            return;
        }
        let part = machine.tick_offset.ns() as f64 / machine.tick.ns() as f64;
        let first_ns = machine.next_tick((STATISTICS_NS as f64 * part) as u64);
        for cpu in 0..self.keepers.len() as u32 {
            let at_ns = first_ns + u64::from(cpu) * 3 * machine.tick.ns();
            self.timers.push(at_ns, Due::Statistics(CpuId(cpu)));
        }
    }

    fn make_one(&mut self, role: RoleId, channel: ObjectId) -> Unseen {
        let slot = self.tasks.create_unseen(role, &self.role_rngs[role.index()]);
        self.begin_class(slot);
        self.tasks[slot].waits = true;
        let attempt = self.objects.channels[channel.index()].recv(slot, 1, false, &mut self.woken);
        assert_eq!(attempt, objects::Attempt::Wait, "no task has called");
        Unseen { slot, role, channel, has_paid: false }
    }

    /// The unseen tasks.
    pub fn unseen(&self) -> impl Iterator<Item = Unseen> {
        let creator = self.creator.as_ref().map(|creator| creator.task);
        let after_ends = self.grace.iter().flat_map(|grace| [grace.waiter, grace.frees]);
        creator.into_iter().chain(after_ends).chain(self.keepers.iter().copied())
    }

    /// The statistics of a CPU are due.
    pub fn keep_statistics(&mut self, cpu: CpuId, is_busy: bool) {
        self.timers.push(self.now_ns + STATISTICS_NS, Due::Statistics(cpu));
        let keeper = self.keepers[cpu.index()];
        // One that still has to do it for the second before does it once (`queue_delayed_work_on`).
        if is_busy && self.objects.channels[keeper.channel.index()].waiters() > 0 {
            self.call_unseen(keeper, WakeSource::Timer);
        }
    }

    /// How many of them wait.
    pub(super) fn unseen_waiting(&self) -> usize {
        self.unseen().map(|task| self.objects.channels[task.channel.index()].waiters()).sum()
    }

    fn call_unseen(&mut self, task: Unseen, source: WakeSource) {
        let channel = &mut self.objects.channels[task.channel.index()];
        channel.come(&mut self.woken);
        // It carries no requests.
        channel.received.clear();
        self.wake_woken(None, source);
    }

    /// A task arrives: the creator has to do with it, or it is there at once.
    pub(super) fn arrive(&mut self, role: RoleId) {
        if !self.has_room_for_tasks(1) {
            return;
        }
        let Some(creator) = &mut self.creator else {
            return self.births.push_back(Birth::outside(role, self.now_ns));
        };
        creator.arrived.push_back((role, self.now_ns));
        let task = creator.task;
        self.call_unseen(task, WakeSource::Timer);
    }

    /// A task has ended: a grace period has to pass before what it leaves can be freed.
    pub fn note_end(&mut self) {
        if let Some(grace) = &mut self.grace {
            grace.ended += 1;
            self.await_tick();
        }
    }

    fn await_tick(&mut self) {
        let at_ns = self.workload.machine.next_tick(self.now_ns + 1);
        if let Some(grace) = self.grace.as_mut().filter(|grace| !grace.is_set) {
            grace.is_set = true;
            self.timers.push(at_ns, Due::GracePeriod);
        }
    }

    /// The tick at which a grace period begins or ends.
    pub(super) fn look_for_grace(&mut self) {
        let costs = self.costs;
        let Some(grace) = &mut self.grace else { return };
        let over = std::mem::replace(&mut grace.covered, std::mem::take(&mut grace.ended));
        (grace.is_set, grace.over) = (false, grace.over + over);
        let (waiter, goes_on) = (grace.waiter, grace.covered > 0);
        let frees = Some(grace.frees).filter(|_| over > 0 && costs.reclaim > Time::ZERO);
        if costs.grace_period > Time::ZERO {
            self.call_unseen(waiter, WakeSource::Untold);
        }
        if let Some(frees) = frees {
            self.call_unseen(frees, WakeSource::Untold);
        }
        if goes_on {
            self.await_tick();
        }
    }

    /// The step of an unseen task, if the task is one: its CPU pays, and then it is done.
    pub(super) fn do_unseen(&mut self, slot: u32) -> Option<Next> {
        let costs = self.costs;
        let arrived = self.creator.as_ref().and_then(|creator| creator.arrived.front());
        let arrival = arrived.map_or(Time::ZERO, |(role, _)| self.arrival_cost(*role));
        let creator = self.creator.as_mut().map(|creator| (&mut creator.task, arrival));
        let grace = self.grace.iter_mut().flat_map(|grace| {
            let freeing_ns = costs.reclaim.ns().saturating_mul(grace.over.into());
            [(&mut grace.waiter, costs.grace_period), (&mut grace.frees, Time(freeing_ns))]
        });
        let keepers = self.keepers.iter_mut().map(|keeper| (keeper, costs.statistics));
        let (task, cost) = creator.into_iter().chain(grace).chain(keepers).find(|(task, _)| task.slot == slot)?;
        task.has_paid = !task.has_paid;
        if task.has_paid {
            return Some(Next::Pay(cost));
        }
        if let Some(creator) = self.creator.as_mut().filter(|creator| creator.task.slot == slot) {
            let (role, asked_ns) = creator.arrived.pop_front().expect("one has arrived for each call");
            self.births.push_back(Birth { creator: Some(slot), ..Birth::outside(role, asked_ns) });
        }
        if let Some(grace) = self.grace.as_mut().filter(|grace| grace.frees.slot == slot) {
            grace.over = 0;
        }
        self.tasks[slot].step += 1;
        Some(Next::Again)
    }

    /// Whether it is an unseen task.
    #[inline]
    pub fn is_unseen(&self, slot: u32) -> bool {
        self.tasks[slot].id == UNSEEN
    }
}
