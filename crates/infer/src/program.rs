//! What the tasks of a group do, as items.

use crate::InferError;
use crate::cut::{Cut, Cutter, Search};
use crate::groups::{Group, Origin};
use crate::model::table_name;
use crate::report::Level;
use crate::steps;
use crate::tracker::Tracker;
use schedlab_model::ids::TaskId;
use schedlab_model::recorded::{Act, Item, Op};
use schedlab_model::workload::ItemOrder;
use schedlab_trace::{Place, StepWriter};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// The most items of which the work of each is kept for its percentiles.
const WORKS: usize = 1 << 16;

/// The most items that are kept for tasks that came to none.
const SPARE: usize = 1024;

/// How far apart such tasks begin among them.
const SPREAD: usize = 383;

/// The most steps of an item that is written in the scenario itself.
const PLAIN_STEPS: usize = 64;

/// The most steps of a model. Of longer recordings an even part of the items is kept, and repeats.
const MOST_STEPS: u64 = 1 << 22;

/// A recording, and the number of each task's semaphore.
pub type Source<'s> = (&'s Tracker, &'s BTreeMap<TaskId, u32>);

/// The items of a group.
pub struct Program {
    /// How it is modelled.
    pub level: Level,
    /// Where the steps are cut.
    cut: Cut,
    /// In which order items are taken.
    pub order: ItemOrder,
    /// Whether each task does one item and ends.
    pub once: bool,
    /// The only item, if all are the same.
    pub constant: Option<Item>,
    /// What tasks do that never came to an item: what others did.
    spare: Vec<Item>,
    /// How many tasks these are.
    pub idle: u64,
    /// How many items there are; where a life is one, how many requests if it has some.
    pub items: u64,
    /// How many steps they have.
    steps: u64,
    /// The work of the first [`WORKS`] of them.
    pub works: Vec<u64>,
    /// How often a step waits, by step and object.
    pub waits: BTreeMap<(Op, u32), u64>,
    /// The objects that are used.
    pub used: BTreeSet<u32>,
}

impl Program {
    /// Looks at all tasks of a group.
    pub fn of(source: Source, group: &Group, level: Level) -> Result<Program, InferError> {
        let (tracker, _) = source;
        let ends = group.tasks.iter().any(|task| tracker.tasks[task].ended);
        let once = ends || level == Level::Tasks || group.origin == Origin::Arriving;
        let cut = if once { Cut::Nowhere } else { found(source, group, level)? };
        let mut program = Program {
            level,
            cut,
            order: ItemOrder::Own,
            once,
            constant: None,
            spare: Vec::new(),
            idle: 0,
            items: 0,
            steps: 0,
            works: Vec::new(),
            waits: BTreeMap::new(),
            used: BTreeSet::new(),
        };
        program.look(source, group)?;
        Ok(program)
    }

    /// Shows all items of all tasks, with the number of the task in the group and when they began. A task that never came to one
    /// shows an empty one.
    fn each(&self, (tracker, tokens): Source, group: &Group, mut show: impl FnMut(usize, u64, Item)) -> io::Result<()> {
        let token = |task: TaskId| tokens.get(&task).copied().unwrap_or(u32::MAX);
        for (number, &task) in group.tasks.iter().enumerate() {
            let mut cutter = Cutter::new(self.cut);
            let mut any = false;
            let mut tidied = |(begin_ns, item): (u64, Item)| {
                let item = tidy(item, self.level);
                if !item.is_empty() {
                    any = true;
                    show(number, begin_ns, item);
                }
            };
            steps::each(tracker, task, self.level, &token, |raw| cutter.take(raw).into_iter().for_each(&mut tidied))?;
            let (begin_ns, mut rest, is_whole) = cutter.rest();
            end_rest(&mut rest, tracker.tasks[&task].is_at_work().then_some(tracker.end_ns));
            if is_whole {
                tidied((begin_ns, rest));
            }
            if !any {
                show(number, begin_ns, Item::new());
            }
        }
        Ok(())
    }

    /// Counts, and decides in which order items are taken and whether all are the same.
    fn look(&mut self, source: Source, group: &Group) -> Result<(), InferError> {
        let (mut items, mut steps) = (0, 0);
        let (mut works, mut waited, mut used) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
        let mut first: Option<Item> = None;
        let (mut all_same, mut all_take) = (true, true);
        let (mut spare, mut idle) = (Vec::new(), 0);
        self.each(source, group, |_, _, item| {
            if item.is_empty() {
                idle += 1;
                return;
            }
            if spare.len() < SPARE {
                spare.push(item.clone());
            }
            items += (item.iter().filter(|act| act.op == Op::End).count() as u64).max(1);
            steps += item.len() as u64;
            let is_open = item.last().is_some_and(|act| is_open(act, source.0.end_ns));
            if works.len() < WORKS && !is_open {
                works.push(item.iter().filter(|act| act.op == Op::Compute).map(|act| act.value).sum());
            }
            for act in &item {
                if waits(act.op) {
                    *waited.entry((act.op, act.object)).or_insert(0) += 1;
                }
                if act.op.has_object() && act.op != Op::Spawn {
                    used.insert(act.object);
                }
            }
            let first = first.get_or_insert_with(|| item.clone());
            all_same &= *first == item;
            all_take &= taking(first).is_some() && taking(first) == taking(&item);
        })?;
        (self.items, self.steps, self.works, self.waits, self.used) = (items, steps, works, waited, used);
        (self.spare, self.idle) = (spare, idle);
        let Some(first) = first else {
            // What they would do is not known; they would want a CPU, or nothing.
            let wants = group.tasks.iter().any(|task| source.0.tasks[task].is_at_work());
            let op = if wants { Op::Compute } else { Op::Sleep };
            self.constant = Some(vec![Act::new(op, source.0.end_ns.max(1))]);
            return Ok(());
        };
        let is_marked = first.iter().any(|act| matches!(act.op, Op::Begin | Op::End));
        self.constant = (all_same && !is_marked && first.len() <= PLAIN_STEPS).then(|| first.clone());
        if !self.once && group.tasks.len() > 1 && all_take {
            self.order = ItemOrder::Taken;
        }
        Ok(())
    }

    /// What a task does that never came to an item: what the others did, each from another place on. One whose life is an item
    /// does one.
    fn spare_of(&self, task: usize) -> impl Iterator<Item = &Item> {
        let count = if self.once { 1 } else { self.spare.len() };
        let from = task * SPREAD % self.spare.len().max(1);
        self.spare.iter().cycle().skip(from).take(count)
    }
}

/// From what an item begins by taking.
fn taking(item: &Item) -> Option<(Op, u32)> {
    let first = item.first()?;
    matches!(first.op, Op::Wait | Op::Recv).then_some((first.op, first.object))
}

fn found((tracker, tokens): Source, group: &Group, level: Level) -> io::Result<Cut> {
    let token = |task: TaskId| tokens.get(&task).copied().unwrap_or(u32::MAX);
    let mut search = Search::default();
    for &task in &group.tasks {
        search.begin_task();
        steps::each(tracker, task, level, &token, |raw| search.take(raw))?;
    }
    Ok(search.found())
}

/// What is no step of the model is left out: marks of a request that is the whole item. Work that follows work is one step.
fn tidy(mut item: Item, level: Level) -> Item {
    let begins = item.iter().filter(|act| act.op == Op::Begin).count();
    if begins <= 1 && level == Level::Items {
        item.retain(|act| !matches!(act.op, Op::Begin | Op::End));
    }
    let mut joined = Item::with_capacity(item.len());
    for act in item {
        match joined.last_mut() {
            Some(last) if last.op == Op::Compute && act.op == Op::Compute => last.value += act.value,
            _ => joined.push(act),
        }
    }
    joined
}

/// What the end of the recording cut off. Locks are given back that the task held, which others would else await for ever. How
/// much work there would have been is not known, and the task would have gone on under any scheduler: one at work gets more than
/// the time of the recording, which is `at_work`, has.
fn end_rest(item: &mut Item, at_work: Option<u64>) {
    let mut held: Vec<u32> = Vec::new();
    for act in item.iter() {
        match act.op {
            Op::Lock | Op::ReadLock => held.push(act.object),
            Op::Unlock => held.retain(|lock| *lock != act.object),
            _ => {}
        }
    }
    let is_computing = item.last().is_some_and(|act| act.op == Op::Compute);
    item.extend(held.into_iter().rev().map(|lock| Act::with(Op::Unlock, lock, 1)));
    if let Some(length_ns) = at_work.filter(|_| is_computing) {
        // It is joined with the work before it, if nothing was given back.
        item.push(Act::new(Op::Compute, length_ns + 1));
    }
}

fn is_open(act: &Act, end_ns: u64) -> bool {
    act.op == Op::Compute && act.value > end_ns
}

fn waits(op: Op) -> bool {
    use Op::*;
    matches!(op, Sleep | Until | Period | CatchUp | Wait | Lock | ReadLock | CondWait | Send | Recv | Barrier | Io)
}

/// The part of the items that a model keeps.
///
/// # Errors
///
/// Tasks whose whole life is one item have more steps than a model may.
pub fn kept(programs: &[Program]) -> Result<f64, InferError> {
    let written = || programs.iter().filter(|program| program.constant.is_none());
    let of = |is_whole: bool| -> u64 {
        written().filter(|program| (program.cut == Cut::Nowhere) == is_whole).map(|program| program.steps).sum()
    };
    let (whole, parts) = (of(true), of(false));
    match MOST_STEPS.checked_sub(whole) {
        Some(room) if parts <= room => Ok(1.0),
        Some(room) if room >= MOST_STEPS / 4 => Ok(room as f64 / parts as f64),
        _ => Err(InferError::TooLong { steps: whole, most: MOST_STEPS }),
    }
}

/// Writes the items of all programs that are not written in the scenario. Gives whether there are any.
///
/// # Errors
///
/// The disk is full.
pub fn write(
    source: Source,
    groups: &[Group],
    programs: &[Program],
    kept: f64,
    path: &Path,
) -> Result<bool, InferError> {
    if programs.iter().all(|program| program.constant.is_some()) {
        return Ok(false);
    }
    let mut writer = StepWriter::create(path)?;
    let mut tables = Vec::new();
    let written = groups.iter().zip(programs).enumerate().filter(|(_, (_, program))| program.constant.is_none());
    for (number, (group, program)) in written {
        let table = tables.len() as u32;
        tables.push(table_name(number));
        let mut keeper = Keeper { place: Place { table, list: 0, item: 0 }, kept, task: 0, seen: 0 };
        match program.order {
            ItemOrder::Own => {
                let mut outcome = Ok(());
                program.each(source, group, |task, _, item| {
                    let spare = item.is_empty().then(|| program.spare_of(task));
                    for item in spare.into_iter().flatten().chain(Some(&item).filter(|item| !item.is_empty())) {
                        if outcome.is_ok() && keeper.keeps(task, program.cut == Cut::Nowhere) {
                            outcome = keeper.write(&mut writer, item);
                        }
                    }
                })?;
                outcome?;
            }
            ItemOrder::Taken => {
                // In the order in which they were taken, by any task.
                let mut all = Vec::new();
                program.each(source, group, |task, begin_ns, item| {
                    if keeper.keeps(task, false) && !item.is_empty() {
                        all.push((begin_ns, item));
                    }
                })?;
                all.sort_by_key(|(begin_ns, _)| *begin_ns);
                keeper.place = Place { table, list: 0, item: 0 };
                all.iter().try_for_each(|(_, item)| keeper.write(&mut writer, item))?;
            }
        }
    }
    writer.close(source.0.names.all(), &tables)?;
    Ok(true)
}

/// Decides which items are kept, and where.
struct Keeper {
    place: Place,
    kept: f64,
    task: usize,
    seen: u64,
}

impl Keeper {
    /// Whether the next item of a task is kept: its first one, and of the others an even part.
    fn keeps(&mut self, task: usize, is_whole: bool) -> bool {
        if task != self.task {
            (self.task, self.seen) = (task, 0);
            self.place = Place { list: task as u32, item: 0, ..self.place };
        }
        let before = (self.seen as f64 * self.kept) as u64;
        self.seen += 1;
        is_whole || self.seen == 1 || (self.seen as f64 * self.kept) as u64 != before
    }

    fn write(&mut self, writer: &mut StepWriter, item: &Item) -> Result<(), schedlab_trace::Error> {
        item.iter().try_for_each(|act| writer.act(self.place, act))?;
        self.place.item += 1;
        Ok(())
    }
}
