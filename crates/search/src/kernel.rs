//! Whether a kernel shows what the simulator showed.
//!
//! What is found is run once more in a kernel in a virtual machine, under the same policy. A kernel has a patience of its own,
//! so a stall gets as long as that takes.

use crate::finding::Kind;
use crate::judge::{Bounds, Measured};
use schedlab_campaign::{Case, Keeps, Place, Runner};
use schedlab_model::scenario::{Scenario, Text};
use schedlab_model::time::Time;
use schedlab_venue::{Policy, VenueError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How long a scenario in which something stalls runs: a kernel ends a policy after 30 s and looks every 15.
const PATIENCE: Time = Time::from_s(50);

/// What a kernel showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InKernel {
    /// Which kernel.
    pub kernel: String,
    /// Whether it shows the same.
    pub verdict: Shows,
    /// What was seen.
    pub what: String,
}

/// Whether a kernel shows the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// It does.
    Same,
    /// It does not.
    Not,
    /// It could not be asked.
    Unknown,
}

/// Runs what was found under a policy in a kernel. None for findings that are about the simulator.
pub(crate) fn ask(
    place: &Place,
    runner: &Runner,
    policy: &Policy,
    bounds: &Bounds,
    scenario: &Scenario,
    kind: &Kind,
) -> Option<InKernel> {
    if matches!(kind, Kind::Unlawful | Kind::ExecutorsDiffer | Kind::Panic) {
        return None;
    }
    let place = place.clone().for_policies([policy]);
    let kernel = place.kernel().to_string();
    let (verdict, what) = match run(&place, runner, policy, scenario, kind) {
        Err(error) => seen(kind, &error),
        Ok(measured) => match measured.beyond(kind, bounds) {
            Some(what) => (Shows::Same, what),
            None => (Shows::Not, "the run went to its end".to_string()),
        },
    };
    Some(InKernel { kernel, verdict, what })
}

/// What an error of a run in a kernel says.
fn seen(kind: &Kind, error: &VenueError) -> (Shows, String) {
    match (kind, error) {
        (Kind::Stall | Kind::Fault(_), VenueError::Kernel { why, .. }) => (Shows::Same, first_line(why)),
        // It ended the policy before the bound could be looked at.
        (_, VenueError::Kernel { why, .. }) => (Shows::Not, format!("another fault: {}", first_line(why))),
        (_, other) => (Shows::Unknown, other.to_string()),
    }
}

/// What a kernel said, without the functions that it was in.
fn first_line(why: &str) -> String {
    why.lines().next().unwrap_or_default().to_string()
}

fn run(
    place: &Place,
    runner: &Runner,
    policy: &Policy,
    scenario: &Scenario,
    kind: &Kind,
) -> Result<Measured, VenueError> {
    let mut scenario = scenario.clone();
    scenario.machine.watchdog = None;
    if *kind == Kind::Stall && scenario.run.duration.is_some() {
        scenario.run.duration = Some(Text(PATIENCE));
    }
    let workload = Arc::new(scenario.compile()?);
    let case = Case {
        seeds: vec![workload.run.seed],
        scenario_hash: scenario.hash(),
        workload,
        policy: policy.clone(),
        place: place.clone(),
        executor: None,
        check: false,
        costs: false,
        ears: Vec::new(),
        traces: Vec::new(),
        keeps: Keeps::ToGoOn,
    };
    let seen = runner.seen(&case, 0, &|| true)?;
    Ok(Measured::of(&scenario, &seen.run.result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_shows_the_same_if_it_ends_the_policy() {
        let error = |why: &str| VenueError::Kernel { policy: "mine".into(), why: why.into(), was_in_charge: true };
        let (verdict, what) = seen(&Kind::Stall, &error("runnable task stall (a/0)\n  kernel: watchdog+0x5"));
        assert_eq!((verdict, what.as_str()), (Shows::Same, "runnable task stall (a/0)"));
        assert_eq!(seen(&Kind::LongWait, &error("runnable task stall")).0, Shows::Not);
        let refused =
            VenueError::NotHere { policy: "mine".into(), venue: "vm", why: "too old".into(), elsewhere: None };
        assert_eq!(seen(&Kind::Stall, &refused).0, Shows::Unknown);
    }

    #[test]
    fn what_is_about_the_simulator_is_no_question_to_a_kernel() {
        let policy = Policy::find(&schedlab_policy::PolicySpec::parse("rr").unwrap()).unwrap();
        let monitor = schedlab_venue::Monitor::default();
        let runner = Runner::new(None, 1, &monitor);
        let place = Place::new(schedlab_venue::VenueName::Vm, None, None);
        let asked = ask(&place, &runner, &policy, &Bounds::default(), &crate::draw(1), &Kind::Unlawful);
        assert_eq!(asked, None);
    }
}
