//! What a task did, as the events tell it.

use schedlab_model::ids::TaskId;
use schedlab_model::recorded::{Act, Op};
use schedlab_model::trace::WakeSource;

/// One thing that a task did, or that happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raw {
    /// A step.
    Act(Act),
    /// It made a task runnable.
    Woke(TaskId),
    /// It slept until it was woken. Told where the call is not known in which it did.
    Slept(Slept),
    /// The time when it comes to the next step, where the order among tasks matters.
    At(u64),
    /// A request begins that it took from elsewhere.
    Took,
    /// One ends that it took from elsewhere.
    Answered,
}

/// A sleep without a known reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slept {
    /// When it began.
    pub from_ns: u64,
    /// When it ended.
    pub to_ns: u64,
    /// The waker.
    pub waker: Option<TaskId>,
    /// What the recording says about why it ended.
    pub source: WakeSource,
}

/// The size of one on disk.
pub const RAW_BYTES: usize = 22;

/// Codes above those of [`Op`].
const WOKE: u8 = 200;
const TOOK: u8 = 201;
const AT: u8 = 203;
const ANSWERED: u8 = 202;
/// The source is added to this.
const SLEPT: u8 = 210;

const SOURCES: [WakeSource; 8] = [
    WakeSource::Fork,
    WakeSource::Timer,
    WakeSource::Semaphore,
    WakeSource::Pipe,
    WakeSource::Network,
    WakeSource::Disk,
    WakeSource::Unknown,
    WakeSource::Untold,
];

impl Raw {
    /// As bytes.
    pub fn to_bytes(self) -> [u8; RAW_BYTES] {
        let (code, object, value, more) = match self {
            Raw::Act(act) => (act.op as u8, act.object, act.value, act.more),
            Raw::Woke(task) => (WOKE, task.0, 0, 0),
            Raw::Slept(slept) => {
                let waker = slept.waker.map_or(0, |waker| waker.0.wrapping_add(1));
                (SLEPT + slept.source as u8, waker, slept.from_ns, slept.to_ns)
            }
            Raw::At(now_ns) => (AT, 0, now_ns, 0),
            Raw::Took => (TOOK, 0, 0, 0),
            Raw::Answered => (ANSWERED, 0, 0, 0),
        };
        let mut bytes = [0; RAW_BYTES];
        bytes[0] = code;
        bytes[1..5].copy_from_slice(&object.to_le_bytes());
        bytes[5..13].copy_from_slice(&value.to_le_bytes());
        bytes[13..21].copy_from_slice(&more.to_le_bytes());
        bytes
    }

    /// From bytes that [`Raw::to_bytes`] made.
    pub fn from_bytes(bytes: [u8; RAW_BYTES]) -> Raw {
        let object = u32::from_le_bytes(bytes[1..5].try_into().expect("four bytes"));
        let value = u64::from_le_bytes(bytes[5..13].try_into().expect("eight bytes"));
        let more = u64::from_le_bytes(bytes[13..21].try_into().expect("eight bytes"));
        match bytes[0] {
            WOKE => Raw::Woke(TaskId(object)),
            AT => Raw::At(value),
            TOOK => Raw::Took,
            ANSWERED => Raw::Answered,
            code @ SLEPT.. => Raw::Slept(Slept {
                from_ns: value,
                to_ns: more,
                waker: object.checked_sub(1).map(TaskId),
                source: SOURCES[usize::from(code - SLEPT) % SOURCES.len()],
            }),
            code => {
                let op = Op::from_code(code).expect("the file is our own");
                Raw::Act(Act { op, object, value, more })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_come_back_from_their_bytes() {
        let slept = |source| Slept { from_ns: 7, to_ns: u64::MAX, waker: Some(TaskId(4)), source };
        let mut all = vec![Raw::Took, Raw::Answered, Raw::At(3), Raw::Woke(TaskId(9))];
        all.extend(SOURCES.map(|source| Raw::Slept(slept(source))));
        all.extend(Op::ALL.iter().map(|&op| Raw::Act(Act { op, object: 3, value: 5, more: 6 })));
        for raw in all {
            assert_eq!(Raw::from_bytes(raw.to_bytes()), raw);
        }
    }
}
