//! What happens to control groups and to the tasks in them: they come and go with the policy, tasks move between them, their
//! knobs change (`scx_cgroup_init`, `scx_cgroup_exit`, `scx_cgroup_can_attach`, `scx_cgroup_move_task`,
//! `scx_group_set_weight` and its siblings in `kernel/sched/ext`).

use super::core::Core;
use super::cpu::NONE;
use super::entity::State;
use super::layout::GuestCgroupInit;
use super::ops::Op;
use super::policy::{Halt, Sim};
use schedlab_model::control_group::{KnobChange, Knobs};
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::{ControlGroupId, CpuId};
use schedlab_model::time::Time;
use schedlab_model::trace::EventKind;

/// What stands for no limit.
const NO_QUOTA: u64 = u64::MAX;

/// Period, quota and burst as operations get them, in microseconds.
fn bandwidth(knobs: Knobs) -> [u64; 3] {
    let microseconds = |time: Time| time.ns() / 1_000;
    let limit = knobs.bandwidth;
    [microseconds(limit.period), limit.quota.map_or(NO_QUOTA, microseconds), microseconds(limit.burst)]
}

impl Sim {
    /// `ops.cgroup_init` for each, parents first.
    pub fn init_control_groups(&mut self) {
        for id in self.core.cgroups.below(ControlGroupId::ROOT, true) {
            let knobs = self.core.cgroups.knobs(id);
            let [bw_period_us, bw_quota_us, bw_burst_us] = bandwidth(knobs);
            self.write_scratch(GuestCgroupInit {
                weight: self.core.cgroups.weight(id),
                bw_period_us,
                bw_quota_us,
                bw_burst_us,
                sched_idle: knobs.weight.is_idle(),
            });
            let address = self.core.cgroups.address(id);
            let result = self.call(Op::CgroupInit, 0, NONE, [address, self.scratch]) as i32;
            self.must_succeed(Op::CgroupInit, result, |core| of_group(core, id));
        }
    }

    /// `ops.cgroup_exit` for each, children first.
    pub fn exit_control_groups(&mut self) {
        for id in self.core.cgroups.below(ControlGroupId::ROOT, false) {
            let address = self.core.cgroups.address(id);
            self.call(Op::CgroupExit, 0, NONE, [address]);
        }
    }

    /// The control group in which a new task begins.
    pub fn enter_control_group(&mut self, slot: u32, id: ControlGroupId) {
        self.core.entity_mut(slot).control_group = id;
        let (css_set, task_group) = self.core.cgroups.of_task(id);
        let task = self.core.entity_mut(slot).task_mut();
        (task.cgroups, task.sched_task_group) = (css_set, task_group);
    }

    /// The running task moves into another control group; gives the CPUs that it may use from now on if they changed.
    pub fn join(&mut self, slot: u32, to: ControlGroupId) -> Option<CpuSet> {
        let (from, cpu, address) = {
            let entity = self.core.entity(slot);
            (entity.control_group, entity.cpu, entity.address)
        };
        if from == to {
            return None;
        }
        let [from_address, to_address] = [from, to].map(|id| self.core.cgroups.address(id));
        let result = self.call(Op::CgroupPrepMove, cpu, slot, [address, from_address, to_address]) as i32;
        self.must_succeed(Op::CgroupPrepMove, result, |core| of_group(core, to));
        let cpus = self.cpus_after_join(slot, from, to);
        self.while_dequeued(slot, |sim| {
            sim.enter_control_group(slot, to);
            sim.call(Op::CgroupMove, cpu, slot, [address, from_address, to_address]);
        });
        let task = self.core.entity(slot).id;
        self.core.world.emit_of(cpu, task, EventKind::Join { task, control_group: to });
        cpus
    }

    /// The CPUs of a task change with its control group (`cpuset_attach`).
    fn cpus_after_join(&mut self, slot: u32, from: ControlGroupId, to: ControlGroupId) -> Option<CpuSet> {
        let [before, after] = [from, to].map(|id| self.cpus_in(slot, id));
        if before == after {
            return None;
        }
        let mask = self.core.set_number(&after);
        self.set_cpus(slot, mask);
        Some(after)
    }

    /// The CPUs of a task in a control group.
    pub fn cpus_in(&self, slot: u32, id: ControlGroupId) -> CpuSet {
        let role = &self.core.world.workload.roles[self.core.world.tasks[slot].role.index()];
        let chosen = self.core.cgroups.chosen.get(&slot).or(role.control.chosen_cpus.as_ref());
        self.core.cgroups.tree[id].cpus_of(chosen)
    }

    /// Knobs of a control group are written.
    pub fn adjust(&mut self, id: ControlGroupId, change: &KnobChange, cpu: u32) {
        let before = self.core.cgroups.knobs(id);
        let after = before.after(change);
        if after.bandwidth.refusal().is_some() {
            let role = self.core.current(cpu).map(|slot| self.core.world.tasks[slot].role);
            return self.stop(Halt::Refused(role.expect("a task adjusts"), id, after.bandwidth));
        }
        self.core.cgroups.set_knobs(id, after);
        let address = self.core.cgroups.address(id);
        let weight = after.weight.as_weight();
        // As they are written: a group has a weight only when it is idle no more.
        if before.weight.is_idle() != after.weight.is_idle() {
            self.call(Op::CgroupSetIdle, cpu, NONE, [address, u64::from(after.weight.is_idle())]);
        }
        // An idle group's weight stays as it was, and so it is no news when the group is idle no more.
        if !after.weight.is_idle() && weight != self.core.cgroups.weight(id) {
            self.core.cgroups.set_weight(id, weight);
            self.call(Op::CgroupSetWeight, cpu, NONE, [address, u64::from(weight)]);
        }
        if before.bandwidth != after.bandwidth {
            let [period, quota, burst] = bandwidth(after);
            self.call(Op::CgroupSetBandwidth, cpu, NONE, [address, period, quota, burst]);
        }
    }

    /// Whether a running task is on a CPU that is none of these, and has to leave.
    pub fn must_leave(&self, slot: u32, cpus: &CpuSet) -> bool {
        let entity = self.core.entity(slot);
        entity.state == State::Running && !cpus.contains(CpuId(entity.cpu))
    }
}

fn of_group(core: &Core, id: ControlGroupId) -> String {
    format!(" for the control group /{}", core.cgroups.tree[id].path)
}
