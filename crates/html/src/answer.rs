//! What came of a comparison, in a sentence, and how sure that is.

use crate::command::Given;
use crate::document::Provenance;
use crate::pieces::{applying, more_runs};
use schedlab_boundary::shell::is_plain;
use schedlab_model::outcome::{Outcome, RoleView, View};
use schedlab_report::comparison::Comparison;
use schedlab_report::conclusion::furthest_tail;
use schedlab_report::{Column, Table, Times, column};

/// What the comparison comes to, or what a single scheduler did.
pub fn answer(comparison: &Comparison) -> String {
    comparison.conclusion.as_ref().map_or_else(|| alone(comparison), |conclusion| conclusion.headline.clone())
}

/// The most roles that the answer names.
const MOST_ROLES: usize = 4;

/// What a single scheduler did.
fn alone(comparison: &Comparison) -> String {
    let (Some(policy), Some(result)) = (comparison.policies.first(), comparison.results.first()) else {
        return String::new();
    };
    let roles = result.roles();
    let answered: Vec<&RoleView> = answered(&roles);
    match answered.as_slice() {
        [] => waits(policy, &roles),
        [role] => {
            let values = mean_and_tail(role, "response_ns");
            format!("Under {policy} requests of {} take {}.", role.name, values.words(""))
        }
        several => {
            let told = several.iter().take(MOST_ROLES);
            let told = told.map(|role| format!("{} {}", role.name, mean_and_tail(role, "response_ns").mean()));
            let more = match several.len().saturating_sub(MOST_ROLES) {
                0 => String::new(),
                1 => " and 1 more role".into(),
                more => format!(" and {more} more roles"),
            };
            format!("Under {policy} requests take on average: {}{more}.", told.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The roles of which requests ended.
fn answered<'r, 'o>(roles: &'r [RoleView<'o>]) -> Vec<&'r RoleView<'o>> {
    roles.iter().filter(|role| role.metrics.get("response_ns.mean").is_some()).collect()
}

/// Where no request ended: what tasks waited, those of the role that ran most.
fn waits(policy: &str, roles: &[RoleView]) -> String {
    let time = |role: &RoleView| role.metrics.get("cpu_ns").unwrap_or(0.0);
    let waited = roles.iter().filter(|role| role.metrics.get("run_delay_ns.mean").is_some());
    match waited.max_by(|a, b| time(a).total_cmp(&time(b))) {
        None => format!("Under {policy} no request ended."),
        Some(role) => {
            let values = mean_and_tail(role, "run_delay_ns");
            format!("Under {policy} tasks of {} wait {}.", role.name, values.words(" for a CPU"))
        }
    }
}

/// Of a single scheduler and several roles, how long the requests of each take.
pub fn by_role(comparison: &Comparison) -> Option<Table> {
    let [only] = comparison.results.as_slice() else { return None };
    let roles = only.roles();
    let answered = answered(&roles);
    let rows: Vec<View> = answered.iter().map(|role| role.metrics).collect();
    let names = Column::words("role", answered.iter().map(|role| role.name.to_string()));
    let columns = ["mean", "p50", "p99", "max"].map(|of| column(&rows, &format!("response_ns.{of}")));
    (answered.len() > 1).then(|| Table::new([names].into_iter().chain(columns)))
}

/// The mean of a sample, and the furthest quantile that it bears.
struct MeanAndTail {
    mean: f64,
    /// How many of a hundred values lie at or below the quantile, and the quantile.
    tail: Option<(f64, f64)>,
}

fn mean_and_tail(role: &RoleView, sample: &str) -> MeanAndTail {
    let value = |of: &str| role.metrics.get(&format!("{sample}.{of}"));
    let tail = furthest_tail(value("count").unwrap_or(0.0));
    MeanAndTail {
        mean: value("mean").unwrap_or(0.0),
        tail: tail.and_then(|(name, beyond)| Some((100.0 - beyond, value(name)?))),
    }
}

/// The share of a median.
const HALF: f64 = 50.0;

impl MeanAndTail {
    /// `10 ms for a CPU on average; 99 in 100 take no more than 20 ms`.
    fn words(&self, what_for: &str) -> String {
        let values = [Some(self.mean), self.tail.map(|(_, tail)| tail)];
        let times = Times::of(&values);
        let [mean, tail] = values.map(|value| format!("{} {}", times.show(value), times.unit));
        let average = format!("{mean}{what_for} on average");
        match self.tail {
            Some((HALF, _)) => format!("{average}; half take no more than {tail}"),
            Some((share, _)) => format!("{average}; {share:.0} in 100 take no more than {tail}"),
            None => average,
        }
    }

    /// `10 ms`.
    fn mean(&self) -> String {
        let values = [Some(self.mean)];
        let times = Times::of(&values);
        format!("{} {}", times.show(values[0]), times.unit)
    }
}

/// How sure the answer is.
pub fn confidence(comparison: &Comparison) -> String {
    let runs = comparison.results.first().map_or(1, Outcome::runs);
    let many = match (runs, comparison.results.len()) {
        (1, 1) => "one run".into(),
        (1, _) => "one run each".into(),
        (runs, 1) => format!("{runs} runs"),
        (runs, _) => format!("{runs} runs each, with the same seeds"),
    };
    match comparison.basis() {
        Some(basis) => format!("How sure: {many}. {basis}"),
        None => format!("How sure: {many}."),
    }
}

/// What would make the answer surer, explain it or test it elsewhere. A page of one result may be that of `run`, which takes one
/// policy in one venue.
pub fn next(comparison: &Comparison, provenance: &Provenance) -> Vec<String> {
    let results = &comparison.results;
    let runs = results.first().map_or(1, Outcome::runs);
    let has = |venue: &str| results.iter().any(|result| result.venue() == venue);
    let (is_recording, is_one) = (has("import"), results.len() == 1);
    let given = Given::of(provenance);
    let scenario = given.subject(&["run", "compare"]).unwrap_or("SCENARIO");
    let others = format!("See how others do: `schedlab compare {scenario} --policy {}`.", with_others(comparison));
    let why = match is_recording {
        true => {
            format!("See why a task waited: `schedlab trace {} queue`.", given.subject(&["report"]).unwrap_or("FILE"))
        }
        false => {
            let (policy, venue) = longest_waiting(comparison);
            format!(
                "See why a task waited: `schedlab run {scenario} --policy {policy}{venue} --trace run.parquet` keeps the events of a \
                 run, and `schedlab trace run.parquet queue` explains its longest wait."
            )
        }
    };
    let elsewhere = "See whether it holds on other machines and under other loads: add `--vary machine.cpus=1,2,4` to `compare`, \
                     or write a sweep.";
    let kernel = "See whether a real kernel agrees: add `--venue sim,vm` to `compare`.";
    let more = more_runs(runs);
    let steps = [
        (!is_recording && is_one, others.as_str()),
        (!is_recording && !comparison.is_exact(), more.as_str()),
        (true, why.as_str()),
        (!is_recording && comparison.variants.is_empty(), elsewhere),
        (has("sim") && !has("vm") && !has("host"), kernel),
    ];
    applying(&steps)
}

/// The only policy with others to compare it with.
fn with_others(comparison: &Comparison) -> String {
    let own = comparison.policies.first().and_then(|label| specification(label));
    let others = ["eevdf", "rr", "ule"].into_iter().filter(|other| own != Some(*other));
    own.into_iter().chain(others).collect::<Vec<_>>().join(",")
}

/// The policy under which a task waited longest, and the flag of its venue, where that is not the usual one.
fn longest_waiting(comparison: &Comparison) -> (&str, String) {
    let longest = |result: &Outcome| {
        let waits = result.roles().into_iter().filter_map(|role| role.metrics.get("longest_wait_ns"));
        waits.fold(0.0, f64::max)
    };
    let all = comparison.policies.iter().zip(&comparison.results);
    let most = all.max_by(|(_, a), (_, b)| longest(a).total_cmp(&longest(b)));
    let Some((policy, result)) = most.and_then(|(label, result)| Some((specification(label)?, result))) else {
        return ("POLICY", String::new());
    };
    let venue = if result.venue() == "sim" { String::new() } else { format!(" --venue {}", result.venue()) };
    (policy, venue)
}

/// A policy as a command takes it, of a label that says no more than that and a venue.
fn specification(label: &str) -> Option<&str> {
    let policy = match label.rsplit_once('@') {
        Some((policy, "sim" | "vm" | "host")) => policy,
        _ => label,
    };
    is_plain(policy).then_some(policy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::result::{Measures, RoleResult, RunResult, Summary};

    fn comparison(roles: &[(&str, u64)]) -> Comparison {
        let role = |(name, ms): &(&str, u64)| {
            let ns = ms * 1_000_000;
            let (sd, cv) = (None, None);
            let response =
                Summary { count: 9, mean: ns, sd, cv, min: ns, p50: ns, p90: ns, p99: ns, p999: ns, max: ns };
            let measures = Measures { requests: 9, response_ns: Some(response), ..Measures::default() };
            RoleResult { name: name.to_string(), count: 1, measures, ..RoleResult::default() }
        };
        let roles = roles.iter().map(role).collect();
        let result: Outcome = RunResult { roles, venue: "sim".into(), ..RunResult::default() }.into();
        Comparison::of_results(&[schedlab_report::comparison::Candidate::bare("rr", &result)])
    }

    #[test]
    fn all_roles_are_told_and_half_is_no_fraction() {
        let one = comparison(&[("a", 3)]);
        assert_eq!(answer(&one), "Under rr requests of a take 3 ms on average; half take no more than 3 ms.");
        assert!(by_role(&one).is_none());
        let many = comparison(&[("a", 3), ("b", 40), ("c", 1), ("d", 2), ("e", 5)]);
        let told = "Under rr requests take on average: a 3 ms, b 40 ms, c 1 ms, d 2 ms and 1 more role.";
        assert_eq!(answer(&many), told);
        assert_eq!(by_role(&many).unwrap().columns()[0].cells().len(), 5);
    }

    #[test]
    fn what_is_known_stands_in_the_commands() {
        let command = "schedlab run 'my load.toml' --policy rr --report a.html";
        let provenance = Provenance { commands: vec![command.into()], ..Provenance::default() };
        let steps = next(&comparison(&[("a", 3)]), &provenance).join("\n");
        assert!(steps.contains("`schedlab compare 'my load.toml' --policy rr,eevdf,ule`"), "{steps}");
        assert!(steps.contains("`schedlab run 'my load.toml' --policy rr --trace run.parquet`"), "{steps}");
        let unknown = next(&comparison(&[("a", 3)]), &Provenance::default()).join("\n");
        assert!(unknown.contains("schedlab run SCENARIO --policy rr"), "{unknown}");
        let labels = ["rr:quantum=5ms@vm", "rr (2)", "rr machine.cpus=2"];
        assert_eq!(labels.map(specification), [Some("rr:quantum=5ms"), None, None]);
    }
}
