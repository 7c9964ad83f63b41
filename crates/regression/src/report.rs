//! What came of a gate.

use schedlab_model::metric::Unit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The form of the JSON.
pub(crate) const FORM: &str = "schedlab.gate/1";

/// What a row names that is held against the baseline.
pub(crate) const BASELINE: &str = "baseline";

/// A number, with that of each run where chance has a part.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Value {
    /// The number; of several runs their mean.
    pub number: f64,
    /// That of each run, where runs differ by chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Vec<f64>>,
}

/// Between which changes a value may go; a side without a bound is absent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Allowed {
    /// The greatest decrease, as a number below zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The greatest increase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}

/// What is said about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// A bound does not hold.
    Failed,
    /// There is no value.
    Absent,
    /// Chance leaves open whether a bound holds.
    Inconclusive,
    /// It is better than what it is held against, and all bounds hold.
    Better,
    /// It is worse, or different, and all bounds hold.
    Within,
    /// It changed, and is the new baseline.
    Accepted,
    /// It has no bound but those of its own, which hold.
    Met,
    /// It did not change, and all bounds hold.
    Same,
}

/// A check of a value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The scenario, the policy and the venue, as the gate writes them.
    pub scenario: String,
    /// The policy.
    pub policy: String,
    /// The venue.
    pub venue: String,
    /// The path of the value in a result.
    pub metric: String,
    /// What it is measured in.
    #[serde(serialize_with = "unit_words")]
    #[schemars(with = "String")]
    pub unit: Unit,
    /// What it is held against: the baseline, a revision, another policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The value there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// The value now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
    /// Between which differences the change lies, where chance has a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<(f64, f64)>,
    /// Which changes the bounds allow, in the unit of the metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Allowed>,
    /// Whether a bound of the value itself does not hold, whatever it is held against.
    #[serde(skip)]
    pub is_out_of_bounds: bool,
    /// What is said about it.
    pub verdict: Verdict,
    /// Why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

/// A switch of a CPU from one task to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Switch {
    /// When.
    pub time_ns: u64,
    /// Where.
    pub cpu: u32,
    /// The task that left; `idle` for none.
    pub previous: String,
    /// Why.
    pub reason: String,
    /// The task that came.
    pub next: String,
}

/// Since which switch two runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FirstDifference {
    /// The case.
    pub scenario: String,
    /// The policy.
    pub policy: String,
    /// The venue.
    pub venue: String,
    /// What it is held against.
    pub against: String,
    /// How many switches before it are the same.
    pub same_switches: u64,
    /// The first switch that is different, before; none where there were no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Switch>,
    /// And now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Switch>,
}

/// How many checks ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// All.
    pub checks: usize,
    /// Those of which a bound does not hold.
    pub failed: usize,
    /// Those without a value.
    pub absent: usize,
    /// Those that chance leaves open.
    pub inconclusive: usize,
    /// Those that are better.
    pub better: usize,
    /// Those that are worse, or different, within what is allowed.
    pub within: usize,
}

/// What came of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// The form.
    pub schema: &'static str,
    /// The gate's name.
    pub gate: String,
    /// The version of schedlab.
    pub schedlab: String,
    /// How many checks ended how.
    pub counts: Counts,
    /// All checks, those that need a look first.
    pub checks: Vec<Row>,
    /// Since which switch what changed is different.
    pub first_differences: Vec<FirstDifference>,
    /// What a reader has to know.
    pub cautions: Vec<String>,
    /// Whether it was stopped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

impl Value {
    /// One that repeats exactly.
    pub fn exact(number: f64) -> Value {
        Value { number, runs: None }
    }

    /// That of runs which differ by chance.
    pub fn of_runs(runs: Vec<f64>) -> Value {
        Value { number: schedlab_metrics::statistics::mean(&runs).unwrap_or(0.0), runs: Some(runs) }
    }
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Failed => "FAILED",
            Verdict::Absent => "absent",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Better => "better",
            Verdict::Within => "allowed",
            Verdict::Accepted => "accepted",
            Verdict::Met => "met",
            Verdict::Same => "same",
        }
    }
}

impl Row {
    /// Whether it is held against the baseline.
    pub fn is_held(&self) -> bool {
        self.against.as_deref() == Some(BASELINE)
    }

    /// In which case it is.
    pub fn case(&self) -> [&str; 3] {
        [&self.scenario, &self.policy, &self.venue]
    }
}

impl Report {
    /// Of these checks, in any order.
    pub(crate) fn new(gate: &str, mut checks: Vec<Row>) -> Report {
        // The order of the file stays among those with the same verdict.
        checks.sort_by_key(|row| row.verdict);
        let counts = Counts::of(&checks);
        Report {
            schema: FORM,
            gate: gate.into(),
            schedlab: env!("CARGO_PKG_VERSION").into(),
            counts,
            checks,
            first_differences: Vec::new(),
            cautions: Vec::new(),
            partial: false,
        }
    }
}

impl Report {
    /// The same once what was measured is the new baseline: what is held against it changed, or is new, and holds. Bounds of
    /// the values themselves are still bounds.
    #[must_use]
    pub fn accepted(mut self) -> Report {
        for row in self.checks.iter_mut().filter(|row| row.is_held() && row.to.is_some() && !row.is_out_of_bounds) {
            if row.from.is_none() || row.is_changed() {
                (row.verdict, row.why) = (Verdict::Accepted, Vec::new());
            }
        }
        self.checks.sort_by_key(|row| row.verdict);
        Report { counts: Counts::of(&self.checks), ..self }
    }
}

impl Counts {
    fn of(checks: &[Row]) -> Counts {
        let of = |verdict| checks.iter().filter(|row| row.verdict == verdict).count();
        Counts {
            checks: checks.len(),
            failed: of(Verdict::Failed),
            absent: of(Verdict::Absent),
            inconclusive: of(Verdict::Inconclusive),
            better: of(Verdict::Better),
            within: of(Verdict::Within),
        }
    }
}

fn unit_words<S: serde::Serializer>(unit: &Unit, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(unit.words())
}
