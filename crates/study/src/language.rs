//! The language of study files. `docs/reference/study.md` explains it to users.

use crate::measure::ResponseEar;
use crate::section::SectionEar;
use crate::statuses::StatusEar;
use schedlab_campaign::Ear;
use schedlab_gate::FileName;
use schedlab_model::scenario::{OneOrMany, ScenarioError, read_toml};
use schedlab_venue::VenueName;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::Table;

/// A study as it stands in its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// A short name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Whose results are reproduced, and where they stand.
    #[serde(default)]
    pub source: String,
    /// What it is about, in the words of the method: object, purpose, viewpoint.
    pub goal: String,
    /// Scenarios that only this study needs, by name.
    #[serde(default)]
    pub scenario: BTreeMap<String, Table>,
    /// The questions.
    #[serde(rename = "question")]
    pub questions: Vec<Question>,
}

/// A question, what is run for it, and what that tells.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// A short name.
    pub id: String,
    /// The question itself.
    pub asks: String,
    /// What is run.
    #[serde(rename = "run", default)]
    pub runs: Vec<RunSpec>,
    /// Tables of what was measured.
    #[serde(rename = "table", default)]
    pub tables: Vec<TableSpec>,
    /// Estimates of what multitasking costs.
    #[serde(rename = "overhead", default)]
    pub overheads: Vec<OverheadSpec>,
    /// Published values, each beside what was measured.
    #[serde(rename = "value", default)]
    pub values: Vec<ValueSpec>,
    /// What the values say, and what is behind those that differ.
    #[serde(default)]
    pub answer: String,
}

/// Runs of one scenario: a case for each policy and each combination of what is varied.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// The name by which values ask for it.
    pub name: String,
    /// A scenario of the study, a shipped one, or a file beside the study.
    pub scenario: String,
    /// One policy or several, as on the command line.
    pub policy: OneOrMany,
    /// Where.
    #[serde(default)]
    pub venue: VenueName,
    /// The kernel of a virtual machine.
    #[serde(default)]
    pub kernel: Option<String>,
    /// The emulator of a virtual machine.
    #[serde(default)]
    pub engine: Option<String>,
    /// How often, each time with another seed.
    #[serde(default = "one")]
    pub runs: u32,
    /// Values that differ from the scenario's, by path.
    #[serde(default)]
    pub set: Table,
    /// What is varied: paths with lists of values.
    #[serde(default)]
    pub over: Table,
    /// What the quick version does otherwise.
    #[serde(default)]
    pub quick: QuickRun,
}

fn one() -> u32 {
    1
}

/// What the quick version of a run does otherwise.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuickRun {
    /// It is left out.
    #[serde(default)]
    pub skip: bool,
    /// How often instead.
    #[serde(default)]
    pub runs: Option<u32>,
    /// More values that differ.
    #[serde(default)]
    pub set: Table,
    /// Shorter lists of what is varied.
    #[serde(default)]
    pub over: Table,
}

/// A table with a row for each case of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// What it shows.
    pub title: String,
    /// Of which run, or runs that vary the same.
    pub run: OneOrMany,
    /// A path whose values stand side by side: a map of the one column.
    #[serde(default)]
    pub across: Option<String>,
    /// The columns.
    #[serde(rename = "column")]
    pub columns: Vec<Column>,
}

/// An estimate of what multitasking costs, from runs of n equal tasks on one CPU, for each of several n.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverheadSpec {
    /// What its table shows.
    pub title: String,
    /// Of which run, or runs.
    pub run: OneOrMany,
    /// The group whose requests are the computations.
    pub group: String,
    /// The path by which its number of tasks is varied, from one on.
    pub count: String,
    /// To how many computations of each task the times are brought.
    pub computations: f64,
}

/// What is asked of such an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverheadMetric {
    /// Te(n).
    Elapsed,
    /// Q'(n).
    Q,
    /// O'v(n).
    Added,
    /// The variance of O'v(n) over the runs, in s².
    Variance,
    /// The true Q(n), where time is simulated.
    Truth,
    /// Q'(n) less the true Q(n).
    Error,
    /// The slope of O'v over n.
    PerTask,
    /// The part of the variation of O'v that a line over n explains.
    Explained,
}

impl Column {
    /// What it shows; none where two keys or none say it.
    pub fn asks(&self) -> Option<Metric<'_>> {
        let path = self.metric.as_deref().map(Metric::Path);
        only([path, self.share.as_ref().map(Metric::Share), self.status.as_ref().map(Metric::Status)])
    }
}

/// The only one that is there.
fn only<const N: usize>(metrics: [Option<Metric<'_>>; N]) -> Option<Metric<'_>> {
    let mut there = metrics.into_iter().flatten();
    there.next().filter(|_| there.next().is_none())
}

/// A column of a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its head.
    pub head: String,
    /// A path in the result, as `groups.worker.response_ns.p50`; groups and tasks stand there by name or number.
    #[serde(default)]
    pub metric: Option<String>,
    /// Or a part of the responses.
    #[serde(default)]
    pub share: Option<Share>,
    /// Or what the policy says about a task.
    #[serde(default)]
    pub status: Option<StatusSpec>,
    /// In which unit: `s`, `ms`, `us` of nanoseconds, `%` of a fraction.
    #[serde(default)]
    pub unit: String,
}

/// What is looked up in a result.
#[derive(Clone, Copy, Debug)]
pub enum Metric<'a> {
    /// A number at a path.
    Path(&'a str),
    /// A part of the responses.
    Share(&'a Share),
    /// What the policy says about a task.
    Status(&'a StatusSpec),
    /// Of an estimate of overhead.
    Overhead(OverheadMetric),
}

/// What is asked of a run beyond its result.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Single response times.
    pub responses: bool,
    /// What its policy says.
    pub statuses: bool,
    /// The estimate of overhead that it is for.
    pub overhead: Option<OverheadSpec>,
}

impl Asked {
    /// Those who listen for it.
    pub fn ears(&self) -> Vec<Arc<dyn Ear>> {
        let section = self.overhead.as_ref().map(|overhead| SectionEar { group: overhead.group.clone() });
        let ears: [Option<Arc<dyn Ear>>; 3] = [
            self.responses.then(|| Arc::new(ResponseEar) as _),
            self.statuses.then(|| Arc::new(StatusEar) as _),
            section.map(|section| Arc::new(section) as _),
        ];
        ears.into_iter().flatten().collect()
    }
}

/// What a policy says about the first task of a group at an instant: its status word, or a part of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusSpec {
    /// The group.
    pub group: String,
    /// When.
    pub at: String,
    /// The lowest bit of the part, and how many bits it has.
    #[serde(default = "whole_word")]
    pub bits: [u32; 2],
}

fn whole_word() -> [u32; 2] {
    [0, 64]
}

/// The part of a group's requests whose response times lie in a range.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The group.
    pub group: String,
    /// From here.
    pub from: String,
    /// To here, this itself not included.
    pub to: String,
    /// Whether a request's time counts from its first run on, and not from its begin.
    #[serde(default)]
    pub from_first_run: bool,
}

/// A published value and how it is held against what was measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueSpec {
    /// What it is.
    pub what: String,
    /// What was published; a list where a value was published for each of what is varied.
    pub published: Published,
    /// Where in the source.
    #[serde(default)]
    pub place: String,
    /// Of which run.
    #[serde(default)]
    pub run: String,
    /// Under which policy; not needed where there is one only.
    #[serde(default)]
    pub policy: Option<String>,
    /// Where on what is varied; of what is not named the first value is taken.
    #[serde(default)]
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
    /// The path for each of whose values one was published.
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
    /// Why it differs, where that is known.
    #[serde(default)]
    pub differs: Option<String>,
    /// Why it cannot be compared; then no case is needed.
    #[serde(default)]
    pub not_comparable: Option<String>,
}

impl ValueSpec {
    /// What it is about; none where several keys or none say it.
    pub fn asks(&self) -> Option<Metric<'_>> {
        let path = self.metric.as_deref().map(Metric::Path);
        let overhead = self.overhead.map(Metric::Overhead);
        only([path, self.share.as_ref().map(Metric::Share), self.status.as_ref().map(Metric::Status), overhead])
    }
}

/// The divisor of a ratio: another case, or another metric of the same.
#[derive(Clone, Debug, Default, Deserialize)]
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
    pub at: Table,
    /// Another metric.
    #[serde(default)]
    pub metric: Option<String>,
}

/// What was published.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Published {
    /// A number.
    Number(f64),
    /// One for each value of `along`.
    List(Vec<f64>),
    /// A bound.
    Bound {
        /// Not less than this.
        #[serde(default)]
        at_least: Option<f64>,
        /// Not more than this.
        #[serde(default)]
        at_most: Option<f64>,
    },
    /// Words, about what cannot be compared by numbers.
    Words(String),
}

/// An equation of the source with what is put into it, in the unit of the value.
#[derive(Clone, Debug, Deserialize)]
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
    /// The greatest number of tasks on a CPU where their number is balanced.
    #[serde(rename = "Linux.1.a")]
    BalancedLoad {
        /// Tasks.
        tasks: u32,
        /// CPUs.
        cpus: u32,
    },
    /// The greatest number of tasks on a CPU where only idle CPUs take tasks.
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

impl Study {
    /// Reads a study from a text; `origin` names it in errors.
    ///
    /// # Errors
    ///
    /// The text is not TOML, or says what no study can say: with its line and column.
    pub fn parse(text: &str, origin: &str) -> Result<Study, ScenarioError> {
        let study: Study = read_toml(text, origin)?;
        match study.fault() {
            Some((path, message)) => Err(ScenarioError::at_path(origin, text, &path, message)),
            None => Ok(study),
        }
    }

    /// Its name, after which files are named: [`Study::parse`] takes no other.
    pub fn file_name(&self) -> FileName {
        FileName::made_of(&self.name)
    }

    /// What is asked of a run beyond its result.
    pub fn asked_beyond(&self, run: &str) -> Asked {
        let metrics = self.asked_of(run);
        let overheads = self.questions.iter().flat_map(|question| &question.overheads);
        let overhead = overheads.into_iter().find(|overhead| overhead.run.all().iter().any(|name| name == run));
        Asked {
            responses: metrics.iter().any(|metric| matches!(metric, Metric::Share(_))),
            statuses: metrics.iter().any(|metric| matches!(metric, Metric::Status(_))),
            overhead: overhead.cloned(),
        }
    }

    /// All that values and tables ask of a run.
    fn asked_of(&self, run: &str) -> Vec<Metric<'_>> {
        let tables = self.questions.iter().flat_map(|question| &question.tables);
        let tables = tables.filter(|table| table.run.all().iter().any(|name| name == run));
        let values = self.questions.iter().flat_map(|question| &question.values).filter(|value| value.run == run);
        tables
            .flat_map(|table| &table.columns)
            .filter_map(Column::asks)
            .chain(values.filter_map(ValueSpec::asks))
            .collect()
    }

    /// All runs, in order.
    pub fn runs(&self) -> impl Iterator<Item = &RunSpec> {
        self.questions.iter().flat_map(|question| &question.runs)
    }

    /// The run of this name.
    pub fn run_named(&self, name: &str) -> Option<&RunSpec> {
        self.runs().find(|run| run.name == name)
    }
}
