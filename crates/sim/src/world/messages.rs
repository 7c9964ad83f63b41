//! Messages: how they get into channels and out of them, and with them the requests that they carry.

use super::World;
use super::objects::Attempt;
use super::requests::Place;
use super::steps::Next;
use schedlab_model::workload::ChannelKind;
use schedlab_model::{ids::*, trace::*};

/// The CPU that stands for the outside in events.
const OUTSIDE: u32 = 0;

impl World {
    /// Puts messages in, one by one or all at once, as the channel moves them. The requests in them are there before.
    pub(super) fn send(&mut self, slot: u32, channel: ObjectId, messages: u32, cpu: u32) -> Next {
        let task = &self.tasks[slot];
        let (moved, has_waited) = (task.moved, task.waits);
        let this = &mut self.objects.channels[channel.index()];
        let at_once = this.at_once(messages);
        let attempt = this.send(slot, at_once, has_waited, &mut self.woken);
        self.after_transfer(channel, Some(slot), cpu);
        self.after_move(slot, attempt, moved + at_once, messages)
    }

    /// Takes messages out, as [`World::send`]; its requests are the task's when the last one is.
    pub(super) fn receive(&mut self, slot: u32, channel: ObjectId, messages: u32, cpu: u32) -> Next {
        let task = &self.tasks[slot];
        let (moved, has_waited) = (task.moved, task.waits);
        let this = &mut self.objects.channels[channel.index()];
        let (at_once, hands_over) = (this.at_once(messages), this.hands_over());
        let attempt = this.recv(slot, at_once, has_waited, &mut self.woken);
        match attempt {
            _ if hands_over => {}
            Attempt::Wait => self.miss(Place::Channel(channel), slot, cpu),
            Attempt::Done if moved + at_once < messages => {}
            Attempt::Done => self.obtain(Place::Channel(channel), slot, messages, cpu),
        }
        self.after_transfer(channel, Some(slot), cpu);
        self.after_move(slot, attempt, moved + at_once, messages)
    }

    /// The task continues when all its messages have moved.
    fn after_move(&mut self, slot: u32, attempt: Attempt, moved: u32, of: u32) -> Next {
        let next = self.after_attempt(slot, attempt);
        let task = &mut self.tasks[slot];
        if next == Next::Block {
            return next;
        }
        let is_done = moved >= of;
        (task.moved, task.waits) = (if is_done { 0 } else { moved }, false);
        if is_done {
            task.has_given = false;
        } else {
            task.step -= 1;
        }
        next
    }

    /// After messages went into a channel or out of it: tasks that were served get the requests, tasks that waited are woken.
    pub(super) fn after_transfer(&mut self, channel: ObjectId, by: Option<u32>, cpu: u32) {
        let received = std::mem::take(&mut self.objects.channels[channel.index()].received);
        for &(slot, count) in &received {
            self.take_from(Place::Channel(channel), slot, count as u32, cpu);
            self.note_taken(Place::Channel(channel), slot, count as u32);
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
        self.tell_arrival(source, OUTSIDE);
        self.give_to(Place::Channel(source.channel), None, source.messages, OUTSIDE);
        self.objects.channels[source.channel.index()].arrive(source.messages, &mut self.woken);
        self.after_transfer(source.channel, None, OUTSIDE);
    }
}

#[cfg(test)]
mod tests {
    use crate::ideal::Discipline;
    use crate::ideal::test_helpers::*;

    /// Five messages through a pipe with two places, to a receiver that comes after a millisecond.
    fn ends(retry: bool) -> Vec<u64> {
        let mut workload = described(
            2,
            "[channel.c]\ncapacity = 2\n\
             [[task]]\nname = \"sender\"\nonce = [{ send = \"c\", messages = 5 }]\n\
             [[task]]\nname = \"receiver\"\nonce = [{ compute = \"1ms\" }, { recv = \"c\", messages = 5 }]\n",
        );
        workload.machine.mechanisms.retry = retry;
        events(&workload, Discipline::Fcfs)
            .iter()
            .filter(|event| matches!(event.kind, schedlab_model::trace::EventKind::Exit { .. }))
            .map(|event| event.time.ns())
            .collect()
    }

    #[test]
    fn messages_go_one_by_one_and_the_sender_waits_for_room() {
        assert_eq!(ends(true), [1_000_000, 1_000_000]);
        assert_eq!(ends(false), [0, 1_000_000], "a burst goes into an empty channel at once");
    }
}
