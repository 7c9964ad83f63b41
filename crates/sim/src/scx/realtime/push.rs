//! Real-time tasks that wait go where they can run (`push_rt_task`, `pull_rt_task` and `check_preempt_equal_prio` of
//! `kernel/sched/rt.c`, `push_dl_task` and `pull_dl_task` of `kernel/sched/deadline.c`).
//!
//! A CPU that has chosen a real-time task pushes those that wait to CPUs that run less. One whose real-time task is gone,
//! and that has none of that priority left, has all others push, as kernels do it (`RT_PUSH_IPI`).

use crate::scx::core::Core;
use crate::scx::cpu::NONE;
use crate::scx::policy::Sim;
use std::cmp::Reverse;

impl Core {
    /// The waiting task of a CPU that would be pushed: of the highest rank, and of several the one that has waited longest.
    fn pushable(&self, cpu: u32, deadlines: bool) -> Option<u32> {
        let is_one = |&slot: &u32| self.entity(slot).allowed_count > 1 && self.rank(slot).is_deadline() == deadlines;
        let waiting = self.cpu(cpu).realtime.iter().copied().filter(is_one);
        waiting.min_by_key(|&slot| (Reverse(self.rank(slot)), self.entity(slot).queued))
    }

    /// Pushes waiting tasks of a CPU as long as there is somewhere to go.
    pub fn push_realtime(&mut self, cpu: u32) {
        [true, false].into_iter().for_each(|deadlines| self.push_class(cpu, deadlines));
    }

    /// Those of the class deadline, or of the others (`push_dl_tasks`, `push_rt_tasks`).
    fn push_class(&mut self, cpu: u32, deadlines: bool) {
        while let Some(slot) = self.pushable(cpu, deadlines) {
            let rank = self.rank(slot);
            if self.current(cpu).is_none_or(|running| self.rank(running) < rank) {
                // It shall run here.
                return self.request_resched(cpu);
            }
            let target = self.lowest_cpu(slot).filter(|&target| target != cpu);
            let Some(target) = target.filter(|&target| self.realtime_level(target) < rank) else { return };
            self.cpu_mut(cpu).realtime.retain(|&waiting| waiting != slot);
            self.migrate(slot, target);
            self.queue_realtime(slot, false);
            self.request_resched(target);
        }
    }

    /// A task of the priority of the running one has come, and cannot go elsewhere. Whether the running one can: then it
    /// makes room.
    fn makes_room(&mut self, running: u32, slot: u32) -> bool {
        let can_go = |core: &mut Core, slot| core.lowest_cpu(slot).is_some();
        can_go(self, running) && !can_go(self, slot)
    }

    /// A real-time task has come to its CPU's queue: whether it runs next, and if not, whether it is pushed at once
    /// (`wakeup_preempt_rt`, `task_woken_rt`).
    pub fn preempt_realtime(&mut self, slot: u32) {
        let (cpu, rank) = (self.entity(slot).cpu, self.rank(slot));
        let running = self.current(cpu).filter(|&running| self.entity(running).is_realtime());
        let Some(running) = running else {
            if self.precedes(cpu, rank) {
                self.request_resched(cpu);
            }
            return;
        };
        let running_rank = self.rank(running);
        if running_rank < rank {
            self.request_resched(cpu);
        } else if running_rank == rank && !self.cpu(cpu).need_resched && self.makes_room(running, slot) {
            let queue = &mut self.cpu_mut(cpu).realtime;
            queue.retain(|&waiting| waiting != slot);
            self.queue_realtime(slot, true);
            self.cpu_mut(cpu).makes_room = true;
            self.request_resched(cpu);
        }
        let drives_away = running_rank >= rank || self.entity(running).allowed_count < 2;
        if drives_away && self.entity(slot).allowed_count > 1 && !self.cpu(cpu).need_resched {
            self.push_realtime(cpu);
        }
    }
}

impl Sim {
    /// A real-time task has blocked, ended or rests, and those that wait on its CPU have a lower rank: all others push.
    pub fn pull_realtime(&mut self, cpu: u32, previous: u32) {
        if previous == NONE || !self.core.entity(previous).is_realtime() || !self.core.has_left(previous) {
            return;
        }
        if self.core.first_waiting(cpu) < self.core.rank(previous) {
            (0..self.core.cpus.len()).filter(|&other| other != cpu).for_each(|other| {
                if !self.core.cpu(other).realtime.is_empty() {
                    self.core.push_realtime(other);
                }
            });
        }
    }
}
