//! The vectors of pure formulas: `formulas.bpf.c` calls the functions of the headers, here stand the numbers.

use super::observe::{FREEBSD, PAPER, assert_formulas, formulas};

#[test]
fn v01_constants() {
    let expected: [(&str, &[i64]); 4] = [
        ("tick history", &[8062]),
        ("history max", &[5_120_000]),
        ("history fork", &[512_000]),
        ("halved above", &[6_144_000]),
    ];
    assert_formulas(FREEBSD, &expected);
    // The rest of the vector is where batch priorities begin and end.
    let batch: [(&str, &[i64]); 2] = [("batch 0 10000 -20", &[152]), ("batch 10000 10000 20", &[223])];
    assert_formulas(FREEBSD, &batch);
}

#[test]
fn v02_scores_of_freebsd_and_of_the_port() {
    for (past, freebsd, port) in [
        ("score 0 0", 50, 0),
        ("score 0 1000", 0, 0),
        ("score 10 49", 10, 10),
        ("score 1000000 3000000", 16, 16),
        ("score 1499999 2500000", 29, 29),
        ("score 1500000 2500000", 30, 30),
        ("score 512000 4608000", 5, 5),
        ("score 2000000 2000000", 50, 50),
        ("score 3000000 2000000", 50, 67),
        ("score 5000000 100000", 50, 99),
    ] {
        assert_formulas(FREEBSD, &[(past, &[freebsd])]);
        assert_formulas(PAPER, &[(past, &[port])]);
    }
}

#[test]
fn v03_history_is_limited_to_five_seconds() {
    let expected: [(&str, &[i64]); 6] = [
        ("limit 1000000 4119999", &[1_000_000, 4_119_999]),
        ("limit 1000000 4120000", &[800_000, 3_296_000]),
        ("limit 3072000 3072000", &[2_457_600, 2_457_600]),
        ("limit 3072000 3072001", &[1_536_000, 1_536_000]),
        ("limit 6000000 5000000", &[5_120_000, 1]),
        ("limit 1024 10239999", &[1, 5_120_000]),
    ];
    assert_formulas(FREEBSD, &expected);
}

#[test]
fn v04_a_child_gets_half_a_second_of_history() {
    let expected: [(&str, &[i64]); 4] = [
        ("child 3000000 2000000", &[333_333, 222_222]),
        ("child 100000 4900000", &[11_111, 544_444]),
        ("child 500000 500000", &[500_000, 500_000]),
        ("child 400000 112000", &[400_000, 112_000]),
    ];
    assert_formulas(FREEBSD, &expected);
}

#[test]
fn v05_interactive_priorities() {
    let expected: [(&str, &[i64]); 6] = [
        ("priority 0 1000 0", &[120]),
        ("priority 1000000 3000000 0", &[136]),
        ("priority 1499999 2500000 0", &[149]),
        ("priority 1000000 3000000 10", &[146]),
        ("priority 1000000 3000000 19", &[191]),
        ("priority 1500000 2500000 -5", &[145]),
    ];
    assert_formulas(FREEBSD, &expected);
    // Four neighbours share a list.
    assert_eq!((136 / 4, 149 / 4), (34, 37));
}

#[test]
fn v06_batch_priorities() {
    let expected: [(&str, &[i64]); 7] = [
        ("batch 10000 10000 0", &[203]),
        ("batch 5000 10000 0", &[187]),
        ("batch 1000 1000 0", &[203]),
        ("batch 500 1000 0", &[187]),
        ("batch 100 200 0", &[175]),
        ("batch 0 10000 -20", &[152]),
        ("batch 10000 10000 20", &[223]),
    ];
    assert_formulas(FREEBSD, &expected);
}

#[test]
fn v07_calendar_slots() {
    let expected: [(&str, &[i64]); 9] = [
        ("slot 152 0 0", &[0]),
        ("slot 172 0 0", &[17]),
        ("slot 203 0 0", &[45]),
        ("slot 223 0 0", &[63]),
        ("slot 172 60 60", &[13]),
        ("slot 203 30 29", &[11]),
        ("slot 223 10 9", &[8]),
        ("slot 223 0 63", &[62]),
        ("slot 222 0 63", &[62]),
    ];
    assert_formulas(FREEBSD, &expected);
}

#[test]
fn v08_slices_by_load() {
    assert_formulas(FREEBSD, &[("slice", &[12, 12, 6, 4, 3, 2, 2, 2, 2])]);
    assert_formulas(PAPER, &[("slice", &[10, 10, 5, 3, 2, 2, 1, 1, 1])]);
}

#[test]
fn v09_a_storm_of_forks() {
    let expected: [(&str, &[i64]); 9] = [
        ("first batch child", &[192]),
        // One tick each from child 1 to 192; the history of 191 of them made child 192.
        ("storm creator", &[192 * 8062]),
        ("storm score 192", &[30]),
        ("storm run 192", &[192_480]),
        ("storm slept 192", &[320_000]),
        ("storm run 2", &[1612]),
        ("storm score 10", &[1]),
        ("storm run 10", &[14_511]),
        ("storm score 100", &[15]),
    ];
    assert_formulas(FREEBSD, &expected);
    let formulas = formulas(&[FREEBSD]);
    let child = |number: u32| ["run", "slept"].map(|what| formulas[&format!("storm {what} {number}")][0]);
    assert_eq!([1, 2, 10, 100].map(child), [[0, 512_000], [1612, 512_000], [14_511, 512_000], [133_023, 426_666]]);
}

#[test]
fn v10_ticks_until_a_hog_is_batch() {
    let expected: [(&str, &[i64]); 3] =
        [("ticks to batch 512000", &[39]), ("ticks to batch 2560000", &[191]), ("ticks to batch 5119999", &[267])];
    assert_formulas(FREEBSD, &expected);
}

/// Run and sleep after the sleep, then the score.
#[test]
fn v11_a_hog_recovers_in_one_long_sleep() {
    let expected: [(&str, &[i64]); 4] = [
        ("recovery 1000", &[4_000_000, 819_200, 50]),
        ("recovery 4000", &[2_500_000, 2_048_000, 50]),
        ("recovery 5000", &[2_500_000, 2_560_000, 48]),
        ("recovery 6000", &[1, 5_120_000, 0]),
    ];
    assert_formulas(FREEBSD, &expected);
}

#[test]
fn v12_a_steady_cycle() {
    let expected: [(&str, &[i64]); 5] =
        [("cycle 8", &[49]), ("cycle 13", &[30]), ("cycle 14", &[28]), ("cycle 20", &[19]), ("cycle 100", &[3])];
    assert_formulas(FREEBSD, &expected);
}

/// Use, the tick up to which it is known, the window's first tick.
#[test]
fn v13_cpu_use_in_a_window() {
    let expected: [(&str, &[i64]); 4] = [
        ("use 10000 11000 0", &[4_608_000, 11_000, 1000]),
        ("use 10000 11000 1", &[5_632_000, 11_000, 1000]),
        ("use 10000 10999 1", &[6_142_976, 10_999, 0]),
        ("use 1000 11000 1", &[10_240_000, 11_000, 1000]),
    ];
    assert_formulas(FREEBSD, &expected);
}

#[test]
fn v14_random_numbers() {
    let expected: [(&str, &[i64]); 2] =
        [("random 0", &[0, 5, 36_287, 53_438, 58_975]), ("random 1", &[1, 7261, 13_503, 15_223, 40_815])];
    assert_formulas(FREEBSD, &expected);
}

/// New and current priority, whether from another CPU.
#[test]
fn v15_who_preempts() {
    let expected: [(&str, &[i64]); 7] = [
        ("preempts 130 200 0", &[0]),
        ("preempts 130 200 1", &[1]),
        ("preempts 130 140 1", &[0]),
        ("preempts 160 200 1", &[0]),
        ("preempts 80 130 0", &[1]),
        ("preempts 200 230 0", &[1]),
        ("preempts 200 200 1", &[0]),
    ];
    assert_formulas(FREEBSD, &expected);
    // The port has no rule for other CPUs.
    assert_formulas(PAPER, &[("preempts 130 200 1", &[0])]);
}

/// At tick 5000: cache levels 1, 2, 3 of a task that left at 4999; 2 and 3 of 4998; 3 of 4997.
#[test]
fn v18_how_long_a_cache_is_warm() {
    assert_formulas(FREEBSD, &[("warm 4999", &[0, 1, 1]), ("warm 4998", &[0, 1]), ("warm 4997", &[0])]);
}

#[test]
fn v19_priorities_of_the_port() {
    let expected: [(&str, &[i64]); 6] = [
        ("priority 0 1000 0", &[100]),
        ("priority 1499999 2500000 0", &[100]),
        ("batch 2500 2500 0", &[131]),
        ("batch 1250 2500 0", &[125]),
        ("batch 2500 2500 19", &[138]),
        ("batch 0 2500 -20", &[112]),
    ];
    assert_formulas(PAPER, &expected);
}

/// CPU 1's queues are 2, of interactive tasks, and 3. A place is among those of the priority that it was chosen for.
#[test]
fn a_task_goes_to_the_queue_in_which_its_place_is() {
    let of = |interactive: &str, batch: &str| {
        let name = |chosen: &str, then: &str| format!("queue {chosen} {then}");
        [
            (name(interactive, interactive), 2),
            (name(interactive, batch), 2),
            (name(batch, batch), 3),
            (name(batch, interactive), 3),
        ]
    };
    for (mode, queues) in [(PAPER, of("100", "112")), (FREEBSD, of("120", "152"))] {
        for (name, queue) in &queues {
            assert_formulas(mode, &[(name, &[*queue])]);
        }
    }
}
