//! Checks that time continues: no task waits for what can never come, and no loop turns without any time passing.

use super::{
    Fault, Scenario, Step,
    objects::{Names, ObjectKind, object_of},
    program::{Flat, RoleInfo},
    quantity::can_take_time,
    step::{Effect, unknown_name},
};
use crate::{
    ids::RoleId,
    workload::{Birth, Objects},
};
use std::collections::{BTreeMap, BTreeSet};

/// Runs both.
pub(crate) fn run(
    scenario: &Scenario,
    roles: &[RoleInfo],
    numbers: &BTreeMap<&str, RoleId>,
    names: &Names,
    objects: &Objects,
) -> Result<(), Fault> {
    nobody_waits_for_ever(scenario, roles, numbers, names, objects)?;
    time_passes(roles, names, objects)
}

/// Runs all programs at once as far as they come, if any task can take whatever was ever given. A program that still
/// stops waits for something that is never given, for itself, or in a ring with others.
fn nobody_waits_for_ever(
    scenario: &Scenario,
    roles: &[RoleInfo],
    numbers: &BTreeMap<&str, RoleId>,
    names: &Names,
    objects: &Objects,
) -> Result<(), Fault> {
    let initial = |name: &str| objects.semaphores[names.id(ObjectKind::Semaphore, name).index()].initial;
    let mut born: Vec<bool> = roles.iter().map(|g| g.birth != Birth::Spawned).collect();
    let mut reached = vec![0; roles.len()];
    let from_outside = scenario.sources.iter().map(|source| (ObjectKind::Channel, source.channel.as_str()));
    let mut given: BTreeSet<_> = from_outside.collect();
    for order in sweeps(roles.len()) {
        let mut moved = false;
        for index in order {
            let role = &roles[index];
            while born[index] && reached[index] < role.steps.len() {
                match role.steps[reached[index]].step.effect() {
                    Effect::Takes(kind, name, _) => {
                        let is_there = kind == ObjectKind::Semaphore && initial(name) > 0;
                        if !is_there && !given.contains(&(kind, name)) {
                            break;
                        }
                    }
                    Effect::Conditions(condition) => {
                        let object = (ObjectKind::Condition, condition.name());
                        if !condition.waits() {
                            given.insert(object);
                        } else if !given.contains(&object) {
                            break;
                        }
                    }
                    Effect::Gives(kind, name, _) => drop(given.insert((kind, name))),
                    Effect::Spawns(role, _) => born[numbers[role].index()] = true,
                    Effect::Works(_)
                    | Effect::Sleeps(_)
                    | Effect::Paces
                    | Effect::Uses(_)
                    | Effect::Yields
                    | Effect::Meets(_)
                    | Effect::Locks(_)
                    | Effect::Unlocks(_)
                    | Effect::Changes(_)
                    | Effect::Answers
                    | Effect::Exits
                    | Effect::Repeats(..) => {}
                }
                reached[index] += 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    let stuck = |(role, &reached): (&RoleInfo, &usize)| role.steps.get(reached).map(|flat| stands_still(flat, roles));
    match roles.iter().zip(&reached).zip(&born).filter(|(_, born)| **born).find_map(|(pair, _)| stuck(pair)) {
        Some(fault) => Err(fault),
        None => every_message_is_taken(roles),
    }
}

/// Forwards and backwards in turn, so that a long chain of roles is done in two sweeps whatever its direction.
fn sweeps(roles: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..).map(move |sweep| if sweep % 2 == 0 { (0..roles).collect() } else { (0..roles).rev().collect() })
}

fn stands_still(flat: &Flat, roles: &[RoleInfo]) -> Fault {
    let (kind, name) = object_of(flat.step).expect("only steps with an object wait");
    let gives = |step: &'_ Step| match step.effect() {
        Effect::Gives(given, ..) => given == kind,
        Effect::Conditions(condition) => kind == ObjectKind::Condition && !condition.waits(),
        _ => false,
    };
    let givers = roles.iter().flat_map(|g| &g.steps).map(|f| f.step).filter(|step| gives(step));
    let known: BTreeSet<&str> = givers.filter_map(object_of).map(|(_, name)| name).collect();
    let verb = match kind {
        ObjectKind::Semaphore => "posts",
        ObjectKind::Condition => "signals",
        _ => "sends to",
    };
    if known.contains(name) {
        return flat.path.fault(format!(
            "each task that {verb} `{name}` waits first, so all wait for each other: give before taking, or set `initial`"
        ));
    }
    let hint = match unknown_name(kind.name(), name, known).split_once(": ") {
        Some((_, hint)) => hint.to_string(),
        None => format!("add the step that {verb} it"),
    };
    flat.path.fault(format!("no task {verb} `{name}`, so this waits for ever: {hint}"))
}

/// A channel from which no task takes is full some time.
fn every_message_is_taken(roles: &[RoleInfo]) -> Result<(), Fault> {
    let all = || roles.iter().flat_map(|g| &g.steps);
    let taken: BTreeSet<&str> = all().filter_map(|flat| received(flat.step)).collect();
    for flat in all() {
        if let Effect::Gives(ObjectKind::Channel, name, _) = flat.step.effect()
            && !taken.contains(name)
        {
            let message =
                format!("no task receives from `{name}`, so this waits for ever when it is full: add a `recv`");
            return Err(flat.path.fault(message));
        }
    }
    Ok(())
}

/// The channel from which a step takes messages.
pub(crate) fn received(step: &Step) -> Option<&str> {
    match step.effect() {
        Effect::Takes(ObjectKind::Channel, name, _) => Some(name),
        _ => None,
    }
}

/// Each loop takes time in every pass: by itself, or because it waits for a role that does.
fn time_passes(roles: &[RoleInfo], names: &Names, objects: &Objects) -> Result<(), Fault> {
    let mut quick: Vec<bool> = roles.iter().map(|g| g.repeats && !g.steps.iter().any(|f| takes_time(f.step))).collect();
    let mut givers = BTreeMap::new();
    for role in roles.iter().zip(&quick).filter_map(|(g, quick)| quick.then_some(g)) {
        gifts(role).into_iter().for_each(|(gift, tasks)| *givers.entry(gift).or_insert(0) += tasks);
    }
    for order in sweeps(roles.len()) {
        let mut moved = false;
        for index in order {
            let role = &roles[index];
            if quick[index] && role.steps.iter().any(|flat| is_held_up(flat.step, &givers, names, objects)) {
                gifts(role).into_iter().for_each(|(gift, tasks)| *givers.entry(gift).or_insert(0) -= tasks);
                quick[index] = false;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    match roles.iter().zip(quick).find(|(_, quick)| *quick) {
        Some((role, _)) if role.steps.is_empty() => Ok(()), // said elsewhere
        Some((role, _)) => Err(role.steps[0].path.fault(format!(
            "a pass of the loop of `{}` can take no time at all, so it would never end: add a compute or a sleep",
            role.name
        ))),
        None => Ok(()),
    }
}

/// What one task does that another waits for.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Gift<'s> {
    Given(ObjectKind, &'s str),
    Room(&'s str),
    Arrival(&'s str),
}

/// What a role gives, and how many tasks of it do.
fn gifts<'s>(role: &RoleInfo<'s>) -> BTreeMap<Gift<'s>, u64> {
    let gift = |flat: &Flat<'s>| match flat.step.effect() {
        Effect::Gives(kind, name, _) => Some(Gift::Given(kind, name)),
        Effect::Takes(ObjectKind::Channel, name, _) => Some(Gift::Room(name)),
        Effect::Meets(name) => Some(Gift::Arrival(name)),
        Effect::Conditions(condition) => {
            (!condition.waits()).then(|| Gift::Given(ObjectKind::Condition, condition.name()))
        }
        Effect::Takes(..)
        | Effect::Works(_)
        | Effect::Sleeps(_)
        | Effect::Paces
        | Effect::Uses(_)
        | Effect::Yields
        | Effect::Locks(_)
        | Effect::Unlocks(_)
        | Effect::Changes(_)
        | Effect::Spawns(..)
        | Effect::Answers
        | Effect::Exits
        | Effect::Repeats(..) => None,
    };
    // Any number of tasks can be spawned: more than a barrier has parties.
    let tasks = if role.birth == Birth::Spawned { 1 << 32 } else { role.count.unwrap_or(1) as u64 };
    role.steps.iter().filter_map(gift).map(|gift| (gift, tasks)).collect()
}

fn takes_time(step: &Step) -> bool {
    match step.effect() {
        Effect::Paces => true,
        Effect::Works(time) | Effect::Sleeps(time) => can_take_time(time),
        Effect::Uses(io) => can_take_time(&io.service),
        Effect::Yields
        | Effect::Takes(..)
        | Effect::Gives(..)
        | Effect::Meets(_)
        | Effect::Conditions(_)
        | Effect::Locks(_)
        | Effect::Unlocks(_)
        | Effect::Changes(_)
        | Effect::Spawns(..)
        | Effect::Answers
        | Effect::Exits
        | Effect::Repeats(..) => false,
    }
}

/// Whether a step waits for a task that takes time, given how many tasks of loops that take none give each gift.
fn is_held_up(step: &Step, givers: &BTreeMap<Gift, u64>, names: &Names, objects: &Objects) -> bool {
    let quick = |gift| givers.get(&gift).copied().unwrap_or(0);
    match step.effect() {
        Effect::Takes(kind, name, _) => quick(Gift::Given(kind, name)) == 0,
        Effect::Gives(ObjectKind::Channel, name, _) => quick(Gift::Room(name)) == 0,
        Effect::Meets(barrier) => {
            let (_, parties) = objects.barriers[names.id(ObjectKind::Barrier, barrier).index()];
            quick(Gift::Arrival(barrier)) < parties as u64
        }
        Effect::Conditions(condition) if condition.waits() => {
            quick(Gift::Given(ObjectKind::Condition, condition.name())) == 0
        }
        Effect::Conditions(_)
        | Effect::Gives(..)
        | Effect::Works(_)
        | Effect::Sleeps(_)
        | Effect::Paces
        | Effect::Uses(_)
        | Effect::Yields
        | Effect::Locks(_)
        | Effect::Unlocks(_)
        | Effect::Changes(_)
        | Effect::Spawns(..)
        | Effect::Answers
        | Effect::Exits
        | Effect::Repeats(..) => false,
    }
}
