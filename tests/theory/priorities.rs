//! Two classes of equal jobs, each 1/50 per millisecond: vectors 20 and 21.

use super::estimate::Estimate;
use super::queue::{Queue, Stream, deterministic, exponential};
use schedlab_model::distribution::Distribution;
use schedlab_sim::ideal::Discipline;

/// Mean responses of the classes; `wait` is the mean wait under first come, first served.
fn check(size: Distribution, wait: f64, discipline: Discipline, expected: [f64; 2]) {
    let stream = |nice| Stream { rate: 0.02, size: size.clone(), nice };
    let queue = Queue { cpus: 1, streams: vec![stream(-5), stream(5)], jobs: 1_000_000 };
    let mut classes = [(); 2].map(|()| Estimate::default());
    queue.visit(discipline, |job| classes[job.stream].record(job.response, job.fcfs_wait));
    for (class, estimate) in classes.iter().enumerate() {
        let what = format!("{discipline}, class {class}, wait {wait}");
        estimate.assert_controlled(&what, wait, expected[class], 0.03);
    }
}

#[test]
fn deterministic_jobs() {
    check(deterministic(), 40.0, Discipline::PrioNp, [33.3333, 86.6667]);
    check(deterministic(), 40.0, Discipline::Prio, [26.6667, 100.0]);
}

#[test]
fn exponential_jobs() {
    check(exponential(), 80.0, Discipline::PrioNp, [46.6667, 153.333]);
    check(exponential(), 80.0, Discipline::Prio, [33.3333, 166.667]);
}
