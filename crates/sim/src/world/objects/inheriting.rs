//! A mutex with priority inheritance, as the kernel has it (`rt_mutex`): it is handed to the most urgent task that waits.

use super::{Attempt, Slot};

/// The owner, and the waiters with their real-time priorities, the most urgent first; 0 is none.
#[derive(Default)]
pub struct Inheriting {
    owner: Option<Slot>,
    waiting: Vec<(Slot, u8)>,
}

impl Inheriting {
    /// Takes it. It may be the task's already: then it was handed over.
    pub fn lock(&mut self, task: Slot, priority: u8) -> Attempt {
        match self.owner {
            Some(owner) if owner != task => {
                self.queue(task, priority);
                Attempt::Wait
            }
            _ => {
                self.owner = Some(task);
                Attempt::Done
            }
        }
    }

    /// Behind those of its priority; all without one are equal (`__waiter_prio`).
    fn queue(&mut self, task: Slot, priority: u8) {
        let place = self.waiting.partition_point(|&(_, other)| other >= priority);
        self.waiting.insert(place, (task, priority));
    }

    /// A task that waits has another priority.
    pub fn requeue(&mut self, task: Slot, priority: u8) {
        self.waiting.retain(|&(other, _)| other != task);
        self.queue(task, priority);
    }

    /// Gives it to the next, if one waits.
    pub fn unlock(&mut self) -> Option<Slot> {
        self.owner = (!self.waiting.is_empty()).then(|| self.waiting.remove(0).0);
        self.owner
    }

    /// Its owner.
    pub fn owner(&self) -> Option<Slot> {
        self.owner
    }

    /// The priority that its owner has through it.
    pub fn priority(&self) -> u8 {
        self.waiting.first().map_or(0, |&(_, priority)| priority)
    }

    /// How many tasks wait.
    pub fn waiters(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Attempt::*;
    use super::*;

    #[test]
    fn the_most_urgent_that_waits_has_it_next() {
        let mut lock = Inheriting::default();
        assert_eq!([lock.lock(1, 0), lock.lock(2, 0), lock.lock(3, 5), lock.lock(4, 5)], [Done, Wait, Wait, Wait]);
        assert_eq!((lock.priority(), lock.unlock()), (5, Some(3)));
        assert_eq!([lock.lock(9, 99), lock.lock(3, 5)], [Wait, Done], "it was handed over");
        lock.requeue(2, 7);
        let next: Vec<_> = (0..4).map(|_| lock.unlock()).collect();
        assert_eq!(next, [Some(9), Some(2), Some(4), None]);
        assert_eq!(lock.lock(1, 0), Done);
    }
}
