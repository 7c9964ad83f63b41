//! When a model is not to be believed, and what to do about it.

use crate::report::{Doubt, Report, Weight};
use schedlab_model::count::{counted, numbered};

/// Parts of the time slept without a known cause: reported from the first on, refused from the second on.
const UNEXPLAINED: [f64; 2] = [0.05, 0.20];
/// The same of CPU time that others had while recorded tasks waited.
const OTHERS: [f64; 2] = [0.02, 0.10];
/// The fewest items.
const ITEMS: u64 = 100;
/// Yields for each item from which on tasks are said to spin.
const YIELDS: [f64; 2] = [3.0, 30.0];

fn at(part: f64, [note, refusal]: [f64; 2]) -> Option<Weight> {
    match part {
        part if part > refusal => Some(Weight::Refusal),
        part if part > note => Some(Weight::Note),
        _ => None,
    }
}

/// What lessens the trust in a model, for what it says about itself.
pub fn of(report: &Report) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let mut say = |code, weight, what: String| doubts.push(Doubt { code, weight, what });
    let percent = |part: f64| format!("{:.1} %", 100.0 * part);
    if let Some(weight) = at(report.unexplained(), UNEXPLAINED) {
        let what = format!(
            "why {} of the time slept ended is not known: recordings of a kernel do not tell what tasks wait for, and a trace of \
             `run --for-model` does",
            percent(report.unexplained())
        );
        say("UNEXPLAINED", weight, what);
    }
    if let Some(weight) = at(report.others, OTHERS) {
        let what = format!(
            "other programs had {} of the CPU time while recorded tasks waited; record on a quiet machine",
            percent(report.others)
        );
        say("OTHERS", weight, what);
    }
    if report.lost > 0 {
        let what =
            format!("{} missing; record again with a larger --ring", numbered(report.lost, "event is", "events are"));
        say("LOSS", Weight::Refusal, what);
    }
    if report.items() < ITEMS && !report.roles.iter().any(|role| role.level == crate::Level::Tasks) {
        let what = format!("{}, and at least {ITEMS} are needed; record for longer", counted(report.items(), "item"));
        say("FEW", Weight::Refusal, what);
    }
    for role in report.roles.iter().filter(|role| role.idle > 0) {
        let (weight, why) = match role.items {
            0 => (Weight::Refusal, "what it does is not known"),
            _ => (Weight::Note, "the model has them do what the others did"),
        };
        let what = format!(
            "{} of {} tasks of {} came to no end of an item, and {why}; record for longer, or on more CPUs",
            role.idle, role.tasks, role.name
        );
        say("IDLE", weight, what);
    }
    let spins = report.yields as f64 / report.items().max(1) as f64;
    if let Some(weight) = at(spins, YIELDS) {
        let what = format!(
            "tasks yield {spins:.0} times for each item: they spin, and how long is the scheduler's doing; record with fewer \
             tasks than CPUs"
        );
        say("SPIN", weight, what);
    }
    if report.spins {
        let what = "tasks spin for a lock before they wait for it, and that is work in the model, which spins again; record with \
                    fewer tasks than CPUs";
        say("SPIN", Weight::Note, what.into());
    }
    if report.joins > 0 {
        let what = format!(
            "tasks moved between control groups {}, and the model leaves each where it began; record them in one group",
            numbered(report.joins, "time", "times")
        );
        say("JOINS", Weight::Refusal, what);
    }
    if report.kept < 1.0 {
        let what = format!("of the items {} are kept, evenly over the recording", percent(report.kept));
        say("LONG", Weight::Note, what);
    }
    if report.roles.iter().any(|role| role.level == crate::Level::Tasks) {
        let what = "tasks that wake each other are modelled one by one, each wake-up given by the task that gave it: who of \
                    a pool takes what is as it was, and so is the number of wake-ups";
        say("TASKS", Weight::Note, what.into());
    }
    doubts
}
