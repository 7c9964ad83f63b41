//! Several policies on one scenario: tables side by side, differences with their evidence, theory beside measurement.

use crate::caution::{Caution, Number, cautions, note, noted, starved, warnings};
use crate::costs;
use crate::result::{heading, load, names, speed_columns};
use crate::theory::{Queue, draws};
use crate::{Column, Style, Table, WIDTH, column, columns_of, sketch, wrap};
use schedlab_metrics::combine::LEVEL;
use schedlab_metrics::curve::{Curve, GroupCurves};
use schedlab_metrics::statistics::{BatchMeans, compare, compare_paired};
use schedlab_model::metric;
use schedlab_model::outcome::{GroupView, Outcome, View};
use schedlab_model::result::Interval;
use schedlab_model::scenario::Published;
use schedlab_model::workload::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name and version of the form of a [`Comparison`].
pub const SCHEMA: &str = "schedlab.comparison/1";

/// With fewer batches of requests than this a single run has no interval.
const LEAST_BATCHES: usize = 10;

/// One policy of a comparison.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// As the user wrote it.
    pub label: String,
    /// What came of it.
    pub result: &'a Outcome,
    /// The response times of the first run in batches, for each group.
    pub batches: &'a [BatchMeans],
    /// For each group how its times are distributed; nothing where that is not known.
    pub curves: &'a [GroupCurves],
}

/// What `schedlab compare --json` prints.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Always `schedlab.comparison/1`.
    pub schema: String,
    /// The labels of the policies that ran, no two alike: as the user wrote them; of one policy under several settings what
    /// differs. The first is the baseline.
    pub policies: Vec<String>,
    /// What other policies failed of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// What came of each policy: the result of its run, or of its several runs.
    pub results: Vec<Outcome>,
    /// How each other policy differs from the baseline, by policy, group and metric.
    pub differences: Vec<Difference>,
    /// The mean response time beside theory, where the scenario is one of its queues, and beside published values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub theory: Vec<Theory>,
    /// For each policy and group how its times are distributed; no part of the form.
    #[serde(skip)]
    curves: Vec<Vec<GroupCurves>>,
}

/// A metric of a group under two policies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The group.
    pub group: String,
    /// The path of the metric in the group: `response_ns.mean`.
    pub metric: String,
    /// The policy that the other is compared with.
    pub baseline: String,
    /// The other.
    pub policy: String,
    /// What the intervals come from.
    pub evidence: Evidence,
    /// The other's value over the baseline's; absent for a baseline of zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Its confidence interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_interval: Option<Interval>,
    /// The other's value minus the baseline's.
    pub difference: f64,
    /// Its confidence interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference_interval: Option<Interval>,
    /// How well the two separate, from -1 to 1.
    pub cliffs_delta: f64,
    /// All that in words.
    pub verdict: String,
}

/// What an interval comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// Several runs; those with the same seed are compared in pairs.
    Runs,
    /// One run, cut into batches of consecutive requests.
    Batches,
    /// One run, in which nothing is random: every run would be the same.
    Exact,
    /// One run: there is no interval.
    Single,
}

/// A measured mean response time beside the one of theory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Theory {
    /// The policy as the user wrote it.
    pub policy: String,
    /// The queue and its discipline, as in `M/D/1 FCFS`; absent where theory is silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The mean response time of theory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_ns: Option<f64>,
    /// Whether the formula is an approximation.
    pub approximate: bool,
    /// The measured mean response time.
    pub measured_ns: f64,
    /// Its confidence interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_interval: Option<Interval>,
    /// What others have published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_ns: Option<u64>,
    /// Where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_in: Option<String>,
}

/// The metrics that are compared.
const COMPARED: [&str; 4] = ["response_ns.mean", "response_ns.p99", "throughput_per_s", "cpu_share"];

/// Those of runs that have no requests, as recordings: what their tasks tell is how long they wait.
const COMPARED_WAITS: [&str; 5] =
    ["run_delay_ns.mean", "run_delay_ns.p99", "wakeup_latency_ns.mean", "wakeup_latency_ns.p99", "cpu_share"];

/// Whether nothing in these outcomes is a request.
fn are_without_requests<'a>(mut outcomes: impl Iterator<Item = &'a Outcome>) -> bool {
    let has_some =
        |group: &GroupView| ["requests", "requests_open"].iter().any(|path| group.metrics.get(path) > Some(0.0));
    !outcomes.any(|outcome| outcome.groups().iter().any(has_some))
}

impl Comparison {
    /// Compares all candidates with the first. `policies_draw` says whether any of them uses random numbers.
    pub fn new(
        candidates: &[Candidate],
        workload: &Workload,
        published: &[Published],
        policies_draw: bool,
    ) -> Comparison {
        let random = policies_draw || draws(workload);
        let queue = Queue::of(workload);
        let theory = match (queue, published) {
            (None, []) => Vec::new(),
            (queue, _) => candidates.iter().filter_map(|c| theory(queue.as_ref(), c, published)).collect(),
        };
        Comparison { theory, ..Comparison::differing(candidates, random) }
    }

    /// Compares results of which nothing else is known with the first.
    pub fn of_results(candidates: &[Candidate]) -> Comparison {
        Comparison::differing(candidates, true)
    }

    /// Takes over differences that are known already, where there is no better evidence: those of a single run may rest on
    /// its batches, which no result holds.
    pub fn take_over(&mut self, known: &[Difference]) {
        let key = |difference: &Difference| {
            [&difference.group, &difference.metric, &difference.baseline, &difference.policy].map(String::clone)
        };
        for own in self.differences.iter_mut().filter(|own| own.evidence == Evidence::Single) {
            if let Some(better) = known.iter().find(|other| key(other) == key(own)) {
                own.clone_from(better);
            }
        }
    }

    fn differing(candidates: &[Candidate], random: bool) -> Comparison {
        let mut differences = Vec::new();
        let compared: &[&str] = match are_without_requests(candidates.iter().map(|candidate| candidate.result)) {
            true => &COMPARED_WAITS,
            false => &COMPARED,
        };
        if let [baseline, others @ ..] = candidates {
            for other in others {
                for group in 0..baseline.result.groups().len() {
                    let pair = Pair { baseline, other, group, random };
                    differences.extend(compared.iter().filter_map(|path| pair.difference(path)));
                }
            }
        }
        Comparison {
            schema: SCHEMA.into(),
            policies: candidates.iter().map(|candidate| candidate.label.clone()).collect(),
            failures: Vec::new(),
            results: candidates.iter().map(|candidate| candidate.result.clone()).collect(),
            differences,
            theory: Vec::new(),
            curves: candidates.iter().map(|candidate| candidate.curves.to_vec()).collect(),
        }
    }
}

/// The JSON schema of a [`Comparison`].
pub fn schema() -> serde_json::Value {
    schedlab_model::schema::printed::<Comparison>()
}

/// Two policies and a group.
struct Pair<'a> {
    baseline: &'a Candidate<'a>,
    other: &'a Candidate<'a>,
    group: usize,
    random: bool,
}

impl Pair<'_> {
    fn difference(&self, path: &str) -> Option<Difference> {
        let values = |candidate: &Candidate| -> Vec<(u64, Option<f64>)> {
            let each = candidate.result.groups()[self.group].metrics.each(path);
            candidate.result.seeds().iter().copied().zip(each).collect()
        };
        let (first, second) = (values(self.baseline), values(self.other));
        let seed = first.first()?.0;
        let same_seed = |(seed, value): &(u64, Option<f64>)| {
            let other = second.iter().find(|(other, _)| other == seed)?;
            Some((value.as_ref().copied()?, other.1?))
        };
        let pairs: Vec<(f64, f64)> = first.iter().filter_map(same_seed).collect();
        let (evidence, comparison) = match (pairs.as_slice(), self.batches(path)) {
            ([], _) => return None,
            ([pair], _) if !self.random => (Evidence::Exact, compare_paired(&[*pair, *pair], LEVEL, seed)?),
            // With the same seed the batches hold the same requests, but for few at their ends.
            ([_], Some((a, b))) if a.len() == b.len() => {
                let batches: Vec<_> = a.into_iter().zip(b).collect();
                (Evidence::Batches, compare_paired(&batches, LEVEL, seed)?)
            }
            ([_], Some((a, b))) => (Evidence::Batches, compare(&a, &b, LEVEL, seed)?),
            ([(a, b)], None) => (Evidence::Single, compare(&[*a], &[*b], LEVEL, seed)?),
            (pairs, _) => (Evidence::Runs, compare_paired(pairs, LEVEL, seed)?),
        };
        let group = self.baseline.result.groups()[self.group].name;
        let metric = metric::known(path).metric;
        let (name, words) = (&metric.name, comparison.verdict(&self.baseline.label, &self.other.label, metric.better));
        Some(Difference {
            group: group.into(),
            metric: path.to_string(),
            baseline: self.baseline.label.clone(),
            policy: self.other.label.clone(),
            evidence,
            ratio: comparison.ratio,
            ratio_interval: comparison.ratio_interval,
            difference: comparison.difference,
            difference_interval: comparison.difference_interval,
            cliffs_delta: comparison.cliffs_delta,
            verdict: format!("{group}, {name}: {words}"),
        })
    }

    /// The batches of both sides, where the metric is one that is kept in batches and there are enough.
    fn batches(&self, path: &str) -> Option<(Vec<f64>, Vec<f64>)> {
        let of = |candidate: &Candidate| candidate.batches.get(self.group).map_or(Vec::new(), BatchMeans::means);
        let (a, b) = (of(self.baseline), of(self.other));
        (path == "response_ns.mean" && a.len().min(b.len()) >= LEAST_BATCHES).then_some((a, b))
    }
}

fn theory(queue: Option<&Queue>, candidate: &Candidate, published: &[Published]) -> Option<Theory> {
    let measured = candidate.result.groups().first()?.metrics.value("response_ns.mean")?;
    let in_batches = || candidate.batches.first().and_then(|batches| batches.interval(LEVEL));
    let policy = candidate.result.policy();
    let prediction = queue.and_then(|queue| queue.predict(policy));
    let published = published.iter().find(|published| published.policy == policy.name);
    Some(Theory {
        policy: candidate.label.clone(),
        expected_ns: prediction.as_ref().map(|prediction| prediction.response_mean_ns),
        approximate: prediction.as_ref().is_some_and(|prediction| prediction.approximate),
        model: prediction.map(|prediction| prediction.model),
        measured_ns: measured.number,
        measured_interval: measured.interval.or_else(in_batches),
        published_ns: published.map(|published| published.value.ns()),
        published_in: published.map(|published| published.source.clone()),
    })
}

/// The metrics of groups that have no requests.
const WAITS: [&str; 6] = [
    "run_delay_ns.mean",
    "run_delay_ns.p99",
    "longest_wait_ns",
    "wakeup_latency_ns.mean",
    "wakeup_latency_ns.p99",
    "cpu_share",
];

/// The metrics of groups in its tables.
const SHOWN: [&str; 9] = [
    "throughput_per_s",
    "response_ns.mean",
    "response_ns.p50",
    "response_ns.p99",
    "response_ns.max",
    "run_delay_ns.mean",
    "switches.voluntary",
    "switches.involuntary",
    "migrations",
];

impl Comparison {
    /// The comparison as tables and sentences.
    pub fn show(&self, style: Style) -> String {
        let Some(first) = self.results.first() else { return String::new() };
        let mut page = heading(first, &first.scenario().name, style);
        for (_, table) in self.tables() {
            page += "\n";
            page += &table.show(style);
        }
        if let Some(sketches) = self.sketches() {
            page += "\n";
            page += &sketches.show(style);
        }
        let sources = self.sources();
        page += &if sources.is_empty() { String::new() } else { wrap("published: ", 0, &sources) };
        let sentences: String = self.sentences().iter().map(|sentence| wrap("- ", 2, sentence)).collect();
        if !sentences.is_empty() {
            page += &format!("\n{sentences}");
            page += &self.basis().map_or(String::new(), |basis| format!("{basis}\n"));
        }
        page + &warnings(self.cautions().iter().map(String::as_str), style)
    }

    /// The tables, each with its title.
    pub fn tables(&self) -> Vec<(&'static str, Table)> {
        let first =
            if self.has_requests() { ("How fast", self.speed()) } else { ("How long tasks wait", self.waits()) };
        let mut tables = vec![first, ("How", self.behaviour())];
        tables.extend(costs::table(&self.policies, &self.results).map(|table| ("What the scheduler takes", table)));
        if !self.theory.is_empty() {
            tables.push(("Beside theory", self.beside_theory()));
        }
        tables
    }

    /// How the response times are distributed, drawn small.
    fn sketches(&self) -> Option<Table> {
        let none = Curve::default();
        let curve = |policy: usize, group: usize| {
            self.curves.get(policy).and_then(|groups| groups.get(group)).map_or(&none, |curves| &curves.response)
        };
        let groups = names(self.results.first()?).map(|group| columns_of(&group)).max()?;
        let policies = self.policies.iter().map(|policy| columns_of(policy)).max()?;
        let width = WIDTH.saturating_sub(policies.max(6) + groups.max(5) + 4);
        sketch::table(self.names(), &self.rows(curve).collect::<Vec<_>>(), width)
    }

    /// What a reader has to know before believing the numbers.
    pub fn cautions(&self) -> Vec<String> {
        let mut told: Vec<String> = Vec::new();
        for caution in (0..self.policies.len()).flat_map(|policy| self.cautions_of(policy)) {
            if !told.contains(&caution.text) {
                told.push(caution.text);
            }
        }
        told
    }

    fn cautions_of(&self, policy: usize) -> Vec<Caution> {
        cautions(&self.results[policy], &self.policies[policy], &SHOWN)
    }

    /// What is to be known about a difference before it is believed, or about its interval.
    pub fn note(&self, difference: &Difference, of_interval: bool) -> Option<String> {
        let number = match (of_interval, difference.metric.starts_with("response_ns")) {
            (true, _) => Number::Interval,
            (false, true) => Number::Response,
            (false, false) => Number::Other,
        };
        let of = |name: &str| {
            let policy = self.policies.iter().position(|policy| policy == name)?;
            let group = names(&self.results[policy]).position(|name| name == difference.group)?;
            note(&self.cautions_of(policy), number, group)
        };
        of(&difference.policy).or_else(|| of(&difference.baseline))
    }

    /// The columns of policies and groups with what is to be known about their numbers.
    fn noted(&self, columns: Vec<Column>) -> Vec<Column> {
        let cautions: Vec<Vec<Caution>> = (0..self.policies.len()).map(|policy| self.cautions_of(policy)).collect();
        noted(columns, &|number| self.rows(|policy, group| note(&cautions[policy], number, group)).collect())
    }

    /// What the response times of a policy do not show: that a task of it starves.
    pub fn starvation(&self, policy: &str) -> Option<String> {
        let index = self.policies.iter().position(|known| known == policy)?;
        self.results[index].groups().iter().find_map(|group| starved(group, policy))
    }

    /// One value for each policy and group, in the order of the rows.
    fn rows<'a, T>(&'a self, of: impl Fn(usize, usize) -> T + 'a) -> impl Iterator<Item = T> + 'a {
        let groups = self.results.first().map_or(0, |result| result.groups().len());
        (0..self.results.len() * groups).map(move |row| of(row / groups, row % groups))
    }

    /// The name of the policy in its first row.
    fn names(&self) -> Vec<Column> {
        let policy = |policy: usize, group| if group == 0 { self.policies[policy].clone() } else { String::new() };
        let groups = self.results.iter().flat_map(names);
        vec![Column::words("policy", self.rows(policy)), Column::words("group", groups)]
    }

    fn metrics(&self) -> Vec<View<'_>> {
        self.results.iter().flat_map(crate::result::rows).collect()
    }

    fn speed(&self) -> Table {
        let rows = self.metrics();
        let mut columns = self.names();
        columns.extend(speed_columns(&rows));
        columns.push(column(&rows, "run_delay_ns.mean"));
        Table::new(self.noted(columns))
    }

    /// Whether any of them has requests; recordings have none.
    pub fn has_requests(&self) -> bool {
        !are_without_requests(self.results.iter())
    }

    /// What takes the place of the answers' times where there are none.
    fn waits(&self) -> Table {
        let rows = self.metrics();
        let mut columns = self.names();
        columns.extend(WAITS.iter().map(|path| column(&rows, path)));
        Table::new(self.noted(columns))
    }

    fn behaviour(&self) -> Table {
        let rows = self.metrics();
        let once = |of: &dyn Fn(&Outcome) -> String| -> Vec<String> {
            self.rows(|policy, group| if group == 0 { of(&self.results[policy]) } else { String::new() }).collect()
        };
        let jain = |result: &Outcome| result.whole().get("jain").map_or("-".into(), |jain| format!("{jain:.4}"));
        // What the names and five columns of numbers leave.
        let longest = |names: &mut dyn Iterator<Item = String>| names.map(|name| columns_of(&name)).max().unwrap_or(0);
        let groups = longest(&mut names(&self.results[0]));
        let room = WIDTH.saturating_sub(40 + longest(&mut self.policies.iter().cloned()) + groups).clamp(20, 40);
        let load_of = |result: &Outcome| {
            let actual = result.whole().distribution("load_distribution.true");
            actual.map_or("-".into(), |actual| load(&actual, room))
        };
        let mut columns = self.names();
        columns.extend(["switches.voluntary", "switches.involuntary", "migrations"].map(|path| column(&rows, path)));
        columns.extend([
            Column::numbers("Jain", once(&jain)).about("jain"),
            Column::words("tasks on a CPU, time", once(&load_of)).about("load_distribution.true.0"),
        ]);
        Table::new(self.noted(columns))
    }

    fn beside_theory(&self) -> Table {
        let low = self.theory.iter().map(|row| row.measured_interval.map(|interval| interval.low));
        let high = self.theory.iter().map(|row| row.measured_interval.map(|interval| interval.high));
        let model = |row: &Theory| match &row.model {
            Some(model) if row.approximate => format!("{model}, about"),
            Some(model) => model.clone(),
            None => "no formula".into(),
        };
        let (interval, mean) = ("95 % interval", "mean response");
        let rows = || self.theory.iter();
        let mut columns = vec![
            Column::words("policy", rows().map(|row| row.policy.clone())),
            Column::times("measured", rows().map(|row| Some(row.measured_ns))).under(mean),
            Column::times("from", low).under(interval),
            Column::times("to", high).under(interval),
        ];
        if rows().any(|row| row.published_ns.is_some()) {
            columns.push(Column::times("published", rows().map(|row| row.published_ns.map(|ns| ns as f64))));
        }
        if rows().any(|row| row.model.is_some()) {
            columns.push(Column::times("theory", rows().map(|row| row.expected_ns)));
            columns.push(Column::words("model", rows().map(model)));
        }
        Table::new(columns)
    }

    /// Where the published values are from.
    pub fn sources(&self) -> String {
        let mut sources: Vec<&str> = self.theory.iter().filter_map(|row| row.published_in.as_deref()).collect();
        sources.sort_unstable();
        sources.dedup();
        sources.join("; ")
    }

    /// One sentence for each policy and group about the metric that says most.
    pub fn sentences(&self) -> Vec<&str> {
        self.telling().map(|difference| difference.verdict.as_str()).collect()
    }

    /// What the sentences rest on, where it is not several runs.
    pub fn basis(&self) -> Option<&'static str> {
        match self.telling().map(|difference| difference.evidence).max_by_key(|evidence| *evidence as u8)? {
            Evidence::Runs => None,
            Evidence::Batches => Some("Intervals from batches of one run; --runs 30 gives firmer ones."),
            Evidence::Exact => Some("Nothing here is random: every run gives these numbers."),
            Evidence::Single => Some("One run each tells little: take --runs 30 for intervals."),
        }
    }

    /// The differences that say most.
    pub fn telling(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|difference| self.says_most(difference))
    }

    /// The mean response time; in groups without requests the CPU share, and where nothing is a request the mean wait.
    fn says_most(&self, difference: &Difference) -> bool {
        const MOST: [&str; 3] = ["response_ns.mean", "run_delay_ns.mean", "cpu_share"];
        let same = |other: &&Difference| other.group == difference.group && other.policy == difference.policy;
        let has = |path: &&&str| self.differences.iter().filter(same).any(|other| other.metric == ***path);
        MOST.iter().find(has).is_some_and(|most| difference.metric == *most)
    }
}
