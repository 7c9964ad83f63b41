//! Queues: creating them, putting tasks in, moving tasks out.

use super::{EEXIST, EINVAL, ENOENT, kernel_functions};
use crate::scx::consts::*;
use crate::scx::core::Core;
use crate::scx::layout::GuestInsertVtime;
use crate::scx::ops::Op;
use std::mem::offset_of;

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
        self.error(format!("there is no dispatch queue {id:#x}"));
    }

    /// The queue of an identity for functions that only look: built-in ones too.
    fn any_queue(&self, id: u64) -> Option<u32> {
        let cpus = self.cpus.len() as u32;
        match id {
            SCX_DSQ_LOCAL => Some(self.this_cpu),
            SCX_DSQ_GLOBAL => Some(cpus),
            id if id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON => {
                Some((id & SCX_DSQ_LOCAL_CPU_MASK) as u32).filter(|&c| c < cpus)
            }
            id => self.queues.find(id),
        }
    }

    /// `scx_bpf_dsq_move`: from the queue of an iterator to another one.
    fn move_from_iterator(&mut self, handle: u64, slot: u32, to: u64, vtime: bool, flags: u64) -> bool {
        let Some(iterator) = self.iterators.get(handle) else { return false };
        let (from, changes) = (iterator.queue, std::mem::take(&mut iterator.changes));
        if self.queues.link(slot).queue != from {
            return false;
        }
        let to = self.resolve(self.this_cpu, to, slot);
        let scx = &mut self.entity_mut(slot).task_mut().scx;
        scx.slice = changes.slice_ns.unwrap_or(scx.slice);
        scx.dsq_vtime = changes.vtime.unwrap_or(scx.dsq_vtime);
        self.queues.remove(slot);
        self.dispatch_to(to, slot, flags | if vtime { SCX_ENQ_DSQ_PRIQ } else { 0 });
        true
    }
}

kernel_functions! {
    /// Creates a user queue. Its NUMA node does not matter here.
    fn scx_bpf_create_dsq(call, id: u64, _node: i32) -> i32 {
        if id & SCX_DSQ_FLAG_BUILTIN != 0 {
            return EINVAL;
        }
        if call.core.queues.create(id) { 0 } else { EEXIST }
    }

    fn scx_bpf_destroy_dsq(call, id: u64) {
        if !call.core.queues.destroy(id) {
            call.core.error(format!("dispatch queue {id:#x} cannot be destroyed: it does not exist or is not empty"));
        }
    }

    fn scx_bpf_dsq_insert(call, task: u64, queue: u64, slice: u64, flags: u64) {
        if let Some(slot) = call.task(task) {
            call.core.insert(slot, queue, slice, None, flags);
        }
    }

    /// The form of later kernels, which says whether it worked.
    fn scx_bpf_dsq_insert___v2(call, task: u64, queue: u64, slice: u64, flags: u64) -> bool {
        call.task(task).is_some_and(|slot| call.core.insert(slot, queue, slice, None, flags))
    }

    fn scx_bpf_dsq_insert_vtime(call, task: u64, queue: u64, slice: u64, vtime: u64, flags: u64) {
        if let Some(slot) = call.task(task) {
            call.core.insert(slot, queue, slice, Some(vtime), flags);
        }
    }

    /// The form with packed arguments, for more than five.
    fn __scx_bpf_dsq_insert_vtime(call, task: u64, args: u64) -> bool {
        let read = |offset: usize| call.core.memory.read::<u64>(args + offset as u64);
        let queue = read(offset_of!(GuestInsertVtime, dsq_id));
        let slice = read(offset_of!(GuestInsertVtime, slice));
        let vtime = read(offset_of!(GuestInsertVtime, vtime));
        let flags = read(offset_of!(GuestInsertVtime, enq_flags));
        call.task(task).is_some_and(|slot| call.core.insert(slot, queue, slice, Some(vtime), flags))
    }

    fn scx_bpf_dispatch_nr_slots(call) -> u32 {
        (call.core.max_batch - call.core.dispatches.len()) as u32
    }

    fn scx_bpf_dispatch_cancel(call) {
        if call.core.dispatches.pop().is_none() {
            call.core.error("there is no dispatch to cancel");
        }
    }

    fn scx_bpf_dsq_move_to_local(call, queue: u64) -> bool {
        if call.core.running_op != Some(Op::Dispatch) {
            call.core.error("tasks can be moved to the local queue from dispatch only");
            return false;
        }
        let cpu = call.core.this_cpu;
        // What was dispatched before comes first.
        if !call.core.dispatches.is_empty() {
            call.core.finish_dispatches(cpu);
        }
        call.core.user_queue(queue).is_some_and(|queue| call.core.move_to_local(cpu, queue))
    }

    fn scx_bpf_dsq_nr_queued(call, id: u64) -> i32 {
        call.core.any_queue(id).map_or(ENOENT, |queue| call.core.queues.get(queue).length as i32)
    }

    fn scx_bpf_dsq_peek(call, id: u64) -> u64 {
        let Some(queue) = call.core.user_queue(id) else { return 0 };
        call.core.queues.first(queue).map_or(0, |slot| call.core.entity(slot).address)
    }

    fn bpf_iter_scx_dsq_new(call, iterator: u64, id: u64, flags: u64) -> i32 {
        call.core.memory.write(iterator, 0u64);
        if flags & !SCX_DSQ_ITER_REV != 0 {
            return EINVAL;
        }
        let Some(queue) = call.core.queues.find(id) else { return ENOENT };
        let core = &mut *call.core;
        let handle = core.iterators.create(&core.queues, queue, flags & SCX_DSQ_ITER_REV != 0);
        core.memory.write(iterator, handle);
        0
    }

    fn bpf_iter_scx_dsq_next(call, iterator: u64) -> u64 {
        let core = &mut *call.core;
        let handle = core.memory.read(iterator);
        core.iterators.next(handle, &core.queues).map_or(0, |slot| core.entity(slot).address)
    }

    fn bpf_iter_scx_dsq_destroy(call, iterator: u64) {
        let handle = call.core.memory.read(iterator);
        call.core.iterators.destroy(handle);
        call.core.memory.write(iterator, 0u64);
    }

    fn scx_bpf_dsq_move_set_slice(call, iterator: u64, slice_ns: u64) {
        let handle = call.core.memory.read(iterator);
        if let Some(iterator) = call.core.iterators.get(handle) {
            iterator.changes.slice_ns = Some(slice_ns);
        }
    }

    fn scx_bpf_dsq_move_set_vtime(call, iterator: u64, vtime: u64) {
        let handle = call.core.memory.read(iterator);
        if let Some(iterator) = call.core.iterators.get(handle) {
            iterator.changes.vtime = Some(vtime);
        }
    }

    fn scx_bpf_dsq_move(call, iterator: u64, task: u64, queue: u64, flags: u64) -> bool {
        let handle = call.core.memory.read(iterator);
        call.task(task).is_some_and(|slot| call.core.move_from_iterator(handle, slot, queue, false, flags))
    }

    fn scx_bpf_dsq_move_vtime(call, iterator: u64, task: u64, queue: u64, flags: u64) -> bool {
        let handle = call.core.memory.read(iterator);
        call.task(task).is_some_and(|slot| call.core.move_from_iterator(handle, slot, queue, true, flags))
    }

    /// Takes effect when the operation is over, as on a kernel that defers it.
    fn scx_bpf_reenqueue_local(call) -> u32 {
        let cpu = call.core.this_cpu;
        call.core.reenqueue.push_back(cpu);
        call.core.queues.get(cpu).length
    }

    fn scx_bpf_task_set_slice(call, task: u64, slice_ns: u64) -> bool {
        let Some(slot) = call.task(task) else { return false };
        let cpu = call.core.entity(slot).cpu;
        if call.core.current(cpu) == Some(slot) {
            call.core.account(cpu);
            call.core.mark_stale(cpu);
        }
        call.core.entity_mut(slot).task_mut().scx.slice = slice_ns;
        true
    }

    fn scx_bpf_task_set_dsq_vtime(call, task: u64, vtime: u64) -> bool {
        let Some(slot) = call.task(task) else { return false };
        call.core.entity_mut(slot).task_mut().scx.dsq_vtime = vtime;
        true
    }
}
