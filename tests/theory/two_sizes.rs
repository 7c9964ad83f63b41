//! Jobs of two sizes: 10 (90 %) and 110 (10 %) at a load of 0.8, vectors 16 to 19.

use super::estimate::Estimate;
use super::queue::{Queue, Stream, ms};
use schedlab_model::distribution::Distribution;
use schedlab_sim::ideal::Discipline;

/// Mean wait under first come, first served: λE[S²] / (2(1 − ρ)) = 0.04·1300 / 0.4.
const WAIT: f64 = 130.0;

/// Both sizes in one stream.
fn mixed() -> Queue {
    Queue::new(1, 0.8, Distribution::Choice(vec![(ms(10.0), 0.9), (ms(110.0), 0.1)]))
}

/// A stream of each size, the small one preferred.
fn two_classes() -> Queue {
    let stream = |rate, size, nice| Stream { rate, size: Distribution::Constant(ms(size)), nice };
    Queue { cpus: 1, streams: vec![stream(0.036, 10.0, -1), stream(0.004, 110.0, 0)], jobs: 1_000_000 }
}

/// Means of all jobs, of the small and of the large ones.
fn check(queue: &Queue, discipline: Discipline, expected: [f64; 3], widths: [f64; 3]) {
    let mut estimates = [(); 3].map(|()| Estimate::default());
    queue.visit(discipline, |job| {
        estimates[0].record(job.response, job.fcfs_wait);
        estimates[if job.size < 50.0 { 1 } else { 2 }].record(job.response, job.fcfs_wait);
    });
    for (index, which) in ["all", "of 10", "of 110"].into_iter().enumerate() {
        let what = format!("two sizes, {discipline}, {which}");
        estimates[index].assert_controlled(&what, WAIT, expected[index], widths[index]);
    }
}

#[test]
fn fcfs() {
    let mut estimate = Estimate::default();
    mixed().millions(2).visit(Discipline::Fcfs, |job| {
        assert!(job.is_fcfs(), "{job:?}");
        estimate.record(job.response, 0.0);
    });
    estimate.assert_plain("two sizes, fcfs", 150.0, 0.05);
}

#[test]
fn ps_and_fb_by_size() {
    check(&mixed(), Discipline::Ps, [100.0, 50.0, 550.0], [0.03, 0.03, 0.03]);
    check(&mixed(), Discipline::Fb, [140.0, 22.2222, 1200.0], [0.05, 0.02, 0.05]);
}

/// By class and by size it is the same order.
#[test]
fn non_preemptive() {
    let expected = [76.875, 50.625, 313.125];
    check(&two_classes(), Discipline::PrioNp, expected, [0.03; 3]);
    check(&mixed(), Discipline::Sjf, expected, [0.03; 3]);
}

#[test]
fn preemptive() {
    let expected = [49.03125, 12.8125, 375.0];
    check(&two_classes(), Discipline::Prio, expected, [0.03; 3]);
    check(&mixed(), Discipline::Psjf, expected, [0.03; 3]);
}
