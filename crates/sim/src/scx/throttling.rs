//! What a policy says about the limits of control groups: which tasks it holds back, and what it counts.

use super::cpu::NONE;
use super::policy::Sim;
use crate::LimitCounters;
use schedlab_bpf::MapId;
use schedlab_model::ids::ControlGroupId;
use schedlab_model::trace::EventKind;

/// Name of the task-storage map in which a policy says whether it holds a task back.
pub const THROTTLED_MAP: &str = "schedlab_throttled";
/// Name of the map in which a policy counts, by the identity of a control group.
pub const COUNTERS_MAP: &str = "schedlab_control_groups";

/// Where the policy says it; nothing is looked at in a scenario without control groups.
#[derive(Debug, Default)]
pub struct Throttling {
    /// Guest address of the table of all tasks by slot.
    held: Option<u64>,
    counters: Option<MapId>,
    /// What was counted when the warm-up ended.
    before: Vec<Option<LimitCounters>>,
    /// When that is read.
    pub warm_at_ns: u64,
}

impl Throttling {
    /// That of a loaded policy.
    pub fn of(vm: &schedlab_bpf::Vm<super::core::Core>, core: &super::core::Core) -> Throttling {
        if core.cgroups.tree.is_empty() {
            return Throttling { warm_at_ns: u64::MAX, ..Throttling::default() };
        }
        let held = vm.map(THROTTLED_MAP).and_then(|map| vm.storage_table(map, core.address_of(0)));
        let counters = vm.map(COUNTERS_MAP);
        let warmup = core.world.workload.run.warmup.ns();
        let warm_at_ns = if counters.is_some() && warmup > 0 { warmup } else { u64::MAX };
        Throttling { held, counters, before: Vec::new(), warm_at_ns }
    }

    /// Whether the policy says which tasks it holds back.
    #[inline]
    pub fn is_told(&self) -> bool {
        self.held.is_some()
    }
}

impl Sim {
    /// Tells whether the task of an operation is held back, and those that the operation moved between queues.
    #[cold]
    pub fn record_throttling(&mut self, cpu: u32, slot: u32) {
        if slot != NONE {
            self.record_held(cpu, slot);
        }
        for moved in std::mem::take(&mut self.core.moved) {
            self.record_held(cpu, moved);
        }
    }

    fn record_held(&mut self, cpu: u32, slot: u32) {
        let Some(table) = self.throttling.held else { return };
        if self.core.world.tasks.get(slot).is_none() {
            return;
        }
        let address: u32 = self.core.memory.read(table + u64::from(slot) * 4);
        let on = address != 0 && self.core.memory.read::<u32>(u64::from(address)) != 0;
        let entity = self.core.entity_mut(slot);
        if std::mem::replace(&mut entity.held, on) != on {
            let task = entity.id;
            self.core.world.emit_of(cpu, task, EventKind::Throttle { task, on });
        }
    }

    /// Reads what the policy has counted so far.
    #[cold]
    pub fn end_limits_warmup(&mut self) {
        self.throttling.warm_at_ns = u64::MAX;
        self.throttling.before = self.count_limits();
    }

    /// What the policy has counted since the warm-up, by control group.
    pub fn counted_limits(&mut self) -> Vec<Option<LimitCounters>> {
        let now = self.count_limits();
        let before = std::mem::take(&mut self.throttling.before);
        let since = |(index, now): (usize, Option<LimitCounters>)| {
            Some(now?.since(before.get(index).copied().flatten().unwrap_or_default()))
        };
        now.into_iter().enumerate().map(since).collect()
    }

    fn count_limits(&mut self) -> Vec<Option<LimitCounters>> {
        let Some(map) = self.throttling.counters else { return Vec::new() };
        let ids: Vec<ControlGroupId> = self.core.cgroups.tree.iter().map(|(id, _)| id).collect();
        let counted = |id: ControlGroupId| {
            let is_limited = self.core.cgroups.knobs(id).bandwidth.quota.is_some();
            let key = self.core.cgroups.number(id).to_le_bytes();
            match self.vm.map_value(map, &key) {
                Some(address) => {
                    Some(LimitCounters(std::array::from_fn(|place| self.core.memory.read(address + 8 * place as u64))))
                }
                // It has not been used yet.
                None => is_limited.then(LimitCounters::default),
            }
        };
        ids.into_iter().map(counted).collect()
    }
}
