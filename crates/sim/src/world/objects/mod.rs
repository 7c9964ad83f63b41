//! Semaphores, mutexes, reader-writer locks, condition variables, channels, barriers and devices.
//!
//! A kernel hands nothing over: a waiter is woken, tries again once it has a CPU, and finds that another task was
//! faster, or not. [`Grants`] says whether the simulated machine does the same.

mod channel;
mod condition;
mod exclusive;
mod inheriting;
mod pages;
mod shared;

pub use channel::Channel;
pub use condition::Condition;
pub use exclusive::{Lock, Semaphore};
pub use inheriting::Inheriting;
use pages::Pages;
pub use shared::SharedLock;

use schedlab_model::machine::Mechanisms;
use schedlab_model::workload::{self, Protocol, Workload};

/// A task by its slot.
type Slot = u32;

/// What becomes of what a waiter waits for, once it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grants {
    /// The waiter is woken and tries again, as in a kernel (`futex_wait`, `pipe_read`): a task that runs first may take
    /// it.
    Retry,
    /// It is the first waiter's from that moment on, so that no task can slip in between.
    HandOver,
}

impl Grants {
    fn of(mechanisms: &Mechanisms) -> Grants {
        if mechanisms.retry { Grants::Retry } else { Grants::HandOver }
    }
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It was there.
    Done,
    /// The task waits, and tries again when it is woken.
    Wait,
}

/// A lock by its kind.
pub enum Mutex {
    /// Without one.
    Plain(Lock),
    /// With priority inheritance.
    Inheriting(Inheriting),
    /// One that is taken to read, too.
    Shared(SharedLock),
}

impl Mutex {
    fn new(declared: &workload::Mutex, grants: Grants) -> Mutex {
        match (declared.readers, declared.protocol) {
            (Some(prefer), _) => Mutex::Shared(SharedLock::new(prefer)),
            (None, Protocol::None) => Mutex::Plain(Lock::new(grants)),
            (None, Protocol::Inherit) => Mutex::Inheriting(Inheriting::default()),
        }
    }

    /// Whether an attempt of this task to take it, to read or to write, would have to wait.
    pub fn would_wait(&self, task: Slot, to_read: bool) -> bool {
        match self {
            Mutex::Plain(lock) => lock.would_wait(task),
            Mutex::Inheriting(lock) => lock.owner().is_some_and(|owner| owner != task),
            Mutex::Shared(lock) => !lock.may_take(to_read),
        }
    }

    /// Whether a release looks for a waiter to wake.
    pub fn is_contended(&self) -> bool {
        match self {
            Mutex::Plain(lock) => lock.is_contended(),
            Mutex::Inheriting(lock) => lock.waiters() > 0,
            Mutex::Shared(lock) => lock.is_contended(),
        }
    }

    /// How many tasks wait.
    fn waiters(&self) -> usize {
        match self {
            Mutex::Plain(lock) => lock.waiters(),
            Mutex::Inheriting(lock) => lock.waiters(),
            Mutex::Shared(lock) => lock.waiters(),
        }
    }
}

/// The state of all shared objects.
pub struct Objects {
    /// Semaphores.
    pub semaphores: Vec<Semaphore>,
    /// Mutexes.
    pub locks: Vec<Mutex>,
    /// Condition variables.
    pub conditions: Vec<Condition>,
    /// Channels.
    pub channels: Vec<Channel>,
    /// Barriers.
    pub barriers: Vec<Barrier>,
    /// For each device the instant until which it is busy.
    pub devices: Vec<u64>,
}

impl Objects {
    /// As the workload declares them, without waiters.
    pub fn new(workload: &Workload) -> Objects {
        let (declared, grants) = (&workload.objects, Grants::of(&workload.machine.mechanisms));
        let pages = Pages::of(&workload.machine.mechanisms);
        let mut channels: Vec<Channel> = declared.channels.iter().map(|c| Channel::new(c, grants, pages)).collect();
        workload.sources.iter().for_each(|source| channels[source.channel.index()].set_fed_from_outside());
        Objects {
            semaphores: declared.semaphores.iter().map(|s| Semaphore::new(s.initial, grants)).collect(),
            locks: declared.locks.iter().map(|lock| Mutex::new(lock, grants)).collect(),
            conditions: declared.conditions.iter().map(|_| Condition::default()).collect(),
            channels,
            barriers: declared.barriers.iter().map(|b| Barrier { parties: b.1, waiters: Vec::new() }).collect(),
            devices: vec![0; declared.devices.len()],
        }
    }

    /// How many tasks wait for others to give something. A task at a device is served in any case.
    pub fn waiters(&self) -> usize {
        let semaphores = self.semaphores.iter().map(Semaphore::waiters);
        let locks = self.locks.iter().map(Mutex::waiters);
        let conditions = self.conditions.iter().map(Condition::waiters);
        let channels = self.channels.iter().map(Channel::waiters);
        let barriers = self.barriers.iter().map(|barrier| barrier.waiters.len());
        semaphores.chain(locks).chain(conditions).chain(channels).chain(barriers).sum()
    }
}

/// A barrier that opens when all parties are there, again and again.
pub struct Barrier {
    parties: u32,
    waiters: Vec<Slot>,
}

impl Barrier {
    /// Whether all others are there.
    pub fn is_last(&self) -> bool {
        self.waiters.len() as u32 + 1 >= self.parties
    }

    /// Arrives; true: it was the last one and the others are to be woken.
    pub fn arrive(&mut self, task: Slot, woken: &mut Vec<Slot>) -> bool {
        if !self.is_last() {
            self.waiters.push(task);
            return false;
        }
        woken.append(&mut self.waiters);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_opens_for_all_parties_and_closes_again() {
        let mut b = Barrier { parties: 3, waiters: vec![] };
        for _ in 0..2 {
            let mut woken = Vec::new();
            assert!(!b.arrive(1, &mut woken) && !b.arrive(2, &mut woken) && b.arrive(3, &mut woken));
            assert_eq!(woken, [1, 2]);
        }
    }
}
