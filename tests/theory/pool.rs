//! A pool of workers fed from outside under the policy `fcfs` on a machine without costs has the means of theory.
//!
//! Where the pool is no larger than the machine, or larger than any queue, it is first come, first served: each response is
//! that of Kiefer and Wolfowitz' recursion to the nanosecond. In between, a worker that is done takes the next message from
//! the channel and keeps its CPU, before others that have messages and wait for one. That is another order, blind to sizes
//! like the first, so the mean is the same; it varies more, and is judged by how far it is from what the recursion
//! gives for the very same requests, whose mean theory knows (a control variate, as in `estimate`).

use super::queue::ms;
use crate::lab;
use schedlab_bpf::Executor;
use schedlab_metrics::collector::Collector;
use schedlab_metrics::theory::multi_server;
use schedlab_model::ids::RequestId;
use schedlab_model::result::{Measures, TimeSummary};
use schedlab_model::scenario::Scenario;
use schedlab_model::trace::{Event, EventKind, Sink};
use schedlab_model::workload::Workload;
use std::collections::BTreeMap;

const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];
/// Requests of one run.
const REQUESTS: f64 = 1_000_000.0;

/// `workers` on four CPUs answer requests of this size, 2 ms on average, which come by a Poisson process.
fn pool(workers: u32, gap_us: f64, size: &str, seed: u64) -> Workload {
    let (gap, duration) = (ms(gap_us / 1e3), ms(gap_us / 1e3 * REQUESTS));
    let text = format!(
        "name = \"pool\"\n[machine]\ncpus = 4\n[[source]]\nchannel = \"q\"\narrivals = \"exp({gap})\"\n\
         [[task]]\nname = \"worker\"\ncount = {workers}\nloop = [{{ recv = \"q\" }}, {{ compute = \"{size}\" }}]\n\
         [run]\nduration = \"{}ns\"\nwarmup = \"1s\"\nseed = {seed}\n",
        duration.ns()
    );
    Scenario::parse(&text, "pool").unwrap().compile().unwrap()
}

/// Holds each request against what first come, first served would have done with it.
struct Recursion {
    /// When each server is free, ascending.
    free_at_ns: Vec<u64>,
    /// Whether each request has to end when the recursion says.
    is_exact: bool,
    wait_ns: u64,
    /// Requests in the order of their birth: when, and what became of them.
    open: BTreeMap<RequestId, (u64, Option<(u64, u64)>)>,
    held: u64,
}

impl Sink for Recursion {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::RequestQueue { request, task, .. } => {
                assert_eq!(task, None, "no task on the machine sends it");
                self.open.insert(request, (event.time.ns(), None));
            }
            EventKind::RequestBegin { request, intended, .. } => {
                assert_eq!(intended.ns(), self.open[&request.expect("a worker has no request of its own")].0);
            }
            EventKind::RequestEnd { request, demand, .. } => {
                let request = request.expect("a worker has no request of its own");
                self.open.get_mut(&request).expect("it was born").1 = Some((event.time.ns(), demand.ns()));
                self.settle();
            }
            _ => {}
        }
    }
}

impl Recursion {
    fn settle(&mut self) {
        while let Some(first) = self.open.first_entry()
            && let (born_ns, Some((end_ns, size_ns))) = *first.get()
        {
            let request = *first.key();
            first.remove();
            let start = self.free_at_ns[0].max(born_ns);
            assert!(!self.is_exact || end_ns == start + size_ns, "{request:?} ends at {end_ns}");
            (self.held, self.wait_ns) = (self.held + 1, self.wait_ns + (start - born_ns));
            self.free_at_ns[0] = start + size_ns;
            self.free_at_ns.sort_unstable();
        }
    }
}

/// The pool under `fcfs`, each request checked against that many servers if `is_exact`; and the mean wait in milliseconds that
/// the recursion gives.
fn served(workload: &Workload, servers: usize, is_exact: bool) -> (Measures, f64) {
    let recursion = Recursion { free_at_ns: vec![0; servers], is_exact, wait_ns: 0, open: BTreeMap::new(), held: 0 };
    let mut sink = (Collector::new(workload), recursion);
    lab::run_into(&mut sink, workload, "fcfs", Executor::Machine, &[]).unwrap();
    sink.0.conservation().unwrap();
    assert!(sink.1.held as f64 > 0.9 * REQUESTS);
    let wait = sink.1.wait_ns as f64 / sink.1.held as f64 / 1e6;
    (sink.0.into_measures().roles.remove(0).measures, wait)
}

/// The mean over the seeds of one number of the run, in milliseconds.
fn mean(runs: &[Measures], of: impl Fn(&Measures) -> Option<TimeSummary>) -> f64 {
    let sums: Vec<f64> = runs.iter().map(|run| of(run).map_or(0.0, |summary| summary.mean as f64 / 1e6)).collect();
    sums.iter().sum::<f64>() / sums.len() as f64
}

fn assert_near(what: &str, seen: f64, theory: f64) {
    println!("{what:<40} {seen:>9.4}  theory {theory:>9.4}  off {:>6.2} %", (seen / theory - 1.0) * 100.0);
    assert!((seen / theory - 1.0).abs() < 0.01, "{what}: {seen}, theory says {theory}");
}

/// Checks response and wait at one load of that many servers; gives the runs.
fn check(workers: u32, gap_us: f64, size: &str, servers: u32, is_exact: bool, theory: Option<f64>) -> Vec<Measures> {
    let run = |&seed: &u64| served(&pool(workers, gap_us, size, seed), servers as usize, is_exact);
    let (runs, controls): (Vec<Measures>, Vec<f64>) = SEEDS.iter().map(run).unzip();
    let what = format!("{workers} workers, {size} every {gap_us} us");
    let response = mean(&runs, |run| run.response_ns);
    let waits = mean(&runs, |run| run.response_worker_wait_ns) + mean(&runs, |run| run.response_cpu_wait_ns);
    let running = mean(&runs, |run| run.response_running_ns);
    let blocked = mean(&runs, |run| run.response_blocked_ns);
    assert!((waits + running + blocked - response).abs() < 5e-6, "{what}: the parts are the whole");
    assert_eq!(blocked, 0.0);
    if let Some(theory) = theory {
        let control = controls.iter().sum::<f64>() / controls.len() as f64;
        let off = if is_exact { 0.0 } else { control - (theory - 2.0) };
        assert_near(&format!("{what}, response"), response - off, theory);
        // At low load waits are rare and their mean is known less well than that of the response.
        if theory > 2.5 {
            assert_near(&format!("{what}, wait"), waits - off, theory - 2.0);
        }
    }
    runs
}

#[test]
fn a_pool_fed_from_outside_is_mmc() {
    for gap_us in [16_000.0, 625.0] {
        check(8, gap_us, "exp(2ms)", 4, false, multi_server::mmc(1e3 / gap_us, 2.0, 4));
    }
}

/// What waits in a pool that is larger than the machine waits for a CPU, and in a smaller one for a worker.
#[test]
fn waits_are_for_what_is_short() {
    let large = check(1000, 625.0, "exp(2ms)", 4, true, multi_server::mmc(1.6, 2.0, 4));
    assert!(large.iter().all(|run| run.response_worker_wait_ns.is_some_and(|wait| wait.max == 0)));
    let small = check(2, 1250.0, "exp(2ms)", 2, true, multi_server::mmc(0.8, 2.0, 2));
    assert!(small.iter().all(|run| run.response_cpu_wait_ns.is_some_and(|wait| wait.max == 0)));
    assert!(mean(&small, |run| run.response_worker_wait_ns) > 1.0);
}

/// M/D/4 has no closed form; the reference is that of `multi_server`. For other sizes the recursion says it all.
#[test]
fn a_pool_fed_from_outside_is_mgc() {
    check(4, 625.0, "2ms", 4, true, Some(2.7722));
    check(8, 625.0, "2ms", 4, false, Some(2.7722));
    check(4, 625.0, "lognormal(1ms, 1)", 4, true, None);
}
