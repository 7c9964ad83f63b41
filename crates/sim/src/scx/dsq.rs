//! Dispatch queues: where tasks wait for a CPU. Each is used either first-in first-out or by key (`dsq_vtime`), as in
//! the kernel (`kernel/sched/ext.c`, `dispatch_enqueue`).
//!
//! Tasks are linked in the order of the queue. In one by key a task looks for its place from the end, and by an index
//! once the queue is long.

use super::cpu::NONE;
use crate::table::Table;
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

impl Link {
    fn position(&self) -> Position {
        (self.key, self.sequence)
    }

    /// As a comparison of positions, but where keys differ, which is usual, of them alone.
    #[inline(always)]
    fn is_not_before(&self, (key, sequence): Position) -> bool {
        self.key > key || (self.key == key && self.sequence >= sequence)
    }
}

/// A queue by key that is longer has an index, until only [`FEW`] are left. The links of so few tasks fit into the first-level cache.
const MANY: u32 = 32;
const FEW: u32 = 8;

/// One queue.
pub struct Queue {
    /// Its identity for policies.
    pub id: u64,
    first: u32,
    last: u32,
    /// Whether the tasks in it lie by key.
    by_key: bool,
    /// All of them by their places, or nothing.
    index: BTreeMap<Position, u32>,
    /// Tasks waiting in it.
    pub length: u32,
    /// Counts insertions.
    pub sequence: u64,
    live: bool,
}

impl Queue {
    fn new(id: u64) -> Queue {
        Queue { id, first: NONE, last: NONE, by_key: false, index: BTreeMap::new(), length: 0, sequence: 0, live: true }
    }
}

impl Queue {
    /// Puts a task behind another, or first. This queue is the one with that index.
    #[inline(always)]
    fn link_in(&mut self, links: &mut Table<Link>, queue: QueueIndex, slot: u32, previous: u32, key: i64) {
        self.sequence += 1;
        self.length += 1;
        let next = match previous {
            NONE => std::mem::replace(&mut self.first, slot),
            previous => std::mem::replace(&mut links[previous].next, slot),
        };
        match next {
            NONE => self.last = slot,
            next => links[next].previous = slot,
        }
        let link = &mut links[slot];
        debug_assert_eq!(link.queue, NONE, "a task is in two queues");
        *link = Link { queue, previous, next, key, sequence: self.sequence };
    }

    /// Takes a task from the index, and that away if few are left.
    #[cold]
    fn leave_index(&mut self, link: &Link) {
        let taken = self.index.remove(&link.position());
        debug_assert!(taken.is_some());
        if self.length <= FEW {
            self.index.clear();
        }
    }
}

/// A task was to enter by key a queue that holds tasks first-in first-out, or the other way round.
#[derive(Debug, PartialEq, Eq)]
pub struct Mixed;

/// All queues of a simulation.
pub struct Queues {
    queues: Table<Queue>,
    links: Table<Link>,
    /// Identities below [`DIRECT`] are looked up by index, the rest in the map: the usual queue numbers are small.
    direct: Vec<QueueIndex>,
    by_id: BTreeMap<u64, QueueIndex>,
    free: Vec<QueueIndex>,
}

const DIRECT: u64 = 1 << 14;

impl Queues {
    /// The local queues of all CPUs, then those of `built_in`.
    pub fn new(cpus: u32, built_in: &[u64]) -> Queues {
        let identity = |index: u32| match index.checked_sub(cpus) {
            None => super::consts::SCX_DSQ_LOCAL_ON | u64::from(index),
            Some(behind) => built_in.get(behind as usize).copied().unwrap_or_default(),
        };
        let queues = Table::new(cpus + built_in.len() as u32, |index| Queue::new(identity(index)));
        let links = Table::new(0, |_| Link::default());
        Queues { queues, links, direct: Vec::new(), by_id: BTreeMap::new(), free: Vec::new() }
    }

    /// Creates a user queue; false if the identity is taken.
    pub fn create(&mut self, id: u64) -> bool {
        if self.find(id).is_some() {
            return false;
        }
        let index = self.free.pop().unwrap_or(self.queues.len());
        self.queues.reach(index + 1, |_| Queue::new(id));
        // An iterator over a queue that was there before sees none of the tasks to come.
        let sequence = self.queues[index].sequence;
        self.queues[index] = Queue { sequence, ..Queue::new(id) };
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
        let Some(index) = self.find(id).filter(|&i| self.queues[i].length == 0) else { return false };
        self.queues[index].live = false;
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
        &self.queues[queue]
    }

    /// Whether no task waits in a queue.
    #[inline]
    pub fn is_empty(&self, queue: QueueIndex) -> bool {
        self.queues[queue].length == 0
    }

    /// Where a task is queued.
    #[inline]
    pub fn link(&self, slot: u32) -> &Link {
        &self.links[slot]
    }

    /// Makes room for a task in `slot`.
    pub fn add_slot(&mut self, slot: u32) {
        self.links.reach(slot + 1, |_| Link::default());
        self.links[slot] = Link::default();
    }

    /// Puts a task at the end of a queue, or at its head.
    #[inline(always)]
    pub fn push(&mut self, queue: QueueIndex, slot: u32, at_head: bool) -> Result<(), Mixed> {
        let q = &mut self.queues[queue];
        if q.by_key && q.length > 0 {
            return Err(Mixed);
        }
        q.by_key = false;
        let previous = if at_head { NONE } else { q.last };
        q.link_in(&mut self.links, queue, slot, previous, 0);
        Ok(())
    }

    /// Puts a task into a queue by its key; equal keys keep the order of insertion. Keys wrap, so that one just below
    /// zero comes before zero.
    pub fn push_by_key(&mut self, queue: QueueIndex, slot: u32, key: u64) -> Result<(), Mixed> {
        let q = &mut self.queues[queue];
        if !q.by_key && q.length > 0 {
            return Err(Mixed);
        }
        q.by_key = true;
        let key = key as i64;
        let previous = self.last_before(queue, (key, u64::MAX));
        let q = &mut self.queues[queue];
        q.link_in(&mut self.links, queue, slot, previous, key);
        if !q.index.is_empty() {
            q.index.insert((key, q.sequence), slot);
        } else if q.length > MANY {
            self.make_index(queue);
        }
        Ok(())
    }

    #[cold]
    fn make_index(&mut self, queue: QueueIndex) {
        let index = self.iter(queue).map(|slot| (self.links[slot].position(), slot)).collect();
        self.queues[queue].index = index;
    }

    /// The last task of a queue by key that lies before a position, [`NONE`] if none does.
    #[inline]
    fn last_before(&self, queue: QueueIndex, position: Position) -> u32 {
        let q = &self.queues[queue];
        if !q.index.is_empty() {
            return q.index.range(..position).next_back().map_or(NONE, |(_, &slot)| slot);
        }
        let mut slot = q.last;
        while slot != NONE && self.links[slot].is_not_before(position) {
            slot = self.links[slot].previous;
        }
        slot
    }

    /// Takes a task out of the queue it is in, if it is in one.
    #[inline(always)]
    pub fn remove(&mut self, slot: u32) {
        let place = &mut self.links[slot];
        if place.queue == NONE {
            return;
        }
        let link = *place;
        place.queue = NONE;
        let q = &mut self.queues[link.queue];
        q.length -= 1;
        if !q.index.is_empty() {
            q.leave_index(&link);
        }
        match link.previous {
            NONE => q.first = link.next,
            previous => self.links[previous].next = link.next,
        }
        match link.next {
            NONE => q.last = link.previous,
            next => self.links[next].previous = link.previous,
        }
    }

    /// The first task.
    #[inline]
    pub fn first(&self, queue: QueueIndex) -> Option<u32> {
        Some(self.queues[queue].first).filter(|&slot| slot != NONE)
    }

    /// The task after one that is in a queue.
    #[inline]
    pub fn next(&self, slot: u32) -> Option<u32> {
        Some(self.links[slot].next).filter(|&slot| slot != NONE)
    }

    /// Whether tasks lie in the queue by key.
    pub fn is_by_key(&self, queue: QueueIndex) -> bool {
        let q = &self.queues[queue];
        q.by_key && q.length > 0
    }

    /// The task of a queue by key that comes next, with its position, after one that was there with that position; the
    /// first when there is none. Backwards if `before`.
    #[inline]
    pub fn beside(&self, queue: QueueIndex, seen: Option<(Position, u32)>, before: bool) -> Option<(Position, u32)> {
        let q = &self.queues[queue];
        let slot = match (seen, before) {
            (None, false) => q.first,
            (None, true) => q.last,
            (Some(seen), before) if self.is_there(queue, seen) => {
                let link = &self.links[seen.1];
                if before { link.previous } else { link.next }
            }
            (Some((position, _)), true) => self.last_before(queue, position),
            (Some((position, _)), false) => match self.last_before(queue, position) {
                NONE => q.first,
                last => self.links[last].next,
            },
        };
        (slot != NONE).then(|| (self.links[slot].position(), slot))
    }

    fn is_there(&self, queue: QueueIndex, (position, slot): (Position, u32)) -> bool {
        let link = &self.links[slot];
        link.queue == queue && link.sequence == position.1
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

    /// Short and long, with an index and without, in every order of insertion and removal.
    #[test]
    #[cfg_attr(miri, ignore = "it takes too long, and what it adds is an ordered map")]
    fn long_queues_keep_the_order_of_short_ones() {
        let (mut q, i) = queues(200);
        let mut rng = schedlab_model::rng::Rng::split(1, "queues by key");
        let mut expected: Vec<(i64, u64, u32)> = Vec::new();
        let mut spare: Vec<u32> = (0..200).collect();
        let mut seen_index = [false; 2];
        for step in 0..4000u64 {
            // Grows to 150 tasks, shrinks to none, and so on.
            let grows = (step / 500).is_multiple_of(2);
            if grows == (rng.below(10) < 8) && !spare.is_empty() {
                let (slot, key) = (spare.pop().expect("just looked"), rng.below(20) as i64 - 10);
                q.push_by_key(i, slot, key as u64).expect("by key");
                expected.push((key, step, slot));
                expected.sort();
            } else if !expected.is_empty() {
                let at = rng.below(expected.len() as u64) as usize;
                let (.., slot) = expected.remove(at);
                let seen = (q.link(slot).position(), slot);
                q.remove(slot);
                spare.push(slot);
                // There is a way on from where a task was.
                let beside = |before| q.beside(i, Some(seen), before).map(|(_, slot)| slot);
                let neighbour = |at: Option<usize>| at.and_then(|at| expected.get(at)).map(|&(.., slot)| slot);
                assert_eq!([beside(false), beside(true)], [neighbour(Some(at)), neighbour(at.checked_sub(1))]);
            }
            let order: Vec<u32> = expected.iter().map(|&(.., slot)| slot).collect();
            assert_eq!(q.iter(i).collect::<Vec<_>>(), order);
            let mut backwards: Vec<u32> =
                std::iter::successors(q.beside(i, None, true), |&seen| q.beside(i, Some(seen), true))
                    .map(|(_, slot)| slot)
                    .collect();
            backwards.reverse();
            assert_eq!(backwards, order);
            seen_index[usize::from(q.get(i).index.is_empty())] = true;
        }
        assert_eq!(seen_index, [true; 2]);
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
