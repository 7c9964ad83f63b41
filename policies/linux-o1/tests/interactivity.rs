//! Vectors of the sleep average and what follows from it: priority, label, slice and turns.

use super::observe::{MS, Status, V3, V22, alone, run_tasks, status_at, statuses, turns_of};
use schedlab_model::time::Time;

/// A task that computes, with a nice value: its first status.
fn first(version: u64, nice: i32, sleep_avg_ms: u64) -> Status {
    alone(version, sleep_avg_ms, &format!("nice = {nice}\nonce = [{{ compute = \"1ms\" }}]"), 10)[0]
}

/// Two equal tasks on one of `cpus` CPUs: how long the first turn of the first is, in milliseconds.
fn first_turn_ms(version: u64, cpus: u32, nice: i32, sleep_avg_ms: u64) -> u64 {
    let tasks =
        format!("[[task]]\nname = \"hog\"\ncount = 2\ncpus = [0]\nnice = {nice}\nloop = [{{ compute = \"9s\" }}]");
    let settings = [("sleep_avg", sleep_avg_ms * MS)];
    turns_of(&run_tasks(&format!("cpus = {cpus}"), 2000, &tasks, version, &settings), 0)[0].us() / 1000
}

/// What is published when a task wakes after its first step, a sleep.
fn after_sleep(version: u64, sleep_avg_ms: u64, step: &str) -> Status {
    let statuses = alone(version, sleep_avg_ms, &format!("once = [{step}, {{ compute = \"1ms\" }}]"), 3000);
    *statuses.iter().find(|status| status.class != 0).expect("it wakes")
}

fn sleep(version: u64, from_ms: u64, sleep_ms: u64) -> (u64, Status) {
    let status = after_sleep(version, from_ms, &format!("{{ sleep = \"{sleep_ms}ms\" }}"));
    (status.sleep_avg_us() / 1000, status)
}

fn disk(version: u64, from_ms: u64, sleep_ms: u64) -> u64 {
    let step = format!("{{ io = {{ device = \"disk\", service = \"{sleep_ms}ms\" }} }}");
    after_sleep(version, from_ms, &step).sleep_avg_us() / 1000
}

#[test]
fn v01_a_sleep_average_of_500_ms() {
    let (old, new) = (first(V3, 0, 500), first(V22, 0, 500));
    assert_eq!((old.label(), old.slice), ((121, false), 102));
    assert_eq!((new.label(), new.slice), ((120, false), 100));
    // The parts of a slice, 320 and 160 ms, show where slices are longer and the same bonus is interactive.
    assert_eq!(first_turn_ms(V22, 1, -20, 500), 160);
    assert_eq!(first_turn_ms(V3, 1, -20, 500), 200);
}

#[test]
fn v02_a_sleep_average_of_700_ms() {
    assert_eq!(first(V3, 0, 700).label(), (119, false));
    assert_eq!(first(V22, 0, 700).label(), (118, true));
    assert_eq!(first_turn_ms(V22, 1, 0, 700), 40);
    assert_eq!(first_turn_ms(V3, 1, 0, 700), 102);
}

#[test]
fn v03_the_label_begins_at_714_ms_in_2_6_3() {
    assert_eq!(first(V3, 0, 713).label(), (119, false));
    assert_eq!(first(V3, 0, 714).label(), (118, true));
    assert_eq!([713, 714].map(|ms| first(V22, 0, ms).label()), [(118, true); 2]);
}

#[test]
fn v04_the_bonus_is_five_levels_either_way() {
    for (version, most) in [(V3, 1020), (V22, 1000)] {
        assert_eq!((first(version, 0, 0).prio, first(version, 0, most).prio), (125, 115));
    }
}

#[test]
fn v05_nice_19_is_never_interactive() {
    for (version, most, slice) in [(V3, 1020, 10), (V22, 1000, 5)] {
        let status = first(version, 19, most);
        assert_eq!((status.label(), status.slice), ((134, false), slice));
    }
}

#[test]
fn v06_nice_minus_20_is_interactive_with_two_levels() {
    assert_eq!(first(V3, -20, 200).label(), (104, false));
    assert!(first(V3, -20, 204).interactive);
    let status = first(V22, -20, 200);
    assert_eq!((status.label(), status.slice), ((103, true), 800));
}

#[test]
fn v07_nice_minus_10_needs_more_in_2_6_3() {
    assert_eq!(first(V3, -10, 400).label(), (112, false));
    assert_eq!([509, 510].map(|ms| first(V3, -10, ms).interactive), [false, true]);
    assert_eq!(first(V22, -10, 400).label(), (111, true));
}

#[test]
fn v08_other_nice_values() {
    let labels = |version| [(-5, 500), (5, 800), (10, 900)].map(|(nice, ms)| first(version, nice, ms).label());
    assert_eq!(labels(V3).map(|label| label.1), [false; 3]);
    assert_eq!(labels(V22), [(115, true), (122, true), (126, true)]);
}

/// The table of slices and of levels needed, by nice value: -20, -10, -1, 0, 5, 10, 19.
#[test]
fn slices_and_needed_levels_follow_the_nice_value() {
    let slices = |version| [-20, -10, -1, 0, 5, 10, 19].map(|nice| first(version, nice, 0).slice);
    assert_eq!(slices(V3), [200, 151, 107, 102, 78, 53, 10]);
    assert_eq!(slices(V22), [800, 600, 420, 100, 75, 50, 5]);
    let needed = |version: u64, level_ms: u64| {
        [-20, -19, -15, -11, -7, -3, 3, 4, 8, 12, 16]
            .map(|nice| (0..=10).find(|level| first(version, nice, level * level_ms).interactive).unwrap_or(11))
    };
    assert_eq!(needed(V3, 102), [2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11]);
    assert_eq!(needed(V22, 100), [2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
}

#[test]
fn slices_follow_the_length_of_a_tick() {
    let slice = |version: u64, hz: u64, nice: i32| {
        let task = format!("[[task]]\nname = \"hog\"\nnice = {nice}\nonce = [{{ compute = \"1ms\" }}]");
        statuses(&run_tasks("cpus = 1", 10, &task, version, &[("hz", hz)]), 0)[0].1.slice
    };
    assert_eq!([100, 250, 300, 1000].map(|hz| slice(V3, hz, 0)), [10, 25, 30, 102]);
    assert_eq!([100, 250, 300, 1000].map(|hz| slice(V22, hz, 0)), [10, 25, 30, 100]);
    // 72, 48 and 4 ms.
    assert_eq!([5, 10, 19].map(|nice| slice(V22, 250, nice)), [18, 12, 1]);
}

#[test]
fn v09_a_short_sleep_from_nothing() {
    let ((old, status), (new, other)) = (sleep(V3, 0, 50), sleep(V22, 0, 50));
    assert_eq!((old, status.prio), (500, 121));
    assert_eq!((new, other.prio), (50, 125));
}

#[test]
fn v10_a_longer_sleep_from_nothing() {
    let ((old, status), (new, other)) = (sleep(V3, 0, 300), sleep(V22, 0, 300));
    assert_eq!((old, status.prio, status.credit), (1020, 115, 1));
    assert_eq!((new, other.prio), (300, 122));
}

#[test]
fn v11_a_very_long_sleep() {
    let ((old, status), (new, other)) = (sleep(V3, 0, 2000), sleep(V22, 0, 2000));
    assert_eq!((old, status.prio, status.credit), (918, 116, 1));
    assert_eq!((new, other.label(), other.class), (799, (118, true), 1));
}

#[test]
fn v12_a_short_sleep_from_600_ms() {
    let ((old, status), (new, other)) = (sleep(V3, 600, 50), sleep(V22, 600, 50));
    assert_eq!(((old, status.prio), (new, other.prio)), ((850, 117), (650, 119)));
}

#[test]
fn v13_in_2_6_3_a_very_long_sleep_may_lower_the_average() {
    let ((old, status), (new, other)) = (sleep(V3, 1000, 816), sleep(V22, 1000, 816));
    assert_eq!(((old, status.prio), (new, other.prio)), ((918, 116), (1000, 115)));
}

#[test]
fn v14_waiting_for_a_disk_leads_to_the_ceiling_only() {
    assert_eq!([700, 850].map(|from| disk(V3, from, 500)), [815, 850]);
    assert_eq!([700, 850].map(|from| disk(V22, from, 500)), [799, 850]);
}

#[test]
fn v15_a_short_wait_for_a_disk() {
    assert_eq!((disk(V3, 300, 10), disk(V22, 300, 10)), (380, 310));
}

#[test]
fn v16_a_known_hog_earns_one_slice_at_most() {
    // 102 slices at a sleep average of 0 lead to a credit below -100. Then 102, 204, 296, 398, 500 and 602 ms.
    let sleeps =
        ["50ms", "50ms", "11500us", "50ms", "50ms", "100ms"].map(|s| format!("{{ sleep = \"{s}\" }}")).join(", ");
    let all = alone(V3, 0, &format!("once = [{{ compute = \"11s\" }}, {sleeps}, {{ compute = \"1ms\" }}]"), 12_000);
    let woken: Vec<Status> = all.into_iter().filter(|status| status.class != 0).collect();
    assert!(woken.iter().all(|status| status.credit < -100), "{woken:?}");
    assert_eq!(woken.iter().map(|s| s.sleep_avg_us() / 1000).collect::<Vec<_>>(), [102, 204, 296, 398, 500, 602]);
}

/// A run of 100 ms in one piece: with 8 CPUs an interactive task is not interrupted within its slice.
fn run_100(version: u64, before: &str, sleep_avg_ms: u64) -> Status {
    let task = format!("[[task]]\nname = \"task\"\ncpus = [0]\nonce = [{before} {{ compute = \"100ms\" }}]");
    let events = run_tasks("cpus = 8", 5000, &task, version, &[("sleep_avg", sleep_avg_ms * MS)]);
    statuses(&events, 0).last().expect("a status").1
}

#[test]
fn v17_what_a_run_costs() {
    assert_eq!(run_100(V3, "", 800).sleep_avg_us(), 700_000);
    assert_eq!(run_100(V22, "", 800).sleep_avg_us(), 787_500);
}

#[test]
fn v17_who_is_known_to_be_interactive_is_charged_less() {
    // 110 sleeps lead to the most and to a credit above 100, and leave 94 ms of a slice. The runs lead from there to 800 ms,
    // by a tenth, a ninth (twice) and an eighth (twice) of what they last.
    let runs =
        ["94ms", "833400us", "9ms", "808ms", "128ms"].map(|c| format!("{{ compute = \"{c}\" }}, {{ yield = true }},"));
    let sleeps = "{ repeat = 110, steps = [{ compute = \"1ms\" }, { sleep = \"5ms\" }] },";
    let task =
        format!("[[task]]\nname = \"task\"\ncpus = [0]\nonce = [{sleeps} {} {{ compute = \"100ms\" }}]", runs.concat());
    let events = run_tasks("cpus = 8", 5000, &task, V3, &[("sleep_avg", 1020 * MS)]);
    let (end, last) = *statuses(&events, 0).last().expect("a status");
    let before = status_at(&events, 0, end.since(Time::from_ms(100)));
    assert_eq!((last.credit, before.sleep_avg_us() / 1000), (101, 799));
    // A bonus of 7: a seventh of 100 ms.
    assert_eq!((before.sleep_avg_ns - last.sleep_avg_ns) / 10, 1_428_571);
}

#[test]
fn v18_the_average_does_not_fall_below_nothing() {
    let (old, new) = (run_100(V3, "", 50), run_100(V22, "", 50));
    assert_eq!((old.sleep_avg_ns, old.credit), (0, -1));
    assert_eq!(new.sleep_avg_ns, 0);
}

/// A task sleeps for 10 ms, is woken, waits for 100 ms behind a better one and gets the CPU: its sleep average then.
fn after_wait_us(version: u64, sleep_avg_ms: u64, by_task: bool) -> u64 {
    let (step, post, semaphore) =
        if by_task { ("wait = \"s\"", "{ post = \"s\" },", "[semaphore.s]") } else { ("sleep = \"10ms\"", "", "") };
    let tasks = format!(
        "[[task]]\nname = \"waiter\"\nonce = [{{ {step} }}, {{ compute = \"1ms\" }}]\n\
         [[task]]\nname = \"better\"\nnice = -20\nstart = \"5ms\"\n\
         once = [{{ compute = \"5ms\" }}, {post} {{ compute = \"100ms\" }}]\n{semaphore}"
    );
    let events = run_tasks("cpus = 1", 200, &tasks, version, &[("sleep_avg", sleep_avg_ms * MS)]);
    let turn = turns_of(&events, 0)[0];
    assert_eq!(turn.from.ns(), 110 * MS);
    let picked = statuses(&events, 0).into_iter().find(|status| status.0 == turn.from).expect("it is picked");
    picked.1.sleep_avg_us()
}

#[test]
fn v19_a_part_of_the_wait_counts_when_a_task_was_the_waker() {
    assert_eq!(after_wait_us(V3, 440, true), 678_125);
    assert_eq!(after_wait_us(V22, 490, true), 529_687);
}

#[test]
fn v20_the_whole_wait_counts_when_an_interrupt_was_the_waker() {
    assert_eq!(after_wait_us(V3, 440, false), 1_020_000);
    assert_eq!(after_wait_us(V22, 490, false), 600_000);
}

#[test]
fn v29_the_parts_of_a_slice_on_two_cpus() {
    let turns = |version, averages: [u64; 4]| averages.map(|ms| first_turn_ms(version, 2, -20, ms));
    assert_eq!(turns(V3, [1020, 918, 816, 714]), [20, 20, 40, 80]);
    assert_eq!(turns(V22, [1000, 900, 800, 700]), [20, 20, 40, 80]);
    // A slice of 100 ms with parts of 40 is parted once, after 40 ms; 20 ms at its end are no part of their own.
    assert_eq!(first_turn_ms(V22, 2, 0, 800), 40);
}

/// The priority after each wake-up of a task that runs and sleeps in turns, and its sleep average.
fn woken(version: u64, sleep_avg_ms: u64, run_ms: u64, sleep_ms: u64, cycles: u64) -> Vec<Status> {
    let task = format!("loop = [{{ compute = \"{run_ms}ms\" }}, {{ sleep = \"{sleep_ms}ms\" }}]");
    let all = alone(version, sleep_avg_ms, &task, (run_ms + sleep_ms) * cycles + 1);
    all.into_iter().filter(|status| status.class != 0).collect()
}

#[test]
fn v31_ten_ms_of_work_and_three_of_sleep() {
    let old = woken(V3, 0, 10, 3, 500);
    assert_eq!(old.iter().position(|status| status.interactive), Some(105));
    assert!(old[105..].iter().all(|status| status.interactive));
    // At CB 6 a turn wins 4 * 3 - 10 ms, at CB 7 it loses 10 - 3 * 3: it goes round by three values in the end.
    let mut last: Vec<u64> = old[490..].iter().map(|status| status.sleep_avg_us() / 1000).collect();
    last.sort_unstable();
    last.dedup();
    assert_eq!(last, [723, 724, 725]);
    assert!(woken(V22, 0, 10, 3, 500).iter().all(|status| status.sleep_avg_us() == 3_000));
    for from in [799, 1000] {
        assert_eq!(woken(V22, from, 10, 3, 500)[499].sleep_avg_us(), 1_000_000);
    }
}

#[test]
fn v32_ten_ms_of_work_and_two_of_sleep() {
    let old = woken(V3, 0, 10, 2, 500);
    assert!(old[400..].iter().all(|status| (status.prio, status.interactive) == (120, false)));
    assert_eq!(old[499].sleep_avg_us(), 520_000);
    assert!(woken(V22, 0, 10, 2, 500).iter().all(|status| status.sleep_avg_us() == 2_000));
}

#[test]
fn v33_twenty_ms_of_work_and_eighty_of_sleep() {
    let averages = |version| woken(version, 0, 20, 80, 6).iter().map(Status::sleep_avg_us).collect::<Vec<_>>();
    assert_eq!(averages(V3)[..3], [800_000, 1_020_000, 1_020_000]);
    assert_eq!(averages(V22), [80_000, 140_000, 200_000, 270_000, 340_000, 413_333]);
}
