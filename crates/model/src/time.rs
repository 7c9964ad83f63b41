//! Time in integer nanoseconds.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// A length of time, or an instant counted from the start of the run, in nanoseconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(transparent)]
pub struct Time(pub u64);

impl Time {
    /// The start of the run, and the empty length.
    pub const ZERO: Time = Time(0);
    /// Later than everything that happens in a run.
    pub const NEVER: Time = Time(u64::MAX);

    /// The latest instant of a run or a recording, after some 146 years: sums have room, and so has a timer's class next to it.
    pub const LATEST: Time = Time((1 << 62) - 2);

    /// `n` nanoseconds.
    pub const fn from_ns(n: u64) -> Time {
        Time(n)
    }

    /// `n` microseconds.
    pub const fn from_us(n: u64) -> Time {
        Time(n * 1_000)
    }

    /// `n` milliseconds.
    pub const fn from_ms(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    /// `n` seconds.
    pub const fn from_s(n: u64) -> Time {
        Time(n * 1_000_000_000)
    }

    /// Nanoseconds.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Seconds, for display and rates only.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time from `earlier` to here, zero when `earlier` is later.
    pub const fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        debug_assert!(self >= other, "{self} - {other}");
        Time(self.0 - other.0)
    }
}

impl SubAssign for Time {
    fn sub_assign(&mut self, other: Time) {
        *self = *self - other;
    }
}

/// The shortest exact form with a unit: `250ms`, `1.5s`, `17ns`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::NEVER {
            return f.write_str("never");
        }
        let (scale, unit) = match self.0 {
            0 => (1, "s"),
            n if n >= 1_000_000_000 => (1_000_000_000, "s"),
            n if n >= 1_000_000 => (1_000_000, "ms"),
            n if n >= 1_000 => (1_000, "us"),
            _ => (1, "ns"),
        };
        let (whole, rest) = (self.0 / scale, self.0 % scale);
        if rest == 0 {
            return f.pad(&format!("{whole}{unit}"));
        }
        let width = (scale as f64).log10() as usize;
        let fraction = format!("{rest:0width$}");
        f.pad(&format!("{whole}.{}{unit}", fraction.trim_end_matches('0')))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::Time;

    #[test]
    fn shows_the_shortest_exact_form() {
        for (ns, text) in [(0, "0s"), (17, "17ns"), (1_500, "1.5us"), (250_000_000, "250ms"), (1_500_000_000, "1.5s")] {
            assert_eq!(Time(ns).to_string(), text);
        }
        assert_eq!(Time(1_000_000_001).to_string(), "1.000000001s");
    }
}
