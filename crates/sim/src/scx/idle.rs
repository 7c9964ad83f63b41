//! Which CPUs are idle, and the kernel's own choice of one (`kernel/sched/ext/idle.c`).
//!
//! One difference: among equally good idle CPUs the kernel goes round, so that the choice depends on all earlier ones;
//! here it is the lowest number, so that a person can follow a trace. The tasks see the same kind of CPU either way.

use super::consts::{SCX_PICK_IDLE_CORE, SCX_PICK_IDLE_IN_NODE};
use super::mask::{Mask, Masks};
use schedlab_bpf::MemoryError;
use schedlab_model::{cpuset::CpuSet, ids::CpuId, machine::Topology};

/// The idle masks and what the choice needs of the topology.
pub struct Idle {
    /// CPUs that are idle and not yet promised to a task.
    pub cpus: Mask,
    /// CPUs of cores all of whose threads are idle.
    pub cores: Mask,
    /// How many CPUs are in [`Idle::cpus`].
    count: u32,
    topology: Topology,
    llcs: Vec<Mask>,
    nodes: Vec<Mask>,
    /// By node, where the policy asked for that (`SCX_OPS_BUILTIN_IDLE_PER_NODE`).
    by_node: Vec<InNode>,
}

/// What is idle in a node.
struct InNode {
    /// All of its CPUs.
    span: Mask,
    /// As [`Idle::cpus`].
    cpus: Mask,
    /// As [`Idle::cores`].
    cores: Mask,
}

/// How a kernel looks for an idle CPU (`SCX_PICK_IDLE_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only wholly idle cores.
    pub core: bool,
    /// Only in the node in which the search begins.
    pub in_node: bool,
}

impl Wanted {
    /// As flags say it.
    pub fn of(flags: u64) -> Wanted {
        Wanted { core: flags & SCX_PICK_IDLE_CORE != 0, in_node: flags & SCX_PICK_IDLE_IN_NODE != 0 }
    }
}

impl Idle {
    /// All CPUs busy.
    pub fn new(masks: &mut Masks, topology: Topology) -> Result<Idle, MemoryError> {
        let part = |masks: &mut Masks, parts: u32, of: fn(&Topology, CpuId) -> u32| {
            let size = topology.cpus() / parts;
            (0..parts).map(|p| masks.create(&topology.sharing(CpuId(p * size), of))).collect::<Result<Vec<_>, _>>()
        };
        let llc_count = topology.nodes * topology.llcs_per_node;
        let none = CpuSet::default();
        Ok(Idle {
            cpus: masks.create(&none)?,
            cores: masks.create(&none)?,
            count: 0,
            topology,
            // As in the kernel: a level that is the whole machine, or the same as the one below, is not looked at.
            llcs: if llc_count > 1 { part(masks, llc_count, Topology::llc_of)? } else { Vec::new() },
            nodes: if topology.nodes > 1 && topology.llcs_per_node > 1 {
                part(masks, topology.nodes, Topology::node_of)?
            } else {
                Vec::new()
            },
            by_node: Vec::new(),
        })
    }

    /// Keeps masks by node from now on; no CPU is idle yet.
    pub fn split(&mut self, masks: &mut Masks) -> Result<(), MemoryError> {
        let (topology, none) = (self.topology, CpuSet::default());
        let size = topology.cpus() / topology.nodes;
        for node in 0..topology.nodes {
            let span = masks.create(&topology.sharing(CpuId(node * size), Topology::node_of))?;
            self.by_node.push(InNode { span, cpus: masks.create(&none)?, cores: masks.create(&none)? });
        }
        Ok(())
    }

    /// Whether masks are kept by node.
    pub fn is_split(&self) -> bool {
        !self.by_node.is_empty()
    }

    /// The idle CPUs of a node.
    pub fn cpus_of(&self, node: u32) -> &Mask {
        &self.by_node[node as usize].cpus
    }

    /// The CPUs of its wholly idle cores; without hardware threads each CPU is a core.
    pub fn whole_cores_of(&self, node: u32) -> &Mask {
        let node = &self.by_node[node as usize];
        if self.smt() { &node.cores } else { &node.cpus }
    }

    /// The CPUs of a node.
    pub fn span_of(&self, node: u32) -> &Mask {
        &self.by_node[node as usize].span
    }

    fn threads(&self, cpu: u32) -> std::ops::Range<u32> {
        let n = self.topology.threads_per_core;
        cpu / n * n..cpu / n * n + n
    }

    fn smt(&self) -> bool {
        self.topology.threads_per_core > 1
    }

    /// A CPU became idle.
    pub fn set(&mut self, cpu: u32) {
        if self.cpus.contains(cpu) {
            return;
        }
        self.cpus.insert(cpu);
        self.count += 1;
        if self.smt() && self.threads(cpu).all(|c| self.cpus.contains(c)) {
            self.threads(cpu).for_each(|c| self.cores.insert(c));
        }
        if self.is_split() {
            self.note_in_node(cpu);
        }
    }

    /// What is idle in the node of a CPU, which has changed.
    #[cold]
    fn note_in_node(&self, cpu: u32) {
        let node = &self.by_node[self.topology.node_of(CpuId(cpu)) as usize];
        let copy = |from: &Mask, to: &Mask, cpu: u32| match from.contains(cpu) {
            true => to.insert(cpu),
            false => _ = to.remove(cpu),
        };
        copy(&self.cpus, &node.cpus, cpu);
        self.threads(cpu).for_each(|cpu| copy(&self.cores, &node.cores, cpu));
    }

    /// A CPU is idle no more, or is promised to a task. Whether it was idle.
    pub fn clear(&mut self, cpu: u32) -> bool {
        if self.count == 0 || cpu >= self.topology.cpus() || !self.cpus.remove(cpu) {
            return false;
        }
        self.count -= 1;
        if self.smt() {
            self.threads(cpu).for_each(|c| _ = self.cores.remove(c));
        }
        if self.is_split() {
            self.note_in_node(cpu);
        }
        true
    }

    /// CPUs of wholly idle cores; without hardware threads each CPU is a core.
    pub fn whole_cores(&self) -> &Mask {
        if self.smt() { &self.cores } else { &self.cpus }
    }

    /// Whether some CPU is idle.
    #[inline]
    pub fn any(&self) -> bool {
        self.count > 0
    }

    /// Takes the first idle CPU of `allowed`, and of `within` if given.
    fn take(&mut self, allowed: &Mask, within: Option<&Mask>, whole_core: bool) -> Option<u32> {
        let idle = if whole_core { self.whole_cores() } else { &self.cpus };
        let cpu = idle.first_common(allowed, within)?;
        self.clear(cpu);
        Some(cpu)
    }

    /// `scx_bpf_pick_idle_cpu`: takes an idle CPU of `allowed`, of a wholly idle core if one exists; only that if
    /// `core_only`.
    pub fn pick(&mut self, allowed: &Mask, core_only: bool) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let core = if self.smt() { self.take(allowed, None, true) } else { None };
        if core.is_some() || (core_only && self.smt()) {
            return core;
        }
        self.take(allowed, None, false)
    }

    /// The same in one NUMA node after the other, beginning with this one (`scx_pick_idle_cpu`): all are equally far.
    pub fn pick_by_node(&mut self, allowed: &Mask, node: u32, wanted: Wanted) -> Option<u32> {
        let others = (0..self.topology.nodes).filter(|&other| other != node && !wanted.in_node);
        std::iter::once(node).chain(others).find_map(|node| {
            let span = self.by_node[node as usize].span.clone();
            let core = if self.smt() { self.take(allowed, Some(&span), true) } else { None };
            let is_done = core.is_some() || (wanted.core && self.smt());
            if is_done { core } else { self.take(allowed, Some(&span), false) }
        })
    }

    /// An idle CPU anywhere, where the search begins at this CPU.
    fn take_anywhere(&mut self, from: u32, allowed: &Mask, whole_core: bool, wanted: Wanted) -> Option<u32> {
        if !self.is_split() {
            return self.take(allowed, None, whole_core);
        }
        let node = self.topology.node_of(CpuId(from));
        self.pick_by_node(allowed, node, Wanted { core: whole_core, ..wanted })
    }

    /// The kernel's default choice for a task that wakes (`scx_select_cpu_dfl`). `waker` is the CPU of a synchronous
    /// waker whose local queue is empty.
    pub fn select(
        &mut self,
        previous: u32,
        allowed: &Mask,
        sync_waker: Option<(u32, bool)>,
        wanted: Wanted,
    ) -> Option<u32> {
        let may_stay = allowed.contains(previous);
        if let Some((waker, local_queue_is_empty)) = sync_waker {
            let same_cache = self.topology.llc_of(CpuId(waker)) == self.topology.llc_of(CpuId(previous));
            if may_stay && same_cache && self.clear(previous) {
                return Some(previous);
            }
            if local_queue_is_empty && self.attracts(waker, previous, wanted) && allowed.contains(waker) {
                self.clear(waker);
                return Some(waker);
            }
        }
        if self.count == 0 {
            return None;
        }
        if !self.smt() && self.llcs.is_empty() && !self.is_split() {
            // No CPU is nearer than another.
            let stays = may_stay && self.clear(previous);
            return if stays { Some(previous) } else { self.take(allowed, None, false) };
        }
        let near: [Option<Mask>; 2] = [
            self.llcs.get(self.topology.llc_of(CpuId(previous)) as usize).cloned(),
            self.nodes.get(self.topology.node_of(CpuId(previous)) as usize).cloned(),
        ];
        if self.smt() {
            if may_stay && self.cores.contains(previous) && self.clear(previous) {
                return Some(previous);
            }
            let found = near.iter().flatten().find_map(|span| self.take(allowed, Some(span), true));
            if let Some(cpu) = found.or_else(|| self.take_anywhere(previous, allowed, true, wanted)) {
                return Some(cpu);
            }
            if wanted.core {
                return None;
            }
        }
        if may_stay && self.clear(previous) {
            return Some(previous);
        }
        if self.smt()
            && let Some(sibling) = self.threads(previous).find(|&c| allowed.contains(c) && self.cpus.contains(c))
        {
            self.clear(sibling);
            return Some(sibling);
        }
        let found = near.iter().flatten().find_map(|span| self.take(allowed, Some(span), false));
        found.or_else(|| self.take_anywhere(previous, allowed, false, wanted))
    }

    /// Whether a synchronous waker may keep the task that it wakes: the machine is not full, or its node where masks are kept
    /// by node.
    fn attracts(&self, waker: u32, previous: u32, wanted: Wanted) -> bool {
        if !self.is_split() {
            return self.any();
        }
        let node = self.topology.node_of(CpuId(waker));
        let is_near = !wanted.in_node || node == self.topology.node_of(CpuId(previous));
        is_near && self.cpus_of(node).iter().next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_bpf::GuestMemory;

    fn idle(topology: Topology, cpus: &[u32]) -> (Idle, Mask) {
        let memory = GuestMemory::new().expect("memory");
        let mut masks = Masks::new(&memory, topology.cpus());
        let mut idle = Idle::new(&mut masks, topology).expect("masks");
        cpus.iter().for_each(|&c| idle.set(c));
        let all = masks.create(&CpuSet::first(topology.cpus())).expect("mask");
        (idle, all)
    }

    #[test]
    fn the_previous_cpu_is_kept_when_it_is_idle() {
        let (mut i, all) = idle(Topology::flat(4), &[1, 2]);
        assert_eq!(i.select(2, &all, None, Wanted::default()), Some(2));
        assert_eq!(i.select(2, &all, None, Wanted::default()), Some(1));
        assert_eq!(i.select(2, &all, None, Wanted::default()), None);
    }

    #[test]
    fn a_whole_core_is_better_than_the_previous_thread_and_the_same_cache_better_than_another() {
        let topology = Topology { nodes: 1, llcs_per_node: 2, cores_per_llc: 2, threads_per_core: 2 };
        let (mut i, all) = idle(topology, &[0, 2, 3, 4, 5, 6]);
        let picks: Vec<_> = std::iter::from_fn(|| i.select(0, &all, None, Wanted::default())).collect();
        // The whole cores 2-3 (near) and 4-5 (far), each left half idle, then the thread itself, near, far.
        assert_eq!(picks, [2, 4, 0, 3, 5, 6]);
    }

    #[test]
    fn a_synchronous_wakeup_stays_with_the_waker_while_the_machine_is_not_full() {
        let (mut i, all) = idle(Topology::flat(4), &[3]);
        assert_eq!(i.select(1, &all, Some((0, true)), Wanted::default()), Some(0));
        assert_eq!(i.select(1, &all, Some((0, false)), Wanted::default()), Some(3));
        assert_eq!(i.select(1, &all, Some((0, true)), Wanted::default()), None);
    }

    #[test]
    fn allowed_sets_bind() {
        let (mut i, _) = idle(Topology::flat(4), &[0, 1, 2, 3]);
        let memory = GuestMemory::new().expect("memory");
        let only = Masks::new(&memory, 4).create(&[CpuId(2)].into_iter().collect()).expect("mask");
        assert_eq!((i.select(0, &only, None, Wanted::default()), i.pick(&only, false)), (Some(2), None));
    }
    #[test]
    fn nodes_are_searched_in_order_where_masks_are_kept_by_node() {
        let topology = Topology { nodes: 2, llcs_per_node: 1, cores_per_llc: 2, threads_per_core: 1 };
        let memory = GuestMemory::new().expect("memory");
        let mut masks = Masks::new(&memory, 4);
        let mut i = Idle::new(&mut masks, topology).expect("masks");
        i.split(&mut masks).expect("masks");
        (0..4).for_each(|cpu| i.set(cpu));
        let all = masks.create(&CpuSet::first(4)).expect("mask");
        let in_node = Wanted { in_node: true, ..Wanted::default() };
        assert_eq!([1, 1].map(|node| i.pick_by_node(&all, node, in_node)), [Some(2), Some(3)]);
        assert_eq!(
            (i.pick_by_node(&all, 1, in_node), i.cpus_of(1).iter().count(), i.cpus_of(0).iter().count()),
            (None, 0, 2)
        );
        assert_eq!(i.pick_by_node(&all, 1, Wanted::default()), Some(0));
        // The default choice begins in the node of the previous CPU.
        i.set(2);
        i.set(0);
        assert_eq!(i.select(3, &all, None, Wanted::default()), Some(2));
    }
}
