//! The progress bar.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
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
            let bar = bar(total_ns);
            while wait.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(monitor.done_ns() / NS_PER_STEP);
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

fn bar(total_ns: Option<u64>) -> ProgressBar {
    let style = |template| ProgressStyle::with_template(template).expect("the template is right");
    let bar = match total_ns {
        Some(total) => ProgressBar::new(total / NS_PER_STEP).with_style(style("{bar:40} {percent:>3} %, {eta} left")),
        None => ProgressBar::no_length().with_style(style("{spinner} running since {elapsed}")),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    bar
}
