//! Requests that wait in channels and semaphores, and how they get there and away.

use super::tasks::Request;
use super::{Wake, World};
use schedlab_model::workload::{ChannelKind, Objects, Work};
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
}

impl Requests {
    /// None yet.
    pub fn new(objects: &Objects) -> Requests {
        let queue = |work: &Option<Work>| work.map(|work| Queue { work, messages: VecDeque::new() });
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

    /// Lets a task take `count` messages out of a place, if it carries requests. What a semaphore held at the start was
    /// born of nobody: it is born when it is taken.
    pub(super) fn take_from(&mut self, place: Place, slot: u32, count: u64, cpu: u32) {
        for _ in 0..count {
            let Some(queue) = self.requests.queue(place) else { return };
            let message = queue.messages.pop_front();
            for request in message.unwrap_or_else(|| vec![self.requests.birth(self.now_ns)]) {
                let event = self.tasks[slot].take(request);
                self.emit(cpu, event);
            }
        }
    }

    /// After messages went into a channel or out of it: who received gets the requests, who waited is woken.
    pub(super) fn after_transfer(&mut self, channel: ObjectId, by: Option<u32>, cpu: u32) {
        let received = std::mem::take(&mut self.objects.channels[channel.index()].received);
        for &(slot, count) in &received {
            self.take_from(Place::Channel(channel), slot, count, cpu);
        }
        let this = &mut self.objects.channels[channel.index()];
        // Its memory stays with the channel.
        this.received = received;
        this.received.clear();
        let source = match this.kind {
            ChannelKind::Pipe => WakeSource::Pipe,
            ChannelKind::Socket => WakeSource::Network,
        };
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
