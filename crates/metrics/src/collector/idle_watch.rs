//! Work conservation: CPU time left idle while a task waits that is allowed there.

use schedlab_model::{
    cpuset::CpuSet,
    ids::CpuId,
    workload::{Role, Workload},
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// CPUs that belong to the same allowed sets; for the question asked here they are alike.
#[derive(Clone, Debug, Default)]
struct Kind {
    idle: u32,
    /// How many allowed sets with a waiting task contain these CPUs.
    wanted: u32,
}

/// The CPUs that one or more roles are allowed on.
#[derive(Clone, Debug, Default)]
struct AllowedSet {
    waiting: u64,
    /// Whether [`Kind::wanted`] of its kinds counts it.
    counted: bool,
    /// Whether it is in the list of those to be looked at.
    touched: bool,
    kinds: Vec<u32>,
}

/// Sums up idle CPUs × time, over the CPUs on which a waiting task is allowed.
///
/// A CPU with work of the system in hand is not idle. Several idle CPUs next to one waiting task all count: each of them
/// could have run it. What begins and ends at one instant costs nothing: sets are looked at when time moves.
#[derive(Debug)]
pub(super) struct IdleWatch {
    sets: Vec<AllowedSet>,
    set_of_role: Vec<u32>,
    kinds: Vec<Kind>,
    kind_of_cpu: Vec<u32>,
    touched: Vec<u32>,
    /// Idle CPUs on which a waiting task is allowed.
    violating: u64,
    violation_ns: u64,
    /// Idle CPUs busy with overhead, until when.
    in_overhead: BinaryHeap<Reverse<(u64, u32)>>,
}

impl IdleWatch {
    /// All CPUs are idle at first.
    pub fn new(workload: &Workload) -> IdleWatch {
        let cpus = workload.machine.cpus();
        // Of tasks that change their CPUs it is not known when: an idle CPU is one for them where it is in all sets. One that is
        // offline for a while is none.
        let goes = |cpu: &CpuId| workload.hotplug.iter().any(|event| event.cpu == *cpu);
        let certain = |role: &Role| role.certain_cpus().iter().filter(|cpu| !goes(cpu)).collect();
        let cpus_of_roles: Vec<CpuSet> = workload.roles.iter().map(certain).collect();
        let mut distinct: Vec<&CpuSet> = Vec::new();
        let mut number_of: BTreeMap<&[u64], u32> = BTreeMap::new();
        let mut set_of_role = Vec::new();
        for cpus_of_role in &cpus_of_roles {
            let next = distinct.len() as u32;
            let set = *number_of.entry(cpus_of_role.words()).or_insert(next);
            if set == next {
                distinct.push(cpus_of_role);
            }
            set_of_role.push(set);
        }
        let mut memberships = vec![Vec::new(); cpus as usize];
        for (number, set) in distinct.iter().enumerate() {
            set.iter().filter(|cpu| cpu.0 < cpus).for_each(|cpu| memberships[cpu.index()].push(number as u32));
        }
        let mut sets = vec![AllowedSet::default(); distinct.len()];
        let mut kinds: Vec<Kind> = Vec::new();
        let mut kind_of_membership: BTreeMap<&[u32], u32> = BTreeMap::new();
        let mut kind_of_cpu = Vec::new();
        for membership in &memberships {
            let next = kinds.len() as u32;
            let kind = *kind_of_membership.entry(membership).or_insert(next);
            if kind == next {
                kinds.push(Kind::default());
                membership.iter().for_each(|&set| sets[set as usize].kinds.push(kind));
            }
            kinds[kind as usize].idle += 1;
            kind_of_cpu.push(kind);
        }
        IdleWatch {
            sets,
            set_of_role,
            kinds,
            kind_of_cpu,
            touched: Vec::new(),
            violating: 0,
            violation_ns: 0,
            in_overhead: BinaryHeap::new(),
        }
    }

    /// A task of this role begins to wait.
    #[inline]
    pub fn wait_begins(&mut self, role: usize) {
        let number = self.set_of_role[role];
        let set = &mut self.sets[number as usize];
        set.waiting += 1;
        if set.waiting == 1 {
            self.touch(number);
        }
    }

    /// A task of this role waits no longer.
    #[inline]
    pub fn wait_ends(&mut self, role: usize) {
        let number = self.set_of_role[role];
        let set = &mut self.sets[number as usize];
        set.waiting -= 1;
        if set.waiting == 0 {
            self.touch(number);
        }
    }

    /// A set got its first waiting task, or lost its last one.
    fn touch(&mut self, number: u32) {
        let set = &mut self.sets[number as usize];
        if !std::mem::replace(&mut set.touched, true) {
            self.touched.push(number);
        }
    }

    /// The CPU becomes idle.
    pub fn idle_begins(&mut self, cpu: usize) {
        let kind = &mut self.kinds[self.kind_of_cpu[cpu] as usize];
        kind.idle += 1;
        self.violating += u64::from(kind.wanted > 0);
    }

    /// The CPU is idle no longer.
    pub fn idle_ends(&mut self, cpu: usize) {
        let kind = &mut self.kinds[self.kind_of_cpu[cpu] as usize];
        kind.idle -= 1;
        self.violating -= u64::from(kind.wanted > 0);
    }

    /// The CPU, idle except for overhead, is through with that at `until`.
    pub fn overhead_until(&mut self, cpu: usize, until: u64) {
        self.in_overhead.push(Reverse((until, cpu as u32)));
    }

    /// The first CPU that is through with its overhead at or before `now`, and when.
    #[inline]
    pub fn overhead_over(&mut self, now: u64) -> Option<(u64, usize)> {
        let &Reverse((until, cpu)) = self.in_overhead.peek()?;
        if until > now {
            return None;
        }
        self.in_overhead.pop();
        Some((until, cpu as usize))
    }

    /// Time moves on by `length`.
    #[inline]
    pub fn pass(&mut self, length: u64) {
        if !self.touched.is_empty() {
            self.recount();
        }
        self.violation_ns += self.violating * length;
    }

    fn recount(&mut self) {
        for number in self.touched.drain(..) {
            let set = &mut self.sets[number as usize];
            set.touched = false;
            let counts = set.waiting > 0;
            if counts == set.counted {
                continue;
            }
            set.counted = counts;
            for &kind in &set.kinds {
                let kind = &mut self.kinds[kind as usize];
                let before = kind.wanted > 0;
                kind.wanted = if counts { kind.wanted + 1 } else { kind.wanted - 1 };
                match (before, kind.wanted > 0) {
                    (false, true) => self.violating += u64::from(kind.idle),
                    (true, false) => self.violating -= u64::from(kind.idle),
                    _ => {}
                }
            }
        }
    }

    /// The sum since the last [`IdleWatch::clear`].
    pub fn violation_ns(&self) -> u64 {
        self.violation_ns
    }

    /// Starts the sum again.
    pub fn clear(&mut self) {
        self.violation_ns = 0;
    }
}
