//! The simulated machine: CPUs, their topology, the tick, and what things cost.

pub use crate::costs::Costs;
use crate::{cpuset::CpuSet, ids::CpuId, time::Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most CPUs a machine may have.
pub const MAX_CPUS: u32 = 4096;

/// How CPUs hang together. CPUs are numbered thread by thread, core by core, cache by cache, node by node: with
/// `1n2l4c2t` CPUs 0 and 1 are the two threads of the first core, 0 to 7 share the first last-level cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// NUMA nodes.
    pub nodes: u32,
    /// Last-level caches in each node.
    pub llcs_per_node: u32,
    /// Cores on each cache.
    pub cores_per_llc: u32,
    /// Hardware threads of each core.
    pub threads_per_core: u32,
}

impl Topology {
    /// One node, one cache, one thread per core.
    pub const fn flat(cpus: u32) -> Topology {
        Topology { nodes: 1, llcs_per_node: 1, cores_per_llc: cpus, threads_per_core: 1 }
    }

    /// All hardware threads.
    pub const fn cpus(&self) -> u32 {
        self.nodes * self.llcs_per_node * self.cores_per_llc * self.threads_per_core
    }

    /// The core a CPU belongs to, numbered over the machine.
    pub const fn core_of(&self, cpu: CpuId) -> u32 {
        cpu.0 / self.threads_per_core
    }

    /// The last-level cache a CPU belongs to, numbered over the machine.
    pub const fn llc_of(&self, cpu: CpuId) -> u32 {
        self.core_of(cpu) / self.cores_per_llc
    }

    /// The NUMA node a CPU belongs to.
    pub const fn node_of(&self, cpu: CpuId) -> u32 {
        self.llc_of(cpu) / self.llcs_per_node
    }

    /// The CPUs for which `part` (one of the `..._of` functions) gives the same number as for `cpu`.
    pub fn sharing(&self, cpu: CpuId, part: fn(&Topology, CpuId) -> u32) -> CpuSet {
        (0..self.cpus()).map(CpuId).filter(|&c| part(self, c) == part(self, cpu)).collect()
    }
}

/// Ways of a kernel that the simulated machine can have or not have. All on by default: what is switched off shows what
/// it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mechanisms {
    /// A task that waits for a semaphore, a mutex or a channel is woken and tries again (`futex_wait`, `pipe_read`,
    /// `pipe_write`, `sk_wait_data`); a task that runs first may take what it was woken for. Off: it is handed over.
    pub retry: bool,
    /// A call that wakes several tasks wakes one after the other, each when the wakeup before it is paid (`wake_up_q`). Off: all
    /// at one instant, and they are paid then.
    pub wake_one_by_one: bool,
    /// A task may lose its CPU between two wakeups of a call: kernels built with `PREEMPT` or `PREEMPT_LAZY`, whose sched_ext
    /// asks at once (`resched_curr`). Off: at the end of the call, as with `PREEMPT_VOLUNTARY`, and where the fair class asks
    /// lazily (`resched_curr_lazy`).
    pub preempt_in_calls: bool,
    /// A thread that forks waits while another thread of the process does, also if that one has lost its CPU meanwhile (the
    /// locks of the C library's allocator, and `mmap_write_lock` in `dup_mmap`). Off: forks do not wait for one another.
    pub one_fork_at_a_time: bool,
    /// A task that sends by a socket has the socket's lock until it continues behind its call, also if the receiver takes its CPU before
    /// (`lock_sock` in `tcp_sendmsg`); others that send by the same socket sleep meanwhile. Off: no task waits for a sender.
    pub socket_lock: bool,
    /// A pipe keeps the pages of two messages that were taken out for the next ones, as kernels since 6.15 do (`tmp_page`). Off: of one.
    pub pipe_keeps_two: bool,
    /// CPUs whose slices end at one tick all search for a task before one of them puts its own back (`balance_one` before
    /// `put_prev_task_scx`), where a switch takes time. Off: one CPU after the other.
    pub search_together: bool,
    /// A task that ends is taken out of its queue and put back when its memory is freed, and its CPU chooses again: it leaves its
    /// automatic group, though it has none (`sched_autogroup_exit_task`, `sched_move_task`). Off: as with kernels from 6.4 to
    /// 6.14, it keeps its CPU to the end. Where ends take no time there is no such moment.
    pub move_at_exit: bool,
}

impl Mechanisms {
    /// Each with its name.
    fn all_mut(&mut self) -> [(&'static str, &mut bool); 8] {
        let Mechanisms {
            retry,
            wake_one_by_one,
            preempt_in_calls,
            one_fork_at_a_time,
            socket_lock,
            pipe_keeps_two,
            search_together,
            move_at_exit,
        } = self;
        [
            ("retry", retry),
            ("wake_one_by_one", wake_one_by_one),
            ("preempt_in_calls", preempt_in_calls),
            ("one_fork_at_a_time", one_fork_at_a_time),
            ("socket_lock", socket_lock),
            ("pipe_keeps_two", pipe_keeps_two),
            ("search_together", search_together),
            ("move_at_exit", move_at_exit),
        ]
    }
}

impl Default for Mechanisms {
    fn default() -> Mechanisms {
        Mechanisms {
            retry: true,
            wake_one_by_one: true,
            preempt_in_calls: true,
            one_fork_at_a_time: true,
            socket_lock: true,
            pipe_keeps_two: true,
            search_together: true,
            move_at_exit: true,
        }
    }
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// How the CPUs hang together, and so how many there are.
    pub topology: Topology,
    /// The period of the timer tick. Zero: no tick, slices end to the nanosecond. Otherwise a slice ends at the first
    /// tick at or after its length, as in a kernel without a high-resolution scheduling tick.
    pub tick: Time,
    /// When the first tick comes after the policy's start, less than a period. A kernel ticked before it took the policy.
    pub tick_offset: Time,
    /// What things cost.
    pub costs: Costs,
    /// How it does things.
    pub mechanisms: Mechanisms,
    /// A runnable task that waits longer than this ends the policy. A policy may ask for less (`timeout_ms`).
    pub watchdog: Time,
}

/// How long a kernel lets a runnable task wait before it removes the policy (`SCX_WATCHDOG_MAX_TIMEOUT`).
pub const KERNEL_WATCHDOG: Time = Time::from_s(30);

/// There is no mechanism of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no mechanism `{0}`: there are {all}", all = Machine::mechanisms().collect::<Vec<_>>().join(", "))]
pub struct UnknownMechanism(pub String);

impl Machine {
    /// The names of all that can be switched off: what it does, and what it takes for itself.
    pub fn mechanisms() -> impl Iterator<Item = &'static str> {
        Mechanisms::default().all_mut().map(|(name, _)| name).into_iter().chain(Costs::NAMES.iter().copied())
    }

    /// The same machine without a mechanism.
    ///
    /// # Errors
    ///
    /// There is none of that name.
    pub fn without(mut self, name: &str) -> Result<Machine, UnknownMechanism> {
        let mechanism = self.mechanisms.all_mut().into_iter().find(|(known, _)| *known == name);
        if let Some((_, mechanism)) = mechanism {
            *mechanism = false;
            return Ok(self);
        }
        let cost = self.costs.times_mut().into_iter().find(|(known, _)| *known == name);
        *cost.ok_or_else(|| UnknownMechanism(name.into()))?.1 = Time::ZERO;
        Ok(self)
    }

    /// CPUs that share everything, slices to the nanosecond, nothing costs anything, a kernel's watchdog.
    pub fn flat(cpus: u32) -> Machine {
        Machine {
            topology: Topology::flat(cpus),
            tick: Time::ZERO,
            tick_offset: Time::ZERO,
            costs: Costs::default(),
            mechanisms: Mechanisms::default(),
            watchdog: KERNEL_WATCHDOG,
        }
    }

    /// Whether there is a tick at this nanosecond. The machine has ticks.
    #[inline]
    pub fn ticks_at(&self, ns: u64) -> bool {
        ns.checked_sub(self.tick_offset.ns()).is_some_and(|since| since.is_multiple_of(self.tick.ns()))
    }

    /// The nanosecond of the first tick at or after this one. The machine has ticks.
    #[inline]
    pub fn next_tick(&self, ns: u64) -> u64 {
        let (tick, offset) = (self.tick.ns(), self.tick_offset.ns());
        ns.saturating_sub(offset).div_ceil(tick).saturating_mul(tick).saturating_add(offset)
    }

    /// The number of CPUs.
    pub fn cpus(&self) -> u32 {
        self.topology.cpus()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_switched_off_is_off_and_nothing_else() {
        let with = || {
            let mut machine = Machine::flat(1);
            machine.costs.times_mut().into_iter().for_each(|(_, cost)| *cost = Time(7));
            machine
        };
        for name in Machine::mechanisms() {
            let mut machine = with().without(name).expect("it is one");
            let off = machine.costs.times_mut().into_iter().filter(|(_, cost)| **cost == Time::ZERO).count();
            let ways = machine.mechanisms.all_mut().into_iter().filter(|(_, way)| !**way).count();
            assert_eq!(off + ways, 1, "{name}");
        }
        assert!(with().without("luck").unwrap_err().to_string().contains(
            "retry, wake_one_by_one, preempt_in_calls, one_fork_at_a_time, socket_lock, pipe_keeps_two, search_together, move_at_exit, switch, \
             preempt"
        ));
    }

    #[test]
    fn ticks_come_at_their_offset() {
        let (tick, tick_offset) = (Time(10), Time(3));
        let machine = Machine { tick, tick_offset, ..Machine::flat(1) };
        let ticks: Vec<u64> = (0..30).filter(|&ns| machine.ticks_at(ns)).collect();
        assert_eq!(ticks, [3, 13, 23]);
        let next = |ns| machine.next_tick(ns);
        assert_eq!([next(0), next(3), next(4), next(13), next(14)], [3, 3, 13, 13, 23]);
    }

    #[test]
    fn parts_are_numbered_from_thread_to_node() {
        let t = Topology { nodes: 2, llcs_per_node: 2, cores_per_llc: 4, threads_per_core: 2 };
        assert_eq!(t.cpus(), 32);
        let cpu = CpuId(21);
        assert_eq!((t.core_of(cpu), t.llc_of(cpu), t.node_of(cpu)), (10, 2, 1));
        assert_eq!(t.sharing(cpu, Topology::core_of).to_string(), "20-21");
        assert_eq!(t.sharing(cpu, Topology::llc_of).to_string(), "16-23");
        assert_eq!(t.sharing(cpu, Topology::node_of).to_string(), "16-31");
    }
}
