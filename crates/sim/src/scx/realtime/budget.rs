//! What a task of the class deadline has left of its reservation, and until when: a constant bandwidth server
//! (`enqueue_dl_entity`, `update_curr_dl`, `replenish_dl_entity` of `kernel/sched/deadline.c`).
//!
//! Example: 10 ms of each 100 ms, asked for at 0 by a task that wants 15 ms. It runs until 10 ms, rests until 100 ms, when
//! it has the next 10 ms and the deadline 200 ms, and ends at 105 ms.

use schedlab_model::reservation::Reservation;

/// What is left of a reservation.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    reservation: Reservation,
    /// What is left before the deadline; below zero where more was used.
    left_ns: i64,
    deadline_ns: u64,
    /// Whether it rests until its next period.
    throttled: bool,
}

impl Budget {
    /// A whole one, from now on (`setup_new_dl_entity`).
    pub fn new(reservation: Reservation, now_ns: u64) -> Budget {
        let mut budget = Budget { reservation, left_ns: 0, deadline_ns: 0, throttled: false };
        budget.begin_period(now_ns);
        budget
    }

    /// The deadline: who has the earliest goes first.
    pub fn deadline_ns(&self) -> u64 {
        self.deadline_ns
    }

    /// Whether its task rests.
    pub fn is_throttled(&self) -> bool {
        self.throttled
    }

    /// How long its task can still run.
    pub fn left_ns(&self) -> u64 {
        self.left_ns.max(0) as u64
    }

    /// When its next period begins (`dl_next_period`).
    pub fn next_period_ns(&self) -> u64 {
        self.deadline_ns - self.reservation.deadline().ns() + self.reservation.period().ns()
    }

    /// Its task had the CPU.
    pub fn spend(&mut self, length_ns: u64) {
        self.left_ns -= length_ns as i64;
    }

    /// Its task gives up what is left of the period (`yield_task_dl`).
    pub fn give_up(&mut self) {
        self.left_ns = self.left_ns.min(0);
    }

    /// Its task wakes. Whether it may run, or rests until its next period.
    pub fn wake(&mut self, now_ns: u64) -> bool {
        let is_constrained = self.reservation.deadline() < self.reservation.period();
        if !self.throttled && is_constrained && self.deadline_ns < now_ns && now_ns < self.next_period_ns() {
            // Its time was to be had before the deadline (`dl_check_constrained_dl`).
            self.throttled = true;
            self.give_up();
        }
        if !self.throttled {
            self.update(now_ns, is_constrained);
        }
        !self.throttled
    }

    /// What it has still fits before the deadline, or a new period begins (`update_dl_entity`).
    fn update(&mut self, now_ns: u64, is_constrained: bool) {
        if self.deadline_ns >= now_ns && !self.overflows(now_ns) {
            return;
        }
        if is_constrained && self.deadline_ns >= now_ns {
            // As much as its density allows (`update_dl_revised_wakeup`).
            let rest_ns = u128::from(self.deadline_ns - now_ns);
            let (runtime, deadline) = (self.reservation.runtime().ns(), self.reservation.deadline().ns());
            self.left_ns = (rest_ns * u128::from(runtime) / u128::from(deadline)) as i64;
            return;
        }
        self.begin_period(now_ns);
    }

    /// Whether to use what is left before the deadline would be more than the reserved part (`dl_entity_overflow`).
    fn overflows(&self, now_ns: u64) -> bool {
        let rest_ns = self.deadline_ns - now_ns;
        let (runtime, deadline) = (self.reservation.runtime().ns(), self.reservation.deadline().ns());
        u128::from(deadline) * u128::from(self.left_ns()) > u128::from(rest_ns) * u128::from(runtime)
    }

    fn begin_period(&mut self, now_ns: u64) {
        self.deadline_ns = now_ns + self.reservation.deadline().ns();
        self.left_ns = self.reservation.runtime().ns() as i64;
    }

    /// Nothing is left, or its task has given it up. Whether it rests now until its next period; if that has begun, it goes on.
    pub fn throttle(&mut self, now_ns: u64) -> bool {
        self.throttled = self.next_period_ns() > now_ns;
        if !self.throttled {
            self.replenish(now_ns);
        }
        self.throttled
    }

    /// Its next period begins (`dl_task_timer`).
    pub fn replenish(&mut self, now_ns: u64) {
        while self.left_ns <= 0 {
            self.deadline_ns += self.reservation.period().ns();
            self.left_ns += self.reservation.runtime().ns() as i64;
        }
        if self.deadline_ns < now_ns {
            self.begin_period(now_ns);
        }
        self.throttled = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::time::Time;

    const MS: u64 = 1_000_000;

    fn budget(runtime: u64, deadline: u64, period: u64) -> Budget {
        let [runtime, deadline, period] = [runtime, deadline, period].map(Time::from_ms);
        Budget::new(Reservation::new(runtime, deadline, period).unwrap(), 0)
    }

    #[test]
    fn a_task_that_wants_more_rests_until_its_next_period() {
        let mut budget = budget(10, 100, 100);
        budget.spend(10 * MS);
        assert!(budget.throttle(10 * MS) && budget.next_period_ns() == 100 * MS);
        assert!(!budget.wake(50 * MS), "it sleeps and wakes meanwhile");
        budget.replenish(100 * MS);
        assert_eq!((budget.left_ns(), budget.deadline_ns(), budget.is_throttled()), (10 * MS, 200 * MS, false));
        // What was too much is taken from the next period.
        budget.spend(12 * MS);
        assert!(budget.throttle(112 * MS));
        budget.replenish(200 * MS);
        assert_eq!(budget.left_ns(), 8 * MS);
    }

    #[test]
    fn a_task_that_wakes_keeps_what_still_fits() {
        let mut budget = budget(10, 100, 100);
        budget.spend(5 * MS);
        assert!(budget.wake(40 * MS));
        assert_eq!((budget.left_ns(), budget.deadline_ns()), (5 * MS, 100 * MS));
        // Of 5 ms only 4 would fit: a new period.
        assert!(budget.wake(60 * MS));
        assert_eq!((budget.left_ns(), budget.deadline_ns()), (10 * MS, 160 * MS));
        assert!(budget.wake(500 * MS));
        assert_eq!(budget.deadline_ns(), 600 * MS);
    }

    #[test]
    fn where_the_deadline_comes_before_the_period_ends_a_late_task_rests_or_has_less() {
        let mut budget = budget(10, 50, 100);
        budget.spend(2 * MS);
        assert!(budget.wake(30 * MS));
        // 8 ms do not fit into the 20 ms up to the deadline; 4 ms do.
        assert_eq!((budget.left_ns(), budget.deadline_ns()), (4 * MS, 50 * MS));
        assert!(!budget.wake(60 * MS) && budget.next_period_ns() == 100 * MS);
        budget.replenish(100 * MS);
        assert_eq!((budget.left_ns(), budget.deadline_ns()), (10 * MS, 150 * MS));
    }

    #[test]
    fn a_period_that_has_begun_is_not_waited_for() {
        let mut budget = budget(10, 100, 100);
        budget.spend(10 * MS);
        assert!(!budget.throttle(130 * MS));
        assert_eq!((budget.left_ns(), budget.deadline_ns()), (10 * MS, 200 * MS));
        budget.give_up();
        assert!(budget.left_ns() == 0 && budget.throttle(140 * MS));
    }
}
