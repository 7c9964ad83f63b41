//! Makes the runs that are missing, and keeps their rows.

use crate::dataset::{self, Dataset, DatasetError};
use crate::plan::Plan;
use crate::rows::{Row, batch};
use schedlab_campaign::{Runner, each};
use schedlab_venue::{Monitor, VenueError, VenueName, VmError};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The number of runs at which a part is written.
const RUNS_PER_PART: usize = 1024;
/// Or when the last one was written so long ago: no more is lost when the machine goes down.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a sweep came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Runs that were there before.
    pub known: usize,
    /// Runs that were made now.
    pub made: usize,
    /// Of all that are there, those that failed.
    pub failed: usize,
    /// Runs that are missing, since the sweep was stopped.
    pub missing: usize,
}

/// Makes the runs that are missing. Where the monitor stops it, what came to its end is kept.
///
/// # Errors
///
/// The table cannot be written. A run that fails is no error but a row.
pub fn carry_out(plan: &Plan, dataset: &mut Dataset, runner: &Runner) -> Result<Summary, DatasetError> {
    let missing: Vec<usize> = dataset.missing().collect();
    let known = plan.runs.len() - missing.len();
    // A real machine is measured when nothing else runs on it.
    let threads = if plan.venue() == VenueName::Host { 1 } else { runner.threads };
    let job = |index: usize| {
        let run = Some(missing[index]).filter(|_| !runner.monitor.is_stopped())?;
        rows_of(plan, run, runner)
    };
    each(threads, missing.len(), job, |wait| keep(plan, dataset, &wait))?;
    let there = dataset.count();
    Ok(Summary { known, made: there - known, failed: dataset.failed(), missing: plan.runs.len() - there })
}

/// Makes some runs, by their places in the plan, one after the other, and gives their rows as a part that
/// [`Dataset::take`] takes in, here or on another machine. Runs that `monitor` stops are not in it.
pub fn make(plan: &Plan, runs: &[usize], monitor: &Monitor) -> Vec<u8> {
    let runner = Runner::new(None, 1, monitor);
    let made = runs.iter().take_while(|_| !monitor.is_stopped()).filter_map(|&run| rows_of(plan, run, &runner));
    dataset::encoded(&batch(plan, &made.flatten().collect::<Vec<_>>()))
}

/// Writes rows as they come, in parts.
fn keep(plan: &Plan, dataset: &mut Dataset, wait: &Receiver<Vec<Row>>) -> Result<(), DatasetError> {
    let (mut rows, mut runs, mut last) = (Vec::new(), 0, Instant::now());
    loop {
        let heard = wait.recv_timeout(PATIENCE.saturating_sub(last.elapsed()));
        if let Ok(more) = &heard {
            rows.extend_from_slice(more);
            runs += 1;
        }
        let is_over = heard == Err(RecvTimeoutError::Disconnected);
        if is_over || runs >= RUNS_PER_PART || last.elapsed() >= PATIENCE {
            dataset.add(plan, std::mem::take(&mut rows))?;
            (runs, last) = (0, Instant::now());
        }
        if is_over {
            return Ok(());
        }
    }
}

/// The rows of a run; none where it was stopped before its end.
fn rows_of(plan: &Plan, index: usize, runner: &Runner) -> Option<Vec<Row>> {
    let seen = plan.prepare(&plan.runs[index]).and_then(|case| runner.seen(&case, 0, &|| true));
    match seen.map(|seen| seen.run.result) {
        Ok(result) if result.partial => None,
        Ok(result) => Some(Row::of_result(index, &result, &plan.measures)),
        Err(VenueError::Vm(VmError::Stopped)) => None,
        Err(error) => Some(vec![Row::of_error(index, error.to_string(), &plan.measures)]),
    }
}
