//! What each parameter of `ule` changes.

use super::observe::*;
use schedlab_model::time::Time;

const HOG: &str = "[[task]]\nname = \"hog\"\nloop = [{ compute = \"60s\" }]\n";

/// The length of the first whole slice of two hogs on a CPU after 100 ms, in microseconds.
fn slice_of(hogs: u32, settings: Settings) -> u64 {
    let tasks = format!("[[task]]\nname = \"hog\"\ncount = {hogs}\nloop = [{{ compute = \"60s\" }}]\n");
    let events = run("cpus = 1", 1500, &tasks, settings);
    let turn = turns(&events, 0).into_iter().find(|turn| turn.0 > 100_000).expect("a turn");
    turn.1 - turn.0
}

#[test]
fn slices_are_counted_in_ticks() {
    let stat = |ticks: u64| (ticks * STAT_NS).div_ceil(1000);
    assert_eq!([2, 3, 7].map(|hogs| slice_of(hogs, &[PAPER])), [40_000, 20_000, 4_000]);
    for (hogs, ticks) in [(2, 12), (3, 6), (7, 2)] {
        assert!(slice_of(hogs, &[FREEBSD]).abs_diff(stat(ticks)) <= 1, "{hogs}");
    }
    assert_eq!(slice_of(2, &[PAPER, ("hz", 1000)]), 10_000);
    assert_eq!(slice_of(2, &[PAPER, ("stathz", 100)]), 100_000);
    assert_eq!(slice_of(2, &[PAPER, ("slice", 5)]), 20_000);
    assert_eq!(slice_of(7, &[PAPER, ("slice_min", 3)]), 12_000);
    assert!(slice_of(7, &[FREEBSD, ("slice", 60)]).abs_diff(stat(10)) <= 1);
}

#[test]
fn ticks_may_come_at_another_time_on_each_cpu() {
    let tasks = "[[task]]\nname = \"hog\"\ncount = 2\ncpus = [1]\nloop = [{ compute = \"60s\" }]\n";
    let first = |settings: Settings| switches(&run("cpus = 2", 100, tasks, settings))[0].0;
    assert_eq!(first(&[PAPER]), Time::from_ms(40));
    // Half a tick later: ten ticks come sooner by as much.
    assert_eq!(first(&[PAPER, ("stagger", 1)]), Time::from_ms(38));
}

/// The sleeper wakes in each of the hog's slices, waits for its end at a tick, and works for 1 ms. So the hog begins 1 ms after a
/// tick and loses the CPU at the tenth from there, whenever the machine ticks.
#[test]
fn the_ticks_of_the_port_are_those_of_the_machine() {
    let tasks =
        HOG.to_string() + "[[task]]\nname = \"sleeper\"\nloop = [{ compute = \"1ms\" }, { sleep = \"10ms\" }]\n";
    for offset in 0..16 {
        let machine = format!("cpus = 1\ntick = \"4ms\"\ntick_offset = \"{}us\"", 250 * offset);
        let events = run(&machine, 2000, &tasks, &[PAPER]);
        let all = turns(&events, 0);
        // The last one is cut by the end of the run.
        let lengths: Vec<u64> = all[2..all.len() - 1].iter().map(|turn| turn.1 - turn.0).collect();
        assert!(lengths.len() > 40 && lengths.iter().all(|length| *length == 39_000), "{offset}: {lengths:?}");
    }
}

/// Sleep and CPU use are counted by the same clock as slices: the use that two tasks with short turns are found to have is what
/// they had of the CPU, whenever the machine ticks.
#[test]
fn cpu_use_is_counted_by_the_ticks_of_the_machine() {
    let bursts = "[[task]]\nname = \"burst\"\ncount = 2\n\
                  loop = [{ compute = \"uniform(600us, 1800us)\" }, { sleep = \"uniform(300us, 500us)\" }]\n";
    for offset in 0..16 {
        let machine = format!("cpus = 1\ntick = \"4ms\"\ntick_offset = \"{}us\"", 250 * offset);
        let events = run(&machine, 20_000, &format!("{HOG}{bursts}"), &[PAPER]);
        for task in [1, 2] {
            let word = *words(&events, task).last().expect("a priority");
            let share = cpu_time(&events, task, 10_000, 20_000) as f64 / 1e7;
            // A level is a thirteenth of the CPU.
            let found = (word as f64 + 0.5 - 119.0) / 13.0;
            assert!(
                (found - share).abs() < 0.1,
                "offset {offset}: task {task} with {share} of the CPU has priority {word}"
            );
        }
    }
}

/// One task that runs for a tick of five, and so has a score of 12 or so: the words of its status.
fn fifth(settings: Settings) -> Vec<u64> {
    let task = "[[task]]\nname = \"t\"\nloop = [{ compute = \"4ms\" }, { sleep = \"16ms\" }]\n";
    let mut words = words(&run("cpus = 1", 4000, task, settings), 0);
    words.split_off(words.len().saturating_sub(4))
}

#[test]
fn the_limit_of_interactivity_may_be_set() {
    assert_eq!(fifth(&[PAPER]), [100, 119, 100]);
    let strict = fifth(&[PAPER, ("interact", 10)]);
    assert!(strict[strict.len() - 1] >= BATCH_PAPER, "{strict:?}");
}

#[test]
fn the_status_may_be_the_score() {
    assert!(fifth(&[PAPER, SCORES]).iter().all(|word| (11..=13).contains(word)), "{:?}", fifth(&[PAPER, SCORES]));
}

#[test]
fn a_task_without_a_creator_has_the_history_that_is_set() {
    let first = |settings: Settings| words(&run("cpus = 1", 10, HOG, settings), 0)[0];
    assert_eq!(first(&[FREEBSD]), 172);
    assert_eq!(first(&[FREEBSD, ("newborn_sleep", 4_000_000)]), 120);
    assert_eq!(first(&[FREEBSD, ("newborn_sleep", 4_000_000), ("newborn_run", 1_000_000)]), 132);
}

#[test]
fn a_new_task_need_not_inherit() {
    let tasks = "[[task]]\nname = \"p\"\nonce = [{ compute = \"2s\" }, { spawn = \"c\" }]\n\
                 [[task]]\nname = \"c\"\nspawned = true\nonce = [{ compute = \"1ms\" }]";
    let first = |inherit| words(&run("cpus = 1", 3000, tasks, &[PAPER, ("inherit", inherit)]), 1)[0];
    assert!(first(1) >= BATCH_PAPER);
    assert_eq!(first(0), 100);
}

#[test]
fn a_batch_task_that_wakes_may_go_first() {
    // Two hogs, and one that computes for a second and sleeps for 50 ms: batch, so it waits for its slot.
    let tasks = "[[task]]\nname = \"t\"\nonce = [{ compute = \"1s\" }, { sleep = \"50ms\" }, { compute = \"1ms\" }]\n\
                 [[task]]\nname = \"hog\"\ncount = 4\nloop = [{ compute = \"60s\" }]\n";
    let wait = |boost| {
        let events = run("cpus = 1", 9000, tasks, &[FREEBSD, ("static_boost", boost)]);
        let turns = turns(&events, 0);
        turns[turns.len() - 1].0 - turns[turns.len() - 2].1 - 50_000
    };
    assert!(wait(1) < wait(0), "{} {}", wait(1), wait(0));
}

#[test]
fn a_greater_threshold_lets_tasks_preempt() {
    let tasks = format!("{HOG}[[task]]\nname = \"t\"\nonce = [{{ sleep = \"501ms\" }}, {{ compute = \"1ms\" }}]\n");
    let at = |settings: Settings| turns(&run("cpus = 1", 700, &tasks, settings), 1)[1].0;
    // It sleeps from 40 ms to 541 ms; slices end at 520 and 560 ms.
    assert_eq!(at(&[PAPER]), 560_000);
    assert_eq!(at(&[PAPER, ("preempt_thresh", 100)]), 541_000);
    assert_eq!(at(&[PAPER, ("preempt_thresh", 0)]), 560_000);
}

/// A task sleeps for 5 ms on CPU 1, whose neighbour is busy; two other CPUs are idle. While its cache is warm it stays,
/// else it goes to the group with less to do.
#[test]
fn a_warm_cache_keeps_a_task_on_its_cpu() {
    let tasks = "[[task]]\nname = \"t\"\nstart_on = 1\nonce = [{ compute = \"1ms\" }, { sleep = \"5ms\" }, \
                 { compute = \"1ms\" }]\n\
                 [[task]]\nname = \"busy\"\ncpus = [0]\nloop = [{ compute = \"9s\" }]\n";
    let wakes_on = |affinity| {
        let settings = [FREEBSD, ("affinity", affinity)];
        let events = run("topology = \"1n2l2c1t\"", 100, tasks, &settings);
        events.iter().find_map(|event| woken_on(event, 0)).expect("it wakes")
    };
    // It has to be back within two ticks of 1 ms, or of 4 ms.
    assert!(wakes_on(1) >= 2);
    assert_eq!(wakes_on(4), 1);
}

#[test]
fn idle_cpus_may_be_forbidden_to_steal() {
    let tasks = "[[task]]\nname = \"s\"\ncount = 4\nstart_on = 0\nloop = [{ compute = \"60s\" }]\n";
    let at = |settings: Settings| loads(&run("cpus = 2", 100, tasks, settings), 2, Time::from_ms(100));
    assert_eq!(at(&[PAPER]), [3, 1]);
    assert_eq!(at(&[PAPER, ("steal_idle", 0)]), [4, 0]);
    assert_eq!(at(&[PAPER, ("steal_thresh", 5)]), [4, 0]);
    assert_eq!(at(&[FREEBSD]), [3, 1]);
}

#[test]
fn the_balancers_interval_may_be_set() {
    let tasks = "[[task]]\nname = \"s\"\ncount = 4\nstart_on = 0\nloop = [{ compute = \"60s\" }]\n";
    let first = |settings: Settings| moves(&run("cpus = 2", 3000, tasks, settings))[0].0;
    let rounds = [PAPER, ("steal_idle", 0)];
    let time = first(&rounds);
    assert!(Time::from_ms(256) <= time && time <= Time::from_ms(800), "{time}");
    let time = first(&[PAPER, ("steal_idle", 0), ("balance_interval", 10)]);
    assert!(Time::from_ms(20) <= time && time <= Time::from_ms(80), "{time}");
}

/// The chosen one of equal CPUs is where the generator says: the CPUs are visited from the last to the first, each
/// takes a number below 32 away.
#[test]
fn equal_cpus_are_chosen_by_the_random_numbers() {
    let chosen = |seed: u64| {
        let task = "[[task]]\nname = \"p\"\ncpus = [0]\nonce = [{ spawn = \"c\" }, { compute = \"9ms\" }]\n\
                    [[task]]\nname = \"c\"\nspawned = true\ncpus = [1, 2, 3]\nonce = [{ compute = \"9ms\" }]\n";
        let events = run("cpus = 4", 20, task, &[PAPER, ("seed", seed)]);
        let woken = |event: &schedlab_model::trace::Event| match event.kind {
            schedlab_model::trace::EventKind::Wakeup { task, target, .. } if task.0 == 1 => Some(target.0),
            _ => None,
        };
        events.iter().find_map(woken).expect("it wakes")
    };
    let expected = |seed: u32| {
        let mut x = seed;
        let mut draw = || {
            x = x.wrapping_mul(69069).wrapping_add(5);
            x >> 16
        };
        // The balancer drew its first interval.
        draw();
        let jitter: Vec<u32> = (0..4).map(|_| draw() % 32).collect();
        (1..4).rev().max_by_key(|cpu| (jitter[3 - *cpu as usize], *cpu)).expect("three")
    };
    let seeds = 0..12;
    assert_eq!(seeds.clone().map(chosen).collect::<Vec<_>>(), seeds.map(|s| expected(s as u32)).collect::<Vec<_>>());
}
