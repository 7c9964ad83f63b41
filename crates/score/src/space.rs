//! The parameters of a policy that are tuned, and what each may be.

use crate::ScoreError;
use crate::language::ScoreSet;
use schedlab_model::scenario::{Notation, did_you_mean};
use schedlab_model::time::Time;
use schedlab_policy::{Kind, Parameter as Declared, PolicySpec, Unit};
use schedlab_sweep::{Axis, as_word};
use schedlab_venue::Policy;
use toml::{Table, Value};

/// Ranges whose ends differ by this factor are searched on a logarithmic scale.
const WIDE: i128 = 100;

/// Digits that matter: more would be noise that looks like knowledge.
const DIGITS: i32 = 3;

/// What is tuned.
#[derive(Clone, Debug)]
pub struct Space {
    /// The parameters, in the order of the object.
    pub parameters: Vec<Parameter>,
}

/// A parameter that is tuned.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it may be.
    pub axis: Axis,
    /// What it is where it is not set, as a user would write it.
    pub default: String,
    /// The place of the default on the axis; absent where it is outside.
    pub default_place: Option<f64>,
}

impl Space {
    /// What a set tunes of a policy: what its file says, or each parameter that declares a range or words.
    ///
    /// # Errors
    ///
    /// There is nothing to tune, or a parameter or value does not exist.
    pub fn new(set: &ScoreSet, policy: &Policy, spec: &PolicySpec) -> Result<Space, ScoreError> {
        let declared = policy.parameters();
        if let Some((unknown, _)) = set.tuned.iter().find(|(key, _)| !declared.iter().any(|own| own.name == *key)) {
            let hint = did_you_mean(unknown, declared.iter().map(|own| own.name.as_str()));
            let why = format!("{} has no parameter `{unknown}`{hint}", policy.label);
            return Err(set.origin.wrong(&format!("tune.{unknown}"), why).into());
        }
        let mut parameters = Vec::new();
        // What the user has set stays.
        for own in declared.iter().filter(|own| !spec.settings.iter().any(|(key, _)| *key == own.name)) {
            let written = set.tuned.iter().find(|(key, _)| *key == own.name).map(|(_, axis)| axis.clone());
            let axis = if set.tuned.is_empty() { declared_axis(own) } else { written };
            let Some(axis) = axis else { continue };
            let default = own.show(own.default);
            let default_place = axis.place(&value_of(own));
            parameters.push(Parameter { name: own.name.clone(), axis, default, default_place });
        }
        if parameters.is_empty() {
            let why = format!(
                "{} has no parameter with a range or a list of words: name what may be tuned, and between which values, in \
                 [tune]",
                policy.label
            );
            return Err(ScoreError::Input(why));
        }
        let space = Space { parameters };
        for place in [0.0, 1.0 - f64::EPSILON] {
            let settings = space.settings(&vec![place; space.parameters.len()]);
            policy.settled(&with(spec, &settings))?;
        }
        Ok(space)
    }

    /// The settings at places on the axes, as a user would write them.
    pub(crate) fn settings(&self, places: &[f64]) -> Vec<(String, String)> {
        let word = |(own, place): (&Parameter, &f64)| (own.name.clone(), own.word(*place));
        self.parameters.iter().zip(places).map(word).collect()
    }

    /// The settings without those that are the default.
    pub fn changed(&self, settings: &[(String, String)]) -> Vec<(String, String)> {
        let is_default = |(key, word): &&(String, String)| {
            self.parameters.iter().any(|own| own.name == *key && own.default == *word)
        };
        settings.iter().filter(|setting| !is_default(setting)).cloned().collect()
    }

    /// How many combinations there are, where they can be counted.
    pub(crate) fn combinations(&self) -> Option<usize> {
        let count = |own: &Parameter| match &own.axis {
            Axis::List(values) => Some(values.len()),
            Axis::Range(_) => None,
        };
        self.parameters.iter().map(count).try_fold(1_usize, |product, count| product.checked_mul(count?))
    }
}

impl Parameter {
    /// The value at a place.
    fn word(&self, place: f64) -> String {
        let value = self.axis.at(place);
        let Axis::Range(_) = self.axis else { return as_word(&value) };
        match &value {
            Value::String(text) => match Time::read(text) {
                Ok(time) => {
                    self.inside(Value::String(Time(rounded(time.ns() as f64).round() as u64).to_string()), &value)
                }
                Err(_) => text.clone(),
            },
            Value::Float(number) => self.inside(Value::Float(rounded(*number)), &value),
            other => as_word(other),
        }
    }

    /// The rounded value, if that is still between the ends.
    fn inside(&self, round: Value, exact: &Value) -> String {
        as_word(if self.axis.place(&round).is_some() { &round } else { exact })
    }

    /// The place of a word.
    pub(crate) fn place(&self, word: &str) -> Option<f64> {
        let number = word.parse::<i64>().map(Value::Integer).or_else(|_| word.parse::<f64>().map(Value::Float));
        self.axis.place(&number.unwrap_or_else(|_| Value::String(word.into())))
    }
}

/// A policy as it is written, with further settings.
pub(crate) fn with(spec: &PolicySpec, settings: &[(String, String)]) -> PolicySpec {
    let mut spec = spec.clone();
    spec.settings.extend(settings.iter().cloned());
    spec
}

/// To three digits.
fn rounded(number: f64) -> f64 {
    if number == 0.0 {
        return 0.0;
    }
    let scale = 10_f64.powi(DIGITS - 1 - number.abs().log10().floor() as i32);
    (number * scale).round() / scale
}

/// The default as a value of TOML.
fn value_of(own: &Declared) -> Value {
    let word = own.show(own.default);
    match own.kind {
        _ if !own.choices.is_empty() => Value::String(word),
        Kind::Boolean => Value::Boolean(own.default != 0),
        _ if own.unit == Unit::Nanoseconds => Value::String(format!("{}ns", own.default)),
        _ => Value::Integer(own.default as i64),
    }
}

/// What a parameter may be by its own declaration; none where it does not say.
fn declared_axis(own: &Declared) -> Option<Axis> {
    if own.machine.is_some() || own.kind == Kind::Other {
        return None;
    }
    if !own.choices.is_empty() {
        let plain = own.choices.iter().filter(|choice| choice.argument.is_none());
        return Some(Axis::List(plain.map(|choice| Value::String(choice.word.clone())).collect()));
    }
    if own.kind == Kind::Boolean {
        return Some(Axis::List(vec![Value::Boolean(false), Value::Boolean(true)]));
    }
    let (from, to) = own.range?;
    let end = |number: i128| match own.unit {
        Unit::Nanoseconds => Value::String(format!("{number}ns")),
        Unit::Plain => Value::Integer(number as i64),
    };
    let mut range = Table::from_iter([("from".to_string(), end(from)), ("to".to_string(), end(to))]);
    if from > 0 && to / from >= WIDE {
        range.insert("scale".into(), Value::String("log".into()));
    }
    Axis::read(&Value::Table(range)).ok()
}
