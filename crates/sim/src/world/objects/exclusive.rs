//! What one task takes from all others: units of a semaphore, and a mutex.

use super::{Attempt, Grants, Slot};
use std::collections::VecDeque;

/// Tasks that wait, and those that were handed something which they have not taken yet.
struct Waiters {
    grants: Grants,
    waiting: VecDeque<Slot>,
    granted: Vec<Slot>,
}

impl Waiters {
    fn new(grants: Grants) -> Waiters {
        Waiters { grants, waiting: VecDeque::new(), granted: Vec::new() }
    }

    /// Whether the task was given what it waited for.
    fn has(&self, task: Slot) -> bool {
        self.granted.contains(&task)
    }

    /// The same; it has taken it then.
    fn redeem(&mut self, task: Slot) -> bool {
        let place = self.granted.iter().position(|&granted| granted == task);
        place.map(|place| self.granted.swap_remove(place)).is_some()
    }

    /// Wakes at most `count` in the order in which they came; says how many were given something with that.
    fn wake(&mut self, count: usize, woken: &mut Vec<Slot>) -> usize {
        let served = self.waiting.len().min(count);
        woken.extend(self.waiting.drain(..served));
        if self.grants == Grants::Retry {
            return 0;
        }
        self.granted.extend(&woken[woken.len() - served..]);
        served
    }
}

/// A counting semaphore: a word, and `FUTEX_WAIT` while it is zero.
pub struct Semaphore {
    value: u64,
    waiters: Waiters,
}

impl Semaphore {
    /// One without waiters.
    pub fn new(initial: u32, grants: Grants) -> Semaphore {
        Semaphore { value: initial.into(), waiters: Waiters::new(grants) }
    }

    /// Takes one.
    pub fn wait(&mut self, task: Slot) -> Attempt {
        if self.waiters.redeem(task) {
            return Attempt::Done;
        }
        match self.value.checked_sub(1) {
            Some(rest) => {
                self.value = rest;
                Attempt::Done
            }
            None => {
                self.waiters.waiting.push_back(task);
                Attempt::Wait
            }
        }
    }

    /// Whether an attempt to take one would have to wait.
    pub fn would_wait(&self, task: Slot) -> bool {
        self.value == 0 && !self.waiters.has(task)
    }

    /// Gives `count`; the tasks to wake are added to `woken`.
    pub fn post(&mut self, count: u32, woken: &mut Vec<Slot>) {
        let given = self.waiters.wake(count as usize, woken);
        self.value += u64::from(count) - given as u64;
    }

    /// How many tasks wait.
    pub fn waiters(&self) -> usize {
        self.waiters.waiting.len()
    }
}

/// A mutex as Drepper describes it ("Futexes are tricky", 2011, mutex2): a word, and `FUTEX_WAIT` while it is not free.
/// A release wakes a waiter only where the word says that there may be one, and a task that takes a free one by its
/// first attempt says that there is none: another may sleep on until a waiter takes the mutex.
pub struct Lock {
    word: Word,
    waiters: Waiters,
}

/// What the word of a mutex says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Free,
    Held,
    /// A task may wait.
    Contended,
}

impl Lock {
    /// A free one.
    pub fn new(grants: Grants) -> Lock {
        Lock { word: Word::Free, waiters: Waiters::new(grants) }
    }

    /// Takes it. `has_waited`: it is not the task's first attempt.
    pub fn lock(&mut self, task: Slot, has_waited: bool) -> Attempt {
        if self.waiters.redeem(task) {
            return Attempt::Done;
        }
        let is_free = self.word == Word::Free;
        self.word = if is_free && !has_waited { Word::Held } else { Word::Contended };
        if !is_free {
            self.waiters.waiting.push_back(task);
            return Attempt::Wait;
        }
        Attempt::Done
    }

    /// Whether an attempt to take it would have to wait.
    pub fn would_wait(&self, task: Slot) -> bool {
        self.word != Word::Free && !self.waiters.has(task)
    }

    /// Whether a release looks for a waiter to wake.
    pub fn is_contended(&self) -> bool {
        self.word == Word::Contended
    }

    /// Releases it and wakes the first waiter if there may be one.
    pub fn unlock(&mut self, woken: &mut Vec<Slot>) {
        let given = if self.is_contended() { self.waiters.wake(1, woken) } else { 0 };
        self.word = match (given, self.waiters.waiting.is_empty()) {
            (0, _) => Word::Free,
            (_, true) => Word::Held,
            (_, false) => Word::Contended,
        };
    }

    /// How many tasks wait.
    pub fn waiters(&self) -> usize {
        self.waiters.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Attempt::*;
    use super::*;

    #[test]
    fn a_semaphore_wakes_in_order_and_keeps_what_is_left() {
        let mut s = Semaphore::new(1, Grants::Retry);
        let mut woken = Vec::new();
        assert_eq!([1, 2, 3].map(|task| s.wait(task)), [Done, Wait, Wait]);
        s.post(3, &mut woken);
        assert_eq!((&woken[..], s.value), (&[2, 3][..], 3));
        assert_eq!([9, 2, 3, 4].map(|task| s.wait(task)), [Done, Done, Done, Wait]);
    }

    #[test]
    fn who_runs_first_takes_a_lock_that_was_released() {
        let mut l = Lock::new(Grants::Retry);
        let mut woken = Vec::new();
        assert_eq!([l.lock(1, false), l.lock(2, false)], [Done, Wait]);
        l.unlock(&mut woken);
        assert_eq!(woken, [2]);
        assert_eq!([l.lock(1, false), l.lock(2, true)], [Done, Wait], "its owner was faster than the waiter");
        l.unlock(&mut woken);
        assert_eq!(l.lock(2, true), Done);
    }

    #[test]
    fn who_takes_a_free_lock_at_once_forgets_who_sleeps() {
        let mut l = Lock::new(Grants::Retry);
        let mut woken = Vec::new();
        assert_eq!([l.lock(1, false), l.lock(2, false), l.lock(3, false)], [Done, Wait, Wait]);
        l.unlock(&mut woken);
        assert_eq!(l.lock(1, false), Done);
        l.unlock(&mut woken);
        assert_eq!(woken, [2], "3 sleeps on");
        assert_eq!(l.lock(2, true), Done);
        l.unlock(&mut woken);
        assert_eq!(woken, [2, 3]);
    }

    #[test]
    fn what_is_handed_over_is_never_free_in_between() {
        let (mut l, mut s) = (Lock::new(Grants::HandOver), Semaphore::new(0, Grants::HandOver));
        let mut woken = Vec::new();
        assert_eq!([l.lock(1, false), l.lock(2, false), s.wait(3)], [Done, Wait, Wait]);
        l.unlock(&mut woken);
        s.post(1, &mut woken);
        assert_eq!(woken, [2, 3]);
        assert_eq!([l.lock(1, false), l.lock(2, true), s.wait(9), s.wait(3)], [Wait, Done, Wait, Done]);
        l.unlock(&mut woken);
        assert_eq!(woken, [2, 3, 1]);
    }

    /// How often each of two tasks, on a CPU of its own, had a lock for 10 ms, in 100 ms.
    fn passes(retry: bool) -> [usize; 2] {
        use crate::ideal::{Discipline, test_helpers::*};
        use schedlab_model::trace::EventKind;
        let steps = "{ lock = \"m\" }, { compute = \"10ms\" }, { unlock = \"m\" }";
        let mut workload = described(2, &format!("[[task]]\nname = \"t\"\ncount = 2\nloop = [{steps}]\n"));
        workload.machine.mechanisms.retry = retry;
        let events = events(&workload, Discipline::Fcfs);
        [0, 1].map(|number| {
            let ended = |kind: &EventKind| matches!(kind, EventKind::RequestEnd { task, .. } if task.0 == number);
            events.iter().filter(|event| ended(&event.kind)).count()
        })
    }

    #[test]
    fn the_task_that_runs_takes_the_lock_again_and_gives_it_away_where_it_is_handed_over() {
        assert_eq!(passes(true), [9, 0]);
        assert_eq!(passes(false), [5, 4]);
    }
}
