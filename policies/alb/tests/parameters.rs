//! What each parameter of `alb` changes, where `behaviour` and `vectors` do not show it.

use super::observe::{MS, PLAIN, cpu_time, hogs, moves, penalties, places, run_tasks, spread, wakeups};
use schedlab_model::time::Time;

const TWO: &str = "cpus = 2";

/// When tasks first move that begin on one of two CPUs, in microseconds.
fn first_move(settings: &[(&str, u64)]) -> u64 {
    moves(&run_tasks(TWO, 1000, &hogs("hog", 4, 0, 0), settings)).first().map_or(0, |(_, at, _)| *at)
}

#[test]
fn period_says_how_often_tasks_are_divided() {
    assert_eq!(first_move(&[]), 100_000);
    assert_eq!(first_move(&[("period", 30 * MS)]), 30_000);
    assert_eq!(first_move(&[("period", 0)]), 0);
}

/// At 14 ms a heavy task runs on the first CPU. The next goes to the second one: the other heavy one, or the first.
#[test]
fn order_says_who_is_taken_first() {
    let tasks = hogs("light", 3, 5, 0) + &hogs("heavy", 2, 0, 0);
    let first = |order| moves(&run_tasks(TWO, 50, &tasks, &[PLAIN, ("period", 14 * MS), ("order", order)]))[0];
    assert_eq!([first(0), first(1)].map(|(task, at, _)| (task / 3, at)), [(1, 14_000), (0, 14_000)]);
}

/// The average is 3048. The heavy task of 2000 and a light one fit below, with another light one they reach it.
#[test]
fn rule_says_how_much_a_cpu_takes() {
    let tasks = hogs("heavy", 1, -3, 0) + &hogs("light", 4, 0, 0);
    let together = |rule| {
        let events = run_tasks(TWO, 1000, &tasks, &[PLAIN, ("rule", rule)]);
        places(&events, 2, Time::from_ms(999)).iter().find(|tasks| tasks.contains(&0)).expect("it is there").len()
    };
    assert_eq!([together(0), together(1)], [2, 3]);
}

#[test]
fn imbalance_pct_leaves_small_differences() {
    // Three next to one, and a waking task next to one that weighs a quarter more.
    let tasks = hogs("zero", 3, 0, 0) + &hogs("one", 1, 0, 1);
    let moved = |pct| moves(&run_tasks(TWO, 1000, &tasks, &[PLAIN, ("imbalance_pct", pct)])).len();
    assert_eq!([moved(100), moved(299), moved(300)], [1, 1, 0]);
    let sleeper = "[[task]]\nname = \"sleeper\"\nstart_on = 0\nloop = [{ compute = \"1ms\" }, { sleep = \"19ms\" }]\n";
    let tasks = sleeper.to_owned() + &hogs("zero", 1, -1, 0) + &hogs("one", 1, 0, 1);
    let woken = |pct| wakeups(&run_tasks(TWO, 200, &tasks, &[PLAIN, ("imbalance_pct", pct)]), 0)[0];
    assert_eq!([woken(100), woken(124), woken(125)], [1, 1, 0]);
}

#[test]
fn waking_and_new_tasks_may_stay_where_they_were() {
    let sleeper = "[[task]]\nname = \"sleeper\"\nstart_on = 0\nloop = [{ compute = \"1ms\" }, { sleep = \"19ms\" }]\n";
    let tasks = sleeper.to_owned() + &hogs("zero", 1, 0, 0);
    let woken = |at_wakeup| wakeups(&run_tasks(TWO, 90, &tasks, &[("at_wakeup", at_wakeup)]), 0)[0];
    assert_eq!([woken(1), woken(0)], [1, 0]);
    let tasks = "[[task]]\nname = \"parent\"\nstart_on = 0\nonce = [{ spawn = \"child\", count = 3 }, { compute = \"100ms\" }]\n\
                 [[task]]\nname = \"child\"\nspawned = true\nonce = [{ compute = \"100ms\" }]\n";
    let places = |at_fork| spread(&run_tasks("cpus = 4", 90, tasks, &[("at_fork", at_fork)]), 4, Time::from_ms(50));
    assert_eq!([places(1), places(0)], [[1, 1, 1, 1], [4, 0, 0, 0]]);
}

#[test]
fn domain_bounds_a_division() {
    let topology = "topology = \"2n1l2c1t\"";
    let end = |domain| {
        let settings = [PLAIN, ("domain", domain)];
        spread(&run_tasks(topology, 1000, &hogs("hog", 8, 0, 0), &settings), 4, Time::from_ms(999))
    };
    assert_eq!([end(0), end(1), end(2)], [[2, 2, 2, 2], [4, 4, 0, 0], [4, 4, 0, 0]]);
}

#[test]
fn the_table_of_weights_may_decide() {
    // 14.757 and 36.029 by formula, 15 and 36 in the table: five of nice 19 are more than two of nice 15 in one of them.
    let sleeper = "[[task]]\nname = \"sleeper\"\nstart_on = 0\nloop = [{ compute = \"1ms\" }, { sleep = \"19ms\" }]\n";
    let tasks = sleeper.to_owned() + &hogs("fifteen", 7, 15, 0) + &hogs("nineteen", 17, 19, 1);
    let woken = |weights| {
        let settings = [PLAIN, ("weights", weights), ("period", 0)];
        wakeups(&run_tasks(TWO, 60, &tasks, &settings), 0)[0]
    };
    assert_eq!([woken(0), woken(1)], [1, 0]);
}

#[test]
fn penalty_and_slice0_say_how_much_and_after_what() {
    let hog = |settings: &[_]| penalties(&run_tasks("cpus = 1", 200, &hogs("hog", 1, 0, 0), settings), 0);
    assert_eq!(hog(&[]), [(5, 6_000)]);
    assert_eq!(hog(&[("penalty", 2)]), [(2, 6_000)]);
    assert_eq!(hog(&[("slice0", 50 * MS)]), [(5, 50_000)]);
    assert_eq!(hog(&[("slice0", 50 * MS), ("penalise", 1), ("penalty", 2)]), [(1, 50_000), (2, 100_000)]);
}

#[test]
fn a_shadow_penalty_leaves_the_shares_of_cpu_time() {
    // The second never uses its slice. With 335.5 against 1024 the hog gets less than half.
    let tasks =
        hogs("hog", 1, 0, 0) + "[[task]]\nname = \"other\"\nloop = [{ compute = \"40ms\" }, { sleep = \"1us\" }]\n";
    let share = |shadow| {
        let settings = [("slice0", 41 * MS), ("shadow_nice", shadow)];
        let times = cpu_time(&run_tasks("cpus = 1", 10_000, &tasks, &settings), 2);
        times[0] as f64 / (times[0] + times[1]) as f64
    };
    let shares = [share(0), share(1)];
    assert!((0.22..0.32).contains(&shares[0]) && (0.45..0.55).contains(&shares[1]), "{shares:?}");
}
