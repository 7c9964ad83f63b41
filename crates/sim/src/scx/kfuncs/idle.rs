//! Idle CPUs: finding, claiming and kicking them.

use super::{EBUSY, kernel_functions};
use crate::scx::consts::*;
use crate::scx::core::Core;
use crate::scx::layout::GuestSelectAnd;
use crate::scx::mask::Mask;
use std::mem::offset_of;

impl Core {
    /// The mask that a policy points to.
    pub fn mask_at(&self, address: u64) -> Mask {
        Mask::at(&self.memory, address, self.cpus.len() as u32)
    }

    /// Whether the idle masks are kept; if not, asking for them is an error of the policy.
    fn idle_is_kept(&mut self) -> bool {
        if !self.keeps_idle {
            self.error("built-in idle tracking is off: ops.update_idle without SCX_OPS_KEEP_BUILTIN_IDLE");
        }
        self.keeps_idle
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
        let from = self.rotor;
        let found = mask.iter().find(|&c| c >= from).or_else(|| mask.iter().next())?;
        self.rotor = (found + 1) % self.cpus.len() as u32;
        Some(found)
    }

    /// An idle CPU for a waking task among some of those on which it may run.
    fn select_among(&mut self, slot: u32, previous: i32, wake_flags: u64, among: u64, flags: u64) -> i32 {
        if !self.idle_is_kept() {
            return EBUSY;
        }
        let both = match self.masks.allocate() {
            Ok(address) => self.mask_at(address),
            Err(_) => return EBUSY,
        };
        let among = self.mask_at(among);
        self.allowed(slot).iter().filter(|&c| among.contains(c)).for_each(|c| both.insert(c));
        let here = self.this_cpu;
        let waker = self.sync_waker(here, wake_flags);
        let found = self.idle.select(previous.max(0) as u32, &both, waker, flags & SCX_PICK_IDLE_CORE != 0);
        self.masks.release(both.address);
        found.map_or(EBUSY, |cpu| cpu as i32)
    }
}

fn number(cpu: Option<u32>) -> i32 {
    cpu.map_or(EBUSY, |c| c as i32)
}

kernel_functions! {
    fn scx_bpf_select_cpu_dfl(call, task: u64, previous: i32, wake_flags: u64, is_idle: u64) -> i32 {
        call.core.memory.write(is_idle, 0u8);
        let Some(slot) = call.task(task) else { return previous };
        if !call.core.idle_is_kept() {
            return previous;
        }
        let here = call.core.this_cpu;
        match call.core.select_idle(slot, previous.max(0) as u32, here, wake_flags) {
            Some(cpu) => {
                call.core.memory.write(is_idle, 1u8);
                cpu as i32
            }
            None => previous,
        }
    }

    fn scx_bpf_select_cpu_and(call, task: u64, previous: i32, wake_flags: u64, among: u64, flags: u64) -> i32 {
        let Some(slot) = call.task(task) else { return previous };
        call.core.select_among(slot, previous, wake_flags, among, flags)
    }

    /// The form with packed arguments.
    fn __scx_bpf_select_cpu_and(call, task: u64, among: u64, args: u64) -> i32 {
        let previous = call.core.memory.read::<i32>(args + offset_of!(GuestSelectAnd, prev_cpu) as u64);
        let wake_flags = call.core.memory.read::<u64>(args + offset_of!(GuestSelectAnd, wake_flags) as u64);
        let flags = call.core.memory.read::<u64>(args + offset_of!(GuestSelectAnd, flags) as u64);
        let Some(slot) = call.task(task) else { return previous };
        call.core.select_among(slot, previous, wake_flags, among, flags)
    }

    fn scx_bpf_pick_idle_cpu(call, allowed: u64, flags: u64) -> i32 {
        if !call.core.idle_is_kept() {
            return EBUSY;
        }
        let allowed = call.core.mask_at(allowed);
        number(call.core.idle.pick(&allowed, flags & SCX_PICK_IDLE_CORE != 0))
    }

    fn scx_bpf_pick_idle_cpu_node(call, allowed: u64, node: i32, flags: u64) -> i32 {
        if !call.core.idle_is_kept() {
            return EBUSY;
        }
        let allowed = call.core.mask_at(allowed);
        number(call.core.idle.pick_in_node(&allowed, node.max(0) as u32, flags & SCX_PICK_IDLE_CORE != 0))
    }

    fn scx_bpf_pick_any_cpu(call, allowed: u64, flags: u64) -> i32 {
        let allowed = call.core.mask_at(allowed);
        let idle = if call.core.keeps_idle { call.core.idle.pick(&allowed, flags & SCX_PICK_IDLE_CORE != 0) } else { None };
        number(idle.or_else(|| call.core.any_cpu(&allowed)))
    }

    fn scx_bpf_pick_any_cpu_node(call, allowed: u64, node: i32, flags: u64) -> i32 {
        let allowed = call.core.mask_at(allowed);
        let core_only = flags & SCX_PICK_IDLE_CORE != 0;
        let idle = if call.core.keeps_idle { call.core.idle.pick_in_node(&allowed, node.max(0) as u32, core_only) } else { None };
        number(idle.or_else(|| call.core.any_cpu(&allowed)))
    }

    fn scx_bpf_test_and_clear_cpu_idle(call, cpu: i32) -> bool {
        call.core.idle_is_kept() && call.cpu(cpu).is_some_and(|cpu| call.core.idle.clear(cpu))
    }

    fn scx_bpf_get_idle_cpumask(call) -> u64 {
        call.core.idle_is_kept();
        call.core.idle.cpus.address
    }

    fn scx_bpf_get_idle_cpumask_node(call, _node: i32) -> u64 {
        call.core.idle_is_kept();
        call.core.idle.cpus.address
    }

    fn scx_bpf_get_idle_smtmask(call) -> u64 {
        call.core.idle_is_kept();
        call.core.idle.whole_cores().address
    }

    fn scx_bpf_get_idle_smtmask_node(call, _node: i32) -> u64 {
        call.core.idle_is_kept();
        call.core.idle.whole_cores().address
    }

    fn scx_bpf_put_idle_cpumask(call, _mask: u64) {}

    fn scx_bpf_kick_cpu(call, cpu: i32, flags: u64) {
        if let Some(cpu) = call.cpu(cpu) {
            call.core.add_kick(cpu, flags);
        }
    }
}
