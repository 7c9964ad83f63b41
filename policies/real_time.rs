//! What policies do when a task of a real-time class, which they do not see, takes a CPU from one of theirs; and where the
//! kernel puts real-time tasks, and what it leaves to others, which is the same under every policy.

use super::observe::{self, Settings};
use schedlab_model::ids::CpuId;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind};

const POLICIES: [&str; 7] = ["mlfq", "linux-o1", "windows", "ule", "cfs", "alb", "eevdf"];

/// The real-time task runs in the last two milliseconds of each tenth of a second, and in the midst of that a task
/// wakes that goes before the interrupted one.
const TASKS: &str = "[[task]]\nname = \"hog\"\nonce = [{ compute = \"100s\" }]\n\
     [[task]]\nname = \"audio\"\nclass = \"fifo:50\"\nstart = \"98ms\"\nloop = [{ compute = \"2ms\" }, { sleep = \"98ms\" }]\n\
     [[task]]\nname = \"shell\"\nnice = -10\nstart = \"99ms\"\nloop = [{ compute = \"1ms\" }, { sleep = \"98ms\" }]\n";

/// A kernel gives the CPU back to the interrupted task without a word to the policy.
#[test]
fn who_wakes_during_an_interruption_runs_after_it() {
    for policy in POLICIES {
        let events = observe::run(policy, &observe::workload("cpus = 1", "2s", TASKS), &[]);
        let waits = observe::wakeup_waits(&events, 2);
        assert!(waits.len() > 15, "{policy}: {waits:?}");
        // As a new task it may wait longer. Then each round begins a millisecond earlier, until it is in the interruption.
        let drift = (waits[0] / 1_000) as usize;
        assert!(waits[1 + drift..].len() > 10, "{policy}: {waits:?}");
        assert!(waits[1 + drift..].iter().all(|wait| *wait == 1_000), "{policy}: {waits:?}");
    }
}

/// A task that is interrupted again and again comes to no harm by it, whatever it was when it got the CPU and has become since.
#[test]
fn nobody_starves_who_is_interrupted() {
    let tasks = "[[task]]\nname = \"hog\"\ncount = 4\nonce = [{ compute = \"100s\" }]\n[[task]]\nname = \"audio\"\n\
                 class = \"fifo:50\"\nloop = [{ compute = \"100us\" }, { sleep = \"1300us\" }]\n";
    for policy in POLICIES {
        let events = observe::run(policy, &observe::workload("cpus = 1", "10s", tasks), &[]);
        let hogs = observe::cpu_time(&events, 4);
        // A fourth of what is left is 2321 ms; the longest slices are above 100 ms.
        assert!(hogs.iter().all(|us| *us > 2_000_000), "{policy}: {hogs:?}");
    }
}

/// Policies by the Linux with the real-time class above them: throttling up to 6.11, servers since then.
const RELEASES: [(&str, Settings); 7] = [
    ("cfs", &[]),
    ("alb", &[]),
    ("eevdf", &[("version", 0)]),
    ("eevdf", &[("version", 2)]),
    ("fcfs", &[]),
    ("linux-o1", &[]),
    ("ule", &[]),
];

/// Tasks that never sleep, of a class.
fn hogs(name: &str, class: &str, count: u32) -> String {
    format!("[[task]]\nname = \"{name}\"\nclass = \"{class}\"\ncount = {count}\nonce = [{{ compute = \"100s\" }}]\n")
}

/// The task on each CPU at an instant.
fn running(events: &[Event], cpus: usize, at: Time) -> Vec<Option<u32>> {
    let mut running = vec![None; cpus];
    for event in events.iter().take_while(|event| event.time <= at) {
        if let EventKind::Switch { next, .. } = event.kind {
            running[event.cpu.index()] = next.map(|task| task.0);
        }
    }
    running
}

/// 50 ms of each second, at its end: in kernels that throttle as in kernels with a server for tasks that starve.
#[test]
fn one_that_never_sleeps_leaves_a_twentieth_to_others() {
    let tasks = hogs("hog", "fifo:99", 1) + &hogs("other", "other", 2);
    for (policy, settings) in RELEASES {
        let events = observe::run(policy, &observe::workload("cpus = 1", "5s", &tasks), settings);
        let turns = observe::turns_us(&events, 0);
        let us = 1_000_000;
        let expected: Vec<(u64, u64)> = (0..5).map(|s| (s * us, s * us + 950_000)).collect();
        let merged = turns.iter().fold(Vec::<(u64, u64)>::new(), |mut all, turn| {
            match all.last_mut() {
                Some(last) if last.1 == turn.0 => last.1 = turn.1,
                _ => all.push(*turn),
            }
            all
        });
        assert_eq!(merged, expected, "{policy} {settings:?}");
    }
}

/// With ticks, what is used up is seen at one.
#[test]
fn with_ticks_others_get_a_little_more_or_less() {
    let tasks = hogs("hog", "rr:1", 2) + &hogs("other", "other", 1);
    for (policy, settings) in RELEASES {
        let machine = "cpus = 1\ntick = \"4ms\"\ntick_offset = \"2ms\"";
        let events = observe::run(policy, &observe::workload(machine, "20s", &tasks), settings);
        let time = observe::cpu_time(&events, 3);
        assert!((700_000..=1_060_000).contains(&time[2]), "{policy} {settings:?}: {time:?}");
        // Turns of 100 ms, of which the limit of the class cuts some short.
        assert!(time[0].abs_diff(time[1]) <= 110_000, "{policy} {settings:?}: {time:?}");
    }
}

/// One on each CPU, from the first instant on, whatever the policy.
#[test]
fn those_that_are_born_together_spread() {
    let tasks = hogs("hog", "fifo:50", 3);
    for (policy, settings) in RELEASES {
        let events = observe::run(policy, &observe::workload("cpus = 4", "500ms", &tasks), settings);
        for at in [Time::ZERO, Time::from_ms(400)] {
            assert_eq!(running(&events, 4, at), [Some(0), Some(1), Some(2), None], "{policy} {settings:?}");
        }
    }
}

/// More real-time tasks than CPUs: the highest priorities run, on every CPU, and the others where these leave room.
#[test]
fn the_highest_priorities_run() {
    let tasks = hogs("low", "fifo:10", 1)
        + &hogs("middle", "fifo:20", 2)
        + "[[task]]\nname = \"high\"\nclass = \"fifo:30\"\nloop = [{ sleep = \"20ms\" }, { compute = \"10ms\" }]\n";
    let events = observe::run("rr", &observe::workload("cpus = 2", "900ms", &tasks), &[]);
    // The low one never. A task that is driven away on one CPU is not pushed to the other, whose task has its priority.
    for at in (0..900).step_by(7) {
        let mut running = running(&events, 2, Time::from_ms(at));
        running.sort();
        match at % 30 {
            0..20 => assert_eq!(running, [Some(1), Some(2)], "{at}"),
            _ => assert!(running[1] == Some(3) && matches!(running[0], Some(1 | 2)), "{at}: {running:?}"),
        }
    }
}

/// Where a task may run binds; one that may run on one CPU only drives away a task of its priority that can go elsewhere.
#[test]
fn allowed_cpus_bind_and_make_room() {
    let pinned = "[[task]]\nname = \"pinned\"\nclass = \"fifo:50\"\ncpus = [0]\nstart = \"10ms\"\nonce = [{ compute = \"5ms\" }]\n";
    let tasks = hogs("free", "fifo:50", 1) + pinned;
    let events = observe::run("rr", &observe::workload("cpus = 2", "100ms", &tasks), &[]);
    assert_eq!(running(&events, 2, Time::from_ms(5)), [Some(0), None]);
    assert_eq!(running(&events, 2, Time::from_ms(12)), [Some(1), Some(0)]);
    assert_eq!(running(&events, 2, Time::from_ms(50)), [None, Some(0)]);
    // It cannot make room where it may not go.
    let stuck = hogs("stuck", "fifo:50", 1).replace("count", "cpus = [0]\ncount") + pinned;
    let events = observe::run("rr", &observe::workload("cpus = 2", "100ms", &stuck), &[]);
    assert_eq!(running(&events, 2, Time::from_ms(50)), [Some(0), None]);
}

/// The nearest of equally good CPUs: of the core, of the cache, of the node.
#[test]
fn who_has_to_leave_stays_near() {
    let busy =
        "[[task]]\nname = \"busy\"\nclass = \"fifo:60\"\ncpus = [4]\nstart = \"3ms\"\nonce = [{ compute = \"1s\" }]\n";
    let waking = "[[task]]\nname = \"waking\"\nclass = \"fifo:50\"\ncpus = \"CPUS\"\nstart_on = 4\n\
                  loop = [{ sleep = \"5ms\" }, { compute = \"1ms\" }]\n";
    // Of the last ones, which are equally far, that after CPU 0, from which the kernel counts at first.
    for (cpus, expected) in [("0-7", 5), ("0-4,6-7", 6), ("0-4", 1)] {
        let tasks = waking.replace("CPUS", cpus) + busy;
        let events = observe::run("rr", &observe::workload("topology = \"1n2l2c2t\"", "30ms", &tasks), &[]);
        let woken = events.iter().filter_map(|event| match event.kind {
            EventKind::Wakeup { task, target, .. } if task.0 == 0 && event.time == Time::from_ms(5) => Some(target),
            _ => None,
        });
        assert_eq!(woken.take(1).collect::<Vec<_>>(), [CpuId(expected)], "{cpus}");
    }
}

/// In Linux 4.9 a CPU that has used up its part borrows of the others'.
#[test]
fn old_kernels_borrow() {
    let tasks = hogs("hog", "fifo:99", 1) + &hogs("other", "other", 1).replace("count", "cpus = [0]\ncount");
    let other = |version: u64| {
        let settings = [("version", version)];
        observe::cpu_time(&observe::run("cfs", &observe::workload("cpus = 2", "5s", &tasks), &settings), 2)[1]
    };
    // The fifth turn ends with the run.
    assert_eq!((other(0), other(1)), (200_000, 0));
}
