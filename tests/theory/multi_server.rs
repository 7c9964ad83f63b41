//! Several servers and one queue: vectors 22 to 26.

use super::HAPPE;
use super::estimate::{Estimate, Published};
use super::queue::{Queue, deterministic, exponential};
use schedlab_metrics::theory::multi_server;
use schedlab_sim::ideal::Discipline;

/// Mean response, and the part of the jobs that wait (Erlang C) where it is given. The responses are those of Kiefer
/// and Wolfowitz' recursion to the nanosecond.
fn check_fcfs(cpus: u32, load: f64, expected: f64, waiting: Option<f64>, width: f64) {
    let queue = Queue::new(cpus, load, exponential()).millions(if load > 0.9 { 2 } else { 1 });
    let (mut response, mut wait) = (Estimate::default(), Estimate::default());
    queue.visit(Discipline::Fcfs, |job| {
        assert!(job.is_fcfs(), "{job:?}");
        response.record(job.response, 0.0);
        wait.record(f64::from(job.response - job.size > 0.5e-6), 0.0);
    });
    response.assert_plain(&format!("M/M/{cpus} {load:.4} fcfs"), expected, width);
    if let Some(waiting) = waiting {
        wait.assert_plain(&format!("M/M/{cpus} {load:.4} waits"), waiting, 0.05);
    }
}

#[test]
fn mm2_fcfs() {
    check_fcfs(2, 0.5, 26.6667, Some(0.333333), 0.02);
    check_fcfs(2, 0.8, 55.5556, Some(0.711111), 0.05);
    check_fcfs(2, 0.95, 205.128, Some(0.925641), 0.15);
    check_fcfs(2, HAPPE, 215.122, None, 0.15);
}

#[test]
fn mm4_fcfs() {
    check_fcfs(4, 0.5, 21.7391, Some(0.173913), 0.02);
    check_fcfs(4, 0.8, 34.9108, Some(0.596432), 0.05);
    check_fcfs(4, 0.95, 109.142, Some(0.891419), 0.15);
    check_fcfs(4, HAPPE, 114.130, None, 0.15);
}

#[test]
fn mm8_fcfs() {
    check_fcfs(8, 0.5, 20.2952, Some(0.059044), 0.02);
    check_fcfs(8, 0.8, 25.7206, Some(0.457645), 0.05);
    check_fcfs(8, 0.95, 62.2084, Some(0.844169), 0.15);
    check_fcfs(8, HAPPE, 64.6929, None, 0.15);
}

/// Disciplines that do not look at sizes and keep the same number of servers busy have the same mean.
#[test]
fn mmc_blind_disciplines() {
    for (cpus, load) in [(2, 0.8), (4, 0.95), (8, 0.8)] {
        let queue = Queue::new(cpus, load, exponential());
        let expected = multi_server::mmc(queue.arrival_rate(), 20.0, cpus).expect("stable");
        for discipline in [Discipline::Ps, Discipline::Fb] {
            let what = format!("M/M/{cpus} {load:.4} {discipline}");
            queue.response(discipline).assert_controlled(&what, expected - 20.0, expected, 0.05);
        }
    }
}

/// Vector 26: no closed form; the reference is a simulation of 10^8 jobs with a 95 % interval of its own.
#[test]
fn mdc_fcfs() {
    for (cpus, load, mean, half_95) in [
        (2, 0.5, 23.535, 0.003),
        (2, 0.8, 38.065, 0.03),
        (2, 0.95, 112.7, 0.6),
        (4, 0.8, 27.722, 0.02),
        (4, 0.95, 64.8, 0.3),
    ] {
        let queue = Queue::new(cpus, load, deterministic()).millions(if load > 0.9 { 2 } else { 1 });
        let mut estimate = Estimate::default();
        queue.visit(Discipline::Fcfs, |job| {
            assert!(job.is_fcfs(), "{job:?}");
            estimate.record(job.response, 0.0);
        });
        let what = format!("M/D/{cpus} {load} fcfs");
        estimate.assert_published(&what, estimate.plain(), Published { mean, half_95 }, 0.1);
    }
}
