//! Tasks that compute, among themselves and next to tasks that wake up: demand and its timing decide which one runs.

use super::dice::Dice;
use super::draft::{Draft, compute, looping, numbered, repeat, sleep, tasks};
use super::size::{Hogs, PACE, longest, needed, scaled};
use schedlab_model::count::counted;
use schedlab_model::scenario::Task;
use schedlab_model::time::Time;

const MS: fn(u64) -> Time = Time::from_ms;
const US: fn(u64) -> Time = Time::from_us;

/// Roles that only compute.
pub(super) fn compute_only(dice: &mut Dice, draft: &mut Draft) {
    let roles = dice.between(2, 4);
    let mut counts: Vec<u32> = (0..roles).map(|_| dice.between(1, 1 + draft.cpus)).collect();
    let few = draft.cpus.saturating_sub(counts.iter().sum());
    counts[0] += if dice.chance(85) { few + 1 } else { 0 };
    let total = counts.iter().sum();
    draft.say(format!("{} that always compute, in requests of different lengths.", counted(total, "task")));
    for (index, &count) in (0..).zip(&counts) {
        let mean = dice.length(US(500), longest(draft.cpus, count, total));
        draft.task(looping(&numbered("worker", index, roles), count, vec![compute(dice.around(mean))]));
    }
}

/// Periodic sleepers, some next to hogs.
pub(super) fn timers(dice: &mut Dice, draft: &mut Draft) {
    let roles = dice.between(1, 3);
    draft.say(format!("{} of tasks that sleep and compute for moments.", counted(roles, "role")));
    let hogs = match dice.between(0, 9) {
        0..=3 => Hogs::NONE,
        4..=6 => draft.hogs(dice, 100),
        _ => draft.endless_hogs(dice),
    };
    for index in 0..roles {
        wakers(dice, draft, &numbered("timer", index, roles), roles, hogs);
    }
}

/// One of `roles` roles that together take at most 55 % of the machine, next to these hogs.
pub(super) fn wakers<'d>(dice: &mut Dice, draft: &'d mut Draft, name: &str, roles: u32, hogs: Hogs) -> &'d mut Task {
    let pause = dice.length(MS(5), MS(27));
    let count = dice.between(1, 2 * draft.cpus).max(needed(pause + hogs.round(draft.cpus) + MS(2)));
    let most = scaled(pause, u64::from(draft.cpus * 55), u64::from(roles * count * 100));
    let work = dice.length(US(200), most.min(MS(4)));
    // One of the two is random at least.
    let (pause, work) = match dice.chance(50) {
        true => (dice.around(pause), dice.near(work)),
        false => (dice.near(pause), dice.around(work)),
    };
    draft.task(looping(name, count, vec![sleep(pause), compute(work)]))
}

/// Hogs and wakers of different nice values.
pub(super) fn nice(dice: &mut Dice, draft: &mut Draft) {
    let roles = dice.between(2, 4);
    let least = dice.between(0, 26) as i64 - 15;
    let hogs: Vec<(i64, u32)> = (0..roles)
        .map(|_| (least + i64::from(dice.between(0, 8)), dice.between(1, draft.cpus.div_ceil(2) + 1)))
        .collect();
    let total = hogs.iter().map(|(_, count)| count).sum();
    let weights: u64 = hogs.iter().map(|&(nice, count)| weight(nice) * u64::from(count)).sum();
    let beside = dice.chance(60);
    draft.say(format!("{} of different nice values that always compute.", counted(total, "task")));
    for (index, &(nice, count)) in (0..).zip(&hogs) {
        // By weight or by heads, whichever is less; wakers take half.
        let cpus = u64::from(draft.cpus.min(total));
        let by_weight = scaled(PACE, cpus * weight(nice) * u64::from(count), weights);
        let share = by_weight.min(longest(draft.cpus, count, total));
        let mean = dice.length(US(200), scaled(share, 1, if beside { 2 } else { 1 }));
        let task = looping(&numbered("hog", index, roles), count, vec![compute(dice.around(mean))]);
        draft.task(Task { nice: Some(nice), ..task });
    }
    if beside {
        let nice = (least + i64::from(dice.between(0, 12)) - 4).clamp(-15, 19);
        wakers(dice, draft, "waker", 1, Hogs { count: total, burst: Time::NEVER }).nice = Some(nice);
        draft.say(format!("Beside them tasks of nice {nice} that wake up for moments."));
    }
}

/// What a nice value is worth in Linux: each step is a factor of about 1.25.
fn weight(nice: i64) -> u64 {
    (-20..nice).fold(88_761, |weight, _| weight * 4 / 5)
}

/// Tasks whose behaviour changes within each request.
pub(super) fn phases(dice: &mut Dice, draft: &mut Draft) {
    let roles = dice.between(1, 2);
    draft.say("Tasks that wake up for moments several times and then compute for long.".into());
    for index in 0..roles {
        let name = numbered("changing", index, roles);
        // Many moments next to tasks of another kind would each wait for these.
        let (times, moment, pause) = match roles == 2 || dice.chance(40) {
            true => (dice.between(2, 5), dice.length(US(300), US(1500)), dice.length(MS(2), US(5600))),
            false => (dice.between(8, 20), dice.length(US(100), US(220)), dice.length(US(300), US(820))),
        };
        let long = dice.length(MS(3), MS(if roles == 1 { 12 } else { 5 }));
        let pass = scaled(moment + pause, u64::from(times), 1) + scaled(long, 3, 1);
        let count = dice.between(1, draft.cpus + 2).max(needed(scaled(pass, 4, 3)));
        let moments = vec![compute(dice.near(moment)), sleep(dice.around(pause))];
        let mut steps = vec![repeat(times, moments), compute(dice.around(long))];
        if dice.chance(40) {
            let rest = dice.length(MS(3), MS(12));
            steps.push(sleep(dice.around(rest)));
        }
        draft.task(looping(&name, count, steps));
        draft.say(format!("{} {times} times {moment} and then {long}.", tasks(count, "task", "compute")));
    }
}
