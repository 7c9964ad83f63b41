//! The control groups as a policy sees them: structures in guest memory, by number.
//!
//! A group has a `cgroup` with its `kernfs_node`, a `task_group` of the cpu controller, a `cpuset`, and a `css_set` for
//! the tasks that are in it. All lie in tables, one place for each group, from the first instant to the last.

use super::consts::{cpu_cgrp_id, cpuset_cgrp_id};
use super::layout::{GuestCgroup, GuestCpuset, GuestCss, GuestCssSet, GuestKernfs, GuestTaskGroup, Pointer};
use super::mask::Masks;
use schedlab_bpf::{Access, GuestMemory, MemoryError, OwnerTable, Region};
use schedlab_model::control_group::{ControlGroups, Knobs};
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::ControlGroupId;
use std::collections::HashMap;
use std::mem::offset_of;

/// Identity of the root, as in a kernel.
pub const ROOT_CGROUP_ID: u64 = 1;

/// What the core knows of control groups.
pub struct Cgroups {
    /// The tree, as the scenario says it.
    pub tree: ControlGroups,
    /// What each is given now.
    knobs: Vec<Knobs>,
    /// `scx.weight` of the task group, which `cpu.idle` leaves alone.
    weights: Vec<u32>,
    cgroups: Places,
    css_sets: Places,
    task_groups: Places,
    /// What tasks chose for their CPUs while they run, by slot, where that can matter.
    pub chosen: HashMap<u32, CpuSet>,
}

/// A table in guest memory.
#[derive(Clone, Copy, Debug)]
struct Places {
    base: u64,
    stride: u32,
    count: u32,
}

impl Places {
    fn new<T>(memory: &GuestMemory, name: &'static str, count: usize) -> Result<Places, MemoryError> {
        let (stride, count) = (size_of::<T>() as u32, count as u32);
        let base = memory.alloc(
            u64::from(stride) * u64::from(count),
            8,
            Region::array(name, stride, stride, Access::ReadOnly),
        )?;
        Ok(Places { base, stride, count })
    }

    fn at(self, id: ControlGroupId) -> u64 {
        self.base + u64::from(self.stride) * u64::from(id.0)
    }

    fn find(self, address: u64) -> Option<ControlGroupId> {
        let offset = u32::try_from(address.wrapping_sub(self.base)).ok()?;
        let index = offset / self.stride;
        (offset % self.stride == 0 && index < self.count).then_some(ControlGroupId(index))
    }
}

impl Cgroups {
    /// Lays them out.
    pub fn new(memory: &GuestMemory, masks: &mut Masks, tree: &ControlGroups) -> Result<Cgroups, MemoryError> {
        let count = tree.len();
        let cgroups = Places::new::<GuestCgroup>(memory, "cgroup", count)?;
        let nodes = Places::new::<GuestKernfs>(memory, "kernfs_node", count)?;
        let task_groups = Places::new::<GuestTaskGroup>(memory, "task_group", count)?;
        let cpusets = Places::new::<GuestCpuset>(memory, "cpuset", count)?;
        let css_sets = Places::new::<GuestCssSet>(memory, "css_set", count)?;
        for (id, _) in tree.iter() {
            let (at, node) = (cgroups.at(id), nodes.at(id));
            write_node(memory, nodes, tree, id)?;
            memory.write(at + offset_of!(GuestCgroup, kn) as u64, node);
            memory.write(at + offset_of!(GuestCgroup, level) as u64, tree[id].level as i32);
            for above in tree.upward(id) {
                let place = offset_of!(GuestCgroup, ancestors) + 8 * tree[above].level as usize;
                memory.write(at + place as u64, cgroups.at(above));
            }
            write_css(memory, (cgroups, offset_of!(GuestCgroup, self_)), at, tree, id);
            write_css(memory, (task_groups, offset_of!(GuestTaskGroup, css)), at, tree, id);
            write_css(memory, (cpusets, offset_of!(GuestCpuset, css)), at, tree, id);
            let cpus = masks.create(&tree[id].effective_cpus)?.address;
            for field in [offset_of!(GuestCpuset, cpus_allowed), offset_of!(GuestCpuset, effective_cpus)] {
                memory.write(cpusets.at(id) + field as u64, cpus);
            }
            for (controller, state) in [(cpuset_cgrp_id, cpusets.at(id)), (cpu_cgrp_id, task_groups.at(id))] {
                memory.write(at + offset_of!(GuestCgroup, subsys) as u64 + 8 * controller, state);
            }
            memory.write(css_sets.at(id) + offset_of!(GuestCssSet, dfl_cgrp) as u64, at);
        }
        let knobs: Vec<Knobs> = tree.iter().map(|(_, group)| group.knobs).collect();
        let weights = knobs.iter().map(|knobs| knobs.weight.as_weight()).collect();
        Ok(Cgroups { tree: tree.clone(), knobs, weights, cgroups, css_sets, task_groups, chosen: HashMap::new() })
    }

    /// The possible owners of storage.
    pub fn owners(&self) -> OwnerTable {
        let Places { base, stride, count } = self.cgroups;
        OwnerTable { base, stride, count }
    }

    /// How a policy points to a group.
    pub fn address(&self, id: ControlGroupId) -> u64 {
        self.cgroups.at(id)
    }

    /// The group to which a policy points.
    pub fn find(&self, address: u64) -> Option<ControlGroupId> {
        self.cgroups.find(address)
    }

    /// The group whose `cgroup.self` this is.
    pub fn find_css(&self, address: u64) -> Option<ControlGroupId> {
        self.cgroups.find(address.wrapping_sub(offset_of!(GuestCgroup, self_) as u64))
    }

    /// Where the `cgroup.self` of a group lies.
    pub fn css(&self, id: ControlGroupId) -> u64 {
        self.cgroups.at(id) + offset_of!(GuestCgroup, self_) as u64
    }

    /// The group of an identity.
    pub fn by_number(&self, number: u64) -> Option<ControlGroupId> {
        let index = u32::try_from(number.checked_sub(ROOT_CGROUP_ID)?).ok()?;
        (index < self.cgroups.count).then_some(ControlGroupId(index))
    }

    /// The identity of a group.
    pub fn number(&self, id: ControlGroupId) -> u64 {
        ROOT_CGROUP_ID + u64::from(id.0)
    }

    /// What `task_struct.cgroups` and `sched_task_group` of a task in the group are.
    pub fn of_task(&self, id: ControlGroupId) -> (Pointer, Pointer) {
        (Pointer(self.css_sets.at(id)), Pointer(self.task_groups.at(id)))
    }

    /// What a group is given now.
    pub fn knobs(&self, id: ControlGroupId) -> Knobs {
        self.knobs[id.index()]
    }

    /// Sets that.
    pub fn set_knobs(&mut self, id: ControlGroupId, knobs: Knobs) {
        self.knobs[id.index()] = knobs;
    }

    /// The weight of which policies hear.
    pub fn weight(&self, id: ControlGroupId) -> u32 {
        self.weights[id.index()]
    }

    /// Sets that.
    pub fn set_weight(&mut self, id: ControlGroupId, weight: u32) {
        self.weights[id.index()] = weight;
    }

    /// The group above another at a level, the group itself at its own.
    pub fn ancestor(&self, id: ControlGroupId, level: i32) -> Option<ControlGroupId> {
        self.tree.upward(id).find(|above| self.tree[*above].level as i32 == level)
    }

    /// The groups below one in the order of a walk, with it: each before those below it, or after them.
    pub fn below(&self, id: ControlGroupId, is_pre_order: bool) -> Vec<ControlGroupId> {
        let mut found = Vec::new();
        self.walk(id, is_pre_order, &mut found);
        found
    }

    fn walk(&self, id: ControlGroupId, is_pre_order: bool, into: &mut Vec<ControlGroupId>) {
        if is_pre_order {
            into.push(id);
        }
        self.tree.children(id).for_each(|child| self.walk(child, is_pre_order, into));
        if !is_pre_order {
            into.push(id);
        }
    }
}

/// A directory of the file system of control groups.
fn write_node(
    memory: &GuestMemory,
    nodes: Places,
    tree: &ControlGroups,
    id: ControlGroupId,
) -> Result<(), MemoryError> {
    let name = tree[id].path.rsplit('/').next().unwrap_or_default().as_bytes();
    let text = memory.alloc(name.len() as u64 + 1, 1, Region::whole("name of a cgroup", Access::ReadOnly))?;
    memory.write_bytes(text, name);
    let (node, parent) = (nodes.at(id), tree[id].parent.map_or(0, |parent| nodes.at(parent)));
    memory.write(node + offset_of!(GuestKernfs, id) as u64, ROOT_CGROUP_ID + u64::from(id.0));
    memory.write(node + offset_of!(GuestKernfs, name) as u64, text);
    memory.write(node + offset_of!(GuestKernfs, __parent) as u64, parent);
    Ok(())
}

/// The state of a group for a controller, which lies at an offset in the places of a table.
fn write_css(
    memory: &GuestMemory,
    (places, offset): (Places, usize),
    cgroup: u64,
    tree: &ControlGroups,
    id: ControlGroupId,
) {
    let (css, parent) = (places.at(id), tree[id].parent.map_or(0, |parent| places.at(parent) + offset as u64));
    let field = |field: usize| css + (offset + field) as u64;
    memory.write(field(offset_of!(GuestCss, cgroup)), cgroup);
    memory.write(field(offset_of!(GuestCss, parent)), parent);
    memory.write(field(offset_of!(GuestCss, id)), id.0 as i32 + 1);
    memory.write(field(offset_of!(GuestCss, serial_nr)), u64::from(id.0) + 1);
}

/// Levels that a `cgroup` lists.
pub const ANCESTORS: usize = schedlab_model::control_group::MAX_DEPTH as usize + 1;

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::scenario::Scenario;

    #[test]
    fn groups_are_found_by_what_points_to_them() {
        let text = "name = \"t\"\n[machine]\ncpus = 1\n[run]\nduration = \"1s\"\n\
                    [[control_group]]\npath = \"a/b\"\n[[control_group]]\npath = \"c\"\n\
                    [[task]]\nname = \"x\"\nloop = [{ compute = \"1ms\" }]\n";
        let tree = Scenario::parse(text, "t").unwrap().compile().unwrap().control_groups;
        let memory = GuestMemory::new().unwrap();
        let cgroups = Cgroups::new(&memory, &mut Masks::new(&memory, 1), &tree).unwrap();
        let [a, b, c] = ["a", "a/b", "c"].map(|path| tree.find(path).unwrap());
        for id in [ControlGroupId::ROOT, a, b, c] {
            assert_eq!(cgroups.find(cgroups.address(id)), Some(id));
            assert_eq!(cgroups.find_css(cgroups.css(id)), Some(id));
            assert_eq!(cgroups.by_number(ROOT_CGROUP_ID + u64::from(id.0)), Some(id));
        }
        assert_eq!([cgroups.find(cgroups.address(b) + 8), cgroups.find(0), cgroups.by_number(0)], [None; 3]);
        assert_eq!(
            (0..4).map(|level| cgroups.ancestor(b, level)).collect::<Vec<_>>(),
            [Some(ControlGroupId::ROOT), Some(a), Some(b), None]
        );
        assert_eq!(cgroups.below(ControlGroupId::ROOT, true), [ControlGroupId::ROOT, a, b, c]);
        assert_eq!(cgroups.below(ControlGroupId::ROOT, false), [b, a, c, ControlGroupId::ROOT]);
    }
}
