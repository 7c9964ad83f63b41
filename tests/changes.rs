//! Tasks that change their CPUs, their nice value and their class while they run, and those that inherit a priority.

use crate::lab::{self, stays};
use schedlab_bpf::Executor;
use schedlab_metrics::validator::{Expectations, Validator};
use schedlab_model::machine::Costs;
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_model::trace::*;
use schedlab_model::workload::Workload;
use schedlab_sim::Outcome;

const POLICIES: [&str; 9] = ["fcfs", "rr", "cfs", "eevdf", "ule", "mlfq", "linux-o1", "windows", "alb"];

fn workload(cpus: u32, tables: &str) -> Workload {
    let text = format!("name = \"t\"\n[machine]\ncpus = {cpus}\n{tables}");
    Scenario::parse(&text, "t").unwrap().compile().unwrap_or_else(|error| panic!("{tables}: {error}"))
}

/// A run that obeys the laws of every trace.
fn run(workload: &Workload, policy: &str) -> (Vec<Event>, Outcome) {
    run_by(workload, policy, Executor::Machine)
}

fn run_by(workload: &Workload, policy: &str, by: Executor) -> (Vec<Event>, Outcome) {
    let mut events = Vec::new();
    let mut validator = Validator::new(Expectations { workload: Some(workload), ..Expectations::default() });
    let outcome = lab::run_into(&mut (&mut events, &mut validator), workload, policy, by, &[]).unwrap();
    let findings = validator.into_findings();
    assert!(findings.is_lawful(), "{policy}: {:#?}", findings.reported);
    (events, outcome)
}

fn moves(events: &[Event]) -> Vec<(u64, u32, u32, u32)> {
    let kind = |event: &Event| match event.kind {
        EventKind::Migrate { task, from, to } => Some((event.time.ns() / 1000, task.0, from.0, to.0)),
        _ => None,
    };
    events.iter().filter_map(kind).collect()
}

#[test]
fn a_task_goes_where_its_cpus_are() {
    let tables = "[[task]]\nname = \"t\"\ncpus = \"0\"\nonce = [{ compute = \"1ms\" }, { set = { cpus = \"1\" } }, \
                  { compute = \"2ms\" }, { sleep = \"1ms\" }, { set = { cpus = \"0-1\" } }, { compute = \"3ms\" }]\n";
    for policy in POLICIES {
        let (events, outcome) = run(&workload(2, tables), policy);
        let first = stays(&events, 0).into_iter().take(2).collect::<Vec<_>>();
        assert_eq!(first, [(0, 0, 1000), (1, 1000, 3000)], "{policy}");
        assert_eq!(outcome.end, Time::from_ms(7), "{policy}");
    }
}

/// A CPU's tasks that have to go are dealt out over the others, and each change costs a switch to the thread that moves it.
#[test]
fn those_who_have_to_go_are_dealt_out() {
    let tables = "[[task]]\nname = \"t\"\ncount = 4\ncpus = \"0\"\n\
                  once = [{ compute = \"1ms\" }, { set = { cpus = \"1-3\" } }, { compute = \"10ms\" }]\n";
    let mut workload = workload(4, tables);
    workload.machine.costs = Costs { switch: Time(1000), ..Costs::default() };
    let (events, outcome) = run(&workload, "fcfs");
    assert_eq!(moves(&events).iter().map(|moved| moved.3).collect::<Vec<_>>(), [1, 2, 3, 1]);
    // Each of the four: from the one before to it, and from it to the thread.
    assert_eq!(outcome.cpus[0].overhead, Time(8 * 1000));
}

/// A policy may name another CPU's queue for the task that is still on its own; it goes there when it has left.
#[test]
fn a_task_that_is_handed_on_leaves_its_cpu_first() {
    let tables = "[[task]]\nname = \"t\"\ncount = 3\nonce = [{ compute = \"50ms\" }]\n";
    for executor in [Executor::Machine, Executor::Interpreter] {
        let (events, outcome) = run_by(&workload(2, tables), "handing", executor);
        let moved: Vec<_> = moves(&events).into_iter().filter(|(at, ..)| *at > 0).collect();
        assert_eq!(moved.len(), 5, "{moved:?}");
        for (at, task, from, _) in moved {
            let left = stays(&events, task).into_iter().any(|(cpu, _, until)| cpu == from && until == at);
            assert!(left, "task {task} at {at} us had not left CPU {from}");
        }
        assert_eq!(outcome.tasks, 3);
    }
}

/// How much of the CPU time a task had, in thousandths.
fn share(events: &[Event], task: u32, length: Time) -> u64 {
    let had: u64 = stays(events, task).iter().map(|stay| stay.2 - stay.1).sum();
    had * 1_000_000 / length.ns()
}

/// A change takes a running task out of its queue and puts it back: its slice is not a new one after that. The changes come
/// at all kinds of times, also at the instant at which slices end.
#[test]
fn who_changes_all_the_time_does_not_keep_its_cpu() {
    let changes = [
        (1, "nice = 1", "nice = 0"),
        (1, "class = \"batch\"", "class = \"other\""),
        (2, "cpus = \"0\"", "cpus = \"0-1\""),
    ];
    // Slices of CFS begin again with each change but that of a nice value, as in a kernel (`set_next_entity`): a task
    // that changes more often than the shortest of slices keeps its CPU there, too. A quantum of Windows begins again
    // with each change of the priority, and priorities are strict: no task takes turns.
    let pieces_of = |policy: &str, is_nice: bool| match (policy, is_nice) {
        ("fcfs", _) | ("windows", true) => &[][..],
        ("cfs" | "alb", false) => &["10ms", "7ms"],
        _ => &["10ms", "7ms", "1ms", "100us"],
    };
    for (policy, (cpus, one, other)) in POLICIES.into_iter().flat_map(|policy| changes.map(|change| (policy, change))) {
        let pieces = pieces_of(policy, one.starts_with("nice"));
        for piece in pieces {
            let tables = format!(
                "[[task]]\nname = \"t\"\ncount = {}\nloop = [{{ compute = \"{piece}\" }}, {{ set = {{ {one} }} }}, \
                 {{ compute = \"{piece}\" }}, {{ set = {{ {other} }} }}]\n[run]\nduration = \"5s\"\n",
                2 * cpus
            );
            let workload = workload(cpus, &tables);
            let (events, _) = run(&workload, policy);
            // All wait for the first CPU most of the time.
            let least = if cpus == 1 { 400 } else { 180 };
            for task in 0..2 * cpus {
                let share = share(&events, task, workload.run.duration);
                assert!(share > least, "{policy}, {one} each {piece}: task {task} had {share} thousandths");
            }
        }
    }
}

/// The CPUs, the nice value and the slice that a task has are no news for it (`__set_cpus_allowed_ptr_locked`,
/// `set_user_nice`): nothing happens.
#[test]
fn to_set_what_is_so_changes_nothing() {
    let run = |set: &str| {
        let tables = format!(
            "[[task]]\nname = \"t\"\ncount = 2\ncpus = \"0\"\nnice = 3\nslice = \"2ms\"\nloop = [{{ compute = \"100us\" }}{set}]\n\
             [run]\nduration = \"1s\"\n"
        );
        stays(&run(&workload(1, &tables), "cfs").0, 0)
    };
    let without = run("");
    assert!(without.len() > 50, "they take turns");
    assert_eq!(run(", { set = { cpus = \"0\" } }"), without);
    assert_eq!(run(", { set = { nice = 3 } }"), without);
    assert_eq!(run(", { set = { slice = \"2ms\" } }"), without);
}

/// A task that had to leave its CPU is not handed to the policy as one that could continue there.
#[test]
fn who_was_driven_off_is_not_asked_to_stay() {
    let tables = "[[task]]\nname = \"goes\"\ncpus = \"1\"\nonce = [{ compute = \"1ms\" }, { set = { cpus = \"0\" } }, \
                  { compute = \"1s\" }]\n\
                  [[task]]\nname = \"waits\"\ncpus = \"1\"\nonce = [{ compute = \"5ms\" }]\n";
    for policy in POLICIES {
        let (events, _) = run(&workload(2, tables), policy);
        let had: u64 = stays(&events, 1).iter().map(|stay| stay.2 - stay.1).sum();
        let until = stays(&events, 1).last().map(|stay| stay.2);
        assert_eq!((had, until), (5000, Some(6000)), "{policy}");
    }
}

#[test]
fn a_real_time_task_goes_too() {
    let tables = "[[task]]\nname = \"t\"\ncpus = \"0\"\nclass = \"fifo:1\"\n\
                  once = [{ compute = \"1ms\" }, { set = { cpus = \"1\" } }, { compute = \"2ms\" }]\n";
    let (events, _) = run(&workload(2, tables), "rr");
    assert_eq!(stays(&events, 0), [(0, 0, 1000), (1, 1000, 3000)]);
}

/// Weights of 1024 and 335: three quarters of the CPU.
#[test]
fn a_nice_value_counts_from_its_step_on() {
    let hog = |name: &str, steps: &str| format!("[[task]]\nname = \"{name}\"\nonce = [{steps}]\n");
    let tables = hog("a", "{ compute = \"5s\" }, { set = { nice = 5 } }, { compute = \"60s\" }")
        + &hog("b", "{ compute = \"60s\" }")
        + "[run]\nduration = \"30s\"\n";
    for policy in ["cfs", "eevdf"] {
        let (events, _) = run(&workload(1, &tables), policy);
        let had = |from: u64, until: u64| -> u64 {
            stays(&events, 0).iter().map(|stay| stay.2.min(until).saturating_sub(stay.1.max(from))).sum()
        };
        let before = had(0, 9_000_000) as f64 / 9e6;
        let after = had(15_000_000, 29_000_000) as f64 / 14e6;
        assert!((before - 0.5).abs() < 0.01, "{policy}: {before}");
        assert!((after - 335.0 / 1359.0).abs() < 0.01, "{policy}: {after}");
    }
}

/// A task that computes for 10 ms under a mutex, one of a higher class that computes for 20 ms, and one of the highest that
/// wants the mutex.
fn inversion(protocol: &str) -> Workload {
    workload(
        1,
        &format!(
            "[[task]]\nname = \"low\"\nonce = [{{ lock = \"m\" }}, {{ compute = \"10ms\" }}, {{ unlock = \"m\" }}, \
             {{ compute = \"1ms\" }}]\n\
             [[task]]\nname = \"medium\"\nclass = \"fifo:10\"\nstart = \"2ms\"\nonce = [{{ compute = \"20ms\" }}]\n\
             [[task]]\nname = \"high\"\nclass = \"fifo:20\"\nstart = \"3ms\"\nonce = [{{ lock = \"m\" }}, \
             {{ compute = \"1ms\" }}, {{ unlock = \"m\" }}]\n[lock.m]\nprotocol = \"{protocol}\"\n"
        ),
    )
}

/// Sha, Rajkumar and Lehoczky, "Priority inheritance protocols", 1990: without it the most urgent task waits for one that
/// has nothing to do with its mutex.
#[test]
fn who_has_a_mutex_inherits_the_priority_of_who_waits_for_it() {
    for policy in POLICIES {
        let stays_of = |protocol: &str| {
            let (events, _) = run(&inversion(protocol), policy);
            [0, 1, 2].map(|task| stays(&events, task))
        };
        let expected = [
            vec![(0, 0, 2000), (0, 22_000, 30_000), (0, 31_000, 32_000)],
            vec![(0, 2000, 3000), (0, 3000, 22_000)],
            vec![(0, 3000, 3000), (0, 30_000, 31_000)],
        ];
        assert_eq!(stays_of("none"), expected, "{policy}");
        let expected = [
            vec![(0, 0, 2000), (0, 3000, 11_000), (0, 31_000, 32_000)],
            vec![(0, 2000, 3000), (0, 12_000, 31_000)],
            vec![(0, 3000, 3000), (0, 11_000, 12_000)],
        ];
        assert_eq!(stays_of("inherit"), expected, "{policy}");
    }
}

/// The first waits for no task, the second for the first, the most urgent for the second.
#[test]
fn a_priority_goes_along_a_chain() {
    let text = "[[task]]\nname = \"first\"\nonce = [{ lock = \"a\" }, { compute = \"1ms\" }, { sleep = \"2ms\" }, \
                { compute = \"10ms\" }, { unlock = \"a\" }]\n\
                [[task]]\nname = \"second\"\nstart = \"1500us\"\nonce = [{ lock = \"b\" }, { lock = \"a\" }, \
                { unlock = \"a\" }, { unlock = \"b\" }]\n\
                [[task]]\nname = \"medium\"\nclass = \"fifo:10\"\nstart = \"4ms\"\nonce = [{ compute = \"20ms\" }]\n\
                [[task]]\nname = \"high\"\nclass = \"fifo:20\"\nstart = \"5ms\"\nonce = [{ lock = \"b\" }, \
                { compute = \"1ms\" }, { unlock = \"b\" }]\n\
                [lock.a]\nprotocol = \"inherit\"\n[lock.b]\nprotocol = \"inherit\"\n";
    for policy in POLICIES {
        let (events, _) = run(&workload(1, text), policy);
        let first = stays(&events, 0);
        assert_eq!(first[..3], [(0, 0, 1000), (0, 3000, 4000), (0, 5000, 14_000)], "{policy}");
        assert_eq!(stays(&events, 3), [(0, 5000, 5000), (0, 14_000, 15_000)], "{policy}");
    }
}

#[test]
fn a_class_counts_from_its_step_on() {
    let text = "[[task]]\nname = \"a\"\nonce = [{ set = { class = \"fifo:5\" } }, { compute = \"50ms\" }, \
                { set = { class = \"other\", nice = 19, slice = \"3ms\" } }, { compute = \"20ms\" }]\n\
                [[task]]\nname = \"b\"\nonce = [{ compute = \"50ms\" }]\n";
    for policy in POLICIES {
        let (events, outcome) = run(&workload(1, text), policy);
        let (first, other) = (stays(&events, 0), stays(&events, 1));
        assert!(first[0].1 == 0 && first[0].2 >= 50_000 && other[0].1 >= 50_000, "{policy}: {first:?} {other:?}");
        assert_eq!(outcome.end.ns(), 120_000_000, "{policy}");
    }
}

/// Nothing that a task could not have been from the start.
#[test]
fn what_cannot_be_is_refused() {
    let fault = |task: &str, set: &str| {
        let text = format!(
            "name = \"t\"\n[machine]\ncpus = 2\n[[task]]\nname = \"t\"\n{task}once = [{{ set = {{ {set} }} }}, {{ compute = \"1ms\" }}]\n"
        );
        Scenario::parse(&text, "t").unwrap().compile().unwrap_err().to_string()
    };
    for (task, set, part) in [
        ("", "", "this changes nothing"),
        ("", "nice = 20", "nice 20 does not exist"),
        ("", "cpus = \"1-2\"", "there is no CPU 2: the machine's CPUs are 0-1"),
        ("class = \"fifo:3\"\n", "nice = 1", "means nothing in the classes fifo, rr and deadline"),
        ("start_on = 1\n", "cpus = \"0\"", "write cpus = \"1\" instead of `start_on`"),
    ] {
        let why = fault(task, set);
        assert!(why.contains(part) && why.contains(":9: "), "{set}: {why}");
    }
}
