//! The state of the sched_ext core: CPUs, tasks, queues. Kernel functions work on it; it never calls the policy, so
//! that nothing is half done when a policy asks for something.

use super::cgroups::Cgroups;
use super::cpu::{Cpu, NONE};
use super::dsq::{QueueIndex, Queues};
use super::entity::{Entity, GuestPlace};
use super::events::Events;
use super::idle::{Idle, Wanted};
use super::immediate::{Immediate, Reenqueue};
use super::kept::Kept;
use super::layout::{GuestRq, GuestTask, TASK_STRIDE, TASK_WRITABLE};
use super::mask::{Mask, Masks};
use super::ops::Op;
use super::realtime::{Realtime, Rules};
use super::{
    consts::*,
    iter::{Iterators, Walks},
};
use crate::error::PolicyFailure;
use crate::per_cpu::PerCpu;
use crate::table::Table;
use crate::world::{World, cpu_timers::CpuTimers};
use schedlab_bpf::{Access, GuestMemory, MemoryError, Region};
use schedlab_model::machine::Machine;
use schedlab_model::release::Release;
use schedlab_model::{cpuset::CpuSet, ids::CpuId, time::Time, trace::*};
use std::collections::VecDeque;

/// Why a policy has to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// `SCX_EXIT_*`.
    pub kind: u64,
    /// The code given to `scx_bpf_exit`.
    pub code: i64,
    /// What happened, where and when.
    pub failure: PolicyFailure,
}

/// A dispatch asked for by `ops.dispatch` and carried out when it returns.
#[derive(Clone, Copy)]
pub struct Dispatch {
    /// The task.
    pub slot: u32,
    /// Its count of enqueues then: another one now means that the dispatch is too late.
    pub enqueues: u64,
    /// The queue's identity.
    pub queue: u64,
    /// `SCX_ENQ_*`.
    pub flags: u64,
}

/// Which task may be put straight into a queue now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectTask {
    /// None: the dispatch is buffered, or not allowed.
    None,
    /// This one.
    Expected(u32),
    /// It has been already.
    Done,
}

/// The state of the sched_ext core.
pub struct Core {
    /// Time, tasks' programs, events.
    pub world: World,
    /// Where policies point.
    pub memory: GuestMemory,
    /// What is simulated.
    pub machine: Machine,
    /// The CPUs.
    pub cpus: PerCpu<Cpu>,
    /// When something ends on each CPU.
    pub cpu_timers: CpuTimers,
    /// The dispatch queues.
    pub queues: Queues,
    /// Idle CPUs.
    pub idle: Idle,
    /// Whether the idle masks are kept: not when the policy does it by `update_idle`.
    pub keeps_idle: bool,
    /// Memory for masks.
    pub masks: Masks,
    /// Sets of allowed CPUs: for each role its own, then those of [`Core::other_sets`].
    pub allowed: Vec<Mask>,
    /// The other sets in which tasks may be, with their indices.
    pub other_sets: Vec<(CpuSet, u32)>,
    /// All CPUs.
    pub all_cpus: Mask,
    /// Those that are there (`cpu_active_mask`).
    pub online_cpus: Mask,
    /// How many are not.
    pub offline: u32,
    /// None.
    pub no_cpus: Mask,
    /// For what two masks have in common.
    pub scratch: Mask,
    pub(super) entities: Table<Entity>,
    tasks_base: u64,
    pages_opened: u64,
    /// Where the thread lies that takes tasks off their CPUs, 0 as long as the policy has not heard of it.
    stopper: u64,
    /// CPUs that have to choose again, in order.
    pub resched: VecDeque<u32>,
    /// CPUs whose task may have steps to do, in order.
    pub active: VecDeque<u32>,
    /// When the CPU that wakes a task has paid for the wakeup. Reschedule requests to other CPUs take effect then.
    pub told_ns: u64,
    /// CPUs whose timer is to be set again.
    pub stale: Vec<u32>,
    /// Queues whose tasks go back to the policy.
    pub reenqueue: VecDeque<Reenqueue>,
    /// Tasks that are to run at once.
    pub immediate: Immediate,
    /// Kicks that policies asked for: CPU and flags.
    pub kicks: VecDeque<(u32, u64)>,
    /// Direct dispatches of tasks to other CPUs' local queues that wait until these tasks have left their CPU: task, queue,
    /// flags.
    pub deferred: Vec<(u32, u32, u64)>,
    /// Dispatches of the running `ops.dispatch`.
    pub dispatches: Vec<Dispatch>,
    /// Whether it has dispatched anything.
    pub dispatched: bool,
    /// The most dispatches of one `ops.dispatch`.
    pub max_batch: usize,
    /// Where the search for any CPU begins, so that it goes round.
    pub rotor: u32,
    /// Which task may be dispatched directly.
    pub direct_task: DirectTask,
    /// The operations whose programs may sleep, as bits by their numbers.
    pub sleepable: u32,
    /// The operation that runs, for messages and permissions.
    pub running_op: Option<Op>,
    /// The task it is about.
    pub running_slot: u32,
    /// The CPU it runs on.
    pub this_cpu: u32,
    /// The CPU whose run queue is locked meanwhile, where one is.
    pub locked_cpu: u32,
    /// The CPU that looks for its next task (`SCX_RQ_IN_BALANCE`).
    pub balancing: u32,
    /// Iterators over queues.
    pub iterators: Iterators,
    /// Tasks that the policy has moved between queues, where they are noted.
    pub moved: Vec<u32>,
    /// Whether they are.
    pub notes_moved: bool,
    /// Whether the policy has `ops.dequeue`.
    pub tells_custody: bool,
    /// Tasks that have left its custody, of which it is yet to hear.
    pub left_custody: Vec<u32>,
    /// Walks over control groups.
    pub walks: Walks,
    /// Tasks that have ended and to which the policy keeps references.
    pub(super) kept: Kept,
    /// What the kernel counts.
    pub events: Events,
    /// The oldest and the youngest waiting task.
    pub(super) waiting: (u32, u32),
    /// Whether a task of the policy has had a CPU.
    pub(super) has_scheduled: bool,
    /// Set when the policy has to go.
    pub exit: Option<Exit>,
    /// Whether it goes at the end of the run.
    pub is_leaving: bool,
    /// Guest addresses of run queues: first and stride.
    pub run_queues: (u64, u64),
    /// The control groups.
    pub cgroups: Cgroups,
    /// Whether clocks of run queues and tasks' own masks are kept up, which costs time: for policies of which nothing is
    /// known but what their loader made.
    pub keeps_details: bool,
    /// The class above the policy.
    pub realtime: Realtime,
    /// The scheduler, where it is no BPF object.
    pub native: Option<Box<dyn super::native::Native>>,
}

/// The most tasks alive at once: fewer in a page, which has less memory.
pub const MAX_TASKS: u32 = if cfg!(target_arch = "wasm32") { 1 << 16 } else { 1 << 22 };

/// The core's side of a place in the table of tasks in which there is no task.
fn nobody(memory: &GuestMemory, tasks_base: u64, slot: u32) -> Entity {
    assert!(slot < MAX_TASKS);
    let address = tasks_base + u64::from(slot) * u64::from(TASK_STRIDE);
    // SAFETY: the place is guest memory of that size, which lives as long as the core, and belongs to the slot alone.
    let guest = unsafe { GuestPlace::new(memory.host(address).cast()) };
    Entity::new(guest, address)
}

/// There is no place for one more task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl Core {
    /// An idle machine.
    pub fn new(world: World, memory: GuestMemory, release: Release) -> Result<Core, MemoryError> {
        let rules = Rules::of(release);
        let exists = world.workload.has_realtime();
        let machine = world.workload.machine.clone();
        let count = machine.cpus();
        let mut masks = Masks::new(&memory, count);
        let idle = Idle::new(&mut masks, machine.topology)?;
        let all_cpus = masks.create(&schedlab_model::cpuset::CpuSet::first(count))?;
        let online_cpus = masks.create(&schedlab_model::cpuset::CpuSet::first(count))?;
        let scratch = masks.create(&schedlab_model::cpuset::CpuSet::default())?;
        let no_cpus = masks.create(&schedlab_model::cpuset::CpuSet::default())?;
        let region = Region::array(
            "task_struct",
            TASK_STRIDE,
            size_of::<GuestTask>() as u32,
            Access::WritableRanges(TASK_WRITABLE),
        );
        let tasks_base = memory.alloc_sparse(MAX_TASKS as u64 * TASK_STRIDE as u64, 4096, region)?;
        let cgroups = Cgroups::new(&memory, &mut masks, &world.workload.control_groups)?;
        let entities = |slot| nobody(&memory, tasks_base, slot);
        Ok(Core {
            world,
            machine,
            cpus: PerCpu::new(count, |_| Cpu::new(rules)),
            cpu_timers: CpuTimers::new(count),
            queues: Queues::new(count, &[SCX_DSQ_GLOBAL]),
            idle,
            keeps_idle: true,
            masks,
            allowed: Vec::new(),
            other_sets: Vec::new(),
            all_cpus,
            online_cpus,
            offline: 0,
            no_cpus,
            scratch,
            entities: Table::new(0, entities),
            tasks_base,
            pages_opened: 0,
            stopper: 0,
            resched: VecDeque::new(),
            active: VecDeque::new(),
            stale: Vec::new(),
            reenqueue: VecDeque::new(),
            immediate: Immediate::default(),
            kicks: VecDeque::new(),
            rotor: 0,
            dispatches: Vec::new(),
            deferred: Vec::new(),
            dispatched: false,
            max_batch: SCX_DSP_DFL_MAX_BATCH as usize,
            direct_task: DirectTask::None,
            sleepable: 0,
            running_op: None,
            running_slot: NONE,
            this_cpu: 0,
            locked_cpu: 0,
            balancing: NONE,
            told_ns: 0,
            iterators: Iterators::default(),
            moved: Vec::new(),
            notes_moved: false,
            tells_custody: false,
            left_custody: Vec::new(),
            walks: Walks::default(),
            kept: Kept::default(),
            events: Events::default(),
            waiting: (NONE, NONE),
            has_scheduled: false,
            exit: None,
            is_leaving: false,
            run_queues: (0, 0),
            cgroups,
            keeps_details: false,
            realtime: Realtime::new(exists, rules),
            native: None,
            memory,
        })
    }

    /// Where tasks lie: the first, the stride, how many there can be.
    pub fn task_table(&self) -> (u64, u32, u32) {
        (self.tasks_base, TASK_STRIDE, MAX_TASKS)
    }

    /// A CPU.
    #[inline]
    pub fn cpu(&self, cpu: u32) -> &Cpu {
        &self.cpus[cpu]
    }

    /// The same, to change it.
    #[inline]
    pub fn cpu_mut(&mut self, cpu: u32) -> &mut Cpu {
        &mut self.cpus[cpu]
    }

    /// The core's side of a task.
    #[inline]
    pub fn entity(&self, slot: u32) -> &Entity {
        &self.entities[slot]
    }

    /// The same, to change it.
    #[inline]
    pub fn entity_mut(&mut self, slot: u32) -> &mut Entity {
        &mut self.entities[slot]
    }

    /// Makes the core's side of a new task, its `task_struct` zeroed.
    pub fn add_entity(&mut self, slot: u32, cpu: u32, class: schedlab_model::workload::Class) -> Result<(), Full> {
        if slot >= MAX_TASKS {
            return Err(Full);
        }
        let address = self.address_of(slot);
        let end = address + TASK_STRIDE as u64 - self.tasks_base;
        if end > self.pages_opened {
            // A megabyte at a time.
            let open = (1 << 20).min(MAX_TASKS as u64 * TASK_STRIDE as u64 - self.pages_opened);
            self.memory.open_pages(self.tasks_base + self.pages_opened, open);
            self.pages_opened += open;
        }
        self.memory.zero(address, TASK_STRIDE as usize);
        let id = self.world.tasks[slot].id;
        let (memory, base) = (&self.memory, self.tasks_base);
        self.entities.reach(slot + 1, |slot| nobody(memory, base, slot));
        self.entities[slot] = Entity { id, cpu, class, ..nobody(memory, base, slot) };
        self.queues.add_slot(slot);
        Ok(())
    }

    /// How policies point to the task in a slot.
    #[inline]
    pub fn address_of(&self, slot: u32) -> u64 {
        self.tasks_base + slot as u64 * TASK_STRIDE as u64
    }

    /// The slot of a living task that a policy points to.
    #[inline]
    pub fn slot_of(&self, address: u64) -> Option<u32> {
        self.place_of(address).filter(|&slot| self.world.tasks.get(slot).is_some())
    }

    /// The slot at an address, whether a task lives in it or not.
    #[inline]
    pub fn place_of(&self, address: u64) -> Option<u32> {
        let offset = u32::try_from(address.wrapping_sub(self.tasks_base)).ok()?;
        let slot = offset / TASK_STRIDE;
        (offset % TASK_STRIDE == 0 && slot < self.entities.len()).then_some(slot)
    }

    /// The address of the mask in a task's own structure.
    pub fn own_mask_of(&self, slot: u32) -> u64 {
        self.address_of(slot) + std::mem::offset_of!(GuestTask, cpus_mask) as u64
    }

    /// The mask at an address: one that was handed out, or the one of a task.
    #[inline]
    pub fn mask_at(&self, address: u64) -> Option<Mask> {
        self.masks.get(address).or_else(|| {
            let task = address.wrapping_sub(std::mem::offset_of!(GuestTask, cpus_mask) as u64);
            self.task_at(task).filter(|_| self.keeps_details).map(|slot| self.allowed(slot).clone())
        })
    }

    /// Sets the clocks of a CPU's run queue, which is locked (`update_rq_clock`). All CPUs are alike and always of full
    /// speed, so that the clock of averages is that of tasks, and no idle time is lost.
    #[inline]
    pub fn update_clocks(&self, cpu: u32) {
        if self.keeps_details {
            let (base, stride) = self.run_queues;
            let at = base + stride * u64::from(cpu);
            for offset in [
                std::mem::offset_of!(GuestRq, clock),
                std::mem::offset_of!(GuestRq, clock_task),
                std::mem::offset_of!(GuestRq, clock_pelt),
            ] {
                self.memory.write(at + offset as u64, self.world.now_ns);
            }
        }
    }

    /// The `task_struct` of the thread that takes tasks off their CPUs (`migration/N`): no task of the scenario.
    pub fn stopper(&mut self) -> Result<u64, MemoryError> {
        if self.stopper == 0 {
            let size = size_of::<GuestTask>() as u32;
            let region = Region::array("task_struct", size, size, Access::ReadOnly);
            self.stopper = self.memory.alloc(u64::from(size), 8, region)?;
            let name = self.stopper + std::mem::offset_of!(GuestTask, comm) as u64;
            self.memory.write_bytes(name, b"migration");
        }
        Ok(self.stopper)
    }

    /// How many slots there are, of tasks that live and of such that have ended.
    pub fn slots(&self) -> u32 {
        self.entities.len()
    }

    /// The CPUs on which a task may run.
    #[inline]
    pub fn allowed(&self, slot: u32) -> &Mask {
        &self.allowed[self.entity(slot).allowed as usize]
    }

    /// The index of a set that some `start_on` or `set` names.
    pub fn set_number(&self, set: &CpuSet) -> u32 {
        let known = self.other_sets.iter().find(|(known, _)| known == set);
        known.expect("each set has got a mask before the run").1
    }

    /// The CPU of a set for a task that has to leave this one: each time the next (`cpumask_any_and_distribute`).
    pub fn distribute(&mut self, cpu: u32, set: &CpuSet) -> u32 {
        let previous = self.cpu(cpu).distributed;
        let next = set.iter().find(|to| to.0 > previous).or_else(|| set.iter().next()).unwrap_or(CpuId(cpu)).0;
        self.cpu_mut(cpu).distributed = next;
        next
    }

    /// The task that runs on a CPU.
    #[inline]
    pub fn current(&self, cpu: u32) -> Option<u32> {
        Some(self.cpu(cpu).current).filter(|&s| s != NONE)
    }

    /// The policy has to go; the first reason counts.
    #[cold]
    pub fn fail(&mut self, kind: u64, code: i64, slot: u32, message: impl Into<String>) {
        // Of a policy that leaves, a kernel hears no complaints any more.
        if self.exit.is_none() && !self.is_leaving {
            let failure = PolicyFailure {
                operation: self.running_op.map(|op| op.name()),
                task: (slot != NONE).then(|| self.world.name(slot)),
                time: Time(self.world.now_ns),
                is_stall: kind == SCX_EXIT_ERROR_STALL,
                message: message.into(),
                printed: Vec::new(),
            };
            self.exit = Some(Exit { kind, code, failure });
            self.world.has_to_end = true;
        }
    }

    /// The policy did something that it may not do.
    #[cold]
    pub fn error(&mut self, message: impl Into<String>) {
        let slot = if self.running_op.is_some() { self.running_slot } else { NONE };
        self.fail(SCX_EXIT_ERROR, 0, slot, message);
    }

    /// The CPU's timer is to be set again.
    #[inline]
    pub fn mark_stale(&mut self, cpu: u32) {
        let c = self.cpu_mut(cpu);
        if !c.stale_timer {
            c.stale_timer = true;
            self.stale.push(cpu);
        }
    }

    /// The CPU has to choose again (`resched_curr`).
    #[inline]
    pub fn request_resched(&mut self, cpu: u32) {
        let told_ns = self.told_ns;
        let c = self.cpu_mut(cpu);
        if !c.need_resched {
            (c.need_resched, c.told_ns) = (true, told_ns);
            self.resched.push_back(cpu);
        }
    }

    /// The task that runs on a CPU loses the rest of its slice.
    pub fn take_slice(&mut self, cpu: u32, running: u32) {
        self.account(cpu);
        let slice = &mut self.entities[running].task_mut().scx.slice;
        if *slice > 0 {
            *slice = 0;
            self.cpu_mut(cpu).preempted = true;
        }
    }

    /// A busy CPU pays for being asked to choose again.
    pub fn pay_preemption(&mut self, cpu: u32) {
        self.pay(cpu, Overhead::Switch, self.machine.costs.preempt.ns());
    }

    /// Whether a queue is local or global.
    pub fn is_built_in(&self, queue: QueueIndex) -> bool {
        queue <= self.cpus.len()
    }

    /// The kernel's choice of an idle CPU for a waking task (`scx_bpf_select_cpu_dfl`), which it then counts as busy.
    #[inline]
    pub fn select_idle(&mut self, slot: u32, previous: u32, here: u32, wake_flags: u64) -> Option<u32> {
        let is_hopeless = !self.idle.any() && wake_flags & SCX_WAKE_SYNC == 0;
        if is_hopeless { None } else { self.search_idle(slot, previous, here, wake_flags) }
    }

    fn search_idle(&mut self, slot: u32, previous: u32, here: u32, wake_flags: u64) -> Option<u32> {
        let waker = self.sync_waker(here, wake_flags);
        let allowed = &self.allowed[self.entities[slot].allowed as usize];
        let entity = &self.entities[slot];
        if entity.allowed_count == 1 {
            // Nothing is weighed up for it.
            let stays = allowed.contains(previous) && self.idle.clear(previous);
            return stays.then_some(previous);
        }
        self.idle.select(previous, allowed, waker, Wanted::default())
    }

    /// The CPU of a waker that is about to sleep, and whether its local queue is empty; none for any other wake-up.
    pub fn sync_waker(&self, here: u32, wake_flags: u64) -> Option<(u32, bool)> {
        let sync = wake_flags & SCX_WAKE_SYNC != 0 && self.current(here).is_some();
        sync.then(|| (here, self.queues.is_empty(here)))
    }

    /// What the first switch of a CPU takes more that was idle for so long that it has stopped its tick
    /// (`tick_nohz_next_event`).
    pub fn idle_exit(&self, cpu: u32) -> Time {
        let idle_ns = self.world.now_ns - self.cpu(cpu).idle_since_ns;
        let is_stopped = self.machine.tick > Time::ZERO && idle_ns > self.machine.tick.ns();
        if is_stopped { self.machine.costs.idle_exit } else { Time::ZERO }
    }

    /// Notes which task runs on a CPU, where policies see it too: in its `struct rq`.
    #[inline]
    pub fn set_current(&mut self, cpu: u32, slot: u32) {
        let address = if slot == NONE { 0 } else { self.address_of(slot) };
        let c = self.cpu_mut(cpu);
        (c.current, c.current_address) = (slot, address);
        let (base, stride) = self.run_queues;
        self.memory.write(base + stride * cpu as u64 + std::mem::offset_of!(GuestRq, curr) as u64, address);
    }

    /// Moves a runnable task that is in no queue to another CPU's run queue.
    #[inline(always)]
    pub fn migrate(&mut self, slot: u32, to: u32) {
        let from = self.entity(slot).cpu;
        if from != to {
            self.migrate_from(from, slot, to);
        }
    }

    /// The same, where it is on another CPU.
    pub fn migrate_from(&mut self, from: u32, slot: u32, to: u32) {
        self.set_cpu(slot, to);
        let task = self.entity(slot).id;
        let (from, to) = (schedlab_model::ids::CpuId(from), schedlab_model::ids::CpuId(to));
        self.world.emit_of(self.this_cpu, task, EventKind::Migrate { task, from, to });
    }

    /// A task of the policy that wants a CPU goes to another one.
    fn count_move(&mut self, slot: u32, cpu: u32) {
        let entity = self.entity(slot);
        if !entity.is_realtime() && entity.task().scx.flags & SCX_TASK_QUEUED as u32 != 0 {
            self.count_policy_task(entity.cpu, false);
            self.count_policy_task(cpu, true);
        }
    }

    /// Notes the CPU a task belongs to, where policies see it too.
    #[inline]
    pub fn set_cpu(&mut self, slot: u32, cpu: u32) {
        if self.realtime.exists {
            self.count_move(slot, cpu);
        }
        let entity = self.entity_mut(slot);
        entity.cpu = cpu;
        entity.moved = entity.has_run;
        let task = entity.task_mut();
        (task.cpu, task.thread_info.cpu, task.wake_cpu) = (cpu, cpu, cpu as i32);
        task.se.nr_migrations += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::{scenario::Scenario, workload::Class};
    use std::rc::Rc;

    #[test]
    fn a_task_beyond_the_last_place_is_refused_and_touches_nothing() {
        let text = "name = \"t\"\n[machine]\ncpus = 1\n[[task]]\nname = \"a\"\nonce = [{ compute = \"1ms\" }]\n\
             [run]\nduration = \"1s\"\n";
        let workload = Rc::new(Scenario::parse(text, "test").unwrap().compile().unwrap());
        let world = World::new(&workload, &workload.machine.costs, 1);
        let memory = GuestMemory::new().unwrap();
        let mut core = Core::new(world, memory.clone(), Release(7, 2)).unwrap();
        let behind = core.address_of(MAX_TASKS);
        memory.write(behind, u64::MAX);
        assert_eq!(core.add_entity(MAX_TASKS, 0, Class::Other), Err(Full));
        assert_eq!(memory.read::<u64>(behind), u64::MAX);
    }
}
