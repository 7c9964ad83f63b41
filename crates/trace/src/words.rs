//! The words under which reasons, sources and kinds are in every file.

use schedlab_model::trace::{Call, EventKind, Overhead, Reason, Untraced, WakeSource};

/// A choice with a word for each case. The code of a case is its place in [`Words::WORDS`].
pub(crate) trait Words: Copy + 'static {
    /// The words, in the order of the codes.
    const WORDS: &'static [&'static str];
    /// The number of the case.
    fn code(self) -> u64;
    /// The case with this number.
    fn from_code(code: u64) -> Option<Self>;
    /// The word of the case.
    fn word(self) -> &'static str;
    /// The word as prose.
    fn prose(self) -> String {
        self.word().replace('_', " ")
    }
}

macro_rules! words {
    ($type:ident: $($case:ident $word:literal)*) => {
        impl Words for $type {
            const WORDS: &'static [&'static str] = &[$($word),*];
            fn code(self) -> u64 {
                self as u64
            }
            fn word(self) -> &'static str {
                // A case without a word does not compile.
                match self { $($type::$case => $word),* }
            }
            fn from_code(code: u64) -> Option<$type> {
                const CASES: &[$type] = &[$($type::$case),*];
                CASES.get(usize::try_from(code).ok()?).copied()
            }
        }
    };
}

pub(crate) use words;

/// An [`EventKind`] without its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Fork,
    Exit,
    Wakeup,
    Switch,
    Migrate,
    Tick,
    RequestBegin,
    RequestEnd,
    Status,
    Overhead,
    Share,
    RequestQueue,
    Untraced,
    Join,
    Throttle,
    Release,
    Call,
}

impl Kind {
    /// The kind of an event.
    pub(crate) fn of(event: &EventKind) -> Kind {
        match event {
            EventKind::Fork { .. } => Kind::Fork,
            EventKind::Exit { .. } => Kind::Exit,
            EventKind::Wakeup { .. } => Kind::Wakeup,
            EventKind::Switch { .. } => Kind::Switch,
            EventKind::Migrate { .. } => Kind::Migrate,
            EventKind::Tick => Kind::Tick,
            EventKind::RequestBegin { .. } => Kind::RequestBegin,
            EventKind::RequestEnd { .. } => Kind::RequestEnd,
            EventKind::Status { .. } => Kind::Status,
            EventKind::Overhead { .. } => Kind::Overhead,
            EventKind::Share { .. } => Kind::Share,
            EventKind::RequestQueue { .. } => Kind::RequestQueue,
            EventKind::Untraced { .. } => Kind::Untraced,
            EventKind::Join { .. } => Kind::Join,
            EventKind::Throttle { .. } => Kind::Throttle,
            EventKind::Release { .. } => Kind::Release,
            EventKind::Call { .. } => Kind::Call,
        }
    }
}

words! { Kind:
    Fork "fork"  Exit "exit"  Wakeup "wakeup"  Switch "switch"  Migrate "migrate"  Tick "tick"
    RequestBegin "request_begin"  RequestEnd "request_end"  Status "status"  Overhead "overhead"
    Share "share"  RequestQueue "request_queue"  Untraced "untraced"  Join "join"  Throttle "throttle"
    Release "release"  Call "call"
}

words! { Call:
    Sleep "sleep"  SleepUntil "sleep_until"  Yield "yield"  Wait "wait"  Post "post"  Lock "lock"  Unlock "unlock"
    CondWait "cond_wait"  Signal "signal"  Broadcast "broadcast"  PipeSend "pipe_send"  PipeRecv "pipe_recv"
    SocketSend "socket_send"  SocketRecv "socket_recv"  Barrier "barrier"  Device "device"  Answer "answer"
    ReadLock "read_lock"
}

words! { Reason:
    Idle "idle"  SliceEnd "slice_end"  Preempted "preempted"  Blocked "blocked"  Yielded "yielded"  Exited "exited"
}

words! { WakeSource:
    Fork "fork"  Timer "timer"  Semaphore "semaphore"  Pipe "pipe"  Network "network"  Disk "disk"  Unknown "unknown"
    Untold "untold"
}

words! { Untraced:
    Idle "idle"  Others "others"  Unknown "unknown"
}

words! { Overhead:
    Switch "switch"  Wakeup "wakeup"  Migration "migration"  Tick "tick"  Policy "policy"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes_come_back<T: Words + PartialEq + std::fmt::Debug>() {
        for (code, word) in T::WORDS.iter().enumerate() {
            let case = T::from_code(code as u64).unwrap();
            assert_eq!((case.code(), case.word()), (code as u64, *word));
        }
        assert_eq!(T::from_code(T::WORDS.len() as u64), None);
    }

    #[test]
    fn every_case_has_its_code_and_word() {
        codes_come_back::<Kind>();
        codes_come_back::<Reason>();
        codes_come_back::<WakeSource>();
        codes_come_back::<Overhead>();
        codes_come_back::<Untraced>();
        codes_come_back::<Call>();
        assert_eq!(Reason::SliceEnd.prose(), "slice end");
        assert_eq!(WakeSource::Disk.word(), "disk");
    }
}
