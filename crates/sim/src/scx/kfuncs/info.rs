//! What a policy can ask about CPUs, tasks, control groups and time.

use super::kernel_functions;
use crate::scx::consts::SCX_CPUPERF_ONE;
use crate::scx::layout::GuestTask;
use crate::scx::life::FIRST_PID;
use schedlab_bpf::Intrinsic;
use schedlab_model::ids::CpuId;
use std::mem::offset_of;

/// Identity of the only control group.
pub const ROOT_CGROUP_ID: u64 = 1;

kernel_functions! {
    fn scx_bpf_nr_cpu_ids(call) -> u32 {
        call.core.cpus.len() as u32
    }

    fn scx_bpf_nr_node_ids(call) -> u32 {
        call.core.machine.topology.nodes
    }

    fn scx_bpf_cpu_node(call, cpu: i32) -> i32 {
        call.cpu(cpu).map_or(-1, |cpu| call.core.machine.topology.node_of(CpuId(cpu)) as i32)
    }

    fn scx_bpf_get_possible_cpumask(call) -> u64 {
        call.core.all_cpus.address
    }

    fn scx_bpf_get_online_cpumask(call) -> u64 {
        call.core.all_cpus.address
    }

    fn scx_bpf_put_cpumask(call, _mask: u64) {}

    /// Whether it is its CPU's current task, which a task that loses its CPU still is while it is enqueued again.
    fn scx_bpf_task_running(call, task: u64) -> bool {
        call.task(task).is_some_and(|slot| call.core.current(call.core.entity(slot).cpu) == Some(slot))
    }

    [Intrinsic::Field(offset_of!(GuestTask, cpu) as i16)]
    fn scx_bpf_task_cpu(call, task: u64) -> i32 {
        call.task(task).map_or(0, |slot| call.core.entity(slot).cpu as i32)
    }

    fn scx_bpf_cpu_rq(call, cpu: i32) -> u64 {
        let (base, stride) = call.core.run_queues;
        call.cpu(cpu).map_or(0, |cpu| base + stride * cpu as u64)
    }

    fn scx_bpf_locked_rq(call) -> u64 {
        let (base, stride) = call.core.run_queues;
        base + stride * call.core.this_cpu as u64
    }

    fn scx_bpf_cpu_curr(call, cpu: i32) -> u64 {
        let Some(cpu) = call.cpu(cpu) else { return 0 };
        call.core.current(cpu).map_or(0, |slot| call.core.entity(slot).address)
    }

    [Intrinsic::NowNs]
    fn scx_bpf_now(call) -> u64 {
        call.core.world.now_ns
    }

    /// Counters of rare events, none of which happens here.
    fn scx_bpf_events(call, events: u64, size: u64) {
        call.core.memory.zero(events, size.min(1024) as usize);
    }

    /// Every CPU always runs at full speed.
    fn scx_bpf_cpuperf_cap(call, _cpu: i32) -> u32 {
        SCX_CPUPERF_ONE as u32
    }

    fn scx_bpf_cpuperf_cur(call, _cpu: i32) -> u32 {
        SCX_CPUPERF_ONE as u32
    }

    fn scx_bpf_cpuperf_set(call, _cpu: i32, _level: u32) {}

    /// All tasks are in the root group.
    fn scx_bpf_task_cgroup(call, _task: u64) -> u64 {
        call.core.root_cgroup
    }

    fn bpf_cgroup_from_id(call, id: u64) -> u64 {
        if id == ROOT_CGROUP_ID { call.core.root_cgroup } else { 0 }
    }

    fn bpf_cgroup_ancestor(call, cgroup: u64, level: i32) -> u64 {
        if level == 0 { cgroup } else { 0 }
    }

    fn bpf_cgroup_acquire(call, cgroup: u64) -> u64 {
        cgroup
    }

    fn bpf_cgroup_release(call, _cgroup: u64) {}

    fn bpf_task_acquire(call, task: u64) -> u64 {
        task
    }

    fn bpf_task_release(call, _task: u64) {}

    fn bpf_task_from_pid(call, pid: i32) -> u64 {
        let tasks = &call.core.world.tasks;
        let found = tasks.alive_slots().find(|&slot| FIRST_PID + tasks[slot].id.0 as i32 == pid);
        found.map_or(0, |slot| call.core.entity(slot).address)
    }

    fn scx_bpf_tid_to_task(call, tid: u64) -> u64 {
        let tasks = &call.core.world.tasks;
        let found = tasks.alive_slots().find(|&slot| tasks[slot].id.0 as u64 + 1 == tid);
        found.map_or(0, |slot| call.core.entity(slot).address)
    }
}
