//! From the steps of a task to a program: `repeat` becomes jumps, and requests get their beginning and their end.

use super::{
    At, Change, Fault, Step, control_group,
    error::Path,
    objects::{Names, ObjectKind},
    requests::{Works, only_sleeps},
};
use crate::{
    control_group::ControlGroups,
    ids::RoleId,
    time::Time,
    workload::{self, Birth, Origin, Overrun, Pace, Program},
};
use std::collections::BTreeMap;

/// The most requests that one step sends.
pub(crate) const MAX_REQUESTS_AT_ONCE: u32 = 1_000_000;

/// A role as the checks need it.
pub(crate) struct RoleInfo<'s> {
    /// Its name.
    pub name: &'s str,
    /// Tasks at the start; with arrivals the limit.
    pub count: Option<u32>,
    /// When they are created.
    pub birth: Birth,
    /// `loop`, and no `exit` at its end.
    pub repeats: bool,
    /// The key of the program, `loop` or `once`.
    pub key: &'static str,
    /// The program as it was written.
    pub body: &'s [Step],
    /// All steps in their order, those inside a `repeat` too, without the `repeat`.
    pub steps: Vec<Flat<'s>>,
}

/// A step with its place in the file.
pub(crate) struct Flat<'s> {
    /// The step.
    pub step: &'s Step,
    /// Where it stands.
    pub path: Path,
    /// How often it is done in one pass of the program.
    pub times: u64,
}

/// All steps in their order.
pub(crate) fn flatten<'s>(steps: &'s [Step], at: &At, times: u64, into: &mut Vec<Flat<'s>>) {
    for (index, step) in steps.iter().enumerate() {
        let here = at.index(index);
        match step {
            Step::Repeat { repeat, steps, .. } => {
                flatten(steps, &here.key("steps"), times.saturating_mul(*repeat as u64), into)
            }
            _ => into.push(Flat { step, path: here.path(), times }),
        }
    }
}

/// Whether the steps end with `exit`.
pub(crate) fn ends_with_exit(steps: &[Step]) -> bool {
    matches!(steps.last(), Some(Step::Exit { .. }))
}

/// A real program: one request from its start to its end.
pub(crate) fn command(words: &[String]) -> Program {
    let steps = vec![workload::Step::RequestBegin, workload::Step::Command(words.into()), workload::Step::RequestEnd];
    Program { steps, repeats: false, repeat_depth: 0, items: None }
}

/// Compiles a role's program.
pub(crate) fn program(
    role: &RoleInfo,
    at: &At,
    (names, works): (&Names, &Works),
    (roles, tree): (&BTreeMap<&str, RoleId>, &ControlGroups),
) -> Result<Program, Fault> {
    if role.body.is_empty() {
        return Err(at.fault("the program is empty: write at least one step, as { compute = \"5ms\" }"));
    }
    let serves = works.serves(role);
    let inside = requests_inside(role.body, at);
    if let Some(path) = inside.as_ref().filter(|_| role.birth.arrives()) {
        return Err(path.fault("each arrival is one request: remove `request`"));
    }
    let (code, timers) = (Vec::new(), Vec::new());
    let mut compiler = Compiler { names, works, roles, tree, serves, code, timers, depth: 0, deepest: 0 };
    let (begin, end) = match inside {
        _ if compiler.serves => served(role, works),
        Some(_) => (None, None),
        None => own(role, works),
    };
    for (index, step) in role.body.iter().enumerate() {
        if begin == Some(index) {
            compiler.code.push(workload::Step::RequestBegin);
        }
        if end == Some(index) {
            compiler.code.push(end_of(role.body, works));
        }
        if compiler.serves && index > 0 && goes_back(role.body, index, works) && end != Some(index) {
            compiler.code.push(workload::Step::Answer);
        }
        compiler.step(step, index + 1 == role.body.len(), &at.index(index))?;
    }
    if end == Some(role.body.len()) {
        compiler.code.push(end_of(role.body, works));
    }
    Ok(Program { steps: compiler.code, repeats: role.repeats, repeat_depth: compiler.deepest, items: None })
}

/// Compiles steps alone, without what begins and ends requests.
pub(crate) fn bare(
    role: &RoleInfo,
    steps: &[Step],
    at: &At,
    (names, works): (&Names, &Works),
    (roles, tree): (&BTreeMap<&str, RoleId>, &ControlGroups),
) -> Result<Vec<workload::Step>, Fault> {
    let (code, timers, serves) = (Vec::new(), Vec::new(), works.serves(role));
    let mut compiler = Compiler { names, works, roles, tree, serves, code, timers, depth: 0, deepest: 0 };
    steps.iter().try_for_each(|step| compiler.step(step, false, at))?;
    Ok(compiler.code)
}

/// The step that ends what is open.
fn end_of(steps: &[Step], works: &Works) -> workload::Step {
    let has_more_than_its_own = |step: &Step| matches!(step, Step::Answer { .. }) || works.takes(step);
    match Works::any(steps, &has_more_than_its_own) {
        true => workload::Step::Answer,
        false => workload::Step::RequestEnd,
    }
}

/// The first `repeat` of which each pass is a request.
fn requests_inside(steps: &[Step], at: &At) -> Option<Path> {
    steps.iter().enumerate().find_map(|(index, step)| match step {
        Step::Repeat { request: true, .. } => Some(at.index(index).key("request").path()),
        Step::Repeat { steps, .. } => requests_inside(steps, &at.index(index).key("steps")),
        _ => None,
    })
}

/// The steps of a pass without `exit`.
fn pass<'s>(role: &RoleInfo<'s>) -> &'s [Step] {
    &role.body[..role.body.len() - ends_with_exit(role.body) as usize]
}

/// Where the request that is a pass begins and ends: after the waiting at its head and before the sleeps at its end,
/// which are think time. A task that arrives waits from then on, so there the first steps belong to the request.
/// Nowhere when there is only waiting.
fn own(role: &RoleInfo, works: &Works) -> (Option<usize>, Option<usize>) {
    let steps = pass(role);
    match (role.birth.arrives(), without_last_sleeps(steps)) {
        (true, end) if end > 0 => (Some(0), Some(end)),
        _ => busy_part(steps, works),
    }
}

/// What is left of a pass without the waiting at its head and the sleeps at its end.
fn busy_part(steps: &[Step], works: &Works) -> (Option<usize>, Option<usize>) {
    let (begin, end) = (works.leading(steps), without_last_sleeps(steps));
    if begin < end { (Some(begin), Some(end)) } else { (None, None) }
}

/// How many steps there are before the sleeps at the end.
fn without_last_sleeps(steps: &[Step]) -> usize {
    steps.len() - steps.iter().rev().take_while(|step| only_sleeps(step)).count()
}

/// Where a pass ends that serves requests of others: before the sleeps at its end. Nowhere when it ends with waiting for
/// the next ones, which are those of the next pass.
fn served(role: &RoleInfo, works: &Works) -> (Option<usize>, Option<usize>) {
    let steps = pass(role);
    let waiting = steps.iter().rev().take_while(|step| works.waits(step)).count();
    let (rest, run) = steps.split_at(steps.len() - waiting);
    let takes = Works::any(run, &|step| works.takes(step));
    if takes && !rest.is_empty() && role.repeats {
        return (None, None);
    }
    let trailing = steps.iter().rev().take_while(|step| only_sleeps(step)).count();
    (None, Some(steps.len() - trailing))
}

/// Whether a worker goes back for more work at a step of these: here begins waiting that takes requests.
fn goes_back(steps: &[Step], index: usize, works: &Works) -> bool {
    let begins = works.waits(&steps[index]) && (index == 0 || !works.waits(&steps[index - 1]));
    let run = steps[index..].iter().take_while(|step| works.waits(step)).count();
    begins && Works::any(&steps[index..index + run], &|step| works.takes(step))
}

struct Compiler<'c> {
    names: &'c Names,
    works: &'c Works<'c>,
    roles: &'c BTreeMap<&'c str, RoleId>,
    tree: &'c ControlGroups,
    /// Whether the program takes requests of others.
    serves: bool,
    code: Vec<workload::Step>,
    /// Its timers, by number.
    timers: Vec<Option<String>>,
    depth: usize,
    deepest: usize,
}

impl Compiler<'_> {
    fn step(&mut self, step: &Step, last: bool, at: &At) -> Result<(), Fault> {
        use workload::Step as Code;
        let id = |kind, name| self.names.id(kind, name);
        let code = match step {
            Step::Compute { compute } => Code::Compute(compute.0.clone()),
            Step::Busy { busy } => Code::Busy(busy.0.clone()),
            Step::Sleep { sleep } => Code::Sleep(sleep.0.clone()),
            Step::Until { until } => Code::Until(until.0),
            Step::Period { period, from, offset, deadline, overrun, timer } => {
                let times = [offset.as_ref(), deadline.as_ref()].map(|time| time.map(|time| time.0));
                let pace = pace(period.0, times, self.timer(timer.as_deref()), at)?;
                Code::Period(Pace { overrun: overrun.unwrap_or_default(), from: from.unwrap_or_default(), ..pace })
            }
            Step::Yield { .. } => Code::Yield,
            Step::Wait { wait } => Code::Wait(id(ObjectKind::Semaphore, wait)),
            Step::Post { post, times } => Code::Post(
                id(ObjectKind::Semaphore, post),
                self.given(ObjectKind::Semaphore, post, *times, &at.key("times"))?,
            ),
            Step::Lock { lock } => Code::Lock(id(ObjectKind::Lock, lock)),
            Step::ReadLock { read_lock } => Code::ReadLock(id(ObjectKind::Lock, read_lock)),
            Step::Unlock { unlock } => Code::Unlock(id(ObjectKind::Lock, unlock)),
            Step::CondWait { cond_wait, mutex } => return self.cond_wait(cond_wait, mutex),
            Step::Signal { signal } => Code::Signal(id(ObjectKind::Condition, signal)),
            Step::Broadcast { broadcast } => Code::Broadcast(id(ObjectKind::Condition, broadcast)),
            Step::Suspend { suspend } => {
                let mutex = id(ObjectKind::Lock, suspend);
                self.code.push(Code::Lock(mutex));
                self.cond_wait(suspend, suspend)?;
                Code::Unlock(mutex)
            }
            Step::Resume { resume } => {
                let mutex = id(ObjectKind::Lock, resume);
                self.code.extend([Code::Lock(mutex), Code::Broadcast(id(ObjectKind::Condition, resume))]);
                Code::Unlock(mutex)
            }
            Step::Send { send, messages } => {
                let messages = self.given(ObjectKind::Channel, send, *messages, &at.key("messages"))?;
                Code::Send(id(ObjectKind::Channel, send), messages)
            }
            Step::Recv { recv, messages } => {
                Code::Recv(id(ObjectKind::Channel, recv), at_least_one(*messages, &at.key("messages"))?)
            }
            Step::Barrier { barrier } => Code::Barrier(id(ObjectKind::Barrier, barrier)),
            Step::Io { io } => Code::Io(id(ObjectKind::Device, &io.device), io.service.0.clone()),
            Step::Spawn { spawn, count } => {
                Code::Spawn(self.roles[spawn.as_str()], at_least_one(*count, &at.key("count"))?)
            }
            Step::Set { set } => Code::Set(change(set)),
            Step::Join { join } => Code::Join(control_group::leaf(self.tree, join, &at.path())?),
            Step::Adjust { adjust } => {
                let (id, change) = control_group::adjustment(self.tree, adjust, &at.path())?;
                Code::Adjust(id, change)
            }
            Step::Answer { .. } => Code::Answer,
            Step::Exit { .. } if !last => {
                return Err(at.fault("nothing after `exit` is ever done: put it last, outside of any repeat"));
            }
            Step::Exit { .. } => Code::Exit,
            Step::Repeat { repeat, steps, request } => return self.repeat(*repeat, steps, *request, at),
        };
        self.code.push(code);
        Ok(())
    }

    /// A woken task takes the mutex as after a sleep (`__pthread_mutex_cond_lock`).
    fn cond_wait(&mut self, condition: &str, mutex: &str) -> Result<(), Fault> {
        let mutex = self.names.id(ObjectKind::Lock, mutex);
        let wait = workload::Step::CondWait(self.names.id(ObjectKind::Condition, condition), mutex);
        self.code.extend([wait, workload::Step::Relock(mutex)]);
        Ok(())
    }

    /// The number of a timer.
    fn timer(&mut self, name: Option<&str>) -> u32 {
        let known = self.timers.iter().position(|timer| timer.as_deref() == name);
        known.unwrap_or_else(|| {
            self.timers.push(name.map(Into::into));
            self.timers.len() - 1
        }) as u32
    }

    /// How much is given to an object at once. Requests are kept one by one.
    fn given(&self, kind: ObjectKind, name: &str, count: u32, at: &At) -> Result<u32, Fault> {
        match self.works.of(kind, name) {
            Some(_) if count > MAX_REQUESTS_AT_ONCE => {
                let message = format!("{count} requests at once are too many: at most {MAX_REQUESTS_AT_ONCE} fit");
                Err(at.fault(message))
            }
            _ => at_least_one(count, at),
        }
    }

    fn repeat(&mut self, times: u32, steps: &[Step], is_request: bool, at: &At) -> Result<(), Fault> {
        at_least_one(times, &at.key("repeat"))?;
        if steps.is_empty() {
            return Err(at.key("steps").fault("there is nothing to repeat: write at least one step"));
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.code.push(workload::Step::RepeatBegin { times });
        let begin = self.code.len();
        let inside = at.key("steps");
        let is_work = self.serves && !steps.iter().all(|step| self.works.waits(step));
        if let Some(nested) = requests_inside(steps, &inside).filter(|_| is_request) {
            return Err(nested.fault("a request is no part of another: keep one `request`"));
        }
        let (first, last) = if is_request && !self.serves { busy_part(steps, self.works) } else { (None, None) };
        for (index, step) in steps.iter().enumerate() {
            if first == Some(index) {
                self.code.push(workload::Step::RequestBegin);
            }
            if last == Some(index) {
                self.code.push(end_of(steps, self.works));
            }
            if is_work && goes_back(steps, index, self.works) {
                self.code.push(workload::Step::Answer);
            }
            self.step(step, false, &inside.index(index))?;
        }
        if last == Some(steps.len()) {
            self.code.push(end_of(steps, self.works));
        }
        self.code.push(workload::Step::RepeatEnd { begin });
        self.depth -= 1;
        Ok(())
    }
}

/// The change as executors take it; what is wrong with it, the role's checks say.
fn change(set: &Change) -> workload::Change {
    workload::Change {
        cpus: set.cpus.as_ref().map(|cpus| cpus.0.clone()),
        nice: set.nice.map(|nice| nice as i8),
        class: set.class.as_ref().map(|class| class.0),
        slice: set.slice.as_ref().map(|slice| slice.0),
    }
}

/// The pace of a periodic task, which skips what it has missed.
fn pace(period: Time, [offset, deadline]: [Option<Time>; 2], timer: u32, at: &At) -> Result<Pace, Fault> {
    if period == Time::ZERO {
        return Err(at.key("period").fault("a period of no time never ends: write a longer one"));
    }
    if let Some(offset) = offset.filter(|offset| *offset >= period) {
        let message =
            format!("an offset of {offset} is as long as the period of {period}, or longer: write a shorter one");
        return Err(at.key("offset").fault(message));
    }
    if deadline == Some(Time::ZERO) {
        return Err(at.key("deadline").fault("no job is done at its release: write a longer deadline"));
    }
    let offset = offset.filter(|offset| *offset > Time::ZERO).unwrap_or(period);
    Ok(Pace {
        timer,
        period,
        offset,
        deadline: deadline.unwrap_or(period),
        overrun: Overrun::default(),
        from: Origin::default(),
    })
}

fn at_least_one(number: u32, at: &At) -> Result<u32, Fault> {
    match number {
        0 => Err(at.fault("zero times is not at all: write 1 or more, or remove the step")),
        n => Ok(n),
    }
}
