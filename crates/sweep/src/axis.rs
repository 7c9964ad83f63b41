//! The values of an axis: a list, a range in steps, or points on a linear or logarithmic scale.

use schedlab_model::scenario::Notation;
use schedlab_model::time::Time;
use std::collections::BTreeSet;
use toml::Value;

/// What the values of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Integer,
    /// Numbers.
    Float,
    /// Times; a table has them in nanoseconds.
    Time,
    /// Words, and anything else that is written as one.
    Word,
}

/// What an axis can have: values one by one, or all between two.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    /// These.
    List(Vec<Value>),
    /// Those of a range.
    Range(Range),
}

/// All values between two, both included.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    kind: Kind,
    from: f64,
    to: f64,
    is_log: bool,
    /// How a grid divides it; absent where it is sampled only.
    division: Option<Division>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Division {
    Step(f64),
    Points(u32),
}

/// The keys of a range.
const KEYS: [&str; 5] = ["from", "to", "step", "points", "scale"];

/// More values than this are no axis but a mistake.
const MOST_VALUES: f64 = 1e6;

impl Axis {
    /// Whether a table is a range and not a part of a path.
    pub fn is_range(table: &toml::Table) -> bool {
        table.keys().any(|key| KEYS.contains(&key.as_str()))
    }

    /// Reads an axis; what is wrong with it otherwise.
    pub fn read(value: &Value) -> Result<Axis, String> {
        match value {
            Value::Array(list) if list.is_empty() => Err("an axis needs at least one value".into()),
            Value::Array(list) => {
                let mut seen = BTreeSet::new();
                match list.iter().find(|value| !seen.insert(value.to_string())) {
                    Some(twice) => Err(format!("the value {twice} is there twice")),
                    None => Ok(Axis::List(list.clone())),
                }
            }
            Value::Table(table) => Range::read(table).map(Axis::Range),
            _ => Err("an axis is a list of values, or { from, to } with `step` or `points`".into()),
        }
    }

    /// The values of a grid.
    pub fn values(&self) -> Result<Vec<Value>, String> {
        match self {
            Axis::List(values) => Ok(values.clone()),
            Axis::Range(range) => range.values(),
        }
    }

    /// Where a value is, from 0 to before 1; none where it is no value of this axis.
    pub fn place(&self, value: &Value) -> Option<f64> {
        match self {
            Axis::List(values) => {
                let index = values.iter().position(|own| as_word(own) == as_word(value))?;
                Some((index as f64 + 0.5) / values.len() as f64)
            }
            Axis::Range(range) => range.place(as_number(value)?),
        }
    }

    /// The value at a place from 0 to before 1.
    pub fn at(&self, place: f64) -> Value {
        match self {
            Axis::List(values) => values[((place * values.len() as f64) as usize).min(values.len() - 1)].clone(),
            Axis::Range(range) => range.at(place),
        }
    }
}

impl Range {
    fn read(table: &toml::Table) -> Result<Range, String> {
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("a range has no `{key}`: it has {}", KEYS.join(", ")));
        }
        let end = |key: &str| number(table.get(key).ok_or_else(|| format!("a range needs `{key}`"))?);
        let ((from_kind, from), (to_kind, to)) = (end("from")?, end("to")?);
        let kind = match (from_kind, to_kind) {
            (a, b) if a == b => a,
            (Kind::Time, _) | (_, Kind::Time) => return Err("`from` and `to` must both be times, or numbers".into()),
            _ => Kind::Float,
        };
        if from >= to {
            return Err("`from` must be less than `to`".into());
        }
        let is_log = match table.get("scale").map(|scale| scale.as_str().unwrap_or_default()) {
            None | Some("linear") => false,
            Some("log") if from > 0.0 => true,
            Some("log") => return Err("a logarithmic scale begins above 0".into()),
            Some(_) => return Err("`scale` is \"linear\" or \"log\"".into()),
        };
        let division = match (table.get("step"), table.get("points")) {
            (None, None) => None,
            (Some(step), None) if !is_log => Some(Division::Step(step_of(step, kind, to - from)?)),
            (None, Some(points)) => Some(Division::Points(points_of(points)?)),
            (Some(_), Some(_)) => return Err("a range has `step` or `points`, not both".into()),
            (Some(_), None) => return Err("a logarithmic scale has `points` and no `step`".into()),
        };
        Ok(Range { kind, from, to, is_log, division })
    }

    /// Rounding may make neighbours equal, which then stand once.
    fn values(&self) -> Result<Vec<Value>, String> {
        let numbers: Vec<f64> = match self.division {
            None => return Err("a range of a grid needs `step` or `points`".into()),
            Some(Division::Points(points)) => {
                (0..points).map(|index| self.between(f64::from(index) / f64::from(points - 1))).collect()
            }
            Some(Division::Step(step)) => {
                let steps = ((self.to - self.from) / step * (1.0 + 1e-12)).floor() as u64;
                (0..=steps).map(|index| self.from + step * index as f64).collect()
            }
        };
        let mut values: Vec<Value> = numbers.into_iter().map(|number| self.value(number)).collect();
        values.dedup();
        Ok(values)
    }

    /// The value at a place from 0 to before 1; each whole number has an equal part of a linear range.
    fn at(&self, place: f64) -> Value {
        match (self.kind, self.is_log) {
            (Kind::Integer, false) => self.value((self.from + place * (self.to - self.from + 1.0)).floor()),
            _ => self.value(self.between(place)),
        }
    }

    /// The inverse of [`Range::at`].
    fn place(&self, number: f64) -> Option<f64> {
        let (from, to) = (self.from, self.to);
        let place = match (self.kind, self.is_log) {
            _ if !(from..=to).contains(&number) => return None,
            (Kind::Integer, false) => (number - from + 0.5) / (to - from + 1.0),
            (_, true) => (number / from).ln() / (to / from).ln(),
            (_, false) => (number - from) / (to - from),
        };
        Some(place.clamp(0.0, 1.0 - f64::EPSILON))
    }

    fn between(&self, place: f64) -> f64 {
        match (place, self.is_log) {
            (1.0, _) => self.to,
            (place, true) => self.from * (self.to / self.from).powf(place),
            (place, false) => self.from + (self.to - self.from) * place,
        }
    }

    fn value(&self, number: f64) -> Value {
        match self.kind {
            Kind::Time => Value::String(format!("{}ns", number.round() as u64)),
            Kind::Integer => Value::Integer(number.round() as i64),
            Kind::Float | Kind::Word => Value::Float(number),
        }
    }
}

fn step_of(step: &Value, kind: Kind, length: f64) -> Result<f64, String> {
    let (step_kind, step) = number(step)?;
    if (step_kind == Kind::Time) != (kind == Kind::Time) || (kind == Kind::Integer && step_kind != Kind::Integer) {
        return Err("`step` must be what `from` and `to` are".into());
    }
    if step <= 0.0 || length / step > MOST_VALUES {
        return Err(format!("`step` must be above 0 and give at most {MOST_VALUES} values"));
    }
    Ok(step)
}

fn points_of(points: &Value) -> Result<u32, String> {
    let points = points.as_integer().filter(|points| (2..=MOST_VALUES as i64).contains(points));
    points.map(|points| points as u32).ok_or_else(|| format!("`points` is a number from 2 to {MOST_VALUES}"))
}

/// A number, or a time in nanoseconds.
fn number(value: &Value) -> Result<(Kind, f64), String> {
    match value {
        Value::Integer(number) => Ok((Kind::Integer, *number as f64)),
        Value::Float(number) if number.is_finite() => Ok((Kind::Float, *number)),
        Value::String(text) => Time::read(text).map(|time| (Kind::Time, time.ns() as f64)),
        other => Err(format!("{other} is neither a number nor a time")),
    }
}

/// What values are, all of them together.
pub fn kind_of<'a>(values: impl Iterator<Item = &'a Value>) -> Kind {
    let together = |a: Kind, b: Kind| match (a, b) {
        (a, b) if a == b => a,
        (Kind::Integer | Kind::Float, Kind::Integer | Kind::Float) => Kind::Float,
        _ => Kind::Word,
    };
    values.map(|value| number(value).map_or(Kind::Word, |(kind, _)| kind)).reduce(together).unwrap_or(Kind::Word)
}

/// A value as a number of its kind; none for words.
pub fn as_number(value: &Value) -> Option<f64> {
    number(value).ok().map(|(_, number)| number)
}

/// A value as a word.
pub fn as_word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_values_are_inverse() {
        let axis = |text: &str| Axis::read(&toml::from_str::<toml::Table>(text).unwrap()["a"]).unwrap();
        for text in [
            "a = [1, 2, 3]",
            "a = [true, false]",
            "a = ['head', 'tail']",
            "a = { from = 1, to = 7 }",
            "a = { from = 0.5, to = 7.5 }",
            "a = { from = '100us', to = '1s', scale = 'log' }",
        ] {
            let axis = axis(text);
            for place in [0.0, 0.2, 0.5, 0.9, 0.999] {
                let value = axis.at(place);
                let again = axis.at(axis.place(&value).unwrap());
                let (a, b) = (as_number(&value), as_number(&again));
                let is_near = a.zip(b).map_or(value == again, |(a, b)| (a - b).abs() <= 1e-6 * a.abs());
                assert!(is_near, "{text}: {value} {again}");
            }
            assert_eq!(axis.place(&Value::Integer(99)), None, "{text}");
        }
    }

    fn axis(text: &str) -> Result<Axis, String> {
        Axis::read(&toml::from_str::<toml::Table>(&format!("a = {text}")).unwrap()["a"])
    }

    fn shown(text: &str) -> String {
        let values = axis(text).and_then(|axis| axis.values()).unwrap();
        values.iter().map(as_word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ranges_have_both_ends() {
        assert_eq!(shown("[1, 2, 4]"), "1 2 4");
        assert_eq!(shown("{ from = 1, to = 7, step = 2 }"), "1 3 5 7");
        assert_eq!(shown("{ from = 0.1, to = 0.4, step = 0.1 }"), "0.1 0.2 0.30000000000000004 0.4");
        assert_eq!(shown("{ from = 1, to = 64, points = 7, scale = \"log\" }"), "1 2 4 8 16 32 64");
        assert_eq!(
            shown("{ from = \"1ms\", to = \"100ms\", points = 3, scale = \"log\" }"),
            "1000000ns 10000000ns 100000000ns"
        );
        assert_eq!(shown("{ from = 1, to = 3, points = 9 }"), "1 2 3");
        assert_eq!(shown("{ from = \"1ms\", to = \"2ms\", step = \"500us\" }"), "1000000ns 1500000ns 2000000ns");
    }

    #[test]
    fn places_of_a_sample_cover_the_whole_range() {
        let at = |text: &str, place: f64| as_word(&axis(text).unwrap().at(place));
        let ends = |text: &str| [at(text, 0.0), at(text, 0.999_999)];
        assert_eq!(ends("{ from = 1, to = 3 }"), ["1", "3"]);
        assert_eq!(at("{ from = 1, to = 3 }", 0.34), "2");
        assert_eq!(ends("[\"a\", \"b\"]"), ["a", "b"]);
        assert_eq!(at("{ from = 1.0, to = 100.0, scale = \"log\" }", 0.5), "10.0");
    }

    #[test]
    fn wrong_axes_are_told() {
        let wrong = |text: &str| axis(text).and_then(|axis| axis.values()).unwrap_err();
        assert_eq!(wrong("[]"), "an axis needs at least one value");
        assert_eq!(wrong("[1, 2, 1]"), "the value 1 is there twice");
        assert!(wrong("3").starts_with("an axis is a list"));
        assert_eq!(wrong("{ from = 1 }"), "a range needs `to`");
        assert_eq!(wrong("{ from = 2, to = 1, step = 1 }"), "`from` must be less than `to`");
        assert!(wrong("{ from = 1, to = 2, stepp = 1 }").contains("has no `stepp`"));
        assert!(wrong("{ from = \"1ms\", to = 2, step = 1 }").contains("both be times"));
        assert!(wrong("{ from = \"1 ms later\", to = 2, step = 1 }").contains("1 ms later"));
        assert!(wrong("{ from = 0, to = 2, points = 2, scale = \"log\" }").contains("begins above 0"));
        assert!(wrong("{ from = 1, to = 2, step = 0 }").contains("above 0"));
        assert!(wrong("{ from = 1, to = 2 }").contains("needs `step` or `points`"));
        assert!(wrong("{ from = nan, to = 2, points = 2 }").contains("neither a number"));
    }

    #[test]
    fn kinds_of_mixed_values() {
        let kind = |text: &str| kind_of(axis(text).unwrap().values().unwrap().iter());
        assert_eq!(
            [kind("[1, 2]"), kind("[1, 2.5]"), kind("[\"1ms\", \"2s\"]")],
            [Kind::Integer, Kind::Float, Kind::Time]
        );
        assert_eq!([kind("[\"rr\", 2]"), kind("[true, false]")], [Kind::Word, Kind::Word]);
    }
}
