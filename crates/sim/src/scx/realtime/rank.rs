//! Who goes first on a CPU: what the classes deadline, fifo and rr compare.

use super::Limit;
use super::budget::Budget;
use crate::scx::core::Core;
use crate::scx::entity::State;
use schedlab_model::workload::Class;
use std::cmp::Reverse;

/// The place of a task among those that want a CPU; the greatest goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// It is under the policy, or there is none.
    Policy,
    /// Its real-time priority.
    Priority(u8),
    /// Its deadline: the earliest goes first.
    Deadline(Reverse<u64>),
}

impl Rank {
    /// Whether it is of the class deadline.
    pub fn is_deadline(self) -> bool {
        matches!(self, Rank::Deadline(_))
    }
}

impl Limit {
    /// What has to go before tasks of the policy, where these have their turn.
    pub fn rank(&self) -> Rank {
        match self {
            Limit::Throttle(throttle) if throttle.is_throttled() => Rank::Priority(u8::MAX),
            Limit::Server(server) if server.serves() => Rank::Deadline(Reverse(server.deadline_ns())),
            Limit::Throttle(_) | Limit::Server(_) => Rank::Policy,
        }
    }
}

impl Core {
    /// The rank of a task.
    pub fn rank(&self, slot: u32) -> Rank {
        match self.entity(slot).class {
            Class::Other | Class::Batch | Class::Idle => Rank::Policy,
            Class::Fifo(priority) | Class::RoundRobin(priority) => Rank::Priority(priority),
            Class::Deadline(reservation) => {
                let new = || self.world.now_ns + reservation.deadline().ns();
                let budget = self.realtime.budgets.get(&slot);
                Rank::Deadline(Reverse(budget.map_or_else(new, Budget::deadline_ns)))
            }
        }
    }

    /// The highest rank of the real-time tasks of a CPU. One that is about to leave is none of them.
    pub fn realtime_level(&self, cpu: u32) -> Rank {
        let running = self.current(cpu).filter(|&slot| self.entity(slot).state == State::Running);
        let running = running.map_or(Rank::Policy, |slot| self.rank(slot));
        running.max(self.first_waiting(cpu))
    }

    /// The rank of the real-time task that waits on a CPU and is next.
    pub fn first_waiting(&self, cpu: u32) -> Rank {
        self.cpu(cpu).realtime.first().map_or(Rank::Policy, |&slot| self.rank(slot))
    }
}
