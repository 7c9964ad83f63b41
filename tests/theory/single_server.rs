//! One server: vectors 1 to 15 of the reference.

use super::HAPPE;
use super::estimate::Estimate;
use super::queue::{Queue, deterministic, exponential, ms};
use schedlab_metrics::theory::size::{Atoms, Exponential, Size};
use schedlab_metrics::theory::{single_server, size_based};
use schedlab_model::distribution::Distribution;
use schedlab_sim::ideal::Discipline;

/// Mean wait under first come, first served.
fn wait(arrival_rate: f64, size: &dyn Size) -> f64 {
    single_server::fcfs(arrival_rate, size).expect("stable") - size.mean()
}

/// The responses are those of Lindley's recursion to the nanosecond, and their mean is `expected`.
fn check_fcfs(what: &str, queue: &Queue, expected: f64, width: f64) {
    let mut estimate = Estimate::default();
    queue.visit(Discipline::Fcfs, |job| {
        assert!(job.is_fcfs(), "{job:?}");
        estimate.record(job.response, 0.0);
    });
    estimate.assert_plain(what, expected, width);
}

fn check_controlled(what: &str, discipline: Discipline, queue: &Queue, size: &dyn Size, expected: f64, width: f64) {
    let estimate = queue.response(discipline);
    let what = format!("{what} {discipline}");
    estimate.assert_controlled(&what, wait(queue.arrival_rate(), size), expected, width);
}

fn mm1(load: f64) -> Queue {
    Queue::new(1, load, exponential())
}

fn md1(load: f64) -> Queue {
    Queue::new(1, load, deterministic())
}

fn check_mm1(discipline: Discipline, load: f64, expected: f64, width: f64) {
    check_controlled(&format!("M/M/1 {load:.4}"), discipline, &mm1(load), &Exponential(20.0), expected, width);
}

fn check_md1(discipline: Discipline, queue: &Queue, load: f64, expected: f64, width: f64) {
    check_controlled(&format!("M/D/1 {load:.4}"), discipline, queue, &Atoms::deterministic(20.0), expected, width);
}

/// Vector 1: disciplines that do not look at sizes have one mean.
#[test]
fn mm1_fcfs() {
    check_fcfs("M/M/1 0.5 fcfs", &mm1(0.5), 40.0, 0.02);
    check_fcfs("M/M/1 0.8 fcfs", &mm1(0.8), 100.0, 0.03);
    check_fcfs("M/M/1 0.95 fcfs", &mm1(0.95).millions(4), 400.0, 0.1);
    check_fcfs("M/M/1 20/21 fcfs", &mm1(HAPPE).millions(4), 420.0, 0.1);
}

/// At the higher loads these are part of the vectors by size.
#[test]
fn mm1_ps_and_fb() {
    for (load, expected) in [(0.5, 40.0), (0.8, 100.0)] {
        check_mm1(Discipline::Ps, load, expected, 0.03);
        check_mm1(Discipline::Fb, load, expected, 0.03);
    }
}

/// Vector 2.
#[test]
fn md1_fcfs() {
    check_fcfs("M/D/1 0.5 fcfs", &md1(0.5), 30.0, 0.01);
    check_fcfs("M/D/1 0.8 fcfs", &md1(0.8), 60.0, 0.02);
    check_fcfs("M/D/1 0.95 fcfs", &md1(0.95).millions(4), 210.0, 0.05);
    check_fcfs("M/D/1 20/21 fcfs", &md1(HAPPE).millions(4), 220.0, 0.05);
}

/// Vector 3.
#[test]
fn md1_ps() {
    check_md1(Discipline::Ps, &md1(0.95), 0.95, 400.0, 0.02);
    check_md1(Discipline::Ps, &md1(HAPPE), HAPPE, 420.0, 0.02);
}

/// Vector 4: equal jobs end together, at the end of the busy period.
#[test]
fn md1_fb() {
    check_md1(Discipline::Fb, &md1(0.5), 0.5, 60.0, 0.02);
    check_md1(Discipline::Fb, &md1(0.8), 0.8, 300.0, 0.05);
    check_md1(Discipline::Fb, &md1(0.95).millions(3), 0.95, 4200.0, 0.15);
    check_md1(Discipline::Fb, &md1(HAPPE).millions(3), HAPPE, 4620.0, 0.15);
}

/// Vector 5: with equal jobs the shortest remaining one is the first that came.
#[test]
fn md1_srpt_is_fcfs() {
    md1(HAPPE).visit(Discipline::Srpt, |job| assert!(job.is_fcfs(), "{job:?}"));
}

/// Vector 7.
#[test]
fn mg1_fcfs() {
    // Two sizes of mean 20 and C² = 4, as 20 ± 40·√(q/p) and ∓; and a uniform one of C² = 1/4.
    let (p, q) = (0.9f64, 0.1f64);
    let spread = |factor: f64| ms(20.0 + 40.0 * factor);
    let varied = Distribution::Choice(vec![(spread(-(q / p).sqrt()), p), (spread((p / q).sqrt()), q)]);
    check_fcfs("M/G/1 20/21 C² 4 fcfs", &Queue::new(1, HAPPE, varied).millions(5), 1020.0, 0.15);
    let half = 10.0 * 3f64.sqrt();
    let even = Distribution::Uniform(ms(20.0 - half), ms(20.0 + half));
    check_fcfs("M/G/1 20/21 C² 1/4 fcfs", &Queue::new(1, HAPPE, even).millions(4), 270.0, 0.07);
}

/// Vectors 8 and 9.
#[test]
fn mm1_srpt() {
    check_mm1(Discipline::Srpt, 0.5, 28.5075, 0.01);
    check_mm1(Discipline::Srpt, 0.8, 47.0555, 0.02);
}

/// A discipline's mean response of jobs of size x.
type OfSize = fn(f64, &dyn Size, f64) -> Option<f64>;

/// The mean over all jobs is `expected`, and over jobs of size 20 it is `expected_20`. Jobs are not exactly of that
/// size: those of 19 to 21 are compared each with the theory for its own size.
fn check_by_size(discipline: Discipline, load: f64, expected: f64, of_size: OfSize, expected_20: f64) {
    let size = Exponential(20.0);
    let queue = mm1(load);
    let [low, middle, high] = [19.0, 20.0, 21.0].map(|x| of_size(queue.arrival_rate(), &size, x).expect("stable"));
    assert!((middle - expected_20).abs() < 6e-6 * expected_20);
    let theory = |x: f64| middle + (x - 20.0) * if x < 20.0 { middle - low } else { high - middle };
    let (mut all, mut of_20) = (Estimate::default(), Estimate::default());
    queue.visit(discipline, |job| {
        all.record(job.response, job.fcfs_wait);
        if (19.0..21.0).contains(&job.size) {
            of_20.record(job.response - theory(job.size) + middle, job.fcfs_wait);
        }
    });
    let wait = wait(queue.arrival_rate(), &size);
    all.assert_controlled(&format!("M/M/1 {load:.4} {discipline}"), wait, expected, 0.1);
    of_20.assert_controlled(&format!("M/M/1 {load:.4} {discipline}, size 20"), wait, expected_20, 0.1);
}

/// Vectors 10 to 12, 14 and 15.
#[test]
fn mm1_by_size_happe() {
    check_by_size(Discipline::Srpt, HAPPE, 114.488, size_based::srpt_of_size, 31.3514);
    check_by_size(Discipline::Psjf, HAPPE, 129.299, size_based::psjf_of_size, 29.4570);
    check_by_size(Discipline::Fb, HAPPE, 420.0, single_server::las_of_size, 82.0311);
    check_by_size(Discipline::Ps, HAPPE, 420.0, single_server::ps_of_size, 420.0);
}

#[test]
fn mm1_by_size_95() {
    check_by_size(Discipline::Srpt, 0.95, 110.820, size_based::srpt_of_size, 31.3068);
    check_by_size(Discipline::Psjf, 0.95, 125.295, size_based::psjf_of_size, 29.4232);
    check_by_size(Discipline::Fb, 0.95, 400.0, single_server::las_of_size, 81.5239);
    check_by_size(Discipline::Ps, 0.95, 400.0, single_server::ps_of_size, 400.0);
}

/// Vector 13.
#[test]
fn mm1_sjf() {
    check_mm1(Discipline::Sjf, 0.95, 125.279, 0.05);
    check_mm1(Discipline::Sjf, HAPPE, 129.037, 0.05);
}
