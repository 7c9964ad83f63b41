//! How much the real-time class of each CPU may have: what keeps the account, and which task has the CPU when it is used up.

use super::release::{Protection, Rules};
use super::server::Server;
use super::throttle::{PERIOD_NS, Throttle};
use crate::scx::core::Core;
use crate::scx::cpu::NONE;
use crate::scx::policy::Sim;
use crate::world::timers::Due;

/// The account of a CPU.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// Real-time tasks are throttled.
    Throttle(Throttle),
    /// Others have a server.
    Server(Server),
}

impl Limit {
    /// Under the rules of a release.
    pub fn new(rules: Rules) -> Limit {
        match rules.protection {
            Protection::Throttling { .. } => Limit::Throttle(Throttle::new()),
            Protection::Server => Limit::Server(Server::new()),
        }
    }

    /// Whether a server runs tasks of the policy.
    pub fn serves(&self) -> bool {
        matches!(self, Limit::Server(server) if server.serves())
    }
}

impl Core {
    /// The running task was charged for that much, up to now. A class that has used up what it has loses the CPU.
    pub fn charge_class(&mut self, slot: u32, length_ns: u64) {
        let (cpu, is_realtime) = (self.entity(slot).cpu, self.entity(slot).is_realtime());
        let reserves = self.entity(slot).class.reservation().is_some();
        if reserves {
            self.charge_reservation(slot, length_ns);
        }
        // A reservation counts as used where periods go by, which it does not begin (`sched_rt_bandwidth_account`).
        let counts = is_realtime && (!reserves || self.realtime.has_periods);
        // What a CPU pays beforehand lies in the future.
        let now_ns = self.cpu(cpu).accounted_ns;
        let is_over = match &mut self.cpu_mut(cpu).limit {
            Limit::Throttle(throttle) => counts && throttle.spend(length_ns),
            Limit::Server(server) => !is_realtime && server.spend(now_ns, length_ns),
        };
        if is_over && (!is_realtime || self.throttle(cpu)) {
            self.request_resched(cpu);
        }
    }

    /// The CPU was idle for that much, up to now.
    pub fn charge_idle(&mut self, cpu: u32, length_ns: u64) {
        let now_ns = self.cpu(cpu).accounted_ns;
        if let Limit::Server(server) = &mut self.cpu_mut(cpu).limit {
            server.pass_idle(now_ns, length_ns);
        }
    }

    /// The real-time class of a CPU has used up its part. Whether it rests now, and does not borrow.
    fn throttle(&mut self, cpu: u32) -> bool {
        if self.realtime.rules.protection == (Protection::Throttling { borrows: true }) {
            self.borrow(cpu);
        }
        match &mut self.cpu_mut(cpu).limit {
            Limit::Throttle(throttle) if throttle.left_ns() == 0 => throttle.rest(),
            _ => return false,
        }
        true
    }

    fn borrow(&mut self, cpu: u32) {
        let count = self.cpus.len();
        let Limit::Throttle(mut own) = self.cpu(cpu).limit else { return };
        for other in (0..count).filter(|&other| other != cpu) {
            if let Limit::Throttle(throttle) = &mut self.cpus[other].limit {
                own.borrow_from(throttle, u64::from(count));
            }
        }
        self.cpu_mut(cpu).limit = Limit::Throttle(own);
    }

    /// A real-time task comes: periods begin, if they have not begun.
    pub fn begin_periods(&mut self) {
        let throttles = matches!(self.realtime.rules.protection, Protection::Throttling { .. });
        if throttles && !std::mem::replace(&mut self.realtime.has_periods, true) {
            self.world.timers.push(self.world.now_ns + PERIOD_NS, Due::RealtimePeriod);
        }
    }

    /// Tasks of the policy that want the CPU, or run there, are one more or one less.
    #[inline]
    pub fn count_policy_task(&mut self, cpu: u32, comes: bool) {
        if self.realtime.exists {
            self.count_served(cpu, comes);
        }
    }

    fn count_served(&mut self, cpu: u32, comes: bool) {
        self.account(cpu);
        let now_ns = self.world.now_ns;
        let c = self.cpu_mut(cpu);
        c.policy_tasks = if comes { c.policy_tasks + 1 } else { c.policy_tasks - 1 };
        if let (Limit::Server(server), true, 1) = (&mut c.limit, comes, c.policy_tasks) {
            server.catch_up(now_ns);
            server.start(now_ns);
            if server.serves() {
                self.request_resched(cpu);
            }
            self.mark_stale(cpu);
        }
    }

    /// When the account of a CPU has to be looked at if nothing else happens before, from `from_ns` on. What is used up is
    /// seen at a tick, where there are any.
    pub fn limit_due_ns(&self, cpu: u32, from_ns: u64) -> u64 {
        let current = self.cpu(cpu).current;
        let is_realtime = current != NONE && self.entity(current).is_realtime();
        let reserves = current != NONE && self.entity(current).class.reservation().is_some();
        let after = |left_ns: u64| match left_ns {
            u64::MAX => u64::MAX,
            left_ns if self.machine.tick.ns() > 0 => self.machine.next_tick(from_ns.saturating_add(left_ns)),
            left_ns => from_ns.saturating_add(left_ns),
        };
        match &self.cpu(cpu).limit {
            Limit::Throttle(throttle) if is_realtime && !reserves => after(throttle.left_ns()),
            Limit::Throttle(_) => u64::MAX,
            // There is no task to serve; so a machine on which nothing happens any more is still.
            Limit::Server(_) if current == NONE => u64::MAX,
            Limit::Server(server) if server.serves() && !is_realtime => after(server.left_ns()),
            Limit::Server(server) => server.timer_ns().max(from_ns),
        }
    }

    /// The timer of a CPU's server may be due.
    pub fn look_at_limit(&mut self, cpu: u32) {
        let now_ns = self.world.now_ns;
        let Limit::Server(server) = &mut self.cpu_mut(cpu).limit else { return };
        if server.timer_ns() <= now_ns && server.expire(now_ns) {
            self.request_resched(cpu);
        }
    }

    /// The CPU was to run a task of the policy before real-time ones, and there is none. Whether that was so.
    pub fn stop_serving(&mut self, cpu: u32) -> bool {
        match &mut self.cpu_mut(cpu).limit {
            Limit::Server(server) if server.serves() => {
                server.stop();
                true
            }
            _ => false,
        }
    }
}

impl Sim {
    /// A period of throttling is over, and another one begins if there are real-time tasks, or what they left.
    pub fn begin_realtime_period(&mut self) {
        let Protection::Throttling { borrows } = self.core.realtime.rules.protection else { return };
        let mut is_needed = false;
        for cpu in 0..self.core.cpus.len() {
            self.core.account(cpu);
            let runs = self.core.current(cpu).is_some_and(|slot| self.core.entity(slot).is_realtime());
            let c = self.core.cpu_mut(cpu);
            let Limit::Throttle(throttle) = &mut c.limit else { continue };
            let wakes = throttle.begin_period(borrows);
            is_needed |= throttle.has_used() || runs || !c.realtime.is_empty();
            if wakes && !c.realtime.is_empty() {
                self.core.request_resched(cpu);
            }
            self.core.mark_stale(cpu);
        }
        self.core.realtime.has_periods = is_needed;
        if is_needed {
            self.core.world.timers.push(self.core.world.now_ns + PERIOD_NS, Due::RealtimePeriod);
        }
    }
}
