//! From what tasks did to a scenario, with a file of steps next to it.

use crate::groups::{Group, Origin, groups};
use crate::objects::Kind;
use crate::program::{Program, kept, write};
use crate::report::{Edge, Level, Report, RoleReport};
use crate::tracker::Tracker;
use crate::{InferError, doubts, has_calls, steps};
use schedlab_metrics::statistics::quantile_of_sorted;
use schedlab_model::count::counted;
use schedlab_model::ids::{RoleId, TaskId};
use schedlab_model::machine::Costs;
use schedlab_model::recorded::{Lists, Op, StepFile};
use schedlab_model::scenario::{self, Recorded, Scenario, Step, Text, recorded_step};
use schedlab_model::time::Time;
use schedlab_model::trace::Call;
use schedlab_model::workload::Kind as TaskKind;
use schedlab_trace::{Header, Scheduling};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A model of a recording.
#[derive(Debug)]
pub struct Model {
    /// The scenario, with its steps.
    pub scenario: Scenario,
    /// What it says about itself.
    pub report: Report,
    /// Items of roles that have some in a file, by role.
    pub lists: BTreeMap<String, Lists>,
    /// The names that steps know by number.
    pub names: Vec<String>,
}

impl Model {
    /// The scenario as a file, with what is known of its roles above.
    pub fn to_toml(&self) -> String {
        let mut text = String::from("# Modelled by `schedlab model`.\n");
        for role in &self.report.roles {
            let waits = if role.waits_for.is_empty() { "nothing".into() } else { role.waits_for.join(", ") };
            text += &format!(
                "# {}: {} of {}; waits for {waits}\n",
                role.name,
                counted(role.items, "item"),
                counted(role.tasks, "task")
            );
        }
        text + "\n" + &self.scenario.to_toml()
    }
}

/// Ticks per second where a recording does not tell: those of Debian's kernels.
const HZ: u32 = 250;

/// Makes a model; `steps` is the file of steps, which is written if a role needs it.
pub fn model(mut tracker: Tracker, header: &Header, steps: &Path) -> Result<Model, InferError> {
    if tracker.totals.shares {
        return Err(InferError::Fluid);
    }
    let names: Vec<String> = header.roles.iter().map(|role| role.name.clone()).collect();
    let groups = groups(&tracker, &names);
    if groups.is_empty() {
        return Err(InferError::Empty);
    }
    let coupled = coupled(&tracker, has_calls(header));
    let tokens = tokens(&mut tracker, &groups, &coupled);
    let mut made = Vec::new();
    for group in &groups {
        let level = if coupled.contains(&group.role) { Level::Tasks } else { Level::Items };
        made.push(Program::of((&tracker, &tokens), group, level)?);
    }
    let file_name = steps.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let kept = kept(&made)?;
    let written = write((&tracker, &tokens), &groups, &made, kept, steps)?;
    let tasks = groups.iter().zip(&made).enumerate();
    let tasks = tasks.map(|(number, (group, program))| task((&tracker, header), number, group, program, &file_name));
    let mut scenario =
        Scenario::new(&header.scenario, machine(header), run((&tracker, header)), tasks.collect(), "the model");
    scenario.about = format!("Modelled after a recording of {} under {}.", header.scenario, header.policy);
    objects(&tracker, &made, header, &mut scenario);
    scenario.control_groups = header.setting.iter().flat_map(|setting| setting.control_groups.clone()).collect();
    scenario.sources = sources(&tracker);
    let lists = match written {
        true => {
            let file = schedlab_trace::read_steps(steps)?;
            let lists = file.tables.clone();
            scenario.attach(&file_name, StepFile::new(file.names, file.tables));
            lists
        }
        false => BTreeMap::new(),
    };
    let mut report = report(&tracker, header, &groups, &made)?;
    report.kept = kept;
    report.doubts = doubts::of(&report);
    Ok(Model { scenario, report, lists, names: tracker.names.all().into() })
}

/// Roles with wake-ups between tasks where the recording lacks the calls: they are modelled task by task.
fn coupled(tracker: &Tracker, has_calls: bool) -> BTreeSet<RoleId> {
    let pairs = tracker.wakes.keys().filter(|_| !has_calls);
    pairs.flat_map(|&(from, to)| [from, to]).collect()
}

/// The number of each task's semaphore.
fn tokens(tracker: &mut Tracker, groups: &[Group], coupled: &BTreeSet<RoleId>) -> BTreeMap<TaskId, u32> {
    let tasks = groups.iter().filter(|group| coupled.contains(&group.role)).flat_map(|group| &group.tasks);
    let names: Vec<TaskId> = tasks.copied().collect();
    names.into_iter().map(|task| (task, tracker.names.other(&format!("task-{}", task.0)))).collect()
}

/// The name of the items of a group, by its number: names of roles may be anything.
pub(crate) fn table_name(number: usize) -> String {
    format!("items-{number}")
}

fn task(
    (tracker, header): (&Tracker, &Header),
    number: usize,
    group: &Group,
    program: &Program,
    file: &str,
) -> scenario::Task {
    let mut task = scenario::Task { name: group.name.clone(), ..scenario::Task::default() };
    let count = group.tasks.len() as u32;
    match &group.origin {
        Origin::Together(at_ns) => {
            task.count = (count > 1).then_some(count);
            task.start = (*at_ns > 0).then_some(Text(Time(*at_ns)));
        }
        Origin::Arriving => {
            let born = |task: &TaskId| Text(Time(tracker.tasks[task].birth.at_ns));
            task.at = Some(group.tasks.iter().map(born).collect());
        }
        Origin::Spawned => task.spawned = true,
    }
    let cpus = &header.roles[group.role.index()].cpus;
    task.cpus = (cpus.iter().count() < header.cpus as usize && !cpus.is_empty()).then(|| Text(cpus.clone()));
    let setting = header.setting.as_ref().and_then(|setting| setting.roles.get(group.role.index()));
    if let Some(scheduling) = setting {
        schedule(&mut task, scheduling);
        let path = scheduling.control_group.and_then(|group| header.control_groups.get(group as usize));
        task.control_group = path.cloned();
    }
    match &program.constant {
        Some(item) => {
            let steps: Vec<Step> = item.iter().filter_map(|act| recorded_step(act, tracker.names.all())).collect();
            let (key, other) = (&mut task.repeated, &mut task.once);
            *(if program.once { other } else { key }) = Some(steps);
        }
        None => {
            let items = table_name(number);
            let (order, once) = (program.order, program.once);
            task.recorded = Some(Recorded { file: file.into(), items, order, once });
        }
    }
    task
}

fn schedule(task: &mut scenario::Task, scheduling: &Scheduling) {
    task.nice = Some(i64::from(scheduling.nice)).filter(|nice| *nice != 0);
    task.class = Some(Text(scheduling.class)).filter(|class| class.0 != schedlab_model::workload::Class::Other);
    task.kind = (scheduling.kind == TaskKind::Process).then_some(scenario::KindName::Process);
    task.start_on = scheduling.start_on.map(|cpu| cpu.0);
    task.slice = scheduling.slice.map(Text);
}

fn machine(header: &Header) -> scenario::Machine {
    let Some(setting) = &header.setting else {
        return scenario::Machine { cpus: Some(header.cpus), hz: Some(HZ), ..scenario::Machine::default() };
    };
    let machine = &setting.machine;
    let time = |time: Time| (time > Time::ZERO).then_some(Text(time));
    let is_flat = machine.topology == schedlab_model::machine::Topology::flat(machine.cpus());
    scenario::Machine {
        cpus: is_flat.then_some(machine.cpus()),
        topology: (!is_flat).then_some(Text(machine.topology)),
        tick: time(machine.tick),
        tick_offset: time(machine.tick_offset),
        watchdog: Some(Text(machine.watchdog)).filter(|w| w.0 != schedlab_model::machine::KERNEL_WATCHDOG),
        hz: None,
        costs: scenario::Costs::from(&if setting.calls { told_apart(&machine.costs) } else { Costs::default() }),
        mechanisms: machine.mechanisms,
    }
}

/// What is paid by CPUs, and the way into sleeps: a recording with calls tells these apart. What else tasks pay for their calls is
/// in the work that the model has of them.
fn told_apart(costs: &Costs) -> Costs {
    let &Costs { switch, wakeup, wakeup_remote, wakeup_select, migration, .. } = costs;
    let &Costs { tick, timer, grace_period, reclaim, statistics, .. } = costs;
    let &Costs { preempt, idle_exit, arrival, process_arrival, sleep, io, policy_instruction_ps, .. } = costs;
    let paid_by_cpus = Costs {
        switch,
        wakeup,
        wakeup_remote,
        wakeup_select,
        migration,
        tick,
        timer,
        arrival,
        process_arrival,
        policy_instruction_ps,
        ..Costs::default()
    };
    Costs { preempt, idle_exit, grace_period, reclaim, statistics, sleep, io, ..paid_by_cpus }
}

fn run((tracker, header): (&Tracker, &Header)) -> scenario::Run {
    // Tasks that have all ended end the model's run too, however long they take there.
    let ends = tracker.tasks.values().all(|task| task.ended);
    scenario::Run {
        duration: (!ends).then_some(Text(header.end)),
        warmup: header.setting.as_ref().map(|setting| Text(setting.warmup)).filter(|warmup| warmup.0 > Time::ZERO),
        period_phase: None,
        seed: (header.seed > 0).then_some(header.seed),
        calls: false,
    }
}

/// Declares what is not as it is when nothing is declared. What no step of the model uses is not declared.
fn objects(tracker: &Tracker, programs: &[Program], header: &Header, scenario: &mut Scenario) {
    let lock = |id: u32| header.setting.as_ref().and_then(|setting| setting.locks.get(id as usize).cloned());
    let used: BTreeSet<u32> = programs.iter().flat_map(|program| program.used.iter().copied()).collect();
    for (kind, id, number) in tracker.names.objects().filter(|(.., number)| used.contains(number)) {
        let name = &tracker.names.all()[number as usize];
        let this = tracker.uses.of(kind, id);
        match kind {
            Kind::Semaphore if this.initial() > 0 => {
                scenario.semaphore.insert(name.clone(), scenario::Semaphore { initial: this.initial() });
            }
            Kind::Pipe | Kind::Socket => {
                let kind = (kind == Kind::Socket).then_some(scenario::ChannelKindName::Socket);
                let channel = scenario::Channel { capacity: this.capacity(), kind };
                if channel.capacity.is_some() || channel.kind.is_some() {
                    scenario.channel.insert(name.clone(), channel);
                }
            }
            Kind::Barrier => {
                let parties = Some(this.parties()).filter(|parties| *parties > 0);
                scenario.barrier.insert(name.clone(), scenario::Barrier { parties });
            }
            Kind::Lock => {
                let lock = lock(id).filter(|lock| *lock != scenario::Lock::default());
                scenario.lock.extend(lock.map(|lock| (name.clone(), lock)));
            }
            Kind::Semaphore | Kind::Condition | Kind::Device => {}
        }
    }
}

/// What came from outside, at the instants at which it came.
fn sources(tracker: &Tracker) -> Vec<scenario::Source> {
    let source = |(&(call, object), times): (&(Call, schedlab_model::ids::ObjectId), &Vec<(u64, u64)>)| {
        let kind = Kind::of(call)?;
        let number = tracker.names.objects().find(|(other, id, _)| (*other, *id) == (kind, object.0))?.2;
        let channel = tracker.names.all().get(number as usize)?.clone();
        let instants = times.iter().flat_map(|&(at, amount)| (0..amount).map(move |_| Text(Time(at))));
        Some(scenario::Source { channel, at: Some(instants.collect()), ..scenario::Source::default() })
    };
    tracker.arrivals.iter().filter_map(source).collect()
}

fn report(tracker: &Tracker, header: &Header, groups: &[Group], programs: &[Program]) -> Result<Report, InferError> {
    let totals = &tracker.totals;
    let mut slept_ns = steps::slept(tracker, groups)?;
    for (cause, ns) in &tracker.told_ns {
        // A wait in a known call is explained, even if its waker is unknown.
        let cause = if *cause == crate::cause::Cause::Unexplained { crate::cause::Cause::Outside } else { *cause };
        *slept_ns.entry(cause).or_insert(0) += ns;
    }
    let role = |(group, program): (&Group, &Program)| {
        let work: u64 = group.tasks.iter().map(|task| tracker.tasks[task].work_ns).sum();
        let mut waits: Vec<_> = program.waits.iter().collect();
        waits.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let name = |(op, object): &(Op, u32)| match op.has_object() {
            true => format!("{} {}", op.word(), tracker.names.all().get(*object as usize).map_or("?", String::as_str)),
            false => op.word().into(),
        };
        RoleReport {
            name: group.name.clone(),
            recorded: header.roles[group.role.index()].name.clone(),
            tasks: group.tasks.len() as u64,
            items: program.items,
            idle: program.idle,
            level: program.level,
            constant: program.constant.is_some(),
            work_ns: percentiles(&program.works),
            share: work as f64 / totals.work_ns.max(1) as f64,
            waits_for: waits.into_iter().take(4).map(|(what, _)| name(what)).collect(),
        }
    };
    let name = |role: RoleId| header.roles.get(role.index()).map_or_else(String::new, |role| role.name.clone());
    let edge = |(&(from, to), &wakes): (&(RoleId, RoleId), &u64)| Edge { from: name(from), to: name(to), wakes };
    Ok(Report {
        name: header.scenario.clone(),
        length_ns: header.end.ns(),
        cpus: header.cpus,
        policy: header.setting.as_ref().map_or_else(|| header.policy.clone(), |setting| setting.policy.clone()),
        events: totals.events,
        wakeups: totals.wakeups,
        lost: header.lost,
        roles: groups.iter().zip(programs).map(role).collect(),
        edges: tracker.wakes.iter().map(edge).collect(),
        slept_ns,
        calls: has_calls(header),
        yields: totals.yields,
        spins: spins(tracker, header),
        joins: totals.joins,
        kept: 1.0,
        others: totals.others_ns as f64 / (header.end.ns().max(1) as f64 * f64::from(header.cpus)),
        doubts: Vec::new(),
    })
}

/// Whether a lock that is used is one for which tasks spin.
fn spins(tracker: &Tracker, header: &Header) -> bool {
    let locks = header.setting.as_ref().map_or(&[][..], |setting| &setting.locks);
    let spins = |id: u32| locks.get(id as usize).is_some_and(|lock| lock.spin.is_some());
    tracker.names.objects().any(|(kind, id, _)| kind == Kind::Lock && spins(id))
}

fn percentiles(works: &[u64]) -> Option<[u64; 2]> {
    let mut sorted: Vec<f64> = works.iter().map(|work| *work as f64).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |part: f64| quantile_of_sorted(&sorted, part).map(|work| work.round() as u64);
    Some([at(0.5)?, at(0.99)?])
}
