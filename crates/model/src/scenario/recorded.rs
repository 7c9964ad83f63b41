//! Tasks whose steps were recorded: `recorded = { file = "app.steps.parquet", items = "worker" }`.
//!
//! An item is compiled as a pass of a `loop` is, so that what is a request follows from the same rules, unless the recording
//! says itself where requests begin and end.

use super::{At, Fault, Io, Scenario, Step, Task, Text, True, error::did_you_mean, objects::Names};
use super::{program, program::RoleInfo, requests::Works};
use crate::{
    control_group::ControlGroups,
    distribution::Distribution,
    ids::RoleId,
    recorded::{Act, Item, Lists, Op, StepFile},
    time::Time,
    workload::{self, ItemOrder, Items, Origin, Overrun, Program},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The recorded steps of a role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// The file of steps; its name counts from the folder of the scenario.
    pub file: String,
    /// The name of the role's items in that file.
    pub items: String,
    /// own (when absent): each task goes through a list of its own; taken: the task that comes first gets the next item.
    #[serde(default, skip_serializing_if = "is_own")]
    pub order: ItemOrder,
    /// Whether a task ends after one item; when absent it continues with the next one until the run ends, and after the
    /// last one with the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
}

fn is_own(order: &ItemOrder) -> bool {
    *order == ItemOrder::Own
}

/// A file of steps next to a scenario.
#[derive(Debug)]
pub(crate) struct Attached {
    file: StepFile,
    samples: BTreeMap<String, Sample>,
}

/// A sample of the items of a table, for checks of programs.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    /// One item of each shape, the commonest first; empty where the recording says what requests are.
    pub body: Vec<Step>,
    /// Each step that differs from others in more than its time.
    pub steps: Vec<Step>,
}

/// The most items of different shapes that are looked at.
const SHAPES: usize = 64;

/// The most steps of a sample.
const SAMPLE_STEPS: usize = 4096;

impl Scenario {
    /// The files of steps that the scenario names.
    pub fn step_files(&self) -> BTreeSet<&str> {
        self.tasks.iter().filter_map(|task| Some(task.recorded.as_ref()?.file.as_str())).collect()
    }

    /// Takes a file of steps, by the name under which the scenario knows it.
    pub fn attach(&mut self, name: &str, file: StepFile) {
        let samples = file.tables.iter().map(|(table, lists)| (table.clone(), sample(lists, &file.names))).collect();
        self.written.files.insert(name.into(), Arc::new(Attached { file, samples }));
    }

    /// The digests of the files of steps.
    pub(crate) fn digests(&self) -> impl Iterator<Item = &str> {
        self.written.files.values().map(|attached| attached.file.digest())
    }

    /// The items that a task goes through, and their sample.
    fn recorded<'s>(&'s self, recorded: &Recorded, at: &At) -> Result<(&'s StepFile, &'s Lists, &'s Sample), Fault> {
        let Some(attached) = self.written.files.get(&recorded.file) else {
            let message = format!("the file of steps `{}` was not read: keep it next to the scenario", recorded.file);
            return Err(at.key("file").fault(message));
        };
        match (attached.file.tables.get(&recorded.items), attached.samples.get(&recorded.items)) {
            (Some(lists), Some(sample)) if !lists.is_empty() && lists.iter().all(|list| !list.is_empty()) => {
                Ok((&attached.file, lists, sample))
            }
            _ => {
                let names = attached.file.tables.keys().map(String::as_str);
                let message = format!(
                    "there are no items `{}` in `{}`{}",
                    recorded.items,
                    recorded.file,
                    did_you_mean(&recorded.items, names)
                );
                Err(at.key("items").fault(message))
            }
        }
    }
}

/// The sample of a task's items.
pub(crate) fn sample_of<'s>(scenario: &'s Scenario, recorded: &Recorded, at: &At) -> Result<&'s Sample, Fault> {
    scenario.recorded(recorded, at).map(|(_, _, sample)| sample)
}

/// Whether the recording says where requests begin and end.
fn is_marked(item: &Item) -> bool {
    item.iter().any(|act| matches!(act.op, Op::Begin | Op::End))
}

fn sample(lists: &Lists, names: &[String]) -> Sample {
    let mut shapes: BTreeMap<Vec<u8>, (usize, usize, &Item)> = BTreeMap::new();
    let mut known = BTreeSet::new();
    let mut steps = Vec::new();
    for (number, item) in lists.iter().flatten().enumerate() {
        for act in item {
            if known.insert((act.op, act.object, act.more)) {
                steps.extend(step(act, names));
            }
        }
        if item.len() <= SAMPLE_STEPS && (shapes.len() < SHAPES || shapes.contains_key(&key(item))) && !is_marked(item)
        {
            shapes.entry(key(item)).or_insert((0, number, item)).0 += 1;
        }
    }
    let mut by_count: Vec<_> = shapes.into_values().collect();
    by_count.sort_by_key(|(count, first, _)| (std::cmp::Reverse(*count), *first));
    let body = by_count.iter().flat_map(|(.., item)| item.iter().filter_map(|act| step(act, names)));
    Sample { body: body.take(SAMPLE_STEPS).collect(), steps }
}

/// What two items have in common that differ in nothing but their times.
fn key(item: &Item) -> Vec<u8> {
    let bytes = |act: &Act| {
        let shape = act.shape();
        let head = [shape.op as u8].into_iter().chain(shape.object.to_le_bytes());
        head.chain(shape.value.to_le_bytes()).chain(shape.more.to_le_bytes()).collect::<Vec<u8>>()
    };
    item.iter().flat_map(bytes).collect()
}

/// A recorded step as one of the language; none for the marks of requests. A name that the file does not have is empty, which
/// the checks of names refuse.
pub fn step(act: &Act, names: &[String]) -> Option<Step> {
    let name = |number: u64| usize::try_from(number).ok().and_then(|n| names.get(n)).cloned().unwrap_or_default();
    let object = || name(act.object.into());
    let time = || Text(Time(act.value));
    let length = || Text(Distribution::Constant(Time(act.value)));
    let count = u32::try_from(act.value).unwrap_or(u32::MAX);
    Some(match act.op {
        Op::Compute => Step::Compute { compute: length() },
        Op::Sleep => Step::Sleep { sleep: length() },
        Op::Until => Step::Until { until: time() },
        // Instants of a recording count from the start of the run.
        Op::Period | Op::CatchUp => Step::Period {
            period: time(),
            from: Some(Origin::Run),
            offset: Some(Text(Time(act.more))).filter(|offset| offset.0 > Time::ZERO),
            deadline: None,
            overrun: (act.op == Op::CatchUp).then_some(Overrun::CatchUp),
            timer: None,
        },
        Op::Yield => Step::Yield { r#yield: True },
        Op::Wait => Step::Wait { wait: object() },
        Op::Post => Step::Post { post: object(), times: count },
        Op::Lock => Step::Lock { lock: object() },
        Op::ReadLock => Step::ReadLock { read_lock: object() },
        Op::Unlock => Step::Unlock { unlock: object() },
        Op::CondWait => Step::CondWait { cond_wait: object(), mutex: name(act.more) },
        Op::Signal => Step::Signal { signal: object() },
        Op::Broadcast => Step::Broadcast { broadcast: object() },
        Op::Send => Step::Send { send: object(), messages: count },
        Op::Recv => Step::Recv { recv: object(), messages: count },
        Op::Barrier => Step::Barrier { barrier: object() },
        Op::Io => Step::Io { io: Io { device: object(), service: length() } },
        Op::Spawn => Step::Spawn { spawn: object(), count },
        Op::Answer => Step::Answer { answer: True },
        Op::Begin | Op::End => return None,
    })
}

/// Compiles the items of a role.
pub(crate) fn program(
    (scenario, task, role): (&Scenario, &Task, &RoleInfo),
    at: &At,
    (names, works): (&Names, &Works),
    (roles, tree): (&BTreeMap<&str, RoleId>, &ControlGroups),
) -> Result<Program, Fault> {
    let recorded = task.recorded.as_ref().expect("asked for such a role alone");
    let (file, lists, _) = scenario.recorded(recorded, at)?;
    let mut steps = vec![workload::Step::Item];
    let mut shapes: BTreeMap<Vec<u8>, Vec<workload::Step>> = BTreeMap::new();
    let known = ((names, works), (roles, tree));
    let mut begins = Vec::new();
    for list in lists {
        let mut begin = Vec::new();
        for item in list {
            let place = u32::try_from(steps.len()).map_err(|_| at.fault("there are more steps than can be counted"))?;
            begin.push(place);
            if is_marked(item) || item.len() > SAMPLE_STEPS {
                marked(item, file, role, &mut steps, at, known)?;
            } else {
                steps.extend(unmarked(item, file, role, &mut shapes, at, known)?);
            }
            steps.push(workload::Step::ItemEnd);
        }
        begins.push(begin);
    }
    let items = Items { lists: begins, order: recorded.order };
    Ok(Program { steps, repeats: role.repeats, repeat_depth: 0, items: Some(items) })
}

/// What steps refer to.
type Known<'k> = ((&'k Names, &'k Works<'k>), (&'k BTreeMap<&'k str, RoleId>, &'k ControlGroups));

/// An item in which the recording says what requests are.
fn marked(
    item: &Item,
    file: &StepFile,
    role: &RoleInfo,
    steps: &mut Vec<workload::Step>,
    at: &At,
    known: Known,
) -> Result<(), Fault> {
    for act in item {
        match step(act, &file.names) {
            Some(step) => steps.extend(program::bare(role, &[step], at, known.0, known.1)?),
            None if act.op == Op::Begin => steps.push(workload::Step::RequestBegin),
            None => steps.push(workload::Step::RequestEnd),
        }
    }
    Ok(())
}

/// An item that is compiled as a pass.
fn unmarked(
    item: &Item,
    file: &StepFile,
    role: &RoleInfo,
    shapes: &mut BTreeMap<Vec<u8>, Vec<workload::Step>>,
    at: &At,
    known: Known,
) -> Result<Vec<workload::Step>, Fault> {
    let key = key(item);
    if !shapes.contains_key(&key) {
        let body: Vec<Step> = item.iter().filter_map(|act| step(act, &file.names)).collect();
        let pass = RoleInfo { body: &body, birth: role.birth.clone(), steps: Vec::new(), ..*role };
        shapes.insert(key.clone(), program::program(&pass, at, known.0, known.1)?.steps);
    }
    let mut steps = shapes[&key].clone();
    let mut times = item.iter().filter(|act| act.op.takes_time()).map(|act| Time(act.value));
    for step in &mut steps {
        match step {
            workload::Step::Compute(length) | workload::Step::Sleep(length) | workload::Step::Io(_, length) => {
                *length = times.next().map_or(length.clone(), Distribution::Constant);
            }
            workload::Step::Until(until) => *until = times.next().unwrap_or(*until),
            _ => {}
        }
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that names something says so, since models declare what is used.
    #[test]
    fn operations_know_whether_they_have_an_object() {
        let names = ["other".to_string(), "shared".to_string()];
        for &op in Op::ALL {
            let named = step(&Act::with(op, 1, 1), &names).is_some_and(|step| format!("{step:?}").contains("shared"));
            assert_eq!(op.has_object(), named, "{}", op.word());
        }
    }
}
