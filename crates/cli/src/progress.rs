//! The progress bar.

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use schedlab_venue::Monitor;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Nothing is shown for work that takes less than this.
const PATIENCE: Duration = Duration::from_secs(1);
/// The bar moves this often.
const PERIOD: Duration = Duration::from_millis(100);

/// Does the work, with a bar on standard error when it takes more than a second and there is a terminal. `total_ns` is
/// the simulated time of all runs together, if they have an end.
pub fn show<T>(monitor: &Monitor, total_ns: Option<u64>, quiet: bool, work: impl FnOnce() -> T) -> T {
    if quiet || !io::stderr().is_terminal() {
        return work();
    }
    thread::scope(|scope| {
        let (done, wait) = mpsc::channel::<()>();
        scope.spawn(move || {
            if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = bar(total_ns).with_elapsed(PATIENCE);
            while wait.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(monitor.done_ns() / NS_PER_STEP);
                bar.set_message(state(bar.position(), bar.length(), bar.elapsed()));
            }
            bar.finish_and_clear();
        });
        let result = work();
        drop(done);
        result
    })
}

/// Positions of the bar are microseconds, so that sums over many long runs do not overflow.
const NS_PER_STEP: u64 = 1000;

/// The least share of the work that says how long the rest takes. Before, kernels boot, which the share does not count.
const FORESEEABLE: f64 = 0.2;

/// What is said behind the bar.
fn state(done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let share = total.map_or(0.0, |total| done as f64 / total.max(1) as f64);
    match share {
        _ if done == 0 => ", starting".into(),
        FORESEEABLE..1.0 => format!(", about {} left", HumanDuration(elapsed.mul_f64(1.0 / share - 1.0))),
        _ => String::new(),
    }
}

fn bar(total_ns: Option<u64>) -> ProgressBar {
    let style = |template| ProgressStyle::with_template(template).expect("the template is right");
    let bar = match total_ns {
        Some(total) => ProgressBar::new(total / NS_PER_STEP)
            .with_style(style("{spinner} {bar:40} {percent:>3} %, running for {elapsed}{msg}")),
        None => ProgressBar::no_length().with_style(style("{spinner} running for {elapsed}{msg}")),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_foretold_from_a_fifth_on() {
        let at = |done, total| state(done, total, Duration::from_secs(30));
        assert_eq!(at(0, Some(100)), ", starting");
        assert_eq!(at(0, None), ", starting");
        assert_eq!(at(19, Some(100)), "");
        assert_eq!(at(50, Some(100)), ", about 30 seconds left");
        assert_eq!(at(100, Some(100)), "");
        assert_eq!(at(7, None), "");
    }
}
