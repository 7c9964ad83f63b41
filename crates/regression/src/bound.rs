//! Bounds: what a value may be, and by how much it may differ from what it was.

use schedlab_model::amount::{amount, percent};
use schedlab_model::metric::Unit;
use toml::Value;

/// Differences below this part of a value are rounding.
const ROUNDING: f64 = 1e-9;

/// How far a value may be from the one that it is held against: of several amounts the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// In parts of the value that it is held against.
    fraction: f64,
    /// In the unit of the metric.
    absolute: f64,
}

impl Tolerance {
    /// Reads `"3 %"`, `"200us"`, `5`, or a list of such amounts.
    ///
    /// # Errors
    ///
    /// It is none, for a metric of this unit.
    pub fn read(value: &Value, unit: Unit) -> Result<Tolerance, String> {
        let Value::Array(values) = value else { return Tolerance::one(value, unit) };
        let mut all = Tolerance::default();
        for value in values {
            let one = Tolerance::one(value, unit)?;
            all.fraction = all.fraction.max(one.fraction);
            all.absolute = all.absolute.max(one.absolute);
        }
        if values.is_empty() { Err("an empty list says nothing: write \"0 %\"".into()) } else { Ok(all) }
    }

    fn one(value: &Value, unit: Unit) -> Result<Tolerance, String> {
        let tolerance = match value.as_str().and_then(percent) {
            Some(percent) => Tolerance { fraction: percent? / 100.0, absolute: 0.0 },
            None => Tolerance { fraction: 0.0, absolute: amount(value, unit).map_err(or_a_part)? },
        };
        let is_negative = tolerance.fraction < 0.0 || tolerance.absolute < 0.0;
        if is_negative { Err(format!("{value} is less than nothing: a tolerance is 0 or more")) } else { Ok(tolerance) }
    }

    /// How far a value may be from this one.
    pub fn of(&self, value: f64) -> f64 {
        (value.abs() * self.fraction).max(self.absolute) + value.abs() * ROUNDING
    }

    /// In words.
    pub fn words(&self, show: impl Fn(f64) -> String) -> String {
        let percent = format!("{} %", neat(self.fraction * 100.0));
        match (self.fraction > 0.0, self.absolute > 0.0) {
            (true, true) => format!("{percent} or {}", show(self.absolute)),
            (false, true) => show(self.absolute),
            _ => percent,
        }
    }
}

/// A tolerance can be a part of the value too.
fn or_a_part(why: String) -> String {
    format!("{why}, or a part of the value, as in \"5 %\"")
}

/// A number as people write it, without digits that only its form in memory has.
fn neat(number: f64) -> f64 {
    (number * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    #[test]
    fn of_several_tolerances_the_greatest_holds() {
        let both = Tolerance::read(&value("['3 %', '1ms']"), Unit::Ns).unwrap();
        assert!((both.of(10e6) - 1e6).abs() < 1.0 && (both.of(100e6) - 3e6).abs() < 1.0);
        assert_eq!(both.words(|ns| format!("{ns} ns")), "3 % or 1000000 ns");
        let part = Tolerance::read(&value("'3 %'"), Unit::Ratio).unwrap();
        assert_eq!((part.of(0.0), part.words(|_| String::new())), (0.0, "3 %".into()));
        for wrong in ["[]", "'-1 %'", "-2", "'x %'"] {
            assert!(Tolerance::read(&value(wrong), Unit::Ratio).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_no_amount_comes_with_all_that_would_be_one() {
        let why = Tolerance::read(&value("'1 q'"), Unit::Ns).unwrap_err();
        let units = "use ns, us, ms, s or min, or a part of the value, as in \"5 %\"";
        assert_eq!(why, format!("`q` in `1 q` is not a unit of time; {units}"));
    }

    /// A value that is 3 % higher is within 3 %, whatever the processor rounds.
    #[test]
    fn the_edge_belongs_to_what_is_allowed() {
        let part = Tolerance::read(&value("'3 %'"), Unit::Ns).unwrap();
        for from in [1.0, 7.0, 333_333_333.0, 1_250_000_000.0] {
            assert!(from * 1.03 - from <= part.of(from), "{from}");
            assert!(from * 1.030001 - from > part.of(from), "{from}");
        }
    }
}
