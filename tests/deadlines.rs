//! Tasks of the class deadline: constant bandwidth servers, the earliest deadline first, on exact times.

use crate::lab::{self, lawful, measured, stays};
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_model::workload::Workload;

/// Without costs and ticks all times are exact.
fn workload(cpus: u32, duration: &str, tasks: &str) -> Workload {
    let text = format!("name = \"t\"\n[machine]\ncpus = {cpus}\n[run]\nduration = \"{duration}\"\n{tasks}");
    Scenario::parse(&text, "t").unwrap().compile().unwrap_or_else(|error| panic!("{tasks}: {error}"))
}

fn task(name: &str, class: &str, steps: &str) -> String {
    format!("[[task]]\nname = \"{name}\"\nclass = \"{class}\"\nloop = [{steps}]\n")
}

/// Where the task with a number ran, in milliseconds.
fn ran_ms(workload: &Workload, policy: &str, number: u32) -> Vec<(u64, u64)> {
    let (events, _) = lawful(workload, policy);
    stays(&events, number).into_iter().map(|(_, from, until)| (from / 1000, until / 1000)).collect()
}

const HOG: &str = "[[task]]\nname = \"hog\"\nloop = [{ compute = \"1s\" }]\n";

/// It has its time at the start of each period, whatever else wants the CPU, and no more even where the CPU is free.
#[test]
fn a_task_has_what_it_reserved_and_rests() {
    let endless = task("a", "deadline:10ms/100ms", "{ compute = \"1s\" }");
    let expected = [(0, 10), (100, 110), (200, 210)];
    let others = [HOG.to_string(), task("b", "fifo:99", "{ compute = \"1s\" }"), String::new()];
    for (others, policy) in others.iter().zip(["rr", "eevdf", "cfs"]) {
        let workload = workload(1, "300ms", &format!("{endless}{others}"));
        assert_eq!(ran_ms(&workload, policy, 0), expected, "{policy}");
    }
}

/// On a machine with ticks what is used up is seen at a tick, and what was too much is taken from the next period.
#[test]
fn ticks_round_a_reservation_up_and_it_is_paid_back() {
    let text = task("a", "deadline:10ms/100ms", "{ compute = \"1s\" }") + HOG;
    let mut workload = workload(1, "2s", &text);
    workload.machine.tick = Time::from_ms(4);
    let had: u64 = ran_ms(&workload, "rr", 0).iter().map(|(from, until)| until - from).sum();
    assert!((198..=204).contains(&had), "{had} ms of 2 s");
}

/// A task that comes at a time, does work, and ends.
fn once(name: &str, class: &str, (start, work): (u32, u32)) -> String {
    format!(
        "[[task]]\nname = \"{name}\"\nclass = \"{class}\"\nstart = \"{start}ms\"\nonce = [{{ compute = \"{work}ms\" }}]\n"
    )
}

#[test]
fn the_earliest_deadline_goes_first() {
    let tasks = once("long", "deadline:30ms/200ms", (0, 30))
        + &once("short", "deadline:10ms/50ms", (10, 10))
        + &once("early", "deadline:10ms/20ms/300ms", (15, 10));
    let workload = workload(1, "100ms", &tasks);
    let of = |number| ran_ms(&workload, "fcfs", number);
    assert_eq!(of(2), [(15, 25)]);
    assert_eq!(of(1), [(10, 15), (25, 30)]);
    assert_eq!(of(0), [(0, 10), (30, 50)]);
}

/// 90 % of a CPU: no task misses a deadline. With fixed priorities by rate one does.
#[test]
fn reserved_periodic_tasks_meet_their_deadlines() {
    let periodic = |name: &str, class: &str, work: u32, period: u32| {
        task(name, class, &format!("{{ period = \"{period}ms\" }}, {{ compute = \"{work}ms\" }}"))
    };
    let tasks = |classes: [&str; 2]| {
        let both = periodic("a", classes[0], 4, 10) + &periodic("b", classes[1], 7, 14);
        workload(1, "3s", &(both + HOG))
    };
    let misses = |workload: &Workload| {
        let measured = measured(workload, "eevdf");
        [0, 1].map(|role| measured.roles[role].measures.deadline_misses)
    };
    assert_eq!(misses(&tasks(["deadline:4ms/10ms", "deadline:7ms/14ms"])), [Some(0); 2]);
    assert!(misses(&tasks(["fifo:2", "fifo:1"]))[1] > Some(0));
}

/// A task that comes takes the CPU that it is on. The one that it drives away goes where the deadline is later, and the one
/// there waits until a CPU has no earlier deadline.
#[test]
fn tasks_go_where_the_latest_deadline_is() {
    let tasks = once("long", "deadline:90ms/200ms", (0, 90))
        + &once("longer", "deadline:90ms/300ms", (0, 90))
        + &once("short", "deadline:20ms/50ms", (10, 20))
        + HOG;
    let workload = workload(2, "200ms", &tasks);
    let of = |number| ran_ms(&workload, "rr", number);
    // The other task is there before it.
    assert_eq!(of(3), [(10, 30)]);
    assert_eq!(of(0), [(0, 10), (10, 90)]);
    assert_eq!(of(1), [(0, 10), (30, 110)]);
}

/// A yield gives up what is left of the period (`sched_yield` of the class).
#[test]
fn a_yield_ends_the_period() {
    let tasks = task("a", "deadline:10ms/50ms", "{ compute = \"3ms\" }, { yield = true }") + HOG;
    assert_eq!(ran_ms(&workload(1, "120ms", &tasks), "rr", 0), [(0, 3), (50, 53), (100, 103)]);
}

/// A task that leaves the class is under the policy again, and one that enters it has its time at once.
#[test]
fn tasks_enter_and_leave_the_class() {
    let tasks = task(
        "a",
        "deadline:5ms/50ms",
        "{ compute = \"5ms\" }, { set = { class = \"other\" } }, { compute = \"1s\" }",
    ) + "[[task]]\nname = \"b\"\nonce = [{ compute = \"20ms\" }, { set = { class = \"deadline:10ms/60ms\" } }, { compute = \"10ms\" }]\n";
    let (events, _) = lawful(&workload(1, "200ms", &tasks), "fcfs");
    // The first one keeps its CPU for the slice that a kernel gives by default, 20 ms.
    assert_eq!(stays(&events, 1), [(0, 20_000, 50_000)]);
}

#[test]
fn what_a_kernel_does_not_admit_is_refused() {
    let of = |cpus: u32, tables: &str| {
        let text = format!("name = \"t\"\n[machine]\ncpus = {cpus}\n[run]\nduration = \"1s\"\n{tables}");
        Scenario::parse(&text, "t").and_then(|scenario| scenario.compile())
    };
    let one = |more: &str| {
        format!("[[task]]\nname = \"a\"\nclass = \"deadline:5ms/10ms\"\n{more}\nloop = [{{ compute = \"1ms\" }}]\n")
    };
    for (cpus, tables, part) in [
        (1, one("count = 2"), "the tasks up to `a` reserve 1.00 CPUs, and a kernel grants 0.95 of 1"),
        (2, one("cpus = \"0\""), "may not run on all CPUs"),
        (2, one("start_on = 0"), "may not run on all CPUs"),
        (1, one("arrivals = \"10ms\""), "from the start"),
        (1, one("nice = 1"), "a nice value means nothing"),
        (2, one("") + "[[hotplug]]\nat = \"100ms\"\noffline = \"1\"\n", "CPUs go offline"),
    ] {
        let error = of(cpus, &tables.replace("loop", if tables.contains("arrivals") { "once" } else { "loop" }));
        let error = error.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(part), "{tables}: {error}");
    }
    // From 6.12 to 7.1 a kernel keeps a twentieth of each CPU, and its server of starving tasks has another one.
    let most = of(1, &one("").replace("5ms/10ms", "92ms/100ms")).unwrap();
    assert!(lab::run(&most, "cfs").is_ok());
    assert!(lab::run(&most, "rr").is_ok());
    let error = lab::run(&most, "eevdf").err().expect("it is refused").to_string();
    assert!(error.contains("reserve 0.92 CPUs, and Linux 6.12 grants 0.90 of 1"), "{error}");
}
