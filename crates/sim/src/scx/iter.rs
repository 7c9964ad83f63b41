//! Iterators over dispatch queues (`bpf_iter_scx_dsq`).
//!
//! An iterator sees the tasks that were in the queue when it was made and still are: one that is put in later is not
//! seen, one that is taken out is passed over, as in the kernel.

use super::cpu::NONE;
use super::dsq::{Position, QueueIndex, Queues};

/// Tasks for which an iterator that has ended keeps room.
const ROOM_KEPT: usize = 1024;

/// What a move started from the iterator shall change on the task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New slice.
    pub slice_ns: Option<u64>,
    /// New key.
    pub vtime: Option<u64>,
}

/// One iterator.
#[derive(Debug)]
pub struct DsqIterator {
    /// The queue, [`NONE`] while the iterator is not in use.
    pub queue: QueueIndex,
    /// The sequence of the last insertion before the iterator was made.
    pub until: u64,
    /// The place in a queue by key, where there is always a way on from a place. It costs the same however long the
    /// queue is: policies look at the first task of a long queue often.
    place: Option<Place>,
    /// Else the tasks to come, the next one last, each with the sequence of its insertion.
    rest: Vec<(u32, u64)>,
    /// How many those were at first.
    noted: usize,
    /// For the next move.
    pub changes: Changes,
}

/// How far an iterator over a queue by key has come.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The last task seen.
    last: Option<(Position, u32)>,
    /// Whether it goes from the last task to the first.
    reverse: bool,
}

/// All iterators, by the handle that the virtual machine keeps for the policy's `struct bpf_iter_scx_dsq`.
#[derive(Debug, Default)]
pub struct Iterators {
    iterators: Vec<DsqIterator>,
    /// Those that are not in use.
    free: Vec<u32>,
}

impl Iterators {
    /// Makes an iterator; gives its handle, which is never zero, and how many tasks were noted for it.
    pub fn create(&mut self, queues: &Queues, queue: QueueIndex, reverse: bool) -> (u64, usize) {
        let index = self.free.pop().unwrap_or_else(|| self.add());
        let iterator = &mut self.iterators[index as usize];
        (iterator.queue, iterator.changes) = (queue, Changes::default());
        iterator.until = queues.get(queue).sequence;
        iterator.place = queues.is_by_key(queue).then_some(Place { last: None, reverse });
        iterator.rest.clear();
        if iterator.place.is_none() {
            iterator.rest.extend(queues.iter(queue).map(|slot| (slot, queues.link(slot).sequence)));
            if !reverse {
                iterator.rest.reverse();
            }
        }
        iterator.noted = iterator.rest.len();
        (u64::from(index) + 1, iterator.noted)
    }

    #[cold]
    fn add(&mut self) -> u32 {
        self.iterators.push(DsqIterator {
            queue: NONE,
            until: 0,
            place: None,
            rest: Vec::new(),
            noted: 0,
            changes: Changes::default(),
        });
        self.iterators.len() as u32 - 1
    }

    /// The iterator of a handle.
    #[inline]
    pub fn get(&mut self, handle: u64) -> Option<&mut DsqIterator> {
        self.iterators.get_mut(handle.wrapping_sub(1) as usize).filter(|iterator| iterator.queue != NONE)
    }

    /// The next task that is still where it was.
    pub fn next(&mut self, handle: u64, queues: &Queues) -> Option<u32> {
        let iterator = self.get(handle)?;
        if let Some(place) = &mut iterator.place {
            loop {
                let seen = queues.beside(iterator.queue, place.last, place.reverse)?;
                let (_, slot) = seen;
                place.last = Some(seen);
                if queues.link(slot).sequence <= iterator.until {
                    return Some(slot);
                }
            }
        }
        while let Some((slot, sequence)) = iterator.rest.pop() {
            let link = queues.link(slot);
            if link.queue == iterator.queue && link.sequence == sequence {
                return Some(slot);
            }
        }
        None
    }

    /// Ends an iterator. Gives how many tasks were noted for it.
    pub fn destroy(&mut self, handle: u64) -> usize {
        let Some(iterator) = self.get(handle) else { return 0 };
        iterator.queue = NONE;
        let noted = std::mem::take(&mut iterator.noted);
        iterator.rest.clear();
        iterator.rest.shrink_to(ROOM_KEPT);
        self.free.push(handle as u32 - 1);
        noted
    }
}

/// Walks over things by number, by the handle that the virtual machine keeps: what is to come, the next one last.
#[derive(Debug, Default)]
pub struct Walks {
    walks: Vec<Vec<u32>>,
    free: Vec<u32>,
}

impl Walks {
    /// Begins one; gives its handle, which is never zero.
    pub fn open(&mut self, places: impl DoubleEndedIterator<Item = u32>) -> u64 {
        let rest: Vec<u32> = places.rev().collect();
        let index = self.free.pop().unwrap_or(self.walks.len() as u32);
        match self.walks.get_mut(index as usize) {
            Some(walk) => *walk = rest,
            None => self.walks.push(rest),
        }
        u64::from(index) + 1
    }

    /// The next one.
    pub fn next(&mut self, handle: u64) -> Option<u32> {
        self.walks.get_mut(handle.wrapping_sub(1) as usize)?.pop()
    }

    /// Ends a walk.
    pub fn close(&mut self, handle: u64) {
        if let Some(walk) = self.walks.get_mut(handle.wrapping_sub(1) as usize) {
            walk.clear();
            self.free.push(handle as u32 - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_tasks_are_not_seen_and_removed_ones_are_passed_over() {
        let mut queues = Queues::new(1, &[]);
        queues.create(3);
        let queue = queues.find(3).expect("just created");
        for slot in 0..5 {
            queues.add_slot(slot);
        }
        (0..4).for_each(|slot| queues.push(queue, slot, false).expect("fifo"));
        let mut iterators = Iterators::default();
        let (forward, backward) = (iterators.create(&queues, queue, false).0, iterators.create(&queues, queue, true).0);
        assert_eq!(iterators.next(forward, &queues), Some(0));
        queues.remove(1);
        queues.remove(2);
        queues.push(queue, 2, false).expect("fifo");
        queues.push(queue, 4, false).expect("fifo");
        assert_eq!([iterators.next(forward, &queues), iterators.next(forward, &queues)], [Some(3), None]);
        assert_eq!([iterators.next(backward, &queues), iterators.next(backward, &queues)], [Some(3), Some(0)]);
        iterators.destroy(forward);
        assert_eq!(iterators.next(forward, &queues), None);
        assert_eq!(iterators.create(&queues, queue, false).0, forward);
    }

    #[test]
    fn the_same_in_a_queue_by_key() {
        let mut queues = Queues::new(1, &[]);
        queues.create(3);
        let queue = queues.find(3).expect("just created");
        for slot in 0..6 {
            queues.add_slot(slot);
        }
        let put = |queues: &mut Queues, slot: u32, key: i64| {
            queues.push_by_key(queue, slot, key as u64).expect("by key");
        };
        // In order: 3, 0, 1, 2, of which 0 and 1 have the same key.
        [(0, 5), (1, 5), (2, 9), (3, -1)].into_iter().for_each(|(slot, key)| put(&mut queues, slot, key));
        let mut iterators = Iterators::default();
        let (forward, backward) = (iterators.create(&queues, queue, false).0, iterators.create(&queues, queue, true).0);
        assert_eq!(iterators.next(forward, &queues), Some(3));
        // The one just seen, one to come, one that comes back, and a new one.
        queues.remove(3);
        queues.remove(0);
        queues.remove(2);
        put(&mut queues, 2, 7);
        put(&mut queues, 4, 6);
        assert_eq!([iterators.next(forward, &queues), iterators.next(forward, &queues)], [Some(1), None]);
        assert_eq!([iterators.next(backward, &queues), iterators.next(backward, &queues)], [Some(1), None]);
    }
}
