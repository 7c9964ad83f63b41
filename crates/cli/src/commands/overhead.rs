//! `schedlab overhead`: what multitasking costs here, estimated from outside. It is a study of one question, written from
//! the flags.

use super::missing;
use crate::args::{OverheadArgs, TaskKind};
use crate::failure::{self, Failure};
use crate::{export, interrupt, meant, output, progress};
use schedlab_campaign::{Runner, threads};
use schedlab_model::count::numbered;
use schedlab_model::scenario::{Notation, Scenario};
use schedlab_model::time::Time;
use schedlab_study::{CaseOutcome, Experiment, Page, Study, Variant, carry_out};
use schedlab_venue::{Monitor, Policy, VenueError};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// What the study calls itself.
const NAME: &str = "overhead";

/// The warm-up is this part of what is measured.
const WARMUP: u64 = 10;

/// To how many computations of a task times are brought: those of about 20 s, as in the paper on the method.
const COMPUTATIONS: u32 = 208_000;

/// Measures and prints.
pub fn run(args: OverheadArgs) -> Result<(), Failure> {
    export::check(&args.export)?;
    meant::refuse_of_guests(&[("--kernel", args.kernel.is_some())], &[args.venue])?;
    // Here an error is about the flag, and not about the study that is made of it.
    Policy::find_each(args.policy.iter().flat_map(|list| list.iter()))?;
    let text = study(&args);
    let parsed = Study::parse(&text, NAME).map_err(|error| of_flags(error.into()))?;
    let none = |name: &str| -> Result<Scenario, String> { Err(format!("there is no scenario `{name}`")) };
    let experiment =
        Experiment::plan(&parsed, (&text, NAME), Variant { seeds: 1, ..Variant::default() }, Path::new(""), &none)
            .map_err(of_flags)?;
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    // Nothing is kept: the question is about the present.
    let runner = Runner::new(None, threads(None), &monitor);
    let total_ns = experiment.duration_ns();
    let outcomes = progress::show(&monitor, total_ns, args.quiet, || carry_out(&experiment, &runner));
    let page = Page::new(&parsed, &experiment, &outcomes);
    let printed = if args.json { output::print_json(&page) } else { output::print(&page.show(output::style())) };
    let exported = export::write(&args.export, &page.findings());
    failure::all([printed, exported, end(&page, (&experiment, &outcomes), &monitor)])
}

/// What is wrong with the flags: the study that is made of them is no file of the user's.
fn of_flags(error: VenueError) -> Failure {
    match error {
        VenueError::Scenario(error) => Failure::Input(format!("{NAME}: {}", error.message)),
        error => error.into(),
    }
}

/// The study that the flags describe, as its file.
fn study(args: &OverheadArgs) -> String {
    let runs: Vec<(String, String)> =
        args.kind.iter().map(|kind| (kind.plural().into(), run_of(args, *kind))).collect();
    let names: Vec<&String> = runs.iter().map(|(name, _)| name).collect();
    let (warmup, blocks) = (Time(args.duration.ns() / WARMUP), args.blocks.max(args.most_blocks));
    let duration = args.duration + warmup;
    let runs: String = runs.iter().map(|(_, run)| run.as_str()).collect();
    format!(
        r#"name = "overhead"
title = "What multitasking costs, estimated from outside"
goal = "Estimate what part of a CPU it takes that n equal tasks share it, by nothing but how fast they compute."
[scenario.computations]
about = "Equal tasks that only compute, on one CPU."
machine = {{ cpus = 1 }}
run = {{ duration = "{duration}", warmup = "{warmup}" }}
[[scenario.computations.task]]
name = "compute"
loop = [{{ compute = "uniform(95us, 105us)" }}]
[[question]]
id = "overhead"
asks = "What does it take that tasks share a CPU, and how steady is that?"
{runs}[[question.overhead]]
title = "By the number of tasks"
run = {}
role = "compute"
count = "task.compute.count"
computations = {COMPUTATIONS}
blocks = {blocks}
"#,
        json!(names),
        duration = duration.write(),
        warmup = warmup.write(),
    )
}

/// The runs with tasks of a kind, one alone and several together.
fn run_of(args: &OverheadArgs, kind: TaskKind) -> String {
    let policies: Vec<String> = args.policy.iter().flat_map(|list| list.iter()).map(ToString::to_string).collect();
    let mut tasks: Vec<u32> = std::iter::once(1).chain(args.tasks.iter().copied()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let kernel = args.kernel.as_ref().map_or(String::new(), |kernel| format!("kernel = {}\n", json!(kernel)));
    format!(
        "[[question.run]]\nname = \"{}\"\nscenario = \"computations\"\npolicy = {}\nvenue = \"{}\"\n{kernel}\
         set = {{ \"task.compute.kind\" = \"{}\" }}\nover = {{ \"task.compute.count\" = {} }}\nruns = {}\n",
        kind.plural(),
        json!(policies),
        args.venue.name(),
        kind.word(),
        json!(tasks),
        args.blocks,
    )
}

/// The exit code says whether everything was measured, and whether any estimate is refused.
fn end(page: &Page, (experiment, outcomes): (&Experiment, &[CaseOutcome]), monitor: &Monitor) -> Result<(), Failure> {
    if monitor.is_stopped() {
        return Err(Failure::Interrupted);
    }
    missing::none(experiment, outcomes, "take a longer --duration")?;
    match page.questions.iter().map(|question| question.refused).sum::<usize>() {
        0 => Ok(()),
        refused => Err(Failure::Inconclusive(format!(
            "{} not reported: the lines below the tables say what would help",
            numbered(refused as u64, "estimate is", "estimates are")
        ))),
    }
}
