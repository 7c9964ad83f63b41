//! Requests that wait for a worker: in queues of shared memory next to the channels and semaphores that carry them, and in
//! the schedule of those that come from outside.

use crate::futex::{self, Waited};
use crate::shared::{Shared, WAITING_PLACES};
use schedlab_model::workload::Workload;
use std::sync::atomic::Ordering::*;

/// The most messages from outside of one run.
pub const MAX_ARRIVALS: usize = 1 << 22;

/// A request on its way. Times are of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number.
    pub id: u32,
    /// When it was born.
    pub born_ns: u64,
    /// Since when it waits.
    pub queued_ns: u64,
    /// The task that put it there; none for one from outside.
    pub from: Option<u32>,
    /// CPU work asked for so far.
    pub demand_ns: u64,
}

/// A queue of messages, each of which is at least one request.
pub struct Queue<'a> {
    shared: &'a Shared,
    /// Its number among the queues, and that of its object: word 0 is a mutex, word 1 counts requests put, word 2 requests
    /// taken.
    queue: u32,
    object: u32,
}

impl<'a> Queue<'a> {
    /// The queue with this number.
    pub fn new(shared: &'a Shared, queue: u32, object: u32) -> Queue<'a> {
        Queue { shared, queue, object }
    }

    /// Puts a message at the end. What there is no room for is counted as lost.
    pub fn put(&self, message: &[Request]) {
        let [_, put, taken, _] = self.shared.object(self.object);
        if futex::lock(self.shared, self.object) == Waited::Stopped {
            return;
        }
        let (from, used) = (put.load(Relaxed), put.load(Relaxed).wrapping_sub(taken.load(Relaxed)));
        if used as usize + message.len() > WAITING_PLACES as usize {
            self.shared.control().requests_lost.fetch_add(message.len() as u64, Relaxed);
        } else {
            for (index, request) in message.iter().enumerate() {
                let is_last = index + 1 == message.len();
                self.shared.waiting(self.queue, from.wrapping_add(index as u32)).write(request, is_last);
            }
            put.store(from.wrapping_add(message.len() as u32), Relaxed);
        }
        futex::unlock(self.shared, self.object);
    }

    /// Takes the first message; nothing where there is none, since it was there from the start or was lost.
    pub fn take(&self) -> Vec<Request> {
        let mut message = Vec::new();
        if futex::lock(self.shared, self.object) == Waited::Stopped {
            return message;
        }
        let [_, put, taken, _] = self.shared.object(self.object);
        let mut place = taken.load(Relaxed);
        let mut is_last = false;
        while !is_last && place != put.load(Relaxed) {
            let request;
            (request, is_last) = self.shared.waiting(self.queue, place).read();
            message.push(request);
            place = place.wrapping_add(1);
        }
        taken.store(place, Relaxed);
        futex::unlock(self.shared, self.object);
        message
    }

    /// All that wait, once no task runs any more.
    pub fn left(&self) -> Vec<Request> {
        let [_, put, taken, _] = self.shared.object(self.object);
        let (from, used) = (taken.load(Relaxed), put.load(Relaxed).wrapping_sub(taken.load(Relaxed)));
        (0..used).map(|index| self.shared.waiting(self.queue, from.wrapping_add(index)).read().0).collect()
    }
}

/// Messages that come from outside into one channel, in the order of time. Every task knows all of them, so none has to
/// send them: a receiver claims the next one and sleeps until it is due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// When each comes, from the start of the run.
    pub at_ns: Vec<u64>,
    /// The number of the first request; the others follow.
    pub first_id: u32,
}

/// For each channel what comes from outside, drawn as the simulator draws it, and how many requests these are in all.
pub fn from_outside(workload: &Workload, seed: u64) -> (Vec<Option<Outside>>, u32) {
    let end = workload.run.duration;
    let mut ids = 0;
    let channels = (0..workload.objects.channels.len()).map(|channel| {
        let sources: Vec<_> = workload.sources.iter().filter(|s| s.channel.index() == channel).collect();
        if sources.is_empty() {
            return None;
        }
        let of = |source: &&schedlab_model::workload::Source| {
            let times = source.times(seed).take_while(|&at| at < end).take(MAX_ARRIVALS + 1);
            let messages = source.messages as usize;
            times.flat_map(|at| std::iter::repeat_n(at.ns(), messages)).take(MAX_ARRIVALS + 1).collect::<Vec<u64>>()
        };
        let mut at_ns: Vec<u64> = sources.iter().flat_map(of).collect();
        at_ns.sort();
        let first_id = ids;
        ids += at_ns.len() as u32;
        Some(Outside { at_ns, first_id })
    });
    (channels.collect(), ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(id: u32) -> Request {
        Request { id, born_ns: 10 + u64::from(id), queued_ns: 20, from: (id > 2).then_some(id), demand_ns: 30 }
    }

    #[test]
    fn messages_come_out_as_they_went_in_and_wrap_around() {
        let shared = Shared::new(1, 1).unwrap();
        let queue = Queue::new(&shared, 0, 0);
        assert_eq!(queue.take(), []);
        for round in 0..3 * WAITING_PLACES / 5 {
            queue.put(&[request(round), request(round + 1)]);
            queue.put(&[request(round + 2)]);
            assert_eq!(queue.left().len(), 3);
            assert_eq!(queue.take(), [request(round), request(round + 1)]);
            assert_eq!(queue.take(), [request(round + 2)]);
        }
        assert_eq!(shared.control().requests_lost.load(Relaxed), 0);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let shared = Shared::new(1, 1).unwrap();
        let queue = Queue::new(&shared, 0, 0);
        (0..WAITING_PLACES + 7).for_each(|id| queue.put(&[request(id)]));
        assert_eq!((queue.left().len() as u32, shared.control().requests_lost.load(Relaxed)), (WAITING_PLACES, 7));
    }
}
