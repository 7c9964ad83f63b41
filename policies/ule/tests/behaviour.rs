//! What `ule` does: scores and priorities as time passes, which task runs before which, and what the study saw.

use super::observe::*;
use schedlab_model::time::Time;
use schedlab_model::trace::Reason;

const HOG: &str = "[[task]]\nname = \"hog\"\nloop = [{ compute = \"60s\" }]\n";

/// The tick at which a lone hog that slept for so long becomes a batch task.
fn turns_batch(slept: u64) -> u64 {
    let events = run("cpus = 1", 3000, HOG, &[FREEBSD, ("newborn_sleep", slept)]);
    let (_, time) = *statuses(&events, 0).iter().find(|(word, _)| *word >= BATCH_FREEBSD).expect("it becomes batch");
    assert_eq!(time.ns() % STAT_NS, 0, "not at a tick");
    time.ns() / STAT_NS
}

#[test]
fn v10_a_hog_becomes_batch_at_the_tick_that_makes_it_so() {
    assert_eq!([512_000, 2_560_000, 5_119_999].map(turns_batch), [39, 191, 267]);
}

#[test]
fn v09_children_late_in_a_storm_of_forks_are_batch() {
    let tasks = "[[task]]\nname = \"creator\"\nonce = [{ spawn = \"child\", count = 192 }]\n\
                 [[task]]\nname = \"child\"\nkind = \"process\"\nspawned = true\nonce = [{ compute = \"1ms\" }]";
    let events = run("cpus = 1", 1000, tasks, &[FREEBSD, ("newborn_sleep", 2_560_000)]);
    let first: Vec<u64> = (1..=192).map(|child| words(&events, child)[0]).collect();
    assert!(first[..191].iter().all(|word| *word < BATCH_FREEBSD));
    assert!(first[191] >= BATCH_FREEBSD);
    assert_eq!([0, 1, 9, 99].map(|child: usize| first[child] - 120), [0, 0, 1, 15]);
}

/// Threads of a process that is there already have all of their creator's history, and cost it nothing.
#[test]
fn v04_a_new_thread_has_its_creators_history() {
    let score = |kind: &str, mode| {
        let tasks = format!(
            "[[task]]\nname = \"creator\"\nonce = [{{ spawn = \"child\", count = 100 }}, {{ compute = \"9ms\" }}]\n\
             [[task]]\nname = \"child\"\nkind = \"{kind}\"\nspawned = true\nonce = [{{ sleep = \"1s\" }}]"
        );
        let past = [mode, SCORES, ("newborn_run", 500_000), ("newborn_sleep", 2_000_000)];
        let events = run("cpus = 1", 100, &tasks, &past);
        words(&events, 50)[0]
    };
    // 500000 and 2000000 are a score of 12; forty-nine ticks more are 22.
    assert_eq!([score("process", FREEBSD), score("thread", FREEBSD)], [22, 12]);
    assert_eq!(score("process", PAPER), score("thread", PAPER));
}

#[test]
fn v11_a_hog_recovers_in_one_sleep() {
    let score = |sleep_s: u64| {
        let tasks = format!("[[task]]\nname = \"hog\"\nonce = [{{ sleep = \"{sleep_s}s\" }}, {{ compute = \"1ms\" }}]");
        let past = [FREEBSD, SCORES, ("newborn_run", 5_000_000), ("newborn_sleep", 1)];
        *words(&run("cpus = 1", 7000, &tasks, &past), 0).last().expect("a score")
    };
    assert_eq!([1, 4, 5, 6].map(score), [50, 50, 48, 0]);
}

/// Work of exactly a tick, and a sleep: of 13 ms it leads to batch, of 15 ms to interactive, for good.
#[test]
fn v12_a_steady_cycle_settles() {
    let last = |sleep_ms: u64| {
        let task = format!(
            "[[task]]\nname = \"t\"\nloop = [{{ compute = \"{STAT_NS}ns\" }}, {{ sleep = \"{sleep_ms}ms\" }}]\n"
        );
        let settings = [FREEBSD, SCORES];
        let words = words(&run("cpus = 1", 40_000, &task, &settings), 0);
        words[words.len() - 10..].iter().copied().max().expect("ten words")
    };
    assert!(last(13) >= 30 && last(15) < 30, "{} {}", last(13), last(15));
}

/// The study's first experiment: a task that computes, next to an application whose threads mostly sleep and together
/// keep the CPU busy. The first gets nothing until the others end, for however long that is.
#[test]
fn an_interactive_application_starves_a_computing_task() {
    for mode in [PAPER, FREEBSD] {
        // What starts the threads had slept.
        let settings = [mode, ("newborn_sleep", 100_000)];
        let events = run_vector("fibo-and-sysbench", &settings);
        let fibo = |from_ms: u64, until_ms: u64| cpu_time(&events, 0, from_ms, until_ms);
        assert_eq!(fibo(1000, 4000), 3_000_000, "alone it has the CPU");
        // 80 * 125 * 4 ms of work: 40 s at least, in which fibo has less than 1 %.
        assert!(fibo(6000, 44_000) < 380_000, "{mode:?}: {}", fibo(6000, 44_000));
        assert!(fibo(48_000, 50_000) > 1_900_000, "{mode:?}: {}", fibo(48_000, 50_000));
    }
}

/// The study's second: equal threads of one application. A task that is created while the creator's score is low is interactive
/// and stays it; a task that is created later is batch and never runs. Without inheritance all run.
#[test]
fn threads_that_were_created_late_starve() {
    let ran = |inherit| {
        let events = run_vector("late-threads", &[PAPER, ("newborn_sleep", 200_000), ("inherit", inherit)]);
        (1..=40).map(|thread| cpu_time(&events, thread, 0, 20_000) > 0).collect::<Vec<bool>>()
    };
    // A thread costs the master five ticks of work and one for the fork: its 20th finds 19 * 6 * 1024 next to 200000.
    let early: Vec<bool> = (1..=40).map(|thread| (thread - 1) * 6 * 1024 * 50 / 200_000 < 30).collect();
    assert_eq!(early.iter().filter(|early| **early).count(), 20);
    assert_eq!(ran(1), early);
    assert_eq!(ran(0), [true; 40]);
}

/// A batch task wakes a hundred interactive ones on its CPU. In the port it continues until it sleeps; in FreeBSD it has to
/// go when its system call returns.
#[test]
fn a_waker_keeps_its_cpu_in_the_port() {
    let tasks = "[[task]]\nname = \"waker\"\nonce = [{ compute = \"40ms\" }, \
                 { repeat = 100, steps = [{ post = \"s\" }] }, { compute = \"3ms\" }, { sleep = \"1s\" }]\n\
                 [[task]]\nname = \"worker\"\ncount = 100\nonce = [{ wait = \"s\" }, { compute = \"100us\" }]\n";
    let left = |mode| {
        let events = run("cpus = 1", 200, tasks, &[mode]);
        let woken = Time::from_ms(40);
        switches(&events).into_iter().find(|(time, _)| *time >= woken).expect("it leaves")
    };
    assert_eq!(left(PAPER), (Time::from_ms(43), Reason::Blocked));
    assert_eq!(left(FREEBSD), (Time::from_ms(40), Reason::Preempted));
}

/// A task on another CPU wakes an interactive one where a batch task runs: FreeBSD interrupts that, the port waits for
/// the end of its slice.
#[test]
fn an_interactive_task_takes_a_remote_cpu_in_freebsd() {
    let tasks = "[[task]]\nname = \"sleeper\"\ncpus = [1]\nonce = [{ wait = \"s\" }, { compute = \"1ms\" }]\n\
                 [[task]]\nname = \"hog\"\ncpus = [1]\nloop = [{ compute = \"60s\" }]\n\
                 [[task]]\nname = \"waker\"\ncpus = [0]\nonce = [{ compute = \"501ms\" }, { post = \"s\" }]";
    let wait = |mode| turns(&run("cpus = 2", 700, tasks, &[mode]), 0)[1].0 - 501_000;
    assert_eq!(wait(FREEBSD), 0);
    // Slices of 40 ms from 0 on: the next ends at 520 ms.
    assert_eq!(wait(PAPER), 19_000);
}

/// Every batch task's slot comes, sooner if it has used less CPU time.
#[test]
fn batch_tasks_share() {
    let tasks = "[[task]]\nname = \"hog\"\ncount = 3\nloop = [{ compute = \"60s\" }]\n\
                 [[task]]\nname = \"nice\"\nnice = 10\nloop = [{ compute = \"60s\" }]\n";
    for mode in [PAPER, FREEBSD] {
        let events = run("cpus = 1", 40_000, tasks, &[mode]);
        let times: Vec<u64> = (0..4).map(|task| cpu_time(&events, task, 20_000, 40_000) / 1000).collect();
        let [least, most] = [times[..3].iter().min(), times[..3].iter().max()].map(|time| *time.expect("three"));
        assert!(most - least < 400, "{mode:?}: {times:?}");
        assert!(times[3] > 1000 && times[3] < least, "{mode:?}: {times:?}");
    }
}

/// Interactive tasks of FreeBSD run in the order of their scores, four of which share a list. In the port all of them
/// are in one.
#[test]
fn interactive_tasks_by_score() {
    // Both become ready while a third one runs, the one that ran more first.
    let tasks = "[[task]]\nname = \"runs\"\nonce = [{ sleep = \"1s\" }, { compute = \"20ms\" }]\n\
                 [[task]]\nname = \"worse\"\nnice = 5\nonce = [{ sleep = \"1001ms\" }, { compute = \"1ms\" }]\n\
                 [[task]]\nname = \"better\"\nonce = [{ sleep = \"1002ms\" }, { compute = \"1ms\" }]\n";
    let last_two = |mode| {
        let order = order(&run("cpus = 1", 1100, tasks, &[mode]));
        let mut order: Vec<u32> = order.into_iter().skip(3).filter(|task| *task > 0).collect();
        order.dedup();
        order
    };
    assert_eq!(last_two(PAPER), [1, 2]);
    // The better one takes the CPU from the worse one's place: from `runs`, too, if that is worse.
    assert_eq!(last_two(FREEBSD), [2, 1]);
}

/// Run time is a sample: a task that always sleeps at the ticks never ran.
#[test]
fn who_hides_from_ticks_is_never_charged() {
    let task = |compute: &str| {
        format!("[[task]]\nname = \"t\"\nloop = [{{ compute = \"{compute}\" }}, {{ sleep = \"1ms\" }}]\n")
    };
    // 3 ms of 4, from one tick almost to the next; and 3 ms of 4 across every tick.
    let hides = run("cpus = 1", 2000, &task("3ms"), &[PAPER]);
    assert_eq!(words(&hides, 0), [100]);
    let across = "[[task]]\nname = \"t\"\nonce = [{ sleep = \"2ms\" }, { repeat = 400, steps = [\
                  { compute = \"3ms\" }, { sleep = \"1ms\" }] }]\n";
    assert!(words(&run("cpus = 1", 1000, across, &[PAPER]), 0).iter().any(|word| *word >= BATCH_PAPER));
}

/// Whether a task that starts children of 500 ms, one after the other, has become a batch task by their work.
fn becomes_batch(kind: &str, mode: (&'static str, u64), batch: u64) -> bool {
    let tasks = format!(
        "[[task]]\nname = \"make\"\nloop = [{{ spawn = \"cc\" }}, {{ wait = \"done\" }}]\n\
         [[task]]\nname = \"cc\"\nkind = \"{kind}\"\nspawned = true\n\
         once = [{{ compute = \"500ms\" }}, {{ post = \"done\" }}]"
    );
    let events = run("cpus = 1", 10_000, &tasks, &[mode, ("newborn_sleep", 1_000_000)]);
    let words = words(&events, 0);
    assert!(words[0] < batch, "{kind} {mode:?}: {words:?}");
    words.iter().any(|word| *word >= batch)
}

/// A parent is charged for what its children ran. For a thread that is the first of its process in FreeBSD, and in the
/// port the process' parent, which is outside of the scenario here.
#[test]
fn a_parent_of_hogs_becomes_one() {
    for (mode, batch) in [(PAPER, BATCH_PAPER), (FREEBSD, BATCH_FREEBSD)] {
        assert!(becomes_batch("process", mode, batch), "{mode:?}");
        assert_eq!(becomes_batch("thread", mode, batch), mode == FREEBSD, "{mode:?}");
    }
}

/// A thread's parent is that of its process, also when the thread that created it has ended: a task that starts a process
/// is charged for its threads.
#[test]
fn a_parent_is_charged_for_the_threads_of_its_children() {
    let tasks = "[[task]]\nname = \"shell\"\nloop = [{ spawn = \"make\" }, { wait = \"done\" }]\n\
                 [[task]]\nname = \"make\"\nkind = \"process\"\nspawned = true\nonce = [{ spawn = \"cc\" }]\n\
                 [[task]]\nname = \"cc\"\nspawned = true\nonce = [{ compute = \"500ms\" }, { post = \"done\" }]";
    let events = run("cpus = 1", 10_000, tasks, &[PAPER, ("newborn_sleep", 1_000_000)]);
    assert!(words(&events, 0).iter().any(|word| *word >= BATCH_PAPER));
}

/// A child outlives its parent, and another task comes that may lie where the parent lay: it is not charged.
#[test]
fn who_comes_after_a_parent_is_not_charged_for_its_children() {
    let tasks = "[[task]]\nname = \"parent\"\nonce = [{ spawn = \"child\" }, { compute = \"1ms\" }]\n\
                 [[task]]\nname = \"child\"\nkind = \"process\"\nspawned = true\nonce = [{ compute = \"2s\" }]\n\
                 [[task]]\nname = \"other\"\nstart = \"500ms\"\n\
                 loop = [{ sleep = \"20ms\" }, { compute = \"1ms\" }]";
    let events = run("cpus = 1", 4000, tasks, &[PAPER]);
    assert_eq!(words(&events, 2), [100]);
}

/// A task of SCHED_IDLE has what no other task wants.
#[test]
fn the_idle_class_waits_for_everybody() {
    let tasks = "[[task]]\nname = \"idle\"\nclass = \"idle\"\nloop = [{ compute = \"60s\" }]\n\
                 [[task]]\nname = \"hog\"\nonce = [{ sleep = \"100ms\" }, { compute = \"500ms\" }]";
    for (mode, wakes) in [(PAPER, 100_000), (FREEBSD, 100_000)] {
        let events = run("cpus = 1", 1000, tasks, &[mode]);
        let hog = turns(&events, 1);
        // A task that is not idle takes the CPU at once, and keeps it.
        assert_eq!(hog[hog.len() - 1], (wakes, wakes + 500_000), "{mode:?}");
        assert_eq!(cpu_time(&events, 0, 0, 1000), 500_000);
    }
}

/// A yield leads behind the others of the list, and does not begin a new slice.
#[test]
fn a_yield_lets_others_go_first() {
    let tasks = "[[task]]\nname = \"t\"\nonce = [{ compute = \"10ms\" }, { yield = true }, { compute = \"100ms\" }]\n\
                 [[task]]\nname = \"hog\"\nonce = [{ compute = \"200ms\" }]";
    for past in [0, 100_000] {
        let events = run("cpus = 1", 400, tasks, &[PAPER, ("newborn_sleep", past)]);
        assert_eq!(turns(&events, 0)[0], (0, 10_000), "{past}");
        // The other has ten ticks, from 12 to 48 ms. Two of its own ten were used.
        assert_eq!(turns(&events, 0)[1], (48_000, 80_000), "{past}");
    }
}
