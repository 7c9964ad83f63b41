//! The values of a study: what was published or is asked by the study itself, and what is compared with it.

use crate::language::{Metric, OverheadMetric, Share, StatusSpec, Values, only};
use schedlab_model::scenario::OneOrMany;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Table;

/// A published value and how it is compared with what was measured.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValueSpec {
    /// What it is.
    pub what: String,
    /// What the source prints; a list where a value was published for each of what is varied.
    #[serde(default)]
    pub published: Option<Published>,
    /// A threshold or a calculation of the study's own, by which the value is judged.
    #[serde(default)]
    pub own: Option<Published>,
    /// Where `own` comes from.
    #[serde(default)]
    pub derivation: Option<String>,
    /// The case was made to give the published value: why. It then holds nothing.
    #[serde(default)]
    pub fit: Option<String>,
    /// The published value could not be checked against the source: why.
    #[serde(default)]
    pub unverified: Option<String>,
    /// Where in the source.
    #[serde(default)]
    pub place: String,
    /// Which items of the source it is.
    #[serde(default)]
    pub item: Option<OneOrMany>,
    /// Of which run.
    #[serde(default)]
    pub run: String,
    /// Under which policy; not needed where there is one only.
    #[serde(default)]
    pub policy: Option<String>,
    /// Where on what is varied; of what is not named the first value is taken.
    #[serde(default)]
    #[schemars(with = "Values")]
    pub at: Table,
    /// What of it: a path in the result.
    #[serde(default)]
    pub metric: Option<String>,
    /// Or a part of the responses.
    #[serde(default)]
    pub share: Option<Share>,
    /// Or what the policy says about a task.
    #[serde(default)]
    pub status: Option<StatusSpec>,
    /// Or of an estimate of overhead.
    #[serde(default)]
    pub overhead: Option<OverheadMetric>,
    /// In which unit: `s`, `ms`, `us` of nanoseconds, `%` of a fraction.
    #[serde(default)]
    pub unit: String,
    /// The path along which values were published, one each.
    #[serde(default)]
    pub along: Option<String>,
    /// The value is a ratio to the same of another case.
    #[serde(default)]
    pub per: Option<Per>,
    /// How far off it may be, as a fraction of the published one.
    #[serde(default)]
    pub within: Option<f64>,
    /// How far off it may be, in its unit.
    #[serde(default)]
    pub within_units: Option<f64>,
    /// What would be seen if there were no effect at all, in its unit.
    #[serde(default)]
    pub no_effect: Option<f64>,
    /// What an equation of the source says about it.
    #[serde(default)]
    pub predicted: Option<Equation>,
    /// Why it differs, where that is known, and the run that shows it.
    #[serde(default)]
    pub differs: Option<Difference>,
    /// Why it cannot be compared; then no case is needed.
    #[serde(default)]
    pub not_comparable: Option<String>,
}

/// Why a value differs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a reason, or a table with `why` and the run that shows it")]
pub enum Difference {
    /// A reason that no run has tested.
    Supposed(String),
    /// A reason with the run that shows it.
    Shown(Box<Proof>),
}

/// A reason and what has to be seen if it is right. Without `expect` the value itself has to hold in the run that is named:
/// what the reason speaks of is all that differs there.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The reason.
    pub why: String,
    /// In which run; what is not said is as in the value itself.
    #[serde(default)]
    pub run: Option<String>,
    /// Under which policy.
    #[serde(default)]
    pub policy: Option<String>,
    /// Its place on the axes.
    #[serde(default)]
    #[schemars(with = "Values")]
    pub at: Table,
    /// Another metric.
    #[serde(default)]
    pub metric: Option<String>,
    /// Or another part of the responses.
    #[serde(default)]
    pub share: Option<Share>,
    /// Or what the policy says, maybe at another time.
    #[serde(default)]
    pub status: Option<StatusSpec>,
    /// The ratio to another case.
    #[serde(default)]
    pub per: Option<Per>,
    /// The unit of `expect`; that of the value where nothing is said.
    #[serde(default)]
    pub unit: Option<String>,
    /// What has to be seen there.
    #[serde(default)]
    pub expect: Option<Bound>,
    /// The central part of the single runs in which the value has to lie: the reason is that one run is one sample.
    #[serde(default)]
    pub middle: Option<f64>,
}

/// Ends between which a number has to lie.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// Not less than this.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Not more than this.
    #[serde(default)]
    pub at_most: Option<f64>,
}

impl Bound {
    /// Whether a number lies between them.
    pub fn holds(&self, number: f64) -> bool {
        self.at_least.is_none_or(|least| number >= least) && self.at_most.is_none_or(|most| number <= most)
    }
}

impl ValueSpec {
    /// The runs on which its verdict rests: its own, that of its divisor, and the one that shows why it differs.
    pub fn runs(&self) -> impl Iterator<Item = &String> {
        let divisor = self.per.as_ref().and_then(|per| per.run.as_ref());
        let proof = self.differs.as_ref().and_then(Difference::proof).and_then(|proof| proof.run.as_ref());
        std::iter::once(&self.run).chain(divisor).chain(proof)
    }
}

impl Difference {
    /// The reason.
    pub fn why(&self) -> &str {
        match self {
            Difference::Supposed(why) => why,
            Difference::Shown(proof) => &proof.why,
        }
    }

    /// What shows it, if something does.
    pub fn proof(&self) -> Option<&Proof> {
        match self {
            Difference::Supposed(_) => None,
            Difference::Shown(proof) => Some(proof),
        }
    }
}

impl Proof {
    /// Whether it asks for something else than the value does.
    pub fn asks_anew(&self) -> bool {
        self.metric.is_some() || self.share.is_some() || self.status.is_some()
    }

    /// The value as it has to be in the run that shows the reason.
    pub fn of(&self, value: &ValueSpec) -> ValueSpec {
        let mut there = value.clone();
        there.run = self.run.clone().unwrap_or(there.run);
        there.policy = self.policy.clone().or(there.policy);
        there.at.extend(self.at.clone());
        there.unit = self.unit.clone().unwrap_or(there.unit);
        if self.asks_anew() {
            (there.metric, there.share, there.status) = (self.metric.clone(), self.share.clone(), self.status.clone());
            (there.overhead, there.per) = (None, None);
        }
        there.per = self.per.clone().or(there.per);
        there
    }
}

/// A number that the words of a question speak of, as `{name}`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberSpec {
    /// Of which run, or runs.
    pub run: OneOrMany,
    /// Under which policy; under each of them where nothing is said.
    #[serde(default)]
    pub policy: Option<String>,
    /// Where on what is varied; everywhere where nothing is said.
    #[serde(default)]
    #[schemars(with = "Values")]
    pub at: Table,
    /// What of it: a path in the result.
    #[serde(default)]
    pub metric: Option<String>,
    /// Or a part of the responses.
    #[serde(default)]
    pub share: Option<Share>,
    /// Or what the policy says about a task.
    #[serde(default)]
    pub status: Option<StatusSpec>,
    /// In which unit.
    #[serde(default)]
    pub unit: String,
    /// Which of several: the largest where nothing is said.
    #[serde(default)]
    pub of: Choice,
    /// It is an end of the middle of the runs, each alone, that has this part of them.
    #[serde(default)]
    pub middle: Option<f64>,
}

/// Which of several numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// The largest.
    #[default]
    Max,
    /// The smallest.
    Min,
}

impl NumberSpec {
    /// What it is about; none where several keys or none say it.
    pub fn asks(&self) -> Option<Metric<'_>> {
        let path = self.metric.as_deref().map(Metric::Path);
        only([path, self.share.as_ref().map(Metric::Share), self.status.as_ref().map(Metric::Status)])
    }
}

impl ValueSpec {
    /// What it is judged by: the study's own threshold, or else what was published. [`crate::Study::parse`] takes no value
    /// without one.
    pub fn judged_by(&self) -> &Published {
        self.own.as_ref().or(self.published.as_ref()).expect("a value has something to be judged by")
    }

    /// What it is about; none where several keys or none say it.
    pub fn asks(&self) -> Option<Metric<'_>> {
        let path = self.metric.as_deref().map(Metric::Path);
        let overhead = self.overhead.map(Metric::Overhead);
        only([path, self.share.as_ref().map(Metric::Share), self.status.as_ref().map(Metric::Status), overhead])
    }
}

/// The divisor of a ratio: another case, or another metric of the same.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Per {
    /// Which case; what is not said is as in the value itself.
    #[serde(default)]
    pub run: Option<String>,
    /// Its policy.
    #[serde(default)]
    pub policy: Option<String>,
    /// Its place on the axes.
    #[serde(default)]
    #[schemars(with = "Values")]
    pub at: Table,
    /// Another metric.
    #[serde(default)]
    pub metric: Option<String>,
}

/// What was published.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number, a list of numbers, a bound, or words")]
pub enum Published {
    /// A number.
    Number(f64),
    /// One for each value of `along`.
    List(Vec<f64>),
    /// A bound.
    Bound(Bound),
    /// Words, about what cannot be compared by numbers.
    Words(String),
}

/// An equation of the source with what is put into it, in the unit of the value.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "equation", deny_unknown_fields)]
pub enum Equation {
    /// Mean response by the response time law: all CPUs busy.
    #[serde(rename = "Linux.2.a")]
    MeanResponse {
        /// Tasks.
        tasks: u32,
        /// CPUs.
        cpus: u32,
        /// What a request computes.
        demand: f64,
        /// What a task waits between requests.
        #[serde(default)]
        think: f64,
    },
    /// The shortest response in slices.
    #[serde(rename = "Linux.1.b min")]
    ShortestResponse {
        /// What a request computes.
        demand: f64,
        /// A slice.
        slice: f64,
        /// Tasks on the CPU.
        load: u32,
    },
    /// The longest response in slices.
    #[serde(rename = "Linux.1.b max")]
    LongestResponse {
        /// What a request computes.
        demand: f64,
        /// A slice.
        slice: f64,
        /// Tasks on the CPU.
        load: u32,
    },
    /// The largest number of tasks on a CPU where their number is balanced.
    #[serde(rename = "Linux.1.a")]
    BalancedLoad {
        /// Tasks.
        tasks: u32,
        /// CPUs.
        cpus: u32,
    },
    /// The largest number of tasks on a CPU where only idle CPUs take tasks.
    #[serde(rename = "Windows.1.a")]
    UnbalancedLoad {
        /// Tasks.
        tasks: u32,
        /// CPUs.
        cpus: u32,
    },
    /// Mean response on a CPU that is shared.
    #[serde(rename = "Windows.1.b")]
    SharedResponse {
        /// What a request computes.
        demand: f64,
        /// Tasks on the CPU.
        load: u32,
    },
}
