//! Checks of the tasks against each other: how many there are, which roles spawn which, which locks are held.

use super::{
    At, Fault, Step,
    compile::MAX_TASKS,
    objects::ObjectKind,
    program::RoleInfo,
    step::{Condition, Effect},
};
use crate::{
    ids::RoleId,
    time::Time,
    workload::{Birth, MAX_TASKS_AT_ONCE},
};
use std::collections::BTreeMap;

/// Runs all of them.
pub(crate) fn run(roles: &[RoleInfo], numbers: &BTreeMap<&str, RoleId>, at: &At) -> Result<(), Fault> {
    counts(roles, at)?;
    population(roles, numbers, at)?;
    for (index, role) in roles.iter().enumerate() {
        let here = at.index(index);
        if role.key == RECORDED {
            continue;
        }
        locks_of(role, &here.key(role.key))?;
        timeless_steps(role.body, &here.key(role.key))?;
    }
    Ok(())
}

/// The key of a program that was recorded: what has happened can happen.
const RECORDED: &str = "recorded";

/// The most steps of a `repeat` between which no time goes by.
const TIMELESS_MAX: u64 = 10_000_000;

/// How many steps these are, if they surely take no time and never wait.
fn timeless_steps(steps: &[Step], at: &At) -> Result<Option<u64>, Fault> {
    let mut total = Some(0u64);
    for (index, step) in steps.iter().enumerate() {
        let here = at.index(index);
        let count = match step.effect() {
            Effect::Repeats(times, steps) => {
                let each = timeless_steps(steps, &here.key("steps"))?;
                let all = each.map(|each| each.saturating_mul(u64::from(times)));
                if let Some(all) = all.filter(|all| *all > TIMELESS_MAX) {
                    let message = format!(
                        "{all} steps that take no time are too many: at most {TIMELESS_MAX} fit at one instant; add a compute \
                         or a sleep, or repeat them less"
                    );
                    return Err(here.key("repeat").fault(message));
                }
                all
            }
            Effect::Yields | Effect::Changes(_) | Effect::Answers | Effect::Locks(_) | Effect::Unlocks(_) => Some(1),
            Effect::Gives(ObjectKind::Semaphore, ..) => Some(1),
            Effect::Works(length) | Effect::Sleeps(length) if length.mean_ns() == 0.0 => Some(1),
            Effect::Conditions(condition) => (!condition.waits()).then_some(1),
            Effect::Works(_)
            | Effect::Sleeps(_)
            | Effect::Paces
            | Effect::Uses(_)
            | Effect::Gives(..)
            | Effect::Takes(..)
            | Effect::Meets(_)
            | Effect::Spawns(..)
            | Effect::Exits => None,
        };
        total = total.zip(count).map(|(total, count)| total.saturating_add(count));
    }
    Ok(total)
}

/// Not more tasks than fit.
fn counts(roles: &[RoleInfo], at: &At) -> Result<(), Fault> {
    let mut total = 0;
    for (index, role) in roles.iter().enumerate() {
        if matches!(role.birth, Birth::At(_)) {
            total += role.count.unwrap_or(0) as u64;
        }
        if total > MAX_TASKS_AT_ONCE {
            let message = format!("{total} tasks are too many: at most {MAX_TASKS_AT_ONCE} fit");
            return Err(at.index(index).key("count").fault(message));
        }
    }
    Ok(())
}

/// How many tasks there are if every program runs through once; spawns multiply. Parents come before the roles that
/// they spawn; where no such order exists the spawns form a cycle.
fn population(roles: &[RoleInfo], numbers: &BTreeMap<&str, RoleId>, at: &At) -> Result<(), Fault> {
    let mut totals: Vec<u64> = roles
        .iter()
        .map(|g| match &g.birth {
            Birth::At(_) => g.count.unwrap_or(0) as u64,
            Birth::Arrivals { .. } => 1,
            Birth::Listed(times) => times.len() as u64,
            Birth::Spawned => 0,
        })
        .collect();
    let spawns = |role: usize| roles[role].steps.iter().filter_map(|flat| Some((flat, spawn(flat.step, numbers)?)));
    let mut spawners = vec![0usize; roles.len()];
    for (_, (to, _)) in (0..roles.len()).flat_map(spawns) {
        spawners[to] += 1;
    }
    if let Some(index) = (0..roles.len()).find(|&g| roles[g].birth == Birth::Spawned && spawners[g] == 0) {
        let message = format!("no task spawns `{}`: add a {{ spawn = \"{0}\" }} step somewhere", roles[index].name);
        return Err(at.index(index).key("spawned").fault(message));
    }
    let mut ready: Vec<usize> = (0..roles.len()).filter(|&g| spawners[g] == 0).collect();
    while let Some(role) = ready.pop() {
        for (flat, (to, count)) in spawns(role) {
            let at_once = totals[role].saturating_mul(count);
            if at_once > MAX_TASKS_AT_ONCE {
                let message = format!("{at_once} tasks at one instant are too many: at most {MAX_TASKS_AT_ONCE} fit");
                return Err(flat.path.fault(message));
            }
            totals[to] = totals[to].saturating_add(totals[role].saturating_mul(count).saturating_mul(flat.times));
            if totals[to] > MAX_TASKS {
                let message =
                    format!("{} tasks `{}` are too many: at most {MAX_TASKS} fit", totals[to], roles[to].name);
                return Err(flat.path.fault(message));
            }
            spawners[to] -= 1;
            if spawners[to] == 0 {
                ready.push(to);
            }
        }
    }
    match (0..roles.len()).find(|&g| spawners[g] > 0) {
        Some(waiting) => Err(cycle(waiting, roles, numbers, &spawners)),
        None => Ok(()),
    }
}

/// Not more tasks than fit when those that arrive are more than the CPUs can serve: an estimate from the means.
pub(crate) fn arrivals(roles: &[RoleInfo], cpus: u32, duration: Time, at: &At) -> Result<(), Fault> {
    for (index, role) in roles.iter().enumerate() {
        let Birth::Arrivals { first, gap } = &role.birth else { continue };
        let length_ns = duration.since(*first).ns() as f64;
        let most = role.count.map_or(f64::INFINITY, f64::from);
        let arrive = (length_ns / gap.mean_ns().max(1.0)).min(most);
        let served = length_ns * f64::from(cpus) / work_ns(role).max(1.0);
        let left = arrive - served;
        if left > MAX_TASKS_AT_ONCE as f64 {
            let message = format!(
                "about {arrive:.0} tasks arrive and {cpus} CPUs can serve {served:.0} of them: {left:.0} would be there \
                 at the end, and at most {MAX_TASKS_AT_ONCE} fit; write longer gaps, less work, a `limit` or a shorter run"
            );
            return Err(at.index(index).key("arrivals").fault(message));
        }
    }
    Ok(())
}

/// What a pass of a program computes on average.
fn work_ns(role: &RoleInfo) -> f64 {
    role.steps.iter().map(|flat| flat.step.work_ns() * flat.times as f64).sum()
}

/// The role that a step spawns, and how many.
fn spawn(step: &Step, numbers: &BTreeMap<&str, RoleId>) -> Option<(usize, u64)> {
    match step.effect() {
        Effect::Spawns(role, count) => Some((numbers[role].index(), count as u64)),
        _ => None,
    }
}

/// Goes from a role that still has spawners to one of them, again and again, until one comes a second time.
fn cycle(start: usize, roles: &[RoleInfo], numbers: &BTreeMap<&str, RoleId>, spawners: &[usize]) -> Fault {
    let mut spawner_of = vec![None; roles.len()];
    for open in (0..roles.len()).filter(|&g| spawners[g] > 0) {
        for flat in &roles[open].steps {
            if let Some((to, _)) = spawn(flat.step, numbers) {
                spawner_of[to].get_or_insert((open, flat));
            }
        }
    }
    let mut way = vec![start];
    let mut visited = vec![None; roles.len()];
    visited[start] = Some(0);
    loop {
        let (spawner, flat) =
            spawner_of[way[way.len() - 1]].expect("a role is left over only when one that is left over spawns it");
        way.push(spawner);
        if let Some(first) = visited[spawner].replace(way.len() - 1) {
            let mut names: Vec<&str> = way[first..].iter().rev().map(|&g| roles[g].name).collect();
            if names.len() > 10 {
                names.splice(5..names.len() - 4, ["…"]);
            }
            let cycle = names.join(" → ");
            return flat
                .path
                .fault(format!("the spawns form a cycle, {cycle}: tasks would grow without bound; break it"));
        }
    }
}

/// A program takes no lock twice, releases only what it holds and keeps none.
fn locks_of(role: &RoleInfo, at: &At) -> Result<(), Fault> {
    let mut held = Vec::new();
    locks(role.body, at, &mut held)?;
    match held.first() {
        Some(lock) if role.repeats => {
            Err(at.fault(format!("a pass ends with `{lock}` still held, so the next waits for itself: unlock it")))
        }
        Some(lock) => {
            Err(at.fault(format!("the task ends with `{lock}` still held, and no other task gets it then: unlock it")))
        }
        None => Ok(()),
    }
}

fn locks<'s>(steps: &'s [Step], at: &At, held: &mut Vec<&'s str>) -> Result<(), Fault> {
    for (index, step) in steps.iter().enumerate() {
        let here = at.index(index);
        match step.effect() {
            Effect::Locks(lock) if held.contains(&lock) => {
                return Err(
                    here.fault(format!("`{lock}` is already held here, so the task waits for itself: unlock it first"))
                );
            }
            Effect::Locks(lock) => held.push(lock),
            Effect::Unlocks(unlock) => match held.iter().position(|lock| *lock == unlock) {
                Some(position) => drop(held.remove(position)),
                None => return Err(here.fault(format!("`{unlock}` is not held here: lock it first"))),
            },
            Effect::Conditions(Condition::Waits(_, mutex)) if !held.contains(&mutex) => {
                return Err(
                    here.fault(format!("`{mutex}` is not held here, so no task can wait with it: lock it first"))
                );
            }
            Effect::Conditions(Condition::Suspends(name) | Condition::Resumes(name)) if held.contains(&name) => {
                let message = format!("the mutex `{name}` is held here, which this step takes, too: unlock it first");
                return Err(here.fault(message));
            }
            Effect::Repeats(repeat, steps) => {
                let mut before = held.clone();
                locks(steps, &here.key("steps"), held)?;
                before.sort_unstable();
                let mut after = held.clone();
                after.sort_unstable();
                if repeat > 1 && before != after {
                    return Err(here.fault("a pass ends with other locks than it began with: the next cannot run so"));
                }
            }
            Effect::Conditions(_)
            | Effect::Works(_)
            | Effect::Sleeps(_)
            | Effect::Paces
            | Effect::Changes(_)
            | Effect::Uses(_)
            | Effect::Yields
            | Effect::Takes(..)
            | Effect::Gives(..)
            | Effect::Meets(_)
            | Effect::Spawns(..)
            | Effect::Answers
            | Effect::Exits => {}
        }
    }
    Ok(())
}
