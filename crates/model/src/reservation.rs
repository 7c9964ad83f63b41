//! What a task of the class deadline reserves: so much CPU time in each period, to be had before a deadline
//! (`SCHED_DEADLINE`, `kernel/sched/deadline.c`).

use crate::time::Time;
use crate::workload::{Class, Role, Workload};
use serde::{Deserialize, Serialize};

/// The shortest runtime: the kernel counts in units of 1024 ns (`DL_SCALE`).
const LEAST_RUNTIME: Time = Time(1 << 10);
/// The shortest and the longest period (`sched_deadline_period_min_us`, `sched_deadline_period_max_us`).
const PERIODS: [Time; 2] = [Time::from_us(100), Time::from_us(1 << 22)];
/// Digits of a bandwidth behind the point, in binary (`BW_SHIFT`).
const SHIFT: u32 = 20;

/// A part of the CPU time of a machine, in 2^-20 of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bandwidth(pub u64);

impl Bandwidth {
    /// So much time in each period (`to_ratio`).
    pub const fn of(time: Time, period: Time) -> Bandwidth {
        Bandwidth((time.ns() << SHIFT) / period.ns())
    }

    /// What the tasks of a role reserve at most.
    pub fn of_role(role: &Role) -> Bandwidth {
        let each = role.classes().filter_map(Class::reservation).map(|reservation| reservation.bandwidth().0).max();
        Bandwidth(each.unwrap_or(0) * u64::from(role.count.unwrap_or(1)))
    }

    /// What all tasks of a workload reserve.
    pub fn of_all(workload: &Workload) -> Bandwidth {
        Bandwidth(workload.roles.iter().map(|role| Bandwidth::of_role(role).0).sum())
    }

    /// As a number of CPUs.
    pub fn cpus(self) -> f64 {
        self.0 as f64 / f64::from(1 << SHIFT)
    }
}

/// CPU time that a task has in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    runtime: Time,
    deadline: Time,
    period: Time,
}

impl Reservation {
    /// `runtime` of each `period`, to be had within `deadline` of its start.
    ///
    /// # Errors
    ///
    /// Why no kernel grants that (`__checkparam_dl`).
    pub fn new(runtime: Time, deadline: Time, period: Time) -> Result<Reservation, String> {
        let [least, most] = PERIODS;
        if runtime < LEAST_RUNTIME {
            return Err(format!("a runtime of {runtime} is too short: write {LEAST_RUNTIME} or more"));
        }
        if !(least..=most).contains(&period) {
            return Err(format!("a period of {period} cannot be: write {least} to {most}"));
        }
        if runtime > deadline || deadline > period {
            let what = format!("runtime {runtime}, deadline {deadline}, period {period}");
            return Err(format!("{what}: each has to be as long as the one before it, or longer"));
        }
        Ok(Reservation { runtime, deadline, period })
    }

    /// The CPU time of each period.
    pub fn runtime(self) -> Time {
        self.runtime
    }

    /// How long after the start of a period that time is to be had.
    pub fn deadline(self) -> Time {
        self.deadline
    }

    /// The period.
    pub fn period(self) -> Time {
        self.period
    }

    /// The part of a CPU that it is (`dl_bw`).
    pub fn bandwidth(self) -> Bandwidth {
        Bandwidth::of(self.runtime, self.period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_kernel_grants_is_refused() {
        let ms = Time::from_ms;
        let of = |runtime, deadline, period| Reservation::new(runtime, deadline, period);
        let whole = of(ms(6), ms(15), ms(20)).unwrap();
        assert_eq!((whole.runtime(), whole.deadline(), whole.period()), (ms(6), ms(15), ms(20)));
        assert_eq!(whole.bandwidth(), Bandwidth(314_572));
        assert!(of(ms(20), ms(20), ms(20)).is_ok());
        for (refused, part) in [
            (of(Time(1023), ms(1), ms(1)), "too short"),
            (of(ms(6), ms(5), ms(20)), "each has to be"),
            (of(ms(6), ms(21), ms(20)), "each has to be"),
            (of(Time::from_us(50), Time::from_us(99), Time::from_us(99)), "write 100us to 4.194304s"),
            (of(ms(1), Time::from_s(5), Time::from_s(5)), "cannot be"),
        ] {
            assert!(refused.as_ref().is_err_and(|error| error.contains(part)), "{refused:?}");
        }
    }
}
