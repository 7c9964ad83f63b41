//! What `alb` does on a machine, as its rules say. Vectors whose situation can be brought about are here again.

use super::observe::{PLAIN, cpu_time, hogs, moves, penalties, places, run_tasks, run_under, spread, wakeups};
use schedlab_model::time::Time;

const TWO: &str = "cpus = 2";
const FOUR: &str = "cpus = 4";
const SPREAD: (&str, u64) = ("spread_idle", 1);

fn sorted(mut spread: Vec<usize>) -> Vec<usize> {
    spread.sort();
    spread
}

#[test]
fn a_heavy_task_is_alone_and_stays_so() {
    let events = run_tasks(TWO, 5000, &(hogs("heavy", 1, -5, 0) + &hogs("light", 4, 0, 0)), &[PLAIN]);
    let end = places(&events, 2, Time::from_ms(4999));
    assert!(end.contains(&vec![0]), "{end:?}");
    assert!(moves(&events).iter().all(|(_, at, _)| *at <= 200_000), "{:?}", moves(&events));
}

/// The average method: the same tasks are divided by their number, and the heavy one has company.
#[test]
fn by_number_a_heavy_task_is_one_of_five() {
    let tasks = hogs("heavy", 1, -5, 0) + &hogs("light", 4, 0, 0);
    let events = run_tasks(TWO, 5000, &tasks, &[PLAIN, ("weights", 2)]);
    assert_eq!(sorted(spread(&events, 2, Time::from_ms(4999))), [2, 3]);
    assert!(moves(&events).iter().all(|(_, at, _)| *at <= 200_000), "{:?}", moves(&events));
}

#[test]
fn v06_seven_hogs_are_four_and_three_and_stay_so() {
    for settings in [&[PLAIN][..], &[]] {
        let events = run_tasks(TWO, 5000, &hogs("hog", 7, 0, 0), settings);
        assert_eq!(sorted(spread(&events, 2, Time::from_ms(4999))), [3, 4]);
        assert_eq!(moves(&events).len(), 3, "{settings:?}");
    }
}

#[test]
fn v08_free_tasks_leave_a_cpu_to_those_that_must_stay() {
    let pinned = "[[task]]\nname = \"pinned\"\ncount = 2\ncpus = [0]\nloop = [{ compute = \"1000s\" }]\n";
    // One of the free ones may run at the first look; it is moved at the second.
    let events = run_tasks(TWO, 1000, &(pinned.to_owned() + &hogs("free", 2, 0, 0)), &[PLAIN]);
    assert_eq!(places(&events, 2, Time::from_ms(999)), [[0, 1], [2, 3]]);
}

#[test]
fn v09_and_v10_cpus_stay_empty_unless_the_parameter_says_otherwise() {
    let tasks = hogs("heavy", 1, -20, 0) + &hogs("light", 19, 0, 0);
    let end = |settings: &[_]| sorted(spread(&run_tasks(FOUR, 1000, &tasks, settings), 4, Time::from_ms(999)));
    assert_eq!(end(&[PLAIN]), [0, 0, 1, 19]);
    assert_eq!(end(&[PLAIN, SPREAD]), [1, 1, 1, 17]);
}

#[test]
fn v11_two_tasks_of_one_cpu_part() {
    let events = run_tasks(FOUR, 1000, &hogs("hog", 2, 0, 0), &[PLAIN]);
    assert_eq!(moves(&events).len(), 1);
    assert_eq!(sorted(spread(&events, 4, Time::from_ms(999))), [0, 0, 1, 1]);
}

#[test]
fn v13_two_and_two_stay() {
    let events = run_tasks(TWO, 2000, &(hogs("one", 2, 0, 0) + &hogs("two", 2, 0, 1)), &[]);
    assert_eq!(moves(&events), []);
}

#[test]
fn a_waking_task_goes_where_the_weight_is_least_and_stays_where_it_is_no_less() {
    let sleeper = "[[task]]\nname = \"sleeper\"\nstart_on = 0\nloop = [{ compute = \"1ms\" }, { sleep = \"19ms\" }]\n";
    // CPU 0 has 1024, CPU 1 has 655.4 or 1024 or 1280.
    for (nice, cpu) in [(2, 1), (0, 0), (-1, 0)] {
        let tasks = sleeper.to_owned() + &hogs("zero", 1, 0, 0) + &hogs("one", 1, nice, 1);
        let woken = wakeups(&run_tasks(TWO, 200, &tasks, &[PLAIN]), 0);
        assert!(woken.len() > 3 && woken.iter().all(|to| *to == cpu), "{nice}: {woken:?}");
    }
}

#[test]
fn a_new_task_goes_where_the_weight_is_least() {
    let tasks = "[[task]]\nname = \"parent\"\nonce = [{ spawn = \"child\", count = 3 }, { compute = \"100ms\" }]\n\
                 [[task]]\nname = \"child\"\nspawned = true\nonce = [{ compute = \"100ms\" }]\n";
    assert_eq!(spread(&run_tasks(FOUR, 200, tasks, &[]), 4, Time::from_ms(50)), [1; 4]);
}

#[test]
fn tasks_are_divided_when_a_cpu_runs_out_of_them() {
    let tasks =
        "[[task]]\nname = \"short\"\ncpus = [1]\nonce = [{ compute = \"20ms\" }]\n".to_owned() + &hogs("long", 3, 0, 0);
    let first = |settings: &[_]| moves(&run_tasks(TWO, 500, &tasks, settings))[0].1;
    assert_eq!(first(&[PLAIN]), 20_000);
    assert_eq!(first(&[PLAIN, ("at_idle", 0)]), 100_000);
}

#[test]
fn who_may_not_go_everywhere_is_left_and_counts() {
    // Three that may only be on two of three CPUs: all begin on CPU 0.
    let bound =
        "[[task]]\nname = \"bound\"\ncount = 3\ncpus = [0, 1]\nstart_on = 0\nloop = [{ compute = \"1000s\" }]\n";
    let events = run_tasks("cpus = 3", 1000, &(bound.to_owned() + &hogs("free", 3, 0, 0)), &[PLAIN]);
    let end = places(&events, 3, Time::from_ms(999));
    assert_eq!(end[0], [0, 1, 2]);
    assert_eq!(sorted(end.iter().map(Vec::len).collect()), [1, 2, 3]);
}

/// Two hogs on one CPU have first slices of 3 ms, at 0 and at 4 ms.
#[test]
fn who_uses_up_its_first_slice_is_penalised() {
    let events = run_tasks("cpus = 1", 100, &hogs("hog", 2, 0, 0), &[]);
    assert_eq!((penalties(&events, 1), penalties(&events, 0)), (vec![(5, 3_000)], vec![(5, 7_000)]));
}

const CHANGING: &str = "[[task]]\nname = \"changing\"\nonce = [{ sleep = \"1ms\" }, { compute = \"20ms\" }, \
    { sleep = \"1ms\" }, { compute = \"6ms\" }, { sleep = \"1ms\" }, { compute = \"5ms\" }, { sleep = \"1ms\" }, \
    { compute = \"5ms\" }, { sleep = \"1ms\" }, { compute = \"6ms\" }]\n";

/// The first slice is 6 ms. It is used up three times and twice later, the last time to the nanosecond.
#[test]
fn who_sleeps_before_its_slice_is_used_loses_its_penalty() {
    let once = penalties(&run_tasks("cpus = 1", 100, CHANGING, &[]), 0);
    assert_eq!(once, [(5, 7_000), (0, 34_000), (5, 47_000)]);
    let each = penalties(&run_tasks("cpus = 1", 100, CHANGING, &[("penalise", 1)]), 0);
    assert_eq!(each, [(1, 7_000), (2, 13_000), (3, 19_000), (4, 28_000), (0, 34_000), (1, 47_000)]);
    assert_eq!(penalties(&run_tasks("cpus = 1", 100, CHANGING, &[PLAIN]), 0), []);
}

#[test]
fn a_penalty_ends_at_nice_19_and_spares_the_idle_class() {
    // Both hogs end at nice 19 on one CPU: they share it, although one began at 15.
    let tasks = hogs("fifteen", 1, 15, 0) + &hogs("nineteen", 1, 19, 0);
    let times = cpu_time(&run_tasks("cpus = 1", 20_000, &tasks, &[]), 2);
    let share = times[0] as f64 / (times[0] + times[1]) as f64;
    assert!((share - 0.5).abs() < 0.01, "{share}");
    let idle = "[[task]]\nname = \"idle\"\nclass = \"idle\"\nloop = [{ compute = \"1000s\" }]\n";
    assert_eq!(penalties(&run_tasks("cpus = 1", 1000, idle, &[]), 0), []);
}

/// With status=balancing the status of the running task is how often the balancer was called: here each 100 ms. CFS on busy CPUs
/// looks each 32 times two milliseconds for each CPU at most.
#[test]
fn calls_of_the_balancer_are_counted() {
    let calls = |policy: &str, settings: &[_]| {
        let events = run_under(policy, TWO, 5000, &hogs("hog", 7, 0, 0), settings);
        let words: Vec<u64> = (0..7).flat_map(|task| penalties(&events, task)).map(|(word, _)| word).collect();
        words.into_iter().max().unwrap_or(0)
    };
    let balancing = ("status", 1);
    let by_time = calls("alb", &[PLAIN, balancing]);
    assert!((45..=60).contains(&by_time), "{by_time}");
    assert!(calls("alb", &[PLAIN, balancing, ("period", 0)]) <= by_time - 45, "those of CPUs that idle");
    assert!(calls("cfs", &[balancing]) > 1);
    let silent = run_under("cfs", TWO, 100, &hogs("hog", 2, 0, 0), &[]);
    assert!(penalties(&silent, 0).is_empty(), "without being asked it says nothing");
}
