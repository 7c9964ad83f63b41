//! What the life of a task takes that does nothing: its creation, its begin, and its end with what it writes down then. Measured
//! on tasks of a run, whose process has the memory that a run has.

use super::steps::workload;
use super::{Cost, settings};
use crate::run::{LoadError, Report, TaskReport, Unwatched, run};

/// The three parts of a life, each beside the wakeups and switches in it.
pub struct Life {
    /// CPU time of the parent for creating it.
    pub fork: Option<Cost>,
    /// CPU time of the task until its first step.
    pub start: Option<Cost>,
    /// From its last step until the CPU is another one's.
    pub exit: Option<Cost>,
}

/// What else is in the time of a life, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// Waking the new task.
    pub wakeup: f64,
    /// The switch from one to another.
    pub switch: f64,
    /// A sleep of the parent.
    pub sleep: f64,
}

/// How often the parent creates two of them.
const ROUNDS: u32 = 24;

/// Lets a parent create tasks of a kind, two at a time, so that one begins when the other is over: nobody else can tell when
/// that was, since a parent hears of an end before it has come.
pub fn lives(kind: &str, beside: Beside) -> Result<Life, LoadError> {
    let report = run(&workload(&family(kind, ROUNDS)), &settings(), &mut Unwatched)?;
    // What it writes down at its end is in it, once for all rounds.
    let parent_ns = report.tasks.first().map_or(0, |parent| parent.cpu_ns.saturating_sub(parent.start_cpu_ns));
    let fork_ns = (parent_ns as f64 / f64::from(ROUNDS) - beside.sleep) / 2.0 - beside.wakeup;
    let starts: Vec<f64> = report.tasks.iter().skip(1).map(|child| child.start_cpu_ns as f64).collect();
    let fork = Some(fork_ns).filter(|ns| *ns > 0.0).and_then(|ns| Cost::of(&[ns]));
    Ok(Life { fork, start: Cost::of(&starts), exit: Cost::of(&exits(&report, beside.switch)) })
}

fn family(kind: &str, rounds: u32) -> String {
    format!(
        "name = \"costs\"\n[machine]\ncpus = 1\n[[task]]\nname = \"parent\"\n\
         once = [{{ repeat = {rounds}, steps = [{{ spawn = \"child\", count = 2 }}, {{ sleep = \"20ms\" }}] }}]\n\
         [[task]]\nname = \"child\"\nkind = \"{kind}\"\nspawned = true\nonce = [{{ compute = \"1ns\" }}]\n"
    )
}

/// From the last step of the first of each two to the begin of the second, less what that took for it.
fn exits(report: &Report, switch_ns: f64) -> Vec<f64> {
    let mut children: Vec<(usize, &TaskReport)> = report.tasks.iter().enumerate().skip(1).collect();
    children.sort_by_key(|(_, child)| child.began_ns);
    let last_step_ns = |task: usize| {
        let request = report.requests.iter().find(|request| request.task as usize == task)?;
        Some(request.end_ns? as f64)
    };
    let pairs = children.chunks_exact(2).filter_map(|pair| {
        let (over_ns, next) = (last_step_ns(pair[0].0)?, pair[1].1);
        Some(next.began_ns? as f64 - over_ns - next.start_cpu_ns as f64 - switch_ns)
    });
    pairs.filter(|ns| *ns > 0.0).collect()
}
