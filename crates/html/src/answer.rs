//! What came of a comparison, in a sentence, and how sure that is.

use crate::pieces::applying;
use schedlab_model::outcome::{Outcome, RoleView};
use schedlab_report::Times;
use schedlab_report::comparison::Comparison;

/// What the comparison comes to, or what a single scheduler did.
pub fn answer(comparison: &Comparison) -> String {
    comparison.conclusion.as_ref().map_or_else(|| alone(comparison), |conclusion| conclusion.headline.clone())
}

/// What a single scheduler did.
fn alone(comparison: &Comparison) -> String {
    let (Some(policy), Some(result)) = (comparison.policies.first(), comparison.results.first()) else {
        return String::new();
    };
    let response =
        |role: &RoleView| Some([role.metrics.get("response_ns.mean")?, role.metrics.get("response_ns.p99")?]);
    let response = result.roles().into_iter().find_map(|role| Some((role.name, response(&role)?)));
    let Some((role, response)) = response else { return waits(policy, result) };
    let values = response.map(Some);
    let times = Times::of(&values);
    let [mean, p99] = values.map(|value| format!("{} {}", times.show(value), times.unit));
    format!("Under {policy} requests of {role} take {mean} on average; 99 in 100 take no more than {p99}.")
}

/// What tasks waited where no request ended: those of the role that ran most.
fn waits(policy: &str, result: &Outcome) -> String {
    let wait = |role: &RoleView| Some([role.metrics.get("run_delay_ns.mean")?, role.metrics.get("run_delay_ns.p99")?]);
    let time = |role: &RoleView| role.metrics.get("cpu_ns").unwrap_or(0.0);
    let most =
        result.roles().into_iter().filter(|role| wait(role).is_some()).max_by(|a, b| time(a).total_cmp(&time(b)));
    let Some((role, waits)) = most.and_then(|role| Some((role.name, wait(&role)?))) else {
        return format!("Under {policy} no request ended.");
    };
    let values = waits.map(Some);
    let times = Times::of(&values);
    let [mean, p99] = values.map(|value| format!("{} {}", times.show(value), times.unit));
    format!("Under {policy} tasks of {role} wait {mean} for a CPU on average; 99 in 100 waits take no more than {p99}.")
}

/// How sure the answer is.
pub fn confidence(comparison: &Comparison) -> String {
    let runs = comparison.results.first().map_or(1, Outcome::runs);
    let many = if runs == 1 { "one run each".into() } else { format!("{runs} runs each, with the same seeds") };
    match comparison.basis() {
        Some(basis) => format!("How sure: {many}. {basis}"),
        None => format!("How sure: {many}."),
    }
}

/// What would make the answer surer, explain it or test it elsewhere.
pub fn next(comparison: &Comparison) -> Vec<String> {
    let results = &comparison.results;
    let runs = results.first().map_or(1, Outcome::runs);
    let has = |venue: &str| results.iter().any(|result| result.venue() == venue);
    let is_recording = has("import");
    let more = match runs {
        1 => "Get intervals: add `--runs 30`.".to_string(),
        runs => format!("Narrow the intervals: add `--runs {}`.", 4 * runs),
    };
    let why = "See why a task waited: `--trace FILE` keeps the events of a run, and `schedlab trace FILE queue` explains its \
               longest wait.";
    let elsewhere = "See whether it holds on other machines and under other loads: add `--vary machine.cpus=1,2,4`, or write a \
                     sweep.";
    let kernel = "See whether a real kernel agrees: add `--venue sim,vm`.";
    let steps = [
        (!is_recording && !comparison.is_exact(), more.as_str()),
        (true, if is_recording { "See why a task waited: `schedlab trace FILE queue`." } else { why }),
        (!is_recording && comparison.variants.is_empty(), elsewhere),
        (has("sim") && !has("vm") && !has("host"), kernel),
    ];
    applying(&steps)
}
