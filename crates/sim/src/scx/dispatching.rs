//! Into which dispatch queue a task goes, when, and what follows (`scx_dsq_insert`, `dispatch_enqueue`,
//! `flush_dispatch_buf`, `move_task_between_dsqs`).

use super::consts::*;
use super::core::{Core, DirectTask, Dispatch};
use super::dsq::{Mixed, QueueIndex};
use super::entity::{Custody, Direct};

/// What came of a search for a task that can run on a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moved {
    /// Whether a task was found and moved.
    pub is_moved: bool,
    /// How many that cannot run there were passed over.
    pub passed: u32,
}

impl Core {
    /// `scx_bpf_dsq_insert` and its kin: puts a task into a queue, now, at the end of the enqueue, or at the end of
    /// the dispatch, as the running operation demands. False: refused, the policy has to go.
    #[inline]
    pub fn insert(&mut self, slot: u32, queue: u64, slice: u64, vtime: Option<u64>, mut flags: u64) -> bool {
        if (flags & SCX_ENQ_VETTED != 0 || self.immediate.always) && !self.vet(queue, &mut flags) {
            return false;
        }
        let scx = &mut self.entity_mut(slot).task_mut().scx;
        // A slice of zero keeps what is left; a task never starts with none.
        scx.slice = if slice != 0 { slice } else { scx.slice.max(1) };
        let flags = flags | if vtime.is_some() { SCX_ENQ_DSQ_PRIQ } else { 0 };
        if let Some(vtime) = vtime {
            scx.dsq_vtime = vtime;
        }
        if self.direct_task == DirectTask::Expected(slot) {
            self.direct_task = DirectTask::Done;
            self.entity_mut(slot).direct = Some(Direct { queue, flags });
            return true;
        }
        self.insert_later(slot, queue, flags)
    }

    /// Whether a policy may insert with such flags (`scx_dsq_insert_preamble`, `scx_vet_enq_flags`).
    #[cold]
    fn vet(&mut self, queue: u64, flags: &mut u64) -> bool {
        if *flags & SCX_ENQ_INTERNAL_MASK != 0 {
            self.error(format!("invalid enq_flags {flags:#x}"));
            return false;
        }
        self.vet_immediate(queue, flags)
    }

    /// Notes what the running `ops.dispatch` inserts; nothing else may insert this task now.
    fn insert_later(&mut self, slot: u32, queue: u64, flags: u64) -> bool {
        match self.direct_task {
            DirectTask::Expected(expected) => {
                let (wanted, given) = (self.world.name(expected), self.world.name(slot));
                self.error(format!("scheduling for {wanted} but trying to direct-dispatch {given}"));
                false
            }
            DirectTask::Done => {
                let name = self.world.name(slot);
                self.error(format!("{name} already direct-dispatched"));
                false
            }
            DirectTask::None => {
                if self.dispatches.len() >= self.max_batch {
                    let most = self.max_batch;
                    self.error(format!("dispatch buffer overflow: more than {most} tasks (dispatch_max_batch)"));
                    return false;
                }
                let enqueues = self.entity(slot).enqueues;
                self.dispatches.push(Dispatch { slot, enqueues, queue, flags });
                true
            }
        }
    }

    /// The queue with an identity, as seen from the run queue of `cpu`; an unknown one is an error and gives the
    /// global queue.
    #[inline]
    pub fn resolve(&mut self, cpu: u32, queue: u64, slot: u32) -> QueueIndex {
        let cpus = self.cpus.len() as u64;
        let found = match queue {
            id if id & SCX_DSQ_FLAG_BUILTIN == 0 => self.queues.find(id),
            SCX_DSQ_LOCAL => Some(cpu),
            SCX_DSQ_GLOBAL => Some(cpus as u32),
            id => {
                let target = id & SCX_DSQ_LOCAL_CPU_MASK;
                (id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON && target < cpus).then_some(target as u32)
            }
        };
        found.unwrap_or_else(|| self.refuse_queue(queue, slot))
    }

    /// The policy names a queue that does not exist: the task goes to the global one.
    #[cold]
    fn refuse_queue(&mut self, queue: u64, slot: u32) -> QueueIndex {
        if queue & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON {
            let target = queue & SCX_DSQ_LOCAL_CPU_MASK;
            self.error(format!("invalid CPU {target} in SCX_DSQ_LOCAL_ON dispatch verdict"));
        } else {
            let name = self.world.name(slot);
            self.error(format!("non-existent DSQ {queue:#x} for {name}"));
        }
        self.cpus.len()
    }

    /// Puts a task that is in no queue into one (`dispatch_enqueue`).
    #[inline(always)]
    pub fn enqueue_in(&mut self, queue: QueueIndex, slot: u32, flags: u64) {
        let by_key = flags & SCX_ENQ_DSQ_PRIQ != 0;
        let built_in = self.is_built_in(queue);
        let result = if by_key && !built_in {
            let key = self.entity(slot).task().scx.dsq_vtime;
            self.queues.push_by_key(queue, slot, key)
        } else {
            // The kernel preempts by putting the task first.
            self.queues.push(queue, slot, flags & (SCX_ENQ_HEAD | SCX_ENQ_PREEMPT) != 0)
        };
        if by_key && built_in {
            self.error("cannot use vtime ordering for built-in DSQs");
        }
        if let Err(Mixed) = result {
            self.refuse_order(queue, slot, by_key);
        }
        self.entity_mut(slot).custody = Custody::Kernel;
        if self.tells_custody {
            self.note_custody(slot, self.is_built_in(queue));
        }
        if queue < self.cpus.len() {
            if self.immediate.is_used {
                self.note_immediate(queue, slot, flags);
            }
            self.after_local_insert(queue, slot, flags);
        }
    }

    /// The task is in a queue of the kernel's now and has left the policy's custody, or it is in one of the policy's
    /// (`call_task_dequeue`).
    fn note_custody(&mut self, slot: u32, is_built_in: bool) {
        let was = std::mem::replace(&mut self.entity_mut(slot).in_custody, !is_built_in);
        if was && is_built_in {
            self.left_custody.push(slot);
        }
    }

    /// The policy uses a queue both ways. The task must not be lost.
    #[cold]
    fn refuse_order(&mut self, queue: QueueIndex, slot: u32, by_key: bool) {
        let (id, other) = (self.queues.get(queue).id, if by_key { "FIFO" } else { "PRIQ" });
        self.error(format!("DSQ ID {id:#018x} already had {other}-enqueued tasks"));
        let global = self.cpus.len();
        self.queues.push(global, slot, false).expect("the global queue is never ordered");
    }

    /// Puts a task into a queue; into another CPU's local queue only if it may run there.
    #[inline(always)]
    pub fn dispatch_to(&mut self, queue: u32, slot: u32, flags: u64) {
        let is_local = queue < self.cpus.len();
        if is_local && queue != self.entity(slot).cpu {
            self.dispatch_far(queue, slot, flags);
        } else {
            self.enqueue_in(queue, slot, flags);
        }
    }

    /// The same of a task of the run queue of `cpu`. Another CPU gets one that is still on its own only when it has left it
    /// (`direct_dispatch`: `ddsp_deferred_locals`).
    #[inline(always)]
    pub fn dispatch_from(&mut self, cpu: u32, queue: u32, slot: u32, flags: u64) {
        if queue != cpu && queue < self.cpus.len() && self.current(cpu) == Some(slot) {
            self.deferred.push((slot, queue, flags));
        } else {
            self.dispatch_to(queue, slot, flags);
        }
    }

    /// Puts into other CPUs' local queues what has left its CPU (`process_ddsp_deferred_locals`).
    #[cold]
    pub fn carry_deferred_out(&mut self) {
        for (slot, queue, flags) in std::mem::take(&mut self.deferred) {
            self.dispatch_to(queue, slot, flags);
        }
    }

    fn dispatch_far(&mut self, queue: u32, slot: u32, flags: u64) {
        if !self.allowed(slot).contains(queue) {
            let name = self.world.name(slot);
            self.error(format!("SCX_DSQ_LOCAL[_ON] target CPU {queue} not allowed for {name}"));
        } else if !self.is_online(queue) {
            self.events.dispatch_local_dsq_offline();
        } else {
            self.migrate(slot, queue);
            return self.enqueue_in(queue, slot, flags);
        }
        let global = self.cpus.len();
        self.enqueue_in(global, slot, flags);
    }

    /// Carries out the dispatches of `ops.dispatch` (`flush_dispatch_buf`).
    #[inline]
    pub fn finish_dispatches(&mut self, cpu: u32) {
        if !self.dispatches.is_empty() {
            self.carry_dispatches_out(cpu);
        }
    }

    fn carry_dispatches_out(&mut self, cpu: u32) {
        self.dispatched = true;
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

    /// A task came to a CPU's local queue: wake the CPU if it idles, take it from its task if asked to
    /// (`local_dsq_post_enq`). A CPU that looks for its next task finds this one anyway, and a task that leaves its CPU does
    /// not preempt itself.
    #[inline]
    fn after_local_insert(&mut self, cpu: u32, slot: u32, flags: u64) {
        if self.balancing == cpu {
            return;
        }
        match self.current(cpu) {
            None => self.request_resched(cpu),
            Some(running) if flags & SCX_ENQ_PREEMPT != 0 && running != slot => self.preempt_for_policy(cpu, running),
            Some(_) => {}
        }
    }

    fn preempt_for_policy(&mut self, cpu: u32, running: u32) {
        if !self.entity(running).is_realtime() {
            self.take_slice(cpu, running);
            self.pay_preemption(cpu);
            self.request_resched(cpu);
        }
    }

    /// `scx_bpf_dsq_move_to_local`: moves the first task of a queue that may run on `cpu` to its local queue.
    #[inline]
    pub fn move_to_local(&mut self, cpu: u32, queue: QueueIndex, flags: u64) -> Moved {
        if self.queues.is_empty(queue) { Moved::default() } else { self.move_first_to_local(cpu, queue, flags) }
    }

    #[inline(always)]
    fn move_first_to_local(&mut self, cpu: u32, queue: QueueIndex, flags: u64) -> Moved {
        let (mut next, mut passed) = (self.queues.first(queue), 0);
        while let Some(slot) = next {
            if self.entity(slot).cpu == cpu || (self.is_online(cpu) && self.allowed(slot).contains(cpu)) {
                if self.tells_custody {
                    self.note_custody(slot, true);
                }
                self.queues.remove(slot);
                self.migrate(slot, cpu);
                let at_head = flags & (SCX_ENQ_HEAD | SCX_ENQ_PREEMPT) != 0;
                self.queues.push(cpu, slot, at_head).expect("a local queue is never ordered");
                if self.immediate.is_used {
                    self.note_immediate(cpu, slot, flags);
                }
                self.after_local_insert(cpu, slot, flags);
                return Moved { is_moved: true, passed };
            }
            passed += 1;
            next = self.queues.next(slot);
        }
        Moved { is_moved: false, passed }
    }
}
