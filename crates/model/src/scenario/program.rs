//! From the steps of a task to a program: `repeat` becomes jumps, and requests get their beginning and their end.

use super::{
    At, Fault, Step,
    error::Path,
    objects::{Names, ObjectKind},
};
use crate::{
    ids::GroupId,
    workload::{self, Birth, Program},
};
use std::collections::BTreeMap;

/// A group as the checks need it.
pub(crate) struct GroupInfo<'s> {
    /// Its name.
    pub name: &'s str,
    /// Tasks at the start; with arrivals the limit.
    pub count: Option<u32>,
    /// When they come to be.
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
            Step::Repeat { repeat, steps } => {
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
    Program { steps, repeats: false, repeat_depth: 0 }
}

/// Compiles a group's program.
pub(crate) fn program(
    group: &GroupInfo,
    at: &At,
    names: &Names,
    groups: &BTreeMap<&str, GroupId>,
) -> Result<Program, Fault> {
    let mut compiler = Compiler { names, groups, code: Vec::new(), depth: 0, deepest: 0 };
    let (begin, end) = request(group);
    for (index, step) in group.body.iter().enumerate() {
        if begin < end && index == begin {
            compiler.code.push(workload::Step::RequestBegin);
        }
        if begin < end && index == end {
            compiler.code.push(workload::Step::RequestEnd);
        }
        compiler.step(step, index + 1 == group.body.len(), &at.index(index))?;
    }
    if begin < end && end == group.body.len() {
        compiler.code.push(workload::Step::RequestEnd);
    }
    if group.body.is_empty() {
        return Err(at.fault("the program is empty: write at least one step, as { compute = \"5ms\" }"));
    }
    Ok(Program { steps: compiler.code, repeats: group.repeats, repeat_depth: compiler.deepest })
}

/// The steps that are one request: all but the sleeps at the beginning and at the end, which are think time. Someone
/// who arrives waits from then on, so there the first sleeps belong to the request. Empty when there is only sleep.
fn request(group: &GroupInfo) -> (usize, usize) {
    let steps = &group.body[..group.body.len() - ends_with_exit(group.body) as usize];
    let sleeps = |step: &&Step| matches!(step, Step::Sleep { .. });
    let leading = steps.iter().take_while(sleeps).count();
    let trailing = steps.iter().rev().take_while(sleeps).count();
    match &group.birth {
        _ if leading == steps.len() => (0, 0),
        Birth::Arrivals { .. } => (0, steps.len() - trailing),
        _ => (leading, steps.len() - trailing),
    }
}

struct Compiler<'c> {
    names: &'c Names,
    groups: &'c BTreeMap<&'c str, GroupId>,
    code: Vec<workload::Step>,
    depth: usize,
    deepest: usize,
}

impl Compiler<'_> {
    fn step(&mut self, step: &Step, last: bool, at: &At) -> Result<(), Fault> {
        use workload::Step as Code;
        let id = |kind, name| self.names.id(kind, name);
        let code = match step {
            Step::Compute { compute } => Code::Compute(compute.0.clone()),
            Step::Sleep { sleep } => Code::Sleep(sleep.0.clone()),
            Step::Yield { .. } => Code::Yield,
            Step::Wait { wait } => Code::Wait(id(ObjectKind::Semaphore, wait)),
            Step::Post { post, times } => {
                Code::Post(id(ObjectKind::Semaphore, post), at_least_one(*times, &at.key("times"))?)
            }
            Step::Lock { lock } => Code::Lock(id(ObjectKind::Lock, lock)),
            Step::Unlock { unlock } => Code::Unlock(id(ObjectKind::Lock, unlock)),
            Step::Send { send, messages } => {
                Code::Send(id(ObjectKind::Channel, send), at_least_one(*messages, &at.key("messages"))?)
            }
            Step::Recv { recv, messages } => {
                Code::Recv(id(ObjectKind::Channel, recv), at_least_one(*messages, &at.key("messages"))?)
            }
            Step::Barrier { barrier } => Code::Barrier(id(ObjectKind::Barrier, barrier)),
            Step::Io { io } => Code::Io(id(ObjectKind::Device, &io.device), io.service.0.clone()),
            Step::Spawn { spawn, count } => {
                Code::Spawn(self.groups[spawn.as_str()], at_least_one(*count, &at.key("count"))?)
            }
            Step::Exit { .. } if !last => {
                return Err(at.fault("nothing after `exit` is ever done: put it last, outside of any repeat"));
            }
            Step::Exit { .. } => Code::Exit,
            Step::Repeat { repeat, steps } => return self.repeat(*repeat, steps, at),
        };
        self.code.push(code);
        Ok(())
    }

    fn repeat(&mut self, times: u32, steps: &[Step], at: &At) -> Result<(), Fault> {
        at_least_one(times, &at.key("repeat"))?;
        if steps.is_empty() {
            return Err(at.key("steps").fault("there is nothing to repeat: write at least one step"));
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.code.push(workload::Step::RepeatBegin { times });
        let begin = self.code.len();
        let inside = at.key("steps");
        for (index, step) in steps.iter().enumerate() {
            self.step(step, false, &inside.index(index))?;
        }
        self.code.push(workload::Step::RepeatEnd { begin });
        self.depth -= 1;
        Ok(())
    }
}

fn at_least_one(number: u32, at: &At) -> Result<u32, Fault> {
    match number {
        0 => Err(at.fault("zero times is not at all: write 1 or more, or remove the step")),
        n => Ok(n),
    }
}
