//! CPU time in fractions of a nanosecond, exactly.
//!
//! A CPU that is divided gives each task a part that is no whole number of nanoseconds. Amounts are therefore integers
//! in units of 2^-32 ns; what a division leaves over is kept and given with the next time, so that not one unit is lost.

/// An amount of CPU time in units of 2^-32 ns. 128 bits hold more than the time of 4096 CPUs over all instants there are.
pub type Fixed = i128;

const FRACTION_BITS: u32 = 32;

/// Whole nanoseconds.
pub fn from_ns(ns: u64) -> Fixed {
    Fixed::from(ns) << FRACTION_BITS
}

/// Whole nanoseconds, the fraction cut off.
pub fn floor_ns(amount: Fixed) -> u64 {
    u64::try_from(amount >> FRACTION_BITS).expect("an amount of time in range")
}

/// The smallest whole number of nanoseconds in which `rate` CPUs give not less than `amount`. At least 1, since something
/// that still lacks a fraction of a nanosecond ends within the next one.
pub fn ceil_ns(amount: Fixed, rate: Fixed) -> u64 {
    let rate = rate << FRACTION_BITS;
    // Nearly always both fit a word, and dividing words is several times faster.
    let quotient = match (u64::try_from(amount), u64::try_from(rate)) {
        (Ok(amount), Ok(rate)) => amount.div_ceil(rate),
        _ => u64::try_from((amount + rate - 1).div_euclid(rate).max(0)).unwrap_or(u64::MAX),
    };
    quotient.max(1)
}

/// Divides an amount among `parts`: the part of each, and what is left over.
pub fn divide(amount: Fixed, parts: Fixed) -> (Fixed, Fixed) {
    match (u64::try_from(amount), u64::try_from(parts)) {
        (Ok(amount), Ok(parts)) => (Fixed::from(amount / parts), Fixed::from(amount % parts)),
        _ => (amount.div_euclid(parts), amount.rem_euclid(parts)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_up_to_the_nanosecond_and_never_to_none() {
        assert_eq!([ceil_ns(from_ns(10), 4), ceil_ns(from_ns(8), 4), ceil_ns(from_ns(8) + 1, 4)], [3, 2, 3]);
        assert_eq!([ceil_ns(1, 1), ceil_ns(0, 1), ceil_ns(-5, 1)], [1, 1, 1]);
        assert_eq!(ceil_ns(from_ns(1 << 60) + 1, 1), (1 << 60) + 1);
        assert_eq!(ceil_ns(from_ns(u64::MAX) * 3, 1), u64::MAX);
    }

    #[test]
    fn nothing_is_lost_in_division() {
        for amount in [0, 7, from_ns(1 << 50) + 5] {
            let (part, rest) = divide(amount, 3);
            assert_eq!(part * 3 + rest, amount);
            assert!((0..3).contains(&rest));
        }
    }
}
