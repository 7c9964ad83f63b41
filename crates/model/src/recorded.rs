//! Steps of tasks as they were recorded: what a file of steps holds.

use crate::{hash::sha256, time::Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

macro_rules! ops {
    ($($(#[$about:meta])* $name:ident = $code:literal $word:literal;)*) => {
        /// What a recorded step does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Op { $($(#[$about])* $name = $code),* }

        impl Op {
            /// All, in the order of their codes.
            pub const ALL: &'static [Op] = &[$(Op::$name),*];

            /// The name in tables for people.
            pub fn word(self) -> &'static str {
                match self { $(Op::$name => $word),* }
            }
        }
    };
}

ops! {
    /// CPU work of `value` nanoseconds.
    Compute = 0 "compute";
    /// A sleep of `value` nanoseconds.
    Sleep = 1 "sleep";
    /// A sleep until the instant `value` of the run.
    Until = 2 "until";
    /// A sleep until the next release: `value` is the period, `more` the offset.
    Period = 3 "period";
    /// `sched_yield`.
    Yield = 4 "yield";
    /// Takes one from the semaphore `object`.
    Wait = 5 "wait";
    /// Gives `value` to the semaphore `object`.
    Post = 6 "post";
    /// Takes the mutex `object`.
    Lock = 7 "lock";
    /// Releases the mutex `object`.
    Unlock = 8 "unlock";
    /// Waits for the condition variable `object`, whose mutex is the object `more`.
    CondWait = 9 "cond_wait";
    /// Wakes the first that waits for the condition variable `object`.
    Signal = 10 "signal";
    /// Wakes all that wait for the condition variable `object`.
    Broadcast = 11 "broadcast";
    /// Puts `value` messages into the channel `object`.
    Send = 12 "send";
    /// Takes `value` messages out of the channel `object`.
    Recv = 13 "recv";
    /// Meets others at the barrier `object`.
    Barrier = 14 "barrier";
    /// Uses the device `object` for `value` nanoseconds.
    Io = 15 "io";
    /// Creates `value` tasks of the role `object`.
    Spawn = 16 "spawn";
    /// Answers the requests that the task has.
    Answer = 17 "answer";
    /// A request begins.
    Begin = 18 "begin";
    /// A request ends.
    End = 19 "end";
    /// Takes the reader-writer lock `object` to read.
    ReadLock = 20 "read_lock";
    /// As `period`, but no release is left out: `value` is the period, `more` the offset.
    CatchUp = 21 "catch_up";
}

impl Op {
    /// The operation with this code.
    pub fn from_code(code: u8) -> Option<Op> {
        Op::ALL.get(usize::from(code)).copied()
    }

    /// Whether `value` is a time that may differ from one item to the next.
    pub fn takes_time(self) -> bool {
        matches!(self, Op::Compute | Op::Sleep | Op::Until | Op::Io)
    }

    /// Whether `object` names something.
    pub fn has_object(self) -> bool {
        use Op::*;
        matches!(
            self,
            Wait | Post | Lock | ReadLock | Unlock | CondWait | Signal | Broadcast | Send | Recv | Barrier | Io | Spawn
        )
    }
}

/// A recorded step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// What it does.
    pub op: Op,
    /// The number of the name in the file with which it does that.
    pub object: u32,
    /// How long or how much.
    pub value: u64,
    /// What only some operations have.
    pub more: u64,
}

impl Act {
    /// One without an object.
    pub const fn new(op: Op, value: u64) -> Act {
        Act { op, object: 0, value, more: 0 }
    }

    /// One with an object.
    pub const fn with(op: Op, object: u32, value: u64) -> Act {
        Act { op, object, value, more: 0 }
    }

    fn bytes(&self) -> [u8; 21] {
        let mut bytes = [0; 21];
        bytes[0] = self.op as u8;
        bytes[1..5].copy_from_slice(&self.object.to_le_bytes());
        bytes[5..13].copy_from_slice(&self.value.to_le_bytes());
        bytes[13..].copy_from_slice(&self.more.to_le_bytes());
        bytes
    }

    /// What two acts have in common that differ in nothing but their times.
    pub fn shape(&self) -> Act {
        Act { value: if self.op.takes_time() { 0 } else { self.value }, ..*self }
    }
}

/// The steps between two passes of a task by the same point.
pub type Item = Vec<Act>;

/// Items in the order in which they were recorded: a list for each task, or one for all tasks of a role.
pub type Lists = Vec<Vec<Item>>;

/// The most steps of a file that are held in memory.
pub const MAX_STEPS: u64 = 1 << 24;

/// A file of steps in memory.
#[derive(Clone, Debug, Default)]
pub struct StepFile {
    /// The names that steps know by number: objects of each kind, and roles.
    pub names: Vec<String>,
    /// The items by the name of their table.
    pub tables: BTreeMap<String, Lists>,
    digest: String,
}

impl StepFile {
    /// The content of a file, with its digest.
    pub fn new(names: Vec<String>, tables: BTreeMap<String, Lists>) -> StepFile {
        let mut file = StepFile { names, tables, digest: String::new() };
        file.digest = file.digest_now();
        file
    }

    /// SHA-256 of all that it says.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    fn digest_now(&self) -> String {
        let mut bytes = Vec::new();
        let text = |bytes: &mut Vec<u8>, text: &str| {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        };
        self.names.iter().for_each(|name| text(&mut bytes, name));
        for (name, lists) in &self.tables {
            text(&mut bytes, name);
            for list in lists {
                for item in list {
                    bytes.extend(item.iter().flat_map(Act::bytes));
                    bytes.push(u8::MAX);
                }
                bytes.push(u8::MAX - 1);
            }
        }
        sha256(&bytes)
    }

    /// The instants of a table whose acts are `until`.
    pub fn instants(&self, table: &str) -> Option<Vec<Time>> {
        let lists = self.tables.get(table)?;
        Some(lists.iter().flatten().flatten().map(|act| Time(act.value)).collect())
    }
}

/// The recorded items of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Items {
    /// Where each item begins among the steps; in lists, none of which is empty.
    pub lists: Vec<Vec<u32>>,
    /// Which of them a task takes.
    pub order: ItemOrder,
}

impl Items {
    /// Where the item begins that comes after `taken` ones: of the tasks' own list, or of that of all. After the last one comes
    /// the first again.
    pub fn begin(&self, member: u32, taken: u64) -> u32 {
        let list = match self.order {
            ItemOrder::Own => &self.lists[member as usize % self.lists.len()],
            ItemOrder::Taken => &self.lists[0],
        };
        list[(taken % list.len() as u64) as usize]
    }
}

/// In which order tasks of a role go through recorded items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemOrder {
    /// Each task goes through a list of its own, in the order of birth.
    #[default]
    Own,
    /// All tasks take from one list: the task that comes first gets the next item.
    Taken,
}
