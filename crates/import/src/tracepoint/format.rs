//! A kernel's description of one kind of event: `events/sched/sched_switch/format`.

use crate::bytes::{Bytes, until_zero};
use crate::told::{Event, States, Task};
use schedlab_record::Comm;

/// Interrupts, soft interrupts and interrupts that cannot be masked, among the flags that all events have.
const INTERRUPTS: u64 = 0x08 | 0x10 | 0x40;

/// A kind of event.
#[derive(Debug)]
pub enum Format {
    /// One of the scheduler.
    Scheduler(Decoder),
    /// Any other, by name.
    Other(String),
}

/// Reads the bytes of one kind of scheduler event.
#[derive(Debug)]
pub struct Decoder {
    kind: Kind,
    pid: Field,
    flags: Option<Field>,
    /// The fields that [`Kind::fields`] names, in its order.
    fields: Vec<Field>,
    states: States,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Switch,
    Waking,
    Wakeup,
    WakeupNew,
    Migrate,
    Fork,
    Exec,
    Exit,
    Ran,
    Rename,
}

const KINDS: [(&str, Kind, &[&str]); 10] = [
    (
        "sched_switch",
        Kind::Switch,
        &["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"],
    ),
    ("sched_waking", Kind::Waking, &["comm", "pid", "prio", "target_cpu"]),
    ("sched_wakeup", Kind::Wakeup, &["comm", "pid", "prio", "target_cpu"]),
    ("sched_wakeup_new", Kind::WakeupNew, &["comm", "pid", "prio", "target_cpu"]),
    ("sched_migrate_task", Kind::Migrate, &["comm", "pid", "prio", "orig_cpu", "dest_cpu"]),
    ("sched_process_fork", Kind::Fork, &["parent_pid", "child_pid", "child_comm"]),
    ("sched_process_exec", Kind::Exec, &["pid", "old_pid", "filename"]),
    ("sched_process_exit", Kind::Exit, &["comm", "pid", "prio"]),
    ("sched_stat_runtime", Kind::Ran, &["comm", "pid", "runtime"]),
    ("task_rename", Kind::Rename, &["pid", "newcomm"]),
];

/// Where a field lies.
#[derive(Clone, Copy, Debug)]
struct Field {
    offset: usize,
    size: usize,
    signed: bool,
    /// The field says where in the event its value lies, from its own end on where it is relative.
    place: Option<Place>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    FromBegin,
    FromField,
}

impl Format {
    /// Reads a format, with the number that its events begin with.
    pub fn of(text: &str) -> Option<(u16, Format)> {
        let name = value(text, "name:")?;
        let id = value(text, "ID:")?.parse().ok()?;
        let decoder = KINDS.iter().find(|(known, ..)| *known == name).and_then(|&(_, kind, names)| {
            let fields = names.iter().map(|name| Field::of(text, name)).collect::<Option<Vec<_>>>()?;
            // Since Linux 4.14 a state is parked; before, the same bit was another's.
            let is_new =
                text.contains("0x00000040, \"P\"") || text.contains("0x0040, \"P\"") || text.contains("0x40, \"P\"");
            let states = if is_new { States::Since414 } else { States::Before };
            Some(Decoder {
                kind,
                pid: Field::of(text, "common_pid")?,
                flags: Field::of(text, "common_flags"),
                fields,
                states,
            })
        });
        Some((id, decoder.map_or_else(|| Format::Other(name.into()), Format::Scheduler)))
    }
}

impl Decoder {
    /// The event's name.
    pub fn name(&self) -> &'static str {
        KINDS.iter().find(|(_, kind, _)| *kind == self.kind).map_or("", |(name, ..)| name)
    }

    /// The task on the CPU, whether an interrupt was active, and the event.
    pub fn read(&self, raw: &[u8], big: bool) -> Option<(i32, Option<bool>, Event)> {
        let on = i32::try_from(self.pid.number(raw, big)?).ok()?;
        let flags = self.flags.and_then(|flags| flags.number(raw, big));
        let in_interrupt = flags.map(|flags| flags as u64 & INTERRUPTS != 0);
        let number = |field: usize| self.fields[field].number(raw, big);
        let tid = |field: usize| i32::try_from(number(field)?).ok();
        let cpu = |field: usize| u32::try_from(number(field)?).ok();
        let comm = |field: usize| self.fields[field].text(raw, big).map(Comm::new);
        let task = |comm_at: usize, tid_at: usize, priority_at: usize| {
            let priority = i16::try_from(number(priority_at)?).ok()?;
            Some(Task { tid: tid(tid_at)?, comm: comm(comm_at)?, priority })
        };
        let event = match self.kind {
            Kind::Switch => {
                let how = self.states.departure(number(3)? as u64);
                Event::Switch { previous: task(0, 1, 2)?, how, next: task(4, 5, 6)? }
            }
            Kind::Waking => Event::Waking { task: task(0, 1, 2)?, target: cpu(3)? },
            Kind::Wakeup => Event::Wakeup { task: task(0, 1, 2)?, target: cpu(3)?, new: false },
            Kind::WakeupNew => Event::Wakeup { task: task(0, 1, 2)?, target: cpu(3)?, new: true },
            Kind::Migrate => Event::Migrate { task: task(0, 1, 2)?, from: cpu(3)?, to: cpu(4)? },
            Kind::Fork => Event::Fork { parent: tid(0)?, child: tid(1)?, comm: comm(2)? },
            Kind::Exec => {
                let file = self.fields[2].text(raw, big)?;
                let program = file.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
                Event::Exec { tid: tid(0)?, former: tid(1)?, program: Comm::new(program) }
            }
            Kind::Exit => Event::Exit { task: task(0, 1, 2)? },
            Kind::Ran => Event::Ran { tid: tid(1)?, comm: comm(0)?, runtime_ns: u64::try_from(number(2)?).ok()? },
            Kind::Rename => Event::Rename { tid: tid(0)?, comm: comm(1)? },
        };
        Some((on, in_interrupt, event))
    }
}

impl Field {
    /// `field:char prev_comm[16]; offset:8; size:16; signed:0;`
    fn of(text: &str, name: &str) -> Option<Field> {
        text.lines().find_map(|line| {
            let (declaration, rest) = line.trim().strip_prefix("field:")?.split_once(';')?;
            let declared = declaration.split('[').next()?.trim_end();
            let word = declared.rsplit([' ', '*']).next()?;
            // The brackets of a text without a length are before its name: `__data_loc char[] comm`.
            let is_named = word == name || declaration.rsplit(' ').next()? == name;
            let number = |key: &str| -> Option<usize> { rest.split(key).nth(1)?.split(';').next()?.parse().ok() };
            let place = match declaration.split(' ').next()? {
                "__data_loc" => Some(Place::FromBegin),
                "__rel_loc" => Some(Place::FromField),
                _ => None,
            };
            let (offset, size) = (number("offset:")?, number("size:")?);
            is_named.then_some(Field { offset, size, signed: number("signed:").unwrap_or(0) == 1, place })
        })
    }

    fn bytes<'a>(&self, raw: &'a [u8]) -> Option<&'a [u8]> {
        raw.get(self.offset..self.offset.checked_add(self.size)?)
    }

    fn number(&self, raw: &[u8], big: bool) -> Option<i64> {
        let bits = Bytes::new(self.bytes(raw)?, big).number(self.size)?;
        let unused = 64_usize.checked_sub(8 * self.size).filter(|&unused| unused < 64)? as u32;
        Some(if self.signed { (bits << unused) as i64 >> unused } else { bits as i64 })
    }

    fn text<'a>(&self, raw: &'a [u8], big: bool) -> Option<&'a [u8]> {
        let Some(place) = self.place else { return self.bytes(raw).map(until_zero) };
        let word = Bytes::new(self.bytes(raw)?, big).u32()?;
        let (offset, length) = ((word & 0xffff) as usize, (word >> 16) as usize);
        let begin = match place {
            Place::FromBegin => offset,
            Place::FromField => self.offset.checked_add(self.size)?.checked_add(offset)?,
        };
        raw.get(begin..begin.checked_add(length)?).map(until_zero)
    }
}

fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

    fn exec() -> Decoder {
        let text = format!(
            "name: sched_process_exec\nID: 365\nformat:\n{COMMON}\
             \tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n\
             \tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n\tfield:pid_t old_pid;\toffset:16;\tsize:4;\tsigned:1;\n"
        );
        match Format::of(&text) {
            Some((365, Format::Scheduler(decoder))) => decoder,
            other => panic!("{other:?}"),
        }
    }

    fn raw(big: bool) -> Vec<u8> {
        let word = |number: u32| if big { number.to_be_bytes() } else { number.to_le_bytes() };
        let text = b"/bin/sh\0";
        let place = 20 | (text.len() as u32) << 16;
        [&[1, 1, 8, 0][..], &word(7), &word(place), &word(12), &word(11), text].concat()
    }

    #[test]
    fn an_event_is_read_in_both_orders_of_bytes() {
        for big in [false, true] {
            let expected = Event::Exec { tid: 12, former: 11, program: Comm::new(b"sh") };
            assert_eq!(exec().read(&raw(big), big), Some((7, Some(true), expected)));
        }
    }

    #[test]
    fn an_event_that_is_cut_off_gives_nothing() {
        let raw = raw(false);
        (0..raw.len()).for_each(|length| assert_eq!(exec().read(&raw[..length], false), None, "{length}"));
    }

    #[test]
    fn events_of_others_have_a_name() {
        let text = format!("name: irq_handler_entry\nID: 3\nformat:\n{COMMON}");
        assert!(matches!(Format::of(&text), Some((3, Format::Other(name))) if name == "irq_handler_entry"));
        // A switch that lacks a field cannot be read, and is passed over by its name.
        let text = format!("name: sched_switch\nID: 4\nformat:\n{COMMON}");
        assert!(matches!(Format::of(&text), Some((4, Format::Other(_)))));
        assert!(Format::of("no format").is_none());
    }
}
