//! The state of the sched_ext core: CPUs, tasks, queues. Kernel functions work on it; it never calls the policy, so
//! that nothing is half done when a policy asks for something.

use super::cpu::{Cpu, NONE};
use super::dsq::{Mixed, QueueIndex, Queues};
use super::entity::{Custody, Direct, Entity, State};
use super::idle::Idle;
use super::layout::{GuestRq, GuestTask, TASK_STRIDE, TASK_WRITABLE};
use super::mask::{Mask, Masks};
use super::ops::Op;
use super::{consts::*, iter::Iterators};
use crate::CpuTime;
use crate::error::PolicyFailure;
use crate::world::{World, cpu_timers::CpuTimers};
use schedlab_bpf::{Access, GuestMemory, MemoryError, Region};
use schedlab_model::machine::Machine;
use schedlab_model::{time::Time, trace::*};
use std::collections::{BTreeMap, VecDeque};

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
    pub cpus: Vec<Cpu>,
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
    /// Sets of allowed CPUs: for each group its own, then those of [`Core::pinned`].
    pub allowed: Vec<Mask>,
    /// For each CPU that is some `start_on` the index of the set of that CPU alone.
    pub pinned: BTreeMap<u32, u32>,
    /// All CPUs.
    pub all_cpus: Mask,
    entities: Vec<Entity>,
    tasks_base: u64,
    pages_opened: u64,
    /// CPUs that have to choose anew, in order.
    pub resched: VecDeque<u32>,
    /// CPUs whose task may have steps to do, in order.
    pub active: VecDeque<u32>,
    /// CPUs whose timer is to be set anew.
    pub stale: Vec<u32>,
    /// CPUs whose local queue's tasks go back to the policy.
    pub reenqueue: VecDeque<u32>,
    /// Kicks that policies asked for: CPU and flags.
    pub kicks: VecDeque<(u32, u64)>,
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
    /// The operation that runs, for messages and permissions.
    pub running_op: Option<Op>,
    /// The task it is about.
    pub running_slot: u32,
    /// The CPU it runs on.
    pub this_cpu: u32,
    /// Iterators over queues.
    pub iterators: Iterators,
    /// The oldest and the youngest waiting task.
    waiting: (u32, u32),
    /// Set when the policy has to go.
    pub exit: Option<Exit>,
    /// Guest addresses of run queues: first and stride.
    pub run_queues: (u64, u64),
    /// Guest address of the root control group.
    pub root_cgroup: u64,
    /// Real-time tasks alive; without any, nobody looks for one.
    pub realtime_tasks: u32,
}

/// The most tasks alive at once.
pub const MAX_TASKS: u32 = 1 << 22;

impl Core {
    /// An idle machine.
    pub fn new(world: World, memory: GuestMemory) -> Result<Core, MemoryError> {
        let machine = world.workload.machine.clone();
        let count = machine.cpus();
        let mut masks = Masks::new(&memory, count);
        let idle = Idle::new(&mut masks, machine.topology)?;
        let all_cpus = masks.create(&schedlab_model::cpuset::CpuSet::first(count))?;
        let region = Region::array(
            "task_struct",
            TASK_STRIDE,
            size_of::<GuestTask>() as u32,
            Access::WritableRanges(TASK_WRITABLE),
        );
        let tasks_base = memory.alloc_sparse(MAX_TASKS as u64 * TASK_STRIDE as u64, 4096, region)?;
        Ok(Core {
            world,
            machine,
            cpus: (0..count).map(|_| Cpu::new()).collect(),
            cpu_timers: CpuTimers::new(count as usize),
            queues: Queues::new(count, &[SCX_DSQ_GLOBAL]),
            idle,
            keeps_idle: true,
            masks,
            allowed: Vec::new(),
            pinned: BTreeMap::new(),
            all_cpus,
            entities: Vec::new(),
            tasks_base,
            pages_opened: 0,
            resched: VecDeque::new(),
            active: VecDeque::new(),
            stale: Vec::new(),
            reenqueue: VecDeque::new(),
            kicks: VecDeque::new(),
            rotor: 0,
            dispatches: Vec::new(),
            dispatched: false,
            max_batch: SCX_DSP_DFL_MAX_BATCH as usize,
            direct_task: DirectTask::None,
            running_op: None,
            running_slot: NONE,
            this_cpu: 0,
            iterators: Iterators::default(),
            waiting: (NONE, NONE),
            exit: None,
            run_queues: (0, 0),
            root_cgroup: 0,
            realtime_tasks: 0,
            memory,
        })
    }

    /// Where tasks lie: the first, the stride, how many there can be.
    pub fn task_table(&self) -> (u64, u32, u32) {
        (self.tasks_base, TASK_STRIDE, MAX_TASKS)
    }

    /// The core's side of a task.
    #[inline]
    pub fn entity(&self, slot: u32) -> &Entity {
        &self.entities[slot as usize]
    }

    /// The same, to change it.
    #[inline]
    pub fn entity_mut(&mut self, slot: u32) -> &mut Entity {
        &mut self.entities[slot as usize]
    }

    /// Makes the core's side of a new task, its `task_struct` zeroed.
    pub fn add_entity(&mut self, slot: u32, cpu: u32, class: schedlab_model::workload::Class) {
        let address = self.tasks_base + slot as u64 * TASK_STRIDE as u64;
        let end = address + TASK_STRIDE as u64 - self.tasks_base;
        if end > self.pages_opened {
            // A megabyte at a time.
            let open = (1 << 20).min(MAX_TASKS as u64 * TASK_STRIDE as u64 - self.pages_opened);
            self.memory.open_pages(self.tasks_base + self.pages_opened, open);
            self.pages_opened += open;
        }
        self.memory.zero(address, TASK_STRIDE as usize);
        let entity = Entity::new(self.memory.host(address).cast(), address, cpu, class);
        match self.entities.get_mut(slot as usize) {
            Some(old) => *old = entity,
            None => self.entities.push(entity),
        }
        self.queues.add_slot(slot);
    }

    /// The slot of a task that a policy points to.
    #[inline]
    pub fn slot_of(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(self.tasks_base)?;
        let slot = (offset / TASK_STRIDE as u64) as usize;
        (slot < self.entities.len() && offset % TASK_STRIDE as u64 == 0 && self.world.tasks.get(slot as u32).is_some())
            .then_some(slot as u32)
    }

    /// The CPUs on which a task may run.
    #[inline]
    pub fn allowed(&self, slot: u32) -> &Mask {
        &self.allowed[self.entity(slot).allowed as usize]
    }

    /// The task that runs on a CPU.
    #[inline]
    pub fn current(&self, cpu: u32) -> Option<u32> {
        Some(self.cpus[cpu as usize].current).filter(|&s| s != NONE)
    }

    /// The policy has to go; the first reason counts.
    #[cold]
    pub fn fail(&mut self, kind: u64, code: i64, slot: u32, message: impl Into<String>) {
        if self.exit.is_none() {
            let failure = PolicyFailure {
                operation: self.running_op.map(|op| op.name()),
                task: (slot != NONE).then(|| self.world.name(slot)),
                time: Time(self.world.now_ns),
                message: message.into(),
            };
            self.exit = Some(Exit { kind, code, failure });
        }
    }

    /// The policy did something that it may not do.
    #[cold]
    pub fn error(&mut self, message: impl Into<String>) {
        let slot = if self.running_op.is_some() { self.running_slot } else { NONE };
        self.fail(SCX_EXIT_ERROR, 0, slot, message);
    }

    /// Gives the time since the CPU was last looked at to whom it belongs.
    #[inline(always)]
    pub fn account(&mut self, cpu: u32) {
        if self.world.now_ns > self.cpus[cpu as usize].accounted_ns {
            self.account_passed(cpu);
        }
    }

    fn account_passed(&mut self, cpu: u32) {
        let now = self.world.now_ns;
        let c = &mut self.cpus[cpu as usize];
        let delta = now - c.accounted_ns;
        c.accounted_ns = now;
        if c.current == NONE {
            c.idle_ns += delta;
            return;
        }
        c.task_ns += delta;
        let slot = c.current;
        let work = &mut self.world.tasks[slot].work_ns;
        assert!(*work >= delta, "cpu {cpu} gave task {slot} {delta} ns of which it wanted {work}");
        *work -= delta;
        let entity = &mut self.entities[slot as usize];
        entity.realtime_slice_ns = entity.realtime_slice_ns.saturating_sub(delta);
        let task = entity.task_mut();
        task.se.sum_exec_runtime += delta;
        task.se.exec_start = now;
        if task.scx.slice != SCX_SLICE_INF {
            task.scx.slice = task.scx.slice.saturating_sub(delta);
        }
    }

    /// The CPU pays for the system. What it does after that, it does later.
    #[inline(always)]
    pub fn pay(&mut self, cpu: u32, what: Overhead, length_ns: u64) {
        if length_ns > 0 {
            self.pay_some(cpu, what, length_ns);
        }
    }

    fn pay_some(&mut self, cpu: u32, what: Overhead, length_ns: u64) {
        self.account(cpu);
        let c = &mut self.cpus[cpu as usize];
        c.accounted_ns += length_ns;
        c.overhead_ns += length_ns;
        self.mark_stale(cpu);
        self.world.emit(cpu, EventKind::Overhead { what, length: Time(length_ns) });
    }

    /// Where a CPU's time went up to the end of the run. What it would have paid after the end is not counted.
    pub fn final_time(&mut self, cpu: u32, end_ns: u64) -> CpuTime {
        self.account(cpu);
        let c = &mut self.cpus[cpu as usize];
        c.overhead_ns -= c.accounted_ns.saturating_sub(end_ns);
        let sum = c.task_ns + c.idle_ns + c.overhead_ns;
        assert_eq!(sum, end_ns, "cpu {cpu}: {} + {} + {} ns", c.task_ns, c.idle_ns, c.overhead_ns);
        CpuTime { task: Time(c.task_ns), idle: Time(c.idle_ns), overhead: Time(c.overhead_ns) }
    }

    /// The CPU's timer is to be set anew.
    #[inline]
    pub fn mark_stale(&mut self, cpu: u32) {
        let c = &mut self.cpus[cpu as usize];
        if !c.stale_timer {
            c.stale_timer = true;
            self.stale.push(cpu);
        }
    }

    /// The CPU has to choose anew (`resched_curr`).
    #[inline]
    pub fn request_resched(&mut self, cpu: u32) {
        let c = &mut self.cpus[cpu as usize];
        if !c.need_resched {
            c.need_resched = true;
            self.resched.push_back(cpu);
        }
    }

    /// A task begins to wait for a CPU.
    pub fn begin_waiting(&mut self, slot: u32) {
        let (oldest, youngest) = self.waiting;
        let now = self.world.now_ns;
        let entity = &mut self.entities[slot as usize];
        if entity.waiting_since_ns != u64::MAX {
            return;
        }
        (entity.waiting_since_ns, entity.older, entity.younger) = (now, youngest, NONE);
        match youngest {
            NONE => self.waiting = (slot, slot),
            last => {
                self.entities[last as usize].younger = slot;
                self.waiting = (oldest, slot);
            }
        }
    }

    /// A task has a CPU, or wants none any more.
    pub fn end_waiting(&mut self, slot: u32) {
        let entity = &mut self.entities[slot as usize];
        if entity.waiting_since_ns == u64::MAX {
            return;
        }
        entity.waiting_since_ns = u64::MAX;
        let (older, younger) = (entity.older, entity.younger);
        match older {
            NONE => self.waiting.0 = younger,
            o => self.entities[o as usize].younger = younger,
        }
        match younger {
            NONE => self.waiting.1 = older,
            y => self.entities[y as usize].older = older,
        }
    }

    /// The task that has waited longest for a CPU.
    pub fn longest_waiting(&self) -> Option<u32> {
        Some(self.waiting.0).filter(|&s| s != NONE)
    }

    /// `scx_bpf_dsq_insert` and its kin: puts a task into a queue, now, at the end of the enqueue, or at the end of
    /// the dispatch, as the running operation demands. False: refused, the policy has to go.
    pub fn insert(&mut self, slot: u32, queue: u64, slice: u64, vtime: Option<u64>, flags: u64) -> bool {
        let scx = &mut self.entity_mut(slot).task_mut().scx;
        // A slice of zero keeps what is left; a task never starts with none.
        scx.slice = if slice != 0 { slice } else { scx.slice.max(1) };
        let flags = flags & !SCX_ENQ_DSQ_PRIQ | if vtime.is_some() { SCX_ENQ_DSQ_PRIQ } else { 0 };
        if let Some(vtime) = vtime {
            scx.dsq_vtime = vtime;
        }
        match (self.direct_task, self.running_op) {
            (DirectTask::Expected(expected), _) if expected == slot => {
                self.direct_task = DirectTask::Done;
                self.entity_mut(slot).direct = Some(Direct { queue, flags });
                true
            }
            (DirectTask::Expected(expected), _) => {
                let (wanted, given) = (self.world.name(expected), self.world.name(slot));
                self.error(format!("{wanted} is being enqueued, but the policy inserts {given}"));
                false
            }
            (DirectTask::Done, _) => {
                let name = self.world.name(slot);
                self.error(format!("{name} is inserted into a queue twice"));
                false
            }
            (DirectTask::None, Some(Op::Dispatch)) => {
                if self.dispatches.len() >= self.max_batch {
                    self.error(format!("ops.dispatch inserts more than {} tasks (dispatch_max_batch)", self.max_batch));
                    return false;
                }
                let enqueues = self.entity(slot).enqueues;
                self.dispatches.push(Dispatch { slot, enqueues, queue, flags });
                true
            }
            (DirectTask::None, op) => {
                let op = op.map_or("nothing", |o| o.name());
                self.error(format!("tasks can be inserted from select_cpu, enqueue and dispatch, not from {op}"));
                false
            }
        }
    }

    /// The queue with an identity, as seen from the run queue of `cpu`; an unknown one is an error and gives the
    /// global queue.
    pub fn resolve(&mut self, cpu: u32, queue: u64, slot: u32) -> QueueIndex {
        let cpus = self.cpus.len() as u64;
        match queue {
            SCX_DSQ_LOCAL => return cpu,
            SCX_DSQ_GLOBAL => return cpus as u32,
            id if id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON => {
                let target = id & SCX_DSQ_LOCAL_CPU_MASK;
                if target < cpus {
                    return target as u32;
                }
                self.error(format!("there is no cpu {target} whose local queue a task could go to"));
                return cpus as u32;
            }
            id => {
                if let Some(index) = self.queues.find(id) {
                    return index;
                }
            }
        }
        let name = self.world.name(slot);
        self.error(format!("there is no dispatch queue {queue:#x} for {name}"));
        cpus as u32
    }

    /// Puts a task that nobody holds into a queue (`dispatch_enqueue`).
    pub fn enqueue_in(&mut self, queue: QueueIndex, slot: u32, flags: u64) {
        let built_in = self.is_built_in(queue);
        let by_key = flags & SCX_ENQ_DSQ_PRIQ != 0;
        let result = if by_key && !built_in {
            let key = self.entity(slot).task().scx.dsq_vtime;
            self.queues.push_by_key(queue, slot, key)
        } else {
            // The kernel preempts by putting the task first.
            self.queues.push(queue, slot, flags & (SCX_ENQ_HEAD | SCX_ENQ_PREEMPT) != 0)
        };
        if by_key && built_in {
            self.error("the built-in dispatch queues cannot be ordered by vtime");
        }
        if let Err(Mixed) = result {
            let id = self.queues.get(queue).id;
            self.error(format!("dispatch queue {id:#x} is used both by vtime and first-in first-out"));
            // The task must not be lost.
            let global = self.cpus.len() as u32;
            self.queues.push(global, slot, false).expect("the global queue is never ordered");
        }
        self.entity_mut(slot).custody = Custody::Kernel;
        if queue < self.cpus.len() as u32 {
            self.after_local_insert(queue, flags);
        }
    }

    /// Puts a task into a queue; into another CPU's local queue only if it may run there.
    pub fn dispatch_to(&mut self, queue: u32, slot: u32, flags: u64) {
        let is_local = queue < self.cpus.len() as u32;
        if !is_local || queue == self.entity(slot).cpu {
            return self.enqueue_in(queue, slot, flags);
        }
        if !self.allowed(slot).contains(queue) {
            let name = self.world.name(slot);
            self.error(format!("{name} is put into the local queue of cpu {queue}, on which it may not run"));
            let global = self.cpus.len() as u32;
            return self.enqueue_in(global, slot, flags);
        }
        self.migrate(slot, queue);
        self.enqueue_in(queue, slot, flags);
    }

    /// Carries out the dispatches of `ops.dispatch` (`flush_dispatch_buf`).
    pub fn finish_dispatches(&mut self, cpu: u32) {
        self.dispatched |= !self.dispatches.is_empty();
        let mut dispatches = std::mem::take(&mut self.dispatches);
        for d in dispatches.drain(..) {
            let alive = self.world.tasks.get(d.slot).is_some();
            let entity = self.entity(d.slot);
            // Not the policy's to give: it was dequeued meanwhile, or dispatched before.
            if !alive || entity.custody != Custody::Policy || entity.enqueues != d.enqueues {
                continue;
            }
            let queue = self.resolve(cpu, d.queue, d.slot);
            self.dispatch_to(queue, d.slot, d.flags | SCX_ENQ_CLEAR_OPSS);
        }
        self.dispatches = dispatches;
    }

    /// A task came to a CPU's local queue: wake the CPU if it idles, take it from its task if asked to.
    fn after_local_insert(&mut self, cpu: u32, flags: u64) {
        match self.current(cpu) {
            None => self.request_resched(cpu),
            Some(running) if flags & SCX_ENQ_PREEMPT != 0 && !self.entity(running).is_realtime() => {
                self.preempt(cpu, running);
                self.request_resched(cpu);
            }
            Some(_) => {}
        }
    }

    /// The task that runs on a CPU loses the rest of its slice.
    pub fn preempt(&mut self, cpu: u32, running: u32) {
        self.account(cpu);
        let slice = &mut self.entities[running as usize].task_mut().scx.slice;
        if *slice > 0 {
            *slice = 0;
            self.cpus[cpu as usize].preempted = true;
        }
    }

    /// Whether a queue is local or global.
    pub fn is_built_in(&self, queue: QueueIndex) -> bool {
        queue <= self.cpus.len() as u32
    }

    /// The kernel's choice of an idle CPU for a waking task (`scx_bpf_select_cpu_dfl`), which it then counts as busy.
    pub fn select_idle(&mut self, slot: u32, previous: u32, here: u32, wake_flags: u64) -> Option<u32> {
        let waker = self.sync_waker(here, wake_flags);
        let allowed = &self.allowed[self.entities[slot as usize].allowed as usize];
        self.idle.select(previous, allowed, waker, false)
    }

    /// The CPU of a waker that is about to sleep, and whether its local queue is empty; none for any other wake-up.
    pub fn sync_waker(&self, here: u32, wake_flags: u64) -> Option<(u32, bool)> {
        let sync = wake_flags & SCX_WAKE_SYNC != 0 && self.current(here).is_some();
        sync.then(|| (here, self.queues.first(here).is_none()))
    }

    /// Shows policies who runs on a CPU, in its `struct rq`.
    pub fn publish_current(&mut self, cpu: u32, task: u64) {
        let (base, stride) = self.run_queues;
        self.memory.write(base + stride * cpu as u64 + std::mem::offset_of!(GuestRq, curr) as u64, task);
    }

    /// Moves a runnable task that is in no queue to another CPU's run queue.
    #[inline(always)]
    pub fn migrate(&mut self, slot: u32, to: u32) {
        let from = self.entity(slot).cpu;
        if from != to {
            self.migrate_from(from, slot, to);
        }
    }

    fn migrate_from(&mut self, from: u32, slot: u32, to: u32) {
        if self.entity(slot).state != State::Sleeping {
            self.cpus[from as usize].runnable -= 1;
            self.cpus[to as usize].runnable += 1;
        }
        self.set_cpu(slot, to);
        let task = self.world.tasks[slot].id;
        let (from, to) = (schedlab_model::ids::CpuId(from), schedlab_model::ids::CpuId(to));
        self.world.emit(self.this_cpu, EventKind::Migrate { task, from, to });
    }

    /// Notes the CPU a task belongs to, where policies see it too.
    pub fn set_cpu(&mut self, slot: u32, cpu: u32) {
        let entity = self.entity_mut(slot);
        entity.cpu = cpu;
        entity.moved = entity.has_run;
        let task = entity.task_mut();
        (task.cpu, task.thread_info.cpu, task.wake_cpu) = (cpu, cpu, cpu as i32);
        task.se.nr_migrations += 1;
    }

    /// `scx_bpf_dsq_move_to_local`: moves the first task of a queue that may run on `cpu` to its local queue.
    pub fn move_to_local(&mut self, cpu: u32, queue: QueueIndex) -> bool {
        let mut next = self.queues.first(queue);
        while let Some(slot) = next {
            if self.entity(slot).cpu == cpu || self.allowed(slot).contains(cpu) {
                self.queues.remove(slot);
                self.migrate(slot, cpu);
                self.enqueue_in(cpu, slot, 0);
                return true;
            }
            next = self.queues.next(slot);
        }
        false
    }
}
