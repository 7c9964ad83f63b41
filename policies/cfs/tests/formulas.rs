//! The vectors of pure formulas: `formulas.bpf.c` calls the functions of the headers, here stand the numbers.

use super::observe::{V4_9, V6_1, assert_formulas, formulas};

const LINUX_4_9: &[(&str, u64)] = &[("version", V4_9)];
const LINUX_6_1: &[(&str, u64)] = &[("version", V6_1)];
/// One CPU: the factor of all times is 1. With eight or more it is 4.
const ONE: u32 = 1;
const EIGHT: u32 = 8;

#[test]
fn v01_times_grow_with_the_cpus() {
    let factors = |scaling| {
        let factors = &formulas(ONE, &[("scaling", scaling)])["factor"];
        [1, 2, 3, 4, 7, 8, 32].map(|cpus: usize| factors[cpus - 1])
    };
    assert_eq!(factors(0), [1, 2, 2, 3, 3, 4, 4]);
    assert_eq!(factors(1), [1; 7]);
    assert_eq!(factors(2), [1, 2, 3, 4, 7, 8, 8]);
}

#[test]
fn v02_virtual_time_by_nice_value() {
    let expected = [
        ("virtual 0", 1_000_000),
        ("virtual 5", 3_056_716),
        ("virtual -5", 328_099),
        ("virtual 10", 9_309_090),
        ("virtual 19", 68_266_666),
        ("virtual -20", 11_536),
        ("virtual idle", 341_333_333),
        ("virtual 1 of 4 ms", 4_995_121),
        ("virtual -1 of 10 ms", 8_018_794),
    ];
    assert_formulas(ONE, LINUX_4_9, &expected);
}

#[test]
fn v03_a_period_is_the_latency_or_a_granularity_for_each() {
    let ms = |n: i64| n * 1_000_000;
    let expected = [
        ("period 1", ms(24)),
        ("period 8", ms(24)),
        ("period 9", ms(27)),
        ("period 16", ms(48)),
        ("period 64", ms(192)),
    ];
    assert_formulas(EIGHT, LINUX_4_9, &expected);
    assert_formulas(ONE, LINUX_4_9, &[("period 80", ms(60))]);
}

#[test]
fn v04_slices_are_parts_of_the_period_by_weight() {
    let expected = [
        ("slice of 2", 11_999_994),
        ("slice of 3", 7_999_998),
        ("slice of 16", 2_999_988),
        ("slice 0 with 5", 18_083_885),
        ("slice 5 with 0", 5_916_114),
        ("slice 0 with -5", 5_929_069),
        ("slice -5 with 0", 18_070_923),
        ("slice 0 with four 19", 22_671_581),
        ("slice 19 with 0 and three 19", 332_103),
        ("slice 0 with seven 0 and 19", 3_368_826),
        ("slice 19 with eight 0", 49_348),
    ];
    assert_formulas(EIGHT, LINUX_4_9, &expected);
    assert_formulas(ONE, LINUX_4_9, &[("slice of 2", 2_999_998), ("slice of 80", 749_988)]);
    // 6.1 has a floor.
    assert_formulas(EIGHT, LINUX_6_1, &[("slice 19 with 0 and three 19", 3_000_000), ("slice of 2", 11_999_994)]);
}

#[test]
fn v05_a_slice_in_a_group_is_a_part_of_the_groups() {
    assert_formulas(EIGHT, LINUX_4_9, &[("slice of 2", 11_999_994), ("slice in a group of 2", 5_999_994)]);
}

#[test]
fn v06_a_child_begins_a_slice_behind() {
    // min_vruntime is 7 ms.
    let expected = [
        ("child 0", 7_000_000 + 11_999_994),
        ("slice of child 5", 5_916_114),
        ("child 5", 7_000_000 + 18_083_882),
        // Its parent is further behind.
        ("child behind", 37_000_000),
    ];
    assert_formulas(EIGHT, LINUX_4_9, &expected);
}

#[test]
fn v07_a_sleeper_is_put_half_a_period_before_the_others() {
    let expected = [("sleeper 50", 88_000_000), ("sleeper 95", 95_000_000), ("sleeper 88", 88_000_000)];
    assert_formulas(EIGHT, LINUX_4_9, &expected);
    assert_formulas(EIGHT, LINUX_6_1, &expected);
}

#[test]
fn v08_a_waking_task_needs_a_lead_by_its_weight() {
    let leads = [("lead 0", 4_000_000), ("lead 5", 12_226_865), ("lead -5", 1_312_399), ("lead 19", 273_066_666)];
    assert_formulas(EIGHT, LINUX_4_9, &leads);
    let leads = [("lead 0", 1_000_000), ("lead 5", 3_056_716), ("lead -5", 328_099), ("lead 19", 68_266_666)];
    assert_formulas(ONE, LINUX_4_9, &leads);
    let preempts =
        [("preempts by 4000000", 0), ("preempts by 4000001", 1), ("preempts by 0", 0), ("preempts by -5000000", 0)];
    assert_formulas(EIGHT, LINUX_4_9, &preempts);
}

#[test]
fn v09_a_sleeper_preempts_with_half_a_period_of_lead() {
    let expected = [
        ("sleeper leads at 100 by", 12_000_000),
        ("sleeper preempts at 100", 1),
        ("sleeper leads at 90 by", 12_000_000),
    ];
    assert_formulas(EIGHT, LINUX_4_9, &expected);
}

#[test]
fn v10_a_tick_ends_a_slice_that_is_used_or_a_lead_of_more_than_one() {
    let expected = [
        ("tick at 11999994", 0),
        ("tick at 11999995", 1),
        ("tick at 2.9 ms", 0),
        ("tick at 5 ms, 12000000 ahead", 1),
        ("tick at 5 ms, 11999994 ahead", 0),
    ];
    assert_formulas(EIGHT, LINUX_4_9, &expected);
}

#[test]
fn v11_decays_and_contributions() {
    let expected = [
        ("decay 1024 1", 1002),
        ("decay 1024 32", 511),
        ("decay 47742 1", 46718),
        ("decay 47742 32", 23870),
        ("decay 47742 64", 11934),
        ("decay 1000000 33", 489_286),
        ("decay 1000000 2017", 0),
        ("contribution 1", 1002),
        ("contribution 10", 9103),
        ("contribution 32", 23371),
        ("contribution 33", 23872),
        ("contribution 64", 35056),
        ("contribution 100", 41384),
        ("contribution 344", 46714),
        ("contribution 345", 47742),
    ];
    assert_formulas(ONE, LINUX_4_9, &expected);
}

#[test]
fn v12_averages_of_a_task_that_always_runs() {
    for (version, utils, after_idle) in [
        (V4_9, &[(1, 21), (8, 159), (16, 293), (32, 501), (64, 751), (128, 939), (345, 1001), (400, 1024)][..], 500),
        (V6_1, &[(1, 21), (8, 162), (16, 299), (32, 512), (64, 768), (128, 960), (345, 1023)], 511),
    ] {
        let settings = [("version", version)];
        for (periods, util) in utils {
            assert_formulas(
                ONE,
                &settings,
                &[(&format!("util {periods}"), *util), (&format!("load {periods}"), *util)],
            );
        }
        assert_formulas(ONE, &settings, &[("util 345, idle 32", after_idle)]);
    }
    assert_formulas(ONE, LINUX_4_9, &[("ten on", 555), ("ten off", 447)]);
}

#[test]
fn v13_what_is_within_the_percentage() {
    let expected = [
        ("within 18 15 125", 1),
        ("within 19 15 125", 0),
        ("within 20 16 125", 1),
        ("within 5 4 125", 1),
        ("within 6 4 125", 0),
        ("within 18 15 117", 0),
        ("within 20 16 117", 0),
        ("within 5 4 117", 0),
    ];
    assert_formulas(ONE, LINUX_4_9, &expected);
}

#[test]
fn v14_a_wakee_comes_to_its_waker_by_the_loads() {
    let expected =
        [("affine 1024 1024", 0), ("affine 1024 2048", 1), ("affine 0 1024", 1), ("affine 2048 2560 at 125", 1)];
    assert_formulas(ONE, LINUX_4_9, &expected);
}

#[test]
fn v15_an_imbalance_of_twelve_tasks() {
    let expected = [
        ("busiest", 4096),
        ("local", 1024),
        ("domain", 2560),
        ("imbalance", 12288),
        ("detached", 2),
        ("below zero by", 512),
    ];
    assert_formulas(ONE, LINUX_4_9, &expected);
}

/// In jiffies of 1 ms, on 32 CPUs.
#[test]
fn v16_busy_cpus_balance_more_rarely() {
    for (version, factor, less) in [(V4_9, 32, 0), (V6_1, 16, 1)] {
        let settings = [("version", version), ("hz", 1000)];
        for span in [2, 8, 16, 32] {
            let names = [format!("idle interval {span}"), format!("busy interval {span}")];
            assert_formulas(32, &settings, &[(&names[0], span), (&names[1], factor * span - less)]);
            assert_formulas(32, &settings, &[(&format!("longest interval {span}"), 2 * span)]);
        }
        assert_formulas(32, &settings, &[("idle interval 1000000", 3200), ("busy interval 1000000", 3200)]);
    }
}

#[test]
fn v17_loads_are_smoothed_over_ticks() {
    let formulas = formulas(ONE, LINUX_4_9);
    assert_eq!(formulas["history"], [256, 448, 592, 700, 781, 842, 888, 922]);
    assert_eq!(formulas["falling history"], [512, 256, 128, 64, 32]);
}

#[test]
fn v18_a_group_weighs_by_its_part_of_the_groups_load() {
    let expected = [
        ("group weight", 409),
        ("group weight alone", 1024),
        ("group weight alone, not yet published", 1024),
        ("group weight of little", 2),
        ("group weight without load", 2),
    ];
    assert_formulas(ONE, LINUX_4_9, &expected);
}

#[test]
fn v19_min_vruntime_follows_and_never_falls() {
    let expected = [
        ("follow 100: 103 and 101", 101),
        ("follow 100: 99 and 98", 100),
        ("follow 100: none and 120", 120),
        ("follow 100: none", 100),
    ];
    assert_formulas(ONE, LINUX_4_9, &expected);
}

#[test]
fn v20_crowds_are_not_pulled_together() {
    assert_formulas(ONE, LINUX_4_9, &[("wide 8 64", 1), ("wide 8 63", 0), ("wide 7 1000", 0), ("wide 20 200", 1)]);
}

#[test]
fn the_busier_a_cache_the_fewer_cpus_are_looked_at() {
    let expected = [("idle scan of an idle cache", 8), ("idle scan at half", 5), ("idle scan at 88 percent", 0)];
    assert_formulas(ONE, LINUX_6_1, &expected);
}
