//! What the simulated machine does and takes as a kernel does: tasks that arrive, sleeps, interrupts.

use crate::lab::{self, lawful as run};
use schedlab_model::ids::TaskId;
use schedlab_model::machine::Costs;
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_model::trace::*;
use schedlab_model::workload::Workload;
use schedlab_sim::{Outcome, RunError};

fn workload(cpus: u32, tables: &str) -> Workload {
    let text = format!("name = \"t\"\n[machine]\ncpus = {cpus}\n{tables}");
    Scenario::parse(&text, "t").unwrap().compile().unwrap_or_else(|error| panic!("{tables}: {error}"))
}

/// The workload on a machine with costs.
fn with(workload: &Workload, costs: Costs) -> Workload {
    let mut workload = workload.clone();
    workload.machine.costs = costs;
    workload
}

/// When each task came to be.
fn births_ns(events: &[Event]) -> Vec<u64> {
    let born = events.iter().filter(|event| matches!(event.kind, EventKind::Fork { .. }));
    born.map(|event| event.time.ns()).collect()
}

/// The requests: the task, since when, and how much, in the order of the tasks' numbers.
fn requests(events: &[Event]) -> Vec<(u32, u64, u64)> {
    let intended = |of| {
        let mut begins = events.iter().filter_map(|event| match event.kind {
            EventKind::RequestBegin { task, intended, .. } if task == of => Some(intended.ns()),
            _ => None,
        });
        begins.next_back().expect("it has begun")
    };
    let end = |event: &Event| match event.kind {
        EventKind::RequestEnd { task, demand, .. } => Some((task.0, intended(task), demand.ns())),
        _ => None,
    };
    let mut ends: Vec<_> = events.iter().filter_map(end).collect();
    ends.sort();
    ends
}

/// A machine that takes 20 us to create a task that arrives.
fn arrival() -> Costs {
    Costs { arrival: Time(20_000), ..Costs::default() }
}

fn overhead_ns(outcome: &Outcome) -> u64 {
    outcome.cpus.iter().map(|cpu| cpu.overhead.ns()).sum()
}

/// Jobs of random length that arrive by themselves, sleep and end.
const JOBS: &str = "[[task]]\nname = \"job\"\narrivals = \"exp(2ms)\"\nlimit = 60\n\
                    once = [{ compute = \"exp(1ms)\" }, { sleep = \"1ms\" }, { compute = \"exp(1ms)\" }]\n";

#[test]
fn what_creates_those_who_arrive_pays_and_is_not_seen() {
    for (policy, cpus) in [("rr", 1), ("rr", 2), ("eevdf", 2), ("fcfs", 1)] {
        let free = workload(cpus, JOBS);
        let (without, idle) = run(&free, policy);
        let (events, outcome) = run(&with(&free, arrival()), policy);
        assert!(!format!("{events:?}").contains(&u32::MAX.to_string()), "an event names it");
        assert_eq!((outcome.tasks, overhead_ns(&outcome), overhead_ns(&idle)), (60, 60 * 20_000, 0), "{policy}");
        assert_eq!(requests(&events), requests(&without), "random numbers are the same, and so are intended instants");
        let late = births_ns(&events).into_iter().zip(births_ns(&without)).map(|(with, without)| with - without);
        assert!(late.clone().all(|ns| ns >= 20_000) && late.filter(|&ns| ns == 20_000).count() > 40, "{policy}");
        for cpu in &outcome.cpus {
            assert_eq!(cpu.task + cpu.idle + cpu.overhead, outcome.end, "{policy}");
        }
    }
}

/// A process gets the memory of all threads of the run, and its creator is one more next to them.
#[test]
fn a_process_that_arrives_takes_longer_to_create_the_more_threads_there_are() {
    let job = "[[task]]\nname = \"job\"\narrivals = \"1ms\"\nlimit = 3\nonce = [{ sleep = \"50us\" }]\n";
    let process = format!("{job}kind = \"process\"\n");
    let threads = "[[task]]\nname = \"other\"\ncount = 2\nonce = [{ sleep = \"10ms\" }]\n";
    let costs = Costs { process_arrival: Time(300_000), process_fork_thread: Time(1000), ..arrival() };
    let overhead = |tables: &str, costs| overhead_ns(&run(&with(&workload(1, tables), costs), "rr").1);
    assert_eq!(overhead(job, costs), 3 * 20_000);
    assert_eq!(overhead(&process, costs), 3 * 300_000);
    assert_eq!(overhead(&format!("{process}{threads}"), costs), 3 * 302_000);
    assert_eq!(overhead(&process, arrival()), 3 * 20_000, "where only the other is known");
}

#[test]
fn those_who_arrive_are_created_where_things_are_handed_over_too() {
    let mut jobs = with(&workload(1, JOBS), arrival());
    let (retried, _) = run(&jobs, "rr");
    jobs.machine.mechanisms.retry = false;
    let (handed_over, _) = run(&jobs, "rr");
    assert_eq!(handed_over, retried, "no task waits for another one here");
}

/// A task that creates tasks waits meanwhile, and as many tasks as wait are alive.
#[test]
fn a_run_with_arrivals_lasts_until_the_last_task_has_slept() {
    let tables = "[[task]]\nname = \"job\"\narrivals = \"1ms\"\nlimit = 3\n\
                  once = [{ sleep = \"50ms\" }, { compute = \"100us\" }]\n";
    let (_, outcome) = run(&with(&workload(1, tables), arrival()), "rr");
    assert_eq!((outcome.tasks, outcome.end), (3, Time(3_000_000 + 20_000 + 50_000_000 + 100_000)));
}

/// The creator of tasks waits for ever, too, and does not count as a waiting task.
#[test]
fn a_standstill_is_found_after_the_last_arrival() {
    let tables = "[[task]]\nname = \"job\"\narrivals = \"1ms\"\nlimit = 3\nonce = [{ wait = \"s\" }]\n\
                  [[task]]\nname = \"giver\"\nonce = [{ post = \"s\" }]\n";
    let jobs = with(&workload(1, tables), arrival());
    let run = lab::run(&jobs, "rr").map(|run| run.outcome);
    assert!(matches!(&run, Err(RunError::Standstill(_))), "{run:?}");
}

/// One task on one machine where each of these costs takes 1 ns, 10 ns and so on: how long it had the CPU.
fn cpu_ns(steps: &str, costs: &[&str]) -> u64 {
    let mut machine = Costs::default();
    for (name, time) in machine.times_mut() {
        if let Some(place) = costs.iter().position(|known| *known == name) {
            *time = Time(10_u64.pow(place as u32));
        }
    }
    let tables = format!("[[task]]\nname = \"t\"\nonce = [{steps}]\n");
    let (_, outcome) = run(&with(&workload(1, &tables), machine), "fcfs");
    assert_eq!(overhead_ns(&outcome), 0, "{steps}");
    outcome.cpus[0].task.ns()
}

#[test]
fn every_call_of_a_task_is_paid_once() {
    let io = "{ io = { device = \"d\", service = \"1ms\" } }, { compute = \"5us\" }";
    let messages = "{ send = \"c\", messages = 3 }, { recv = \"c\" }, { recv = \"c\" }, { recv = \"c\" }";
    for (steps, costs, ns) in [
        ("{ sleep = \"1ms\" }, { compute = \"5us\" }", &["sleep", "resume"][..], 5011),
        ("{ sleep = \"1ms\" }, { compute = \"5us\" }", &["", "resume"], 5010),
        (io, &["io", "resume"], 5011),
        // No other call costs anything.
        (io, &["io"], 5001),
        ("{ post = \"s\" }, { wait = \"s\" }, { compute = \"5us\" }", &["semaphore", "futex_wait", "futex_wake"], 5002),
        (
            "{ lock = \"m\" }, { compute = \"5us\" }, { unlock = \"m\" }",
            &["futex_wait", "futex_wake", "semaphore"],
            5000,
        ),
        (messages, &["pipe_send", "pipe_recv"], 33),
        ("{ compute = \"5us\" }", &["fork", "start", "exit"], 5100),
    ] {
        assert_eq!(cpu_ns(steps, costs), ns, "{steps} {costs:?}");
    }
}

#[test]
fn a_request_to_a_device_that_costs_something_is_still_served() {
    let costs = Costs { io: Time(100), ..Costs::default() };
    let tables =
        "[[task]]\nname = \"t\"\nonce = [{ io = { device = \"d\", service = \"1ms\" } }, { compute = \"1ms\" }]\n";
    let (_, outcome) = run(&with(&workload(1, tables), costs), "rr");
    assert_eq!(outcome.end, Time::from_ms(2), "the way in is inside the service");
}

#[test]
fn an_interrupt_is_paid_for_what_nobody_on_the_machine_wakes() {
    let costs = Costs { timer: Time(7_000), ..Costs::default() };
    let tables = "[channel.q]\ncapacity = 8\n[[source]]\nchannel = \"q\"\nat = [\"5ms\"]\n\
         [[task]]\nname = \"from outside\"\nonce = [{ recv = \"q\" }, { compute = \"1ms\" }]\n\
         [[task]]\nname = \"sleeper\"\nonce = [{ sleep = \"1ms\" }, { io = { device = \"d\", service = \"1ms\" } }, { post = \"s\" }]\n\
         [[task]]\nname = \"waiter\"\nonce = [{ wait = \"s\" }, { compute = \"1ms\" }]\n";
    let (events, outcome) = run(&with(&workload(1, tables), costs), "rr");
    assert_eq!(overhead_ns(&outcome), 3 * 7_000, "a message, a sleep and a device; not the semaphore");
    let paid = events.iter().filter(|event| matches!(event.kind, EventKind::Overhead { .. }));
    assert_eq!(paid.map(|event| event.time.ns() / 1_000_000).collect::<Vec<_>>(), [1, 2, 5]);
}

/// A task that ends at 1 ms, next to one that computes up to 40 ms.
const ENDS: &str = "hz = 250\n[[task]]\nname = \"short\"\nonce = [{ compute = \"1ms\" }]\n\
                    [[task]]\nname = \"long\"\nonce = [{ compute = \"39ms\" }]\n";

#[test]
fn a_grace_period_begins_a_tick_after_a_task_has_ended_and_takes_another_one() {
    let grace = |ns| Costs { grace_period: Time(ns), ..Costs::default() };
    for policy in ["fcfs", "rr", "cfs", "eevdf", "ule"] {
        let (_, free) = run(&with(&workload(1, ENDS), grace(0)), policy);
        let (events, outcome) = run(&with(&workload(1, ENDS), grace(7_000)), policy);
        assert!(!format!("{events:?}").contains(&u32::MAX.to_string()), "an event names its thread");
        assert_eq!((overhead_ns(&free), overhead_ns(&outcome)), (0, 2 * 7_000), "{policy}");
        assert_eq!(outcome.end, free.end + Time(2 * 7_000), "{policy}");
        let told = |event: &&Event| matches!(event.kind, EventKind::Overhead { .. });
        let ticks = events.iter().filter(told).map(|event| event.time.ns() / 4_000_000).collect::<Vec<_>>();
        assert_eq!(ticks.len(), 2, "{policy}");
        if ["cfs", "eevdf"].contains(&policy) {
            assert_eq!(ticks[1], ticks[0] + 1, "{policy}: a waking task preempts");
        }
    }
}

#[test]
fn what_tasks_leave_is_freed_after_the_grace_period() {
    let costs = Costs { reclaim: Time(3_000), ..Costs::default() };
    let two = ENDS.replace("name = \"short\"", "name = \"short\"\ncount = 2");
    for policy in ["fcfs", "rr", "cfs", "eevdf", "ule"] {
        let (events, outcome) = run(&with(&workload(1, &two), costs), policy);
        let paid = |event: &Event| match event.kind {
            EventKind::Overhead { length, .. } => Some((event.time.ns() / 4_000_000, length.ns())),
            _ => None,
        };
        let paid: Vec<_> = events.iter().filter_map(paid).collect();
        assert_eq!((paid.iter().map(|paid| paid.1).sum::<u64>(), overhead_ns(&outcome)), (6_000, 6_000), "{policy}");
        assert!(paid.iter().all(|(tick, _)| *tick >= 2), "{policy}: a tick begins the period, the next one ends it");
    }
}

/// When CPUs got another task, and which.
fn switches(events: &[Event]) -> Vec<(u64, u32, Option<u32>)> {
    let switch = |event: &Event| match event.kind {
        EventKind::Switch { next, .. } => Some((event.time.ns(), event.cpu.0, next.map(|task| task.0))),
        _ => None,
    };
    events.iter().filter_map(switch).collect()
}

#[test]
fn a_cpu_chooses_at_the_end_of_an_interrupt() {
    let costs = Costs { timer: Time(1_000), wakeup: Time(2_000), switch: Time(4_000), ..Costs::default() };
    let tables = "[[task]]\nname = \"t\"\nonce = [{ sleep = \"1ms\" }, { compute = \"1ms\" }]\n";
    for policy in ["fcfs", "rr", "cfs", "eevdf", "ule"] {
        let (events, outcome) = run(&with(&workload(1, tables), costs), policy);
        // Its own begin is a wakeup and a switch, too.
        assert_eq!(
            switches(&events)[..3],
            [(2_000, 0, Some(0)), (6_000, 0, None), (1_009_000, 0, Some(0))],
            "{policy}"
        );
        assert_eq!(outcome.end, Time(2_013_000), "{policy}: after the interrupt it switches and computes");
    }
}

#[test]
fn a_cpu_that_has_stopped_its_tick_begins_it_again_before_a_task_runs() {
    let costs = Costs { idle_exit: Time(3_000), ..Costs::default() };
    for (hz, sleep, paid_ns) in [("hz = 250\n", "5ms", 3_000), ("hz = 250\n", "3ms", 0), ("", "5ms", 0)] {
        let steps = format!("{{ compute = \"1ms\" }}, {{ sleep = \"{sleep}\" }}, {{ compute = \"1ms\" }}");
        let tables = format!("{hz}[[task]]\nname = \"t\"\nonce = [{steps}]\n");
        for policy in ["fcfs", "rr", "cfs", "eevdf", "ule"] {
            let (_, outcome) = run(&with(&workload(1, &tables), costs), policy);
            assert_eq!(overhead_ns(&outcome), paid_ns, "{policy} {hz} {sleep}");
        }
    }
}

#[test]
fn another_cpu_hears_of_a_task_when_its_waker_has_done_the_work() {
    let costs = Costs { wakeup: Time(5_000), ..Costs::default() };
    let tables = "[[task]]\nname = \"waits\"\ncpus = \"1\"\nonce = [{ wait = \"s\" }, { compute = \"1ms\" }]\n\
                  [[task]]\nname = \"wakes\"\ncpus = \"0\"\nonce = [{ compute = \"1ms\" }, { post = \"s\" }, { compute = \"1ms\" }]\n";
    for policy in ["rr", "cfs", "eevdf", "ule"] {
        let (events, outcome) = run(&with(&workload(2, tables), costs), policy);
        // Each of the two is woken to begin with on its own CPU.
        assert!(switches(&events).contains(&(1_010_000, 1, Some(0))), "{policy}: {:?}", switches(&events));
        assert_eq!(outcome.end, Time(2_010_000), "{policy}: both at once from then on");
        assert_eq!(outcome.cpus.iter().map(|cpu| cpu.overhead.ns()).collect::<Vec<_>>(), [10_000, 5_000], "{policy}");
    }
}

#[test]
fn a_cpu_that_computes_hears_of_a_task_as_late_as_an_idle_one() {
    let costs = Costs { wakeup: Time(5_000), ..Costs::default() };
    let tables = "[[task]]\nname = \"waits\"\ncpus = \"1\"\nonce = [{ wait = \"s\" }, { compute = \"1ms\" }]\n\
                  [[task]]\nname = \"wakes\"\ncpus = \"0\"\nonce = [{ compute = \"30ms\" }, { post = \"s\" }, { compute = \"1ms\" }]\n\
                  [[task]]\nname = \"hog\"\ncpus = \"1\"\nonce = [{ compute = \"50ms\" }]\n";
    for tick in ["", "hz = 1000\n"] {
        let machine = with(&workload(2, &format!("{tick}{tables}")), costs);
        for policy in ["rr", "mlfq", "cfs", "eevdf", "ule", "windows", "linux-o1"] {
            let (events, _) = run(&machine, policy);
            let woken = events.iter().find_map(|event| match event.kind {
                EventKind::Wakeup { source: WakeSource::Semaphore, .. } => Some(event.time.ns()),
                _ => None,
            });
            let woken_ns = woken.expect("it is woken");
            let mut gets_it = switches(&events).into_iter().filter(|(at_ns, ..)| *at_ns >= woken_ns);
            let (at_ns, ..) = gets_it.find(|(_, cpu, next)| (*cpu, *next) == (1, Some(0))).expect("it runs");
            assert!(at_ns >= woken_ns + 5_000, "{policy}, {tick:?}: {at_ns} after {woken_ns}");
        }
    }
}

#[test]
fn a_task_that_is_woken_takes_a_cpu_from_another_one_at_a_cost() {
    let tables = "[[task]]\nname = \"hog\"\nonce = [{ compute = \"50ms\" }]\n\
                  [[task]]\nname = \"sleeper\"\nonce = [{ sleep = \"20ms\" }, { compute = \"1ms\" }]\n";
    let begins_and_pays = |policy, preempt_ns| {
        let (events, outcome) =
            run(&with(&workload(1, tables), Costs { preempt: Time(preempt_ns), ..Costs::default() }), policy);
        let begins = switches(&events).into_iter().find(|(at_ns, _, next)| *at_ns > 19_000_000 && *next == Some(1));
        (begins.expect("it runs").0, overhead_ns(&outcome))
    };
    for policy in ["cfs", "eevdf"] {
        let (begins_ns, nothing) = begins_and_pays(policy, 0);
        assert_eq!(nothing, 0, "{policy}");
        // The slice of the hog, which was alone, is taken when the other one comes to be, too: it gets a shorter one.
        assert_eq!(begins_and_pays(policy, 3_000), (begins_ns + 3_000, 6_000), "{policy}");
    }
    assert_eq!(begins_and_pays("rr", 3_000), begins_and_pays("rr", 0), "no task takes the CPU");
}

#[test]
fn a_busy_cpu_pays_for_being_asked_although_its_task_continues() {
    // A batch task takes no CPU from another, but the hog beside it is alone no more and gets a shorter slice.
    let tables = "[[task]]\nname = \"hog\"\nonce = [{ compute = \"50ms\" }]\n\
                  [[task]]\nname = \"sleeper\"\nclass = \"batch\"\nonce = [{ sleep = \"20ms\" }, { compute = \"1ms\" }]\n";
    let pays = |policy| {
        let costs = Costs { preempt: Time(3_000), ..Costs::default() };
        let (events, outcome) = run(&with(&workload(1, tables), costs), policy);
        let taken =
            events.iter().filter(|event| matches!(event.kind, EventKind::Switch { reason: Reason::Preempted, .. }));
        (taken.count(), overhead_ns(&outcome))
    };
    assert_eq!(pays("eevdf"), (0, 6_000));
    assert_eq!(pays("rr"), (0, 0));
}

/// A policy that has the CPU choose as soon as a real-time task has given it back looks at it after the switch.
#[test]
fn who_comes_back_after_a_real_time_task_has_had_the_cpu_for_the_switch() {
    let tables = "[[task]]\nname = \"hog\"\nonce = [{ compute = \"50ms\" }]\n\
                  [[task]]\nname = \"urgent\"\nclass = \"fifo:1\"\nonce = [{ sleep = \"2ms\" }, { sleep = \"500us\" }, { spawn = \"child\" }]\n\
                  [[task]]\nname = \"child\"\nspawned = true\nonce = [{ compute = \"1ms\" }]\n";
    let child_begins_ns = |switch_ns| {
        let costs = Costs { switch: Time(switch_ns), ..Costs::default() };
        let (events, _) = run(&with(&workload(1, tables), costs), "eevdf");
        switches(&events).into_iter().find(|(_, _, next)| *next == Some(2)).expect("it runs").0
    };
    // At 2 ms the request of the running one is renewed, to 2.7 ms; that of a new task at 2.5 ms is for 350 us. So the
    // running one has the earlier deadline; as soon as it is ahead of the average it is not eligible.
    assert!(child_begins_ns(0) > 2_600_000, "{}", child_begins_ns(0));
    assert_eq!(child_begins_ns(4_000), 2_500_000 + 5 * 4_000, "after five switches: the first to the other one");
}

/// The wakeups by tasks and the switches of a run in which a task posts for three that wait, in microseconds. A wakeup takes 10 us.
fn posted(policy: &str, one_by_one: bool, preempt: bool) -> Vec<(u64, &'static str)> {
    let tables = "[[task]]\nname = \"waiter\"\ncount = 3\nnice = -20\nonce = [{ wait = \"s\" }, { compute = \"1ms\" }]\n\
                  [[task]]\nname = \"giver\"\nstart = \"1ms\"\n\
                  once = [{ compute = \"1ms\" }, { post = \"s\", times = 3 }, { compute = \"1ms\" }]\n";
    let mut workload = with(&workload(1, tables), Costs { wakeup: Time(10_000), ..Costs::default() });
    workload.machine.mechanisms.wake_one_by_one = one_by_one;
    workload.machine.mechanisms.preempt_in_calls = preempt;
    let (events, outcome) = run(&workload, policy);
    assert_eq!(overhead_ns(&outcome), 7 * 10_000, "each creation and each wakeup is paid once");
    let seen = |event: &Event| match event.kind {
        EventKind::Wakeup { waker: Some(_), .. } => Some((event.time.ns() / 1000, "wakes")),
        EventKind::Switch { previous: Some(TaskId(3)), reason: Reason::Preempted, .. } => {
            Some((event.time.ns() / 1000, "is preempted"))
        }
        _ => None,
    };
    events.iter().filter_map(seen).collect()
}

/// It begins at 1 ms, after its own wakeup of 10 us, and posts a millisecond later.
#[test]
fn a_call_wakes_one_after_the_other() {
    for preempt in [false, true] {
        assert_eq!(posted("fcfs", true, preempt), [(2010, "wakes"), (2020, "wakes"), (2030, "wakes")]);
        assert_eq!(posted("fcfs", false, preempt), [(2010, "wakes"), (2010, "wakes"), (2010, "wakes")]);
    }
}

/// The first task that it wakes does its millisecond before the next is woken, where the kernel preempts within calls.
#[test]
fn a_call_is_preempted_between_two_wakeups_or_at_its_end() {
    let (wakes, preempted) = ("wakes", "is preempted");
    let at_end = [(2010, wakes), (2020, wakes), (2030, wakes), (2040, preempted)];
    let within = [(2010, wakes), (2020, preempted), (3020, wakes), (3030, preempted), (4030, wakes), (4040, preempted)];
    assert_eq!(posted("cfs", true, false), at_end);
    assert_eq!(posted("cfs", true, true), within);
    let at_once = [(2010, wakes), (2010, wakes), (2010, wakes), (2040, preempted)];
    assert_eq!(posted("cfs", false, true), at_once);
}

/// CPU time that each task had.
fn cpu_of_each_ns(events: &[Event], tasks: usize) -> Vec<u64> {
    let (mut had, mut since) = (vec![0; tasks], None);
    for event in events {
        let EventKind::Switch { next, .. } = event.kind else { continue };
        if let Some((TaskId(task), from)) = since.take() {
            had[task as usize] += event.time.ns() - from;
        }
        since = next.map(|task| (task, event.time.ns()));
    }
    had
}

#[test]
fn of_a_process_and_its_creator_the_first_to_continue_copies_what_both_write_to() {
    let workload = |policy_cpus| {
        let tables = "[[task]]\nname = \"parent\"\nonce = [{ compute = \"3ms\" }, { spawn = \"child\" }, { compute = \"1ms\" }]\n\
                      [[task]]\nname = \"child\"\nkind = \"process\"\nspawned = true\nonce = [{ compute = \"1ms\" }]\n";
        self::workload(policy_cpus, tables)
    };
    let costs = Costs {
        process_fork: Time(1000),
        process_return: Time(30_000),
        process_copy: Time(40_000),
        process_start_first: Time(50_000),
        ..Costs::default()
    };
    // The child's request is shorter under eevdf, so that it preempts its parent when it comes. Under rr it waits.
    let of = |policy, cpus| cpu_of_each_ns(&run(&with(&workload(cpus), costs), policy).0, 2);
    assert_eq!(of("rr", 1), [4_071_000, 1_000_000]);
    assert_eq!(of("eevdf", 1), [4_021_000, 1_050_000]);
}

#[test]
fn only_one_thread_of_a_process_forks_at_a_time() {
    let tables = "[[task]]\nname = \"parent\"\ncount = 3\nonce = [{ spawn = \"child\" }, { compute = \"1ms\" }]\n\
                  [[task]]\nname = \"child\"\nkind = \"process\"\nspawned = true\nonce = [{ compute = \"1ms\" }]\n";
    let costs = Costs { process_fork: Time::from_ms(10), process_return: Time::from_ms(1), ..Costs::default() };
    let born_ms = |tables: &str, one_at_a_time: bool| {
        let mut workload = with(&workload(4, tables), costs);
        workload.machine.mechanisms.one_fork_at_a_time = one_at_a_time;
        let (events, _) = run(&workload, "rr");
        births_ns(&events)[3..].iter().map(|ns| ns / 1_000_000).collect::<Vec<u64>>()
    };
    assert_eq!(born_ms(tables, true), [10, 21, 32]);
    assert_eq!(born_ms(tables, false), [10, 10, 10]);
    // Threads are created with no such lock.
    let threads = tables.replace("kind = \"process\"\n", "");
    assert_eq!(born_ms(&threads, true), [0, 0, 0]);
}

/// How often each of two CPUs changes between three tasks that always compute, in 3 s. Slices of 100 ms end at ticks.
fn changes_of_two_cpus(policy: &str, together: bool, switch: Time) -> [usize; 2] {
    let tables = "tick = \"4ms\"\n[[task]]\nname = \"hog\"\ncount = 3\nonce = [{ compute = \"10s\" }]\n\
                  [run]\nduration = \"3s\"\n";
    let mut workload = with(&workload(2, tables), Costs { switch, ..Costs::default() });
    workload.machine.mechanisms.search_together = together;
    let (events, _) = run(&workload, policy);
    let changes = |event: &&Event| matches!(event.kind, EventKind::Switch { reason: Reason::SliceEnd, .. });
    [0, 1].map(|cpu| events.iter().filter(changes).filter(|event| event.cpu.0 == cpu).count())
}

/// One takes the task that waits, the other finds none and keeps its own. One after the other, the second finds what the first put back.
#[test]
fn cpus_whose_slices_end_at_one_tick_search_before_they_put_back() {
    let (us, together) = (Time::from_us(1), true);
    assert_eq!(changes_of_two_cpus("rr", together, us), [29, 0]);
    assert_eq!(changes_of_two_cpus("rr", !together, us), [29, 29]);
    assert_eq!(changes_of_two_cpus("rr", together, Time::ZERO), [29, 29]);
}

/// One of two CPUs is busy for three seconds that begin at a quarter of one. Its keeper of statistics waits for the CPU as any task of
/// the policy's does.
#[test]
fn a_busy_cpu_keeps_statistics_once_a_second() {
    let tables = "tick = \"4ms\"\ntick_offset = \"1ms\"\n[[task]]\nname = \"hog\"\ncpus = [0]\nonce = [{ compute = \"10s\" }]\n\
                  [run]\nduration = \"3s\"\n";
    for policy in ["fcfs", "rr", "cfs", "eevdf", "ule"] {
        let (events, outcome) =
            run(&with(&workload(2, tables), Costs { statistics: Time(50_000), ..Costs::default() }), policy);
        let starves = policy == "fcfs";
        assert_eq!(overhead_ns(&outcome), if starves { 0 } else { 3 * 50_000 }, "{policy}");
        let away = switches(&events).iter().filter(|(_, cpu, next)| *cpu == 0 && next.is_none()).count();
        assert_eq!(away, if starves { 0 } else { 3 }, "{policy}");
        let (_, outcome) = run(&with(&workload(2, tables), Costs { fork: Time(1), ..Costs::default() }), policy);
        assert_eq!(overhead_ns(&outcome), 0, "{policy}");
    }
}

/// How often two tasks that always compute take turns in a second.
fn turns_a_second(policy: &str, machine: &str) -> usize {
    let tables = format!(
        "{machine}\n[[task]]\nname = \"hog\"\ncount = 2\nonce = [{{ compute = \"10s\" }}]\n[run]\nduration = \"1s\"\n"
    );
    switches(&run(&workload(1, &tables), policy).0).len()
}

/// The fair schedulers learn how often the machine ticks; without ticks they have those of Debian's kernels.
#[test]
fn fair_schedulers_have_the_machines_ticks() {
    let of = |machine| turns_a_second("eevdf", machine);
    assert_eq!([of("hz = 1000"), of("hz = 250"), of("hz = 100"), of("")], [1000, 250, 100, 250]);
    assert!(turns_a_second("cfs", "hz = 1000") > turns_a_second("cfs", "hz = 100"));
}
