//! From a scenario to an rt-app file.

use crate::{
    distribution::Distribution,
    scenario::{At, Change, Condition, Effect, Fault, KindName, Scenario, ScenarioError, Step, Task, Text},
    time::Time,
    workload::{Class, Origin, Overrun, Protocol},
};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Writes the tasks of a scenario as an rt-app file. What rt-app cannot say is an error that names it. The machine, the
/// seed and the warm-up are no part of an rt-app workload and are left out: rt-app runs on the machine that is there.
pub fn export(scenario: &Scenario) -> Result<String, ScenarioError> {
    scenario.compile()?;
    let tree = file(scenario).map_err(|fault| scenario.located(fault))?;
    let mut text = serde_json::to_string_pretty(&tree).expect("a JSON value has a form as text");
    text.push('\n');
    Ok(text)
}

/// A JSON value whose members keep the order in which they were added: rt-app performs events in that order.
#[derive(Clone)]
enum Json {
    Number(i64),
    Bool(bool),
    Text(String),
    List(Vec<u32>),
    Object(Members),
}

type Members = Vec<(String, Json)>;

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Number(number) => number.serialize(serializer),
            Json::Bool(bool) => bool.serialize(serializer),
            Json::Text(text) => text.serialize(serializer),
            Json::List(list) => list.serialize(serializer),
            Json::Object(members) => serializer.collect_map(members.iter().map(|(key, value)| (key, value))),
        }
    }
}

fn text(text: &str) -> Json {
    Json::Text(text.into())
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(key, value)| (key.into(), value)).into())
}

fn file(scenario: &Scenario) -> Result<Json, Fault> {
    let root = At::root();
    for (name, semaphore) in &scenario.semaphore {
        if semaphore.initial != 0 {
            let (table, message) = (root.key("semaphore"), "rt-app's semaphores start at 0: post at the start instead");
            return Err(table.key(name).key("initial").fault(message));
        }
    }
    let tasks = root.key("task");
    let mut threads = Members::new();
    for (index, task) in scenario.tasks.iter().enumerate() {
        threads.push((task.name.clone(), thread(task, &tasks.index(index))?));
    }
    barriers(scenario, &tasks)?;
    let run = root.key("run");
    let duration = match &scenario.run.duration {
        None => -1,
        Some(t) if t.0.0 % 1_000_000_000 == 0 => (t.0.0 / 1_000_000_000) as i64,
        Some(t) => return Err(run.key("duration").fault(format!("rt-app counts in whole seconds: round {}", t.0))),
    };
    let mut global =
        vec![("duration".to_string(), Json::Number(duration)), ("default_policy".into(), text("SCHED_OTHER"))];
    if inherits(scenario, &root.key("lock"))? {
        global.push(("pi_enabled".into(), Json::Bool(true)));
    }
    let global = Json::Object(global);
    Ok(object([("tasks", Json::Object(threads)), ("global", global)]))
}

/// Whether mutexes have priority inheritance; in rt-app all have it, or none. None spins there.
fn inherits(scenario: &Scenario, at: &At) -> Result<bool, Fault> {
    if let Some((name, _)) = scenario.lock.iter().find(|(_, lock)| lock.spin.is_some()) {
        return Err(at.key(name).key("spin").fault("rt-app's mutexes do not spin: remove this"));
    }
    let inherits = |name: &String| scenario.lock.get(name).is_some_and(|lock| lock.protocol == Protocol::Inherit);
    let mutexes = scenario.mutexes();
    match mutexes.iter().filter(|name| inherits(name)).count() {
        0 => Ok(false),
        count if count == mutexes.len() => Ok(true),
        _ => Err(at.fault("rt-app gives priority inheritance to all mutexes or to none: declare all alike")),
    }
}

fn thread(task: &Task, at: &At) -> Result<Json, Fault> {
    let unsaid = [
        ("start_on", task.start_on.is_some()),
        ("arrivals", task.arrivals.is_some()),
        ("limit", task.limit.is_some()),
        ("command", task.command.is_some()),
        ("kind", task.kind == Some(KindName::Process)),
    ];
    if let Some((key, _)) = unsaid.iter().find(|(_, present)| *present) {
        return Err(at.key(key).fault(format!("rt-app has no equivalent of `{key}`; remove it")));
    }
    let mut thread = Members::new();
    let mut say = |key: &str, value| thread.push((key.into(), value));
    let instances = if task.spawned { 0 } else { task.count.unwrap_or(1) };
    say("instance", Json::Number(instances.into()));
    if let Some(Text(start)) = &task.start {
        say("delay", microseconds(*start, &at.key("start"))?);
    }
    let class = task.class.as_ref().map_or(Class::Other, |c| c.0);
    for (key, value) in scheduling(class, task.nice.unwrap_or(0), at)? {
        say(&key, value);
    }
    if let Some(cpus) = &task.cpus {
        say("cpus", Json::List(cpus.iter().map(|cpu| cpu.0).collect()));
    }
    if let Some(Text(slice)) = &task.slice {
        say("dl-runtime", microseconds(*slice, &at.key("slice"))?);
    }
    if let Some(group) = &task.control_group {
        say("taskgroup", text(&format!("/{group}")));
    }
    let (loops, steps, key) = match (&task.repeated, &task.once) {
        (Some(steps), None) => (-1, steps, "loop"),
        (None, Some(steps)) => (1, steps, "once"),
        _ => return Err(at.fault("the task needs one program to be exported: write `loop` or `once`")),
    };
    let here = at.key(key);
    // Two levels of repetition are all there is: the thread's and the phase's.
    let (loops, phases) = match steps.as_slice() {
        [Step::Repeat { repeat, steps, .. }]
            if loops == 1 && steps.iter().any(|s| matches!(s, Step::Repeat { .. })) =>
        {
            (*repeat as i64, phases(steps, task, &here.index(0).key("steps"))?)
        }
        steps => (loops, phases(steps, task, &here)?),
    };
    say("loop", Json::Number(loops));
    say("phases", phases);
    Ok(Json::Object(thread))
}

/// Policy and priority, or what the class deadline reserves.
fn scheduling(class: Class, nice: i64, at: &At) -> Result<Members, Fault> {
    let (policy, priority) = match class {
        Class::Other => ("SCHED_OTHER", nice),
        Class::Batch => ("SCHED_BATCH", nice),
        Class::Idle => ("SCHED_IDLE", nice),
        Class::Fifo(priority) => ("SCHED_FIFO", priority.into()),
        Class::RoundRobin(priority) => ("SCHED_RR", priority.into()),
        Class::Deadline(_) => ("SCHED_DEADLINE", 0),
    };
    let mut members = vec![("policy".into(), text(policy))];
    match class.reservation() {
        None => members.push(("priority".into(), Json::Number(priority))),
        Some(reservation) => {
            let (runtime, deadline, period) = (reservation.runtime(), reservation.deadline(), reservation.period());
            for (key, time) in [("dl-runtime", runtime), ("dl-deadline", deadline), ("dl-period", period)] {
                members.push((key.into(), microseconds(time, &at.key("class"))?));
            }
        }
    }
    Ok(members)
}

/// What a thread has changed about itself, which rt-app says with the next phase; CPUs it says with each.
#[derive(Default)]
struct Changed {
    cpus: Option<Vec<u32>>,
    class: Option<Class>,
    nice: Option<i64>,
    slice: Option<Json>,
    group: Option<String>,
    /// Its nice value: rt-app takes a slice of a phase only with one.
    nice_now: i64,
}

impl Changed {
    fn set(&mut self, set: &Change, at: &At) -> Result<(), Fault> {
        if let Some(Text(cpus)) = &set.cpus {
            self.cpus = Some(cpus.iter().map(|cpu| cpu.0).collect());
        }
        self.class = set.class.as_ref().map(|class| class.0).or(self.class);
        self.nice = set.nice.or(self.nice);
        self.nice_now = set.nice.unwrap_or(self.nice_now);
        if let Some(Text(slice)) = set.slice {
            self.slice = Some(microseconds(slice, &at.key("slice"))?);
            self.nice = Some(self.nice_now);
        }
        Ok(())
    }

    fn say(&mut self, at: &At) -> Result<Members, Fault> {
        let cpus = self.cpus.clone().map(|cpus| ("cpus", Json::List(cpus)));
        let nice = self.nice.take();
        let priority = || nice.map(|nice| ("priority".into(), Json::Number(nice))).into_iter().collect();
        let class = self.class.take().map_or_else(|| Ok(priority()), |class| scheduling(class, self.nice_now, at))?;
        let slice = self.slice.take().map(|slice| ("dl-runtime", slice));
        let group = self.group.take().map(|group| ("taskgroup", text(&group)));
        let others = [cpus, slice, group].into_iter().flatten().map(|(key, value)| (key.into(), value));
        Ok(others.chain(class).collect())
    }
}

/// Stretches of plain steps and each `repeat` become phases.
fn phases(steps: &[Step], task: &Task, at: &At) -> Result<Json, Fault> {
    let mut phases: Vec<(u32, Members)> = Vec::new();
    let mut changes = Changed { nice_now: task.nice.unwrap_or(0), ..Changed::default() };
    let mut open = false;
    for (index, step) in steps.iter().enumerate() {
        let here = at.index(index);
        match step {
            Step::Repeat { repeat, steps, .. } => {
                let mut events = changes.say(&here)?;
                let inside = here.key("steps");
                for (index, step) in steps.iter().enumerate() {
                    event(step, task, &inside.index(index), &mut events)?;
                }
                phases.push((*repeat, events));
                open = false;
            }
            Step::Set { set } => {
                changes.set(set, &here.key("set"))?;
                open = false;
            }
            Step::Join { join } => {
                changes.group = Some(if join == "/" { join.clone() } else { format!("/{join}") });
                open = false;
            }
            _ => {
                if !open {
                    phases.push((1, changes.say(&here)?));
                    open = true;
                }
                event(step, task, &here, &mut phases.last_mut().expect("one was pushed").1)?;
            }
        }
    }
    if changes.nice.is_some() || changes.class.is_some() || changes.group.is_some() {
        return Err(at.fault("rt-app changes a thread only at the start of a phase: nothing follows this change"));
    }
    let phase = |(number, (times, mut events)): (usize, (u32, Members))| {
        events.insert(0, ("loop".into(), Json::Number(times.into())));
        (format!("phase{number}"), Json::Object(events))
    };
    Ok(Json::Object(phases.into_iter().enumerate().map(phase).collect()))
}

/// Adds the events of a step. Keys are numbered, since a key may occur only once.
fn event(step: &Step, task: &Task, at: &At, events: &mut Members) -> Result<(), Fault> {
    let nothing = || Err(at.fault(format!("rt-app has no event for `{}`: remove it", step.name())));
    let (value, times) = match step.effect() {
        Effect::Works(time) | Effect::Sleeps(time) => (constant(time, &at.key(step.name()))?, 1),
        Effect::Paces => (timer(step, task, at)?, 1),
        Effect::Yields => (text(""), 1),
        Effect::Takes(_, name, times) | Effect::Gives(_, name, times) => (text(name), times),
        Effect::Meets(name) | Effect::Locks(name) | Effect::Unlocks(name) => (text(name), 1),
        Effect::Conditions(Condition::Waits(name, mutex)) => (object([("ref", text(name)), ("mutex", text(mutex))]), 1),
        // rt-app suspends a thread under its own name alone: this is what it does then, under another.
        Effect::Conditions(Condition::Suspends(name)) if name != task.name => {
            let wait = object([("ref", text(name)), ("mutex", text(name))]);
            for (event, value) in [("lock", text(name)), ("wait", wait), ("unlock", text(name))] {
                events.push((format!("{event}{}", events.len()), value));
            }
            return Ok(());
        }
        Effect::Conditions(condition) => (text(condition.name()), 1),
        Effect::Spawns(role, count) => (text(role), count),
        Effect::Repeats(..) => {
            return Err(at
                .key("repeat")
                .fault("rt-app repeats a phase and a thread, nothing inside: unroll this repeat"));
        }
        Effect::Uses(_) | Effect::Changes(_) | Effect::Answers | Effect::Exits => return nothing(),
    };
    let Some(name) = step.kind().rt_app else { return nothing() };
    if times > 1_000 {
        return Err(
            at.fault(format!("rt-app says `{}` once for each: {times} events are too many to write", step.name()))
        );
    }
    for _ in 0..times {
        events.push((format!("{name}{}", events.len()), value.clone()));
    }
    Ok(())
}

/// A timer of rt-app counts from the start of its thread, of the run in a forked one, or from its last use, and so does a
/// `period` that does not skip.
fn timer(step: &Step, task: &Task, at: &At) -> Result<Json, Fault> {
    let Step::Period { period, from, offset, deadline, overrun, timer } = step else { unreachable!("only these pace") };
    if offset.is_some() || deadline.is_some() {
        let key = if offset.is_some() { "offset" } else { "deadline" };
        return Err(at.key(key).fault(format!("rt-app has no equivalent of `{key}`; remove it")));
    }
    let is_of_run = *from == Some(Origin::Run);
    if task.spawned && !is_of_run {
        let message = "a timer of rt-app counts from the start of the run in a forked thread: write `from = \"run\"`";
        return Err(at.key("period").fault(message));
    }
    if is_of_run && task.start.is_some() {
        let message = "a timer of rt-app counts from the delayed start of its thread: remove `from`";
        return Err(at.key("from").fault(message));
    }
    let mode = match overrun.unwrap_or_default() {
        Overrun::CatchUp => "absolute",
        Overrun::Restart => "relative",
        Overrun::Skip => {
            let message = "a timer of rt-app skips nothing: write `overrun` as \"catch_up\" or \"restart\"";
            return Err(at.key("overrun").fault(message));
        }
    };
    let name = match timer.as_deref().unwrap_or_default() {
        unique if unique.starts_with("unique") => unique.into(),
        other => format!("unique{other}"),
    };
    let period = microseconds(period.0, &at.key("period"))?;
    Ok(object([("ref", text(&name)), ("period", period), ("mode", text(mode))]))
}

fn constant(time: &Distribution, at: &At) -> Result<Json, Fault> {
    match time {
        Distribution::Constant(time) => microseconds(*time, at),
        _ => Err(at.fault("rt-app has no random times: write a constant")),
    }
}

fn microseconds(time: Time, at: &At) -> Result<Json, Fault> {
    match time.0 % 1_000 {
        0 => Ok(Json::Number((time.0 / 1_000) as i64)),
        _ => Err(at.fault(format!("rt-app counts in whole microseconds: round {time}"))),
    }
}

/// rt-app counts the parties itself, each use by each instance; it must come to the number here.
fn barriers(scenario: &Scenario, tasks: &At) -> Result<(), Fault> {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    for (index, task) in scenario.tasks.iter().enumerate() {
        let instances = if task.spawned { 0 } else { task.count.unwrap_or(1) as u64 };
        let mut used = BTreeMap::new();
        barrier_uses(task.repeated.iter().chain(&task.once).flatten(), &mut used);
        for (name, uses) in used {
            let count = counts.entry(name).or_insert(Count { first: index, tasks: 0, uses: 0 });
            count.tasks += instances;
            count.uses += instances * uses;
        }
    }
    for (name, Count { first, tasks: all, uses }) in counts {
        let parties = scenario.barrier.get(name).and_then(|b| b.parties).map_or(all, u64::from);
        if uses != parties {
            let message =
                format!("rt-app counts each use of the barrier `{name}`, so {uses} would meet there, not {parties}");
            return Err(tasks.index(first).fault(message));
        }
    }
    Ok(())
}

/// The uses of a barrier: the first role, all tasks, and all their uses.
struct Count {
    first: usize,
    tasks: u64,
    uses: u64,
}

fn barrier_uses<'s>(steps: impl Iterator<Item = &'s Step>, used: &mut BTreeMap<&'s str, u64>) {
    for step in steps {
        match step {
            Step::Barrier { barrier } => *used.entry(barrier).or_default() += 1,
            Step::Repeat { steps, .. } => barrier_uses(steps.iter(), used),
            _ => {}
        }
    }
}
