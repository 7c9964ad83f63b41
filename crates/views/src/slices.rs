//! Every slice of every CPU and every wake-up, packed for a picture that can be zoomed into.
//!
//! The bytes are columns of unsigned LEB128 numbers, one column after the other, each as long as [`Header`] says. Times
//! are in ns. For each CPU, for its slices in the order of time:
//!
//! | column | content |
//! |---|---|
//! | gap | from the end of the slice before, or from 0, to the start |
//! | length | from the start to the end |
//! | task | which of [`Header::tasks`] |
//! | reason | why it left |
//!
//! What a CPU without a task does is a task of its own name, unless it idles. Reasons are 0 not known, as at the end of the run; 1 slice end; 2 preempted; 3 blocked; 4 yielded; 5 exited.
//!
//! Then for all wake-ups that were seen, in the order of time:
//!
//! | column | content |
//! |---|---|
//! | delta | from the wake-up before, or from 0 |
//! | waker | 0 when it was no task, else 1 more than the waker's place in [`Header::tasks`] |
//! | woken | which of [`Header::tasks`] |
//! | source | what it had waited for: the number of the [`WakeSource`] |
//!
//! Then for all stretches in which a task was throttled, in the order of their starts:
//!
//! | column | content |
//! |---|---|
//! | delta | from the start of the stretch before, or from 0, to the start |
//! | length | from the start to the end |
//! | task | which of [`Header::tasks`] |

use schedlab_model::{
    ids::{CpuId, TaskId},
    names::Names,
    time::Time,
    trace::{Event, EventKind, Reason, Sink, Untraced, WakeSource},
};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// The number of slices, and of wake-ups, that are kept by default.
pub const LIMIT: u32 = 2_000_000;

/// What a task is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskName {
    /// Its name, `worker/3`.
    pub label: String,
    /// Which of the roles it belongs to; none when its fork was not seen.
    pub role: Option<u32>,
}

/// What one must know to read the bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Header {
    /// How many CPUs there are.
    pub cpus: u32,
    /// When the run ended.
    pub end_ns: u64,
    /// The tasks that ran, woke or were woken, in the order of their coming.
    pub tasks: Vec<TaskName>,
    /// The names of the roles.
    pub roles: Vec<String>,
    /// How many slices each CPU has.
    pub slices_per_cpu: Vec<u32>,
    /// How many wake-ups there are.
    pub wakes: u32,
    /// How many stretches there are in which a task was throttled.
    pub throttled: u32,
    /// When there were too many slices or wake-ups: nothing is known from here on.
    pub kept_until_ns: Option<u64>,
}

/// A whole timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Names and sizes.
    pub header: Header,
    /// Slices, wake-ups and throttled stretches, as the module says.
    pub bytes: Vec<u8>,
}

/// Numbers of one kind, packed.
#[derive(Clone, Debug, Default)]
struct Column(Vec<u8>);

impl Column {
    fn push(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// One CPU.
#[derive(Clone, Debug, Default)]
struct Row {
    /// The task there, its name, and since when; none where the CPU does something else.
    occupant: Option<(Option<TaskId>, u32, Time)>,
    /// The end of the last slice.
    end: Time,
    slices: u32,
    gap: Column,
    length: Column,
    task: Column,
    reason: Column,
}

impl Row {
    /// The slice of the present task is over.
    fn close(&mut self, now: Time, reason: u64) {
        let Some((_, task, since)) = self.occupant.take() else { return };
        self.gap.push(since.since(self.end).ns());
        self.length.push(now.since(since).ns());
        self.task.push(task.into());
        self.reason.push(reason);
        self.slices += 1;
        self.end = now.max(since);
    }

    fn columns(&self) -> [&Column; 4] {
        [&self.gap, &self.length, &self.task, &self.reason]
    }
}

/// The wake-ups.
#[derive(Clone, Debug, Default)]
struct Wakes {
    last: Time,
    count: u32,
    delta: Column,
    waker: Column,
    woken: Column,
    source: Column,
}

impl Wakes {
    fn push(&mut self, time: Time, waker: Option<u32>, woken: u32, source: WakeSource) {
        self.delta.push(time.since(self.last).ns());
        self.waker.push(waker.map_or(0, |waker| u64::from(waker) + 1));
        self.woken.push(woken.into());
        self.source.push(source as u64);
        self.last = time;
        self.count += 1;
    }

    fn columns(&self) -> [&Column; 4] {
        [&self.delta, &self.waker, &self.woken, &self.source]
    }
}

/// When tasks were throttled.
#[derive(Clone, Debug, Default)]
struct Throttled {
    /// Since when a task is.
    since: BTreeMap<TaskId, Time>,
    /// Start, end and name of each stretch that is over.
    stretches: Vec<(Time, Time, u32)>,
}

impl Throttled {
    fn columns(mut self) -> [Column; 3] {
        self.stretches.sort();
        let (mut last, mut columns) = (Time::ZERO, [(); 3].map(|()| Column::default()));
        for (since, until, task) in self.stretches {
            columns[0].push(since.since(last).ns());
            columns[1].push(until.since(since).ns());
            columns[2].push(task.into());
            last = since;
        }
        columns
    }
}

/// Gathers slices, wake-ups and throttled stretches. A run that divides its CPUs without switches has none.
#[derive(Clone, Debug)]
pub struct Slices {
    names: Names,
    roles: Vec<String>,
    tasks: Vec<TaskName>,
    places: HashMap<TaskId, u32>,
    rows: Vec<Row>,
    wakes: Wakes,
    throttled: Throttled,
    /// Slices that began.
    begun: u32,
    limit: u32,
    kept_until: Option<Time>,
    end: Time,
}

impl Slices {
    /// For a trace with these roles, by [`schedlab_model::ids::RoleId`], and this number of CPUs.
    pub fn new(roles: impl IntoIterator<Item = String>, cpus: u32) -> Slices {
        let roles: Vec<String> = roles.into_iter().collect();
        Slices {
            names: Names::new(roles.iter().cloned()),
            roles,
            tasks: Vec::new(),
            places: HashMap::new(),
            rows: vec![Row::default(); cpus as usize],
            wakes: Wakes::default(),
            throttled: Throttled::default(),
            begun: 0,
            limit: LIMIT,
            kept_until: None,
            end: Time::ZERO,
        }
    }

    /// Keeps this number of slices and of wake-ups, instead of [`LIMIT`].
    pub fn keeping(self, limit: u32) -> Slices {
        Slices { limit, ..self }
    }

    /// The place of a task among the names.
    fn place(&mut self, task: TaskId) -> u32 {
        if let Some(&place) = self.places.get(&task) {
            return place;
        }
        let role = self.names.get(task).map(|(role, _)| match role.index() < self.roles.len() {
            true => role.0,
            false => find_or_add(&mut self.roles, self.names.role(role)),
        });
        let place = self.tasks.len() as u32;
        self.tasks.push(TaskName { label: self.names.task(task), role });
        self.places.insert(task, place);
        place
    }

    fn switch(&mut self, time: Time, cpu: CpuId, previous: Option<(TaskId, Reason)>, next: Option<TaskId>) {
        let Some(row) = self.rows.get_mut(cpu.index()) else { return };
        // A recorded trace may have lost the switch to the task that leaves: then it is not known why the other left.
        let told = previous.filter(|(task, _)| row.occupant.is_some_and(|(there, ..)| there == Some(*task)));
        row.close(time, told.map_or(0, |(_, reason)| code(reason)));
        let Some(next) = next else { return };
        let place = self.place(next);
        self.begin(time, cpu, Some(next), place);
    }

    /// A CPU without a task does this.
    fn turn_to(&mut self, time: Time, cpu: CpuId, what: Untraced) {
        let Some(row) = self.rows.get_mut(cpu.index()) else { return };
        row.close(time, 0);
        let label = match what {
            Untraced::Idle => return,
            Untraced::Others => "not recorded",
            Untraced::Unknown => "not known",
        };
        let place = self.tasks.iter().position(|task| task.role.is_none() && task.label == label);
        let place = place.unwrap_or_else(|| {
            self.tasks.push(TaskName { label: label.into(), role: None });
            self.tasks.len() - 1
        });
        self.begin(time, cpu, None, place as u32);
    }

    fn begin(&mut self, time: Time, cpu: CpuId, task: Option<TaskId>, place: u32) {
        if self.begun == self.limit {
            return self.stop(time);
        }
        self.begun += 1;
        self.rows[cpu.index()].occupant = Some((task, place, time));
    }

    fn wakeup(&mut self, time: Time, waker: Option<TaskId>, woken: TaskId, source: WakeSource) {
        if self.wakes.count == self.limit {
            return self.stop(time);
        }
        let waker = waker.map(|waker| self.place(waker));
        let woken = self.place(woken);
        self.wakes.push(time, waker, woken, source);
    }

    /// A task is held back from now on, or no more.
    fn throttle(&mut self, time: Time, task: TaskId, on: bool) {
        if on {
            self.throttled.since.entry(task).or_insert(time);
        } else if let Some(since) = self.throttled.since.remove(&task) {
            if self.throttled.stretches.len() == self.limit as usize {
                return self.stop(time);
            }
            let place = self.place(task);
            self.throttled.stretches.push((since, time, place));
        }
    }

    /// Nothing is kept from now on.
    fn stop(&mut self, now: Time) {
        self.close(now);
        self.kept_until = Some(now);
    }

    /// What has begun ends now.
    fn close(&mut self, now: Time) {
        self.rows.iter_mut().for_each(|row| row.close(now, 0));
        for (task, since) in std::mem::take(&mut self.throttled.since) {
            let place = self.place(task);
            self.throttled.stretches.push((since, now, place));
        }
    }

    /// After the end: names, sizes and bytes.
    pub fn into_packed(mut self) -> Packed {
        let throttled = self.throttled.stretches.len() as u32;
        let stretches = std::mem::take(&mut self.throttled).columns();
        let columns = || self.rows.iter().flat_map(Row::columns).chain(self.wakes.columns()).chain(&stretches);
        let mut bytes = Vec::with_capacity(columns().map(|column| column.0.len()).sum());
        columns().for_each(|column| bytes.extend_from_slice(&column.0));
        let header = Header {
            cpus: self.rows.len() as u32,
            end_ns: self.end.ns(),
            slices_per_cpu: self.rows.iter().map(|row| row.slices).collect(),
            wakes: self.wakes.count,
            throttled,
            kept_until_ns: self.kept_until.map(Time::ns),
            tasks: self.tasks,
            roles: self.roles,
        };
        Packed { header, bytes }
    }
}

/// Where a name is in the list; a new one is put at its end.
fn find_or_add(names: &mut Vec<String>, name: String) -> u32 {
    let place = names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    });
    place as u32
}

/// The number that stands for a reason.
fn code(reason: Reason) -> u64 {
    match reason {
        Reason::Idle => 0,
        Reason::SliceEnd => 1,
        Reason::Preempted => 2,
        Reason::Blocked => 3,
        Reason::Yielded => 4,
        Reason::Exited => 5,
    }
}

impl Sink for Slices {
    fn event(&mut self, event: &Event) {
        if self.kept_until.is_some() {
            return;
        }
        self.names.observe(event);
        match event.kind {
            EventKind::Switch { previous, reason, next } => {
                self.switch(event.time, event.cpu, previous.map(|task| (task, reason)), next);
                next.into_iter().for_each(|task| self.throttle(event.time, task, false));
            }
            EventKind::Throttle { task, on } => self.throttle(event.time, task, on),
            EventKind::Exit { task } => self.throttle(event.time, task, false),
            EventKind::Untraced { what } => self.turn_to(event.time, event.cpu, what),
            EventKind::Wakeup { source: WakeSource::Untold, .. } => {}
            EventKind::Wakeup { task, waker, source, .. } => self.wakeup(event.time, waker, task, source),
            _ => {}
        }
    }

    fn finish(&mut self, end: Time) {
        self.close(end);
        self.end = end;
    }
}

#[cfg(test)]
mod tests;
