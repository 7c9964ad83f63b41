//! Requests that cross tasks, queues and pools: when each is born and answered, and by which task.

use crate::lab;
use schedlab_bpf::Executor;
use schedlab_metrics::collector::Collector;
use schedlab_model::result::{RoleResult, TimeSummary};
use schedlab_model::scenario::Scenario;
use schedlab_model::workload::Workload;

fn workload(cpus: u32, tables: &str) -> Workload {
    let text = format!("name = \"t\"\n[machine]\ncpus = {cpus}\n[run]\nduration = \"1s\"\n{tables}");
    Scenario::parse(&text, "t").unwrap().compile().unwrap_or_else(|error| panic!("{tables}: {error}"))
}

/// The roles of a run under a policy; the run obeys the laws of every trace.
fn roles_under(policy: &str, workload: &Workload) -> Vec<RoleResult> {
    let roles = lab::measured(workload, policy).roles;
    for role in roles.iter().filter(|role| role.measures.requests > 0) {
        let m = &role.measures;
        let parts = [m.response_worker_wait_ns, m.response_cpu_wait_ns, m.response_running_ns, m.response_blocked_ns];
        let sum: f64 = parts.iter().map(|part| part.map_or(0, |part| part.mean) as f64).sum();
        // Four means and the whole, each rounded to a nanosecond.
        assert!((sum - m.response_ns.unwrap().mean as f64).abs() <= 2.5, "{}: {m:?}", role.name);
    }
    roles
}

fn roles(tables: &str) -> Vec<RoleResult> {
    roles_under("fcfs", &workload(4, tables))
}

/// The smallest and the largest in microseconds.
fn range_us(summary: Option<TimeSummary>) -> (u64, u64) {
    let summary = summary.expect("requests ended");
    (summary.min / 1000, summary.max / 1000)
}

const SOURCE: &str = "[[source]]\nchannel = \"q\"\nat = [\"100ms\", \"300ms\", \"500ms\"]\n";

/// The emptier the machine, the longer a worker waits, and no response includes that.
#[test]
fn waiting_for_work_is_no_response() {
    let pool = "[[task]]\nname = \"worker\"\ncount = 8\nloop = [{ recv = \"q\" }, { compute = \"2ms\" }]\n";
    for feed in [
        SOURCE,
        "[[task]]\nname = \"feeder\"\narrivals = \"exp(16ms)\"\nonce = [{ send = \"q\" }]\n",
        "[[task]]\nname = \"feeder\"\nloop = [{ sleep = \"exp(16ms)\" }, { send = \"q\" }]\n",
    ] {
        let roles = roles(&format!("{pool}{feed}"));
        let measures = &roles[0].measures;
        assert!(measures.requests >= 3 && measures.requests_open <= 1, "{measures:?}");
        assert_eq!(measures.response_ns.unwrap().p50, 2_000_000, "{feed}");
    }
}

#[test]
fn a_semaphore_a_barrier_and_a_repeat_are_waited_at_too() {
    let post = "[[task]]\nname = \"poster\"\nloop = [{ sleep = \"100ms\" }, { post = \"s\" }]\n";
    let master =
        "[[task]]\nname = \"master\"\nloop = [{ sleep = \"100ms\" }, { barrier = \"go\" }, { barrier = \"done\" }]\n";
    let batch = "[[task]]\nname = \"poster\"\nloop = [{ sleep = \"100ms\" }, { send = \"q\" }]\n";
    for (steps, others, response) in [
        ("{ wait = \"s\" }, { compute = \"2ms\" }", post, (2000, 2000)),
        ("{ sleep = \"1ms\" }, { wait = \"s\" }, { compute = \"2ms\" }", post, (2000, 2000)),
        ("{ barrier = \"go\" }, { compute = \"2ms\" }, { barrier = \"done\" }", master, (2000, 2000)),
        ("{ repeat = 2, steps = [{ sleep = \"50ms\" }] }, { compute = \"2ms\" }", "", (2000, 2000)),
        // The first of two waits for the second, and they end together.
        ("{ repeat = 2, steps = [{ recv = \"q\" }] }, { compute = \"2ms\" }", batch, (2000, 102_000)),
        ("{ recv = \"q\", messages = 2 }, { compute = \"2ms\" }", batch, (2000, 102_000)),
        // Where the pass begins does not matter.
        ("{ compute = \"2ms\" }, { recv = \"q\" }", batch, (2000, 2000)),
        ("{ compute = \"1ms\" }, { recv = \"q\" }, { compute = \"1ms\" }", batch, (1000, 1000)),
    ] {
        let roles = roles(&format!("[[task]]\nname = \"worker\"\nloop = [{steps}]\n{others}"));
        assert!(roles[0].measures.requests >= 8, "{steps}: {:?}", roles[0].measures);
        assert_eq!(range_us(roles[0].measures.response_ns), response, "{steps}");
    }
}

/// A request goes through two pools; the second one answers, from the first birth on.
#[test]
fn a_request_crosses_pools() {
    let roles = roles(&format!(
        "[[task]]\nname = \"first\"\nloop = [{{ recv = \"q\" }}, {{ compute = \"2ms\" }}, {{ send = \"r\" }}, {{ compute = \"1ms\" }}]\n\
         [[task]]\nname = \"second\"\nloop = [{{ recv = \"r\" }}, {{ io = {{ device = \"disk\", service = \"5ms\" }} }}, \
         {{ compute = \"3ms\" }}]\n{SOURCE}"
    ));
    let (first, second) = (&roles[0].measures, &roles[1].measures);
    assert_eq!((first.requests, first.requests_open, second.requests, second.requests_open), (0, 0, 3, 0));
    assert_eq!(range_us(second.response_ns), (10_000, 10_000));
    assert_eq!(
        (range_us(second.response_running_ns), range_us(second.response_blocked_ns)),
        ((5000, 5000), (5000, 5000))
    );
    assert_eq!(second.slowdown.unwrap().mean, 2.0, "both pools' work was asked for");
}

#[test]
fn a_client_that_waits_for_its_answer_measures_the_round_trip() {
    let roles = roles(
        "[[task]]\nname = \"client\"\nloop = [{ sleep = \"50ms\" }, { compute = \"1ms\" }, { send = \"q\" }, { recv = \"reply\" }, \
         { compute = \"1ms\" }]\n\
         [[task]]\nname = \"server\"\ncount = 2\nloop = [{ recv = \"q\" }, { compute = \"3ms\" }, { send = \"reply\" }]\n",
    );
    assert_eq!(range_us(roles[0].measures.response_ns), (5000, 5000));
    assert_eq!(range_us(roles[0].measures.response_blocked_ns), (3000, 3000));
    assert_eq!(range_us(roles[1].measures.response_ns), (3000, 3000));
}

#[test]
fn an_answer_ends_a_request_before_the_pass_ends() {
    let roles = roles(&format!(
        "[[task]]\nname = \"worker\"\nloop = [{{ recv = \"q\" }}, {{ compute = \"2ms\" }}, {{ answer = true }}, {{ compute = \"7ms\" }}]\n\
         [[task]]\nname = \"own\"\nloop = [{{ sleep = \"20ms\" }}, {{ compute = \"2ms\" }}, {{ answer = true }}, {{ compute = \"7ms\" }}]\n\
         {SOURCE}"
    ));
    assert!(roles.iter().all(|role| range_us(role.measures.response_ns) == (2000, 2000)));
}

/// Fan-out: the first message carries the request on, the others are new ones. Each is answered once.
#[test]
fn every_request_is_answered_once() {
    let roles = roles(&format!(
        "[[task]]\nname = \"front\"\nloop = [{{ recv = \"q\" }}, {{ compute = \"2ms\" }}, {{ send = \"r\", messages = 3 }}]\n\
         [[task]]\nname = \"back\"\ncount = 3\nloop = [{{ recv = \"r\" }}, {{ compute = \"1ms\" }}]\n{SOURCE}"
    ));
    assert_eq!((roles[0].measures.requests, roles[1].measures.requests), (0, 9));
    assert_eq!(range_us(roles[1].measures.response_ns), (1000, 3000));
}

/// What no worker has taken is open at the end, with its age; a full channel and a slow pool lose nothing.
#[test]
fn overload_is_seen_as_open_requests() {
    let roles = roles(
        "[[task]]\nname = \"worker\"\nloop = [{ recv = \"q\" }, { compute = \"20ms\" }]\n[channel.q]\ncapacity = 2\n\
         [[source]]\nchannel = \"q\"\narrivals = \"10ms\"\n",
    );
    let measures = &roles[0].measures;
    // 99 come until the end, one each 20 ms is answered.
    assert_eq!((measures.requests, measures.requests_open), (49, 50));
    assert_eq!(measures.open_age_ns.unwrap().min, 10_000_000);
    assert_eq!(range_us(measures.response_ns), (20_000, 20_000 + 48 * 10_000));
    assert_eq!(range_us(measures.response_worker_wait_ns), (0, 480_000));
    assert_eq!(range_us(measures.response_cpu_wait_ns), (0, 0));
}

#[test]
fn a_ring_of_pools_answers_at_each_stage() {
    let roles = roles(
        "[[task]]\nname = \"a\"\nloop = [{ send = \"q\" }, { recv = \"r\" }, { compute = \"1ms\" }]\n\
         [[task]]\nname = \"b\"\nloop = [{ recv = \"q\" }, { compute = \"2ms\" }, { send = \"r\" }]\n",
    );
    assert_eq!(
        (range_us(roles[0].measures.response_ns), range_us(roles[1].measures.response_ns)),
        ((3000, 3000), (2000, 2000))
    );
}

/// The same requests come whatever the policy does, and every policy answers them.
#[test]
fn a_source_is_the_same_for_every_policy() {
    let text = "[[task]]\nname = \"worker\"\ncount = 6\nloop = [{ recv = \"q\" }, { compute = \"exp(2ms)\" }]\n\
                [[source]]\nchannel = \"q\"\narrivals = \"exp(2500us)\"\nlimit = 200\n";
    for policy in ["fcfs", "rr", "cfs", "eevdf", "mlfq"] {
        let measures = roles_under(policy, &workload(2, text)).remove(0).measures;
        assert_eq!((measures.requests, measures.requests_open), (200, 0), "{policy}");
    }
}

/// A run without a duration continues while messages are still to come.
#[test]
fn the_last_message_may_be_late() {
    let run = |workers: u32| {
        let text = format!(
            "name = \"t\"\n[machine]\ncpus = 1\n[run]\n[[source]]\nchannel = \"q\"\nat = [\"1ms\", \"500ms\"]\n\
             [[task]]\nname = \"worker\"\ncount = {workers}\nonce = [{{ recv = \"q\" }}, {{ compute = \"2ms\" }}]\n"
        );
        let workload = Scenario::parse(&text, "t").unwrap().compile().unwrap();
        let mut collector = Collector::new(&workload);
        lab::run_into(&mut collector, &workload, "fcfs", Executor::Machine, &[]).map(|_| collector.into_measures())
    };
    let measures = run(2).unwrap();
    assert_eq!((measures.duration_ns, measures.roles[0].measures.requests), (502_000_000, 2));
    assert_eq!(range_us(measures.roles[0].measures.response_ns), (2000, 2000));
    let error = run(3).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("waits for a message in the channel `q`"), "{error}");
}
