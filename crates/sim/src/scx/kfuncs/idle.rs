//! Idle CPUs: finding, claiming and kicking them.

use super::arguments::{AnyMask, Task};
use super::{Call, EBUSY, EINVAL, ENOENT, EOPNOTSUPP, KERNEL_MASK, NUMA_NO_NODE, kernel_functions};
use crate::scx::consts::*;
use crate::scx::core::Core;
use crate::scx::idle::Wanted;
use crate::scx::layout::GuestSelectAnd;
use crate::scx::mask::Mask;
use schedlab_bpf::{In, Out};
use std::mem::offset_of;

impl Call<'_, '_> {
    /// Takes what it costs to go through a mask for each node, where those are kept by node: little on small machines.
    fn charge_nodes(&mut self) -> Option<()> {
        if !self.core.idle.is_split() {
            return Some(());
        }
        let (nodes, words) = (self.core.machine.topology.nodes, self.core.scratch.words());
        self.check.charge(u64::from(nodes) * u64::from(words) / 8)
    }
}

impl Core {
    /// Whether the idle masks are kept; if not, asking for them is an error of the policy.
    fn idle_is_kept(&mut self) -> bool {
        if !self.keeps_idle {
            self.error("built-in idle tracking is disabled");
        }
        self.keeps_idle
    }

    /// Whether there is one idle mask for the whole machine; if not, asking for it is an error of the policy, in these words.
    fn idle_is_common(&mut self, otherwise: &str) -> bool {
        if self.idle.is_split() {
            self.error(otherwise);
        }
        !self.idle.is_split()
    }

    /// A node whose idle masks are kept, or a negative error number (`validate_node`).
    fn idle_node(&mut self, node: i32) -> Result<u32, i32> {
        if !self.idle.is_split() {
            self.error("per-node idle tracking is disabled");
            return Err(EOPNOTSUPP);
        }
        match node {
            NUMA_NO_NODE => Err(ENOENT),
            node if (0..self.machine.topology.nodes as i32).contains(&node) => Ok(node as u32),
            node => {
                self.error(format!("invalid node {node}"));
                Err(EINVAL)
            }
        }
    }

    /// Asks for a kick. Kicks of a CPU that are still to be carried out become one, as in the kernel, where they are
    /// bits of two masks: one of the CPUs to kick if they idle, one of those to kick in any case.
    fn add_kick(&mut self, cpu: u32, flags: u64) {
        let same = |kick: &&mut (u32, u64)| kick.0 == cpu && (kick.1 ^ flags) & SCX_KICK_IDLE == 0;
        match self.kicks.iter_mut().find(same) {
            Some(kick) => kick.1 |= flags,
            None => self.kicks.push_back((cpu, flags)),
        }
    }

    /// Any CPU of a mask, another one each time.
    pub fn any_cpu(&mut self, mask: &Mask) -> Option<u32> {
        self.any_cpu_of(mask, None)
    }

    /// The same of those that are also in another mask.
    fn any_cpu_of(&mut self, mask: &Mask, within: Option<&Mask>) -> Option<u32> {
        let found = mask.first_from(self.rotor, within).or_else(|| mask.first_from(0, within))?;
        self.rotor = (found + 1) % self.cpus.len();
        Some(found)
    }

    /// An idle CPU for a waking task among some of those on which it may run.
    fn select_among(&mut self, slot: u32, previous: u32, wake_flags: u64, among: &Mask, flags: u64) -> i32 {
        if !self.idle_is_kept() {
            return EBUSY;
        }
        if self.entity(slot).allowed_count == 1 {
            let stays = among.contains(previous) && self.idle.clear(previous);
            return if stays { previous as i32 } else { EBUSY };
        }
        let (allowed, both) = (self.allowed(slot), &self.scratch);
        (0..both.words()).for_each(|i| both.set_word(i, allowed.word(i) & among.word(i)));
        let waker = self.sync_waker(self.this_cpu, wake_flags);
        let found = self.idle.select(previous, &self.scratch, waker, Wanted::of(flags));
        found.map_or(EBUSY, |cpu| cpu as i32)
    }
}

/// What a policy hears that asks for the machine's idle CPUs where masks are kept by node.
const PICKS_BY_NODE: &str = "per-node idle tracking is enabled";
const MASKS_BY_NODE: &str = "SCX_OPS_BUILTIN_IDLE_PER_NODE enabled";

fn number(cpu: Option<u32>) -> i32 {
    cpu.map_or(EBUSY, |c| c as i32)
}

kernel_functions! {
    fn scx_bpf_select_cpu_dfl(call, task: Task, previous: i32, wake_flags: u64, is_idle: Out<u8>) -> i32 {
        is_idle.set(&call.core.memory, 0);
        call.charge_nodes()?;
        let Some(from) = call.cpu(previous) else { return Some(previous) };
        if !call.core.idle_is_kept() {
            return Some(previous);
        }
        let here = call.core.this_cpu;
        match call.core.select_idle(task.0, from, here, wake_flags) {
            Some(cpu) => {
                is_idle.set(&call.core.memory, 1);
                cpu as i32
            }
            None => previous,
        }
    }

    fn scx_bpf_select_cpu_and(call, task: Task, previous: i32, wake_flags: u64, among: AnyMask, flags: u64) -> i32 {
        call.charge_nodes()?;
        let Some(previous) = call.cpu(previous) else { return Some(EINVAL) };
        call.core.select_among(task.0, previous, wake_flags, &among.0, flags)
    }

    /// The form with packed arguments.
    fn __scx_bpf_select_cpu_and(call, task: Task, among: AnyMask, args: In<{ size_of::<GuestSelectAnd>() as u64 }>) -> i32 {
        call.charge_nodes()?;
        let previous = args.read::<i32>(&call.core.memory, offset_of!(GuestSelectAnd, prev_cpu));
        let wake_flags = args.read::<u64>(&call.core.memory, offset_of!(GuestSelectAnd, wake_flags));
        let flags = args.read::<u64>(&call.core.memory, offset_of!(GuestSelectAnd, flags));
        let Some(previous) = call.cpu(previous) else { return Some(EINVAL) };
        call.core.select_among(task.0, previous, wake_flags, &among.0, flags)
    }

    fn scx_bpf_pick_idle_cpu(call, allowed: AnyMask, flags: u64) -> i32 {
        if !call.core.idle_is_common(PICKS_BY_NODE) || !call.core.idle_is_kept() {
            return Some(EBUSY);
        }
        number(call.core.idle.pick(&allowed.0, flags & SCX_PICK_IDLE_CORE != 0))
    }

    fn scx_bpf_pick_idle_cpu_node(call, allowed: AnyMask, node: i32, flags: u64) -> i32 {
        call.charge_nodes()?;
        match call.core.idle_node(node) {
            Ok(node) => number(call.core.idle.pick_by_node(&allowed.0, node, Wanted::of(flags))),
            Err(error) => error,
        }
    }

    fn scx_bpf_pick_any_cpu(call, allowed: AnyMask, flags: u64) -> i32 {
        if !call.core.idle_is_common(PICKS_BY_NODE) {
            return Some(EBUSY);
        }
        let core_only = flags & SCX_PICK_IDLE_CORE != 0;
        let idle = if call.core.keeps_idle { call.core.idle.pick(&allowed.0, core_only) } else { None };
        number(idle.or_else(|| call.core.any_cpu(&allowed.0)))
    }

    fn scx_bpf_pick_any_cpu_node(call, allowed: AnyMask, node: i32, flags: u64) -> i32 {
        call.charge_nodes()?;
        let node = match call.core.idle_node(node) {
            Ok(node) => node,
            Err(error) => return Some(error),
        };
        let (core, wanted) = (&mut *call.core, Wanted::of(flags));
        let idle = core.idle.pick_by_node(&allowed.0, node, wanted);
        let span = core.idle.span_of(node).clone();
        number(idle.or_else(|| core.any_cpu_of(&allowed.0, wanted.in_node.then_some(&span))))
    }

    fn scx_bpf_test_and_clear_cpu_idle(call, cpu: i32) -> bool {
        call.core.idle_is_kept() && call.cpu(cpu).is_some_and(|cpu| call.core.idle.clear(cpu))
    }

    fn scx_bpf_get_idle_cpumask(call) -> u64 {
        _ = call.core.idle_is_common(MASKS_BY_NODE) && call.core.idle_is_kept();
        call.check.acquire(call.core.idle.cpus.address, KERNEL_MASK)?
    }

    fn scx_bpf_get_idle_cpumask_node(call, node: i32) -> u64 {
        let node = call.core.idle_node(node);
        let mask = node.map_or(&call.core.no_cpus, |node| call.core.idle.cpus_of(node));
        call.check.acquire(mask.address, KERNEL_MASK)?
    }

    fn scx_bpf_get_idle_smtmask(call) -> u64 {
        _ = call.core.idle_is_common(MASKS_BY_NODE) && call.core.idle_is_kept();
        call.check.acquire(call.core.idle.whole_cores().address, KERNEL_MASK)?
    }

    fn scx_bpf_get_idle_smtmask_node(call, node: i32) -> u64 {
        let node = call.core.idle_node(node);
        let mask = node.map_or(&call.core.no_cpus, |node| call.core.idle.whole_cores_of(node));
        call.check.acquire(mask.address, KERNEL_MASK)?
    }

    fn scx_bpf_put_idle_cpumask(call, mask: AnyMask) {
        call.check.release(mask.0.address, KERNEL_MASK)?;
    }

    fn scx_bpf_kick_cpu(call, cpu: i32, flags: u64) {
        if let Some(cpu) = call.cpu(cpu) {
            if flags & SCX_KICK_IDLE != 0 && flags & (SCX_KICK_PREEMPT | SCX_KICK_WAIT) != 0 {
                call.core.error("PREEMPT/WAIT cannot be used with SCX_KICK_IDLE");
            }
            call.check.charge_bytes(8 * call.core.kicks.len() as u64)?;
            call.core.add_kick(cpu, flags);
        }
    }
}
