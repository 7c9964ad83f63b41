//! From a scenario to a workload: what is said alone is checked here, what is said together in the checks.

use super::{
    At, Fault, Machine, Run, Scenario, Task, Text, attributes, check, control_group, hotplug, objects,
    program::{self, RoleInfo},
    quantity::can_take_time,
    recorded,
    requests::Works,
    reservations, source,
    step::{Changes, Effect, unknown_name},
    toml_text::{unfit_name, unfit_text},
    waits,
};
use crate::{
    control_group::ControlGroups,
    ids::{CpuId, RoleId},
    machine::{self, Costs, MAX_CPUS, Topology},
    time::Time,
    workload::{self, Birth, Class, Kind, MAX_ROLES, Role, Workload},
};
use std::collections::BTreeMap;

/// The most tasks that may be created if each program runs through once.
pub(crate) const MAX_TASKS: u64 = 10_000_000;

/// Compiles a scenario.
pub(crate) fn workload(scenario: &Scenario) -> Result<Workload, Fault> {
    let root = At::root();
    if scenario.name.trim().is_empty() {
        return Err(root.key("name").fault("the scenario's name is empty: give it one"));
    }
    if let Some(why) = unfit_name(&scenario.name) {
        return Err(root.key("name").fault(why));
    }
    if let Some(why) = unfit_text(&scenario.about) {
        return Err(root.key("about").fault(why));
    }
    let machine = machine(&scenario.machine, &root.key("machine"))?;
    if scenario.tasks.is_empty() {
        return Err(root.fault("there are no tasks: add a [[task]] with a name and a `loop` or `once`"));
    }
    let at = root.key("task");
    if scenario.tasks.len() > MAX_ROLES {
        let message =
            format!("{} tables [[task]] are too many: at most {MAX_ROLES}; use `count`", scenario.tasks.len());
        return Err(at.index(MAX_ROLES).fault(message));
    }
    let numbers = names(&scenario.tasks, &at)?;
    let infos = infos(scenario, &at)?;
    let run = run(&scenario.run, &infos, &root.key("run"))?;
    known_roles(&infos, &numbers)?;
    check::run(&infos, &numbers, &at)?;
    check::arrivals(&infos, machine.cpus(), run.duration, &at)?;
    let names = objects::Names::collect(scenario, &infos)?;
    let works = Works::find(scenario, &infos);
    let objects = objects::objects(scenario, &names, &works, &infos)?;
    let sources = source::sources(scenario, &infos, &names, run.duration, &root.key("source"))?;
    let control_groups = control_group::tree(&scenario.control_groups, machine.cpus(), &root.key("control_group"))?;
    let mut roles = Vec::new();
    for (index, (task, info)) in scenario.tasks.iter().zip(&infos).enumerate() {
        let here = at.index(index);
        let program = match &task.command {
            Some(words) => program::command(words),
            None if task.recorded.is_some() => {
                let known = ((&names, &works), (&numbers, &control_groups));
                recorded::program((scenario, task, info), &here.key(info.key), known.0, known.1)?
            }
            None => program::program(info, &here.key(info.key), (&names, &works), (&numbers, &control_groups))?,
        };
        roles.push(role((task, info), program, &control_groups, run.duration, &here)?);
    }
    let hotplug = hotplug::events(&scenario.hotplug, machine.cpus(), run.duration, &root.key("hotplug"))?;
    hotplug::roles(&hotplug, &roles, &at)?;
    hotplug::groups(&hotplug, &scenario.control_groups, &root.key("control_group"))?;
    control_group::inherit(&mut roles, &control_groups, &at)?;
    reservations::check((&roles, &objects, &hotplug), machine.cpus(), &at)?;
    // What was recorded has happened, so it can.
    if scenario.tasks.iter().all(|task| task.recorded.is_none()) {
        waits::run(scenario, &infos, &numbers, &names, &objects)?;
    }
    let (name, about) = (scenario.name.clone(), scenario.about.clone());
    Ok(Workload { name, about, machine, roles, control_groups, objects, sources, hotplug, run })
}

fn machine(machine: &Machine, at: &At) -> Result<machine::Machine, Fault> {
    let topology = match (machine.cpus, &machine.topology) {
        (Some(_), Some(_)) => return Err(at.key("topology").fault("`cpus` and `topology` say the same: keep one")),
        (None, None) => return Err(at.fault("the machine has no CPUs: write cpus = 2 or topology = \"1n2l4c2t\"")),
        (None, Some(topology)) => topology.0,
        (Some(cpus @ 1..=MAX_CPUS), None) => Topology::flat(cpus),
        (Some(cpus), None) => {
            return Err(at.key("cpus").fault(format!("a machine with {cpus} CPUs: write from 1 to {MAX_CPUS}")));
        }
    };
    let (tick, tick_offset) = ticks(machine, at)?;
    let costs = Costs::from(&machine.costs);
    if costs.tick >= tick && tick > Time::ZERO {
        let message = format!("a tick costs {}, and there is one every {tick}: no time is left", costs.tick);
        return Err(at.key("costs").key("tick").fault(message));
    }
    let watchdog = machine.watchdog.as_ref().map_or(machine::KERNEL_WATCHDOG, |time| time.0);
    if watchdog == Time::ZERO {
        return Err(at
            .key("watchdog")
            .fault("no task can wait for no time at all: write how long one may, as in \"30s\""));
    }
    Ok(machine::Machine { topology, tick, tick_offset, costs, mechanisms: machine.mechanisms, watchdog })
}

/// The period of the tick, and when the first one comes.
fn ticks(machine: &Machine, at: &At) -> Result<(Time, Time), Fault> {
    let tick = match (&machine.tick, machine.hz) {
        (Some(_), Some(_)) => return Err(at.key("hz").fault("`tick` and `hz` say the same: keep one")),
        (Some(tick), None) => tick.0,
        (None, None) => Time::ZERO,
        // To the nearest nanosecond, as a kernel rounds the length of its tick.
        (None, Some(hz @ 1..=1_000_000)) => Time((1_000_000_000 + hz as u64 / 2) / hz as u64),
        (None, Some(hz)) => {
            return Err(at.key("hz").fault(format!("{hz} ticks per second: write from 1 to 1000000, or leave it out")));
        }
    };
    let offset = match &machine.tick_offset {
        Some(_) if tick == Time::ZERO => {
            return Err(at.key("tick_offset").fault("there is no tick: write `tick` or `hz`, too"));
        }
        Some(offset) if offset.0 >= tick => {
            let message = format!("the first tick comes after {}, and there is one every {tick}", offset.0);
            return Err(at.key("tick_offset").fault(message));
        }
        Some(offset) => offset.0,
        None => Time::ZERO,
    };
    Ok((tick, offset))
}

/// The numbers of the roles by name.
fn names<'s>(tasks: &'s [Task], at: &At) -> Result<BTreeMap<&'s str, RoleId>, Fault> {
    let mut numbers = BTreeMap::new();
    for (index, task) in tasks.iter().enumerate() {
        let here = at.index(index);
        if let Some(why) = unfit_name(&task.name) {
            return Err(here.key("name").fault(why));
        }
        if numbers.insert(task.name.as_str(), RoleId(index as u32)).is_some() {
            let message = format!("there are two tasks `{}`: rename one, or use `count`", task.name);
            return Err(here.key("name").fault(message));
        }
    }
    Ok(numbers)
}

fn infos<'s>(scenario: &'s Scenario, at: &At) -> Result<Vec<RoleInfo<'s>>, Fault> {
    scenario.tasks.iter().enumerate().map(|(index, task)| info(scenario, task, &at.index(index))).collect()
}

/// The steps of a real program.
const NO_STEPS: &Vec<super::Step> = &Vec::new();

/// The program, the birth and the number of a role's tasks.
fn info<'s>(scenario: &'s Scenario, task: &'s Task, at: &At) -> Result<RoleInfo<'s>, Fault> {
    if let (Some(recorded), None, None, None) = (&task.recorded, &task.repeated, &task.once, &task.command) {
        let sample = recorded::sample_of(scenario, recorded, &at.key("recorded"))?;
        let (birth, count) = birth(task, at)?;
        let mut steps = Vec::new();
        program::flatten(&sample.steps, &at.key("recorded"), 1, &mut steps);
        let repeats = !recorded.once;
        return Ok(RoleInfo { name: &task.name, count, birth, repeats, key: "recorded", body: &sample.body, steps });
    }
    let (key, body) = match (&task.repeated, &task.once, &task.command, &task.recorded) {
        (Some(body), None, None, None) => ("loop", body),
        (None, Some(body), None, None) => ("once", body),
        (None, None, Some(words), None) => {
            if words.first().is_none_or(String::is_empty) {
                return Err(at.key("command").fault("no program is named: write it as [\"7z\", \"b\"]"));
            }
            ("command", NO_STEPS)
        }
        (None, None, None, None) => {
            let message = format!("the task `{}` does nothing: give it a `loop`, a `once` or a `command`", task.name);
            return Err(at.fault(message));
        }
        _ => {
            return Err(at.fault(format!(
                "the task `{}` has two programs: keep one of `loop`, `once`, `command`, `recorded`",
                task.name
            )));
        }
    };
    let (birth, count) = birth(task, at)?;
    let mut steps = Vec::new();
    program::flatten(body, &at.key(key), 1, &mut steps);
    let repeats = key == "loop" && !program::ends_with_exit(body);
    Ok(RoleInfo { name: &task.name, count, birth, repeats, key, body, steps })
}

fn birth(task: &Task, at: &At) -> Result<(Birth, Option<u32>), Fault> {
    let start = task.start.as_ref().map_or(Time::ZERO, |t| t.0);
    if task.count == Some(0) || task.limit == Some(0) {
        let key = if task.count == Some(0) { "count" } else { "limit" };
        return Err(at.key(key).fault("no task at all: write 1 or more, or remove the role"));
    }
    if let Some(times) = &task.at {
        return listed(task, times, at);
    }
    match (&task.arrivals, task.spawned) {
        (Some(_), true) => Err(at.key("spawned").fault("a task arrives or is spawned, not both: keep one")),
        (Some(_), _) if task.count.is_some() => {
            Err(at.key("count").fault("each arrival is one task: to bound the arrivals, write `limit`"))
        }
        (Some(_), _) if task.repeated.is_some() => {
            Err(at.key("loop").fault("each arrival is one request: write `once` instead of `loop`"))
        }
        (Some(gap), _) if !can_take_time(gap) => {
            Err(at.key("arrivals").fault("arrivals without time between them never end: write a longer time"))
        }
        (Some(gap), _) => Ok((Birth::Arrivals { first: start, gap: gap.0.clone() }, task.limit)),
        (None, _) if task.limit.is_some() => {
            Err(at.key("limit").fault("`limit` bounds arrivals: without `arrivals` write `count`"))
        }
        (None, true) if task.count.is_some() || task.start.is_some() => {
            let key = if task.count.is_some() { "count" } else { "start" };
            Err(at.key(key).fault(format!("the `spawn` step says how many and when: remove `{key}`")))
        }
        (None, true) => Ok((Birth::Spawned, Some(0))),
        (None, false) => Ok((Birth::At(start), Some(task.count.unwrap_or(1)))),
    }
}

/// Tasks that arrive at instants that are named.
fn listed(task: &Task, times: &[Text<Time>], at: &At) -> Result<(Birth, Option<u32>), Fault> {
    let others = [
        ("arrivals", task.arrivals.is_some()),
        ("spawned", task.spawned),
        ("count", task.count.is_some()),
        ("limit", task.limit.is_some()),
        ("start", task.start.is_some()),
    ];
    if let Some((key, _)) = others.iter().find(|(_, is_there)| *is_there) {
        return Err(at.key(key).fault(format!("`at` names every arrival: remove `{key}`")));
    }
    if task.repeated.is_some() {
        return Err(at.key("loop").fault("each arrival is one request: write `once` instead of `loop`"));
    }
    if times.is_empty() {
        return Err(at.key("at").fault("no arrival at all: write an instant"));
    }
    if let Some(place) = times.windows(2).position(|pair| pair[0].0 > pair[1].0) {
        return Err(at.key("at").index(place + 1).fault("the instants ascend: sort them"));
    }
    let count = times.len().min(u32::MAX as usize) as u32;
    Ok((Birth::Listed(times.iter().map(|time| time.0).collect()), Some(count)))
}

fn known_roles(infos: &[RoleInfo], numbers: &BTreeMap<&str, RoleId>) -> Result<(), Fault> {
    for flat in infos.iter().flat_map(|info| &info.steps) {
        if let Effect::Spawns(spawn, _) = flat.step.effect() {
            let Some(target) = numbers.get(spawn) else {
                return Err(flat.path.fault(unknown_name("task", spawn, numbers.keys().copied())));
            };
            if infos[target.index()].birth.arrives() {
                return Err(flat
                    .path
                    .fault(format!("`{spawn}` arrives by itself: only tasks without `arrivals` are spawned")));
            }
        }
    }
    Ok(())
}

fn run(run: &Run, infos: &[RoleInfo], at: &At) -> Result<workload::Run, Fault> {
    let warmup = run.warmup.as_ref().map_or(Time::ZERO, |t| t.0);
    let duration = match &run.duration {
        Some(duration) if duration.0 == Time::ZERO => {
            return Err(at.key("duration").fault("a run of no length: write a longer time, as \"60s\""));
        }
        Some(duration) if duration.0 > Time::LATEST => {
            return Err(at.key("duration").fault("no run is this long: the longest is 146 years"));
        }
        Some(duration) => duration.0,
        None => {
            let endless = |i: &&RoleInfo| i.repeats || (i.count.is_none() && matches!(i.birth, Birth::Arrivals { .. }));
            if let Some(info) = infos.iter().find(endless) {
                let limit = if info.repeats { "" } else { ", or how many arrive, as limit = 100" };
                let name = info.name;
                let message = format!("`{name}` never ends: say how long the run is, as duration = \"60s\"{limit}");
                return Err(at.fault(message));
            }
            Time::NEVER
        }
    };
    if warmup >= duration {
        let message = format!("the {warmup} warm-up is not shorter than the {duration} run");
        return Err(at.key("warmup").fault(message));
    }
    let period_phase = run.period_phase.as_ref().map_or_else(Default::default, |phase| phase.0);
    Ok(workload::Run { duration, warmup, period_phase, seed: run.seed.unwrap_or(1), calls: run.calls })
}

fn role(
    (task, info): (&Task, &RoleInfo),
    mut program: workload::Program,
    tree: &ControlGroups,
    duration: Time,
    at: &At,
) -> Result<Role, Fault> {
    let class = task.class.as_ref().map_or(Class::Other, |c| c.0);
    let machine_cpus = tree.machine_cpus();
    let chosen = task.cpus.as_ref().map(|cpus| cpus.0.clone());
    if let Some(chosen) = &chosen {
        attributes::cpus(chosen, machine_cpus).map_err(|message| at.key("cpus").fault(message))?;
    }
    for flat in &info.steps {
        if let Effect::Changes(Changes::Itself(change)) = flat.step.effect() {
            attributes::change(change, task, class, machine_cpus, &flat.path)?;
        }
    }
    let (control, cpus) = control_group::membership(task, chosen, &mut program, tree, at)?;
    let start_on = task.start_on.map(CpuId);
    if let Some(cpu) = start_on.filter(|&cpu| !cpus.contains(cpu)) {
        let message = format!("CPU {cpu} is none of those on which `{}` may run: they are {cpus}", task.name);
        return Err(at.key("start_on").fault(message));
    }
    if let Birth::At(start) | Birth::Arrivals { first: start, .. } = &info.birth
        && *start >= duration
    {
        let message =
            format!("`{}` starts at {start}, when the run of {duration} is over: start it earlier", task.name);
        return Err(at.key("start").fault(message));
    }
    Ok(Role {
        name: task.name.clone(),
        count: info.count,
        birth: info.birth.clone(),
        start_on,
        nice: attributes::nice(task.nice, class).map_err(|message| at.key("nice").fault(message))?,
        slice: attributes::slice(task.slice.as_ref().map(|slice| slice.0), class)
            .map_err(|message| at.key("slice").fault(message))?,
        class,
        cpus,
        control,
        kind: task.kind.map_or(Kind::Thread, Kind::from),
        program,
    })
}
