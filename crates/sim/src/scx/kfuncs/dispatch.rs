//! Queues: creating them, putting tasks in, moving tasks out.

use super::arguments::Task;
use super::{Call, EEXIST, EINVAL, ENOENT, NUMA_NO_NODE, kernel_functions};
use crate::scx::consts::*;
use crate::scx::core::Core;
use crate::scx::dispatching::Moved;
use crate::scx::layout::GuestInsertVtime;
use schedlab_bpf::{In, OnStack};
use std::mem::offset_of;

/// What the host keeps about a queue.
const QUEUE_BYTES: u64 = 256;

/// Tasks that are passed over for nothing; each of the others costs as much as one instruction.
const FREE_TASKS: u32 = 32;
/// What an iterator notes of a task.
const NOTED_BYTES: u64 = 16;

/// The structure of an iterator over a queue, on the policy's stack.
type DsqIterator = OnStack<48>;
const ITERATOR: &str = "bpf_iter_scx_dsq";

impl Call<'_, '_> {
    /// Takes what it costs to look through the queues that are to be given back already; a few are free.
    fn charge_reenqueues(&mut self) -> Option<()> {
        self.check.charge_bytes(8 * self.core.reenqueue.len() as u64)
    }
}

impl Core {
    /// The user queue of an identity; an unknown one is an error of the policy.
    #[inline]
    fn user_queue(&mut self, id: u64) -> Option<u32> {
        let found = self.queues.find(id);
        if found.is_none() {
            self.miss_queue(id);
        }
        found
    }

    #[cold]
    fn miss_queue(&mut self, id: u64) {
        self.error(format!("invalid DSQ ID {id:#018x}"));
    }

    /// Moves the first task of a user queue that can run here to the local one. What was dispatched before comes first.
    #[inline]
    fn consume(&mut self, queue: u64, mut flags: u64) -> Moved {
        let cpu = self.this_cpu;
        self.vet_immediate(SCX_DSQ_LOCAL, &mut flags);
        self.finish_dispatches(cpu);
        self.user_queue(queue).map_or(Moved::default(), |queue| self.move_to_local(cpu, queue, flags))
    }

    /// How many tasks are in a queue. The global ones have no number: there is one for each node.
    fn queued(&mut self, id: u64) -> i32 {
        let found = match id {
            SCX_DSQ_LOCAL => Some(self.this_cpu),
            id if id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON => {
                let cpu = (id & SCX_DSQ_LOCAL_CPU_MASK) as u32;
                if cpu >= self.cpus.len() {
                    self.error(format!("invalid CPU {}", cpu as i32));
                }
                Some(cpu).filter(|&cpu| cpu < self.cpus.len())
            }
            id => self.queues.find(id),
        };
        found.map_or(ENOENT, |queue| self.queues.get(queue).length as i32)
    }

    /// `scx_bpf_dsq_move`: from the queue of an iterator to another one.
    fn move_from_iterator(&mut self, handle: u64, slot: u32, to: u64, vtime: bool, mut flags: u64) -> bool {
        let Some(iterator) = self.iterators.get(handle) else { return false };
        let (from, until) = (iterator.queue, iterator.until);
        let changes = std::mem::take(&mut iterator.changes);
        let link = self.queues.link(slot);
        // It may have left the queue and come back since (`nldsq_cursor_lost_task`).
        if link.queue != from || link.sequence > until || !self.vet_immediate(to, &mut flags) {
            return false;
        }
        let to = self.resolve(self.this_cpu, to, slot);
        let scx = &mut self.entity_mut(slot).task_mut().scx;
        scx.slice = changes.slice_ns.unwrap_or(scx.slice);
        scx.dsq_vtime = changes.vtime.unwrap_or(scx.dsq_vtime);
        self.queues.remove(slot);
        if self.notes_moved {
            self.moved.push(slot);
        }
        self.dispatch_to(to, slot, flags | if vtime { SCX_ENQ_DSQ_PRIQ } else { 0 });
        true
    }
}

kernel_functions! {
    /// Creates a user queue. Its NUMA node only has to exist.
    fn scx_bpf_create_dsq(call, id: u64, node: i32) -> i32 {
        call.may_sleep("scx_bpf_create_dsq")?;
        let nodes = call.core.machine.topology.nodes as i32;
        if !(NUMA_NO_NODE..nodes).contains(&node) || id & SCX_DSQ_FLAG_BUILTIN != 0 {
            return Some(EINVAL);
        }
        if !call.core.queues.create(id) {
            return Some(EEXIST);
        }
        let charged = call.core.memory.charge("dispatch queues", QUEUE_BYTES);
        call.had(charged)?;
        0
    }

    fn scx_bpf_destroy_dsq(call, id: u64) {
        let Some(queue) = call.core.queues.find(id) else { return Some(()) };
        let length = call.core.queues.get(queue).length;
        if call.core.queues.destroy(id) {
            call.core.memory.refund(QUEUE_BYTES);
        } else {
            call.core.error(format!("attempting to destroy in-use dsq {id:#018x} (nr={length})"));
        }
    }

    fn scx_bpf_dsq_insert(call, task: Task, queue: u64, slice: u64, flags: u64) {
        call.core.insert(task.0, queue, slice, None, flags);
    }

    /// The form of later kernels, which says whether it worked.
    fn scx_bpf_dsq_insert___v2(call, task: Task, queue: u64, slice: u64, flags: u64) -> bool {
        call.core.insert(task.0, queue, slice, None, flags)
    }

    fn scx_bpf_dsq_insert_vtime(call, task: Task, queue: u64, slice: u64, vtime: u64, flags: u64) {
        call.core.insert(task.0, queue, slice, Some(vtime), flags);
    }

    /// The form with packed arguments, for more than five.
    fn __scx_bpf_dsq_insert_vtime(call, task: Task, args: In<{ size_of::<GuestInsertVtime>() as u64 }>) -> bool {
        let read = |offset: usize| args.read::<u64>(&call.core.memory, offset);
        let queue = read(offset_of!(GuestInsertVtime, dsq_id));
        let slice = read(offset_of!(GuestInsertVtime, slice));
        let vtime = read(offset_of!(GuestInsertVtime, vtime));
        let flags = read(offset_of!(GuestInsertVtime, enq_flags));
        call.core.insert(task.0, queue, slice, Some(vtime), flags)
    }

    fn scx_bpf_dispatch_nr_slots(call) -> u32 {
        (call.core.max_batch - call.core.dispatches.len()) as u32
    }

    fn scx_bpf_dispatch_cancel(call) {
        if call.core.dispatches.pop().is_none() {
            call.core.error("dispatch buffer underflow");
        }
    }

    fn scx_bpf_dsq_move_to_local(call, queue: u64) -> bool {
        let moved = call.core.consume(queue, 0);
        call.check.charge(u64::from(moved.passed.saturating_sub(FREE_TASKS)))?;
        moved.is_moved
    }

    fn scx_bpf_dsq_nr_queued(call, id: u64) -> i32 {
        call.core.queued(id)
    }

    fn scx_bpf_dsq_peek(call, id: u64) -> u64 {
        let Some(queue) = call.core.queues.find(id) else {
            call.core.error(match id & SCX_DSQ_FLAG_BUILTIN {
                0 => format!("peek on non-existent DSQ {id:#x}"),
                _ => format!("peek disallowed on builtin DSQ {id:#x}"),
            });
            return Some(0);
        };
        call.core.queues.first(queue).map_or(0, |slot| call.core.entity(slot).address)
    }

    fn bpf_iter_scx_dsq_new(call, iterator: DsqIterator, id: u64, flags: u64) -> i32 {
        let reverse = flags & SCX_DSQ_ITER_REV != 0;
        let (handle, result) = match call.core.queues.find(id) {
            _ if flags & !SCX_DSQ_ITER_REV != 0 => (0, EINVAL),
            None => (0, ENOENT),
            Some(queue) => {
                let core = &mut *call.core;
                let (handle, noted) = core.iterators.create(&core.queues, queue, reverse);
                call.check.charge((noted as u64).saturating_sub(FREE_TASKS.into()))?;
                call.check.charge_memory("iterators", NOTED_BYTES * noted as u64)?;
                (handle, 0)
            }
        };
        call.check.open_iterator(iterator.address(), ITERATOR, handle)?;
        result
    }

    fn bpf_iter_scx_dsq_next(call, iterator: DsqIterator) -> u64 {
        let handle = call.check.iterator(iterator.address(), ITERATOR)?;
        let core = &mut *call.core;
        core.iterators.next(handle, &core.queues).map_or(0, |slot| core.entity(slot).address)
    }

    fn bpf_iter_scx_dsq_destroy(call, iterator: DsqIterator) {
        let handle = call.check.close_iterator(iterator.address(), ITERATOR)?;
        let noted = call.core.iterators.destroy(handle);
        call.core.memory.refund(NOTED_BYTES * noted as u64);
    }

    fn scx_bpf_dsq_move_set_slice(call, iterator: DsqIterator, slice_ns: u64) {
        let handle = call.check.iterator(iterator.address(), ITERATOR)?;
        if let Some(iterator) = call.core.iterators.get(handle) {
            iterator.changes.slice_ns = Some(slice_ns);
        }
    }

    fn scx_bpf_dsq_move_set_vtime(call, iterator: DsqIterator, vtime: u64) {
        let handle = call.check.iterator(iterator.address(), ITERATOR)?;
        if let Some(iterator) = call.core.iterators.get(handle) {
            iterator.changes.vtime = Some(vtime);
        }
    }

    fn scx_bpf_dsq_move(call, iterator: DsqIterator, task: Task, queue: u64, flags: u64) -> bool {
        let handle = call.check.iterator(iterator.address(), ITERATOR)?;
        call.core.move_from_iterator(handle, task.0, queue, false, flags)
    }

    fn scx_bpf_dsq_move_vtime(call, iterator: DsqIterator, task: Task, queue: u64, flags: u64) -> bool {
        let handle = call.check.iterator(iterator.address(), ITERATOR)?;
        call.core.move_from_iterator(handle, task.0, queue, true, flags)
    }

    /// Takes effect when the operation is over, as on a kernel that defers it.
    fn scx_bpf_reenqueue_local(call) -> u32 {
        call.charge_reenqueues()?;
        let cpu = call.core.this_cpu;
        call.core.ask_reenqueue(cpu);
        call.core.queues.get(cpu).length
    }

    /// The form of later kernels, for all operations.
    fn scx_bpf_reenqueue_local___v2(call) {
        call.charge_reenqueues()?;
        let cpu = call.core.this_cpu;
        call.core.ask_reenqueue(cpu);
    }

    /// The same for any local or user queue.
    fn scx_bpf_dsq_reenq(call, id: u64, flags: u64) {
        call.charge_reenqueues()?;
        if flags & !SCX_REENQ_ANY != 0 {
            call.core.error(format!("invalid SCX_REENQ flags {flags:#x}"));
            return Some(());
        }
        let cpu = call.core.this_cpu;
        let queue = call.core.resolve(cpu, id, call.core.running_slot);
        // Nothing is given back from a global queue.
        if queue != call.core.cpus.len() {
            call.core.ask_reenqueue(queue);
        }
    }

    fn scx_bpf_task_set_slice(call, task: Task, slice_ns: u64) -> bool {
        let cpu = call.core.entity(task.0).cpu;
        if call.core.current(cpu) == Some(task.0) {
            call.core.account(cpu);
            call.core.mark_stale(cpu);
        }
        call.core.entity_mut(task.0).task_mut().scx.slice = slice_ns;
        true
    }

    fn scx_bpf_task_set_dsq_vtime(call, task: Task, vtime: u64) -> bool {
        call.core.entity_mut(task.0).task_mut().scx.dsq_vtime = vtime;
        true
    }
}
