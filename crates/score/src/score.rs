//! The score: the weighted geometric mean of how many times better a policy is than the reference.

use crate::language::Weighed;
use schedlab_metrics::statistics::mean_interval;
use schedlab_model::metric::Better;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The form of a score.
pub(crate) const FORM: &str = "schedlab.score/1";

/// No ratio counts more than this, either way: a value of nothing would be infinitely better.
const MOST: f64 = 1000.0;

/// The level of intervals.
const LEVEL: f64 = 0.95;

/// The score of a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// `schedlab.score/1`.
    pub schema: String,
    /// The version of the program.
    pub schedlab: String,
    /// The name of the score file.
    pub set: String,
    /// The policy, as it was written.
    pub policy: String,
    /// The policy whose score is 1.
    pub reference: String,
    /// How many seeds.
    pub runs: u32,
    /// What the score's scenarios gave.
    #[serde(flatten)]
    pub scored: Set,
    /// What those gave that only check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out: Option<Set>,
}

/// What a set of scenarios gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Set {
    /// How many times better than the reference; 0 if a run failed or a bound does not hold.
    pub score: f64,
    /// The ends of its 95 % interval over seeds; absent where all seeds give the same, or there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Each part of it.
    pub parts: Vec<Part>,
    /// Why it is 0.
    pub failures: Vec<Failure>,
    /// The logarithm of the score of each scenario, in order.
    #[serde(skip)]
    pub(crate) by_scenario: Vec<(String, f64)>,
}

/// A metric and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Its path.
    pub metric: String,
    /// What it counts.
    pub weight: f64,
    /// How many times better than the reference; absent where it has a bound only, or was measured nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Where it was measured.
    pub items: Vec<Item>,
}

/// A value: of a role, or of a whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// The scenario.
    pub scenario: String,
    /// The path in its results.
    pub path: String,
    /// The unit of both values, in words.
    pub unit: String,
    /// The mean over seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// That of the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<f64>,
    /// How many times better; absent where the two cannot be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// What a reader has to know about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Why a score is 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The scenario; absent where the policy did not get that far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// What happened.
    pub why: String,
}

/// What one place in the results was under the policy and under the reference, for each seed.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Which part it belongs to.
    pub part: usize,
    pub scenario: String,
    pub path: String,
    pub values: Vec<Option<f64>>,
    pub reference: Vec<Option<f64>>,
    /// Whether response times hide requests that never end.
    pub starves: Vec<bool>,
    pub reference_starves: Vec<bool>,
}

impl Measured {
    /// For each seed, the logarithm of how many times better it is.
    fn logs(&self, weighed: &Weighed) -> Vec<Option<f64>> {
        let floor = weighed.floor;
        let log = |seed: usize| {
            let at = |values: &[Option<f64>]| values.get(seed).copied().flatten();
            let reference = at(&self.reference)?;
            if self.reference_starves[seed] {
                return None;
            }
            let worst = 1.0 / MOST;
            let ratio = match at(&self.values).filter(|_| !self.starves[seed]) {
                None => worst,
                Some(value) => {
                    let (value, reference) = (value.max(floor), reference.max(floor));
                    let (more, less) = match weighed.subject.metric().better {
                        Better::Higher => (value, reference),
                        _ => (reference, value),
                    };
                    if more == less { 1.0 } else { (more / less).clamp(worst, MOST) }
                }
            };
            Some(ratio.ln())
        };
        (0..self.reference.len()).map(log).collect()
    }

    fn item(&self, weighed: &Weighed) -> Item {
        let mean = |values: &[Option<f64>]| {
            let known: Vec<f64> = values.iter().copied().flatten().collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        let (value, reference) = (mean(&self.values), mean(&self.reference));
        let ratio = mean(&self.logs(weighed)).map(f64::exp).filter(|_| weighed.weight > 0.0);
        let note = if self.reference_starves.contains(&true) {
            Some("the reference starves tasks, so it is not compared")
        } else if self.starves.contains(&true) {
            Some("starves tasks: its response times leave out requests that never finished")
        } else if value.is_none() && reference.is_some() {
            Some("has no value where the reference has one")
        } else {
            None
        };
        Item {
            scenario: self.scenario.clone(),
            path: self.path.clone(),
            unit: weighed.subject.metric().unit.words().into(),
            value,
            reference,
            ratio,
            note: note.map(String::from),
        }
    }

    /// Which bound of the part does not hold, if any.
    fn broken(&self, weighed: &Weighed) -> Option<String> {
        let values: Vec<f64> = self.values.iter().copied().flatten().collect();
        let is_beyond = |bound: Option<f64>, far: fn(f64, f64) -> bool| {
            bound.is_some_and(|bound| values.iter().any(|value| far(*value, bound)))
        };
        let over = is_beyond(weighed.max, |value, bound| value > bound).then_some("above `max`");
        let under = is_beyond(weighed.min, |value, bound| value < bound).then_some("below `min`");
        over.or(under).map(|what| format!("{} is {what}", self.path))
    }
}

/// For a place in the results, the logarithm of its ratio under each seed.
struct Row<'a> {
    part: usize,
    scenario: &'a str,
    logs: Vec<Option<f64>>,
}

/// The weighted mean of logarithms: first over the places of each part, then over parts by their weights.
fn weighted_mean(
    parts: &[Weighed],
    rows: &[Row],
    is_in: impl Fn(&Row) -> bool,
    seed: impl Fn(usize) -> bool,
) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (index, weighed) in parts.iter().enumerate().filter(|(_, weighed)| weighed.weight > 0.0) {
        let own = rows.iter().filter(|row| row.part == index && is_in(row));
        let logs: Vec<f64> = own
            .flat_map(|row| row.logs.iter().enumerate())
            .filter_map(|(number, log)| log.filter(|_| seed(number)))
            .collect();
        if !logs.is_empty() {
            sum += weighed.weight * logs.iter().sum::<f64>() / logs.len() as f64;
            weights += weighed.weight;
        }
    }
    (weights > 0.0).then(|| sum / weights)
}

impl Set {
    /// The score of what was measured. Runs that failed are in `failures`.
    pub(crate) fn of(parts: &[Weighed], measured: &[Measured], mut failures: Vec<Failure>) -> Set {
        for one in measured {
            let broken = one.broken(&parts[one.part]);
            failures.extend(broken.map(|why| Failure { scenario: Some(one.scenario.clone()), why }));
        }
        let row = |one: &'_ Measured| one.logs(&parts[one.part]);
        let rows: Vec<Row> =
            measured.iter().map(|one| Row { part: one.part, scenario: &one.scenario, logs: row(one) }).collect();
        let seeds = rows.iter().map(|row| row.logs.len()).max().unwrap_or(0);
        let of_seed = |seed: usize| weighted_mean(parts, &rows, |_| true, |number| number == seed);
        let each: Vec<f64> = (0..seeds).filter_map(of_seed).collect();
        let interval = if each.len() > 1 { mean_interval(&each, LEVEL) } else { None };
        let score = weighted_mean(parts, &rows, |_| true, |_| true).map_or(0.0, f64::exp);
        let is_zero = !failures.is_empty();
        Set {
            score: if is_zero { 0.0 } else { score },
            interval: interval.filter(|_| !is_zero).map(|interval| [interval.low.exp(), interval.high.exp()]),
            parts: (0..parts.len()).map(|index| Part::of(index, parts, measured, &rows)).collect(),
            by_scenario: by_scenario(parts, &rows),
            failures,
        }
    }

    /// The score of a policy that got nowhere.
    pub fn failed(why: String) -> Set {
        let failures = vec![Failure { scenario: None, why }];
        Set { score: 0.0, interval: None, parts: Vec::new(), failures, by_scenario: Vec::new() }
    }
}

/// The logarithm of the score of each scenario, in the order of the file.
fn by_scenario(parts: &[Weighed], rows: &[Row]) -> Vec<(String, f64)> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.scenario) {
            names.push(row.scenario);
        }
    }
    let score = |name: &str| weighted_mean(parts, rows, |row| row.scenario == name, |_| true);
    names.into_iter().filter_map(|name| Some((name.to_string(), score(name)?))).collect()
}

impl Part {
    fn of(index: usize, parts: &[Weighed], measured: &[Measured], rows: &[Row]) -> Part {
        let weighed = &parts[index];
        Part {
            metric: weighed.subject.path(),
            weight: weighed.weight,
            score: weighted_mean(parts, rows, |row| row.part == index, |_| true).map(f64::exp),
            items: measured.iter().filter(|one| one.part == index).map(|one| one.item(weighed)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::subject::Subject;

    fn weighed(path: &str, weight: f64) -> Weighed {
        let subject = Subject::read(path).unwrap();
        Weighed { subject, weight, floor: 0.0, max: None, min: None, scenarios: None }
    }

    fn measured(part: usize, scenario: &str, values: &[f64], reference: &[f64]) -> Measured {
        let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
        Measured {
            part,
            scenario: scenario.into(),
            path: "roles.a.response_ns.p99".into(),
            values: some(values),
            reference: some(reference),
            starves: vec![false; values.len()],
            reference_starves: vec![false; values.len()],
        }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    /// Half the response time is twice as good, half the fairness half as good: with weights 3 and 1, 2^(3/4) / 2^(1/4).
    #[test]
    fn it_is_the_weighted_geometric_mean_of_ratios() {
        let parts = [weighed("response_ns.p99", 3.0), weighed("jain", 1.0)];
        let set = Set::of(&parts, &[measured(0, "x", &[5.0], &[10.0]), measured(1, "x", &[0.5], &[1.0])], Vec::new());
        assert!(close(set.score, 2_f64.powf(0.5)), "{}", set.score);
        assert_eq!(set.parts.iter().map(|part| part.score.unwrap()).collect::<Vec<_>>(), [2.0, 0.5]);
        assert_eq!((set.interval, set.failures.len()), (None, 0));
    }

    /// Two roles of a scenario and one of another are one part: each place of it counts the same.
    #[test]
    fn the_places_of_a_part_share_its_weight() {
        let parts = [weighed("response_ns.p99", 1.0)];
        let places =
            [measured(0, "x", &[5.0], &[10.0]), measured(0, "x", &[10.0], &[10.0]), measured(0, "y", &[1.0], &[4.0])];
        let set = Set::of(&parts, &places, Vec::new());
        assert!(close(set.score, 2.0), "{}", set.score);
        let expected = [("x", 2_f64.ln() / 2.0), ("y", 4_f64.ln())];
        assert!(set.by_scenario.iter().zip(expected).all(|(own, other)| own.0 == other.0 && close(own.1, other.1)));
    }

    #[test]
    fn what_fails_or_breaks_a_bound_scores_nothing() {
        let mut parts = [weighed("response_ns.p99", 1.0)];
        let failed = Failure { scenario: Some("x".into()), why: "stall".into() };
        let one = || [measured(0, "x", &[5.0], &[10.0])];
        assert_eq!(Set::of(&parts, &one(), vec![failed]).score, 0.0);
        parts[0].max = Some(4.0);
        let set = Set::of(&parts, &one(), Vec::new());
        assert_eq!((set.score, set.failures[0].why.as_str()), (0.0, "roles.a.response_ns.p99 is above `max`"));
        parts[0].max = Some(5.0);
        assert!(close(Set::of(&parts, &one(), Vec::new()).score, 2.0));
    }

    /// A policy that serves few requests fast and the others never is not fast.
    #[test]
    fn starving_is_the_worst_that_can_be() {
        let parts = [weighed("response_ns.p99", 1.0)];
        let mut place = measured(0, "x", &[1.0], &[10.0]);
        place.starves = vec![true];
        let set = Set::of(&parts, &[place.clone()], Vec::new());
        assert!(close(set.score, 1.0 / MOST), "{}", set.score);
        place.reference_starves = vec![true];
        let set = Set::of(&parts, &[place], Vec::new());
        assert_eq!((set.parts[0].score, set.parts[0].items[0].ratio), (None, None));
        assert!(set.parts[0].items[0].note.as_ref().unwrap().contains("reference starves"));
    }

    #[test]
    fn small_values_count_as_the_floor_and_no_ratio_is_infinite() {
        let mut parts = [weighed("response_ns.p99", 1.0)];
        let score = |parts: &[Weighed], value, reference| {
            Set::of(parts, &[measured(0, "x", &[value], &[reference])], Vec::new()).score
        };
        assert!(close(score(&parts, 0.0, 10.0), MOST) && close(score(&parts, 0.0, 0.0), 1.0));
        parts[0].floor = 8.0;
        assert!(close(score(&parts, 0.0, 10.0), 1.25) && close(score(&parts, 1.0, 2.0), 1.0));
    }

    #[test]
    fn seeds_give_an_interval() {
        let parts = [weighed("response_ns.p99", 1.0)];
        let set = Set::of(&parts, &[measured(0, "x", &[5.0, 6.0, 5.5], &[10.0, 10.0, 10.0])], Vec::new());
        let [low, high] = set.interval.unwrap();
        // Logarithms 0.693, 0.511 and 0.598; t of two degrees of freedom is 4.303.
        assert!((low - 1.453_638).abs() < 1e-5 && (high - 2.286_763).abs() < 1e-5, "{low} {high}");
        assert_eq!(Set::of(&parts, &[measured(0, "x", &[5.0, 5.0], &[10.0, 10.0])], Vec::new()).interval, None);
    }
}
