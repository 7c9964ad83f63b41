//! Dispatch queues: where tasks wait for a CPU. Each is used either first-in first-out or by key (`dsq_vtime`), as in
//! the kernel (`kernel/sched/ext.c`, `dispatch_enqueue`).

use super::cpu::NONE;
use std::collections::BTreeMap;

/// A queue by its index in [`Queues`]. The local queue of CPU c has index c, the global one follows them.
pub type QueueIndex = u32;

/// A place in a queue by key: the key, and the sequence of the insertion.
pub type Position = (i64, u64);

/// Links of a queued task.
#[derive(Clone, Copy)]
pub struct Link {
    /// The queue the task is in, [`NONE`] if in no queue.
    pub queue: QueueIndex,
    previous: u32,
    next: u32,
    key: i64,
    /// When the task was put in, counted per queue; an iterator skips what came after it.
    pub sequence: u64,
}

impl Default for Link {
    fn default() -> Link {
        Link { queue: NONE, previous: NONE, next: NONE, key: 0, sequence: 0 }
    }
}

/// One queue.
pub struct Queue {
    /// Its identity for policies.
    pub id: u64,
    /// [`NONE`] while tasks lie in it by key.
    first: u32,
    last: u32,
    by_key: BTreeMap<Position, u32>,
    /// Tasks waiting in it.
    pub length: u32,
    /// Counts insertions.
    pub sequence: u64,
    live: bool,
}

impl Queue {
    fn new(id: u64) -> Queue {
        Queue { id, first: NONE, last: NONE, by_key: BTreeMap::new(), length: 0, sequence: 0, live: true }
    }
}

impl Queue {
    /// Takes a task out that lies here by key.
    #[inline(never)]
    fn forget(&mut self, link: &Link) {
        let taken = self.by_key.remove(&(link.key, link.sequence));
        debug_assert!(taken.is_some());
    }
}

/// A task was to enter by key a queue that holds tasks first-in first-out, or the other way round.
#[derive(Debug, PartialEq, Eq)]
pub struct Mixed;

/// All queues of a simulation.
pub struct Queues {
    queues: Vec<Queue>,
    links: Vec<Link>,
    /// Identities below [`DIRECT`] are looked up by index, the rest in the map: the usual queue numbers are small.
    direct: Vec<QueueIndex>,
    by_id: BTreeMap<u64, QueueIndex>,
    free: Vec<QueueIndex>,
}

const DIRECT: u64 = 1 << 14;

impl Queues {
    /// The local queues of all CPUs, then those of `built_in`.
    pub fn new(cpus: u32, built_in: &[u64]) -> Queues {
        let local = (0..cpus).map(|c| Queue::new(super::consts::SCX_DSQ_LOCAL_ON | c as u64));
        let queues = local.chain(built_in.iter().map(|&id| Queue::new(id))).collect();
        Queues { queues, links: Vec::new(), direct: Vec::new(), by_id: BTreeMap::new(), free: Vec::new() }
    }

    /// Creates a user queue; false if the identity is taken.
    pub fn create(&mut self, id: u64) -> bool {
        if self.find(id).is_some() {
            return false;
        }
        let index = match self.free.pop() {
            Some(index) => {
                self.queues[index as usize] = Queue::new(id);
                index
            }
            None => {
                self.queues.push(Queue::new(id));
                self.queues.len() as u32 - 1
            }
        };
        if id < DIRECT {
            if self.direct.len() <= id as usize {
                self.direct.resize(id as usize + 1, NONE);
            }
            self.direct[id as usize] = index;
        } else {
            self.by_id.insert(id, index);
        }
        true
    }

    /// Destroys an empty user queue; false if it does not exist or is not empty.
    pub fn destroy(&mut self, id: u64) -> bool {
        let Some(index) = self.find(id).filter(|&i| self.queues[i as usize].length == 0) else { return false };
        self.queues[index as usize].live = false;
        if id < DIRECT {
            self.direct[id as usize] = NONE;
        } else {
            self.by_id.remove(&id);
        }
        self.free.push(index);
        true
    }

    /// The user queue with this identity.
    #[inline]
    pub fn find(&self, id: u64) -> Option<QueueIndex> {
        if id < DIRECT {
            return self.direct.get(id as usize).copied().filter(|&i| i != NONE);
        }
        self.by_id.get(&id).copied()
    }

    /// A queue.
    #[inline]
    pub fn get(&self, queue: QueueIndex) -> &Queue {
        &self.queues[queue as usize]
    }

    /// Whether no task waits in a queue.
    #[inline]
    pub fn is_empty(&self, queue: QueueIndex) -> bool {
        self.queues[queue as usize].length == 0
    }

    /// Where a task is queued.
    #[inline]
    pub fn link(&self, slot: u32) -> &Link {
        &self.links[slot as usize]
    }

    /// Makes room for a task in `slot`.
    pub fn add_slot(&mut self, slot: u32) {
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, Link::default());
        }
        self.links[slot as usize] = Link::default();
    }

    /// Puts a task at the end of a queue, or at its head.
    #[inline(always)]
    pub fn push(&mut self, queue: QueueIndex, slot: u32, at_head: bool) -> Result<(), Mixed> {
        let q = &mut self.queues[queue as usize];
        if !q.by_key.is_empty() {
            return Err(Mixed);
        }
        q.sequence += 1;
        q.length += 1;
        let sequence = q.sequence;
        let (previous, next) = if at_head {
            let next = std::mem::replace(&mut q.first, slot);
            match next {
                NONE => q.last = slot,
                next => self.links[next as usize].previous = slot,
            }
            (NONE, next)
        } else {
            let previous = std::mem::replace(&mut q.last, slot);
            match previous {
                NONE => q.first = slot,
                previous => self.links[previous as usize].next = slot,
            }
            (previous, NONE)
        };
        let link = &mut self.links[slot as usize];
        debug_assert_eq!(link.queue, NONE, "a task is in two queues");
        (link.queue, link.previous, link.next, link.sequence) = (queue, previous, next, sequence);
        Ok(())
    }

    /// Puts a task into a queue by its key; equal keys keep the order of insertion. Keys wrap, so that one just below
    /// zero comes before zero.
    pub fn push_by_key(&mut self, queue: QueueIndex, slot: u32, key: u64) -> Result<(), Mixed> {
        let q = &mut self.queues[queue as usize];
        if q.first != NONE {
            return Err(Mixed);
        }
        q.sequence += 1;
        q.length += 1;
        let (key, sequence) = (key as i64, q.sequence);
        q.by_key.insert((key, sequence), slot);
        self.links[slot as usize] = Link { queue, previous: NONE, next: NONE, key, sequence };
        Ok(())
    }

    /// Takes a task out of the queue it is in, if it is in one.
    #[inline(always)]
    pub fn remove(&mut self, slot: u32) {
        let place = &mut self.links[slot as usize];
        if place.queue == NONE {
            return;
        }
        let link = *place;
        place.queue = NONE;
        let q = &mut self.queues[link.queue as usize];
        q.length -= 1;
        if q.first == NONE {
            return q.forget(&link);
        }
        match link.previous {
            NONE => q.first = link.next,
            previous => self.links[previous as usize].next = link.next,
        }
        match link.next {
            NONE => q.last = link.previous,
            next => self.links[next as usize].previous = link.previous,
        }
    }

    /// The first task.
    #[inline]
    pub fn first(&self, queue: QueueIndex) -> Option<u32> {
        let q = &self.queues[queue as usize];
        if q.first != NONE {
            return Some(q.first);
        }
        q.by_key.first_key_value().map(|(_, &slot)| slot)
    }

    /// The task after one that is in a queue.
    pub fn next(&self, slot: u32) -> Option<u32> {
        let link = &self.links[slot as usize];
        let queue = &self.queues[link.queue as usize];
        if queue.first == NONE {
            let after = (std::ops::Bound::Excluded((link.key, link.sequence)), std::ops::Bound::Unbounded);
            return queue.by_key.range(after).next().map(|(_, &s)| s);
        }
        Some(link.next).filter(|&s| s != NONE)
    }

    /// Whether tasks lie in the queue by key.
    pub fn is_by_key(&self, queue: QueueIndex) -> bool {
        !self.queues[queue as usize].by_key.is_empty()
    }

    /// The task next to a position of a queue by key, with its own; the first, or the last, when there is no position.
    pub fn beside(&self, queue: QueueIndex, position: Option<Position>, before: bool) -> Option<(Position, u32)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let by_key = &self.queues[queue as usize].by_key;
        let found = match (position, before) {
            (None, false) => by_key.first_key_value(),
            (None, true) => by_key.last_key_value(),
            (Some(position), false) => by_key.range((Excluded(position), Unbounded)).next(),
            (Some(position), true) => by_key.range(..position).next_back(),
        };
        found.map(|(&position, &slot)| (position, slot))
    }

    /// The tasks in order.
    pub fn iter(&self, queue: QueueIndex) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.first(queue), |&slot| self.next(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(tasks: u32) -> (Queues, QueueIndex) {
        let mut q = Queues::new(2, &[super::super::consts::SCX_DSQ_GLOBAL]);
        (0..tasks).for_each(|s| q.add_slot(s));
        assert!(q.create(7) && !q.create(7) && q.create(1 << 40));
        let index = q.find(7).expect("just created");
        (q, index)
    }

    #[test]
    fn first_in_first_out_with_heads_and_removals() {
        let (mut q, i) = queues(5);
        for s in 0..4 {
            q.push(i, s, false).expect("fifo");
        }
        q.push(i, 4, true).expect("fifo");
        q.remove(1);
        assert_eq!(q.iter(i).collect::<Vec<_>>(), [4, 0, 2, 3]);
        q.remove(4);
        q.remove(3);
        assert_eq!((q.iter(i).collect::<Vec<_>>(), q.get(i).length), (vec![0, 2], 2));
        assert_eq!(q.push_by_key(i, 1, 5), Err(Mixed));
    }

    #[test]
    fn keys_order_and_equal_keys_keep_their_turn() {
        let (mut q, i) = queues(5);
        for (slot, key) in [(0, 5), (1, 3), (2, 5), (3, u64::MAX), (4, 0)] {
            q.push_by_key(i, slot, key).expect("by key");
        }
        assert_eq!(q.iter(i).collect::<Vec<_>>(), [3, 4, 1, 0, 2], "a key just below zero is before zero");
        q.remove(1);
        assert_eq!(q.next(4), Some(0));
    }

    #[test]
    fn a_destroyed_queue_is_gone_and_a_full_one_cannot_be() {
        let (mut q, i) = queues(1);
        q.push(i, 0, false).expect("fifo");
        assert!(!q.destroy(7));
        q.remove(0);
        assert!(q.destroy(7) && q.find(7).is_none() && !q.destroy(7) && q.create(7));
    }
}
