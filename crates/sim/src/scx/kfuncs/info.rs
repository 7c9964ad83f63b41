//! What a policy can ask about CPUs, tasks and time.

use super::arguments::{AnyMask, Task};
use super::{Call, KERNEL_MASK, TASK, kernel_functions};
use crate::scx::consts::SCX_CPUPERF_ONE;
use crate::scx::layout::GuestTask;
use crate::scx::life::FIRST_PID;
use schedlab_bpf::{Intrinsic, Writable};
use schedlab_model::ids::CpuId;
use std::mem::offset_of;

/// Tasks scanned for the price of one instruction.
const SLOTS_PER_STEP: u32 = 4;

kernel_functions! {
    fn scx_bpf_nr_cpu_ids(call) -> u32 {
        call.core.cpus.len()
    }

    fn scx_bpf_nr_node_ids(call) -> u32 {
        call.core.machine.topology.nodes
    }

    fn scx_bpf_cpu_node(call, cpu: i32) -> i32 {
        call.cpu(cpu).map_or(-1, |cpu| call.core.machine.topology.node_of(CpuId(cpu)) as i32)
    }

    fn scx_bpf_get_possible_cpumask(call) -> u64 {
        call.check.acquire(call.core.all_cpus.address, KERNEL_MASK)?
    }

    fn scx_bpf_get_online_cpumask(call) -> u64 {
        call.check.acquire(call.core.online_cpus.address, KERNEL_MASK)?
    }

    fn scx_bpf_put_cpumask(call, mask: AnyMask) {
        call.check.release(mask.0.address, KERNEL_MASK)?;
    }

    /// Whether it is its CPU's current task, which a task that loses its CPU still is while it is enqueued again.
    fn scx_bpf_task_running(call, task: Task) -> bool {
        call.core.current(call.core.entity(task.0).cpu) == Some(task.0)
    }

    [Intrinsic::Field(offset_of!(GuestTask, cpu) as i16)]
    fn scx_bpf_task_cpu(call, task: Task) -> i32 {
        call.core.entity(task.0).cpu as i32
    }

    fn scx_bpf_cpu_rq(call, cpu: i32) -> u64 {
        let (base, stride) = call.core.run_queues;
        call.cpu(cpu).map_or(0, |cpu| base + stride * cpu as u64)
    }

    fn scx_bpf_locked_rq(call) -> u64 {
        let (base, stride) = call.core.run_queues;
        base + stride * u64::from(call.core.locked_cpu)
    }

    fn scx_bpf_cpu_curr(call, cpu: i32) -> u64 {
        let Some(cpu) = call.cpu(cpu) else { return Some(0) };
        call.core.current(cpu).map_or(0, |slot| call.core.entity(slot).address)
    }

    [Intrinsic::NowNs]
    fn scx_bpf_now(call) -> u64 {
        call.core.world.now_ns
    }

    fn scx_bpf_events(call, events: Writable) {
        events.clear(call.check);
        events.write(call.check, &call.core.events.bytes());
    }

    /// Every CPU always runs at full speed.
    fn scx_bpf_cpuperf_cap(call, cpu: i32) -> u32 {
        call.cpu(cpu);
        SCX_CPUPERF_ONE as u32
    }

    fn scx_bpf_cpuperf_cur(call, cpu: i32) -> u32 {
        call.cpu(cpu);
        SCX_CPUPERF_ONE as u32
    }

    fn scx_bpf_cpuperf_set(call, cpu: i32, level: u32) {
        if u64::from(level) > SCX_CPUPERF_ONE {
            call.core.error(format!("Invalid cpuperf target {level} for CPU {cpu}"));
            return Some(());
        }
        let Some(valid) = call.cpu(cpu) else { return Some(()) };
        // With a run queue locked, only its own CPU.
        if call.locks_run_queue() && valid != call.core.locked_cpu {
            call.core.error(format!("Invalid target CPU {cpu}"));
        }
    }

    fn bpf_task_acquire(call, task: Task) -> u64 {
        call.check.acquire(call.core.address_of(task.0), TASK)?
    }

    /// The task may have ended since it was acquired.
    fn bpf_task_release(call, task: u64) {
        call.check.release(task, TASK)?;
        call.core.drop_task(task);
    }

    fn bpf_task_from_pid(call, pid: i32) -> u64 {
        match search(&mut call, i64::from(pid) - i64::from(FIRST_PID))? {
            0 => 0,
            task => call.check.acquire(task, TASK)?,
        }
    }

    fn scx_bpf_tid_to_task(call, tid: u64) -> u64 {
        search(&mut call, tid.cast_signed().wrapping_sub(1))?
    }
}

/// The address of the living task with a number, 0 if there is none.
fn search(call: &mut Call<'_, '_>, id: i64) -> Option<u64> {
    let tasks = &call.core.world.tasks;
    let found = tasks.alive_slots().find(|&slot| i64::from(tasks[slot].id.0) == id);
    call.check.charge(u64::from(found.unwrap_or(call.core.slots()) / SLOTS_PER_STEP))?;
    Some(found.map_or(0, |slot| call.core.address_of(slot)))
}
