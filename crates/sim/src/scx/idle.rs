//! Which CPUs are idle, and the kernel's own choice of one (`kernel/sched/ext/idle.c`).
//!
//! One difference: among equally good idle CPUs the kernel goes round, so that the choice depends on all earlier ones;
//! here it is the lowest number, so that a person can follow a trace. The tasks see the same kind of CPU either way.

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
    /// Scratch for the intersection of two masks.
    scratch: Mask,
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
            scratch: masks.create(&none)?,
        })
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

    /// The same within one NUMA node.
    pub fn pick_in_node(&mut self, allowed: &Mask, node: u32, core_only: bool) -> Option<u32> {
        let Some(span) = self.nodes.get(node as usize).cloned() else { return self.pick(allowed, core_only) };
        self.intersect(allowed, &span);
        let both = self.scratch.clone();
        self.pick(&both, core_only)
    }

    fn intersect(&mut self, a: &Mask, b: &Mask) {
        let set: CpuSet = a.iter().filter(|&c| b.contains(c)).map(CpuId).collect();
        self.scratch.assign(&set);
    }

    /// The kernel's default choice for a task that wakes (`scx_select_cpu_dfl`). `waker` is the CPU of a synchronous
    /// waker whose local queue is empty.
    pub fn select(
        &mut self,
        previous: u32,
        allowed: &Mask,
        sync_waker: Option<(u32, bool)>,
        core_only: bool,
    ) -> Option<u32> {
        let may_stay = allowed.contains(previous);
        if let Some((waker, local_queue_is_empty)) = sync_waker {
            let same_cache = self.topology.llc_of(CpuId(waker)) == self.topology.llc_of(CpuId(previous));
            if may_stay && same_cache && self.clear(previous) {
                return Some(previous);
            }
            if local_queue_is_empty && self.any() && allowed.contains(waker) {
                self.clear(waker);
                return Some(waker);
            }
        }
        if self.count == 0 {
            return None;
        }
        if !self.smt() && self.llcs.is_empty() {
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
            if let Some(cpu) = found.or_else(|| self.take(allowed, None, true)) {
                return Some(cpu);
            }
            if core_only {
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
        found.or_else(|| self.take(allowed, None, false))
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
        assert_eq!(i.select(2, &all, None, false), Some(2));
        assert_eq!(i.select(2, &all, None, false), Some(1));
        assert_eq!(i.select(2, &all, None, false), None);
    }

    #[test]
    fn a_whole_core_is_better_than_the_previous_thread_and_the_same_cache_better_than_another() {
        let topology = Topology { nodes: 1, llcs_per_node: 2, cores_per_llc: 2, threads_per_core: 2 };
        let (mut i, all) = idle(topology, &[0, 2, 3, 4, 5, 6]);
        let picks: Vec<_> = std::iter::from_fn(|| i.select(0, &all, None, false)).collect();
        // The whole cores 2-3 (near) and 4-5 (far), each left half idle, then the thread itself, near, far.
        assert_eq!(picks, [2, 4, 0, 3, 5, 6]);
    }

    #[test]
    fn a_synchronous_wakeup_stays_with_the_waker_while_the_machine_is_not_full() {
        let (mut i, all) = idle(Topology::flat(4), &[3]);
        assert_eq!(i.select(1, &all, Some((0, true)), false), Some(0));
        assert_eq!(i.select(1, &all, Some((0, false)), false), Some(3));
        assert_eq!(i.select(1, &all, Some((0, true)), false), None);
    }

    #[test]
    fn allowed_sets_bind() {
        let (mut i, _) = idle(Topology::flat(4), &[0, 1, 2, 3]);
        let memory = GuestMemory::new().expect("memory");
        let only = Masks::new(&memory, 4).create(&[CpuId(2)].into_iter().collect()).expect("mask");
        assert_eq!((i.select(0, &only, None, false), i.pick(&only, false)), (Some(2), None));
    }
}
