//! How a policy comes and goes: what it is asked before the first task, and what it hears when all tasks leave it
//! (`scx_root_enable_workfn`, `scx_root_disable`).

use super::consts::*;
use super::core::Core;
use super::cpu::NONE;
use super::entity::State;
use super::layout::{ExitKind, GuestExitInfo, GuestExitTask, NULL, Pointer};
use super::ops::Op;
use super::policy::{SCRATCH_BYTES, Sim};

/// The smallest error number (`-MAX_ERRNO`).
const LEAST_ERROR: i32 = -4095;

impl Sim {
    /// `ops.init`, and `ops.cgroup_init` for each control group.
    pub fn call_init(&mut self) {
        let result = self.call(Op::Init, 0, NONE, []) as i32;
        self.must_succeed(Op::Init, result, |_| String::new());
        if let Some(text) = self.ops.contradiction().filter(|_| !self.has_failed()) {
            self.core.error(text);
        }
        self.init_control_groups();
    }

    /// Ends the policy unless an operation gives 0 (`ops_sanitize_err`); `what` says for what it was called.
    pub fn must_succeed(&mut self, op: Op, result: i32, what: impl FnOnce(&Core) -> String) {
        if result == 0 || self.has_failed() {
            return;
        }
        let (name, what) = (op.name(), what(&self.core));
        self.core.error(match result {
            LEAST_ERROR..0 => format!("ops.{name}() failed ({result}){what}"),
            _ => format!("ops.{name}() returned an invalid errno {result}{what}"),
        });
    }

    /// All tasks leave the policy, then it hears the reason. One that has failed only hears that.
    pub fn dismiss(&mut self) {
        let goes_in_order = !self.has_failed();
        self.core.is_leaving = goes_in_order;
        let tasks = if goes_in_order { self.tasks_by_age() } else { Vec::new() };
        tasks.iter().for_each(|&slot| self.bypass(slot));
        self.exit_control_groups();
        tasks.iter().for_each(|&slot| self.let_go(slot));
        self.call_exit();
    }

    fn tasks_by_age(&self) -> Vec<u32> {
        let shown = |slot: &u32| self.core.entity(*slot).is_shown;
        let mut tasks: Vec<u32> = self.core.world.tasks.alive_slots().filter(shown).collect();
        tasks.sort_by_key(|&slot| self.core.entity(slot).id);
        tasks
    }

    /// A task that waits leaves its queue for the kernel's own (`scx_bypass`).
    fn bypass(&mut self, slot: u32) {
        let entity = self.core.entity(slot);
        let cpu = entity.cpu;
        if entity.state == State::Runnable && !entity.is_realtime() {
            self.dequeue_task(slot, SCX_DEQ_SCHED_CHANGE);
            self.begin_runnable(slot, cpu, 0);
        }
    }

    /// A task goes back to the class that it had before the policy came.
    fn let_go(&mut self, slot: u32) {
        let entity = self.core.entity(slot);
        let (cpu, address, state) = (entity.cpu, entity.address, entity.state);
        if !entity.is_realtime() {
            self.leave_policy(slot, state);
        }
        self.write_scratch(GuestExitTask { cancelled: false });
        self.call(Op::ExitTask, cpu, slot, [address, self.scratch]);
    }

    /// `ops.exit`, with the reason if there is one.
    fn call_exit(&mut self) {
        let exit = self.core.exit.as_ref();
        let (kind, code) = exit.map_or((SCX_EXIT_UNREG, 0), |e| (e.kind, e.code));
        let message = exit.map_or(String::new(), |e| e.failure.message.clone());
        // The texts go behind the structure.
        let reason_at = self.scratch + size_of::<GuestExitInfo>() as u64;
        let reason = reason(kind);
        let text_at = reason_at + reason.len() as u64 + 1;
        let room = (self.scratch + SCRATCH_BYTES - text_at) as usize - 1;
        let end = message.floor_char_boundary(message.len().min(room));
        self.core.memory.zero(reason_at, SCRATCH_BYTES as usize - size_of::<GuestExitInfo>());
        self.core.memory.write_bytes(reason_at, reason.as_bytes());
        self.core.memory.write_bytes(text_at, &message.as_bytes()[..end]);
        self.write_scratch(GuestExitInfo {
            kind: ExitKind(kind as u32),
            exit_cpu: self.core.this_cpu as i32,
            exit_code: code,
            flags: 0,
            reason: Pointer(reason_at),
            bt: NULL,
            bt_len: 0,
            msg: Pointer(text_at),
            dump: NULL,
        });
        self.call(Op::Exit, 0, NONE, [self.scratch]);
    }
}

/// The kernel's words for a kind of end (`scx_exit_reason`).
fn reason(kind: u64) -> &'static str {
    match kind {
        SCX_EXIT_UNREG => "unregistered from user space",
        SCX_EXIT_UNREG_BPF => "unregistered from BPF",
        SCX_EXIT_ERROR => "runtime error",
        SCX_EXIT_ERROR_BPF => "scx_bpf_error",
        SCX_EXIT_ERROR_STALL => "runnable task stall",
        _ => "<UNKNOWN>",
    }
}
