//! A published value beside what was seen.

use crate::case::{Beside, Case, Experiment};
use crate::language::{Equation, Metric, Per, Published, ValueSpec};
use crate::measure::{in_unit, look_up};
use crate::overhead;
use crate::runner::{CaseOutcome, Observed};
use schedlab_metrics::theory::multiprocessor as equations;
use serde::Serialize;
use toml::{Table, Value};

/// What is to be said about a published value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// What was seen is as near as the study asks.
    Holds,
    /// It is, and so would be no effect at all: what is let pass is as wide as what was published is large.
    CannotTell {
        /// Why.
        reason: String,
    },
    /// It is not as near.
    Differs {
        /// Why, as far as the study knows.
        reason: Option<String>,
    },
    /// Nothing here can be held against it.
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
            Verdict::Differs { .. } => "differs",
            Verdict::NotComparable { .. } => "not comparable",
            Verdict::NotRun { .. } => "not run here",
        }
    }

    /// Why, where that is known.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Verdict::Holds => None,
            Verdict::Differs { reason } => reason.as_deref(),
            Verdict::CannotTell { reason } | Verdict::NotComparable { reason } | Verdict::NotRun { reason } => {
                Some(reason)
            }
        }
    }
}

/// A published value with what was seen.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// What it is, with its place on the axis where there is one.
    pub what: String,
    /// What was published, as text.
    pub published: String,
    /// The least and the greatest that hold, in the value's unit; absent where there is no such end.
    pub allowed: [Option<f64>; 2],
    /// What was seen, in the value's unit.
    pub seen: Option<f64>,
    /// What an equation of the source says.
    pub predicted: Option<f64>,
    /// How the verdict falls under other seeds or small changes, where that was tried.
    pub firmness: Option<Firmness>,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// How often a verdict falls the same way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Firmness {
    /// How often it does, the study's own runs among them.
    pub same: u32,
    /// How often it was tried.
    pub of: u32,
    /// What differed.
    pub beside: Beside,
    /// The least value that was seen.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Firmness {
    /// As in `5 of 5 seeds`.
    pub fn words(&self) -> String {
        format!("{} of {} {}", self.same, self.of, self.beside.words())
    }
}

/// Judges a value: as many times as it has published numbers.
pub fn judge(value: &ValueSpec, experiment: &Experiment, outcomes: &[CaseOutcome]) -> Vec<Judged> {
    let judged = |what: &str, published: &Published, (seen, verdict, firmness)| Judged {
        what: what.into(),
        published: text(published),
        allowed: allowed(value, published),
        seen,
        predicted: value.predicted.as_ref().map(Equation::value),
        firmness,
        verdict,
    };
    if let Some(reason) = &value.not_comparable {
        return vec![judged(
            &value.what,
            &value.published,
            (None, Verdict::NotComparable { reason: reason.clone() }, None),
        )];
    }
    let held = |published: &Published, at: &Table| held(value, published, at, experiment, outcomes);
    let (Published::List(numbers), Some(path)) = (&value.published, &value.along) else {
        return vec![judged(&value.what, &value.published, held(&value.published, &value.at))];
    };
    let axis = experiment.axis(&value.run, path);
    let point = |(index, number): (usize, &f64)| {
        let published = Published::Number(*number);
        let Some(here) = axis.get(index).and_then(Option::as_ref) else {
            let reason = "the quick version leaves it out".into();
            return judged(&value.what, &published, (None, Verdict::NotRun { reason }, None));
        };
        let mut at = value.at.clone();
        at.insert(path.clone(), here.clone());
        let name = path.rsplit('.').next().unwrap_or(path);
        judged(&format!("{}, {name} {}", value.what, plain(here)), &published, held(&published, &at))
    };
    numbers.iter().enumerate().map(point).collect()
}

/// A value of an axis as people write it.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

fn held(
    value: &ValueSpec,
    published: &Published,
    at: &Table,
    experiment: &Experiment,
    outcomes: &[CaseOutcome],
) -> (Option<f64>, Verdict, Option<Firmness>) {
    let under = |further: usize| seen(value, at, (experiment, outcomes), further);
    let own = match under(0) {
        Err(reason) => return (None, Verdict::NotRun { reason }, None),
        Ok(own) => own,
    };
    let further: Vec<f64> = (1..).map_while(|further| under(further).ok()).collect();
    let verdict = verdict(value, published, own);
    let same = further.iter().filter(|seen| self::verdict(value, published, **seen).words() == verdict.words()).count();
    let range = further.iter().fold((own, own), |(low, high), seen| (low.min(*seen), high.max(*seen)));
    let beside = experiment.cases.iter().find(|case| case.is(&value.run, value.policy.as_ref(), at));
    let firmness = beside.filter(|_| !further.is_empty()).map(|case| Firmness {
        same: 1 + same as u32,
        of: 1 + further.len() as u32,
        beside: case.beside,
        low: range.0,
        high: range.1,
    });
    (Some(own), verdict, firmness)
}

/// What is to be said about a value that was seen.
fn verdict(value: &ValueSpec, published: &Published, seen: f64) -> Verdict {
    if !is_near(value, published, seen) {
        return Verdict::Differs { reason: value.differs.clone() };
    }
    match value.no_effect().filter(|nothing| is_near(value, published, *nothing) && !is_claimed(published, *nothing)) {
        Some(nothing) => {
            let reason = format!("what is let pass holds for {nothing} too, which is no effect at all");
            Verdict::CannotTell { reason }
        }
        None => Verdict::Holds,
    }
}

/// Whether what was published is this very number, or a range with it.
fn is_claimed(published: &Published, number: f64) -> bool {
    match published {
        Published::Number(own) => *own == number,
        Published::Bound { at_least, at_most } => {
            at_least.is_none_or(|least| number >= least) && at_most.is_none_or(|most| number <= most)
        }
        Published::List(_) | Published::Words(_) => false,
    }
}

impl ValueSpec {
    /// What would be seen if there were no effect: what the study says; else one for a ratio between two cases, and zero for
    /// anything else but the word of a policy, which has no such value.
    fn no_effect(&self) -> Option<f64> {
        let one = if self.unit == "%" { 100.0 } else { 1.0 };
        let default = match &self.per {
            Some(Per { run: None, policy: None, at, .. }) if at.is_empty() => None,
            Some(_) => Some(one),
            None if self.status.is_some() => None,
            None => Some(0.0),
        };
        self.no_effect.or(default)
    }
}

fn seen(
    value: &ValueSpec,
    at: &Table,
    (experiment, outcomes): (&Experiment, &[CaseOutcome]),
    further: usize,
) -> Result<f64, String> {
    let metric = value.asks().expect("the study was checked");
    let of = |run: &str, policy: Option<&String>, at: &Table, metric: Metric, unit: &str| match metric {
        Metric::Overhead(_) if further > 0 => Err("it is made of several cases".into()),
        Metric::Overhead(metric) => {
            let value = overhead::value((experiment, outcomes), (run, policy), at, metric)?;
            Ok(in_unit(value, unit))
        }
        metric => {
            let observed = experiment.observed(run, policy, at, outcomes)?.under(further);
            look_up(observed.ok_or("there are no further runs")?, metric, unit)
        }
    };
    // A ratio has no unit of time; a percentage of a ratio stays one.
    let Some(per) = &value.per else { return of(&value.run, value.policy.as_ref(), at, metric, &value.unit) };
    let Per { run, policy, at: elsewhere, metric: other } = per;
    let mut there = at.clone();
    there.extend(elsewhere.clone());
    let divisor = of(
        run.as_ref().unwrap_or(&value.run),
        policy.as_ref().or(value.policy.as_ref()),
        &there,
        other.as_ref().map_or(metric, |path| Metric::Path(path)),
        "",
    )?;
    let ratio = of(&value.run, value.policy.as_ref(), at, metric, "")? / divisor;
    Ok(if value.unit == "%" { 100.0 * ratio } else { ratio })
}

fn is_near(value: &ValueSpec, published: &Published, seen: f64) -> bool {
    let [least, most] = allowed(value, published);
    let is_number = !matches!(published, Published::List(_) | Published::Words(_));
    is_number && least.is_none_or(|least| seen >= least) && most.is_none_or(|most| seen <= most)
}

/// The least and the greatest that the study lets pass.
fn allowed(value: &ValueSpec, published: &Published) -> [Option<f64>; 2] {
    let slack = |published: f64| {
        let share = value.within.map(|within| within * published.abs());
        share.unwrap_or(0.0).max(value.within_units.unwrap_or(0.0))
    };
    match published {
        Published::Number(number) => [Some(number - slack(*number)), Some(number + slack(*number))],
        Published::Bound { at_least, at_most } => {
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
        Published::Bound { at_least: Some(least), at_most: Some(most) } => format!("{least} to {most}"),
        Published::Bound { at_least: Some(least), .. } => format!("at least {least}"),
        Published::Bound { at_most: Some(most), .. } => format!("at most {most}"),
        Published::Bound { .. } => "any".into(),
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
            return Err("the quick version leaves it out".into());
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
