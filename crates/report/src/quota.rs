//! What came of the search for the smallest limit, weight or burst of a control group that keeps a target.

use crate::caution::{few_runs, warnings};
use crate::export::Findings;
use crate::number::times_alike;
use crate::{Column, Percent, Quantity, Style, Table, wrap};
use schedlab_model::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema of an answer.
pub const SCHEMA: &str = "schedlab.quota/3";

/// What is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Knob {
    /// The quota of `cpu.max`.
    Limit,
    /// `cpu.weight`.
    Weight,
    /// `cpu.max.burst`.
    Burst,
}

impl Knob {
    /// All of them.
    pub const ALL: [Knob; 3] = [Knob::Limit, Knob::Weight, Knob::Burst];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Knob::Limit => "limit",
            Knob::Weight => "weight",
            Knob::Burst => "burst",
        }
    }
}

/// What was asked, and the curve under each policy. `schedlab quota --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The scenario's name.
    pub scenario: String,
    /// Where it ran: `sim`, `vm` or `host`.
    pub venue: String,
    /// The path of the control group.
    pub control_group: String,
    /// The role whose responses count.
    pub role: String,
    /// What was searched for.
    pub search: Knob,
    /// The statistic of response times that the target bounds: `mean`, `p50`, `p90`, `p99`, `p999` or `max`.
    pub statistic: String,
    /// The bound.
    pub target_ns: u64,
    /// How many runs are behind each point.
    pub runs: u32,
    /// A curve under each policy.
    pub policies: Vec<Curve>,
}

/// What was tried under a policy, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// The policy as you wrote it.
    pub policy: String,
    /// With as much as can be given: no limit, weight 10000, or a burst of one quota.
    pub loosest: Point,
    /// What was tried, in increasing order.
    pub points: Vec<Point>,
    /// The least quota from which on all that were tried keep the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_quota_ns: Option<u64>,
    /// The least weight, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_weight: Option<u32>,
    /// The least burst, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_burst_ns: Option<u64>,
}

/// One setting of the control group, and what the tasks had under it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Its weight; absent where it is not searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// Its quota; absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_ns: Option<u64>,
    /// The period of the quota.
    pub period_ns: u64,
    /// Its burst.
    pub burst_ns: u64,
    /// The statistic, as the mean over the runs. Requests that are still open count with their age where that makes it longer.
    pub value_ns: f64,
    /// The lower end of the 95 % interval over the runs; absent with one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_ns: Option<f64>,
    /// The upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_ns: Option<f64>,
    /// The fraction of the periods that were throttled; absent where they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_frac: Option<f64>,
    /// CPUs that the control group used on average.
    pub used_cpus: f64,
    /// Whether requests come faster than they end, so that more and more are open. That meets no target.
    #[serde(default)]
    pub overloaded: bool,
    /// Whether the upper end of the interval, or with one run the value, is within the target, and it is not overloaded.
    pub meets: bool,
}

impl Point {
    /// What is searched for: a quota or a burst in nanoseconds, or a weight.
    pub fn setting(&self, knob: Knob) -> Option<u64> {
        match knob {
            Knob::Limit => self.quota_ns,
            Knob::Weight => self.weight.map(u64::from),
            Knob::Burst => Some(self.burst_ns),
        }
    }

    /// The CPUs that its quota is worth.
    pub fn limit_cpus(&self) -> Option<f64> {
        self.quota_ns.map(|quota| quota as f64 / self.period_ns as f64)
    }

    /// Whether it misses the target for sure: it is overloaded, or even the lower end of the interval is above the target.
    fn misses(&self, target_ns: u64) -> bool {
        self.overloaded || self.low_ns.unwrap_or(self.value_ns) > target_ns as f64
    }

    /// Whether it meets the target, in a word.
    fn verdict(&self) -> &'static str {
        match (self.meets, self.overloaded) {
            (true, _) => "yes",
            (false, true) => "overloaded",
            (false, false) => "no",
        }
    }

    /// The interval over the runs; none with one run, or where nothing varied.
    fn interval(&self) -> Option<(f64, f64)> {
        self.low_ns.zip(self.high_ns)
    }
}

impl Curve {
    /// The least setting that keeps the target, where there is one.
    pub fn least(&self, knob: Knob) -> Option<&Point> {
        let least = match knob {
            Knob::Limit => self.least_quota_ns,
            Knob::Weight => self.least_weight.map(u64::from),
            Knob::Burst => self.least_burst_ns,
        }?;
        self.points.iter().find(|point| point.setting(knob) == Some(least))
    }

    /// The greatest setting at which the target is missed for sure, below the least that keeps it.
    pub fn missed_up_to(&self, knob: Knob, target_ns: u64) -> Option<&Point> {
        let least = self.least(knob)?.setting(knob);
        self.points.iter().rev().find(|point| point.setting(knob) < least && point.misses(target_ns))
    }

    /// A row for each setting that was tried, the loosest last.
    pub fn table(&self, knob: Knob, statistic: &str) -> Table {
        table(&self.rows(knob), knob, statistic, None)
    }

    /// The loosest may be among those that were tried.
    fn rows(&self, knob: Knob) -> Vec<&Point> {
        let is_new = self.points.iter().all(|point| point.setting(knob) != self.loosest.setting(knob));
        self.points.iter().chain(is_new.then_some(&self.loosest)).collect()
    }
}

/// The JSON schema of an [`Answer`].
pub fn schema() -> serde_json::Value {
    schedlab_model::schema::printed::<Answer>()
}

/// The limit as the scenario writes it.
fn limit(point: &Point) -> String {
    point.quota_ns.map_or("none".into(), |quota| format!("{}/{}", Time(quota), Time(point.period_ns)))
}

fn table(rows: &[&Point], knob: Knob, statistic: &str, names: Option<Column>) -> Table {
    let values = |of: &dyn Fn(&Point) -> Option<f64>| rows.iter().map(|point| of(point)).collect::<Vec<_>>();
    let times = |head: &str, of: &dyn Fn(&Point) -> Option<f64>| Column::times(head, values(of));
    let words = |head: &str, of: &dyn Fn(&Point) -> String| Column::words(head, rows.iter().map(|point| of(point)));
    let cpus = |head: &str, key: &str, of: &dyn Fn(&Point) -> Option<f64>| {
        let shown = values(of).into_iter().map(|value| Quantity::with_decimals(2).show(value));
        Column::numbers(head, shown).exactly(key, values(of))
    };
    let mut columns: Vec<Column> = names.into_iter().collect();
    if knob == Knob::Weight {
        columns.push(words("weight", &|row| row.weight.map_or("-".into(), |it| it.to_string())));
    }
    if knob != Knob::Weight || rows.iter().any(|row| row.quota_ns.is_some()) {
        let part =
            |key: &str, of: &dyn Fn(&Point) -> Option<f64>| words(key, &|row| limit(row)).exactly(key, values(of));
        columns.push(words("limit", &|row| limit(row)).in_parts(vec![
            part("quota_ns", &|row| row.quota_ns.map(|quota| quota as f64)),
            part("period_ns", &|row| row.quota_ns.map(|_| row.period_ns as f64)),
        ]));
    }
    if knob == Knob::Burst || rows.iter().any(|row| row.burst_ns > 0) {
        let burst = words("burst", &|row| Time(row.burst_ns).to_string());
        columns.push(burst.exactly("burst_ns", values(&|row| Some(row.burst_ns as f64))));
    }
    if knob == Knob::Limit {
        columns.push(cpus("CPUs", "limit_cpus", &|row| row.limit_cpus()));
    }
    columns.push(times(statistic, &|row| Some(row.value_ns)));
    if rows.iter().any(|row| row.high_ns.is_some()) {
        columns.push(times("from", &|row| row.low_ns).under("95 % interval"));
        columns.push(times("to", &|row| row.high_ns).under("95 % interval"));
    }
    if rows.iter().any(|row| row.throttled_frac.is_some()) {
        let shown = rows.iter().map(|row| Percent::show(row.throttled_frac));
        columns
            .push(Column::numbers("throttled %", shown).exactly("throttled_frac", values(&|row| row.throttled_frac)));
    }
    columns.push(cpus("used CPUs", "used_cpus", &|row| Some(row.used_cpus)));
    columns.push(words("met", &|row| row.verdict().to_string()));
    Table::new(columns)
}

impl Answer {
    /// What was asked under a policy, in a line.
    pub fn question(&self, curve: &Curve) -> String {
        let Answer { scenario, statistic, role, search, control_group, .. } = self;
        let (policy, knob) = (&curve.policy, search.name());
        format!(
            "{scenario} under {policy}: {statistic} of the responses of `{role}` by the {knob} of `{control_group}`"
        )
    }

    /// The target as it is written.
    pub fn target(&self) -> String {
        format!("{} ≤ {}", self.statistic, Time(self.target_ns))
    }

    /// What came of it under a policy, in one sentence or two.
    pub fn conclusion(&self, curve: &Curve) -> String {
        match curve.least(self.search) {
            Some(point) => self.found(curve, point),
            None if curve.loosest.meets => {
                format!("No {} that was tried keeps {}.", self.search.name(), self.target())
            }
            None => self.unmet(&curve.loosest),
        }
    }

    /// The loosest setting does not keep the target, or its runs are too few to say that it does.
    fn unmet(&self, loosest: &Point) -> String {
        let (target, runs) = (self.target(), self.runs);
        let most = match self.search {
            Knob::Limit => "without a limit".to_string(),
            Knob::Weight => format!("with a weight of {}", loosest.weight.unwrap_or_default()),
            Knob::Burst => format!("with a burst of {}", Time(loosest.burst_ns)),
        };
        match loosest.interval().filter(|_| !loosest.misses(self.target_ns)) {
            Some((low, high)) => {
                let [value, low, high] = times_alike([loosest.value_ns, low, high]);
                format!(
                    "{runs} runs cannot tell whether {target} is met {most}: {value}, 95 % interval {low} to {high}. Take more \
                     runs; no smaller {} was tried.",
                    self.search.name()
                )
            }
            None => {
                let [value] = times_alike([loosest.value_ns]);
                let why = if loosest.overloaded { ", and requests come faster than they end" } else { "" };
                format!("{target} is not met even {most}: {value}{why}.")
            }
        }
    }

    /// What a reader has to know before believing the intervals.
    pub fn cautions(&self) -> Vec<String> {
        let mut points = self.policies.iter().flat_map(|curve| curve.points.iter().chain([&curve.loosest]));
        few_runs(self.runs).filter(|_| points.any(|point| point.interval().is_some())).into_iter().collect()
    }

    fn found(&self, curve: &Curve, point: &Point) -> String {
        let (target, used) = (self.target(), point.used_cpus);
        let mut text = match self.search {
            Knob::Limit => {
                let cpus = point.limit_cpus().unwrap_or_default();
                format!("{target} needs a limit of {}: {cpus:.2} CPUs, of which {used:.2} are used.", limit(point))
            }
            Knob::Weight => format!("{target} needs a weight of {}.", point.weight.unwrap_or_default()),
            Knob::Burst if point.burst_ns == 0 => format!("{target} needs no burst with a limit of {}.", limit(point)),
            Knob::Burst => {
                format!("{target} needs a burst of {} with a limit of {}.", Time(point.burst_ns), limit(point))
            }
        };
        if let Some(missed) = curve.missed_up_to(self.search, self.target_ns) {
            let setting = match self.search {
                Knob::Weight => format!("A weight of {}", missed.weight.unwrap_or_default()),
                Knob::Limit => limit(missed),
                Knob::Burst => format!("A burst of {}", Time(missed.burst_ns)),
            };
            text += &match missed.overloaded {
                true => format!(" {setting} is too little in the long run: requests come faster than they end."),
                false => format!(" {setting} misses the target."),
            };
        }
        text
    }

    /// The answer for a terminal.
    pub fn show(&self, style: Style) -> String {
        let mut text = String::new();
        for (index, curve) in self.policies.iter().enumerate() {
            text += if index == 0 { "" } else { "\n" };
            text += &wrap("", 0, &self.question(curve));
            text += "\n";
            text += &curve.table(self.search, &self.statistic).show(style);
            text += "\n";
            text += &wrap("", 0, &self.conclusion(curve));
        }
        text + &warnings(self.cautions().iter().map(String::as_str), style)
    }

    /// What files have of it: one table of all curves.
    pub fn findings(&self) -> Findings {
        let rows: Vec<(&Curve, &Point)> = self
            .policies
            .iter()
            .flat_map(|curve| curve.rows(self.search).into_iter().map(move |row| (curve, row)))
            .collect();
        let policy = Column::words("policy", rows.iter().map(|(curve, _)| curve.policy.clone()));
        let common = |head: &str, text: &str| Column::words(head, rows.iter().map(|_| text.to_string()));
        let names = policy.clone().in_parts(vec![
            common("scenario", &self.scenario),
            policy,
            common("venue", &self.venue),
            common("control group", &self.control_group),
            common("role", &self.role),
        ]);
        let points: Vec<&Point> = rows.iter().map(|(_, point)| *point).collect();
        let title = match self.search {
            Knob::Limit => "Response times by limit",
            Knob::Weight => "Response times by weight",
            Knob::Burst => "Response times by burst",
        };
        let answer = self.policies.iter().map(|curve| format!("{}. {}", self.question(curve), self.conclusion(curve)));
        Findings {
            answer: answer.collect(),
            cautions: self.cautions(),
            ..Findings::of([(title, table(&points, self.search, &self.statistic, Some(names)))])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Form;

    fn point(quota_ms: Option<u64>, value_ms: f64, meets: bool) -> Point {
        Point {
            weight: None,
            quota_ns: quota_ms.map(|ms| ms * 1_000_000),
            period_ns: 100_000_000,
            burst_ns: 0,
            value_ns: value_ms * 1e6,
            low_ns: Some(value_ms * 0.9e6),
            high_ns: Some(value_ms * 1.1e6),
            throttled_frac: quota_ms.map(|_| 0.25),
            used_cpus: 0.5,
            overloaded: false,
            meets,
        }
    }

    fn answer() -> Answer {
        let points = vec![point(Some(50), 80.0, false), point(Some(60), 21.0, false), point(Some(70), 12.0, true)];
        let curve = Curve {
            policy: "eevdf:version=7.3".into(),
            loosest: point(None, 10.0, true),
            points,
            least_quota_ns: Some(70_000_000),
            least_weight: None,
            least_burst_ns: None,
        };
        Answer {
            schema: SCHEMA.into(),
            scenario: "limited".into(),
            venue: "sim".into(),
            control_group: "web".into(),
            role: "server".into(),
            search: Knob::Limit,
            statistic: "p99".into(),
            target_ns: 20_000_000,
            runs: 5,
            policies: vec![curve],
        }
    }

    #[test]
    fn the_answer_says_from_where_on_and_up_to_where() {
        let answer = answer();
        let conclusion = answer.conclusion(&answer.policies[0]);
        let expected =
            "p99 ≤ 20ms needs a limit of 70ms/100ms: 0.70 CPUs, of which 0.50 are used. 50ms/100ms misses the target.";
        // At 60 ms the interval goes from 18.9 to 23.1 ms: that decides nothing.
        assert_eq!(conclusion, expected);
        let mut overloaded = answer.clone();
        overloaded.policies[0].points[1].overloaded = true;
        let conclusion = overloaded.conclusion(&overloaded.policies[0]);
        assert!(conclusion.ends_with("60ms/100ms is too little in the long run: requests come faster than they end."));
        assert!(overloaded.show(Style::PLAIN).lines().any(|line| line.ends_with("overloaded")));
        let text = answer.show(Style::PLAIN);
        assert!(text.contains("p99 of the responses of `server`") && text.contains("95 % interval"), "{text}");
        let last = text.lines().find(|line| line.starts_with("none")).unwrap();
        assert!(last.ends_with("yes") && last.contains(" 9.000  11.00 "), "{last}");
    }

    #[test]
    fn what_is_searched_for_is_named() {
        let mut burst = answer();
        burst.search = Knob::Burst;
        burst.policies[0].points.iter_mut().for_each(|point| point.burst_ns = point.quota_ns.unwrap_or_default() / 2);
        burst.policies[0].least_burst_ns = Some(35_000_000);
        assert!(
            burst
                .conclusion(&burst.policies[0])
                .starts_with("p99 ≤ 20ms needs a burst of 35ms with a limit of 70ms/100ms.")
        );
        let mut weight = answer();
        weight.search = Knob::Weight;
        weight.policies[0].loosest = Point { weight: Some(10_000), meets: false, ..point(None, 30.0, false) };
        let conclusion = weight.conclusion(&weight.policies[0]);
        assert_eq!(conclusion, "p99 ≤ 20ms is not met even with a weight of 10000: 30 ms.");
    }

    /// The mean keeps the target and the upper end of the interval does not: that says neither yes nor no.
    #[test]
    fn too_few_runs_are_no_answer() {
        let mut open = answer();
        open.runs = 2;
        let loosest = Point { low_ns: Some(9.19e6), high_ns: Some(23.81e6), ..point(None, 16.5, false) };
        open.policies[0] = Curve { loosest, points: Vec::new(), least_quota_ns: None, ..open.policies[0].clone() };
        let told = open.conclusion(&open.policies[0]);
        let expected = "2 runs cannot tell whether p99 ≤ 20ms is met without a limit: 16.500 ms, 95 % interval 9.190 ms to \
                        23.810 ms. Take more runs; no smaller limit was tried.";
        assert_eq!(told, expected);
        assert_eq!(open.cautions(), ["Intervals of fewer than 10 runs are unreliable; take --runs 30."]);
        assert!(open.show(Style::PLAIN).ends_with("take --runs 30.\n"), "{}", open.show(Style::PLAIN));
        let enough = Answer { runs: 10, ..open.clone() };
        assert!(enough.cautions().is_empty());
        open.policies[0].loosest = Point { low_ns: None, high_ns: None, ..point(None, 21.0, false) };
        assert_eq!(open.conclusion(&open.policies[0]), "p99 ≤ 20ms is not met even without a limit: 21 ms.");
        assert!(open.cautions().is_empty(), "without an interval there is nothing to be careful about");
    }

    #[test]
    fn files_have_a_row_for_each_setting() {
        let findings = answer().findings();
        let csv = Form::Csv.show(&findings);
        let head = "table,scenario,policy,venue,control group,role,quota_ns,period_ns,limit_cpus,p99 ns,";
        assert!(csv.starts_with(head), "{csv}");
        let row = "Response times by limit,limited,eevdf:version=7.3,sim,web,server,50000000,100000000,0.5,80000000,";
        assert!(csv.contains(row) && csv.contains("server,,,,10000000,"), "{csv}");
        assert!(csv.contains("\ncaution,") && csv.contains("\nanswer,"), "{csv}");
        let markdown = Form::Markdown.show(&findings);
        let told = "limited under eevdf:version=7.3: p99 of the responses of \\`server\\` by the limit of \\`web\\`. p99 ≤ 20ms";
        assert!(markdown.starts_with(told), "{markdown}");
        assert_eq!(markdown.lines().filter(|line| line.starts_with("| eevdf")).count(), 4, "{markdown}");
    }
}
