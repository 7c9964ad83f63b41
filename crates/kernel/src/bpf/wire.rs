//! The form of a record in the ring: must agree with bpf/recorder.bpf.c.

#[cfg(test)]
use crate::stats::KINDS;
use schedlab_record::{Comm, Departure, Record, RecordKind, Thread, Waker};

const PREVIOUS_FOLLOWED: u16 = 4;
const NEXT_FOLLOWED: u16 = 8;
const NEW: u16 = 1;
const WAKER_UNKNOWN: u16 = 2;
const FOLLOWED: u16 = 1;
const ON_INTERRUPT: u16 = 2;

/// Reads a record; none when its form is not ours.
pub fn decode(bytes: &[u8]) -> Option<Record> {
    let wire = Wire(bytes);
    let (kind, flags) = (wire.half(12)?, wire.half(14)?);
    let kind = match kind {
        0 => RecordKind::Switch {
            previous: wire.thread(16, 32, flags & PREVIOUS_FOLLOWED != 0)?,
            how: [Departure::Preempted, Departure::Yielded, Departure::Blocked, Departure::Exited]
                [usize::from(flags & 3)],
            next: wire.thread(24, 34, flags & NEXT_FOLLOWED != 0)?,
        },
        1 => RecordKind::Wakeup {
            thread: wire.task()?,
            target: wire.word(24)?,
            waker: match wire.signed(28)? {
                _ if flags & WAKER_UNKNOWN != 0 => Waker::Unknown,
                0 => Waker::Interrupt,
                tid => Waker::Task(tid),
            },
            new: flags & NEW != 0,
        },
        2 => RecordKind::Migrate { thread: wire.task()?, from: wire.word(24)?, to: wire.word(28)? },
        3 => RecordKind::Fork { parent: wire.signed(24)?, child: wire.task()?, comm: wire.comm()? },
        4 => RecordKind::Exec { thread: wire.task()?, former: wire.signed(24)?, comm: wire.comm()? },
        5 => RecordKind::Exit { thread: wire.task()? },
        6 => RecordKind::Rename { thread: wire.task()?, comm: wire.comm()? },
        7 => RecordKind::Running {
            thread: wire.thread(16, 32, flags & FOLLOWED != 0)?,
            in_interrupt: flags & ON_INTERRUPT != 0,
        },
        8 => RecordKind::SoftirqEntry,
        9 => RecordKind::SoftirqExit,
        10 => RecordKind::Tick,
        11 => RecordKind::Status { thread: wire.task()?, word: wire.long(40)? },
        _ => return None,
    };
    Some(Record { time_ns: wire.long(0)?, cpu: wire.word(8)?, kind })
}

struct Wire<'a>(&'a [u8]);

impl Wire<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at + N)?.try_into().ok()
    }

    fn half(&self, at: usize) -> Option<u16> {
        self.bytes(at).map(u16::from_ne_bytes)
    }

    fn word(&self, at: usize) -> Option<u32> {
        self.bytes(at).map(u32::from_ne_bytes)
    }

    fn signed(&self, at: usize) -> Option<i32> {
        self.bytes(at).map(i32::from_ne_bytes)
    }

    fn long(&self, at: usize) -> Option<u64> {
        self.bytes(at).map(u64::from_ne_bytes)
    }

    fn thread(&self, at: usize, priority: usize, followed: bool) -> Option<Thread> {
        let priority = self.bytes(priority).map(i16::from_ne_bytes)?;
        Some(Thread { tid: self.signed(at)?, tgid: self.signed(at + 4)?, priority, followed })
    }

    /// Of a record that is only written when its task is of interest.
    fn task(&self) -> Option<Thread> {
        self.thread(16, 32, true)
    }

    fn comm(&self) -> Option<Comm> {
        self.bytes(40).map(Comm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: u16, flags: u16, words: &[i32]) -> Vec<u8> {
        let mut bytes = 77_u64.to_ne_bytes().to_vec();
        bytes.extend(3_u32.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn a_switch_reads_back() {
        let record = decode(&bytes(0, 2 | 8, &[10, 11, 20, 21, 120 | 139 << 16, 0])).unwrap();
        assert_eq!((record.time_ns, record.cpu), (77, 3));
        let previous = Thread { tid: 10, tgid: 11, priority: 120, followed: false };
        let next = Thread { tid: 20, tgid: 21, priority: 139, followed: true };
        assert_eq!(record.kind, RecordKind::Switch { previous, how: Departure::Blocked, next });
    }

    #[test]
    fn a_waker_is_a_task_an_interrupt_or_not_known() {
        let waker = |flags, waker| match decode(&bytes(1, flags, &[5, 5, 1, waker, 120, 0])).unwrap().kind {
            RecordKind::Wakeup { waker, new, target: 1, .. } => (waker, new),
            other => panic!("{other:?}"),
        };
        assert_eq!(waker(0, 9), (Waker::Task(9), false));
        assert_eq!(waker(0, 0), (Waker::Interrupt, false));
        assert_eq!(waker(WAKER_UNKNOWN, 9), (Waker::Unknown, false));
        assert_eq!(waker(NEW, 4), (Waker::Task(4), true));
    }

    #[test]
    fn a_status_is_a_word_of_64_bits() {
        let record = decode(&bytes(11, 0, &[10, 11, 0, 0, 120, 0, -1, 1])).unwrap();
        let thread = Thread { tid: 10, tgid: 11, priority: 120, followed: true };
        assert_eq!(record.kind, RecordKind::Status { thread, word: 0x1_ffff_ffff });
    }

    #[test]
    fn what_is_too_short_or_of_another_kind_is_none() {
        let whole = bytes(0, 0, &[1, 1, 2, 2, 0, 0]);
        assert!((0..whole.len() - 4).all(|length| decode(&whole[..length]).is_none()));
        assert_eq!(decode(&bytes(KINDS.len() as u16, 0, &[0; 10])), None);
    }
}
