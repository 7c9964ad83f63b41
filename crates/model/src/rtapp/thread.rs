//! A thread of rt-app becomes a role: its properties, its phases, its events.

use super::{
    events::{EVENTS, Event, event},
    import::{Global, Importer, find, is_unique, timer_name},
    json::{Member, Value},
};
use crate::{
    cpuset::CpuSet,
    distribution::Distribution,
    reservation::Reservation,
    scenario::{Change, ControlGroup, ScenarioError, Step, Task, Text, True, did_you_mean},
    time::Time,
    workload::{Class, Origin, Overrun},
};
use std::collections::BTreeSet;

/// Properties of a thread or a phase.
const PROPERTIES: [&str; 9] =
    ["instance", "delay", "loop", "policy", "priority", "cpus", "phases", "taskgroup", "dl-runtime"];
/// Properties of a thread alone.
const OF_THREADS: [&str; 3] = ["instance", "delay", "phases"];
/// Properties that change nothing here, and why; those of the class deadline do in that class.
const WITHOUT_EFFECT: [(&str, &str); 7] = [
    ("util_min", "the frequency of CPUs"),
    ("util_max", "the frequency of CPUs"),
    ("nodes_membind", "where memory lies"),
    ("dl-period", DEADLINE),
    ("dl-deadline", DEADLINE),
    ("period", DEADLINE),
    ("deadline", DEADLINE),
];
/// The class of tasks that reserve CPU time.
const DEADLINE: &str = "SCHED_DEADLINE";
/// Keys of the language that rt-app had before 1.0.
const OLD: [&str; 2] = ["exec", "lock_order"];
/// What rt-app's `mem` and `iorun` take here: bytes in a nanosecond, and a call that writes to nowhere.
const BYTES_IN_NS: u64 = 10;
const WRITE_CALL: Time = Time(200);
/// Work that outlasts any run.
const ENDLESS_WORK: Time = Time::from_s(1_000_000_000);
/// The slices that a kernel grants (`__setparam_fair`).
const SLICES: [Time; 2] = [Time::from_us(100), Time::from_ms(100)];

/// The control groups that the roles name. A group exists without being declared where it is the beginning of another.
pub(super) fn control_groups(roles: &[Task]) -> Vec<ControlGroup> {
    fn joined<'s>(steps: &'s [Step], into: &mut BTreeSet<&'s str>) {
        for step in steps {
            match step {
                Step::Join { join } if join != "/" => drop(into.insert(join)),
                Step::Repeat { steps, .. } => joined(steps, into),
                _ => {}
            }
        }
    }
    let mut paths = BTreeSet::new();
    for role in roles {
        paths.extend(role.control_group.as_deref());
        role.repeated.iter().chain(&role.once).for_each(|steps| joined(steps, &mut paths));
    }
    paths.into_iter().map(|path| ControlGroup { path: path.into(), ..ControlGroup::default() }).collect()
}

/// How a thread is scheduled, as far as a phase can change it.
struct Scheduling {
    class: Class,
    nice: i64,
    slice: Option<Time>,
}

/// What a phase changes.
struct Phase {
    cpus: CpuSet,
    class: Option<Class>,
    nice: Option<i64>,
    slice: Option<Time>,
    group: Option<String>,
}

fn is_deadline(policy: &Member) -> bool {
    matches!(&policy.node.value, Value::Text(policy) if policy == DEADLINE)
}

impl Importer<'_> {
    /// One thread object.
    pub fn task(&self, member: &Member, global: &Global) -> Result<Task, ScenarioError> {
        let members = self.object(&member.node, &format!("the thread \"{}\"", member.key))?;
        self.is_of_this_time(members)?;
        let instances = match find(members, "instance") {
            None => 1,
            Some(m) => u32::try_from(self.integer(m)?)
                .map_err(|_| self.wrong(m.node.byte, "\"instance\" is a number of threads, 0 or more"))?,
        };
        let start = find(members, "delay").map(|m| self.microseconds(m)).transpose()?;
        let Scheduling { class, nice, slice } = self.scheduling(members, global.policy)?;
        let group = find(members, "taskgroup").map(|m| self.control_group(m)).transpose()?.flatten();
        let mut task = Task {
            name: member.key.clone(),
            count: (instances > 1).then_some(instances),
            spawned: instances == 0,
            start: start.filter(|&t| t > Time::ZERO && instances > 0).map(Text),
            class: (class != Class::Other).then_some(Text(class)),
            nice: (nice != 0).then_some(nice),
            slice: slice.map(Text),
            cpus: find(members, "cpus").map(|m| self.cpus(m)).transpose()?.map(Text),
            control_group: group.filter(|group| group != "/"),
            ..Task::default()
        };
        self.program(member, members, global, &mut task)?;
        Ok(task)
    }

    /// rt-app itself no longer reads what it did before 1.0.
    fn is_of_this_time(&self, members: &[Member]) -> Result<(), ScenarioError> {
        let phases = find(members, "phases").map(|phases| self.object(&phases.node, "\"phases\"")).transpose()?;
        let inside = phases.unwrap_or_default().iter().filter_map(|phase| match &phase.node.value {
            Value::Object(members) => Some(members.as_slice()),
            _ => None,
        });
        let mut all = std::iter::once(members).chain(inside).flatten();
        match all.find(|m| OLD.contains(&m.key.as_str())) {
            None => Ok(()),
            Some(m) => {
                let message = format!(
                    "\"{}\" is of the language that rt-app had before 1.0, which it no longer reads: write events",
                    m.key
                );
                Err(self.wrong(m.byte, message))
            }
        }
    }

    /// Timers of a forked thread count from the start of the run, as those of all others without a delay (`t_first`).
    pub fn timers_of_forks(&self, roles: &mut [Task]) {
        let all = roles.to_vec();
        let mut names = BTreeSet::new();
        forked(all.iter().flat_map(|role| role.repeated.iter().chain(&role.once).flatten()), &mut names);
        for role in roles.iter_mut().filter(|role| names.contains(role.name.as_str())) {
            role.repeated.iter_mut().chain(&mut role.once).for_each(|steps| of_run(steps));
        }
    }

    /// A forked thread waits until its delay has passed since the start of the run, and not at all when it is forked
    /// later than that: a `start` belongs to tasks that are not spawned.
    pub fn no_late_forks(&self, threads: &[Member], roles: &[Task]) -> Result<(), ScenarioError> {
        let mut names = BTreeSet::new();
        forked(roles.iter().flat_map(|g| g.repeated.iter().chain(&g.once).flatten()), &mut names);
        for thread in threads.iter().filter(|t| names.contains(t.key.as_str())) {
            let delay = find(self.object(&thread.node, "the thread")?, "delay");
            if let Some(m) = delay.filter(|m| !matches!(m.node.value, Value::Number(0.0))) {
                let message = "\"delay\" of a thread that is forked cannot be carried over: begin it with `sleep`";
                return Err(self.wrong(m.byte, message));
            }
        }
        Ok(())
    }

    /// Policy and priority: what the class deadline reserves, the nice value of the fair classes, the priority of the real-time classes.
    fn scheduling(&self, members: &[Member], default: Class) -> Result<Scheduling, ScenarioError> {
        if let Some(m) = find(members, "policy").filter(|m| is_deadline(m)) {
            return self.reservation(m, members);
        }
        let class = find(members, "policy").map_or(Ok(default), |m| self.class(m))?;
        let slice = match find(members, "dl-runtime") {
            Some(m) if matches!(class, Class::Other | Class::Batch) => {
                let slice = self.microseconds(m)?;
                (slice > Time::ZERO).then(|| slice.clamp(SLICES[0], SLICES[1]))
            }
            _ => None,
        };
        let Some(m) = find(members, "priority") else { return Ok(Scheduling { class, nice: 0, slice }) };
        let priority = self.integer(m)?;
        let (class, nice) = match (class, priority) {
            (Class::Fifo(_), 1..=99) => (Class::Fifo(priority as u8), 0),
            (Class::RoundRobin(_), 1..=99) => (Class::RoundRobin(priority as u8), 0),
            (Class::Other | Class::Batch | Class::Idle, -20..=19) => (class, priority),
            _ => return Err(self.wrong(m.node.byte, format!("the priority {priority} does not fit the policy"))),
        };
        Ok(Scheduling { class, nice, slice })
    }

    /// The period is as long as the runtime where the file does not say it, and the deadline as long as the period. A
    /// reservation of a whole CPU never runs out and comes before all others, as the highest real-time priority does.
    fn reservation(&self, policy: &Member, members: &[Member]) -> Result<Scheduling, ScenarioError> {
        let of = |keys: [&str; 2]| {
            let member = keys.iter().find_map(|key| find(members, key));
            member.map(|m| self.microseconds(m)).transpose().map(|time| time.filter(|time| *time > Time::ZERO))
        };
        let runtime = of(["dl-runtime", "runtime"])?.unwrap_or(Time::ZERO);
        let period = of(["dl-period", "period"])?.unwrap_or(runtime);
        let deadline = of(["dl-deadline", "deadline"])?.unwrap_or(period);
        let class = if runtime > Time::ZERO && runtime == period {
            self.remark(
                "a SCHED_DEADLINE that reserves a whole CPU becomes fifo:99, which comes before all others, too",
            );
            Class::Fifo(99)
        } else {
            let reservation = Reservation::new(runtime, deadline, period);
            Class::Deadline(reservation.map_err(|why| self.wrong(policy.node.byte, format!("SCHED_DEADLINE: {why}")))?)
        };
        Ok(Scheduling { class, nice: 0, slice: None })
    }

    /// The control group of a taskgroup, "/" for the root; nothing where the name is empty.
    fn control_group(&self, member: &Member) -> Result<Option<String>, ScenarioError> {
        let name = self.text(member)?;
        match name.strip_prefix('/') {
            None if name.is_empty() => Ok(None),
            None => Err(self.wrong(member.node.byte, format!("the taskgroup \"{name}\" has to start with /"))),
            Some("") => Ok(Some(name)),
            Some(path) => Ok(Some(path.trim_end_matches('/').into())),
        }
    }

    /// The events of a thread, in phases or without.
    fn program(
        &self,
        thread: &Member,
        members: &[Member],
        global: &Global,
        task: &mut Task,
    ) -> Result<(), ScenarioError> {
        let loops = find(members, "loop").map(|m| Ok((m, self.integer(m)?))).transpose()?;
        let Some(phases) = find(members, "phases") else {
            let steps = self.phase((thread, thread), members, global, task)?;
            return self.looped(loops, steps, task);
        };
        if let Some(m) = members.iter().find(|m| event(&m.key).is_some() && m.key != "runtime") {
            return Err(
                self.wrong(m.byte, format!("\"{}\" cannot be used with \"phases\": put it into a phase", m.key))
            );
        }
        self.properties(members)?;
        let phases = self.object(&phases.node, "\"phases\"")?;
        let changes = self.changes(phases, members, global, task)?;
        let mut steps = Vec::new();
        for (phase, change) in phases.iter().zip(changes) {
            let inside = self.object(&phase.node, &format!("the phase \"{}\"", phase.key))?;
            if let Some(m) = inside.iter().find(|m| OF_THREADS.contains(&m.key.as_str())) {
                return Err(self.wrong(m.byte, format!("\"{}\" belongs to a thread, not to a phase", m.key)));
            }
            let body = self.phase((thread, phase), inside, global, task)?;
            let times = find(inside, "loop").map(|m| Ok((m, self.integer(m)?))).transpose()?;
            match times {
                None | Some((_, 1)) if phases.len() == 1 => return self.looped(loops, body, task),
                Some((_, -1)) if phases.len() == 1 => return self.looped(None, body, task),
                _ => {}
            }
            let repeat = match times {
                None => 1,
                // The phases that follow are never reached.
                Some((_, -1)) => u32::MAX,
                Some((m, times)) => self.times(m, times)?,
            };
            steps.extend(change);
            steps.push(Step::Repeat { repeat, request: true, steps: body });
        }
        self.looped(loops, steps, task)
    }

    /// How often a thread does its steps: without end when nothing is said. Each pass of one without phases is a request.
    fn looped(&self, loops: Option<(&Member, i64)>, steps: Vec<Step>, task: &mut Task) -> Result<(), ScenarioError> {
        let request = !steps.iter().any(|step| matches!(step, Step::Repeat { .. }));
        match loops {
            None | Some((_, -1)) => task.repeated = Some(steps),
            Some((_, 1)) => task.once = Some(steps),
            Some((m, times)) => task.once = Some(vec![Step::Repeat { repeat: self.times(m, times)?, request, steps }]),
        }
        Ok(())
    }

    fn times(&self, member: &Member, times: i64) -> Result<u32, ScenarioError> {
        u32::try_from(times)
            .ok()
            .filter(|&n| n > 0)
            .ok_or_else(|| self.wrong(member.node.byte, format!("\"loop\" {times}: write 1 or more, or -1 for no end")))
    }

    /// What a thread changes about itself at the start of each phase. CPUs are those of the phase, else of the thread,
    /// else all; what else a phase says stays when it is over.
    fn changes(
        &self,
        phases: &[Member],
        thread: &[Member],
        global: &Global,
        task: &mut Task,
    ) -> Result<Vec<Vec<Step>>, ScenarioError> {
        let own = task.cpus.as_ref().map_or_else(|| CpuSet::first(self.cpus), |cpus| cpus.0.clone());
        let of_thread = self.scheduling(thread, global.policy)?;
        let mut all = Vec::new();
        for phase in phases {
            let inside = self.object(&phase.node, &format!("the phase \"{}\"", phase.key))?;
            let cpus = find(inside, "cpus").map_or(Ok(own.clone()), |m| self.cpus(m))?;
            let scheduling = self.rescheduled(inside, &of_thread)?;
            let class = scheduling.as_ref().map(|scheduling| scheduling.class);
            let is_weighted = |scheduling: &&Scheduling| matches!(scheduling.class, Class::Other | Class::Batch);
            let nice = scheduling.as_ref().filter(is_weighted).map(|scheduling| scheduling.nice);
            let slice = scheduling.and_then(|scheduling| scheduling.slice);
            let group = find(inside, "taskgroup").map(|m| self.control_group(m)).transpose()?.flatten();
            all.push(Phase { cpus, class, nice, slice, group });
        }
        if let [phase] = all.as_slice() {
            task.cpus = Some(Text(phase.cpus.clone())).filter(|_| task.cpus.is_some() || phase.cpus != own);
            task.class = phase.class.map(Text).or(task.class.take()).filter(|class| class.0 != Class::Other);
            task.nice = phase.nice.or(task.nice.filter(|_| phase.class.is_none())).filter(|nice| *nice != 0);
            task.slice = phase.slice.map(Text).or(task.slice.take());
            task.control_group = phase.group.clone().or(task.control_group.take()).filter(|group| group != "/");
            return Ok(vec![Vec::new()]);
        }
        // What no phase changes is the thread's from the start.
        let moves = all.iter().any(|phase| phase.cpus != all[0].cpus);
        if let Some(phase) = all.first().filter(|_| moves || task.cpus.is_some() || all[0].cpus != own) {
            task.cpus = Some(Text(phase.cpus.clone()));
        }
        let changes_class = all.iter().any(|phase| phase.class.is_some_and(|class| class != of_thread.class));
        let reweights = changes_class || all.iter().any(|phase| phase.nice.is_some_and(|nice| nice != of_thread.nice));
        let reslices = all.iter().any(|phase| phase.slice.is_some() && phase.slice != of_thread.slice);
        let step = |phase: Phase| {
            let cpus = moves.then_some(Text(phase.cpus));
            let class = phase.class.filter(|_| changes_class).map(Text);
            let nice = phase.nice.filter(|_| reweights);
            let slice = phase.slice.filter(|_| reslices).map(Text);
            let set = (cpus.is_some() || class.is_some() || nice.is_some() || slice.is_some())
                .then_some(Step::Set { set: Change { cpus, nice, class, slice } });
            set.into_iter().chain(phase.group.map(|join| Step::Join { join })).collect()
        };
        Ok(all.into_iter().map(step).collect())
    }

    /// Class, nice value and slice that a phase sets. One that says a policy without a priority has that policy's default; one
    /// that says neither changes nothing, not even the slice (`_set_thread_cfs`).
    fn rescheduled(&self, phase: &[Member], of_thread: &Scheduling) -> Result<Option<Scheduling>, ScenarioError> {
        if ["policy", "priority"].iter().all(|key| find(phase, key).is_none()) {
            if find(phase, "dl-runtime").is_some() {
                self.remark(
                    "\"dl-runtime\" in a phase without \"policy\" and \"priority\" changes nothing, as in rt-app",
                );
            }
            return Ok(None);
        }
        self.scheduling(phase, of_thread.class).map(Some)
    }

    /// All members that are no events must be known.
    fn properties(&self, members: &[Member]) -> Result<(), ScenarioError> {
        let reserves = find(members, "policy").is_some_and(is_deadline);
        for m in members.iter().filter(|m| event(&m.key).is_none()) {
            let without_effect = WITHOUT_EFFECT.iter().find(|(key, _)| *key == m.key);
            if let Some((key, what)) = without_effect.filter(|(_, what)| *what != DEADLINE || !reserves) {
                self.remark(format!("\"{key}\" is about {what} and changes nothing here"));
            } else if without_effect.is_none() && !PROPERTIES.contains(&m.key.as_str()) {
                let hint = did_you_mean(&m.key, PROPERTIES.iter().copied().chain(EVENTS.map(|(name, _)| name)));
                return Err(self.wrong(m.byte, format!("unknown event or property \"{}\"{hint}", m.key)));
            }
        }
        Ok(())
    }

    /// The events of one phase, or of a thread without phases.
    fn phase(
        &self,
        (thread, owner): (&Member, &Member),
        members: &[Member],
        global: &Global,
        task: &Task,
    ) -> Result<Vec<Step>, ScenarioError> {
        self.properties(members)?;
        let mut steps = Vec::new();
        for (m, event) in members.iter().filter_map(|m| Some((m, event(&m.key)?))) {
            if members.iter().filter(|other| other.key == m.key).count() > 1 {
                self.remark("events of the same key are done one after the other, as workgen has them, not as rt-app");
            }
            self.event((thread, m), event, global, task, &mut steps)?;
        }
        match steps.is_empty() {
            true => Err(self.wrong(owner.byte, format!("\"{}\" has no events: write at least one", owner.key))),
            false => Ok(steps),
        }
    }

    fn event(
        &self,
        (thread, member): (&Member, &Member),
        event: Event,
        global: &Global,
        task: &Task,
        steps: &mut Vec<Step>,
    ) -> Result<(), ScenarioError> {
        let time = || self.microseconds(member).map(constant);
        let step = match event {
            Event::Compute => Step::Compute { compute: constant(self.work(member)?) },
            Event::Busy => Step::Busy { busy: time()? },
            Event::Sleep => Step::Sleep { sleep: time()? },
            Event::Yield => Step::Yield { r#yield: True },
            Event::Lock => Step::Lock { lock: self.text(member)? },
            Event::Unlock => Step::Unlock { unlock: self.text(member)? },
            Event::Wait => Step::Wait { wait: self.text(member)? },
            Event::Post => Step::Post { post: self.text(member)?, times: 1 },
            Event::Barrier => Step::Barrier { barrier: self.text(member)? },
            Event::Spawn => Step::Spawn { spawn: self.text(member)?, count: 1 },
            Event::Signal => Step::Signal { signal: self.text(member)? },
            Event::Broadcast => Step::Broadcast { broadcast: self.text(member)? },
            Event::Resume => Step::Resume { resume: self.text(member)? },
            Event::CondWait => self.cond_wait(member)?.1,
            Event::Sync => {
                let (signal, wait) = self.cond_wait(member)?;
                steps.push(Step::Signal { signal });
                wait
            }
            Event::Suspend => Step::Suspend { suspend: self.suspended(member, &thread.key) },
            Event::Timer => match self.timer(member, &thread.key, task)? {
                Some(step) => step,
                None => return Ok(()),
            },
            Event::Memory => Step::Compute { compute: constant(self.memory(member)?) },
            Event::Device => Step::Compute { compute: constant(self.device(member, global)?) },
            Event::Nothing(reason) => {
                let message = format!("the event \"{}\" cannot be carried over: {reason}", member.key);
                return Err(self.wrong(member.byte, message));
            }
        };
        steps.push(step);
        Ok(())
    }

    /// The work of a `run`. rt-app counts a negative one without its sign, which never ends.
    fn work(&self, member: &Member) -> Result<Time, ScenarioError> {
        if self.integer(member)? >= 0 {
            return self.microseconds(member);
        }
        self.remark(format!("a \"run\" below 0 never ends in rt-app: it takes {ENDLESS_WORK} here"));
        Ok(ENDLESS_WORK)
    }

    /// The condition variable, and the step that waits for it.
    fn cond_wait(&self, member: &Member) -> Result<(String, Step), ScenarioError> {
        let members = self.object(&member.node, &format!("\"{}\"", member.key))?;
        self.known(members, &["ref", "mutex"])?;
        let name = |key| find(members, key).map_or(Ok("unknown".into()), |m| self.text(m));
        let (cond_wait, mutex): (String, String) = (name("ref")?, name("mutex")?);
        Ok((cond_wait.clone(), Step::CondWait { cond_wait, mutex }))
    }

    /// Until 2025 a thread was suspended under the name that is there, which old files count on.
    fn suspended(&self, member: &Member, thread: &str) -> String {
        match &member.node.value {
            Value::Text(name) if !name.is_empty() && name != thread => {
                self.remark(format!(
                    "`{thread}` is suspended as \"{name}\", as rt-app had it until May 2025: since then a thread is so \
                     under its own name, whatever stands here"
                ));
                name.clone()
            }
            _ => thread.into(),
        }
    }

    fn memory(&self, member: &Member) -> Result<Time, ScenarioError> {
        let bytes = self.bytes(member)?;
        self.remark(format!("writing memory takes a nanosecond for {BYTES_IN_NS} bytes here: the file says no time"));
        Ok(Time(bytes.div_ceil(BYTES_IN_NS)))
    }

    fn device(&self, member: &Member, global: &Global) -> Result<Time, ScenarioError> {
        let bytes = self.bytes(member)?;
        let calls = Time(WRITE_CALL.ns().saturating_mul(bytes.div_ceil(global.buffer)));
        self.remark(match global.to_nowhere {
            true => format!("a write to /dev/null takes {WRITE_CALL} here, of however many bytes: the file says no time"),
            false => format!(
                "a write to a file takes {WRITE_CALL} and a nanosecond for {BYTES_IN_NS} bytes here, which go to memory: the \
                 file says no time"
            ),
        });
        Ok(if global.to_nowhere { calls } else { Time(calls.ns().saturating_add(bytes.div_ceil(BYTES_IN_NS))) })
    }

    /// A timer, which counts from the start of its thread; see [`Importer::timers_of_forks`]. One without a period waits for nothing.
    fn timer(&self, member: &Member, thread: &str, task: &Task) -> Result<Option<Step>, ScenarioError> {
        let members = self.object(&member.node, &format!("\"{}\"", member.key))?;
        self.known(members, &["ref", "period", "mode"])?;
        let name = timer_name(members).to_string();
        let is_shared = !is_unique(&name) && (self.timers.users[&name].len() > 1 || task.count.is_some());
        if is_shared {
            self.remark(format!("several threads share the timer \"{name}\": each has one of its own here"));
        }
        let period = find(members, "period").map_or(Ok(Time::ZERO), |m| self.microseconds(m))?;
        let owner = if is_unique(&name) { thread } else { "" };
        let is_absolute = self.timers.absolute.contains(&(owner.to_string(), name.clone()));
        let step = Step::Period {
            period: Text(period),
            from: None,
            offset: None,
            deadline: None,
            overrun: Some(if is_absolute { Overrun::CatchUp } else { Overrun::Restart }),
            timer: (name != "unique").then_some(name),
        };
        Ok(Some(step).filter(|_| period > Time::ZERO))
    }
}

fn constant(time: Time) -> Text<Distribution> {
    Text(Distribution::Constant(time))
}

/// Has all timers count from the start of the run.
fn of_run(steps: &mut [Step]) {
    for step in steps {
        match step {
            Step::Period { from, .. } => *from = Some(Origin::Run),
            Step::Repeat { steps, .. } => of_run(steps),
            _ => {}
        }
    }
}

/// Threads without an instance that no thread forks, directly or through others: rt-app creates none of them.
pub(super) fn never_created(roles: &[Task]) -> BTreeSet<String> {
    let mut created: BTreeSet<&str> =
        roles.iter().filter(|role| !role.spawned).map(|role| role.name.as_str()).collect();
    loop {
        let before = created.len();
        let running = roles.iter().filter(|role| created.contains(role.name.as_str())).collect::<Vec<_>>();
        forked(running.into_iter().flat_map(|role| role.repeated.iter().chain(&role.once).flatten()), &mut created);
        if created.len() == before {
            break;
        }
    }
    roles.iter().filter(|role| !created.contains(role.name.as_str())).map(|role| role.name.clone()).collect()
}

/// Adds the names of all threads that are forked.
fn forked<'s>(steps: impl Iterator<Item = &'s Step>, into: &mut BTreeSet<&'s str>) {
    for step in steps {
        match step {
            Step::Spawn { spawn, .. } => drop(into.insert(spawn)),
            Step::Repeat { steps, .. } => forked(steps.iter(), into),
            _ => {}
        }
    }
}
