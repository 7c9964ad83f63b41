//! CPUs go offline and come back (`sched_cpu_deactivate`, `sched_cpu_activate` and `balance_push` of `kernel/sched/core.c`,
//! `handle_hotplug` and `rq_offline_scx` of `kernel/sched/ext/ext.c`, Linux 7.2).
//!
//! A kernel takes a while for that, in which the CPU's other threads come to an end. Here it is one instant.

use super::consts::*;
use super::core::Core;
use super::cpu::NONE;
use super::entity::State;
use super::ops::Op;
use super::policy::Sim;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::CpuId;
use schedlab_model::trace::Reason;

/// What a loader reads from the exit code of a policy that a kernel ended: start it again, since CPUs went or came
/// (`SCX_ECODE_ACT_RESTART`, `SCX_ECODE_RSN_HOTPLUG`).
const RESTART: i64 = (SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG) as i64;

impl Core {
    /// Whether a CPU is there.
    #[inline]
    pub fn is_online(&self, cpu: u32) -> bool {
        self.offline == 0 || self.online_cpus.contains(cpu)
    }

    /// Those of a set that are there.
    pub fn online_of(&self, cpus: &CpuSet) -> CpuSet {
        cpus.iter().filter(|cpu| self.is_online(cpu.0)).collect()
    }

    /// A CPU, or the first one if it is not there: timers and devices of a CPU that goes come to another one.
    #[inline]
    pub fn present(&self, cpu: u32) -> u32 {
        if self.is_online(cpu) { cpu } else { 0 }
    }

    /// The first CPU that is there and on which a task may run: in the node where it is, then anywhere.
    fn fallback_cpu(&self, slot: u32) -> Option<u32> {
        let topology = self.machine.topology;
        let node = |cpu: u32| topology.node_of(CpuId(cpu));
        let own = node(self.entity(slot).cpu);
        let can = |cpu: &u32| self.is_online(*cpu);
        let near = self.allowed(slot).iter().filter(can).find(|&cpu| node(cpu) == own);
        near.or_else(|| self.allowed(slot).iter().find(can))
    }
}

impl Sim {
    /// A CPU goes or comes, as the scenario says.
    pub(super) fn plug(&mut self, index: u32) {
        let event = self.core.world.workload.hotplug[index as usize];
        if event.online {
            self.take_online(event.cpu.0);
        } else {
            self.take_offline(event.cpu.0);
        }
    }

    fn take_offline(&mut self, cpu: u32) {
        self.core.offline += 1;
        self.core.online_cpus.remove(cpu);
        self.gather(cpu);
        self.tell_policy(Op::CpuOffline, cpu, "offline");
        if self.core.current(cpu).is_none() {
            self.schedule(cpu, None);
        }
        self.push_off(cpu);
    }

    fn take_online(&mut self, cpu: u32) {
        self.core.offline -= 1;
        self.core.online_cpus.insert(cpu);
        self.tell_policy(Op::CpuOnline, cpu, "online");
        if self.core.keeps_idle {
            self.core.idle.set(cpu);
        }
        self.call(Op::UpdateIdle, cpu, NONE, [u64::from(cpu), 1]);
        self.core.request_resched(cpu);
    }

    /// A policy that does not want to hear of it is ended, for its loader to start it again.
    fn tell_policy(&mut self, op: Op, cpu: u32, whereto: &str) {
        if self.ops.has(op) {
            self.call(op, cpu, NONE, [u64::from(cpu)]);
        } else {
            let message = format!(
                "CPU {cpu} goes {whereto} and the policy has no `{}`: a kernel ends it, and its loader would start it again",
                op.name()
            );
            self.core.fail(SCX_EXIT_UNREG_KERN, RESTART, NONE, message);
        }
    }

    /// The policy's tasks of a CPU come to its local queue, wherever they wait: the policy is not asked about that CPU any more.
    fn gather(&mut self, cpu: u32) {
        let waits = |slot: &u32| {
            let entity = self.core.entity(*slot);
            entity.cpu == cpu && entity.state == State::Runnable && !entity.is_realtime()
        };
        let mut slots: Vec<u32> = self.core.world.tasks.alive_slots().filter(waits).collect();
        slots.retain(|&slot| self.core.queues.link(slot).queue != cpu);
        // The last that became runnable comes first.
        slots.sort_by_key(|&slot| std::cmp::Reverse(self.core.world.tasks[slot].ready_ns));
        for slot in slots {
            self.dequeue_task(slot, SCX_DEQ_SCHED_CHANGE);
            self.enqueue_task(slot, cpu, 0);
        }
    }

    /// A CPU that is offline runs none of the tasks that it has: its own thread sends each elsewhere as soon as it is chosen.
    pub(super) fn push_off(&mut self, cpu: u32) {
        while let Some(slot) = self.core.current(cpu).filter(|_| !self.core.is_online(cpu)) {
            self.leave_to_stopper(cpu, slot);
            if let Some(searched) = self.search(cpu, Some(Reason::Preempted)) {
                self.put_back_and_switch(searched);
            }
            self.do_deferred();
            let to = self.online_cpu(slot, cpu);
            self.send_to(slot, to);
        }
    }

    /// The CPU for a task that is to go to this one, if it is there. A task that may run on none that is there may from now on
    /// run on all (`select_fallback_rq`).
    pub(super) fn online_cpu(&mut self, slot: u32, cpu: u32) -> u32 {
        if self.core.is_online(cpu) {
            return cpu;
        }
        if let Some(fallback) = self.core.fallback_cpu(slot) {
            return fallback;
        }
        let all = CpuSet::first(self.core.cpus.len());
        let mask = self.core.set_number(&all);
        self.core.cgroups.chosen.insert(slot, all);
        self.set_cpus(slot, mask);
        self.core.queues.remove(slot);
        self.core.fallback_cpu(slot).unwrap_or(0)
    }
}
