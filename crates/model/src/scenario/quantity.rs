//! Times and distributions of times: `"250ms"`, `"1.5us"`, `"exp(21ms)"`, `"choice(10ms: 0.9, 110ms: 0.1)"`.

use super::notation::Notation;
use crate::{distribution::Distribution, time::Time};
use std::fmt;

/// Units of a time, with their length in nanoseconds.
const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000), // the Greek letter, which looks the same as the micro sign
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
];

/// Picoseconds, for what is too short for a [`Time`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picoseconds(pub u64);

impl Notation for Time {
    const NAME: &'static str = "Time";
    const ABOUT: &'static str = "a time with its unit, as \"250ms\" (units: ns, us, ms, s, min)";
    const PATTERN: &'static str = r"^\s*[0-9]+(\.[0-9]+)?\s*(ns|us|µs|μs|ms|s|min)\s*$";

    fn read(text: &str) -> Result<Time, String> {
        quantity(text, 1, "nanoseconds").and_then(|ns| limited(text, ns)).map(Time)
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn number(number: &dyn fmt::Display) -> String {
        without_unit(number)
    }
}

impl Notation for Picoseconds {
    const NAME: &'static str = "Picoseconds";
    const ABOUT: &'static str = "a time with its unit, which may be as short as picoseconds, as in \"350ps\"";
    const PATTERN: &'static str = r"^\s*[0-9]+(\.[0-9]+)?\s*(ps|ns|us|µs|μs|ms|s|min)\s*$";

    fn read(text: &str) -> Result<Picoseconds, String> {
        quantity(text, 1_000, "picoseconds").and_then(|ps| limited(text, ps)).map(Picoseconds)
    }

    fn write(&self) -> String {
        match self.0 {
            ps if ps.is_multiple_of(1_000) => Time(ps / 1_000).to_string(),
            ps => format!("{ps}ps"),
        }
    }

    fn number(number: &dyn fmt::Display) -> String {
        without_unit(number)
    }
}

impl Notation for Distribution {
    const NAME: &'static str = "Distribution";
    const ABOUT: &'static str = "a time with its unit, or a distribution of times: \"exp(21ms)\", \"uniform(1ms, 3ms)\", \
                                 \"lognormal(2ms, 0.5)\", \"choice(10ms: 0.9, 110ms: 0.1)\"";
    const PATTERN: &'static str =
        r"^\s*([0-9]+(\.[0-9]+)?\s*(ns|us|µs|μs|ms|s|min)|(exp|uniform|lognormal|choice)\s*\(.+\))\s*$";

    fn read(text: &str) -> Result<Distribution, String> {
        let text = text.trim();
        let Some((name, rest)) = text.split_once('(') else {
            return Time::read(text).map(Distribution::Constant);
        };
        let inside = rest.strip_suffix(')').ok_or_else(|| format!("`{text}` lacks its closing parenthesis"))?;
        let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
        match (name.trim(), parts.as_slice()) {
            ("exp", [mean]) => Ok(Distribution::Exponential(positive(mean, "the mean")?)),
            ("exp", _) => Err(format!("`{text}`: exp takes the mean, as in \"exp(21ms)\"")),
            ("uniform", [low, high]) => uniform(Time::read(low)?, Time::read(high)?),
            ("uniform", _) => Err(format!("`{text}`: uniform takes two times, as in \"uniform(1ms, 3ms)\"")),
            ("lognormal", [median, sigma]) => lognormal(positive(median, "the median")?, sigma),
            ("lognormal", _) => Err(format!(
                "`{text}`: lognormal takes the median and the deviation of the logarithm, as in \"lognormal(2ms, 0.5)\""
            )),
            ("choice", parts) => choice(text, parts),
            (name, _) => Err(format!("`{name}` is not a distribution: there are exp, uniform, lognormal and choice")),
        }
    }

    fn write(&self) -> String {
        match self {
            Distribution::Constant(t) => t.to_string(),
            Distribution::Uniform(low, high) => format!("uniform({low}, {high})"),
            Distribution::Exponential(mean) => format!("exp({mean})"),
            Distribution::Lognormal(median, sigma) => format!("lognormal({median}, {sigma})"),
            Distribution::Choice(values) => {
                let values: Vec<String> = values.iter().map(|(t, p)| format!("{t}: {p}")).collect();
                format!("choice({})", values.join(", "))
            }
        }
    }

    fn number(number: &dyn fmt::Display) -> String {
        without_unit(number)
    }
}

fn without_unit(number: &dyn fmt::Display) -> String {
    let text = number.to_string();
    if text.starts_with('-') {
        return format!("the time {text} is negative: times start at 0");
    }
    format!("the time {number} has no unit: write \"{number}ms\" (units: ns, us, ms, s, min)")
}

/// A time in nanoseconds that may be longer than any run, as a parameter of a policy can be.
///
/// # Errors
///
/// It is no time.
pub fn nanoseconds(text: &str) -> Result<i128, String> {
    let ns = quantity(text, 1, "nanoseconds")?;
    i128::try_from(ns).map_err(|_| too_long(text))
}

/// Up to the largest signed number: longer times would overflow when they are added up.
fn limited(text: &str, value: u128) -> Result<u64, String> {
    u64::try_from(value).ok().filter(|&n| n <= i64::MAX as u64).ok_or_else(|| too_long(text))
}

fn too_long(text: &str) -> String {
    format!("the time `{}` is too long: the longest is 292 years", text.trim())
}

/// A decimal number with a unit, in nanoseconds times `scale`, which must come out whole.
fn quantity(text: &str, scale: u64, whole: &str) -> Result<u128, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    if text.starts_with('-') {
        return Err(format!("the time `{text}` is negative: times start at 0"));
    }
    let (integer, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if integer.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(format!("`{text}` is not a time: write a number and a unit, as in \"250ms\""));
    }
    let length = match UNITS.iter().find(|(name, _)| *name == unit) {
        Some((_, ns)) => ns * scale,
        None if unit == "ps" && scale == 1_000 => 1,
        None if unit.is_empty() => return Err(without_unit(&number)),
        None => return Err(format!("`{unit}` in `{text}` is not a unit of time; use ns, us, ms, s or min")),
    };
    match exact(integer, fraction, length) {
        Some(value) => value.ok_or_else(|| too_long(text)),
        None => Err(format!("the time `{text}` is not a whole number of {whole}")),
    }
}

/// `integer.fraction` × `length`, if that is whole; the inner value is missing where there is no number for it.
fn exact(integer: &str, fraction: &str, length: u64) -> Option<Option<u128>> {
    let fraction = fraction.trim_end_matches('0');
    // More digits than this cannot be whole, and 10^19 still fits.
    let power = u32::try_from(fraction.len()).ok().filter(|&n| n < 19)?;
    let product = fraction.parse::<u128>().unwrap_or(0) * u128::from(length);
    let divisor = 10u128.pow(power);
    let whole = integer.parse::<u128>().ok().and_then(|n| n.checked_mul(u128::from(length)));
    product.is_multiple_of(divisor).then(|| whole?.checked_add(product / divisor))
}

fn positive(text: &str, what: &str) -> Result<Time, String> {
    match Time::read(text)? {
        Time::ZERO => Err(format!("{what} of a distribution must be longer than `{text}`")),
        time => Ok(time),
    }
}

fn uniform(low: Time, high: Time) -> Result<Distribution, String> {
    if low > high {
        return Err(format!("uniform({low}, {high}) is empty: write the shorter time first"));
    }
    Ok(Distribution::Uniform(low, high))
}

fn lognormal(median: Time, sigma: &str) -> Result<Distribution, String> {
    match sigma.parse::<f64>() {
        Ok(value) if (0.0..=10.0).contains(&value) => Ok(Distribution::Lognormal(median, value)),
        _ => Err(format!("`{sigma}` is not a deviation of a logarithm: write a number from 0 to 10 without unit")),
    }
}

fn choice(text: &str, parts: &[&str]) -> Result<Distribution, String> {
    let mut values = Vec::new();
    for part in parts {
        let (time, probability) = part
            .split_once(':')
            .ok_or_else(|| format!("`{part}` in `{text}` needs a probability, as in \"10ms: 0.9\""))?;
        match probability.trim().parse::<f64>() {
            Ok(p) if p > 0.0 && p <= 1.0 => values.push((Time::read(time)?, p)),
            _ => {
                return Err(format!(
                    "`{}` in `{text}` is not a probability: it lies above 0 and up to 1",
                    probability.trim()
                ));
            }
        }
    }
    let sum: f64 = values.iter().map(|(_, p)| p).sum();
    if (sum - 1.0).abs() > 1e-9 {
        return Err(format!("the probabilities in `{text}` add up to {sum}: make it 1"));
    }
    Ok(Distribution::Choice(values))
}

/// Whether a draw can be longer than zero.
pub fn can_take_time(distribution: &Distribution) -> bool {
    match distribution {
        Distribution::Constant(t) | Distribution::Uniform(_, t) => *t > Time::ZERO,
        Distribution::Exponential(_) | Distribution::Lognormal(..) => true,
        Distribution::Choice(values) => values.iter().any(|(t, _)| *t > Time::ZERO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_read_exactly() {
        for (text, ns) in [
            ("0s", 0),
            ("17ns", 17),
            ("1.5us", 1_500),
            ("1.5µs", 1_500),
            ("1.5μs", 1_500),
            (" 250 ms ", 250_000_000),
            ("0.000000001s", 1),
            ("1.5000000000000000000000000s", 1_500_000_000),
            ("2min", 120_000_000_000),
            ("9223372036854775807ns", i64::MAX as u64),
        ] {
            assert_eq!(Time::read(text), Ok(Time(ns)), "{text}");
        }
    }

    #[test]
    fn wrong_times_are_told_apart() {
        for (text, part) in [
            ("5", "no unit"),
            ("-5ms", "negative"),
            ("1.5ns", "whole number of nanoseconds"),
            ("0.1000000000000000000001s", "whole number"),
            ("9223372036854775808ns", "too long"),
            ("99999999999999999999999999999999999999s", "too long"),
            ("5sec", "not a unit of time"),
            ("5m", "not a unit of time"),
            ("ms", "not a time"),
            (".5s", "not a time"),
            ("1..5s", "not a time"),
            ("", "not a time"),
            ("1ps", "not a unit of time"),
        ] {
            let error = Time::read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(Picoseconds::read("350ps"), Ok(Picoseconds(350)));
        assert_eq!(Picoseconds::read("0.35ns"), Ok(Picoseconds(350)));
        assert!(Picoseconds::read("0.5ps").is_err());
    }

    #[test]
    fn wrong_distributions_are_told_apart() {
        for (text, part) in [
            ("exp(21)", "no unit"),
            ("exp(0ms)", "must be longer"),
            ("exp()", "not a time"),
            ("exp(1ms, 2ms)", "takes the mean"),
            ("exp(1ms", "closing"),
            ("normal(1ms)", "not a distribution"),
            ("uniform(3ms, 1ms)", "shorter time first"),
            ("lognormal(2ms, -1)", "deviation"),
            ("lognormal(2ms, NaN)", "deviation"),
            ("choice(1ms: 0.5)", "add up to 0.5"),
            ("choice(1ms)", "needs a probability"),
            ("choice(1ms: 2)", "not a probability"),
        ] {
            let error = Distribution::read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    fn distributions() -> impl Strategy<Value = Distribution> {
        let time = || (0..i64::MAX as u64).prop_map(Time);
        let positive = || (1..i64::MAX as u64).prop_map(Time);
        prop_oneof![
            time().prop_map(Distribution::Constant),
            (time(), time()).prop_map(|(a, b)| Distribution::Uniform(a.min(b), a.max(b))),
            positive().prop_map(Distribution::Exponential),
            (positive(), 0.0..10.0).prop_map(|(m, s)| Distribution::Lognormal(m, s)),
            (time(), time(), 0.001..0.999).prop_map(|(a, b, p)| Distribution::Choice(vec![(a, p), (b, 1.0 - p)])),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(distribution in distributions(), ps in 0..i64::MAX as u64) {
            prop_assert_eq!(Distribution::read(&distribution.write()), Ok(distribution));
            prop_assert_eq!(Picoseconds::read(&Picoseconds(ps).write()), Ok(Picoseconds(ps)));
        }

        #[test]
        fn nothing_makes_the_reader_panic(text in ".{0,40}") {
            let _ = (Time::read(&text), Distribution::read(&text), Picoseconds::read(&text));
        }
    }
}
