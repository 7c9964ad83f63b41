//! Makes the runs that are missing, and keeps their rows.

use crate::dataset::{self, Dataset, DatasetError};
use crate::plan::Plan;
use crate::rows::{Row, batch};
use schedlab_model::result::RunResult;
use schedlab_model::time::Time;
use schedlab_venue::{Monitor, Request, VenueError, VmError, Watch};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A part is written when it has so many runs.
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

/// Makes the runs that are missing, at most `threads` at once. Where `monitor` stops it, what came to its end is kept.
///
/// # Errors
///
/// The table cannot be written. A run that fails is no error but a row.
pub fn carry_out(
    plan: &Plan,
    dataset: &mut Dataset,
    threads: usize,
    monitor: &Monitor,
) -> Result<Summary, DatasetError> {
    let missing: Vec<usize> = dataset.missing().collect();
    let known = plan.runs.len() - missing.len();
    let threads = if plan.venue().is_shareable() { threads.clamp(1, missing.len().max(1)) } else { 1 };
    let next = AtomicUsize::new(0);
    let kept = std::thread::scope(|scope| {
        let (done, wait) = channel();
        for _ in 0..threads {
            let (done, next, missing) = (done.clone(), &next, &missing);
            scope.spawn(move || {
                while let Some(&run) =
                    missing.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !monitor.is_stopped())
                {
                    let Some(rows) = rows_of(plan, run, monitor) else { break };
                    // Nobody listens any more when the table cannot be written.
                    if done.send(rows).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done);
        keep(plan, dataset, &wait)
    });
    kept?;
    let there = dataset.count();
    Ok(Summary { known, made: there - known, failed: dataset.failed(), missing: plan.runs.len() - there })
}

/// Makes some runs, by their places in the plan, one after the other, and gives their rows as a part that
/// [`Dataset::take`] takes in, here or on another machine. Runs that `monitor` stops are not in it.
pub fn make(plan: &Plan, runs: &[usize], monitor: &Monitor) -> Vec<u8> {
    let made = runs.iter().take_while(|_| !monitor.is_stopped()).filter_map(|&run| rows_of(plan, run, monitor));
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
fn rows_of(plan: &Plan, index: usize, monitor: &Monitor) -> Option<Vec<Row>> {
    match result(plan, index, monitor) {
        Ok(result) if result.partial => None,
        Ok(result) => Some(Row::of_result(index, &result, &plan.measures)),
        Err(VenueError::Vm(VmError::Stopped)) => None,
        Err(error) => Some(vec![Row::of_error(index, error.to_string(), &plan.measures)]),
    }
}

fn result(plan: &Plan, index: usize, monitor: &Monitor) -> Result<RunResult, VenueError> {
    let run = &plan.runs[index];
    let prepared = plan.prepare(run)?;
    let request = Request {
        workload: &prepared.workload,
        scenario_hash: &prepared.scenario_hash,
        policy: &prepared.policy,
        seed: run.seed,
        executor: None,
        check: false,
    };
    let mut watch = Watch::new(monitor, &|| true);
    let result = plan.venue().run(&request, None, &mut watch)?.result;
    watch.done(prepared.workload.run.end().map_or(result.duration_ns, Time::ns));
    Ok(result)
}
