//! A task is created, blocks, yields and ends (`wake_up_new_task`, `scx_enable_task`, `try_to_block_task`,
//! `sched_ext_dead`).

use super::consts::*;
use super::cpu::NONE;
use super::entity::State;
use super::layout::{GuestExitTask, GuestInitTask, GuestTask, NULL, Pointer};
use super::ops::Op;
use super::policy::{Halt, Sim};
use crate::world::{Birth, Next, Unseen};
use schedlab_model::workload::{Class, Kind, Role};
use schedlab_model::{ids::CpuId, trace::*};

/// First process number of a simulated task; its number in the trace is added.
pub const FIRST_PID: i32 = 1000;
const PF_FORKNOEXEC: u32 = 0x40;
pub(super) const PF_EXITING: u32 = 0x4;
const PF_KTHREAD: u32 = 0x20_0000;
/// What a task's state is while it sleeps until it is woken, and when it has ended.
const TASK_INTERRUPTIBLE: u32 = 0x1;
const TASK_DEAD: u32 = 0x80;

/// Load weights by nice value, -20 first (`sched_prio_to_weight` of the kernel).
pub const NICE_WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501,
    1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// Weight of a `SCHED_IDLE` task (`WEIGHT_IDLEPRIO`).
const IDLE_WEIGHT: u64 = 3;

/// The weight that a policy sees: 100 for nice 0, 1 to 10000 (`sched_weight_to_cgroup`).
fn policy_weight(load_weight: u64) -> u32 {
    ((load_weight * 100 + 512) / 1024).clamp(1, 10_000) as u32
}

fn load_weight(class: Class, nice: i8) -> u64 {
    match class {
        Class::Idle => IDLE_WEIGHT,
        _ => NICE_WEIGHTS[(nice + 20) as usize],
    }
}

impl Sim {
    /// Creates a task, shows it to the policy and makes it runnable.
    pub fn give_birth(&mut self, birth: Birth) {
        self.free_places();
        let workload = self.core.world.workload.clone();
        let role = &workload.roles[birth.role.index()];
        let here = self.core.present(birth.by().map_or_else(|| first_cpu(role), |by| self.core.entity(by).cpu));
        let slot = self.core.world.create(birth, here);
        let first = role.start_on.map_or(here, |c| c.0);
        if let Err(full) = self.core.add_entity(slot, first, role.class) {
            self.stop(Halt::Full(birth.role, full));
            return;
        }
        self.fill_task(slot, role, birth);
        if role.start_on.is_some() {
            // Held there until all tasks of this instant have started.
            self.set_allowed(slot, self.core.set_number(&[CpuId(first)].into_iter().collect()));
            self.held.push(slot);
        }
        self.from_outside = birth.by().is_none();
        self.show_to_policy(slot, here, true);
        self.from_outside = false;
        self.publish_wake_source(slot, WakeSource::Fork);
        self.core.pay(here, Overhead::Wakeup, self.core.machine.costs.wakeup.ns());
        self.place(slot, here, SCX_WAKE_FORK, 0, birth.parent, WakeSource::Fork);
    }

    /// Begins the unseen tasks. Those under the policy are older than it: kernel threads that belong to no process.
    pub fn begin_unseen(&mut self) {
        let workload = self.core.world.workload.clone();
        let unseen: Vec<Unseen> = self.core.world.unseen().collect();
        for Unseen { slot, role, .. } in unseen {
            let described = &workload.roles[role.index()];
            let cpu = described.cpus.iter().next().map_or(0, |cpu| cpu.0);
            if let Err(full) = self.core.add_entity(slot, cpu, described.class) {
                self.stop(Halt::Full(role, full));
                return;
            }
            self.fill_task(slot, described, Birth::outside(role, 0));
            if !self.core.entity(slot).is_realtime() {
                let task = self.core.entity_mut(slot).task_mut();
                (task.flags, task.mm) = (PF_KTHREAD, NULL);
                self.show_to_policy(slot, 0, false);
            }
        }
    }

    /// The policy hears of a task, whatever its class (`scx_fork`), and has it at once if it is to schedule it (`scx_post_fork`).
    fn show_to_policy(&mut self, slot: u32, here: u32, fork: bool) {
        let address = self.core.entity(slot).address;
        self.write_scratch(GuestInitTask {
            fork,
            cgroup: Pointer(self.core.cgroups.address(self.core.entity(slot).control_group)),
        });
        let result = self.call(Op::InitTask, here, slot, [address, self.scratch]) as i32;
        self.must_succeed(Op::InitTask, result, |core| format!(" for {}", core.world.name(slot)));
        if self.core.entity(slot).task().scx.disallow.0 != 0 && fork && !self.has_failed() {
            let name = self.core.world.name(slot);
            self.core.error(format!("ops.init_task() set task->scx.disallow for {name} during fork"));
        }
        self.core.entity_mut(slot).is_shown = true;
        if !self.core.entity(slot).is_realtime() {
            self.enable(slot, here);
        }
    }

    /// The policy has the task from now on.
    pub(super) fn enable(&mut self, slot: u32, here: u32) {
        let address = self.core.entity(slot).address;
        let task = self.core.entity_mut(slot).task_mut();
        task.scx.flags |= SCX_TASK_ENABLED as u32;
        let weight = task.scx.weight as u64;
        self.call(Op::Enable, here, slot, [address]);
        self.call(Op::SetWeight, here, slot, [address, weight]);
    }

    /// Fills what a policy sees of a new task.
    fn fill_task(&mut self, slot: u32, role: &Role, birth: Birth) {
        let id = self.core.world.tasks[slot].id;
        let parent = self.parent_of(role.kind, birth);
        let now = self.core.world.now_ns;
        self.set_allowed(slot, birth.role.0);
        self.place_in_control_group(slot, role, birth);
        let cpu = self.core.entity(slot).cpu;
        let (tgid, leader, mm) = self.process_of(slot, birth);
        let task = self.core.entity_mut(slot).task_mut();
        (task.pid, task.tgid, task.flags) = (FIRST_PID + id.0 as i32, tgid, PF_FORKNOEXEC);
        fill_class(task, role.class, role.nice);
        set_parent(task, parent);
        (task.group_leader, task.mm) = (Pointer(leader), Pointer(mm));
        (task.start_time, task.start_boottime) = (now, now);
        (task.scx.slice, task.scx.sticky_cpu, task.scx.holding_cpu) = (SCX_SLICE_DFL, -1, -1);
        (task.scx.ddsp_dsq_id, task.scx.tid) = (SCX_DSQ_INVALID, id.0 as u64 + 1);
        (task.se.custom_slice, task.se.slice) = role.slice.map_or((0, 0), |slice| (1, slice.ns()));
        (task.cpu, task.thread_info.cpu) = (cpu, cpu);
        (task.wake_cpu, task.recent_used_cpu) = (cpu as i32, cpu as i32);
        task.numa_preferred_nid = NUMA_NO_NODE;
        let name = role.name.as_bytes();
        let length = name.len().min(15);
        task.comm[..length].copy_from_slice(&name[..length]);
    }

    /// A new task is where its role says, or where its parent is.
    fn place_in_control_group(&mut self, slot: u32, role: &Role, birth: Birth) {
        let parent = birth.parent.filter(|_| role.control.inherits);
        let id = parent.map_or(role.control.begin, |parent| self.core.entity(parent).control_group);
        self.enter_control_group(slot, id);
        if parent.is_some() && !self.core.cgroups.tree.is_empty() {
            self.set_allowed(slot, self.core.set_number(&self.cpus_in(slot, id)));
        }
    }

    /// The parent of a new task, where it is counted: of a process its creator, of a thread the parent of the thread
    /// that creates it (`copy_process` with `CLONE_THREAD`). A task outside of the scenario is the parent of none.
    fn parent_of(&mut self, kind: Kind, birth: Birth) -> Pointer {
        let creator = birth.parent.map(|p| self.core.entity(p));
        let parent = creator.map_or(NULL, |creator| match kind {
            Kind::Process => Pointer(creator.address),
            Kind::Thread => creator.task().real_parent,
        });
        if let Some(slot) = self.core.slot_of(parent.0) {
            self.core.entity_mut(slot).children += 1;
        }
        parent
    }

    /// Number, leader and address space of a task's process. A thread belongs to the process of the task that creates
    /// it, or, without one, to that of its role.
    fn process_of(&mut self, slot: u32, birth: Birth) -> (i32, u64, u64) {
        let entity = self.core.entity(slot);
        let itself = (FIRST_PID + entity.id.0 as i32, entity.address);
        let of_role = *self.leaders[birth.role.index()].get_or_insert(itself);
        let kind = self.core.world.role(slot).kind;
        match (kind, birth.parent) {
            (Kind::Thread, Some(parent)) => {
                let parent = self.core.entity(parent).task();
                (parent.tgid, parent.group_leader.0, parent.mm.0)
            }
            (Kind::Thread, None) => (of_role.0, of_role.1, self.memory_map(slot, kind, birth.role)),
            (Kind::Process, _) => (itself.0, itself.1, self.memory_map(slot, kind, birth.role)),
        }
    }

    /// Does the next steps of the task that runs on a CPU.
    #[inline(always)]
    pub fn do_steps(&mut self, cpu: u32) {
        let Some(slot) = self.core.current(cpu) else { return };
        self.core.account(cpu);
        if self.core.cpu(cpu).accounted_ns > self.core.world.now_ns {
            // The CPU still pays for the switch: the step comes after that.
            return self.core.mark_stale(cpu);
        }
        let next = self.core.world.steps(slot, cpu);
        if !self.core.world.inherits.is_empty() {
            self.core.this_cpu = cpu;
            self.follow_inheritance();
        }
        match next {
            Next::Work => self.core.mark_stale(cpu),
            Next::Again => self.core.active.push_front(cpu),
            Next::Pay(time) => {
                self.core.pay(cpu, Overhead::Wakeup, time.ns());
                self.core.active.push_front(cpu);
            }
            Next::Block => self.block(cpu, slot),
            Next::Yield => self.yield_cpu(cpu, slot),
            Next::Change => self.change(cpu, slot),
            Next::Leave => self.begin_to_end(cpu, slot),
            Next::Move => self.move_at_exit(cpu, slot),
            Next::Exit => self.end(cpu, slot),
            Next::Stuck => self.stop(Halt::Stuck(self.core.world.tasks[slot].role)),
        }
    }

    #[inline(always)]
    fn block(&mut self, cpu: u32, slot: u32) {
        let entity = self.core.entity_mut(slot);
        entity.task_mut().__state = TASK_INTERRUPTIBLE;
        if !entity.is_realtime() {
            self.dequeue_task(slot, SCX_DEQ_SLEEP);
        }
        self.core.entity_mut(slot).state = State::Sleeping;
        self.schedule(cpu, Some(Reason::Blocked));
    }

    /// `sched_yield`: the policy's `yield`, or the rest of the slice is lost.
    fn yield_cpu(&mut self, cpu: u32, slot: u32) {
        if !self.core.entity(slot).is_realtime() {
            let address = self.core.entity(slot).address;
            if self.ops.has(Op::Yield) {
                self.call(Op::Yield, cpu, slot, [address, 0]);
            } else {
                self.core.entity_mut(slot).task_mut().scx.slice = 0;
            }
        }
        self.schedule(cpu, Some(Reason::Yielded));
    }

    /// A task has ended: no task points to it as a parent any more, since another may take its place. A kernel would
    /// give its children to init; here they have no parent from now on, as tasks without a creator.
    fn leave_family(&mut self, slot: u32, address: u64) {
        let parent = self.core.entity(slot).task().real_parent;
        if let Some(parent) = self.core.slot_of(parent.0) {
            self.core.entity_mut(parent).children -= 1;
        }
        if self.core.entity(slot).children == 0 {
            return;
        }
        let alive: Vec<u32> = self.core.world.tasks.alive_slots().collect();
        for child in alive {
            let task = self.core.entity_mut(child).task_mut();
            if task.real_parent.0 == address {
                set_parent(task, NULL);
            }
        }
    }

    /// A task has done its last step (`exit_signals`).
    fn begin_to_end(&mut self, cpu: u32, slot: u32) {
        self.core.entity_mut(slot).task_mut().flags |= PF_EXITING;
        self.core.mark_stale(cpu);
    }

    /// A task that ends leaves its automatic group, also where it has none (`sched_autogroup_exit_task`): it is taken out of its
    /// queue and put back, and its CPU chooses (`sched_move_task`).
    fn move_at_exit(&mut self, cpu: u32, slot: u32) {
        self.while_dequeued(slot, |_| ());
        self.core.request_resched(cpu);
        self.core.active.push_front(cpu);
    }

    fn end(&mut self, cpu: u32, slot: u32) {
        let (address, realtime) = (self.core.entity(slot).address, self.core.entity(slot).is_realtime());
        let task = self.core.entity_mut(slot).task_mut();
        (task.flags, task.__state) = (task.flags | PF_EXITING, TASK_DEAD);
        let task = self.core.entity(slot).id;
        self.core.world.emit(cpu, EventKind::Exit { task });
        if !realtime {
            self.dequeue_task(slot, SCX_DEQ_SLEEP);
        }
        self.core.entity_mut(slot).state = State::Sleeping;
        self.schedule(cpu, Some(Reason::Exited));
        self.core.end_reservation(slot);
        if !realtime {
            self.call(Op::Disable, cpu, NONE, [address]);
        }
        if self.core.entity(slot).is_shown {
            self.write_scratch(GuestExitTask { cancelled: false });
            self.call(Op::ExitTask, cpu, NONE, [address, self.scratch]);
        }
        self.leave_family(slot, address);
        self.leave_place(slot);
        self.core.world.note_end();
    }
}

/// No node is better than another for a task's memory: nothing balances it.
const NUMA_NO_NODE: i32 = -1;

/// The priority of a task of that nice value (`NICE_TO_PRIO`).
pub(super) fn nice_priority(nice: i8) -> i32 {
    120 + i32::from(nice)
}

/// What a nice value is in a task (`set_load_weight`).
pub(super) fn fill_weight(task: &mut GuestTask, class: Class, nice: i8) {
    let (priority, weight) = (nice_priority(nice), load_weight(class, nice));
    (task.static_prio, task.prio, task.normal_prio) = (priority, priority, priority);
    (task.scx.weight, task.se.load.weight) = (policy_weight(weight), weight * 1024);
}

/// What a class of its own is in a task (`__setscheduler_params`).
pub(super) fn fill_class(task: &mut GuestTask, class: Class, nice: i8) {
    fill_weight(task, class, nice);
    task.policy = match class {
        Class::Other => 0,
        Class::Fifo(_) => 1,
        Class::RoundRobin(_) => 2,
        Class::Batch => 3,
        Class::Idle => 5,
        Class::Deadline(_) => 6,
    };
    task.rt_priority = u32::from(class.priority());
    if class.is_realtime() {
        let priority = realtime_priority(class);
        (task.prio, task.normal_prio) = (priority, priority);
    }
}

/// The kernel's priority of a task of a real-time class; those of the class deadline all have one above all others.
pub(super) fn realtime_priority(class: Class) -> i32 {
    if class.reservation().is_some() { -1 } else { 99 - i32::from(class.priority()) }
}

/// Sets what points to a parent.
fn set_parent(task: &mut GuestTask, parent: Pointer) {
    (task.real_parent, task.parent) = (parent, parent);
}

/// Where the tasks of a role begin when no task on a CPU creates them.
fn first_cpu(role: &Role) -> u32 {
    role.start_on.or_else(|| role.cpus.iter().next()).unwrap_or(CpuId(0)).0
}
