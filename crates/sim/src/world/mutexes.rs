//! Locks, and the priorities that tasks inherit through them (`rt_mutex_adjust_prio_chain`).

use super::World;
use super::objects::{Attempt, Mutex};
use schedlab_model::workload::{Class, SPIN_PIECE, Step};

impl World {
    /// The task takes a mutex, or a reader-writer lock to read or to write, or waits for it. `has_waited`: it has slept for it
    /// before.
    pub(super) fn take_lock(&mut self, slot: u32, index: usize, to_read: bool, has_waited: bool) -> Attempt {
        let priority = self.tasks[slot].priority;
        let lock = match &mut self.objects.locks[index] {
            Mutex::Plain(lock) => return lock.lock(slot, has_waited),
            Mutex::Shared(lock) => return lock.take(slot, to_read, has_waited),
            Mutex::Inheriting(lock) => lock,
        };
        let was_owner = lock.owner() == Some(slot);
        let attempt = lock.lock(slot, priority);
        let owner = lock.owner().expect("somebody has it now");
        match attempt {
            Attempt::Done if !was_owner => self.tasks[slot].holds.push(index as u32),
            Attempt::Done => {}
            Attempt::Wait => {
                self.tasks[slot].waits_for = Some(index as u32);
                self.inherit(owner);
            }
        }
        attempt
    }

    /// Whether the task works on, looking at the lock of its step again and again, before it waits for it.
    pub(super) fn spins(&mut self, slot: u32, step: &Step) -> bool {
        let (lock, to_read) = match step {
            Step::Lock(lock) => (lock.index(), false),
            Step::ReadLock(lock) => (lock.index(), true),
            _ => return false,
        };
        let limit_ns = self.workload.objects.locks[lock].spin.ns();
        // A task that has paid for the call sleeps next.
        if limit_ns == 0 || self.tasks[slot].paid || self.tasks[slot].waits {
            return false;
        }
        let is_held = self.objects.locks[lock].would_wait(slot, to_read);
        let task = &mut self.tasks[slot];
        let left_ns = limit_ns - task.spun_ns;
        if !is_held || left_ns == 0 {
            task.spun_ns = 0;
            return false;
        }
        let piece_ns = left_ns.min(SPIN_PIECE.ns());
        task.spun_ns += piece_ns;
        task.work_ns = piece_ns + task.take_debts();
        true
    }

    /// The task releases a lock; a task that this wakes is added to `woken`.
    pub(super) fn release_lock(&mut self, slot: u32, index: usize) {
        let lock = match &mut self.objects.locks[index] {
            Mutex::Plain(lock) => return lock.unlock(&mut self.woken),
            Mutex::Shared(lock) => return lock.release(&mut self.woken),
            Mutex::Inheriting(lock) => lock,
        };
        let next = lock.unlock();
        self.tasks[slot].holds.retain(|held| *held != index as u32);
        if let Some(next) = next {
            let task = &mut self.tasks[next];
            task.waits_for = None;
            task.holds.push(index as u32);
            self.woken.push(next);
        }
        self.inherit(slot);
        next.into_iter().for_each(|next| self.inherit(next));
    }

    /// A task has its own priority or the highest of its waiters; the owner of what it waits for inherits that.
    fn inherit(&mut self, slot: u32) {
        let mut next = Some(slot);
        while let Some(slot) = next.take() {
            let task = &self.tasks[slot];
            let inherited = task.holds.iter().map(|&held| match &self.objects.locks[held as usize] {
                Mutex::Inheriting(lock) => lock.priority(),
                Mutex::Plain(_) | Mutex::Shared(_) => 0,
            });
            let priority = inherited.max().unwrap_or(0).max(task.class.priority());
            if priority == task.priority {
                return;
            }
            let task = &mut self.tasks[slot];
            task.priority = priority;
            self.inherits.push(slot);
            if let Some(Mutex::Inheriting(lock)) = task.waits_for.map(|lock| &mut self.objects.locks[lock as usize]) {
                lock.requeue(slot, priority);
                next = lock.owner();
            }
        }
    }

    /// The class in which a task is for now: one that has inherited a priority is in the real-time class.
    pub fn class_for_now(&self, slot: u32) -> Class {
        let task = &self.tasks[slot];
        match task.class {
            class if class.priority() == task.priority => class,
            Class::RoundRobin(_) => Class::RoundRobin(task.priority),
            _ => Class::Fifo(task.priority),
        }
    }

    /// A new task is in the class of its role.
    pub(super) fn begin_class(&mut self, slot: u32) {
        let class = self.role(slot).class;
        let task = &mut self.tasks[slot];
        (task.class, task.priority) = (class, class.priority());
    }

    /// The task has another class of its own from now on.
    pub fn set_own_class(&mut self, slot: u32, class: Class) {
        self.tasks[slot].class = class;
        self.inherit(slot);
    }
}
