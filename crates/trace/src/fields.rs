//! An event as a row of named numbers: the one flat form under which the file formats lay it down.

use crate::words::{Kind, Words};
use schedlab_model::{
    ids::{ControlGroupId, CpuId, ObjectId, RequestId, RoleId, TaskId},
    time::Time,
    trace::{Call, Event, EventKind, Overhead, Reason, Untraced, WakeSource},
};

/// What the numbers of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The number of a task, role or CPU, or how many there are of something.
    Id,
    /// Nanoseconds, or a policy's word.
    Wide,
    /// The code of one of these words.
    Word(&'static [&'static str]),
}

macro_rules! fields {
    ($($field:ident $name:literal $form:expr;)*) => {
        /// A field that only some kinds of events have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Field { $($field),* }

        impl Field {
            /// All fields, in the order of their numbers.
            pub(crate) const ALL: &'static [Field] = &[$(Field::$field),*];

            /// The name in files, with the unit.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Field::$field => $name),* }
            }

            /// What its numbers are.
            pub(crate) const fn form(self) -> Form {
                match self { $(Field::$field => $form),* }
            }
        }
    };
}

fields! {
    Task "task" Form::Id;
    Role "role" Form::Id;
    Parent "parent" Form::Id;
    TargetCpu "target_cpu" Form::Id;
    Waker "waker" Form::Id;
    Source "source" Form::Word(WakeSource::WORDS);
    Previous "previous" Form::Id;
    Reason "reason" Form::Word(Reason::WORDS);
    Next "next" Form::Id;
    FromCpu "from_cpu" Form::Id;
    ToCpu "to_cpu" Form::Id;
    Intended "intended_ns" Form::Wide;
    Demand "demand_ns" Form::Wide;
    Word "word" Form::Wide;
    What "what" Form::Word(Overhead::WORDS);
    Length "length_ns" Form::Wide;
    Request "request" Form::Id;
    Untraced "untraced" Form::Word(Untraced::WORDS);
    ControlGroup "control_group" Form::Id;
    On "on" Form::Word(&["no", "yes"]);
    Release "release_ns" Form::Wide;
    Deadline "deadline_ns" Form::Wide;
    Skipped "skipped" Form::Id;
    Call "call" Form::Word(Call::WORDS);
    Object "object" Form::Id;
    Amount "amount" Form::Wide;
}

/// Shows `take` every field that the event has.
pub(crate) fn each_field(kind: &EventKind, mut take: impl FnMut(Field, u64)) {
    match *kind {
        EventKind::Fork { task, role, parent } => {
            take(Field::Task, task.0.into());
            take(Field::Role, role.0.into());
            if let Some(parent) = parent {
                take(Field::Parent, parent.0.into());
            }
        }
        EventKind::Exit { task } => take(Field::Task, task.0.into()),
        EventKind::Wakeup { task, target, waker, source } => {
            take(Field::Task, task.0.into());
            take(Field::TargetCpu, target.0.into());
            if let Some(waker) = waker {
                take(Field::Waker, waker.0.into());
            }
            take(Field::Source, source.code());
        }
        EventKind::Switch { previous, reason, next } => {
            if let Some(previous) = previous {
                take(Field::Previous, previous.0.into());
            }
            take(Field::Reason, reason.code());
            if let Some(next) = next {
                take(Field::Next, next.0.into());
            }
        }
        EventKind::Migrate { task, from, to } => {
            take(Field::Task, task.0.into());
            take(Field::FromCpu, from.0.into());
            take(Field::ToCpu, to.0.into());
        }
        EventKind::Tick => {}
        EventKind::RequestQueue { request, task, role } => {
            take(Field::Role, role.0.into());
            if let Some(task) = task {
                take(Field::Task, task.0.into());
            }
            take(Field::Request, request.0.into());
        }
        EventKind::RequestBegin { task, intended, request } => {
            take(Field::Task, task.0.into());
            take(Field::Intended, intended.ns());
            if let Some(request) = request {
                take(Field::Request, request.0.into());
            }
        }
        EventKind::RequestEnd { task, demand, request } => {
            take(Field::Task, task.0.into());
            take(Field::Demand, demand.ns());
            if let Some(request) = request {
                take(Field::Request, request.0.into());
            }
        }
        EventKind::Status { task, word } => {
            take(Field::Task, task.0.into());
            take(Field::Word, word);
        }
        EventKind::Overhead { what, length } => {
            take(Field::What, what.code());
            take(Field::Length, length.ns());
        }
        EventKind::Share { task, cpu_time } => {
            take(Field::Task, task.0.into());
            take(Field::Length, cpu_time.ns());
        }
        EventKind::Untraced { what } => take(Field::Untraced, what.code()),
        EventKind::Join { task, control_group } => {
            take(Field::Task, task.0.into());
            take(Field::ControlGroup, control_group.0.into());
        }
        EventKind::Release { task, release, deadline, skipped } => {
            take(Field::Task, task.0.into());
            take(Field::Release, release.ns());
            take(Field::Deadline, deadline.ns());
            take(Field::Skipped, skipped.into());
        }
        EventKind::Throttle { task, on } => {
            take(Field::Task, task.0.into());
            take(Field::On, on.into());
        }
        EventKind::Call { task, call, object, amount } => {
            if let Some(task) = task {
                take(Field::Task, task.0.into());
            }
            take(Field::Call, call.code());
            if let Some(object) = object {
                take(Field::Object, object.0.into());
            }
            take(Field::Amount, amount);
        }
    }
}

/// The flat form of one event, as it is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    fields: [Option<u64>; Field::ALL.len()],
}

impl Row {
    /// Sets a field, unless the number cannot be one of that field's.
    pub(crate) fn set(&mut self, field: Field, value: u64) -> Result<(), String> {
        let bound = match field.form() {
            Form::Id => u32::MAX.into(),
            Form::Wide => u64::MAX,
            Form::Word(words) => words.len() as u64 - 1,
        };
        if value > bound {
            return Err(format!("{} is {value}, the most is {bound}", field.name()));
        }
        self.fields[field as usize] = Some(value);
        Ok(())
    }

    /// The event. Fails with what is missing.
    pub(crate) fn event(&self, time: Time, cpu: CpuId, kind: Kind) -> Result<Event, String> {
        let missing = |field: Field| format!("an event `{}` at {time} has no {}", kind.word(), field.name());
        let number = |field: Field| self.fields[field as usize].ok_or_else(|| missing(field));
        // `set` has seen to it that numbers and codes are in range.
        let maybe_task = |field: Field| self.fields[field as usize].map(|n| TaskId(n as u32));
        let maybe_request = self.fields[Field::Request as usize].map(|n| RequestId(n as u32));
        let id = |field| number(field).map(|n| n as u32);
        let task = || id(Field::Task).map(TaskId);
        let kind = match kind {
            Kind::Fork => {
                EventKind::Fork { task: task()?, role: RoleId(id(Field::Role)?), parent: maybe_task(Field::Parent) }
            }
            Kind::Exit => EventKind::Exit { task: task()? },
            Kind::Wakeup => EventKind::Wakeup {
                task: task()?,
                target: CpuId(id(Field::TargetCpu)?),
                waker: maybe_task(Field::Waker),
                source: WakeSource::from_code(number(Field::Source)?).ok_or_else(|| missing(Field::Source))?,
            },
            Kind::Switch => EventKind::Switch {
                previous: maybe_task(Field::Previous),
                reason: Reason::from_code(number(Field::Reason)?).ok_or_else(|| missing(Field::Reason))?,
                next: maybe_task(Field::Next),
            },
            Kind::Migrate => {
                EventKind::Migrate { task: task()?, from: CpuId(id(Field::FromCpu)?), to: CpuId(id(Field::ToCpu)?) }
            }
            Kind::Tick => EventKind::Tick,
            Kind::RequestQueue => EventKind::RequestQueue {
                request: RequestId(id(Field::Request)?),
                task: maybe_task(Field::Task),
                role: RoleId(id(Field::Role)?),
            },
            Kind::RequestBegin => EventKind::RequestBegin {
                task: task()?,
                intended: Time(number(Field::Intended)?),
                request: maybe_request,
            },
            Kind::RequestEnd => {
                EventKind::RequestEnd { task: task()?, demand: Time(number(Field::Demand)?), request: maybe_request }
            }
            Kind::Status => EventKind::Status { task: task()?, word: number(Field::Word)? },
            Kind::Share => EventKind::Share { task: task()?, cpu_time: Time(number(Field::Length)?) },
            Kind::Untraced => EventKind::Untraced {
                what: Untraced::from_code(number(Field::Untraced)?).ok_or_else(|| missing(Field::Untraced))?,
            },
            Kind::Join => EventKind::Join { task: task()?, control_group: ControlGroupId(id(Field::ControlGroup)?) },
            Kind::Release => EventKind::Release {
                task: task()?,
                release: Time(number(Field::Release)?),
                deadline: Time(number(Field::Deadline)?),
                skipped: id(Field::Skipped)?,
            },
            Kind::Throttle => EventKind::Throttle { task: task()?, on: number(Field::On)? == 1 },
            Kind::Call => EventKind::Call {
                task: maybe_task(Field::Task),
                call: Call::from_code(number(Field::Call)?).ok_or_else(|| missing(Field::Call))?,
                object: self.fields[Field::Object as usize].map(|n| ObjectId(n as u32)),
                amount: number(Field::Amount)?,
            },
            Kind::Overhead => EventKind::Overhead {
                what: Overhead::from_code(number(Field::What)?).ok_or_else(|| missing(Field::What))?,
                length: Time(number(Field::Length)?),
            },
        };
        Ok(Event { time, cpu, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::any_event;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_event_survives_being_flattened(event in any_event()) {
            let mut row = Row::default();
            each_field(&event.kind, |field, value| row.set(field, value).unwrap());
            prop_assert_eq!(row.event(event.time, event.cpu, Kind::of(&event.kind)), Ok(event));
        }
    }

    #[test]
    fn what_is_missing_or_out_of_range_is_named() {
        let mut row = Row::default();
        let exit = row.event(Time::from_ms(3), CpuId(0), Kind::Exit);
        assert_eq!(exit.unwrap_err(), "an event `exit` at 3ms has no task");
        assert_eq!(row.set(Field::Reason, 6).unwrap_err(), "reason is 6, the most is 5");
        assert!(row.set(Field::Task, 1 << 32).is_err());
    }
}
