//! Semaphores, locks, channels, barriers and devices: which there are, and what they are without a declaration.

use super::{
    At, Fault, Scenario, Step,
    program::{Flat, RoleInfo},
    requests::Works,
    step::{Effect, unknown_name},
    toml_text::unfit_name,
};
use crate::{
    ids::ObjectId,
    time::Time,
    workload::{Birth, Channel, ChannelKind, Mutex, Objects, Protocol, Semaphore},
};
use std::collections::{BTreeMap, BTreeSet};

/// Messages that a channel holds when its declaration does not say.
const DEFAULT_CAPACITY: u32 = 64;

/// The kinds of shared objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ObjectKind {
    Semaphore,
    Lock,
    Condition,
    Channel,
    Barrier,
    Device,
}

impl ObjectKind {
    const ALL: [ObjectKind; 6] = [
        ObjectKind::Semaphore,
        ObjectKind::Lock,
        ObjectKind::Condition,
        ObjectKind::Channel,
        ObjectKind::Barrier,
        ObjectKind::Device,
    ];

    /// The name, which is also the key of its table in the file.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Semaphore => "semaphore",
            ObjectKind::Lock => "lock",
            ObjectKind::Condition => "condition",
            ObjectKind::Channel => "channel",
            ObjectKind::Barrier => "barrier",
            ObjectKind::Device => "device",
        }
    }
}

/// All objects that a step uses: a condition variable comes with its mutex.
fn objects_of(step: &Step) -> impl Iterator<Item = (ObjectKind, &str)> {
    let mutex = match step.effect() {
        Effect::Conditions(condition) => condition.mutex(),
        _ => None,
    };
    object_of(step).into_iter().chain(mutex.map(|mutex| (ObjectKind::Lock, mutex)))
}

impl Scenario {
    /// The names of all mutexes that steps use.
    pub(crate) fn mutexes(&self) -> BTreeSet<String> {
        fn of<'s>(steps: &'s [Step], into: &mut BTreeSet<&'s str>) {
            for step in steps {
                match step {
                    Step::Repeat { steps, .. } => of(steps, into),
                    step => into
                        .extend(objects_of(step).filter(|(kind, _)| *kind == ObjectKind::Lock).map(|(_, name)| name)),
                }
            }
        }
        let mut names = BTreeSet::new();
        self.tasks
            .iter()
            .flat_map(|task| task.repeated.iter().chain(&task.once))
            .for_each(|steps| of(steps, &mut names));
        names.into_iter().map(String::from).collect()
    }
}

/// The object that a step uses, the first if there are two.
pub(crate) fn object_of(step: &Step) -> Option<(ObjectKind, &str)> {
    match step.effect() {
        Effect::Takes(kind, name, _) | Effect::Gives(kind, name, _) => Some((kind, name)),
        Effect::Locks(name) | Effect::Unlocks(name) => Some((ObjectKind::Lock, name)),
        Effect::Conditions(condition) => Some((ObjectKind::Condition, condition.name())),
        Effect::Meets(name) => Some((ObjectKind::Barrier, name)),
        Effect::Uses(io) => Some((ObjectKind::Device, &io.device)),
        Effect::Works(_)
        | Effect::Sleeps(_)
        | Effect::Paces
        | Effect::Yields
        | Effect::Changes(_)
        | Effect::Spawns(..)
        | Effect::Answers
        | Effect::Exits
        | Effect::Repeats(..) => None,
    }
}

/// All objects that are used, numbered within their kind in the order of their names.
pub(crate) struct Names(BTreeMap<ObjectKind, BTreeMap<String, ObjectId>>);

impl Names {
    /// Collects them; an object that is declared and not used is a fault, since its name is probably misspelt.
    pub fn collect(scenario: &Scenario, roles: &[RoleInfo]) -> Result<Names, Fault> {
        let mut used: BTreeMap<ObjectKind, BTreeSet<&str>> = BTreeMap::new();
        for Flat { step, path, .. } in roles.iter().flat_map(|g| &g.steps) {
            for (kind, name) in objects_of(step) {
                if name.trim().is_empty() {
                    return Err(path.fault(format!("the {} has an empty name: give it one", kind.name())));
                }
                if let Some(why) = unfit_name(name) {
                    return Err(path.fault(why));
                }
                used.entry(kind).or_default().insert(name);
            }
        }
        let nothing = BTreeSet::new();
        for kind in ObjectKind::ALL {
            let used = used.get(&kind).unwrap_or(&nothing);
            if let Some(name) = declared(scenario, kind).into_iter().find(|name| !used.contains(name)) {
                let undeclared = used.iter().copied().filter(|name| !declared(scenario, kind).contains(name));
                let hint = match unknown_name(kind.name(), name, undeclared).split_once(": ") {
                    Some((_, hint)) => format!(": {hint}"),
                    None => ": remove it, or use it".into(),
                };
                let root = At::root();
                let message = format!("no task uses the {} `{name}`{hint}", kind.name());
                return Err(root.key(kind.name()).key(name).fault(message));
            }
        }
        let number =
            |names: BTreeSet<&str>| (0..).map(ObjectId).zip(names).map(|(id, n)| (n.to_string(), id)).collect();
        Ok(Names(used.into_iter().map(|(kind, names)| (kind, number(names))).collect()))
    }

    /// The number of an object that is used.
    pub fn id(&self, kind: ObjectKind, name: &str) -> ObjectId {
        self.0[&kind][name]
    }

    fn of(&self, kind: ObjectKind) -> impl Iterator<Item = &String> {
        self.0.get(&kind).into_iter().flat_map(|names| names.keys())
    }
}

fn declared(scenario: &Scenario, kind: ObjectKind) -> Vec<&str> {
    fn keys<T>(table: &BTreeMap<String, T>) -> Vec<&str> {
        table.keys().map(String::as_str).collect()
    }
    match kind {
        ObjectKind::Semaphore => keys(&scenario.semaphore),
        ObjectKind::Lock => keys(&scenario.lock),
        ObjectKind::Condition => Vec::new(),
        ObjectKind::Channel => keys(&scenario.channel),
        ObjectKind::Barrier => keys(&scenario.barrier),
        ObjectKind::Device => keys(&scenario.device),
    }
}

/// The objects with their properties.
pub(crate) fn objects(scenario: &Scenario, names: &Names, works: &Works, roles: &[RoleInfo]) -> Result<Objects, Fault> {
    let semaphore = |name: &String| Semaphore {
        name: name.clone(),
        initial: scenario.semaphore.get(name).map_or(0, |semaphore| semaphore.initial),
        work: works.of(ObjectKind::Semaphore, name),
    };
    let read = read_locks(roles);
    conditions_go_with_mutexes(roles, &read)?;
    let mutexes = names.of(ObjectKind::Lock).map(|name| mutex(scenario, name, &read)).collect::<Result<_, _>>()?;
    Ok(Objects {
        semaphores: names.of(ObjectKind::Semaphore).map(semaphore).collect(),
        locks: mutexes,
        conditions: names.of(ObjectKind::Condition).cloned().collect(),
        channels: names
            .of(ObjectKind::Channel)
            .map(|name| Ok(Channel { work: works.of(ObjectKind::Channel, name), ..channel(scenario, name)? }))
            .collect::<Result<_, _>>()?,
        barriers: names
            .of(ObjectKind::Barrier)
            .map(|name| Ok((name.clone(), parties(scenario, name, roles)?)))
            .collect::<Result<_, _>>()?,
        devices: names.of(ObjectKind::Device).cloned().collect(),
    })
}

/// The locks that are taken to read.
fn read_locks<'s>(roles: &[RoleInfo<'s>]) -> BTreeSet<&'s str> {
    let steps = roles.iter().flat_map(|role| &role.steps);
    let read = |flat: &Flat<'s>| match flat.step {
        Step::ReadLock { read_lock } => Some(read_lock.as_str()),
        _ => None,
    };
    steps.filter_map(read).collect()
}

/// No condition variable releases a lock that others read meanwhile.
fn conditions_go_with_mutexes(roles: &[RoleInfo], read: &BTreeSet<&str>) -> Result<(), Fault> {
    for Flat { step, path, .. } in roles.iter().flat_map(|role| &role.steps) {
        match step.effect() {
            Effect::Conditions(condition) if condition.mutex().is_some_and(|mutex| read.contains(mutex)) => {
                let message =
                    "this step needs a mutex, and the lock is taken to read elsewhere: give it one of its own";
                return Err(path.fault(message));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A lock as it is declared. What goes with mutexes alone is refused for one that is taken to read.
fn mutex(scenario: &Scenario, name: &str, read: &BTreeSet<&str>) -> Result<Mutex, Fault> {
    let declared = scenario.lock.get(name).cloned().unwrap_or_default();
    let (root, key) = (At::root(), ObjectKind::Lock.name());
    let fault = |at: &str, message: &str| Err(root.key(key).key(name).key(at).fault(message));
    let spin = declared.spin.as_ref().map_or(Time::ZERO, |spin| spin.0);
    match (declared.protocol, read.contains(name)) {
        (Protocol::Inherit, true) => fault("protocol", "a lock that is taken to read has many owners: remove this"),
        (Protocol::Inherit, _) if spin > Time::ZERO => {
            fault("spin", "a task that spins for a mutex boosts no task: remove this, or `protocol`")
        }
        (_, false) if declared.prefer.is_some() => {
            fault("prefer", "no task takes this lock to read: remove this, or add a step { read_lock = … }")
        }
        (protocol, read) => {
            let readers = read.then(|| declared.prefer.unwrap_or_default());
            Ok(Mutex { name: name.into(), protocol, spin, readers })
        }
    }
}

fn channel(scenario: &Scenario, name: &str) -> Result<Channel, Fault> {
    let declared = scenario.channel.get(name).cloned().unwrap_or_default();
    let capacity = declared.capacity.unwrap_or(DEFAULT_CAPACITY);
    if capacity == 0 {
        let (root, key) = (At::root(), ObjectKind::Channel.name());
        let message = "a channel holds at least one message: write capacity = 1 or more";
        return Err(root.key(key).key(name).key("capacity").fault(message));
    }
    let kind = declared.kind.map_or(ChannelKind::Pipe, ChannelKind::from);
    Ok(Channel { name: name.into(), capacity, kind, work: None })
}

/// How many tasks meet at a barrier: as declared, else all that use it. More than there are would wait for ever.
fn parties(scenario: &Scenario, name: &str, roles: &[RoleInfo]) -> Result<u32, Fault> {
    let (root, key) = (At::root(), ObjectKind::Barrier.name());
    let uses = |flat: &&Flat| object_of(flat.step) == Some((ObjectKind::Barrier, name));
    let users: Vec<(&RoleInfo, &Flat)> = roles.iter().filter_map(|g| Some((g, g.steps.iter().find(uses)?))).collect();
    let uncounted = users.iter().find(|(role, _)| !matches!(role.birth, Birth::At(_)));
    let total: u32 = users.iter().filter_map(|(role, _)| role.count).sum();
    match (scenario.barrier.get(name).and_then(|b| b.parties), uncounted) {
        (None, Some((role, first))) => Err(first.path.fault(format!(
            "how many tasks meet at `{name}` is not known, since `{}` has no fixed number: declare [barrier.{name}] \
             with parties = …",
            role.name
        ))),
        (None, None) => Ok(total),
        (Some(0), _) => Err(root
            .key(key)
            .key(name)
            .key("parties")
            .fault("a barrier without parties stops no task: write 1 or more")),
        (Some(parties), None) if parties > total => Err(root.key(key).key(name).key("parties").fault(format!(
            "{parties} tasks shall meet at `{name}`, but only {total} use it: they would wait for ever"
        ))),
        (Some(parties), _) => Ok(parties),
    }
}
