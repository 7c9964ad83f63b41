//! Tasks that wait for one another: at locks, at semaphores, at barriers.

use super::dice::Dice;
use super::draft::{Draft, barrier, compute, lock, looping, numbered, post, sleep, tasks, unlock, wait};
use super::size::{Hogs, PACE, longest, needed, scaled};
use schedlab_model::count::counted;
use schedlab_model::scenario::Step;
use schedlab_model::time::Time;

const MS: fn(u64) -> Time = Time::from_ms;
const US: fn(u64) -> Time = Time::from_us;

/// Tasks that compute outside and under locks.
pub(super) fn locks(dice: &mut Dice, draft: &mut Draft) {
    let roles = dice.between(1, 2);
    let sleeping = dice.chance(60);
    let counts: Vec<u32> = (0..roles).map(|_| dice.between(2, 2 + draft.cpus)).collect();
    let total = counts.iter().sum();
    let locks: &[&str] = if dice.chance(50) { &["table"] } else { &["table", "log"] };
    let plural = if locks.len() == 1 { "lock" } else { "locks" };
    let names = locks.join(" and ");
    draft.say(format!("{} outside and under the {plural} {names}.", tasks(total, "task", "compute")));
    for (index, &count) in (0..).zip(&counts) {
        let most = longest(draft.cpus, count, total);
        let outside = dice.length(US(500), scaled(most, 1, 2).min(MS(8)));
        // Together they hold a lock at most 60 % of the time.
        let held = scaled(outside, 6, u64::from(10 * draft.cpus.min(total)) * locks.len() as u64);
        let held = dice.length(US(50), held);
        let mut steps = vec![compute(dice.around(outside))];
        steps.extend(critical(dice, locks, held));
        if !sleeping {
            draft.task(looping(&numbered("worker", index, roles), count, steps));
            continue;
        }
        let pause = dice.length(MS(3), MS(18));
        steps.push(sleep(dice.around(pause)));
        let pass = pause + scaled(outside + held + held, u64::from(total), u64::from(draft.cpus));
        draft.task(looping(&numbered("worker", index, roles), count.max(needed(pass)), steps));
    }
}

/// What is done under the locks: one after the other, or the second within the first.
fn critical(dice: &mut Dice, locks: &[&str], held: Time) -> Vec<Step> {
    let within = dice.chance(50);
    match locks {
        &[outer, inner] if within => vec![
            lock(outer),
            compute(dice.around(held)),
            lock(inner),
            compute(dice.near(held)),
            unlock(inner),
            unlock(outer),
        ],
        _ => locks.iter().flat_map(|name| [lock(name), compute(dice.around(held)), unlock(name)]).collect(),
    }
}

/// Tickets, or a queue of jobs that one posts and others wait for.
pub(super) fn semaphores(dice: &mut Dice, draft: &mut Draft) {
    if dice.chance(45) { tickets(dice, draft) } else { jobs(dice, draft) }
}

fn tickets(dice: &mut Dice, draft: &mut Draft) {
    let count = dice.between(2, 2 + 2 * draft.cpus);
    let initial = dice.between(1, count.min(2 * draft.cpus));
    let hogs = if dice.chance(40) { draft.hogs(dice, 100) } else { Hogs::NONE };
    let pause = dice.length(MS(2), MS(18));
    let work = dice.length(US(300), MS(5));
    let pass = pause + scaled(work, u64::from(count), u64::from(initial.min(draft.cpus)));
    let count = count.max(needed(pass + scaled(hogs.round(draft.cpus), 2, 1)));
    draft.semaphore("ticket", initial);
    draft.say(format!("{} {work} with one of {}.", tasks(count, "task", "compute"), counted(initial, "ticket")));
    let steps = vec![sleep(dice.around(pause)), wait("ticket"), compute(dice.around(work)), post("ticket", 1)];
    draft.task(looping("worker", count, steps));
}

fn jobs(dice: &mut Dice, draft: &mut Draft) {
    let hogs = if dice.chance(40) { draft.hogs(dice, 100) } else { Hogs::NONE };
    let pause = dice.length(MS(4), MS(18));
    let posters = dice.between(1, 2).max(needed(pause + hogs.round(draft.cpus) + MS(2)));
    let times = dice.between(1, 3);
    let workers = dice.between(1, 3 * draft.cpus);
    let load = dice.between(30, if hogs.count == 0 { 70 } else { 45 });
    let cpus = draft.cpus.min(workers);
    let work = scaled(pause, u64::from(load * cpus), u64::from(100 * posters * times));
    let work = dice.length(US(200), work.min(MS(12)));
    draft.semaphore("jobs", 0);
    let who = tasks(workers, "worker", "wait");
    draft.say(format!("{who} for jobs of {work}, which are posted {times} at a time."));
    let find = dice.length(US(50), US(220));
    let steps = vec![sleep(dice.around(pause)), compute(dice.near(find)), post("jobs", times)];
    draft.task(looping("poster", posters, steps));
    draft.task(looping("worker", workers, vec![wait("jobs"), compute(dice.around(work))]));
}

/// Phases of tasks that wait for each other at barriers.
pub(super) fn conditions(dice: &mut Dice, draft: &mut Draft) {
    let roles = dice.between(1, 3);
    let phases: &[&str] = if dice.chance(60) { &["begin", "end"] } else { &["end"] };
    let hogs = if dice.chance(30) { draft.hogs(dice, 100) } else { Hogs::NONE };
    let pause = if dice.chance(50) { dice.length(MS(1), MS(5)) } else { Time::ZERO };
    let waits = scaled(hogs.round(draft.cpus), phases.len() as u64, 1) + pause;
    let least = needed(waits + MS(12));
    let counts: Vec<u32> = (0..roles).map(|_| least + dice.between(u32::from(roles == 1), draft.cpus)).collect();
    let total: u32 = counts.iter().sum();
    // What is left of a pass for computing; the slowest of a phase takes about twice the mean.
    let rest = scaled(PACE, u64::from(least), 1) - waits;
    let most = scaled(rest, u64::from(draft.cpus.min(total)), 2 * u64::from(total) * phases.len() as u64);
    let names = phases.join(" and ");
    draft.say(format!("{} with unequal work meet at {names} of each phase.", counted(total, "task")));
    for (index, &count) in (0..).zip(&counts) {
        let work = |dice: &mut Dice| {
            let mean = dice.length(scaled(most, 1, 4), most);
            compute(dice.around(mean))
        };
        let mut steps: Vec<Step> = phases.iter().flat_map(|name| [work(dice), barrier(name)]).collect();
        if index == 0 && pause > Time::ZERO {
            steps.insert(0, sleep(dice.around(pause)));
        }
        draft.task(looping(&numbered("member", index, roles), count, steps));
    }
}
