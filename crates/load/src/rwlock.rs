//! Reader-writer locks between threads and processes: words 0 to 3 of an object are the state, how many tasks wait to read,
//! how many wait to write, and a count of how often it became free, on which both sleep.

use crate::futex::{Waited, wait_for_bit, wake_bits};
use crate::shared::Shared;
use schedlab_model::workload::Preference;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// The state of one that a writer has; else it is the number of readers.
const WRITTEN: u32 = u32::MAX;
/// Under which bit readers sleep, and writers.
const READER: u32 = 1;
const WRITER: u32 = 2;

/// Whether a task that wants to read, or to write, could have it now.
pub fn may_take([state, _, writers, _]: &[AtomicU32; 4], prefer: Preference, to_read: bool) -> bool {
    match to_read {
        true => state.load(SeqCst) != WRITTEN && lets_in(writers, prefer),
        false => state.load(SeqCst) == 0,
    }
}

/// Whether writers that wait keep no reader out.
fn lets_in(writers: &AtomicU32, prefer: Preference) -> bool {
    prefer == Preference::Readers || writers.load(SeqCst) == 0
}

/// Takes it, to read or to write.
pub fn take(shared: &Shared, lock: u32, prefer: Preference, to_read: bool) -> Waited {
    let [state, readers, writers, freed] = shared.object(lock);
    let attempt = || match to_read {
        true if !lets_in(writers, prefer) => false,
        true => state.fetch_update(SeqCst, SeqCst, |state| (state != WRITTEN).then(|| state + 1)).is_ok(),
        false => state.compare_exchange(0, WRITTEN, SeqCst, SeqCst).is_ok(),
    };
    if attempt() {
        return Waited::Done;
    }
    let (interested, bit) = if to_read { (readers, READER) } else { (writers, WRITER) };
    interested.fetch_add(1, SeqCst);
    let waited = loop {
        // Read before the attempt, so that a release after it changes the value.
        let seen = freed.load(SeqCst);
        if attempt() {
            break Waited::Done;
        }
        if shared.is_stopped() {
            break Waited::Stopped;
        }
        wait_for_bit(freed, seen, bit);
    };
    interested.fetch_sub(1, SeqCst);
    waited
}

/// Releases it. The last one that has it wakes one writer, or all readers: those that are preferred, if there are any.
pub fn release(shared: &Shared, lock: u32, prefer: Preference) {
    let [state, readers, writers, freed] = shared.object(lock);
    let left = |state: u32| Some(if state == WRITTEN { 0 } else { state - 1 });
    let before = state.fetch_update(SeqCst, SeqCst, left).unwrap_or(WRITTEN);
    if before != WRITTEN && before != 1 {
        return;
    }
    freed.fetch_add(1, SeqCst);
    let (reading, writing) = (readers.load(SeqCst), writers.load(SeqCst));
    let readers_first = match prefer {
        Preference::Readers => reading > 0,
        Preference::Writers => writing == 0,
    };
    match readers_first {
        true if reading > 0 => wake_bits(freed, READER, u32::MAX),
        false if writing > 0 => wake_bits(freed, WRITER, 1),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writers change two words that readers find equal.
    fn excludes(prefer: Preference) {
        let shared = Shared::new(2, 0).unwrap();
        let [a, b, ..] = shared.object(1);
        let write = || {
            for _ in 0..2_000 {
                assert_eq!(take(&shared, 0, prefer, false), Waited::Done);
                a.store(a.load(Relaxed) + 1, Relaxed);
                // So that the others come and find it held.
                std::thread::yield_now();
                b.store(b.load(Relaxed) + 1, Relaxed);
                release(&shared, 0, prefer);
            }
        };
        let read = || {
            for _ in 0..2_000 {
                assert_eq!(take(&shared, 0, prefer, true), Waited::Done);
                assert_eq!(a.load(Relaxed), b.load(Relaxed));
                release(&shared, 0, prefer);
            }
        };
        std::thread::scope(|scope| {
            (0..3).for_each(|_| drop(scope.spawn(read)));
            (0..2).for_each(|_| drop(scope.spawn(write)));
        });
        let [state, readers, writers, _] = shared.object(0);
        let left = [state, readers, writers].map(|word| word.load(Relaxed));
        assert_eq!((a.load(Relaxed), left), (4_000, [0; 3]));
    }

    #[test]
    fn a_writer_is_alone() {
        excludes(Preference::Readers);
        excludes(Preference::Writers);
    }

    #[test]
    fn readers_are_together_and_a_writer_that_waits_keeps_them_out_where_it_is_preferred() {
        let shared = Shared::new(1, 0).unwrap();
        assert_eq!(take(&shared, 0, Preference::Writers, true), Waited::Done);
        let may_read = |prefer| may_take(shared.object(0), prefer, true);
        assert!(may_read(Preference::Writers) && !may_take(shared.object(0), Preference::Writers, false));
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(take(&shared, 0, Preference::Writers, false), Waited::Done));
            while shared.object(0)[2].load(SeqCst) == 0 {
                std::thread::yield_now();
            }
            assert!(!may_read(Preference::Writers) && may_read(Preference::Readers));
            release(&shared, 0, Preference::Writers);
        });
        assert!(!may_read(Preference::Readers), "it is written now");
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let shared = Shared::new(1, 0).unwrap();
        assert_eq!(take(&shared, 0, Preference::Readers, false), Waited::Done);
        shared.control().stop.store(1, SeqCst);
        assert_eq!(take(&shared, 0, Preference::Readers, true), Waited::Stopped);
        assert_eq!(shared.object(0)[1].load(Relaxed), 0);
    }
}
