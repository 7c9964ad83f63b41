//! Requests that wait in channels and semaphores, and how they get there and away.

use super::tasks::Request;
use super::{Wake, World};
use schedlab_model::workload::{ChannelKind, Objects, Step, Work};
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

    fn queue(&mut self, place: Place) -> Option<&mut Queue> {
        match place {
            Place::Channel(channel) => self.channels[channel.index()].as_mut(),
            Place::Semaphore(semaphore) => self.semaphores[semaphore.index()].as_mut(),
        }
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
                self.emit(cpu, EventKind::RequestQueue { request, task, group: work.group });
            }
            let queue = self.requests.queue(place).expect("it was there");
            queue.messages.push_back(message);
        }
    }

    /// A task has got `count` messages out of a place: those that it was promised, or else the oldest.
    pub(super) fn obtain(&mut self, place: Place, slot: u32, count: u32, cpu: u32) {
        let Some(queue) = self.requests.queue(place) else { return };
        if let Some(kept) = queue.promises.iter().position(|promise| promise.slot == slot) {
            queue.promises.remove(kept);
            return;
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

    /// Promises those who were woken what they have waited for, as far as it is there.
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

    /// How many messages of a place would let the task go on with its step, if all but one are there already.
    fn waits_for(&self, slot: u32, place: Place) -> Option<u32> {
        let task = &self.tasks[slot];
        let steps = &self.workload.groups[task.group.index()].program.steps;
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

    /// Puts what was promised back, and says to whom and how much.
    fn withdraw_promises(&mut self, place: Place, cpu: u32) -> Vec<(u32, u32)> {
        let Some(queue) = self.requests.queue(place) else { return Vec::new() };
        let (group, promises) = (queue.work.group, std::mem::take(&mut queue.promises));
        for Promise { slot, lengths } in promises.iter().rev() {
            let mut requests = self.tasks[*slot].give_back(lengths.iter().sum());
            let task = Some(self.tasks[*slot].id);
            for request in requests.iter().map(|request| request.id) {
                self.emit(cpu, EventKind::RequestQueue { request, task, group });
            }
            for length in lengths.iter().rev() {
                let message = requests.split_off(requests.len() - length);
                self.requests.queue(place).expect("it was there").messages.push_front(message);
            }
        }
        promises.into_iter().map(|promise| (promise.slot, promise.lengths.len() as u32)).collect()
    }

    /// Lets a task take the oldest `count` messages of a place that carries requests. What a semaphore held at the start was
    /// born of nobody: it is born when it is taken.
    fn take_from(&mut self, place: Place, slot: u32, count: u32, cpu: u32) {
        for _ in 0..count {
            let Some(queue) = self.requests.queue(place) else { return };
            let message = queue.messages.pop_front();
            for request in message.unwrap_or_else(|| vec![self.requests.birth(self.now_ns)]) {
                let event = self.tasks[slot].take(request);
                self.emit(cpu, event);
            }
        }
    }

    /// After messages went into a channel or out of it: who was served gets the requests, who waited is woken.
    pub(super) fn after_transfer(&mut self, channel: ObjectId, by: Option<u32>, cpu: u32) {
        let received = std::mem::take(&mut self.objects.channels[channel.index()].received);
        for &(slot, count) in &received {
            self.take_from(Place::Channel(channel), slot, count as u32, cpu);
        }
        let this = &mut self.objects.channels[channel.index()];
        // Its memory stays with the channel.
        this.received = received;
        this.received.clear();
        let source = match this.kind {
            ChannelKind::Pipe => WakeSource::Pipe,
            ChannelKind::Socket => WakeSource::Network,
        };
        if !this.hands_over() {
            self.promise_to_woken(Place::Channel(channel), cpu);
        }
        self.wake_woken(by, source);
    }

    /// Messages of a source come from outside: an interrupt and no task brings them.
    pub(super) fn messages_arrive(&mut self, source: u32) {
        let workload = self.workload.clone();
        let source = &workload.sources[source as usize];
        self.give_to(Place::Channel(source.channel), None, source.messages, OUTSIDE);
        self.objects.channels[source.channel.index()].arrive(source.messages, &mut self.woken);
        self.after_transfer(source.channel, None, OUTSIDE);
    }

    /// Turns the slots in `woken` into wakes.
    pub(super) fn wake_woken(&mut self, waker: Option<u32>, source: WakeSource) {
        self.wakes.extend(self.woken.drain(..).map(|slot| Wake { slot, waker, source }));
    }
}

/// The CPU that stands for the outside in events.
const OUTSIDE: u32 = 0;
