//! Requests that wait in channels and semaphores, and how they get there and away.

use super::tasks::Request;
use super::{Wake, World};
use schedlab_model::workload::{Objects, Step, Work};
use schedlab_model::{ids::*, trace::*};
use std::collections::VecDeque;

/// Where requests wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a channel, those of senders that wait for room included.
    Channel(ObjectId),
    /// In a semaphore.
    Semaphore(ObjectId),
}

/// All that wait.
pub struct Requests {
    born: u32,
    channels: Vec<Option<Queue>>,
    semaphores: Vec<Option<Queue>>,
}

/// The requests in an object that carries them, message by message.
struct Queue {
    work: Work,
    messages: VecDeque<Vec<Request>>,
    /// What was promised, the oldest first.
    promises: VecDeque<Promise>,
}

/// The messages of a task that was woken for them: they are its from then on, unless another task is faster.
struct Promise {
    slot: u32,
    /// How many requests are in each message.
    lengths: Vec<usize>,
}

impl Queue {
    fn new(work: Work) -> Queue {
        Queue { work, messages: VecDeque::new(), promises: VecDeque::new() }
    }
}

impl Requests {
    /// None yet.
    pub fn new(objects: &Objects) -> Requests {
        let queue = |work: &Option<Work>| work.map(Queue::new);
        Requests {
            born: 0,
            channels: objects.channels.iter().map(|channel| queue(&channel.work)).collect(),
            semaphores: objects.semaphores.iter().map(|semaphore| queue(&semaphore.work)).collect(),
        }
    }

    /// Whether a place carries some.
    pub(super) fn are_in(&self, place: Place) -> bool {
        match place {
            Place::Channel(channel) => self.channels[channel.index()].is_some(),
            Place::Semaphore(semaphore) => self.semaphores[semaphore.index()].is_some(),
        }
    }

    fn queue(&mut self, place: Place) -> Option<&mut Queue> {
        match place {
            Place::Channel(channel) => self.channels[channel.index()].as_mut(),
            Place::Semaphore(semaphore) => self.semaphores[semaphore.index()].as_mut(),
        }
    }

    /// How many there have been.
    pub(super) fn born(&self) -> u64 {
        self.born.into()
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> u64 {
        let queues = self.channels.iter().chain(&self.semaphores).flatten();
        queues.flat_map(|queue| &queue.messages).map(|message| message.len() as u64).sum()
    }

    fn birth(&mut self, now_ns: u64) -> Request {
        let id = RequestId(self.born);
        self.born += 1;
        Request { id, born_ns: now_ns, demand_ns: 0 }
    }
}

impl World {
    /// Puts `count` messages into a place, if it carries requests: those that the sender has taken are dealt out over
    /// them, and a message that gets none is a new one.
    pub(super) fn give_to(&mut self, place: Place, sender: Option<u32>, count: u32, cpu: u32) {
        let Some(work) = self.requests.queue(place).map(|queue| queue.work) else { return };
        if !self.has_room_for_messages(count) {
            return;
        }
        let mut messages = vec![Vec::new(); count as usize];
        let taken = sender.filter(|_| work.hands_on).map(|slot| self.tasks[slot].give()).unwrap_or_default();
        for (index, request) in taken.into_iter().enumerate() {
            messages[index % count as usize].push(request);
        }
        let task = sender.map(|slot| self.tasks[slot].id);
        for mut message in messages {
            if message.is_empty() {
                message.push(self.requests.birth(self.now_ns));
            }
            for request in message.iter().map(|request| request.id) {
                self.emit(cpu, EventKind::RequestQueue { request, task, role: work.role });
            }
            let queue = self.requests.queue(place).expect("it was there");
            queue.messages.push_back(message);
        }
    }

    /// A task has got `count` messages out of a place: those that it was promised, or else the oldest.
    pub(super) fn obtain(&mut self, place: Place, slot: u32, count: u32, cpu: u32) {
        self.note_taken(place, slot, count);
        let Some(queue) = self.requests.queue(place) else { return };
        if let Some(kept) = queue.promises.iter().position(|promise| promise.slot == slot) {
            queue.promises.remove(kept);
            return;
        }
        if !self.workload.machine.mechanisms.retry {
            // No task was faster than those that were handed something.
            return self.take_from(place, slot, count, cpu);
        }
        let others = self.withdraw_promises(place, cpu);
        self.take_from(place, slot, count, cpu);
        for (slot, count) in others {
            self.promise(place, slot, count, cpu);
        }
    }

    /// A task has found nothing: what it was promised another one has.
    pub(super) fn miss(&mut self, place: Place, slot: u32, cpu: u32) {
        let Some(queue) = self.requests.queue(place) else { return };
        if queue.promises.iter().any(|promise| promise.slot == slot) {
            let others = self.withdraw_promises(place, cpu);
            for (other, count) in others.into_iter().filter(|other| other.0 != slot) {
                self.promise(place, other, count, cpu);
            }
        }
    }

    /// Promises the tasks that were woken what they waited for, as far as it is there.
    pub(super) fn promise_to_woken(&mut self, place: Place, cpu: u32) {
        if self.requests.queue(place).is_none() {
            return;
        }
        for index in 0..self.woken.len() {
            let slot = self.woken[index];
            if let Some(count) = self.waits_for(slot, place) {
                self.promise(place, slot, count, cpu);
            }
        }
    }

    /// How many messages of a place would let the task continue with its step, if all but one are there already.
    fn waits_for(&self, slot: u32, place: Place) -> Option<u32> {
        let task = &self.tasks[slot];
        let steps = &self.workload.roles[task.role.index()].program.steps;
        match (steps.get(task.step as usize)?, place) {
            (Step::Wait(semaphore), Place::Semaphore(place)) if *semaphore == place => Some(1),
            (Step::Recv(channel, count), Place::Channel(place)) if *channel == place => {
                (task.moved + 1 >= *count).then_some(*count)
            }
            _ => None,
        }
    }

    fn promise(&mut self, place: Place, slot: u32, count: u32, cpu: u32) {
        let Some(queue) = self.requests.queue(place) else { return };
        if queue.messages.len() < count as usize {
            return;
        }
        let lengths = queue.messages.iter().take(count as usize).map(Vec::len).collect();
        queue.promises.push_back(Promise { slot, lengths });
        self.take_from(place, slot, count, cpu);
    }

    /// Puts what was promised back, and gives which tasks it was promised to and how much.
    fn withdraw_promises(&mut self, place: Place, cpu: u32) -> Vec<(u32, u32)> {
        let Some(queue) = self.requests.queue(place) else { return Vec::new() };
        let (role, promises) = (queue.work.role, std::mem::take(&mut queue.promises));
        for Promise { slot, lengths } in promises.iter().rev() {
            let mut requests = self.tasks[*slot].give_back(lengths.iter().sum());
            let task = Some(self.tasks[*slot].id);
            for request in requests.iter().map(|request| request.id) {
                self.emit(cpu, EventKind::RequestQueue { request, task, role });
            }
            for length in lengths.iter().rev() {
                let message = requests.split_off(requests.len() - length);
                self.requests.queue(place).expect("it was there").messages.push_front(message);
            }
        }
        promises.into_iter().map(|promise| (promise.slot, promise.lengths.len() as u32)).collect()
    }

    /// Lets a task take the oldest `count` messages of a place that carries requests. What a semaphore held at the
    /// start has no sender: it is born when it is taken.
    pub(super) fn take_from(&mut self, place: Place, slot: u32, count: u32, cpu: u32) {
        for _ in 0..count {
            let Some(queue) = self.requests.queue(place) else { return };
            let message = queue.messages.pop_front();
            for request in message.unwrap_or_else(|| vec![self.requests.birth(self.now_ns)]) {
                let event = self.tasks[slot].take(request);
                self.emit(cpu, event);
            }
        }
    }

    /// Turns the slots in `woken` into wakes.
    pub(super) fn wake_woken(&mut self, waker: Option<u32>, source: WakeSource) {
        self.wakes.extend(self.woken.drain(..).map(|slot| Wake { slot, waker, source }));
    }
}

#[cfg(test)]
mod tests {
    use crate::ideal::test_helpers::*;
    use schedlab_model::ids::TaskId;
    use schedlab_model::trace::{Event, EventKind};

    /// What became of the requests: the microsecond, the request, and the task that has it then; none where it waits.
    fn ways(events: &[Event]) -> Vec<(u64, u32, Option<u32>)> {
        let way = |event: &Event| {
            let (request, task) = match event.kind {
                EventKind::RequestQueue { request, .. } => (request, None),
                EventKind::RequestBegin { request: Some(request), task, .. } => (request, Some(task)),
                _ => return None,
            };
            Some((event.time.ns() / 1000, request.0, task.map(|TaskId(task)| task)))
        };
        events.iter().filter_map(way).collect()
    }

    /// The requests in the order of their answers: in which microsecond, and by which task.
    fn answers(events: &[Event]) -> Vec<(u64, u32, u32)> {
        let answer = |event: &Event| match event.kind {
            EventKind::RequestEnd { task, request: Some(request), .. } => {
                Some((event.time.ns() / 1000, request.0, task.0))
            }
            _ => None,
        };
        events.iter().filter_map(answer).collect()
    }

    /// Workers that wait, one that comes while the woken tasks are on their way, and a task with work for them.
    fn late_worker(waiting: u32, take: &str, give: &str) -> String {
        format!(
            "[[task]]\nname = \"waiting\"\ncount = {waiting}\nloop = [{{ {take} }}, {{ compute = \"1ms\" }}]\n\
             [[task]]\nname = \"late\"\nloop = [{{ compute = \"10500us\" }}, {{ {take} }}, {{ compute = \"1ms\" }}]\n\
             [[task]]\nname = \"giver\"\nonce = [{{ compute = \"10ms\" }}, {{ {give} }}]\n"
        )
    }

    /// A millisecond from a wakeup to the next step.
    const RESUME: &[&str] = &["", "", "", "", "", "", "resume"];

    #[test]
    fn a_request_that_was_promised_goes_to_who_is_faster() {
        for channel in ["", "[channel.q]\nkind = \"socket\"\n"] {
            let tables = late_worker(1, "recv = \"q\"", "send = \"q\"") + channel;
            let events = events_with(&described(3, &tables), decimal_costs(RESUME));
            let way = [(10_000, 0, None), (10_000, 0, Some(0)), (10_500, 0, None), (10_500, 0, Some(1))];
            assert_eq!((ways(&events), answers(&events)), (way.to_vec(), vec![(11_500, 0, 1)]), "{channel}");
        }
    }

    #[test]
    fn what_is_left_is_promised_to_the_others_in_their_order() {
        let workload = described(4, &late_worker(2, "wait = \"jobs\"", "post = \"jobs\", times = 2"));
        let events = events_with(&workload, decimal_costs(RESUME));
        // The first of the two woken tasks has the second request, and the second has none.
        assert_eq!(answers(&events), [(11_500, 0, 2), (12_000, 1, 0)]);
        let second: Vec<_> = ways(&events).into_iter().filter(|way| way.1 == 1).collect();
        let at = |us, task| (us, 1, task);
        assert_eq!(second, [at(10_000, None), at(10_000, Some(1)), at(10_500, None), at(10_500, Some(0))]);
    }

    #[test]
    fn what_is_handed_over_stays_with_its_worker() {
        let mut workload = described(4, &late_worker(1, "wait = \"jobs\"", "post = \"jobs\", times = 2"));
        workload.machine.mechanisms.retry = false;
        let events = events_with(&workload, decimal_costs(RESUME));
        assert_eq!(answers(&events), [(11_500, 1, 1), (12_000, 0, 0)]);
        assert_eq!(ways(&events).len(), 4, "each was queued once and taken once");
    }
}
