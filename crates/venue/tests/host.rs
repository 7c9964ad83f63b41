//! Runs on the kernel that runs here, its events recorded. Without the rights for that, the tests compare the run with
//! what it says about itself instead. Nothing is compared with what a quiet machine would do: counters with counters, one
//! observer with another.

#[path = "../../../tests/skip.rs"]
mod skip;

use schedlab_model::result::RunResult;
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason};
use schedlab_policy::PolicySpec;
use schedlab_venue::{Algorithm, Calibration, HostVenue, Policy, Request, Run, SimVenue, Venue};
use std::collections::{BTreeMap, BTreeSet};

fn policy(name: &str) -> Policy {
    Policy::find(&PolicySpec::parse(name).unwrap()).unwrap()
}

/// Work need not be exact here, and a machine that is too noisy to be calibrated will do.
fn venue() -> HostVenue {
    let calibration = Calibration {
        algorithm: "spin".into(),
        ns_per_piece: 150.0,
        ns_per_call: 0.0,
        spread: 0.0,
        misfit: 0.0,
        measurements: 1,
    };
    HostVenue::with_calibration(Algorithm::Spin, calibration)
}

/// Runs tasks under the kernel's scheduler; what happened, event by event, and the run.
fn run(tasks: &str, duration: &str) -> (Vec<Event>, Run) {
    let text = format!("name = \"t\"\n[machine]\ncpus = 1\n{tasks}\n[run]\nduration = \"{duration}\"\n");
    let workload = Scenario::parse(&text, "test").unwrap().compile().unwrap();
    let policy = policy("kernel");
    let request = Request {
        workload: &workload,
        scenario_hash: "00",
        policy: &policy,
        seed: 1,
        executor: None,
        check: true,
        costs: false,
    };
    let mut events = Vec::new();
    let run = venue().run(&request, Some(&mut events), &mut ()).unwrap();
    (events, run)
}

/// Whether the kernel's events were recorded; a result without them says so.
fn is_recorded(result: &RunResult) -> bool {
    let lacks = result.missing.iter().any(|missing| missing.starts_with("waits, migrations"));
    assert_eq!(lacks, result.roles[0].measures.run_delay_ns.is_none(), "{:?}", result.missing);
    if lacks {
        skip::skip(&result.missing.join("; "));
    }
    !lacks
}

const THREE: &str = "[[task]]\nname = \"a\"\ncount = 3\nloop = [{ compute = \"2ms\" }, { sleep = \"1ms\" }]\n";

/// By request: how far apart the response times are that the task measured by its clock and that the scheduler's events
/// show (from the wake-up to the switch by which the task goes to sleep again), and what the task measured, in ns.
fn differences(events: &[Event]) -> Vec<(f64, f64)> {
    let mut woken: BTreeMap<_, Time> = BTreeMap::new();
    let mut begun: BTreeMap<_, Time> = BTreeMap::new();
    let mut ended: BTreeMap<_, Time> = BTreeMap::new();
    let mut differences = Vec::new();
    for event in events {
        match event.kind {
            EventKind::Wakeup { task, .. } => _ = woken.insert(task, event.time),
            EventKind::RequestBegin { task, intended, .. } => _ = begun.insert(task, intended),
            EventKind::RequestEnd { task, .. } => _ = ended.insert(task, event.time),
            EventKind::Switch { previous: Some(task), reason: Reason::Blocked, .. } => {
                if let (Some(woken), Some(end)) = (woken.get(&task), ended.remove(&task)) {
                    let by_kernel = (event.time.ns() - woken.ns()) as f64;
                    let by_task = (end.ns() - begun[&task].ns()) as f64;
                    differences.push(((by_kernel - by_task).abs(), by_task));
                }
            }
            _ => {}
        }
    }
    differences
}

#[test]
fn tasks_and_kernel_agree_on_response_times() {
    let (events, run) = run(THREE, "600ms");
    if !is_recorded(&run.result) {
        return assert!(run.result.roles[0].measures.response_ns.is_some());
    }
    let differences = differences(&events);
    assert!(differences.len() > 50, "{} requests", differences.len());
    let agree = differences.iter().filter(|(off, response)| *off <= (0.01 * response).max(50_000.0)).count();
    // An interrupt or another program between the two looks at the clock is neither's fault.
    assert!(10 * agree >= 9 * differences.len(), "{agree} of {}: {differences:?}", differences.len());
}

/// What the tasks waited for a CPU by the scheduler's events, in ns: until each one's request ended, and in all.
fn waits(events: &[Event]) -> (f64, f64) {
    let mut since: BTreeMap<_, Time> = BTreeMap::new();
    let mut ended: BTreeSet<_> = BTreeSet::new();
    let (mut until_ended, mut in_all) = (0.0, 0.0);
    for event in events {
        match event.kind {
            EventKind::Wakeup { task, .. } => _ = since.insert(task, event.time),
            EventKind::RequestEnd { task, .. } => _ = ended.insert(task),
            EventKind::Switch { previous, reason, next } => {
                if let Some((task, since)) = next.and_then(|task| Some((task, since.remove(&task)?))) {
                    let wait = (event.time.ns() - since.ns()) as f64;
                    in_all += wait;
                    until_ended += if ended.contains(&task) { 0.0 } else { wait };
                }
                if let Some(task) = previous.filter(|_| matches!(reason, Reason::Preempted | Reason::Yielded)) {
                    since.insert(task, event.time);
                }
            }
            _ => {}
        }
    }
    (until_ended, in_all)
}

/// The kernel counts the waits of each thread itself. A task reads the counter between the end of its request and its
/// own end; a task that is preempted in between has waited once more by the events than by the counter.
#[test]
fn derived_waits_agree_with_the_kernels_own_counters() {
    let (events, run) = run("[[task]]\nname = \"a\"\ncount = 4\nonce = [{ compute = \"150ms\" }]\n", "20s");
    let result = run.result;
    let role = &result.roles[0].measures;
    assert_eq!(role.requests, 4);
    if !is_recorded(&result) {
        return;
    }
    let (least, most) = waits(&events);
    let derived = role.run_delay_ns.map(|delay| delay.mean as f64 * delay.count as f64).unwrap();
    assert!((derived / most - 1.0).abs() < 0.001, "{derived} measured, {most} by the events");
    let counted = result.kernel_run_delay_ns.expect("the kernel counts") as f64;
    // Where the kernel did not tell some switches, the waits around them are guesses.
    let repaired = result.missing.iter().any(|missing| missing.contains("did not tell"));
    let off = if repaired { 0.1 } else { 0.02 };
    assert!((1.0 - off) * least < counted && counted < (1.0 + off) * most, "{least} to {most} against {counted}");
}

/// A task creates its children, so that a scheduler sees their parent; the program creates those for it that want more
/// than it has.
#[test]
fn a_task_creates_its_threads_itself() {
    let program = "spawned = true\nonce = [{ compute = \"100us\" }, { exit = true }]\n";
    let tasks = format!(
        "[[task]]\nname = \"parent\"\nnice = 5\n\
         once = [{{ spawn = \"child\", count = 3 }}, {{ spawn = \"better\" }}, {{ sleep = \"50ms\" }}]\n\
         [[task]]\nname = \"child\"\nnice = 7\n{program}[[task]]\nname = \"better\"\n{program}"
    );
    let (events, run) = run(&tasks, "20s");
    assert_eq!(run.result.roles.iter().map(|role| role.count).collect::<Vec<_>>(), [1, 3, 1]);
    if !is_recorded(&run.result) {
        return;
    }
    let mut parents: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in &events {
        if let EventKind::Fork { task, role, parent } = event.kind {
            parents.entry(role.index()).or_default().push((task, parent));
        }
    }
    let of = |role: usize| parents[&role].iter().map(|(_, parent)| *parent).collect::<Vec<_>>();
    assert_eq!((of(1), of(2)), (vec![Some(parents[&0][0].0); 3], vec![None]));
}

#[test]
fn the_same_scenario_runs_in_both_venues() {
    let (_, host) = run(THREE, "200ms");
    assert_eq!((host.result.venue.as_str(), host.result.roles[0].count), ("host", 3));
    assert!(host.result.roles[0].measures.requests > 0 && !host.result.partial);
    let kernel = host.result.provenance.kernel.unwrap();
    assert!(kernel.starts_with("Linux "), "{kernel}");
    let error = SimVenue.accepts(&policy("kernel")).unwrap_err().to_string();
    assert!(error.ends_with("use --venue host"), "{error}");
    match venue().accepts(&policy("rr")) {
        Ok(()) => assert!(schedlab_kernel::has_sched_ext()),
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("policy rr cannot be run in the venue `host`: "), "{error}");
            assert!(!schedlab_kernel::has_sched_ext());
        }
    }
}
