//! The vectors of pure formulas: `formulas.bpf.c` calls the functions of the headers, here stand the numbers.

use super::observe::{V6_12, V6_18, V7_1, assert_formulas, assert_formulas_with, formulas};

const fn ms(n: i64) -> i64 {
    n * 1_000_000
}

const fn us(n: i64) -> i64 {
    n * 1_000
}

#[test]
fn v01_the_slice_grows_with_the_cpus() {
    let slices = |scaling| {
        let slices = &formulas(8, &[("scaling", scaling)])["base slice"];
        [1, 2, 3, 4, 7, 8, 32].map(|cpus: usize| slices[cpus - 1])
    };
    assert_eq!(slices(0), [700, 1400, 1400, 2100, 2100, 2800, 2800].map(us));
    assert_eq!(slices(1), [us(700); 7]);
    assert_eq!(slices(2), [700, 1400, 2100, 2800, 4900, 5600, 5600].map(us));
}

#[test]
fn v02_virtual_time_by_nice_value() {
    let expected = [
        ("virtual -20", 11_536),
        ("virtual -5", 328_099),
        ("virtual 1", 1_248_780),
        ("virtual 5", 3_056_716),
        ("virtual 10", 9_309_090),
        ("virtual 19", 68_266_666),
    ];
    assert_formulas(&expected);
}

#[test]
fn v03_who_is_not_ahead_of_the_average_is_eligible() {
    assert_formulas(&[("average of 1000 and 5000", 1986), ("eligible at 1986", 1), ("eligible at 1987", 0)]);
}

#[test]
fn v04_the_average_is_rounded_down() {
    assert_formulas(&[("average of 0 and 999", 444)]);
}

#[test]
fn the_reference_point_follows_and_changes_nothing() {
    let formulas = formulas(8, &[]);
    // (0 * 1024 + 999 * 820 + 2^36 * 1024) / 2868, rounded down.
    assert_eq!(formulas["average before"], [(999 * 820 + (1 << 46)) / 2868]);
    assert_eq!(formulas["average after"], formulas["average before"]);
    assert_eq!(formulas["zero after"], formulas["average before"]);
}

/// Two CPUs change the sum at the same instant, and a task is counted in as one and out as another.
#[test]
fn what_was_counted_wrong_is_forgotten_when_nobody_waits() {
    assert_formulas(&[("rest beside one that waits", -3000 * 1024), ("rest when nobody waits", 0)]);
}

#[test]
fn v05_a_task_has_its_lag_when_it_is_there() {
    assert_formulas(&[("placed at", ms(8)), ("average then", ms(9)), ("lag then", ms(1))]);
}

#[test]
fn v06_lag_beside_two_others() {
    assert_formulas(&[("lag beside 2048", us(1500))]);
}

#[test]
fn v07_lag_of_a_light_task() {
    assert_formulas(&[("lag of 335 beside 1024", 1_327_148)]);
}

#[test]
fn v08_lag_of_a_heavy_task() {
    assert_formulas(&[("lag of 1024 beside 335", 4_056_716)]);
}

#[test]
fn v09_a_debt_is_rounded_toward_nothing() {
    assert_formulas(&[("debt beside 3072", -2_666_666)]);
}

#[test]
fn v10_the_limit_of_lag_at_250_hz() {
    for version in [V6_12, V6_18] {
        let settings = [("version", version), ("hz", 250)];
        assert_formulas_with(&settings, &[("lag limit", us(5600)), ("lag limit 5", 17_117_612)]);
    }
    let settings = [("version", V7_1), ("hz", 250)];
    assert_formulas_with(&settings, &[("lag limit", us(6800)), ("lag limit 5", 20_785_671)]);
}

#[test]
fn v11_the_limit_of_lag_at_100_hz() {
    for version in [V6_12, V6_18] {
        assert_formulas_with(&[("version", version), ("hz", 100)], &[("lag limit", ms(10))]);
    }
    assert_formulas_with(&[("version", V7_1), ("hz", 100)], &[("lag limit", us(12800))]);
}

#[test]
fn lag_is_cut_at_the_limit_either_way() {
    assert_formulas(&[("clamped", 5 - 7)]);
}

#[test]
fn v12_who_ran_is_ahead_and_who_waited_is_eligible() {
    assert_formulas(&[("two: average", us(1500)), ("two: A eligible", 0), ("two: B eligible", 1)]);
}

#[test]
fn v13_who_sleeps_with_lag_keeps_it() {
    assert_formulas(&[("two: average when B sleeps", ms(2)), ("two: B owes", 0), ("two: lag of B", ms(1))]);
}

#[test]
fn v14_and_comes_back_with_it() {
    let expected = [
        ("two: B back at", ms(6)),
        ("two: deadline of B", us(8800)),
        ("two: average then", ms(7)),
        ("two: A eligible then", 0),
        ("two: B preempts", 1),
    ];
    assert_formulas(&expected);
}

#[test]
fn v15_who_sleeps_with_a_debt_stays_in_the_average() {
    let expected = [
        ("three: average", ms(1)),
        ("three: lag of A", -ms(2)),
        ("three: A owes", 1),
        ("three: still queued", 3),
        ("three: average with the debt", ms(1)),
    ];
    assert_formulas(&expected);
}

#[test]
fn v16_until_it_would_be_picked() {
    let expected = [
        ("three: average after B", ms(2)),
        ("three: A would be picked after B", 0),
        ("three: average after C", ms(3)),
        ("three: A would be picked after C", 1),
        ("three: queued then", 2),
        ("three: A goes on later", 0),
        ("three: lag of A later", 0),
    ];
    assert_formulas(&expected);
}

#[test]
fn v17_or_goes_on_where_it_was_when_it_wakes() {
    let expected = [("three: A goes on", 1), ("three: A at", ms(3)), ("three: deadline of A", us(5800))];
    for version in [V6_12, V6_18] {
        assert_formulas_with(&[("version", version)], &expected);
    }
    // Since 7.1 it is placed again, as it has lost a millisecond of its debt.
    assert_formulas_with(&[("version", V7_1)], &[("three: A goes on", 0), ("three: lag of A that wakes", -ms(1))]);
}

/// Its entry stays until it would be picked, as only the CPU itself may take it out.
#[test]
fn a_debtor_that_wakes_elsewhere_takes_its_debt_along_and_leaves_its_place() {
    let expected = [
        ("three: A goes on elsewhere", 0),
        ("three: lag of A elsewhere", -ms(1)),
        ("three: queued when A is elsewhere", 3),
    ];
    assert_formulas(&expected);
}

#[test]
fn v18_a_new_task_asks_for_half_a_slice() {
    let expected = [("new at", ms(10)), ("new deadline", us(11_400)), ("new deadline 5", 14_279_403)];
    assert_formulas(&expected);
}

#[test]
fn v19_a_task_that_is_moved_takes_lag_and_deadline_along() {
    let expected = [
        ("average at the source", us(6500)),
        ("lag on the way", -us(500)),
        ("moved to", us(100_750)),
        ("moved deadline", us(101_950)),
        ("average at the source then", ms(6)),
    ];
    assert_formulas(&expected);
    assert_formulas_with(&[("place_rel_deadline", 0)], &[("moved to", us(100_750)), ("moved deadline", us(103_550))]);
}

#[test]
fn v20_a_short_slice_preempts() {
    let expected =
        [("short at", ms(1)), ("short deadline", us(1100)), ("short preempts", 1), ("short preempts protected", 0)];
    assert_formulas(&expected);
}

#[test]
fn v21_the_usual_slice_does_not() {
    let expected = [("usual deadline", us(3800)), ("usual preempts", 0), ("usual preempts protected", 1)];
    assert_formulas(&expected);
}

#[test]
fn v22_protection_ends_after_the_shortest_slice() {
    let expected = [
        ("protection", us(100)),
        ("protection of equals", us(2800)),
        ("protection near the deadline", us(2800)),
        ("protected until, alone", us(2800)),
        ("protected until", us(100)),
    ];
    for version in [V6_18, V7_1] {
        assert_formulas_with(&[("version", version)], &expected);
    }
    // Without parity it is the slice of one CPU.
    let settings = [("version", V6_18), ("run_to_parity", 0)];
    assert_formulas_with(&settings, &[("protected until, alone", us(700))]);
}

#[test]
fn v23_a_slice_of_ones_own_has_bounds() {
    assert_formulas(&[("slice 50us", us(100)), ("slice 200ms", ms(100)), ("slice none", us(700))]);
}

#[test]
fn v24_a_yield_gives_up_the_request() {
    let expected = [("yielded to", us(2800)), ("yielded deadline", us(5600)), ("not eligible, so still at", ms(2))];
    assert_formulas(&expected);
}

#[test]
fn v25_lag_is_worth_as_much_at_another_weight() {
    assert_formulas(&[("lag at other weight", 3_056_716)]);
}

/// At 1000 Hz slices of 2.8 ms end after 3 ms each: at 8.5 ms two have. A task that is not protected, as it was not
/// picked for this request, has to be looked at when a task comes that it is ahead of, and at each tick then.
#[test]
fn charging_late_finds_the_requests_that_ended_at_ticks() {
    let expected = [
        ("alone at", us(8500)),
        ("alone, deadline", us(8800)),
        ("alone, resched", 0),
        ("not alone, resched", 1),
        ("next look", ms(9)),
    ];
    assert_formulas_with(&[("version", V6_12), ("hz", 1000)], &expected);
}

#[test]
fn v29_util_of_a_task_that_always_runs() {
    let formulas = formulas(8, &[]);
    let expected = [(1, 21.9), (8, 162.9), (16, 299.9), (32, 512.0), (64, 768.0), (100, 906.6), (128, 960.0)];
    for (periods, util) in expected {
        let value = formulas[&format!("util {periods}")][0] as f64;
        assert!((value - util).abs() <= 2.0, "{periods}: {value}");
    }
}

#[test]
fn a_cpu_looks_for_tasks_as_often_as_it_finds_some() {
    let chance = [("newidle often", [384, 512, 3]), ("newidle rarely", [384, 512, 3])];
    let rate = [("newidle often", [384 + (1_000_000_000 >> 22), 512, 2]), ("newidle rarely", [1024, 512, 1])];
    for (version, expected) in [(V6_18, chance), (V7_1, rate)] {
        let formulas = formulas(8, &[("version", version)]);
        for (name, values) in expected {
            assert_eq!(formulas[name], values, "{name}");
        }
        // Four standard deviations of a coin.
        assert!(formulas["looks at first"][0].abs_diff(2048) <= 4 * 32, "{:?}", formulas["looks at first"]);
    }
}
