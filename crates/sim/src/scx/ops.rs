//! The operations of a policy: what the machine calls, and when.
//!
//! | operation | when it is called |
//! |---|---|
//! | `init`, `exit` | once, before the first task, and when the policy has to go or all tasks have left it at the end |
//! | `init_task` | a task of any class is created |
//! | `enable`, `set_weight` | then, and when a real-time task becomes normal, before it is runnable; `set_weight` for each new weight |
//! | `select_cpu` | a task wakes and may run on several CPUs; may put it straight into a queue |
//! | `runnable` | a task begins to want a CPU |
//! | `enqueue` | a runnable task is the policy's to place: after waking, or when it lost its CPU with no slice left |
//! | `dequeue` | a task leaves the policy's own structures or queues, or something about it changes |
//! | `dispatch` | a CPU's local queue is empty and the running task cannot continue |
//! | `running`, `stopping` | a task gets and leaves a CPU |
//! | `tick` | at each timer tick, for the running task |
//! | `yield` | the running task asked to be put behind others |
//! | `quiescent` | a task no longer wants a CPU |
//! | `update_idle` | a CPU becomes idle or ceases to be |
//! | `set_cpumask` | the CPUs on which a task may run change, and after `enable` when a real-time task becomes normal |
//! | `cpu_release`, `cpu_acquire` | a higher class takes a CPU from a task of the policy, and gives it back |
//! | `cpu_offline`, `cpu_online` | a CPU goes offline and comes back. A policy without them is ended then |
//! | `disable` | a task becomes real-time, has ended, or leaves at the end |
//! | `exit_task` | a task of any class has ended, or leaves at the end |

use super::consts::*;
use super::core::Core;
use schedlab_bpf::{LoadError, Member, ProgramId, StructOps, Vm};

macro_rules! operations {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// An operation of `struct sched_ext_ops`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Op { $(#[doc = concat!("`ops.", $name, "`")] $variant),* }

        impl Op {
            /// All operations that the machine calls.
            pub const ALL: &[Op] = &[$(Op::$variant),*];

            /// The member of `struct sched_ext_ops`.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$variant => $name),* }
            }
        }
    };
}

operations! {
    Init "init", Exit "exit", InitTask "init_task", ExitTask "exit_task", Enable "enable", Disable "disable",
    SetWeight "set_weight", SetCpumask "set_cpumask", SelectCpu "select_cpu", Runnable "runnable", Enqueue "enqueue",
    Dequeue "dequeue", Dispatch "dispatch", Running "running", Stopping "stopping", Quiescent "quiescent",
    Tick "tick", Yield "yield", UpdateIdle "update_idle", CpuAcquire "cpu_acquire", CpuRelease "cpu_release",
    CpuOnline "cpu_online", CpuOffline "cpu_offline",
    CgroupInit "cgroup_init", CgroupExit "cgroup_exit", CgroupPrepMove "cgroup_prep_move",
    CgroupMove "cgroup_move", CgroupSetWeight "cgroup_set_weight", CgroupSetBandwidth "cgroup_set_bandwidth",
    CgroupSetIdle "cgroup_set_idle", Timer "bpf_timer",
}

/// Operations that a policy may have and that nothing in a simulated machine ever asks for: moves
/// between control groups that are called off, core scheduling, schedulers of control groups, dumps.
pub const NEVER_CALLED: &[&str] = &[
    "core_sched_before",
    "dump",
    "dump_cpu",
    "dump_task",
    "cgroup_cancel_move",
    "sub_attach",
    "sub_detach",
    "sub_caps_updated",
    "sub_ecaps_updated",
    "sub_cid_sched_updated",
    "sub_child_ecaps_updated",
];

/// The most dispatches of one `ops.dispatch` that a policy may ask for: each takes room.
const MAX_BATCH: u64 = 1 << 20;

/// The table of operations that is simulated; newer kernels have a second one, for CPUs numbered by their place.
const TABLE: &str = "sched_ext_ops";

/// What a table of operations has that is not simulated: without it the policy would be another one.
pub fn not_simulated(ops: &StructOps) -> Vec<String> {
    let plain = ops.type_name.split("___").next().unwrap_or_default();
    if plain != TABLE {
        return vec![format!("struct {plain}")];
    }
    let flags = flags_not_simulated(ops.scalar("flags")).map(|what| format!("flag {what}"));
    let is_known = |name: &str| Op::ALL.iter().any(|op| op.name() == name) || NEVER_CALLED.contains(&name);
    let programs = ops.members.iter().filter(|(_, member)| matches!(member, Member::Program(_)));
    let programs = programs.filter(|(name, _)| !is_known(name)).map(|(name, _)| format!("operation {name}"));
    programs.chain(flags).collect()
}

/// What those of these flags mean that are not simulated.
pub fn flags_not_simulated(flags: u64) -> impl Iterator<Item = &'static str> {
    FLAGS_NOT_SIMULATED.into_iter().filter(move |(bit, _)| flags & bit != 0).map(|(_, what)| what)
}

/// Flags of a table that are not simulated.
const FLAGS_NOT_SIMULATED: [(u64, &str); 1] = [(
    SCX_OPS_SWITCH_PARTIAL,
    "SCX_OPS_SWITCH_PARTIAL, with which a policy schedules tasks of SCHED_EXT only, and a scenario has none",
)];

/// The bits that `ops.flags` may have.
const ALL_FLAGS: u64 = SCX_OPS_KEEP_BUILTIN_IDLE
    | SCX_OPS_ENQ_LAST
    | SCX_OPS_ENQ_EXITING
    | SCX_OPS_SWITCH_PARTIAL
    | SCX_OPS_ENQ_MIGRATION_DISABLED
    | SCX_OPS_ALLOW_QUEUED_WAKEUP
    | SCX_OPS_BUILTIN_IDLE_PER_NODE
    | SCX_OPS_ALWAYS_ENQ_IMMED
    | SCX_OPS_TID_TO_TASK;

/// Why a kernel does not take these flags, if it does not.
pub fn unknown_flags(flags: u64) -> Option<String> {
    let unknown = flags & !ALL_FLAGS;
    (unknown != 0).then(|| format!("ops.flags has unknown bits, {unknown:#x} (EINVAL)"))
}

/// Why a kernel does not take a table (`bpf_scx_init_member`), if it does not.
pub fn refused(ops: &StructOps) -> Option<String> {
    let (timeout_ms, batch) = (ops.scalar("timeout_ms"), ops.scalar("dispatch_max_batch"));
    let name = ops.text("name").unwrap_or_default();
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    if let Some(unknown) = unknown_flags(ops.scalar("flags")) {
        Some(unknown)
    } else if name.is_empty() {
        Some("it has no ops.name (EINVAL)".to_string())
    } else if name.len() as u64 >= SCX_OPS_NAME_LEN {
        Some(format!("ops.name is longer than {} characters (EINVAL)", SCX_OPS_NAME_LEN - 1))
    } else if !name.bytes().all(is_usual) {
        Some(format!(
            "ops.name \"{}\" has other characters than letters, digits, _ and . (EINVAL)",
            name.escape_debug()
        ))
    } else if timeout_ms > SCX_WATCHDOG_MAX_TIMEOUT {
        Some(format!("ops.timeout_ms is {timeout_ms}, more than {SCX_WATCHDOG_MAX_TIMEOUT} (E2BIG)"))
    } else if batch > i32::MAX as u64 {
        Some(format!("ops.dispatch_max_batch is {batch}, more than {} (E2BIG)", i32::MAX))
    } else {
        None
    }
}

/// Operations that may sleep (`bpf_scx_check_member` in `kernel/sched/ext.c`): no run queue is locked there.
pub const SLEEPABLE: &[Op] = &[
    Op::Init,
    Op::Exit,
    Op::InitTask,
    Op::CgroupInit,
    Op::CgroupExit,
    Op::CgroupPrepMove,
    Op::CgroupSetBandwidth,
    Op::CpuOnline,
    Op::CpuOffline,
];

/// Whether the programs of a section may sleep, as libbpf reads its name.
fn is_sleepable(section: &str) -> bool {
    section.split('/').next() == Some("struct_ops.s")
}

/// The operations of a loaded policy.
pub struct Operations {
    programs: [Option<ProgramId>; Op::ALL.len()],
    /// Those whose programs may sleep, as bits by their numbers.
    pub sleepable: u32,
    /// `ops.flags`.
    pub flags: u64,
    /// `ops.timeout_ms` as nanoseconds, if the policy sets it.
    pub timeout_ns: Option<u64>,
    /// `ops.dispatch_max_batch`.
    pub max_batch: usize,
    /// `ops.name`.
    pub name: String,
}

impl Operations {
    /// Looks the operations of an object up in the program made of it.
    ///
    /// # Errors
    ///
    /// It asks for more than there is.
    pub fn new(ops: &StructOps, vm: &Vm<Core>) -> Result<Operations, LoadError> {
        if let Some(why) = refused(ops) {
            return Err(LoadError::Refused(why));
        }
        let mut programs = [None; Op::ALL.len()];
        for op in Op::ALL {
            programs[*op as usize] = ops.operation(op.name()).and_then(|name| vm.program(name));
        }
        let mut sleepable = 0;
        for (op, program) in Op::ALL.iter().filter_map(|op| Some((*op, programs[*op as usize]?))) {
            let section = &vm.program.entries[program.index()].section;
            if !is_sleepable(section) {
                continue;
            }
            sleepable |= 1 << op as u8;
            if !SLEEPABLE.contains(&op) {
                let what = format!("operation {} that may sleep (section {section})", op.name());
                return Err(LoadError::Missing(vec![what]));
            }
        }
        let or_default = |name: &str, default: u64| Some(ops.scalar(name)).filter(|&n| n != 0).unwrap_or(default);
        let max_batch = or_default("dispatch_max_batch", SCX_DSP_DFL_MAX_BATCH);
        if max_batch > MAX_BATCH {
            let what = format!("dispatch_max_batch of {max_batch}, more than {MAX_BATCH}");
            return Err(LoadError::Missing(vec![what]));
        }
        Ok(Operations {
            programs,
            sleepable,
            flags: ops.scalar("flags"),
            timeout_ns: Some(ops.scalar("timeout_ms") * 1_000_000).filter(|&ns| ns != 0),
            max_batch: max_batch as usize,
            name: ops.text("name").unwrap_or_default().to_string(),
        })
    }

    /// Leaves out the operations that are not there after all, and sets the flags.
    pub fn restrict(&mut self, has: impl Fn(&str) -> bool, flags: u64) {
        for op in Op::ALL.iter().filter(|op| !has(op.name())) {
            self.programs[*op as usize] = None;
        }
        self.flags = flags;
    }

    /// Why a kernel ends a policy with this table once it has called `ops.init` (`validate_ops`), if it does.
    pub fn contradiction(&self) -> Option<&'static str> {
        let keeps_idle = !self.has(Op::UpdateIdle) || self.flag(SCX_OPS_KEEP_BUILTIN_IDLE);
        if self.flag(SCX_OPS_ENQ_LAST) && !self.has(Op::Enqueue) {
            Some("SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented")
        } else if self.flag(SCX_OPS_BUILTIN_IDLE_PER_NODE) && !keeps_idle {
            Some("SCX_OPS_BUILTIN_IDLE_PER_NODE requires CPU idle selection enabled")
        } else {
            None
        }
    }

    /// The program of an operation, if the policy has it.
    #[inline]
    pub fn program(&self, op: Op) -> Option<ProgramId> {
        self.programs[op as usize]
    }

    /// Whether the policy has the operation.
    #[inline]
    pub fn has(&self, op: Op) -> bool {
        self.programs[op as usize].is_some()
    }

    /// Whether `ops.flags` has this bit.
    #[inline]
    pub fn flag(&self, bit: u64) -> bool {
        self.flags & bit != 0
    }
}
