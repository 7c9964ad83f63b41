//! Where a CPU's time goes: to its task, to idle, to the system.

use super::consts::{SCX_SLICE_DFL, SCX_SLICE_INF};
use super::core::Core;
use super::cpu::NONE;
use super::layout::GuestTask;
use crate::CpuTime;
use schedlab_model::{time::Time, trace::*};

impl Core {
    /// Accounts for the time since the CPU was last looked at.
    #[inline(always)]
    pub fn account(&mut self, cpu: u32) {
        if self.world.now_ns > self.cpu(cpu).accounted_ns {
            self.account_passed(cpu);
        }
    }

    #[inline]
    fn account_passed(&mut self, cpu: u32) {
        let now = self.world.now_ns;
        let c = self.cpu_mut(cpu);
        let delta = now - c.accounted_ns;
        c.accounted_ns = now;
        if c.current == NONE {
            c.idle_ns += delta;
            if self.realtime.exists {
                self.charge_idle(cpu, delta);
            }
            return;
        }
        c.task_ns += delta;
        let slot = c.current;
        let work = &mut self.world.tasks[slot].work_ns;
        assert!(*work >= delta, "cpu {cpu} gave task {slot} {delta} ns of which it wanted {work}");
        *work -= delta;
        self.charge(slot, delta).se.exec_start = now;
    }

    /// The CPU was a task's for so long, as far as the policy can see (`update_curr_scx`).
    #[inline(always)]
    fn charge(&mut self, slot: u32, length_ns: u64) -> &mut GuestTask {
        if self.realtime.exists {
            self.charge_class(slot, length_ns);
        }
        let entity = self.entity_mut(slot);
        entity.realtime_slice_ns = entity.realtime_slice_ns.saturating_sub(length_ns);
        let task = entity.task_mut();
        task.se.sum_exec_runtime += length_ns;
        if task.scx.slice != SCX_SLICE_INF {
            task.scx.slice = task.scx.slice.saturating_sub(length_ns);
        }
        task
    }

    /// A task that is chosen without a slice gets the default one (`refill_task_slice_dfl`). One that is taken out of its
    /// queue and put back while it runs is not chosen: if its slice was over, it still is.
    #[inline(always)]
    pub fn refill_slice(&mut self, slot: u32) {
        let entity = self.entity_mut(slot);
        if !entity.is_realtime() && entity.task().scx.slice == 0 {
            entity.task_mut().scx.slice = SCX_SLICE_DFL;
            self.events.refill_slice_dfl();
        }
    }

    /// The CPU pays for the system. What it does after that, it does later. As in a kernel, whose clock continues, a
    /// policy sees that as time of the task that has the CPU; it is none of its work.
    #[inline(always)]
    pub fn pay(&mut self, cpu: u32, what: Overhead, length_ns: u64) {
        if length_ns > 0 {
            self.pay_some(cpu, what, length_ns);
        }
    }

    fn pay_some(&mut self, cpu: u32, what: Overhead, length_ns: u64) {
        self.account(cpu);
        let c = self.cpu_mut(cpu);
        c.accounted_ns += length_ns;
        c.overhead_ns += length_ns;
        let current = c.current;
        if current != NONE {
            self.charge(current, length_ns);
        }
        self.mark_stale(cpu);
        self.world.emit(cpu, EventKind::Overhead { what, length: Time(length_ns) });
    }

    /// Where a CPU's time went up to the end of the run. What it would have paid after the end is not counted.
    pub fn time_so_far(&self, cpu: u32) -> CpuTime {
        let (c, now) = (self.cpu(cpu), self.world.now_ns);
        let since = now.saturating_sub(c.accounted_ns);
        let (task, idle) = if c.current == NONE { (0, since) } else { (since, 0) };
        CpuTime {
            task: Time(c.task_ns + task),
            idle: Time(c.idle_ns + idle),
            // What is paid ahead is not over yet.
            overhead: Time(c.overhead_ns - c.accounted_ns.saturating_sub(now)),
        }
    }

    /// Where the time of a CPU went in all, at the end.
    pub fn final_time(&mut self, cpu: u32, end_ns: u64) -> CpuTime {
        self.account(cpu);
        let c = self.cpu_mut(cpu);
        c.overhead_ns -= c.accounted_ns.saturating_sub(end_ns);
        let sum = c.task_ns + c.idle_ns + c.overhead_ns;
        assert_eq!(sum, end_ns, "cpu {cpu}: {} + {} + {} ns", c.task_ns, c.idle_ns, c.overhead_ns);
        CpuTime { task: Time(c.task_ns), idle: Time(c.idle_ns), overhead: Time(c.overhead_ns) }
    }
}
