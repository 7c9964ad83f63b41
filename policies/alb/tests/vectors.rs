//! The vectors of divisions, straight from the functions: `formulas.bpf.c` calls them, here stand the numbers. Tasks wait
//! on the first CPU before, unless it says something else. Weights are in thousandths.

use super::observe::divisions;

const FIFO: (&str, u64) = ("order", 1);
const FILL: (&str, u64) = ("rule", 1);
const SPREAD: (&str, u64) = ("spread_idle", 1);

fn assert_sums(settings: &[(&str, u64)], name: &str, average: i64, sums: &[i64]) {
    let found = divisions(settings);
    assert_eq!((found[&format!("{name} average")][0], &found[&format!("{name} sum")][..]), (average, sums), "{name}");
}

fn numbers(settings: &[(&str, u64)], name: &str) -> Vec<i64> {
    divisions(settings)[name].clone()
}

#[test]
fn v01_weights_by_formula_have_fractions() {
    let of_nice = |weights: &[i64], nice: i32| weights[(nice + 20) as usize];
    let formula = numbers(&[], "weight of level");
    let nices = [-20, -10, -5, 0, 5, 10, 15, 19];
    let expected = [88_817_841, 9_536_743, 3_125_000, 1_024_000, 335_544, 109_951, 36_028, 14_757];
    assert_eq!(nices.map(|nice| of_nice(&formula, nice)), expected);
    let table = numbers(&[("weights", 1)], "weight of level");
    assert_eq!([0, 1, 2, 19].map(|nice| of_nice(&table, nice)), [1_024_000, 820_000, 655_000, 15_000]);
    let furthest = formula.iter().zip(&table).map(|(one, two)| one.abs_diff(*two) as f64 / *one as f64);
    let furthest = furthest.fold(0.0, f64::max);
    assert!((0.023..0.025).contains(&furthest), "{furthest}");
    assert_eq!([formula[40], table[40]], [3_000; 2]);
    assert_eq!(numbers(&[("weights", 2)], "weight of level"), [1_024_000; 41]);
}

#[test]
fn v02_four_equal_tasks() {
    assert_sums(&[], "v02", 2_048_000, &[2_048_000, 2_048_000]);
    assert_eq!(numbers(&[], "v02 count"), [2, 2]);
}

#[test]
fn v03_a_task_that_is_left_over_goes_where_the_sum_is_least() {
    assert_sums(&[], "v03", 1_536_000, &[2_048_000, 1_024_000]);
}

#[test]
fn v04_two_weights() {
    assert_sums(&[], "v04", 1_527_316, &[1_695_088, 1_359_544]);
    assert_eq!(numbers(&[], "v04 count"), [3, 2]);
}

#[test]
fn v05_a_task_heavier_than_the_average_fits_nowhere_at_first() {
    assert_sums(&[], "v05", 3_098_500, &[3_072_000, 3_125_000]);
    assert_eq!(numbers(&[], "v05 count"), [3, 1]);
}

#[test]
fn v06_seven_equal_tasks() {
    assert_sums(&[], "v06", 3_584_000, &[4_096_000, 3_072_000]);
}

#[test]
fn v07_two_of_seven_have_a_penalty_of_five() {
    assert_sums(&[], "v07", 2_895_544, &[2_719_088, 3_072_000]);
    assert_eq!(numbers(&[], "v07 count"), [4, 3]);
}

#[test]
fn v08_what_cannot_move_counts_where_it_is() {
    assert_sums(&[], "v08", 2_048_000, &[2_048_000, 2_048_000]);
    assert_eq!(numbers(&[], "v08 target"), [1, 1]);
}

#[test]
fn v09_by_weight_alone_cpus_may_stay_empty() {
    assert_sums(&[], "v09", 27_068_460, &[19_456_000, 88_817_841, 0, 0]);
    assert_eq!(numbers(&[], "v09 count"), [19, 1, 0, 0]);
}

#[test]
fn v10_unless_each_empty_cpu_gets_a_task() {
    assert_eq!(numbers(&[SPREAD], "v09 count"), [17, 1, 1, 1]);
    assert_sums(&[SPREAD], "v09", 27_068_460, &[17_408_000, 88_817_841, 1_024_000, 1_024_000]);
}

#[test]
fn v11_fewer_tasks_than_cpus() {
    assert_sums(&[], "v11", 512_000, &[1_024_000, 1_024_000, 0, 0]);
}

#[test]
fn v12_cpus_may_take_tasks_until_they_have_reached_the_average() {
    assert_sums(&[FILL], "v03", 1_536_000, &[2_048_000, 1_024_000]);
    // The rule that takes what fits gives the same by another way; here it does not.
    assert_eq!(numbers(&[FILL], "v05 sum"), [3_125_000, 3_072_000]);
}

#[test]
fn v13_what_is_even_stays() {
    assert_eq!((numbers(&[], "v13 migrations"), numbers(&[], "v13 better")), (vec![0], vec![0]));
}

#[test]
fn light_tasks_that_came_first_are_taken_first_in_that_order() {
    // Below 1527.3: three light ones are 1006.6, and no heavy one fits besides them.
    assert_eq!(numbers(&[FIFO], "light ones first sum"), [2_030_632, 1_024_000]);
    assert_eq!(numbers(&[], "light ones first sum"), [1_695_088, 1_359_544]);
}

#[test]
fn of_equal_tasks_those_stay_that_are_there() {
    // One and three: one moves, the last that came.
    let found = divisions(&[]);
    assert_eq!((&found["one and three target"], found["one and three better"][0]), (&vec![1, 0, 0, 1], 1));
    // Three and two cannot be better divided.
    assert_eq!((found["three and two migrations"][0], found["three and two better"][0]), (0, 0));
}

#[test]
fn filling_an_empty_cpu_is_worth_it_although_the_sums_stay_apart() {
    assert_eq!((numbers(&[], "two empty count"), numbers(&[], "two empty better")), (vec![1, 2, 0, 0], vec![0]));
    assert_eq!(
        (numbers(&[SPREAD], "two empty count"), numbers(&[SPREAD], "two empty better")),
        (vec![1, 1, 1, 0], vec![1])
    );
}

#[test]
fn an_imbalance_within_the_percentage_is_left() {
    assert_eq!(numbers(&[("imbalance_pct", 299)], "one and three better"), [1]);
    assert_eq!(numbers(&[("imbalance_pct", 300)], "one and three better"), [0]);
}

#[test]
fn the_idle_class_weighs_three() {
    assert_sums(&[], "idle class", 3_000, &[3_000, 3_000]);
}

/// Random tasks on random CPUs, a quarter of which cannot move: no weight and no task is lost, none is left over, and
/// no CPU has more than the average and the heaviest task that can move, unless it had.
#[test]
fn laws_of_a_division_hold() {
    for order in [0, 1] {
        for rule in [0, 1] {
            assert_eq!(numbers(&[("order", order), ("rule", rule)], "random broken"), [0], "{order} {rule}");
        }
    }
}
