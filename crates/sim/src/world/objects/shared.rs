//! A reader-writer lock: many readers or one writer (`pthread_rwlock`). A waiter is woken and tries again.

use super::{Attempt, Slot};
use schedlab_model::workload::Preference;
use std::collections::VecDeque;

/// Tasks that want the lock in one way.
#[derive(Default)]
struct Side {
    /// Those that sleep, in order.
    asleep: VecDeque<Slot>,
    /// Those that have come to wait and have not got it yet, asleep or not.
    interested: u32,
}

impl Side {
    fn attempt(&mut self, task: Slot, may_take: bool, has_waited: bool) -> Attempt {
        match (may_take, has_waited) {
            (true, true) => self.interested -= 1,
            (false, false) => self.interested += 1,
            _ => {}
        }
        if may_take {
            return Attempt::Done;
        }
        self.asleep.push_back(task);
        Attempt::Wait
    }
}

/// The owners, and the tasks that want it.
pub struct SharedLock {
    prefer: Preference,
    is_written: bool,
    readers: u32,
    reading: Side,
    writing: Side,
}

impl SharedLock {
    /// A free one.
    pub fn new(prefer: Preference) -> SharedLock {
        SharedLock { prefer, is_written: false, readers: 0, reading: Side::default(), writing: Side::default() }
    }

    /// Whether a task that wants to read, or to write, could have it now.
    pub fn may_take(&self, to_read: bool) -> bool {
        match (to_read, self.prefer) {
            (false, _) => !self.is_written && self.readers == 0,
            (true, Preference::Readers) => !self.is_written,
            (true, Preference::Writers) => !self.is_written && self.writing.interested == 0,
        }
    }

    /// Takes it. `has_waited`: it is not the task's first attempt.
    pub fn take(&mut self, task: Slot, to_read: bool, has_waited: bool) -> Attempt {
        let may_take = self.may_take(to_read);
        if may_take && to_read {
            self.readers += 1;
        }
        self.is_written |= may_take && !to_read;
        let side = if to_read { &mut self.reading } else { &mut self.writing };
        side.attempt(task, may_take, has_waited)
    }

    /// Whether the next release frees it and looks for a waiter to wake.
    pub fn is_contended(&self) -> bool {
        self.readers <= 1 && self.reading.interested + self.writing.interested > 0
    }

    /// Releases it. The last one that has it wakes one writer, or all readers: those that are preferred, if there are any.
    pub fn release(&mut self, woken: &mut Vec<Slot>) {
        if self.is_written {
            self.is_written = false;
        } else {
            self.readers -= 1;
        }
        if self.readers > 0 {
            return;
        }
        let readers_first = match self.prefer {
            Preference::Readers => self.reading.interested > 0,
            Preference::Writers => self.writing.interested == 0,
        };
        match readers_first {
            true => woken.extend(self.reading.asleep.drain(..)),
            false => woken.extend(self.writing.asleep.pop_front()),
        }
    }

    /// How many tasks wait.
    pub fn waiters(&self) -> usize {
        self.reading.asleep.len() + self.writing.asleep.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Attempt::*;
    use super::*;

    const READ: bool = true;
    const WRITE: bool = false;

    fn released(lock: &mut SharedLock) -> Vec<Slot> {
        let mut woken = Vec::new();
        lock.release(&mut woken);
        woken
    }

    #[test]
    fn readers_come_in_beside_readers_and_a_writer_alone() {
        let mut lock = SharedLock::new(Preference::Readers);
        assert_eq!([lock.take(1, READ, false), lock.take(2, READ, false)], [Done, Done]);
        assert_eq!([lock.take(3, WRITE, false), lock.take(4, READ, false)], [Wait, Done], "a writer waits for readers");
        assert_eq!([released(&mut lock), released(&mut lock), released(&mut lock)], [vec![], vec![], vec![3]]);
        assert_eq!(
            [lock.take(3, WRITE, true), lock.take(1, READ, false), lock.take(2, READ, false)],
            [Done, Wait, Wait]
        );
        assert_eq!((lock.is_contended(), lock.waiters()), (true, 2));
        assert_eq!(released(&mut lock), [1, 2]);
    }

    #[test]
    fn a_writer_that_waits_keeps_readers_out_where_writers_are_preferred() {
        let mut lock = SharedLock::new(Preference::Writers);
        assert_eq!(
            [lock.take(1, READ, false), lock.take(2, WRITE, false), lock.take(3, READ, false)],
            [Done, Wait, Wait]
        );
        assert_eq!(released(&mut lock), [2]);
        assert_eq!(lock.take(4, READ, false), Wait, "the writer is on its way");
        assert_eq!(lock.take(5, WRITE, false), Done, "and another is faster");
        assert_eq!(lock.take(2, WRITE, true), Wait);
        assert_eq!(released(&mut lock), [2]);
        assert_eq!(lock.take(2, WRITE, true), Done);
        assert_eq!(released(&mut lock), [3, 4]);
        assert_eq!([lock.take(3, READ, true), lock.take(4, READ, true)], [Done, Done]);
        assert!(!lock.is_contended());
    }
}
