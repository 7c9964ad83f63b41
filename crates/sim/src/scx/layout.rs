//! The kernel types that policies look into, in a layout of our own. CO-RE finds fields by name, so only names and
//! meanings are the kernel's. What a simulated task does not have (memory maps, files, signals) has no field here: a
//! policy that needs one gets an error that names it.

use super::cgroups::ANCESTORS;
use super::consts::CGROUP_SUBSYS_COUNT;
use super::mask::MASK_BYTES;
use schedlab_bpf::{Structure, Type, TypeTable};
use std::mem::offset_of;

/// A pointer in guest memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Pointer(pub u64);

/// The pointer to nothing.
pub const NULL: Pointer = Pointer(0);

/// A truth value that a policy may write, so that it may be any byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Truth(pub u8);

/// A type that the type table can describe.
trait GuestType {
    fn describe() -> Type;
}

macro_rules! scalars {
    ($($rust:ty => $kind:ident),*) => {$(
        impl GuestType for $rust {
            fn describe() -> Type {
                Type::$kind
            }
        }
    )*};
}

scalars!(u8 => U8, u32 => U32, u64 => U64, i32 => I32, i64 => I64, bool => Bool, Truth => Bool, Pointer => Pointer);

impl<T: GuestType, const N: usize> GuestType for [T; N] {
    fn describe() -> Type {
        Type::array(T::describe(), N as u32)
    }
}

macro_rules! enumerations {
    ($($(#[$doc:meta])* $rust:ident $kernel:literal),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(transparent)]
        pub struct $rust(pub u32);

        impl GuestType for $rust {
            fn describe() -> Type {
                Type::Enum($kernel)
            }
        }
    )*};
}

enumerations! {
    /// `SCX_EXIT_*`.
    ExitKind "scx_exit_kind",
    /// `SCX_CPU_PREEMPT_*`.
    PreemptReason "scx_cpu_preempt_reason"
}

/// The CPUs of a task in its own structure: as many as one word holds. Kernel functions know the others too, by the address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct OwnMask(pub u64);

impl GuestType for OwnMask {
    fn describe() -> Type {
        Type::Struct("cpumask")
    }
}

macro_rules! structures {
    ($($(#[$doc:meta])* $rust:ident $kernel:literal { $($field:ident: $type:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Debug)]
            #[allow(missing_docs, non_snake_case)]
            pub struct $rust { $(pub $field: $type),* }

            impl GuestType for $rust {
                fn describe() -> Type {
                    Type::Struct($kernel)
                }
            }
        )*

        fn add_structures(table: &mut TypeTable) {
            $({
                let structure: &mut Structure = table.structure($kernel, size_of::<$rust>() as u32);
                $(structure.field(stringify!($field).trim_start_matches("r#"), offset_of!($rust, $field) as u32, <$type>::describe());)*
                let _ = structure;
            })*
        }
    };
}

structures! {
    /// Load weight of a task, as `kernel/sched/core.c` sets it.
    GuestLoadWeight "load_weight" { weight: u64, inv_weight: u32 }
    /// Decayed averages; zero here, they belong to another scheduling class.
    GuestAverage "sched_avg" { util_avg: u64, runnable_avg: u64, load_avg: u64 }
    /// The part of a task that the fair class shares with the other classes: run time.
    GuestEntity "sched_entity" {
        load: GuestLoadWeight,
        on_rq: u32,
        exec_start: u64,
        sum_exec_runtime: u64,
        prev_sum_exec_runtime: u64,
        vruntime: u64,
        custom_slice: u8,
        slice: u64,
        nr_migrations: u64,
        avg: GuestAverage,
    }
    /// The sched_ext part of a task.
    GuestScx "sched_ext_entity" {
        flags: u32,
        weight: u32,
        sticky_cpu: i32,
        holding_cpu: i32,
        selected_cpu: i32,
        runnable_at: u64,
        core_sched_at: u64,
        ddsp_dsq_id: u64,
        ddsp_enq_flags: u64,
        slice: u64,
        dsq_vtime: u64,
        disallow: Truth,
        tid: u64,
    }
    /// What assembly code knows of a task.
    GuestThreadInfo "thread_info" { flags: u64, cpu: u32 }
    /// A task.
    GuestTask "task_struct" {
        scx: GuestScx,
        cpus_ptr: Pointer,
        nr_cpus_allowed: i32,
        pid: i32,
        tgid: i32,
        flags: u32,
        prio: i32,
        static_prio: i32,
        normal_prio: i32,
        rt_priority: u32,
        policy: u32,
        __state: u32,
        on_cpu: i32,
        on_rq: i32,
        wake_cpu: i32,
        recent_used_cpu: i32,
        cpu: u32,
        migration_disabled: u32,
        wakee_flips: u32,
        exit_state: i32,
        exit_code: i32,
        in_iowait: u32,
        last_wakee: Pointer,
        real_parent: Pointer,
        parent: Pointer,
        group_leader: Pointer,
        mm: Pointer,
        cgroups: Pointer,
        sched_task_group: Pointer,
        nvcsw: u64,
        nivcsw: u64,
        utime: u64,
        stime: u64,
        start_time: u64,
        start_boottime: u64,
        thread_info: GuestThreadInfo,
        se: GuestEntity,
        comm: [u8; 16],
        mempolicy: Pointer,
        numa_preferred_nid: i32,
        sched_info: GuestSchedInfo,
        cpus_mask: OwnMask,
    }
    /// How often a task got a CPU, how long it has waited for one, and since when it waits.
    GuestSchedInfo "sched_info" { pcount: u64, run_delay: u64, last_queued: u64 }
    /// A policy for memory, of which no task has one.
    GuestMempolicy "mempolicy" { mode: u32, home_node: i32, nodes: u64 }
    /// What a section of the C library of schedulers keeps: whether it reads under RCU.
    GuestRcuGuard "class_rcu" { lock: Pointer }
    /// An address space: only its identity matters.
    GuestMm "mm_struct" { owner: Pointer, map_count: i32 }
    /// A run queue.
    GuestRq "rq" { curr: Pointer, idle: Pointer, nr_running: u32, cpu: i32, clock: u64, clock_task: u64, clock_pelt: u64, lost_idle_time: u64, scx: GuestRqScx }
    /// Its sched_ext part.
    GuestRqScx "scx_rq" { nr_running: u32, flags: u32, cpu_released: Truth, local_dsq: GuestDsq }
    /// A CPU's local dispatch queue as a policy may look at it.
    GuestDsq "scx_dispatch_q" { id: u64, nr: u32 }
    /// A node of the control group file system.
    GuestKernfs "kernfs_node" { id: u64, name: Pointer, __parent: Pointer }
    /// A control group's state for one controller.
    GuestCss "cgroup_subsys_state" { cgroup: Pointer, parent: Pointer, id: i32, serial_nr: u64 }
    /// A control group.
    GuestCgroup "cgroup" {
        kn: Pointer,
        level: i32,
        self_: GuestCss,
        ancestors: [Pointer; ANCESTORS],
        subsys: [Pointer; CGROUP_SUBSYS_COUNT as usize],
    }
    /// A set of control groups.
    GuestCssSet "css_set" { dfl_cgrp: Pointer }
    /// A task group of the CPU controller.
    GuestTaskGroup "task_group" { css: GuestCss }
    /// What the cpuset controller keeps of a control group.
    GuestCpuset "cpuset" { css: GuestCss, cpus_allowed: Pointer, effective_cpus: Pointer }
    /// Why a scheduler ended.
    GuestExitInfo "scx_exit_info" {
        kind: ExitKind,
        exit_cpu: i32,
        exit_code: i64,
        flags: u64,
        reason: Pointer,
        bt: Pointer,
        bt_len: u32,
        msg: Pointer,
        dump: Pointer,
    }
    /// Arguments of `ops.init_task`.
    GuestInitTask "scx_init_task_args" { fork: bool, cgroup: Pointer }
    /// Arguments of `ops.exit_task`.
    GuestExitTask "scx_exit_task_args" { cancelled: bool }
    /// Arguments of `ops.cpu_acquire`: none.
    GuestCpuAcquire "scx_cpu_acquire_args" { }
    /// Arguments of `ops.cpu_release`.
    GuestCpuRelease "scx_cpu_release_args" { reason: PreemptReason, task: Pointer }
    /// Arguments of `ops.cgroup_init`.
    GuestCgroupInit "scx_cgroup_init_args" { weight: u32, bw_period_us: u64, bw_quota_us: u64, bw_burst_us: u64, sched_idle: bool }
    /// What the kernel counts.
    GuestEvents "scx_event_stats" {
        SCX_EV_SELECT_CPU_FALLBACK: i64,
        SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE: i64,
        SCX_EV_DISPATCH_KEEP_LAST: i64,
        SCX_EV_ENQ_SKIP_EXITING: i64,
        SCX_EV_ENQ_SKIP_MIGRATION_DISABLED: i64,
        SCX_EV_REENQ_IMMED: i64,
        SCX_EV_REENQ_LOCAL_REPEAT: i64,
        SCX_EV_REFILL_SLICE_DFL: i64,
        SCX_EV_BYPASS_DURATION: i64,
        SCX_EV_BYPASS_DISPATCH: i64,
        SCX_EV_BYPASS_ACTIVATE: i64,
        SCX_EV_INSERT_NOT_OWNED: i64,
        SCX_EV_SUB_BYPASS_DISPATCH: i64,
    }
    /// Arguments of the dump callbacks.
    GuestDump "scx_dump_ctx" { kind: ExitKind, exit_code: i64, reason: Pointer, at_ns: u64, at_jiffies: u64 }
    /// Packed arguments of `__scx_bpf_dsq_insert_vtime`.
    GuestInsertVtime "scx_bpf_dsq_insert_vtime_args" { dsq_id: u64, slice: u64, vtime: u64, enq_flags: u64 }
    /// Packed arguments of `__scx_bpf_select_cpu_and`.
    GuestSelectAnd "scx_bpf_select_cpu_and_args" { prev_cpu: i32, wake_flags: u64, flags: u64 }
}

/// Bytes from one task to the next.
pub const TASK_STRIDE: u32 = (size_of::<GuestTask>() as u32).next_multiple_of(64);

/// What a policy may write of a task: what the kernel's verifier lets it (`bpf_scx_btf_struct_access`).
pub const TASK_WRITABLE: &[std::ops::Range<u32>] = &[
    scx_field(offset_of!(GuestScx, slice), 8),
    scx_field(offset_of!(GuestScx, dsq_vtime), 8),
    scx_field(offset_of!(GuestScx, disallow), 1),
];

const fn scx_field(offset: usize, len: usize) -> std::ops::Range<u32> {
    let start = offset_of!(GuestTask, scx) + offset;
    start as u32..(start + len) as u32
}

/// All types and enumerations that a simulated kernel offers.
pub fn type_table() -> TypeTable {
    let mut table = TypeTable::new();
    add_structures(&mut table);
    // C calls these members by words that Rust keeps for itself, or nests them in anonymous unions.
    table.structure("cgroup", size_of::<GuestCgroup>() as u32).field(
        "self",
        offset_of!(GuestCgroup, self_) as u32,
        Type::Struct("cgroup_subsys_state"),
    );
    table.structure("cpumask", MASK_BYTES).field("bits", 0, Type::array(Type::U64, MASK_BYTES / 8));
    table.structure("bpf_cpumask", MASK_BYTES).field("cpumask", 0, Type::Struct("cpumask"));
    table.structure("bpf_iter_css", 24).field("__opaque", 0, Type::array(Type::U64, 3));
    table.structure("bpf_iter_scx_dsq", 48).field("__opaque", 0, Type::array(Type::U64, 6));
    table.structure("sched_ext_ops", 512);
    table.alias("cpumask_t", Type::Struct("cpumask"));
    table.alias("class_rcu_t", Type::Struct("class_rcu"));
    for (name, values) in super::consts::ENUMS {
        let wide = values.iter().any(|v| v.1 > u32::MAX as u64);
        let enumeration = table.enumeration(name, if wide { 8 } else { 4 });
        values.iter().for_each(|(value, number)| _ = enumeration.value(value, *number));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_where_fields_are() {
        let table = type_table();
        assert_eq!(table.offset("task_struct", "pid"), Some(offset_of!(GuestTask, pid) as u32));
        assert_eq!(table.offset("sched_ext_entity", "slice"), Some(offset_of!(GuestScx, slice) as u32));
        assert_eq!(table.offset("cgroup", "self"), Some(offset_of!(GuestCgroup, self_) as u32));
        assert_eq!(table.enumerator("SCX_DSQ_LOCAL_ON"), Some(0xc000_0000_0000_0000));
        // A million tasks must fit.
        const { assert!(TASK_STRIDE <= 512) };
    }
}
