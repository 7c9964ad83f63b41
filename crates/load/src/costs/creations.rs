//! What creating processes takes their parent, and their start takes them.
//!
//! A parent that lives on creates them, in requests with no other task at work. A request is creation, wake-up and return for each
//! child; what the parent takes in addition to its requests and sleeps is what it copies of the memory that it shares with its last
//! child. When a child was woken is known from the child: before it began, it has only computed and waited for its CPU.
//!
//! Some schedulers let a child run before its parent continues, always or sometimes. Such a pass is longer by what the child
//! does, and the child copies what its parent otherwise would, so passes of both kinds are kept apart.

use super::lives::{ASLEEP_MS, Beside, CHILD, CHILDREN, CROWD, Kind, Life, PARENT, over_ms};
use super::steps::workload;
use super::{Cost, settings};
use crate::calibration::quantile;
use crate::run::{LoadError, Report, TaskReport, Unwatched, run};

/// What creating processes takes.
pub fn creations(life: &mut Life, beside: Beside) -> Result<(), LoadError> {
    let [few, many] = CHILDREN;
    let (first, second) = (Creation::watch(few, 0, beside)?, Creation::watch(many, 0, beside)?);
    let crowded = Creation::watch(few, CROWD, beside)?;
    life.fork = Cost::positive(first.ns);
    life.fork_thread = Cost::positive((crowded.ns - first.ns) / f64::from(CROWD));
    life.return_of_fork = Cost::positive(first.return_ns);
    // What a process copies in its parent's place is known where some run first and some do not. Elsewhere it is assumed to be
    // what the parent copies last.
    life.start_first = Cost::positive(first.more_first_ns.unwrap_or(first.after_ns));
    life.copy = Cost::positive(first.after_ns);
    life.start_thread = Cost::positive((mean(&crowded.starts) - mean(&first.starts)) / f64::from(CROWD));
    // All but one of those that are created at a time start while others have the same memory.
    life.start_shared =
        Cost::positive((mean(&second.starts) - mean(&first.starts)) * f64::from(many) / f64::from(many - 1));
    life.start = Cost::of(&first.starts);
    life.ended += first.ended + second.ended + crowded.ended;
    Ok(())
}

/// How a parent creates processes again and again.
struct Creation {
    /// Up to the wake-up of the first.
    ns: f64,
    /// From the wake-up of the last one to the next step.
    return_ns: f64,
    /// What follows, without its sleep.
    after_ns: f64,
    /// CPU time of each child up to its end.
    starts: Vec<f64>,
    /// What that is more of children that run before their parent continues, where there are some of both.
    more_first_ns: Option<f64>,
    /// How many have ended.
    ended: u32,
}

impl Creation {
    /// Of some at a time, next to threads that sleep.
    fn watch(children: u32, bystanders: u32, beside: Beside) -> Result<Creation, LoadError> {
        let pace = beside.pace();
        let others = match bystanders {
            0 => String::new(),
            _ => format!("[[task]]\nname = \"other\"\ncount = {bystanders}\nonce = [{{ sleep = \"100s\" }}]\n"),
        };
        let scenario = format!(
            "name = \"costs\"\n[machine]\ncpus = 1\n[run]\nduration = \"{}ms\"\n\
             [[task]]\nname = \"parent\"\nloop = [{{ spawn = \"child\", count = {children} }}, {{ sleep = \"{}ms\" }}]\n\
             {}{others}",
            over_ms(pace),
            ASLEEP_MS * pace,
            Kind::Process.child(),
        );
        let report = run(&workload(&scenario), &settings(), &mut Unwatched)?;
        Ok(Creation::of(&report, children, beside))
    }

    fn of(report: &Report, children: u32, beside: Beside) -> Creation {
        let parent = report.tasks.iter().find(|task| task.role == PARENT);
        let cpu_ns = parent.map_or(0, |parent| parent.done_cpu_ns - parent.start_cpu_ns);
        let ended = report.tasks.iter().filter(|task| task.role == CHILD).count() as u32;
        Creation { ended, ..Creation::of_passes(&passes(report, children), cpu_ns as f64, children, beside) }
    }

    /// Of these passes, for which the parent took that CPU time. Where a child runs before its parent continues, the request is
    /// longer than what the parent does, and the child copies what the parent would.
    fn of_passes(passes: &[Pass], cpu_ns: f64, children: u32, beside: Beside) -> Creation {
        let (first, after): (Vec<&Pass>, Vec<&Pass>) = passes.iter().partition(|pass| pass.is_first);
        let starts = |passes: &[&Pass]| passes.iter().flat_map(|pass| pass.starts.clone()).collect::<Vec<f64>>();
        let [early, late] = [starts(&first), starts(&after)];
        let more_first_ns = (!early.is_empty() && !late.is_empty()).then(|| (mean(&early) - mean(&late)).max(0.0));
        let count = passes.len().max(1) as f64;
        let of_first = first.len() as f64 / count;
        let cycle_ns = cpu_ns / count - beside.sleep + of_first * more_first_ns.unwrap_or(0.0);
        let median = |of: &mut dyn Iterator<Item = f64>| quantile(&of.collect::<Vec<f64>>(), 0.5);
        let ns = median(&mut passes.iter().map(Pass::created_ns));
        let return_ns = match after.is_empty() {
            true => 0.0,
            false => (median(&mut after.iter().map(|pass| pass.return_ns())) - beside.wakeup).max(0.0),
        };
        let request_ns = f64::from(children) * (ns + beside.wakeup + return_ns);
        Creation {
            ns,
            return_ns,
            after_ns: (cycle_ns - request_ns).max(0.0),
            ended: 0,
            starts: if late.is_empty() { early } else { late },
            more_first_ns,
        }
    }
}

/// A request of a parent, and the children that it created in it.
struct Pass {
    begin_ns: u64,
    end_ns: u64,
    /// Whether a child had the CPU before its parent was done with creating.
    is_first: bool,
    /// When the first and the last child were woken for the first time, if the kernel says how long they then waited.
    woken_ns: Option<[u64; 2]>,
    /// CPU time of each child up to its end.
    starts: Vec<f64>,
}

impl Pass {
    /// Of the request, what was before the first child was awake.
    fn created_ns(&self) -> f64 {
        self.woken_ns.map_or(self.end_ns, |[first, _]| first).saturating_sub(self.begin_ns) as f64
    }

    /// Of the request, what was after the last one was.
    fn return_ns(&self) -> f64 {
        self.end_ns.saturating_sub(self.woken_ns.map_or(self.end_ns, |[_, last]| last)) as f64
    }
}

/// All requests that have ended of the only parent, in their order, as its children are in theirs.
fn passes(report: &Report, children: u32) -> Vec<Pass> {
    let is_parent = |task: u32| report.tasks.get(task as usize).is_some_and(|task| task.role == PARENT);
    let mut requests: Vec<(u64, u64)> = report
        .requests
        .iter()
        .filter(|request| is_parent(request.task))
        .filter_map(|request| Some((request.begin_ns, request.end_ns?)))
        .collect();
    requests.sort_unstable();
    let born: Vec<&TaskReport> = report.tasks.iter().filter(|task| task.role == CHILD).collect();
    let pass = |((begin_ns, end_ns), born): ((u64, u64), &[&TaskReport])| Pass {
        begin_ns,
        end_ns,
        is_first: born.iter().any(|child| had_cpu_before(child, end_ns)),
        woken_ns: woken_ns(born[0]).zip(woken_ns(born[born.len() - 1])).map(|(first, last)| [first, last]),
        starts: born.iter().map(|child| child.done_cpu_ns as f64).collect(),
    };
    requests.into_iter().zip(born.chunks_exact(children as usize)).map(pass).collect()
}

/// When a task was woken for the first time: before it began, it has computed, and waited for its CPU. It does not wait
/// after that, because no other task is at work.
fn woken_ns(task: &TaskReport) -> Option<u64> {
    task.began_ns?.checked_sub(task.start_cpu_ns)?.checked_sub(task.run_delay_ns?)
}

/// Whether a task had its CPU before an instant, maybe before it began. If the kernel does not say how long it waited, only what
/// is known of its begin counts.
fn had_cpu_before(task: &TaskReport, instant_ns: u64) -> bool {
    match (woken_ns(task), task.run_delay_ns) {
        (Some(woken_ns), Some(delay_ns)) => woken_ns + delay_ns < instant_ns,
        _ => task.began_ns.is_some_and(|began_ns| began_ns < instant_ns),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const BESIDE: Beside = Beside { wakeup: 2.0, sleep: 6.0, exit: 0.0, call: 1.0 };

    /// A pass of a parent with an only child: 300 ns up to the wake-up, which takes 2 ns, then 50 ns and copies of 60 ns. A child that
    /// goes first takes 400 ns in the parent's request, and 80 ns of what the parent would.
    fn pass(is_first: bool) -> Pass {
        let (end_ns, start) = if is_first { (300 + 2 + 400 + 10, 400.0) } else { (300 + 2 + 50, 320.0) };
        Pass { begin_ns: 0, end_ns, is_first, woken_ns: Some([300, 300]), starts: vec![start] }
    }

    /// CPU time of the parent in such a pass, with its sleep.
    fn cpu_ns(is_first: bool) -> f64 {
        300.0 + 2.0 + 50.0 + 60.0 + 6.0 - if is_first { 80.0 } else { 0.0 }
    }

    fn of(firsts: &[bool]) -> Creation {
        let passes: Vec<Pass> = firsts.iter().copied().map(pass).collect();
        Creation::of_passes(&passes, firsts.iter().copied().map(cpu_ns).sum(), 1, BESIDE)
    }

    #[test]
    fn what_creating_takes_does_not_depend_on_who_goes_first() {
        for firsts in [&[false; 4][..], &[true, false, false, true]] {
            let Creation { ns, return_ns, after_ns, starts, more_first_ns, .. } = of(firsts);
            assert_eq!([ns, return_ns, after_ns], [300.0, 50.0, 60.0], "{firsts:?}");
            assert!(starts.iter().all(|&start| start == 320.0), "{firsts:?}");
            assert_eq!(more_first_ns, firsts[0].then_some(80.0));
        }
        // Where every child goes first, what its parent takes afterwards is one piece, and the copies are a part of each start.
        let Creation { ns, return_ns, after_ns, starts, more_first_ns, .. } = of(&[true; 3]);
        assert_eq!(([ns, return_ns, after_ns], more_first_ns), ([300.0, 0.0, 30.0], None));
        assert_eq!(starts, [400.0; 3]);
    }

    #[test]
    fn a_kernel_that_does_not_say_how_long_tasks_wait_has_no_return() {
        let passes = [Pass { woken_ns: None, ..pass(false) }];
        let Creation { ns, return_ns, after_ns, .. } = Creation::of_passes(&passes, cpu_ns(false), 1, BESIDE);
        assert_eq!([ns, return_ns], [352.0, 0.0]);
        assert_eq!(ns + after_ns, 300.0 + 50.0 + 60.0);
    }
}
