//! What a policy can ask about control groups (`kernel/bpf/helpers.c`, `kernel/bpf/cgroup_iter.c`).

use super::arguments::{Cgroup, Task};
use super::{CGROUP, Call, EINVAL, kernel_functions};
use schedlab_bpf::OnStack;
use schedlab_model::ids::ControlGroupId;

/// The structure of a walk over control groups, on the policy's stack.
type CssIterator = OnStack<24>;
const ITERATOR: &str = "bpf_iter_css";

/// `enum bpf_cgroup_iter_order`.
const PRE_ORDER: u32 = 2;
const POST_ORDER: u32 = 3;
const ANCESTORS_UP: u32 = 4;
const CHILDREN: u32 = 5;

impl Call<'_, '_> {
    /// A reference to a control group, NULL for none.
    fn acquired(&mut self, id: Option<ControlGroupId>) -> Option<u64> {
        match id {
            Some(id) => self.check.acquire(self.core.cgroups.address(id), CGROUP),
            None => Some(0),
        }
    }
}

kernel_functions! {
    /// Its group of the cpu controller.
    fn scx_bpf_task_cgroup(call, task: Task) -> u64 {
        call.acquired(Some(call.core.entity(task.0).control_group))?
    }

    fn bpf_cgroup_from_id(call, id: u64) -> u64 {
        call.acquired(call.core.cgroups.by_number(id))?
    }

    fn bpf_cgroup_ancestor(call, cgroup: Cgroup, level: i32) -> u64 {
        call.acquired(call.core.cgroups.ancestor(cgroup.0, level))?
    }

    fn bpf_cgroup_acquire(call, cgroup: Cgroup) -> u64 {
        call.acquired(Some(cgroup.0))?
    }

    fn bpf_cgroup_release(call, cgroup: Cgroup) {
        call.check.release(call.core.cgroups.address(cgroup.0), CGROUP)?;
    }

    /// Whether a task is in a group or in one below it.
    fn bpf_task_under_cgroup(call, task: Task, cgroup: Cgroup) -> i32 {
        let own = call.core.entity(task.0).control_group;
        i32::from(call.core.cgroups.tree.upward(own).any(|above| above == cgroup.0))
    }

    /// `start`: the `self` of a group.
    fn bpf_iter_css_new(call, iterator: CssIterator, start: u64, order: u32) -> i32 {
        let cgroups = &call.core.cgroups;
        let found = match (cgroups.find_css(start), order) {
            (Some(id), PRE_ORDER) => Ok(cgroups.below(id, true)),
            (Some(id), POST_ORDER) => Ok(cgroups.below(id, false)),
            (Some(id), ANCESTORS_UP) => Ok(cgroups.tree.upward(id).collect()),
            (Some(id), CHILDREN) => Ok(cgroups.tree.children(id).collect()),
            _ => Err(EINVAL),
        };
        let (groups, result) = found.map_or_else(|error| (Vec::new(), error), |groups| (groups, 0));
        // Each group's children are looked for among all groups.
        let looked_at = groups.len() as u64 * call.core.cgroups.tree.len() as u64;
        call.check.charge_bytes(8 * looked_at)?;
        let handle = call.core.walks.open(groups.into_iter().map(|id| id.0));
        call.check.open_iterator(iterator.address(), ITERATOR, handle)?;
        result
    }

    fn bpf_iter_css_next(call, iterator: CssIterator) -> u64 {
        let handle = call.check.iterator(iterator.address(), ITERATOR)?;
        call.core.walks.next(handle).map_or(0, |id| call.core.cgroups.css(ControlGroupId(id)))
    }

    fn bpf_iter_css_destroy(call, iterator: CssIterator) {
        let handle = call.check.close_iterator(iterator.address(), ITERATOR)?;
        call.core.walks.close(handle);
    }
}
