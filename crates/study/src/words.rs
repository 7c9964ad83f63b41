//! Words that speak of numbers: `{name}` stands for what this run gave.

use crate::case::Experiment;
use crate::claim::{Choice, NumberSpec};
use crate::language::{Metric, Question};
use crate::measure::{look_up, look_up_each};
use crate::page::{number, with_unit};
use crate::runner::{CaseOutcome, Observed};
use crate::seen::middle;
use std::collections::BTreeMap;

/// The numbers of a question as its words show them; why one is missing, otherwise.
pub struct Words(BTreeMap<String, Result<String, String>>);

impl Words {
    /// Those of a question, after its cases were run.
    pub fn of(question: &Question, experiment: &Experiment, outcomes: &[CaseOutcome]) -> Words {
        let numbers = question.numbers.iter();
        Words(numbers.map(|(name, spec)| (name.clone(), found(spec, experiment, outcomes))).collect())
    }

    /// A text with its numbers.
    ///
    /// # Errors
    ///
    /// A number that it speaks of is missing: which, and why.
    pub fn fill(&self, text: &str) -> Result<String, String> {
        self.0.iter().filter(|(name, _)| text.contains(&placeholder(name))).try_fold(
            text.to_string(),
            |text, (name, number)| match number {
                Ok(number) => Ok(text.replace(&placeholder(name), number)),
                Err(why) => Err(format!("the number `{name}` is missing: {why}")),
            },
        )
    }

    /// A text with its numbers, and with the names of those that are missing.
    pub fn fill_or_keep(&self, text: &str) -> String {
        self.fill(text).unwrap_or_else(|_| text.into())
    }
}

fn placeholder(name: &str) -> String {
    format!("{{{name}}}")
}

/// The names of which a text speaks.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

fn found(spec: &NumberSpec, experiment: &Experiment, outcomes: &[CaseOutcome]) -> Result<String, String> {
    let metric = spec.asks().ok_or("it asks for nothing")?;
    let mut all = Vec::new();
    for run in spec.run.all() {
        for (case, outcome) in experiment.of_run(run, outcomes) {
            if case.is(run, spec.policy.as_ref(), &spec.at) {
                match outcome {
                    CaseOutcome::Ran(observed) => all.extend(numbers(spec, metric, observed)?),
                    CaseOutcome::NotRun(why) => return Err(why.clone()),
                }
            }
        }
    }
    let chosen = match spec.of {
        Choice::Max => all.into_iter().reduce(f64::max),
        Choice::Min => all.into_iter().reduce(f64::min),
    };
    let chosen = chosen.ok_or_else(|| format!("`{}` was not run", spec.run.all().join("`, `")))?;
    Ok(with_unit(&number(chosen), &spec.unit))
}

/// What a case has for a number: one, or both ends of the middle of its runs.
fn numbers(spec: &NumberSpec, metric: Metric, observed: &Observed) -> Result<Vec<f64>, String> {
    let own = look_up(observed, metric, &spec.unit)?;
    let ends = spec.middle.and_then(|part| middle(look_up_each(observed, metric, &spec.unit), part));
    Ok(ends.map_or_else(|| vec![own], |ends| ends.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_where_their_names_are() {
        let numbers = [("most", Ok("13.7 %".to_string())), ("lost", Err("not run".to_string()))];
        let words = Words(numbers.map(|(name, number)| (name.to_string(), number)).into());
        assert_eq!(words.fill("at most {most}, {most}").as_deref(), Ok("at most 13.7 %, 13.7 %"));
        assert_eq!(words.fill("{lost}"), Err("the number `lost` is missing: not run".into()));
        assert_eq!(words.fill_or_keep("{lost}"), "{lost}");
        assert_eq!(names("a {most} b {lost}").collect::<Vec<_>>(), ["most", "lost"]);
    }
}
