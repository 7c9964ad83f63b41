//! What came of a comparison, in a sentence, and how sure that is.

use crate::pieces::applying;
use schedlab_model::outcome::{Outcome, RoleView};
use schedlab_report::Times;
use schedlab_report::comparison::Comparison;
use schedlab_report::conclusion::furthest_tail;

/// What the comparison comes to, or what a single scheduler did.
pub fn answer(comparison: &Comparison) -> String {
    comparison.conclusion.as_ref().map_or_else(|| alone(comparison), |conclusion| conclusion.headline.clone())
}

/// What a single scheduler did.
fn alone(comparison: &Comparison) -> String {
    let (Some(policy), Some(result)) = (comparison.policies.first(), comparison.results.first()) else {
        return String::new();
    };
    let roles = result.roles();
    let answered = roles.iter().find(|role| role.metrics.get("response_ns.mean").is_some());
    if let Some(role) = answered {
        let values = mean_and_tail(role, "response_ns");
        return format!("Under {policy} requests of {} take {}.", role.name, values.words(""));
    }
    // Where no request ended: what tasks waited, those of the role that ran most.
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

impl MeanAndTail {
    /// `10 ms for a CPU on average; 99 in 100 take no more than 20 ms`.
    fn words(&self, what_for: &str) -> String {
        let values = [Some(self.mean), self.tail.map(|(_, tail)| tail)];
        let times = Times::of(&values);
        let [mean, tail] = values.map(|value| format!("{} {}", times.show(value), times.unit));
        let average = format!("{mean}{what_for} on average");
        match self.tail {
            Some((share, _)) => format!("{average}; {share:.0} in 100 take no more than {tail}"),
            None => average,
        }
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
pub fn next(comparison: &Comparison) -> Vec<String> {
    let results = &comparison.results;
    let runs = results.first().map_or(1, Outcome::runs);
    let has = |venue: &str| results.iter().any(|result| result.venue() == venue);
    let (is_recording, is_one) = (has("import"), results.len() == 1);
    let more = match runs {
        1 => "Get intervals: add `--runs 30` to `compare`.".to_string(),
        runs => format!("Narrow the intervals: add `--runs {}`.", 4 * runs),
    };
    let others = "See how others do: `schedlab compare SCENARIO --policy eevdf,rr,ule`.";
    let why = if is_recording {
        "See why a task waited: `schedlab trace FILE queue`."
    } else {
        "See why a task waited: `schedlab run SCENARIO --policy POLICY --trace FILE` keeps the events of a run, and `schedlab \
         trace FILE queue` explains its longest wait."
    };
    let elsewhere = "See whether it holds on other machines and under other loads: add `--vary machine.cpus=1,2,4` to `compare`, \
                     or write a sweep.";
    let kernel = "See whether a real kernel agrees: add `--venue sim,vm` to `compare`.";
    let steps = [
        (!is_recording && is_one, others),
        (!is_recording && !comparison.is_exact(), more.as_str()),
        (true, why),
        (!is_recording && comparison.variants.is_empty(), elsewhere),
        (has("sim") && !has("vm") && !has("host"), kernel),
    ];
    applying(&steps)
}
