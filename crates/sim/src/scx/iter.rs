//! Iterators over dispatch queues (`bpf_iter_scx_dsq`).
//!
//! An iterator sees the tasks that were in the queue when it was made and still are: one that is put in later is not
//! seen, one that is taken out is passed over, as in the kernel.

use super::dsq::{QueueIndex, Queues};

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
    /// The queue.
    pub queue: QueueIndex,
    /// Tasks to come, the next one last, each with the sequence of its insertion.
    rest: Vec<(u32, u64)>,
    /// For the next move.
    pub changes: Changes,
}

/// All iterators in use, by the handle that lies in the policy's `struct bpf_iter_scx_dsq`.
#[derive(Debug, Default)]
pub struct Iterators {
    slots: Vec<Option<DsqIterator>>,
    spare: Vec<Vec<(u32, u64)>>,
}

impl Iterators {
    /// Makes an iterator; its handle is never zero.
    pub fn create(&mut self, queues: &Queues, queue: QueueIndex, reverse: bool) -> u64 {
        let mut rest = self.spare.pop().unwrap_or_default();
        rest.clear();
        rest.extend(queues.iter(queue).map(|slot| (slot, queues.link(slot).sequence)));
        if !reverse {
            rest.reverse();
        }
        let iterator = DsqIterator { queue, rest, changes: Changes::default() };
        let index = match self.slots.iter().position(|s| s.is_none()) {
            Some(index) => index,
            None => {
                self.slots.push(None);
                self.slots.len() - 1
            }
        };
        self.slots[index] = Some(iterator);
        index as u64 + 1
    }

    /// The iterator of a handle.
    pub fn get(&mut self, handle: u64) -> Option<&mut DsqIterator> {
        self.slots.get_mut(handle.checked_sub(1)? as usize)?.as_mut()
    }

    /// The next task that is still where it was.
    pub fn next(&mut self, handle: u64, queues: &Queues) -> Option<u32> {
        let iterator = self.get(handle)?;
        while let Some((slot, sequence)) = iterator.rest.pop() {
            let link = queues.link(slot);
            if link.queue == iterator.queue && link.sequence == sequence {
                return Some(slot);
            }
        }
        None
    }

    /// Ends an iterator.
    pub fn destroy(&mut self, handle: u64) {
        let slot = handle.checked_sub(1).and_then(|i| self.slots.get_mut(i as usize));
        if let Some(iterator) = slot.and_then(|s| s.take()) {
            self.spare.push(iterator.rest);
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
        let (forward, backward) = (iterators.create(&queues, queue, false), iterators.create(&queues, queue, true));
        assert_eq!(iterators.next(forward, &queues), Some(0));
        queues.remove(1);
        queues.remove(2);
        queues.push(queue, 2, false).expect("fifo");
        queues.push(queue, 4, false).expect("fifo");
        assert_eq!([iterators.next(forward, &queues), iterators.next(forward, &queues)], [Some(3), None]);
        assert_eq!([iterators.next(backward, &queues), iterators.next(backward, &queues)], [Some(3), Some(0)]);
        iterators.destroy(forward);
        assert_eq!(iterators.next(forward, &queues), None);
        assert_eq!(iterators.create(&queues, queue, false), forward);
    }
}
