//! Tasks of the class deadline (`SCHED_DEADLINE`): the one with the earliest deadline goes first, before all other classes, and
//! rests when it has used up what it reserved.

use super::budget::Budget;
use crate::scx::core::Core;
use crate::scx::cpu::NONE;
use crate::scx::entity::State;
use crate::scx::policy::Sim;
use crate::world::timers::Due;
use schedlab_model::reservation::Reservation;
use schedlab_model::time::Time;
use schedlab_model::trace::Reason;
use schedlab_model::workload::Class;

impl Core {
    /// A task of the class wants a CPU. Whether it may have one now; if not, it rests until its next period.
    pub fn begin_reservation(&mut self, slot: u32, reservation: Reservation) -> bool {
        let now_ns = self.world.now_ns;
        let Some(budget) = self.realtime.budgets.get_mut(&slot) else {
            self.realtime.budgets.insert(slot, Budget::new(reservation, now_ns));
            return true;
        };
        let rested = budget.is_throttled();
        let runs = budget.wake(now_ns);
        if !runs && !rested {
            let at_ns = budget.next_period_ns();
            self.world.timers.push(at_ns, Due::Replenish(slot));
        }
        runs
    }

    /// The task had the CPU for that much.
    pub fn charge_reservation(&mut self, slot: u32, length_ns: u64) {
        if let Some(budget) = self.realtime.budgets.get_mut(&slot) {
            budget.spend(length_ns);
        }
    }

    /// How long a task can run before it has used up its reservation.
    pub fn reserved_ns(&self, slot: u32) -> u64 {
        self.realtime.budgets.get(&slot).map_or(u64::MAX, Budget::left_ns)
    }

    /// Whether the end of its slice, or of its reservation, waits for a tick.
    pub fn ends_at_ticks(&self, class: Class) -> bool {
        self.machine.tick > Time::ZERO && !(class.reservation().is_some() && self.realtime.rules.has_timers)
    }

    /// Whether a task of the class rests.
    pub fn rests(&self, slot: u32) -> bool {
        self.realtime.budgets.get(&slot).is_some_and(Budget::is_throttled)
    }

    /// The task leaves the class, or ends.
    pub fn end_reservation(&mut self, slot: u32) {
        self.realtime.budgets.remove(&slot);
    }
}

impl Sim {
    /// The running task may have used up its reservation, or has yielded, which gives up the rest of it. Whether it leaves its CPU
    /// for that.
    pub fn look_at_reservation(&mut self, slot: u32, left: Option<Reason>) -> bool {
        if slot == NONE || self.core.entity(slot).state != State::Running {
            return false;
        }
        let now_ns = self.core.world.now_ns;
        let Some(budget) = self.core.realtime.budgets.get_mut(&slot) else { return false };
        if left == Some(Reason::Yielded) {
            budget.give_up();
        }
        if budget.left_ns() > 0 || !budget.throttle(now_ns) {
            return false;
        }
        let at_ns = budget.next_period_ns();
        self.core.world.timers.push(at_ns, Due::Replenish(slot));
        self.core.entity_mut(slot).state = State::Runnable;
        true
    }

    /// The next period of a task begins, unless it was replenished meanwhile or is another task.
    pub fn replenish(&mut self, slot: u32) {
        let now_ns = self.core.world.now_ns;
        let Some(budget) = self.core.realtime.budgets.get_mut(&slot) else { return };
        if !budget.is_throttled() || budget.next_period_ns() > now_ns {
            return;
        }
        budget.replenish(now_ns);
        if self.core.entity(slot).state == State::Runnable {
            self.core.this_cpu = self.core.entity(slot).cpu;
            self.queue_and_preempt(slot);
        }
    }
}
