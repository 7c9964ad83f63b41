//! Bounded channels of messages without content.

use super::{Attempt, Grants, Pages, Slot};
use schedlab_model::workload::{Channel as Declared, ChannelKind};
use std::collections::VecDeque;

/// A bounded channel.
///
/// Messages that tasks send go one by one: the kernel wakes a waiter, which tries again once it runs. A pipe wakes one
/// reader when it was empty and one writer when it was full, and a task that has slept in it wakes the next if
/// something is left (`pipe_read`, `pipe_write`). A socket wakes all readers with each message (`sock_def_readable`).
///
/// Messages from outside of the machine go to the receivers in the order in which these asked.
pub struct Channel {
    /// What it is made of.
    pub kind: ChannelKind,
    grants: Grants,
    is_fed_from_outside: bool,
    capacity: u64,
    messages: u64,
    pages: Pages,
    /// Those that wait for room, and for how many messages. Messages from outside of the machine have no sender.
    senders: VecDeque<(Option<Slot>, u64)>,
    /// Those that wait for messages, and for how many.
    receivers: VecDeque<(Slot, u64)>,
    /// Tasks that were served while they waited.
    granted: Vec<Slot>,
    /// Tasks that were served, in order, and with how many messages, since this was last emptied.
    pub received: Vec<(Slot, u64)>,
}

impl Channel {
    /// An empty one, which has kept these pages.
    pub fn new(declared: &Declared, grants: Grants, pages: Pages) -> Channel {
        Channel {
            kind: declared.kind,
            grants,
            is_fed_from_outside: false,
            capacity: declared.slots(),
            messages: 0,
            pages,
            senders: VecDeque::new(),
            receivers: VecDeque::new(),
            granted: Vec::new(),
            received: Vec::new(),
        }
    }

    /// Messages come from outside: what there is goes to the receivers in their order from now on.
    pub fn set_fed_from_outside(&mut self) {
        (self.grants, self.is_fed_from_outside) = (Grants::HandOver, true);
    }

    /// Whether messages come from outside.
    pub fn is_fed_from_outside(&self) -> bool {
        self.is_fed_from_outside
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Whether there is no room.
    pub fn is_full(&self) -> bool {
        self.messages >= self.capacity
    }

    /// The pages that it has kept.
    pub fn pages(&self) -> Pages {
        self.pages
    }

    /// Whether a waiter is served while it waits.
    pub fn hands_over(&self) -> bool {
        self.grants == Grants::HandOver
    }

    /// How many of `messages` one attempt moves.
    pub fn at_once(&self, messages: u32) -> u32 {
        if self.grants == Grants::Retry { 1 } else { messages }
    }

    /// Puts messages in. A burst that is larger than the channel goes into an empty one. `has_waited`: it is not the
    /// task's first attempt.
    pub fn send(&mut self, task: Slot, messages: u32, has_waited: bool, woken: &mut Vec<Slot>) -> Attempt {
        if self.grants == Grants::Retry {
            return self.put(task, has_waited, woken);
        }
        if has_waited {
            return self.redeem(task);
        }
        self.senders.push_back((Some(task), messages.into()));
        self.settle(woken);
        self.served_at_once(task, woken)
    }

    /// Takes messages out; as [`Channel::send`].
    pub fn recv(&mut self, task: Slot, messages: u32, has_waited: bool, woken: &mut Vec<Slot>) -> Attempt {
        if self.grants == Grants::Retry {
            return self.take(task, has_waited, woken);
        }
        if has_waited {
            return self.redeem(task);
        }
        self.receivers.push_back((task, messages.into()));
        self.settle(woken);
        self.served_at_once(task, woken)
    }

    /// Messages come from outside: they wait there for room.
    pub fn arrive(&mut self, messages: u32, woken: &mut Vec<Slot>) {
        self.senders.push_back((None, messages as u64));
        self.settle(woken);
    }

    /// A message without a sender comes, and has its place.
    pub fn come(&mut self, woken: &mut Vec<Slot>) {
        if self.hands_over() {
            return self.arrive(1, woken);
        }
        self.put_in(1);
        woken.extend(self.receivers.drain(..).map(|(slot, _)| slot));
    }

    /// How many tasks wait.
    pub fn waiters(&self) -> usize {
        self.senders.iter().filter(|(task, _)| task.is_some()).count() + self.receivers.len()
    }

    fn put(&mut self, task: Slot, has_waited: bool, woken: &mut Vec<Slot>) -> Attempt {
        if self.messages == self.capacity {
            self.senders.push_back((Some(task), 1));
            return Attempt::Wait;
        }
        self.put_in(1);
        let readers = match self.kind {
            ChannelKind::Pipe => usize::from(self.messages == 1).min(self.receivers.len()),
            ChannelKind::Socket => self.receivers.len(),
        };
        woken.extend(self.receivers.drain(..readers).map(|(slot, _)| slot));
        if has_waited && self.messages < self.capacity {
            self.wake_sender(woken);
        }
        Attempt::Done
    }

    fn take(&mut self, task: Slot, has_waited: bool, woken: &mut Vec<Slot>) -> Attempt {
        if self.messages == 0 {
            self.receivers.push_back((task, 1));
            return Attempt::Wait;
        }
        let was_full = self.messages == self.capacity;
        self.take_out(1);
        // Room in a socket is counted by a semaphore of the load, which wakes one for each message.
        if was_full || self.kind == ChannelKind::Socket {
            self.wake_sender(woken);
        }
        if has_waited && self.messages > 0 && self.kind == ChannelKind::Pipe {
            woken.extend(self.receivers.pop_front().map(|(slot, _)| slot));
        }
        Attempt::Done
    }

    fn put_in(&mut self, messages: u64) {
        self.messages += messages;
        self.pages.take(messages);
    }

    fn take_out(&mut self, messages: u64) {
        self.messages -= messages;
        self.pages.put(messages);
    }

    fn wake_sender(&mut self, woken: &mut Vec<Slot>) {
        woken.extend(self.senders.pop_front().and_then(|(slot, _)| slot));
    }

    /// Serves senders and receivers in order for as long as one of them can continue.
    fn settle(&mut self, woken: &mut Vec<Slot>) {
        let before = woken.len();
        loop {
            if let Some(&(task, n)) = self.receivers.front().filter(|r| r.1 <= self.messages) {
                self.take_out(n);
                self.receivers.pop_front();
                self.received.push((task, n));
                woken.push(task);
            } else if let Some(&(task, n)) =
                self.senders.front().filter(|s| self.messages == 0 || self.messages + s.1 <= self.capacity)
            {
                self.put_in(n);
                self.senders.pop_front();
                woken.extend(task);
            } else {
                break;
            }
        }
        self.granted.extend(&woken[before..]);
    }

    /// Whether the task itself was served; it needs no waking then.
    fn served_at_once(&mut self, task: Slot, woken: &mut Vec<Slot>) -> Attempt {
        woken.retain(|&other| other != task);
        self.redeem(task)
    }

    fn redeem(&mut self, task: Slot) -> Attempt {
        match self.granted.iter().position(|&granted| granted == task) {
            Some(place) => {
                self.granted.swap_remove(place);
                Attempt::Done
            }
            None => Attempt::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Attempt::*;
    use super::*;
    use schedlab_model::machine::Mechanisms;

    fn channel(kind: ChannelKind, capacity: u32, grants: Grants) -> Channel {
        let declared = Declared { name: "c".into(), capacity, kind, work: None };
        Channel::new(&declared, grants, Pages::of(&Mechanisms::default()))
    }

    #[test]
    fn a_full_channel_that_hands_over_stops_the_sender_until_a_receiver_makes_room() {
        let mut c = channel(ChannelKind::Pipe, 2, Grants::HandOver);
        let mut woken = Vec::new();
        assert_eq!([c.send(1, 2, false, &mut woken), c.send(1, 1, false, &mut woken)], [Done, Wait]);
        assert_eq!(c.recv(2, 1, false, &mut woken), Done);
        assert_eq!((&woken[..], c.messages), (&[1][..], 2));
        woken.clear();
        assert_eq!(c.send(1, 1, true, &mut woken), Done, "it was served while it waited");
        assert_eq!([c.recv(2, 2, false, &mut woken), c.recv(3, 1, false, &mut woken)], [Done, Wait]);
        assert_eq!(c.send(1, 1, false, &mut woken), Done);
        assert_eq!((&woken[..], c.messages), (&[3][..], 0));
    }

    #[test]
    fn a_pipe_wakes_one_at_its_ends_and_who_has_slept_wakes_the_next() {
        let mut c = channel(ChannelKind::Pipe, 2, Grants::Retry);
        let mut woken = Vec::new();
        assert_eq!([c.recv(1, 1, false, &mut woken), c.recv(2, 1, false, &mut woken)], [Wait, Wait]);
        assert_eq!([c.send(9, 1, false, &mut woken), c.send(9, 1, false, &mut woken)], [Done, Done]);
        assert_eq!(woken, [1], "the second message finds it not empty");
        assert_eq!(c.send(9, 1, false, &mut woken), Wait);
        woken.clear();
        assert_eq!(c.recv(1, 1, true, &mut woken), Done);
        assert_eq!(woken, [9, 2], "it was full, and a message is left");
    }

    #[test]
    fn who_runs_first_takes_the_message() {
        let mut c = channel(ChannelKind::Pipe, 1, Grants::Retry);
        let mut woken = Vec::new();
        assert_eq!(c.recv(1, 1, false, &mut woken), Wait);
        assert_eq!([c.send(9, 1, false, &mut woken), c.recv(2, 1, false, &mut woken)], [Done, Done]);
        assert_eq!(c.recv(1, 1, true, &mut woken), Wait);
    }

    #[test]
    fn a_socket_wakes_all_its_readers() {
        let mut c = channel(ChannelKind::Socket, 4, Grants::Retry);
        let mut woken = Vec::new();
        assert_eq!([c.recv(1, 1, false, &mut woken), c.recv(2, 1, false, &mut woken)], [Wait, Wait]);
        assert_eq!(c.send(9, 1, false, &mut woken), Done);
        assert_eq!(woken, [1, 2]);
        assert_eq!([c.recv(1, 1, true, &mut woken), c.recv(2, 1, true, &mut woken)], [Done, Wait]);
    }
}
