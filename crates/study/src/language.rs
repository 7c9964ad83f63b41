//! The language of study files. `docs/reference/study.md` explains it to users.

use crate::claim::{Difference, NumberSpec, ValueSpec};
use crate::course::CourseEar;
use crate::coverage::Item;
use crate::measure::ResponseEar;
use crate::section::SectionEar;
use crate::statuses::StatusEar;
use schedlab_boundary::FileName;
use schedlab_campaign::Ear;
use schedlab_model::scenario::{Notation, OneOrMany, ScenarioError, read_toml};
use schedlab_model::time::Time;
use schedlab_venue::VenueName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::Table;

/// Values of TOML by key, as the schema describes them.
pub(crate) type Values = BTreeMap<String, serde_json::Value>;

/// The schema of a study file, read as JSON.
pub fn schema() -> serde_json::Value {
    schedlab_model::schema::read::<Study>()
}

/// A study file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// A short name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The source whose results the study reproduces.
    #[serde(default)]
    pub source: String,
    /// Its goal, as the method phrases it: object, purpose, viewpoint.
    pub goal: String,
    /// The items of the source: the study shows each, or leaves it out for a reason.
    #[serde(default)]
    pub paper: Vec<Item>,
    /// Scenarios of this study alone, by name.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Values>")]
    pub scenario: BTreeMap<String, Table>,
    /// The questions.
    #[serde(rename = "question")]
    pub questions: Vec<Question>,
}

/// A question, its runs, and what they show.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
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
    /// Published values, to compare with measured ones.
    #[serde(rename = "value", default)]
    pub values: Vec<ValueSpec>,
    /// Pictures of what was measured.
    #[serde(rename = "chart", default)]
    pub charts: Vec<ChartSpec>,
    /// Numbers that its text uses, by name.
    #[serde(rename = "number", default)]
    pub numbers: BTreeMap<String, NumberSpec>,
    /// What the values say, and why some differ.
    #[serde(default)]
    pub answer: String,
}

/// Runs of one scenario: a case for each policy and each combination of what is varied.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// How tables and values refer to it.
    pub name: String,
    /// A scenario of the study, a shipped one, or a file next to the study.
    pub scenario: String,
    /// One policy or several, as on the command line.
    pub policy: OneOrMany,
    /// The venue.
    #[serde(default)]
    #[schemars(with = "String")]
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
    /// Scenario values to change, by path.
    #[serde(default)]
    #[schemars(with = "Values")]
    pub set: Table,
    /// What varies: paths with lists of values.
    #[serde(default)]
    #[schemars(with = "Values")]
    pub over: Table,
    /// What the quick version changes.
    #[serde(default)]
    pub quick: QuickRun,
}

fn one() -> u32 {
    1
}

/// What the quick version of a run changes.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuickRun {
    /// Skip it.
    #[serde(default)]
    pub skip: bool,
    /// How often.
    #[serde(default)]
    pub runs: Option<u32>,
    /// More values to change.
    #[serde(default)]
    #[schemars(with = "Values")]
    pub set: Table,
    /// Shorter lists of what varies.
    #[serde(default)]
    #[schemars(with = "Values")]
    pub over: Table,
}

impl QuickRun {
    /// Whether it makes fewer of the same runs, or others in their place: what they show may be something else.
    pub fn is_smaller(&self) -> bool {
        self.runs.is_some() || !self.set.is_empty()
    }
}

/// A table with a row for each case of a run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// What it shows.
    pub title: String,
    /// Which items of the source it shows.
    #[serde(default)]
    pub item: Option<OneOrMany>,
    /// The run, or runs that vary the same paths.
    pub run: OneOrMany,
    /// A path whose values become columns: a map of the one column.
    #[serde(default)]
    pub across: Option<String>,
    /// The columns.
    #[serde(rename = "column")]
    pub columns: Vec<Column>,
}

/// A picture as the source has it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChartSpec {
    /// What it shows.
    pub title: String,
    /// The figure of the source that it reproduces.
    #[serde(default)]
    pub place: String,
    /// Which items of the source it shows.
    #[serde(default)]
    pub item: Option<OneOrMany>,
    /// What is drawn.
    pub kind: ChartKind,
    /// Of which run, or runs.
    pub run: OneOrMany,
    /// Under which policies; all of them where nothing is said.
    #[serde(default)]
    pub policy: Option<OneOrMany>,
    /// Where on what is varied; everywhere where nothing is said.
    #[serde(default)]
    #[schemars(with = "Values")]
    pub at: Table,
    /// Of which role: responses; over time of all of them where nothing is said.
    #[serde(default)]
    pub role: String,
    /// How wide a bar of a histogram is.
    #[serde(default)]
    pub bin: Option<String>,
    /// Longer responses are not drawn in a histogram: it says how many there are. Of statuses: where the picture ends.
    #[serde(default)]
    pub to: Option<String>,
    /// Of statuses: where the picture begins, from where its time counts.
    #[serde(default)]
    pub from: Option<String>,
    /// What a request computes, by which responses are divided into loads.
    #[serde(default)]
    pub demand: Option<String>,
    /// Whether a request's time counts from its first run on.
    #[serde(default)]
    pub from_first_run: bool,
    /// What bars and lines are about.
    #[serde(rename = "column", default)]
    pub columns: Vec<Column>,
    /// Bits of the status word: the lowest, and how many.
    #[serde(default = "whole_word")]
    pub bits: [u32; 2],
    /// What is added to the number that these bits are.
    #[serde(default)]
    pub plus: f64,
    /// The title of what goes across, with its unit.
    #[serde(default)]
    pub x: Option<String>,
    /// The title of what goes up, with its unit.
    #[serde(default)]
    pub y: Option<String>,
}

/// What a picture draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChartKind {
    /// How often response times are of which length: a panel for each case.
    Histogram,
    /// The part of the responses that is not longer.
    Distribution,
    /// The number of tasks that requests seem to have met, a response over its demand, for all cases side by side.
    Loads,
    /// Columns as bars for each value of what is varied last: a panel for each policy.
    Bars,
    /// Columns as lines over what is varied last, with their intervals: a panel for each column.
    Lines,
    /// Tasks on each CPU over time.
    Tasks,
    /// CPU time that roles have had so far, over time.
    RunTime,
    /// What the policy says about the first task of each role, over time.
    Status,
}

impl ChartKind {
    /// Whether it is made of single response times.
    pub fn needs_responses(self) -> bool {
        matches!(self, ChartKind::Histogram | ChartKind::Distribution | ChartKind::Loads)
    }
}

impl ChartSpec {
    /// Whether it draws something of a run.
    pub fn is_of(&self, run: &str) -> bool {
        self.run.all().iter().any(|name| name == run)
    }

    /// How wide a bar is.
    pub(crate) fn bin_ns(&self) -> u64 {
        length_ns(&self.bin)
    }

    /// Where a picture of statuses begins, and where it ends if that is said.
    pub(crate) fn section(&self) -> (Time, Option<Time>) {
        let read = |text: &Option<String>| text.as_deref().and_then(|text| Time::read(text).ok());
        (read(&self.from).unwrap_or(Time(0)), read(&self.to))
    }

    /// Where a histogram ends.
    pub(crate) fn to_ns(&self) -> u64 {
        self.to.as_ref().map_or(u64::MAX, |_| length_ns(&self.to))
    }

    /// What a request computes.
    pub(crate) fn demand_ns(&self) -> u64 {
        length_ns(&self.demand)
    }

    /// What is missing of a picture of this kind.
    pub(crate) fn fault(&self) -> Option<(&'static str, String)> {
        let wrong = |key: &'static str, text: &Option<String>| {
            let length = text.as_deref().map(Time::read);
            (!matches!(length, Some(Ok(time)) if time > Time(0)))
                .then(|| (key, format!("this picture needs `{key}`, a time")))
        };
        match self.kind {
            ChartKind::Histogram => {
                wrong("bin", &self.bin).or_else(|| self.to.as_ref().and_then(|_| wrong("to", &self.to)))
            }
            ChartKind::Loads => wrong("demand", &self.demand),
            ChartKind::Status => [("from", &self.from), ("to", &self.to)]
                .into_iter()
                .find_map(|(key, text)| text.as_ref().and_then(|_| wrong(key, text))),
            ChartKind::Bars | ChartKind::Lines if self.columns.is_empty() => {
                Some(("column", "this picture needs `column`".into()))
            }
            _ => None,
        }
    }
}

/// Of a length that was checked.
fn length_ns(text: &Option<String>) -> u64 {
    text.as_deref().and_then(|text| Time::read(text).ok()).map_or(1, Time::ns).max(1)
}

/// An estimate of what multitasking costs, from runs of n equal tasks on one CPU, for each of several n.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverheadSpec {
    /// What its table shows.
    pub title: String,
    /// Which items of the source it shows.
    #[serde(default)]
    pub item: Option<OneOrMany>,
    /// Of which run, or runs.
    pub run: OneOrMany,
    /// The role whose requests are the computations.
    pub role: String,
    /// The path by which its number of tasks is varied, from one on.
    pub count: String,
    /// To how many computations of each task the times are brought.
    pub computations: f64,
    /// The figure of the source that the picture shows.
    #[serde(default)]
    pub place: String,
    /// To how many blocks the runs may grow where an estimate does not differ from zero or a variance is not known; nothing grows
    /// where nothing is said.
    #[serde(default)]
    pub blocks: Option<u32>,
}

/// What is asked of such an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
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
pub(crate) fn only<const N: usize>(metrics: [Option<Metric<'_>>; N]) -> Option<Metric<'_>> {
    let mut there = metrics.into_iter().flatten();
    there.next().filter(|_| there.next().is_none())
}

/// A column of a table.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its head.
    pub head: String,
    /// A path in the result, as `roles.worker.response_ns.p50`; roles and tasks are there by name or number.
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
    /// How it went over time.
    pub course: bool,
    /// The estimate of overhead that it is for.
    pub overhead: Option<OverheadSpec>,
}

impl Asked {
    /// What listens for it.
    pub fn ears(&self) -> Vec<Arc<dyn Ear>> {
        let section = self.overhead.as_ref().map(|overhead| SectionEar { role: overhead.role.clone() });
        let ears: [Option<Arc<dyn Ear>>; 4] = [
            self.responses.then(|| Arc::new(ResponseEar) as _),
            self.statuses.then(|| Arc::new(StatusEar) as _),
            section.map(|section| Arc::new(section) as _),
            self.course.then(|| Arc::new(CourseEar) as _),
        ];
        ears.into_iter().flatten().collect()
    }
}

/// What a policy says about the first task of a role at an instant: its status word, or a part of it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusSpec {
    /// The role.
    pub role: String,
    /// When.
    pub at: String,
    /// The lowest bit of the part, and how many bits it has.
    #[serde(default = "whole_word")]
    pub bits: [u32; 2],
}

fn whole_word() -> [u32; 2] {
    [0, 64]
}

/// The part of a role's requests whose response times lie in a range.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The role.
    pub role: String,
    /// From here.
    pub from: String,
    /// To here, this itself not included.
    pub to: String,
    /// Whether a request's time counts from its first run on, and not from its start.
    #[serde(default)]
    pub from_first_run: bool,
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
        let overheads = self.questions.iter().flat_map(|question| &question.overheads);
        let overhead = overheads.into_iter().find(|overhead| overhead.run.all().iter().any(|name| name == run));
        let charts = || self.questions.iter().flat_map(|question| &question.charts).filter(|chart| chart.is_of(run));
        Asked {
            responses: self.is_asked(run, |metric| matches!(metric, Metric::Share(_)))
                || charts().any(|chart| chart.kind.needs_responses()),
            statuses: self.is_asked(run, |metric| matches!(metric, Metric::Status(_)))
                || charts().any(|chart| chart.kind == ChartKind::Status),
            course: charts().any(|chart| matches!(chart.kind, ChartKind::Tasks | ChartKind::RunTime)),
            overhead: overhead.cloned(),
        }
    }

    /// Whether a table, a value, a proof or a number asks for such a thing of a run.
    fn is_asked(&self, run: &str, is_such: impl Fn(&Metric) -> bool) -> bool {
        let is_such = |metric: Option<Metric>| metric.is_some_and(|metric| is_such(&metric));
        self.questions.iter().any(|question| {
            let tables = question.tables.iter().filter(|table| table.run.all().iter().any(|name| name == run));
            let numbers = question.numbers.values().filter(|number| number.run.all().iter().any(|name| name == run));
            let values = question.values.iter().flat_map(|value| {
                let there = value.differs.as_ref().and_then(Difference::proof).map(|proof| proof.of(value));
                std::iter::once(value.clone()).chain(there)
            });
            tables.flat_map(|table| &table.columns).any(|column| is_such(column.asks()))
                || numbers.into_iter().any(|number| is_such(number.asks()))
                || values.into_iter().any(|value| value.run == run && is_such(value.asks()))
        })
    }

    /// The number of the question of this name.
    ///
    /// # Errors
    ///
    /// There is none: those that there are.
    pub fn question_numbered(&self, id: &str) -> Result<usize, String> {
        self.questions.iter().position(|question| question.id == id).ok_or_else(|| {
            let known: Vec<&str> = self.questions.iter().map(|question| question.id.as_str()).collect();
            format!("`{}` has no question `{id}`; it has {}", self.name, known.join(", "))
        })
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

impl Question {
    /// Whether anything of it looks at a run.
    pub fn looks_at(&self, run: &str) -> bool {
        let named = |runs: &OneOrMany| runs.all().iter().any(|name| name == run);
        self.runs.iter().any(|own| own.name == run)
            || self.tables.iter().any(|table| named(&table.run))
            || self.overheads.iter().any(|overhead| named(&overhead.run))
            || self.charts.iter().any(|chart| chart.is_of(run))
            || self.numbers.values().any(|number| named(&number.run))
            || self.values.iter().any(|value| value.runs().any(|name| name == run))
    }
}
