//! Amounts of a metric, as files of gates and scores have them: `"20ms"`, `"5 %"`, `0.05`, `3`.

use crate::metric::Unit;
use crate::scenario::Notation;
use crate::time::Time;
use toml::Value;

/// Reads a bound on a value itself: a time for a metric in nanoseconds, a percentage or a part for a fraction, else a number.
///
/// # Errors
///
/// It is none.
pub fn limit(value: &Value, unit: Unit) -> Result<f64, String> {
    match value.as_str().and_then(percent) {
        Some(percent) if unit == Unit::Fraction => Ok(percent? / 100.0),
        Some(_) => Err(format!("{value} is a percentage, but of what? write {}", example(unit))),
        None => amount(value, unit),
    }
}

/// Reads `"3 %"` as 3; none where it is no percentage by its form.
///
/// # Errors
///
/// What is before the sign is no number.
pub fn percent(text: &str) -> Option<Result<f64, String>> {
    let number = text.trim().strip_suffix('%')?.trim();
    Some(number.parse().ok().filter(|number: &f64| number.is_finite()).ok_or(format!("`{text}` is not a percentage")))
}

/// An amount in the unit of a metric; a percentage is none.
///
/// # Errors
///
/// It is none, for a metric of this unit.
pub fn amount(value: &Value, unit: Unit) -> Result<f64, String> {
    match (value, unit) {
        (Value::String(text), Unit::Ns) => match text.trim().strip_prefix('-') {
            Some(text) => Time::read(text).map(|time| -(time.ns() as f64)),
            None => Time::read(text.trim()).map(|time| time.ns() as f64),
        },
        (Value::Integer(_) | Value::Float(_), Unit::Ns) => {
            Err(format!("{value} has no unit: write a time as in \"{value}ms\" or \"{value}us\""))
        }
        (Value::Integer(number), _) => Ok(*number as f64),
        (Value::Float(number), _) if number.is_finite() => Ok(*number),
        (Value::String(text), _) if text.trim().parse::<f64>().is_ok_and(f64::is_finite) => {
            Ok(text.trim().parse().expect("it was parsed"))
        }
        _ => Err(format!("{value} is not an amount of this metric: write {}", example(unit))),
    }
}

fn example(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "a time, as in \"20ms\"",
        Unit::Fraction => "a part, as in \"5 %\" or 0.05",
        Unit::Count | Unit::Ratio | Unit::PerSecond => "a number without a unit, as in 20",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    #[test]
    fn amounts_have_the_unit_of_their_metric() {
        let ok = |text: &str, unit| limit(&value(text), unit).unwrap();
        assert_eq!((ok("'20ms'", Unit::Ns), ok("'-3us'", Unit::Ns)), (20e6, -3e3));
        assert_eq!((ok("'5 %'", Unit::Fraction), ok("0.05", Unit::Fraction)), (0.05, 0.05));
        assert_eq!((ok("7", Unit::Count), ok("'1.5'", Unit::Ratio)), (7.0, 1.5));
        let wrong = |text: &str, unit| limit(&value(text), unit).unwrap_err();
        assert_eq!(wrong("20", Unit::Ns), "20 has no unit: write a time as in \"20ms\" or \"20us\"");
        assert!(wrong("'20'", Unit::Ns).contains("unit"), "{}", wrong("'20'", Unit::Ns));
        assert!(wrong("'3 %'", Unit::Count).contains("but of what?"), "{}", wrong("'3 %'", Unit::Count));
        assert!(wrong("'20ms'", Unit::Count).contains("a number without a unit"));
        assert!(wrong("nan", Unit::Ratio).contains("is not an amount"));
        assert!(wrong("[1]", Unit::Ratio).contains("is not an amount"));
    }
}
