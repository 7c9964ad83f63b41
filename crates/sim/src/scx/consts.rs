//! Constants of the sched_ext interface with their upstream names and values (`include/linux/sched/ext.h`,
//! `kernel/sched/ext/internal.h`). Policies see them by CO-RE as well: [`ENUMS`] is what the type table offers.

macro_rules! enums {
    ($($name:ident { $($value:ident = $number:expr),* $(,)? })*) => {
        $($(#[allow(missing_docs, non_upper_case_globals)] pub const $value: u64 = $number;)*)*
        /// Enumerations by name with their enumerators.
        pub const ENUMS: &[(&str, &[(&str, u64)])] = &[$((stringify!($name), &[$((stringify!($value), $number)),*])),*];
    };
}

enums! {
    cgroup_subsys_id {
        cpuset_cgrp_id = 0,
        cpu_cgrp_id = 1,
        cpuacct_cgrp_id = 2,
        io_cgrp_id = 3,
        devices_cgrp_id = 4,
        freezer_cgrp_id = 5,
        net_cls_cgrp_id = 6,
        perf_event_cgrp_id = 7,
        net_prio_cgrp_id = 8,
        hugetlb_cgrp_id = 9,
        pids_cgrp_id = 10,
        rdma_cgrp_id = 11,
        misc_cgrp_id = 12,
        debug_cgrp_id = 13,
        CGROUP_SUBSYS_COUNT = 14,
    }
    scx_public_consts {
        SCX_OPS_NAME_LEN = 128,
        SCX_SLICE_DFL = 20_000_000,
        SCX_SLICE_BYPASS = 5_000_000,
        SCX_SLICE_INF = u64::MAX,
    }
    scx_consts {
        SCX_DSP_DFL_MAX_BATCH = 32,
        SCX_DSP_MAX_LOOPS = 32,
        SCX_WATCHDOG_MAX_TIMEOUT = 30_000,
        SCX_EXIT_BT_LEN = 64,
        SCX_EXIT_MSG_LEN = 1024,
        SCX_EXIT_DUMP_DFL_LEN = 32_768,
        SCX_CPUPERF_ONE = 1024,
    }
    scx_dsq_id_flags {
        SCX_DSQ_FLAG_BUILTIN = 1 << 63,
        SCX_DSQ_FLAG_LOCAL_ON = 1 << 62,
        SCX_DSQ_INVALID = 1 << 63,
        SCX_DSQ_GLOBAL = 1 << 63 | 1,
        SCX_DSQ_LOCAL = 1 << 63 | 2,
        SCX_DSQ_BYPASS = 1 << 63 | 3,
        SCX_DSQ_LOCAL_ON = 3 << 62,
        SCX_DSQ_LOCAL_CPU_MASK = 0xffff_ffff,
    }
    scx_enq_flags {
        SCX_ENQ_WAKEUP = 1,
        SCX_ENQ_HEAD = 1 << 16,
        SCX_ENQ_CPU_SELECTED = 1 << 20,
        SCX_ENQ_PREEMPT = 1 << 32,
        SCX_ENQ_IMMED = 1 << 33,
        SCX_ENQ_REENQ = 1 << 40,
        SCX_ENQ_LAST = 1 << 41,
        SCX_ENQ_CLEAR_OPSS = 1 << 56,
        SCX_ENQ_DSQ_PRIQ = 1 << 57,
    }
    scx_deq_flags {
        SCX_DEQ_SLEEP = 1,
        SCX_DEQ_CORE_SCHED_EXEC = 1 << 32,
        SCX_DEQ_SCHED_CHANGE = 1 << 33,
    }
    scx_reenq_flags { SCX_REENQ_ANY = 1 }
    scx_kick_flags {
        SCX_KICK_IDLE = 1,
        SCX_KICK_PREEMPT = 2,
        SCX_KICK_WAIT = 4,
    }
    scx_wake_flags {
        SCX_WAKE_FORK = 4,
        SCX_WAKE_TTWU = 8,
        SCX_WAKE_SYNC = 16,
    }
    scx_ops_flags {
        SCX_OPS_KEEP_BUILTIN_IDLE = 1,
        SCX_OPS_ENQ_LAST = 2,
        SCX_OPS_ENQ_EXITING = 4,
        SCX_OPS_SWITCH_PARTIAL = 8,
        SCX_OPS_ENQ_MIGRATION_DISABLED = 16,
        SCX_OPS_ALLOW_QUEUED_WAKEUP = 32,
        SCX_OPS_BUILTIN_IDLE_PER_NODE = 64,
        SCX_OPS_ALWAYS_ENQ_IMMED = 128,
        SCX_OPS_TID_TO_TASK = 256,
    }
    scx_ent_flags {
        SCX_TASK_QUEUED = 1,
        SCX_TASK_RESET_RUNNABLE_AT = 4,
        SCX_TASK_DEQD_FOR_SLEEP = 8,
        SCX_TASK_IMMED = 32,
        SCX_TASK_STATE_SHIFT = 8,
        SCX_TASK_STATE_BITS = 3,
        SCX_TASK_STATE_MASK = 0x700,
        SCX_TASK_INIT = 0x200,
        SCX_TASK_READY = 0x300,
        SCX_TASK_ENABLED = 0x400,
        SCX_TASK_REENQ_REASON_SHIFT = 12,
        SCX_TASK_REENQ_REASON_BITS = 3,
        SCX_TASK_REENQ_REASON_MASK = 0x7000,
        SCX_TASK_REENQ_NONE = 0,
        SCX_TASK_REENQ_KFUNC = 0x1000,
        SCX_TASK_REENQ_IMMED = 0x2000,
        SCX_TASK_REENQ_PREEMPTED = 0x3000,
    }
    scx_ent_dsq_flags { SCX_TASK_DSQ_ON_PRIQ = 1 }
    scx_exit_kind {
        SCX_EXIT_NONE = 0,
        SCX_EXIT_DONE = 1,
        SCX_EXIT_UNREG = 64,
        SCX_EXIT_UNREG_BPF = 65,
        SCX_EXIT_UNREG_KERN = 66,
        SCX_EXIT_SYSRQ = 67,
        SCX_EXIT_ERROR = 1024,
        SCX_EXIT_ERROR_BPF = 1025,
        SCX_EXIT_ERROR_STALL = 1026,
    }
    scx_exit_code {
        SCX_ECODE_RSN_HOTPLUG = 1 << 32,
        SCX_ECODE_ACT_RESTART = 1 << 48,
    }
    scx_pick_idle_cpu_flags {
        SCX_PICK_IDLE_CORE = 1,
        SCX_PICK_IDLE_IN_NODE = 2,
    }
    scx_cpu_preempt_reason {
        SCX_CPU_PREEMPT_RT = 0,
        SCX_CPU_PREEMPT_DL = 1,
        SCX_CPU_PREEMPT_STOP = 2,
        SCX_CPU_PREEMPT_UNKNOWN = 3,
    }
    scx_dsq_iter_flags { SCX_DSQ_ITER_REV = 1 << 16 }
}

/// Flags that no policy may pass (`__SCX_ENQ_INTERNAL_MASK`).
pub const SCX_ENQ_INTERNAL_MASK: u64 = 0xff << 56;
/// Flags that are looked at when a policy passes them.
pub const SCX_ENQ_VETTED: u64 = SCX_ENQ_INTERNAL_MASK | SCX_ENQ_IMMED;
