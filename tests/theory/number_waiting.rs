//! How many tasks wait, over time: vector 6.

use super::HAPPE;
use super::estimate::Estimate;
use super::queue::{Queue, Server, deterministic};
use schedlab_model::trace::{Event, EventKind, Sink};
use schedlab_sim::ideal::Discipline;

/// Averages over intervals of this length.
const SLICE_NS: u64 = 1_000_000_000;
/// Intervals left out at the beginning.
const MARGIN: u64 = 2_000;

/// Integrates the number of tasks that are runnable and do not run.
#[derive(Default)]
struct NumberWaiting {
    waiting: u64,
    now_ns: u64,
    /// Task-nanoseconds of the present interval.
    area: u64,
    slices: u64,
    estimate: Estimate,
}

impl NumberWaiting {
    fn advance(&mut self, to_ns: u64) {
        while self.now_ns < to_ns {
            let slice_end = (self.slices + 1) * SLICE_NS;
            let until = to_ns.min(slice_end);
            self.area += self.waiting * (until - self.now_ns);
            self.now_ns = until;
            if until == slice_end {
                self.slices += 1;
                let mean = std::mem::take(&mut self.area) as f64 / SLICE_NS as f64;
                if self.slices > MARGIN {
                    self.estimate.record(mean, 0.0);
                }
            }
        }
    }
}

impl Sink for NumberWaiting {
    fn event(&mut self, event: &Event) {
        self.advance(event.time.ns());
        match event.kind {
            EventKind::Wakeup { .. } => self.waiting += 1,
            EventKind::Switch { next: Some(_), .. } => self.waiting -= 1,
            _ => {}
        }
    }
}

#[test]
fn md1_number_waiting() {
    for (load, expected) in [(HAPPE, 9.52381), (0.95, 9.025)] {
        let mut number = NumberWaiting::default();
        let queue = Queue::new(1, load, deterministic()).millions(4);
        Discipline::Fcfs.serve(&queue.workload(), &mut number);
        number.estimate.assert_plain(&format!("M/D/1 {load:.4} number waiting"), expected, 0.07);
    }
}
