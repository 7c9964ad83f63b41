//! What the tasks of a group do, with the causes of their sleeps put in.

use crate::cause::{Cause, Shape, shape};
use crate::groups::Group;
use crate::raw::{Raw, Slept};
use crate::report::Level;
use crate::tracker::Tracker;
use schedlab_model::ids::TaskId;
use schedlab_model::recorded::{Act, Op};
use std::collections::BTreeMap;
use std::io;

/// Sleeps of a task from which its timers are known.
const SLEEPS: usize = 4096;

/// The shape of the sleeps of a task that no task ended.
pub fn shape_of(tracker: &Tracker, task: TaskId) -> io::Result<Shape> {
    let mut sleeps = Vec::new();
    tracker.spool.each(task.0 as usize, |raw| match raw {
        Raw::Slept(slept) if slept.waker.is_none() && sleeps.len() < SLEEPS => {
            sleeps.push((slept.from_ns, slept.to_ns))
        }
        _ => {}
    })?;
    Ok(shape(&sleeps))
}

/// The fewest sleeps until an instant that show a period.
const RELEASES: usize = 3;

/// The step of a task that sleeps until the multiples of a period: all instants lie on the grid that the two nearest ones make.
fn pace_of(tracker: &Tracker, task: TaskId) -> io::Result<Option<Act>> {
    let mut instants = Vec::new();
    tracker.spool.each(task.0 as usize, |raw| match raw {
        Raw::Act(act) if act.op == Op::Until && instants.len() < SLEEPS => instants.push(act.value),
        _ => {}
    })?;
    let gaps = || instants.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let period = gaps().min().filter(|period| *period > 0 && instants.len() >= RELEASES);
    let Some(period) = period.filter(|period| gaps().all(|gap| gap % period == 0)) else { return Ok(None) };
    let op = if tracker.tasks[&task].catches_up { Op::CatchUp } else { Op::Period };
    Ok(Some(Act { more: instants[0] % period, ..Act::new(op, period) }))
}

/// Shows the steps of a task of a group as the model has them. `token` gives the number of a task's semaphore.
pub fn each(
    tracker: &Tracker,
    task: TaskId,
    level: Level,
    token: &dyn Fn(TaskId) -> u32,
    mut show: impl FnMut(Raw),
) -> io::Result<()> {
    let shape = shape_of(tracker, task)?;
    let pace = pace_of(tracker, task)?;
    // Of requests, a model of tasks keeps only when the task is at work on any.
    let mut held = 0u32;
    tracker.spool.each(task.0 as usize, |raw| match (raw, level) {
        (Raw::Woke(other), Level::Tasks) => show(Raw::Act(Act::with(Op::Post, token(other), 1))),
        (Raw::Woke(_), Level::Items) => {}
        (Raw::Slept(slept), level) => show(Raw::Act(sleep(&slept, shape, level, token(task)))),
        (Raw::Took, Level::Tasks) => {
            held += 1;
            if held == 1 {
                show(Raw::Act(Act::new(Op::Begin, 0)));
            }
        }
        (Raw::Answered, Level::Tasks) => {
            held = held.saturating_sub(1);
            if held == 0 {
                show(Raw::Act(Act::new(Op::End, 0)));
            }
        }
        (Raw::Act(act), _) if act.op == Op::Until => show(Raw::Act(pace.unwrap_or(act))),
        (raw, _) => show(raw),
    })
}

fn sleep(slept: &Slept, shape: Shape, level: Level, token: u32) -> Act {
    let length = slept.to_ns - slept.from_ns;
    match (Cause::of(slept, shape), shape, level) {
        (Cause::Task, _, Level::Tasks) => Act::with(Op::Wait, token, 1),
        (Cause::Timer, Shape::Absolute { period_ns, phase_ns }, Level::Items) => {
            Act { more: phase_ns, ..Act::new(Op::Period, period_ns) }
        }
        (Cause::Timer, Shape::Absolute { .. }, Level::Tasks) => Act::new(Op::Until, slept.to_ns),
        (Cause::Outside | Cause::Unexplained, _, Level::Tasks) => Act::new(Op::Until, slept.to_ns),
        (Cause::Timer | Cause::Device | Cause::Outside | Cause::Unexplained | Cause::Task, _, _) => {
            Act::new(Op::Sleep, length)
        }
    }
}

/// For how long the tasks of groups slept, by what ended it.
pub fn slept(tracker: &Tracker, groups: &[Group]) -> io::Result<BTreeMap<Cause, u64>> {
    let mut all = BTreeMap::new();
    for &task in groups.iter().flat_map(|group| &group.tasks) {
        let shape = shape_of(tracker, task)?;
        tracker.spool.each(task.0 as usize, |raw| {
            if let Raw::Slept(slept) = raw {
                *all.entry(Cause::of(&slept, shape)).or_insert(0) += slept.to_ns - slept.from_ns;
            }
        })?;
    }
    Ok(all)
}
