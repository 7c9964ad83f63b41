//! Several policies on one scenario: tables side by side, differences with their evidence, theory next to measurement.

mod findings;

use crate::caution::{Caution, Number, are_marking, cautions, legends, note, noted, starved, texts, warnings};
use crate::changes::{self, Change, Fragile, WHAT};
use crate::conclusion::{Absent, Conclusion, Facts, has_requests};
use crate::control_groups;
use crate::costs;
use crate::gap::{Evidence, Gap};
use crate::pair::Pair;
use crate::result::{heading, load, names, speed_columns, venues};
use crate::theory::{Queue, draws};
use crate::{Column, Style, Table, WIDTH, column, columns_of, others, sketch, wrap};
use schedlab_metrics::combine::LEVEL;
use schedlab_metrics::curve::{Curve, RoleCurves};
use schedlab_metrics::statistics::BatchMeans;
use schedlab_model::outcome::{Outcome, View};
use schedlab_model::result::{Interval, RunResult};
use schedlab_model::scenario::Published;
use schedlab_model::workload::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The name and version of the form of a [`Comparison`].
pub const SCHEMA: &str = "schedlab.comparison/2";

/// One policy of a comparison.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// As the user wrote it.
    pub label: String,
    /// What came of it.
    pub result: &'a Outcome,
    /// The response times of the first run in batches, for each role.
    pub batches: &'a [BatchMeans],
    /// For each role how its times are distributed; nothing where that is not known.
    pub curves: &'a [RoleCurves],
    /// What its tasks do, where that is known.
    pub workload: Option<&'a Workload>,
    /// What is varied about its scenario, by path.
    pub settings: BTreeMap<String, Value>,
    /// Copies of its first run with small changes, where it would repeat exactly.
    pub copies: Vec<&'a RunResult>,
}

impl<'a> Candidate<'a> {
    /// A result without what is behind it, as a file holds it.
    pub fn bare(label: &str, result: &'a Outcome) -> Candidate<'a> {
        Candidate {
            label: label.to_string(),
            result,
            batches: &[],
            curves: &[],
            workload: None,
            settings: BTreeMap::new(),
            copies: Vec::new(),
        }
    }
}

/// What `schedlab compare --json` prints.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Always `schedlab.comparison/2`.
    pub schema: String,
    /// The labels of the policies that ran, no two alike: as the user wrote them; of one policy under several settings what
    /// differs. The first is the baseline.
    pub policies: Vec<String>,
    /// What differs in the scenario of each of these, by path, where variants are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<BTreeMap<String, Value>>,
    /// What other policies failed of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// What came of each policy: the result of its run, or of its several runs.
    pub results: Vec<Outcome>,
    /// Which policy does best at what; absent where there is one policy only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Conclusion>,
    /// How each other policy differs from the baseline, by policy, role and metric.
    pub differences: Vec<Difference>,
    /// The mean response time next to theory, where the scenario is one of its queues, and next to published values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub theory: Vec<Theory>,
    /// What small changes do to numbers that repeat exactly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Policies that fail under small changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fragile: Vec<String>,
    /// Differences that may be what others took of the machine, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inconclusive: Vec<String>,
    /// For each policy and role how its times are distributed; no part of the form.
    #[serde(skip)]
    curves: Vec<Vec<RoleCurves>>,
}

/// A metric of a role under two policies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The role.
    pub role: String,
    /// The path of the metric in the role: `response_ns.mean`.
    pub metric: String,
    /// The policy that the other is compared with.
    pub baseline: String,
    /// The other.
    pub policy: String,
    /// How far the other's value is from the baseline's.
    #[serde(flatten)]
    pub gap: Gap,
    /// How well the two separate, from -1 to 1.
    pub cliffs_delta: f64,
    /// All that in words.
    pub verdict: String,
    /// Why the two are not to be compared by this metric, if they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
}

/// A measured mean response time next to the one of theory.
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
    !outcomes.any(|outcome| outcome.roles().iter().any(has_requests))
}

impl Comparison {
    /// Compares all candidates with the first. `policies_draw` says whether any of them uses random numbers.
    pub fn new(candidates: &[Candidate], published: &[Published], policies_draw: bool) -> Comparison {
        let workloads = || candidates.iter().filter_map(|candidate| candidate.workload);
        let random = policies_draw || workloads().any(draws);
        let is_queue = workloads().any(|workload| Queue::of(workload).is_some());
        let theory = match (is_queue, published) {
            (false, []) => Vec::new(),
            _ => candidates.iter().filter_map(|candidate| theory(candidate, published, random)).collect(),
        };
        Comparison { theory, ..Comparison::differing(candidates, random) }
    }

    /// Compares results of which nothing else is known with the first.
    pub fn of_results(candidates: &[Candidate]) -> Comparison {
        Comparison::differing(candidates, true)
    }

    /// The same with what is to be said about policies next to those that ran well: how and which ones have no result,
    /// and which fail under small changes.
    pub fn with_failures(self, failures: Vec<String>, absent: Absent, fragile: &[Fragile]) -> Comparison {
        Comparison { failures, ..self }.settled(absent, fragile)
    }

    /// The same with the conclusion that these candidates, which are its own, come to, where it has none: older versions
    /// wrote none.
    pub fn concluded(self, candidates: &[Candidate]) -> Comparison {
        match self.conclusion {
            Some(_) => self,
            None => {
                let conclusion = Comparison::of_results(candidates).take_over(&self).conclusion;
                Comparison { conclusion, ..self }
            }
        }
    }

    /// Takes over what another comparison of some of these results knows better: differences of a single run may rest on its
    /// batches, which no result holds.
    pub fn take_over(mut self, known: &Comparison) -> Comparison {
        self.differences.iter_mut().for_each(|own| own.take_over(&known.differences));
        if let Some(conclusion) = &mut self.conclusion {
            conclusion.take_over(known.conclusion.as_ref(), &known.differences);
        }
        self.settled(Absent::default(), &[])
    }

    /// Puts into words what it comes to.
    fn settled(mut self, absent: Absent, fragile: &[Fragile]) -> Comparison {
        self.fragile.extend(fragile.iter().map(Fragile::words));
        let Some(mut conclusion) = self.conclusion.take() else { return self };
        let starving = |(policy, result): (&String, &Outcome)| {
            let roles = result.roles();
            let starving = roles.iter().filter(|role| starved(role, policy).is_some());
            starving.map(|role| (policy.clone(), role.name.to_string())).collect::<Vec<_>>()
        };
        let result = |name: &str| Some(&self.results[self.policies.iter().position(|policy| policy == name)?]);
        self.inconclusive = conclusion.doubt(result);
        self.differences.iter_mut().for_each(|one| one.caution = conclusion.caution(one));
        conclusion.settle(&Facts {
            policies: &self.policies,
            roles: self.results.first().map_or(0, |result| result.roles().len()),
            starving: self.policies.iter().zip(&self.results).flat_map(starving).collect(),
            fragile: fragile.iter().map(|one| one.policy.clone()).collect(),
            absent,
            is_recorded: self.is_recorded(),
        });
        Comparison { conclusion: Some(conclusion), ..self }
    }

    /// Whether what is compared was recorded, and cannot be run again.
    fn is_recorded(&self) -> bool {
        !self.has_requests() && self.results.iter().all(|result| result.provenance().scenario_hash.is_empty())
    }

    /// Why it cannot be built upon, if others took too much of the machine: from the only result, or for a difference.
    pub fn why_inconclusive(&self) -> Option<String> {
        match (self.results.as_slice(), self.inconclusive.as_slice()) {
            ([only], _) => others::inconclusive(only),
            (_, []) => None,
            (_, [first, rest @ ..]) => {
                let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
                Some(format!("{}{more}; run it again when the machine is quiet", first.trim_end_matches('.')))
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
                for role in 0..baseline.result.roles().len() {
                    let pair = Pair { baseline, other, role, random };
                    differences.extend(compared.iter().filter_map(|path| pair.difference(path)));
                }
            }
        }
        let comparison = Comparison {
            schema: SCHEMA.into(),
            policies: candidates.iter().map(|candidate| candidate.label.clone()).collect(),
            variants: match candidates.iter().any(|candidate| !candidate.settings.is_empty()) {
                true => candidates.iter().map(|candidate| candidate.settings.clone()).collect(),
                false => Vec::new(),
            },
            failures: Vec::new(),
            results: candidates.iter().map(|candidate| candidate.result.clone()).collect(),
            conclusion: Conclusion::of(candidates, random),
            differences,
            theory: Vec::new(),
            changes: candidates.iter().flat_map(|one| changes::of(&one.label, one.result, &one.copies)).collect(),
            fragile: Vec::new(),
            inconclusive: Vec::new(),
            curves: candidates.iter().map(|candidate| candidate.curves.to_vec()).collect(),
        };
        comparison.settled(Absent::default(), &[])
    }
}

/// The JSON schema of a [`Comparison`].
pub fn schema() -> serde_json::Value {
    schedlab_model::schema::printed::<Comparison>()
}

fn theory(candidate: &Candidate, published: &[Published], random: bool) -> Option<Theory> {
    let queue = candidate.workload.and_then(Queue::of);
    let measured = candidate.result.roles().first()?.metrics.value("response_ns.mean")?;
    // Of a run that repeats exactly they would make an interval of what does not vary.
    let in_batches = || candidate.batches.first().filter(|_| random).and_then(|batches| batches.interval(LEVEL));
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

/// The metrics of roles that have no requests.
const WAITS: [&str; 6] = [
    "run_delay_ns.mean",
    "run_delay_ns.p99",
    "longest_wait_ns",
    "wakeup_latency_ns.mean",
    "wakeup_latency_ns.p99",
    "cpu_share",
];

/// The metrics of roles in its tables.
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
        let told = if self.variants.is_empty() { std::slice::from_ref(first) } else { &self.results };
        let mut page = heading(told, &first.scenario().name, &venues(&self.results), style);
        let all: Vec<Vec<Caution>> = (0..self.policies.len()).map(|policy| self.cautions_of(policy)).collect();
        for (index, (_, table)) in self.tables().into_iter().enumerate() {
            page += "\n";
            page += &table.show(style);
            page += &if index == 0 { legends(all.iter().flatten(), style) } else { String::new() };
        }
        if let Some(sketches) = self.sketches() {
            page += "\n";
            page += &sketches.show(style);
        }
        page += &others::figures(self.policies.iter().zip(&self.results));
        let sources = self.sources();
        page += &if sources.is_empty() { String::new() } else { wrap("published: ", 0, &sources) };
        if let Some(conclusion) = &self.conclusion {
            page += &format!("\n{}", conclusion.show(style));
            page += &self.basis().map_or(String::new(), |basis| wrap("", 0, &basis));
        }
        page + &warnings(self.told(all.iter().flat_map(|cautions| texts(cautions))), style)
    }

    /// The tables, each with its title.
    pub fn tables(&self) -> Vec<(&'static str, Table)> {
        let first =
            if self.has_requests() { ("How fast", self.speed()) } else { ("How long tasks wait", self.waits()) };
        let mut tables = vec![first, ("How", self.behaviour())];
        let groups = control_groups::compared(self.what(), &self.policies, &self.results);
        tables.extend(groups.map(|table| ("Control groups", table)));
        tables.extend(costs::table(&self.policies, &self.results).map(|table| ("What the scheduler takes", table)));
        if !self.theory.is_empty() {
            tables.push(("Compared with theory", self.beside_theory()));
        }
        tables.extend(self.under_changes().map(|table| ("Under small changes", table)));
        tables
    }

    /// How the response times are distributed, drawn small.
    fn sketches(&self) -> Option<Table> {
        let none = Curve::default();
        let curve = |policy: usize, role: usize| {
            self.curves.get(policy).and_then(|roles| roles.get(role)).map_or(&none, |curves| &curves.response)
        };
        let roles = names(self.results.first()?).map(|role| columns_of(&role)).max()?;
        let policies = self.policies.iter().map(|policy| columns_of(policy)).max()?;
        let width = WIDTH.saturating_sub(policies.max(6) + roles.max(5) + 4);
        sketch::table(self.names(), &self.rows(curve).collect::<Vec<_>>(), width)
    }

    /// What a reader has to know before believing the numbers.
    pub fn cautions(&self) -> Vec<String> {
        let all: Vec<Caution> = (0..self.policies.len()).flat_map(|policy| self.cautions_of(policy)).collect();
        self.told(all.iter().map(|caution| caution.text.as_str())).into_iter().map(String::from).collect()
    }

    /// What is known of the comparison as a whole, and of its results, each once.
    fn told<'a>(&'a self, of_results: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
        let mut told: Vec<&str> = self.inconclusive.iter().chain(&self.fragile).map(String::as_str).collect();
        for text in of_results {
            if !told.contains(&text) {
                told.push(text);
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
            let role = names(&self.results[policy]).position(|name| name == difference.role)?;
            note(&self.cautions_of(policy), number, role)
        };
        of(&difference.policy).or_else(|| of(&difference.baseline))
    }

    /// The columns of policies and roles with what is to be known about their numbers.
    fn noted(&self, columns: Vec<Column>) -> Vec<Column> {
        let cautions: Vec<Vec<Caution>> = (0..self.policies.len()).map(|policy| self.cautions_of(policy)).collect();
        let marks: Vec<bool> = self.rows(|policy, _| are_marking(&cautions[policy])).collect();
        noted(columns, &marks, &|number| self.rows(|policy, role| note(&cautions[policy], number, role)).collect())
    }

    /// One value for each policy and role, in the order of the rows.
    fn rows<'a, T>(&'a self, of: impl Fn(usize, usize) -> T + 'a) -> impl Iterator<Item = T> + 'a {
        let roles = self.results.first().map_or(0, |result| result.roles().len());
        (0..self.results.len() * roles).map(move |row| of(row / roles, row % roles))
    }

    /// What is compared: policies, or variants under one of them.
    fn what(&self) -> &'static str {
        let is_one = self.results.iter().all(|result| result.policy().name == self.results[0].policy().name);
        if is_one && !self.variants.is_empty() { "variant" } else { "policy" }
    }

    /// The name of the policy in its first row.
    fn names(&self) -> Vec<Column> {
        let policy = |policy: usize, role| if role == 0 { self.policies[policy].clone() } else { String::new() };
        let roles = self.results.iter().flat_map(names);
        vec![Column::words(self.what(), self.rows(policy)), Column::words("role", roles)]
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
            self.rows(|policy, role| if role == 0 { of(&self.results[policy]) } else { String::new() }).collect()
        };
        let jain = |result: &Outcome| result.whole().get("jain").map_or("-".into(), |jain| format!("{jain:.4}"));
        let exact_jain: Vec<Option<f64>> =
            self.rows(|policy, role| self.results[policy].whole().get("jain").filter(|_| role == 0)).collect();
        // What the names and five columns of numbers leave.
        let longest = |names: &mut dyn Iterator<Item = String>| names.map(|name| columns_of(&name)).max().unwrap_or(0);
        let roles = longest(&mut names(&self.results[0]));
        let room = WIDTH.saturating_sub(40 + longest(&mut self.policies.iter().cloned()) + roles).clamp(20, 40);
        let load_of = |result: &Outcome| {
            let actual = result.whole().distribution("load_distribution.true");
            actual.map_or("-".into(), |actual| load(&actual, room))
        };
        let mut columns = self.names();
        columns.extend(["switches.voluntary", "switches.involuntary", "migrations"].map(|path| column(&rows, path)));
        columns.extend([
            Column::numbers("Jain", once(&jain)).about("jain").exactly("jain", exact_jain),
            Column::words("tasks on a CPU, time", once(&load_of)).about("load_distribution.true.0"),
        ]);
        Table::new(self.noted(columns))
    }

    fn under_changes(&self) -> Option<Table> {
        let name =
            |policy: usize, role: usize| (self.policies[policy].as_str(), self.results[policy].roles()[role].name);
        changes::table(self.names(), &self.rows(name).collect::<Vec<_>>(), &self.changes)
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
        ];
        if rows().any(|row| row.measured_interval.is_some()) {
            columns.push(Column::times("from", low).under(interval));
            columns.push(Column::times("to", high).under(interval));
        }
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

    /// Whether nothing that was compared is random: further runs would give the same numbers.
    pub fn is_exact(&self) -> bool {
        self.conclusion.as_ref().is_some_and(Conclusion::is_exact)
    }

    /// What the conclusion rests on, where it is not several runs.
    pub fn basis(&self) -> Option<String> {
        let conclusion = self.conclusion.as_ref()?;
        let copies = self.changes.first().map(|change| format!("those of {} copies with {WHAT}", change.copies));
        let exact = "Nothing here is random, so every run gives these numbers and there is no interval";
        Some(match (conclusion.evidence().as_slice(), copies) {
            (_, Some(copies)) if conclusion.is_exact() => format!("{exact}: the ranges are {copies}."),
            (_, None) if conclusion.is_exact() => format!("{exact}; --perturb 10 tries small changes of them."),
            ([] | [Evidence::Runs], _) => return None,
            ([.., Evidence::Single], _) if self.is_recorded() => {
                "Each figure comes from one recording, so the differences are not shown to repeat.".into()
            }
            ([Evidence::Batches, .., Evidence::Single], _) => {
                "The intervals of means are from batches of one run; the other differences are of one run and not shown to \
                 repeat: --runs 30 gives intervals for all."
                    .into()
            }
            ([.., Evidence::Single], _) => {
                "Each figure comes from one run, so the differences are not shown to repeat; --runs 30 gives intervals.".into()
            }
            ([Evidence::Batches, ..], _) => "Intervals from batches of one run; --runs 30 gives firmer ones.".into(),
            (_, Some(copies)) => format!("Values that are the same in every run have no interval; their ranges are {copies}."),
            (_, None) => "Values that are the same in every run have no interval.".into(),
        })
    }
}
