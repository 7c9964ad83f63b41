//! A published value compared with what was seen.

use crate::case::{Beside, Case, Experiment};
use crate::claim::{Bound, Equation, Per, Published, ValueSpec};
use crate::judge::Judge;
use crate::runner::{CaseOutcome, Observed};
use crate::words::Words;
use schedlab_metrics::theory::multiprocessor as equations;
use serde::Serialize;
use toml::{Table, Value};

/// What is to be said about a published value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// What was seen is as near as the study asks.
    Holds,
    /// It is, and so would be no effect at all: the accepted range is as wide as the published effect.
    CannotTell {
        /// Why.
        reason: String,
    },
    /// It is, in a case that was made to give what was published.
    Fitted {
        /// How it was made.
        reason: String,
    },
    /// It is not as near.
    Differs {
        /// Why, as far as the study knows; none where what has to show the reason does not.
        reason: Option<String>,
        /// What was seen where the reason has to show, if the study says where.
        #[serde(skip_serializing_if = "Option::is_none")]
        proof: Option<Proved>,
    },
    /// It is not as near, in a run that the quick version makes smaller.
    RunSmaller {
        /// Which run.
        reason: String,
    },
    /// Nothing here can be compared with it.
    NotComparable {
        /// Why.
        reason: String,
    },
    /// The case was not run.
    NotRun {
        /// Why.
        reason: String,
    },
}

impl Verdict {
    /// In two words at most.
    pub fn words(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::CannotTell { .. } => "cannot tell",
            Verdict::Fitted { .. } => "fitted",
            Verdict::Differs { .. } => "differs",
            Verdict::RunSmaller { .. } => "run smaller",
            Verdict::NotComparable { .. } => "not comparable",
            Verdict::NotRun { .. } => "not run here",
        }
    }

    /// Why, where that is known.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Verdict::Holds => None,
            Verdict::Differs { reason, .. } => reason.as_deref(),
            Verdict::Fitted { reason }
            | Verdict::CannotTell { reason }
            | Verdict::RunSmaller { reason }
            | Verdict::NotComparable { reason }
            | Verdict::NotRun { reason } => Some(reason),
        }
    }
}

/// What was seen where the reason for a difference has to show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proved {
    /// Whether the reason shows.
    pub holds: bool,
    /// Where that was looked for, and what was seen there.
    pub seen: String,
}

/// A published value with what was seen.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// What it is, with its place on the axis where there is one.
    pub what: String,
    /// What the source prints, as text; empty where it prints nothing.
    pub published: String,
    /// The study's own threshold or calculation, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// Where that comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derivation: Option<String>,
    /// Why the published value could not be checked against the source, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
    /// The smallest and the largest that hold, in the value's unit; absent where there is no such end.
    pub allowed: [Option<f64>; 2],
    /// What was seen, in the value's unit.
    pub seen: Option<f64>,
    /// What an equation of the source says.
    pub predicted: Option<f64>,
    /// How the verdict falls under other seeds, with small changes or in each run alone, where there are several.
    pub firmness: Option<Firmness>,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// How often a verdict falls the same way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Firmness {
    /// How often it does.
    pub same: u32,
    /// How often it was looked at, the study's own runs among them.
    pub of: u32,
    /// What differed.
    pub beside: Beside,
    /// The smallest value that was seen.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl Firmness {
    /// As in `5 of 5 seeds`.
    pub fn words(&self) -> String {
        format!("{} of {} {}", self.same, self.of, self.beside.words())
    }
}

/// Judges a value: as many times as it has numbers. `words` gives texts their numbers.
pub fn judge(value: &ValueSpec, (experiment, outcomes): (&Experiment, &[CaseOutcome]), words: &Words) -> Vec<Judged> {
    let judged = |what: &str, by: &Published, (seen, verdict, firmness)| Judged {
        what: what.into(),
        published: match (&value.own, &value.published) {
            (None, _) => text(by),
            (Some(_), published) => published.as_ref().map_or(String::new(), text),
        },
        own: value.own.as_ref().map(|_| text(by)),
        derivation: value.derivation.as_ref().map(|text| words.fill_or_keep(text)),
        unverified: value.unverified.clone(),
        allowed: allowed(value, by),
        seen,
        predicted: value.predicted.as_ref().map(Equation::value),
        firmness,
        verdict,
    };
    let whole = value.judged_by();
    if let Some(reason) = &value.not_comparable {
        let verdict = Verdict::NotComparable { reason: words.fill_or_keep(reason) };
        return vec![judged(&value.what, whole, (None, verdict, None))];
    }
    let judge = Judge { value, experiment, outcomes, words };
    let (Published::List(numbers), Some(path)) = (whole, &value.along) else {
        return vec![judged(&value.what, whole, judge.held(whole, &value.at))];
    };
    let axis = experiment.axis(&value.run, path);
    let point = |(index, number): (usize, &f64)| {
        let published = Published::Number(*number);
        let Some(here) = axis.get(index).and_then(Option::as_ref) else {
            let reason = LEFT_OUT.into();
            return judged(&value.what, &published, (None, Verdict::NotRun { reason }, None));
        };
        let mut at = value.at.clone();
        at.insert(path.clone(), here.clone());
        let name = path.rsplit('.').next().unwrap_or(path);
        judged(&format!("{}, {name} {}", value.what, plain(here)), &published, judge.held(&published, &at))
    };
    numbers.iter().enumerate().map(point).collect()
}

/// Why something is not there in the quick version.
pub(crate) const LEFT_OUT: &str = "the quick version leaves it out";

/// A value of an axis as people write it.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// Whether what was published is this very number, or a range with it.
pub(crate) fn is_claimed(published: &Published, number: f64) -> bool {
    match published {
        Published::Number(own) => *own == number,
        Published::Bound(bound) => bound.holds(number),
        Published::List(_) | Published::Words(_) => false,
    }
}

impl ValueSpec {
    /// What would be seen if there were no effect: what the study says; else one for a ratio between two cases, and zero for
    /// anything else but the word of a policy, which has no such value.
    pub(crate) fn no_effect(&self) -> Option<f64> {
        let one = if self.unit == "%" { 100.0 } else { 1.0 };
        let default = match &self.per {
            Some(Per { run: None, policy: None, at, .. }) if at.is_empty() => None,
            Some(_) => Some(one),
            None if self.status.is_some() => None,
            None => Some(0.0),
        };
        self.no_effect.or(default)
    }

    /// No effect, if it is the only end of the study's own bound of a ratio: "less" would then hold for the same, too.
    pub(crate) fn bound_at_no_effect(&self) -> Option<f64> {
        let (Some(Published::Bound(bound)), Some(_)) = (&self.own, &self.per) else { return None };
        self.no_effect().filter(|nothing| match (bound.at_least, bound.at_most) {
            (Some(end), None) | (None, Some(end)) => end == *nothing,
            _ => false,
        })
    }
}

pub(crate) fn is_near(value: &ValueSpec, published: &Published, seen: f64) -> bool {
    let [least, most] = allowed(value, published);
    let is_number = !matches!(published, Published::List(_) | Published::Words(_));
    is_number && least.is_none_or(|least| seen >= least) && most.is_none_or(|most| seen <= most)
}

/// The smallest and the largest that the study lets pass.
fn allowed(value: &ValueSpec, published: &Published) -> [Option<f64>; 2] {
    let slack = |published: f64| {
        let share = value.within.map(|within| within * published.abs());
        share.unwrap_or(0.0).max(value.within_units.unwrap_or(0.0))
    };
    match published {
        Published::Number(number) => [Some(number - slack(*number)), Some(number + slack(*number))],
        Published::Bound(Bound { at_least, at_most }) => {
            [at_least.map(|least| least - slack(least)), at_most.map(|most| most + slack(most))]
        }
        Published::List(_) | Published::Words(_) => [None, None],
    }
}

/// What was published, as text.
fn text(published: &Published) -> String {
    match published {
        Published::Number(number) => number.to_string(),
        Published::List(list) => list.iter().map(f64::to_string).collect::<Vec<_>>().join(", "),
        Published::Bound(Bound { at_least: Some(least), at_most: Some(most) }) => format!("{least} to {most}"),
        Published::Bound(Bound { at_least: Some(least), .. }) => format!("at least {least}"),
        Published::Bound(Bound { at_most: Some(most), .. }) => format!("at most {most}"),
        Published::Bound(_) => "any".into(),
        Published::Words(words) => words.clone(),
    }
}

impl Equation {
    /// What it says.
    pub fn value(&self) -> f64 {
        let greatest = |loads: Vec<u32>| f64::from(loads.into_iter().max().unwrap_or(0));
        match *self {
            Equation::MeanResponse { tasks, cpus, demand, think } => {
                equations::mean_response(tasks, cpus, demand, think)
            }
            Equation::ShortestResponse { demand, slice, load } => equations::response_range(demand, slice, load).0,
            Equation::LongestResponse { demand, slice, load } => equations::response_range(demand, slice, load).1,
            Equation::BalancedLoad { tasks, cpus } => greatest(equations::balanced_loads(tasks, cpus)),
            Equation::UnbalancedLoad { tasks, cpus } => greatest(equations::unbalanced_loads(tasks, cpus)),
            Equation::SharedResponse { demand, load } => equations::shared_response(load, demand),
        }
    }
}

impl Experiment {
    /// What was seen in a case; why nothing was, otherwise.
    pub fn observed<'a>(
        &self,
        run: &str,
        policy: Option<&String>,
        at: &Table,
        outcomes: &'a [CaseOutcome],
    ) -> Result<&'a Observed, String> {
        if self.left_out.iter().any(|name| name == run) {
            return Err(LEFT_OUT.into());
        }
        let found = self.cases.iter().position(|case| case.is(run, policy, at));
        match found.map(|index| &outcomes[index]) {
            Some(CaseOutcome::Ran(observed)) => Ok(observed),
            Some(CaseOutcome::NotRun(why)) => Err(why.clone()),
            None => Err(format!("the run `{run}` has no such case")),
        }
    }

    /// The cases of a run, with what came of them.
    pub fn of_run<'a>(
        &'a self,
        run: &'a str,
        outcomes: &'a [CaseOutcome],
    ) -> impl Iterator<Item = (&'a Case, &'a CaseOutcome)> {
        self.cases.iter().zip(outcomes).filter(move |(case, _)| case.run == run)
    }
}
