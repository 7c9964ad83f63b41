//! Semaphores, mutexes, channels, barriers and devices. Waiters are served in the order in which they came, and what
//! they waited for is handed to them, so that nobody can slip in between.

use schedlab_model::workload::{ChannelKind, Objects as Declared};
use std::collections::VecDeque;

/// A task by its slot.
type Slot = u32;

/// The state of all shared objects.
pub struct Objects {
    /// Semaphores.
    pub semaphores: Vec<Semaphore>,
    /// Mutexes.
    pub locks: Vec<Lock>,
    /// Channels.
    pub channels: Vec<Channel>,
    /// Barriers.
    pub barriers: Vec<Barrier>,
    /// For each device the instant until which it is busy.
    pub devices: Vec<u64>,
}

impl Objects {
    /// As the workload declares them, nobody waiting.
    pub fn new(declared: &Declared) -> Objects {
        Objects {
            semaphores: declared
                .semaphores
                .iter()
                .map(|s| Semaphore { value: s.initial as u64, waiters: VecDeque::new() })
                .collect(),
            locks: declared.locks.iter().map(|_| Lock::default()).collect(),
            channels: declared.channels.iter().map(|c| Channel::new(c.kind, c.capacity as u64)).collect(),
            barriers: declared.barriers.iter().map(|b| Barrier { parties: b.1, waiters: Vec::new() }).collect(),
            devices: vec![0; declared.devices.len()],
        }
    }

    /// How many tasks wait for others to give something. Whoever is at a device is served in any case.
    pub fn waiters(&self) -> usize {
        let semaphores = self.semaphores.iter().map(|semaphore| semaphore.waiters.len());
        let locks = self.locks.iter().map(|lock| lock.waiters.len());
        let senders = |channel: &Channel| channel.senders.iter().filter(|(task, _)| task.is_some()).count();
        let channels = self.channels.iter().map(|channel| senders(channel) + channel.receivers.len());
        let barriers = self.barriers.iter().map(|barrier| barrier.waiters.len());
        semaphores.chain(locks).chain(channels).chain(barriers).sum()
    }
}

/// A counting semaphore.
pub struct Semaphore {
    value: u64,
    waiters: VecDeque<Slot>,
}

impl Semaphore {
    /// Takes one; false: the task waits.
    pub fn wait(&mut self, task: Slot) -> bool {
        if self.value > 0 {
            self.value -= 1;
            return true;
        }
        self.waiters.push_back(task);
        false
    }

    /// Gives `count`; the tasks to wake are added to `woken`.
    pub fn post(&mut self, count: u32, woken: &mut Vec<Slot>) {
        let served = self.waiters.len().min(count as usize);
        woken.extend(self.waiters.drain(..served));
        self.value += count as u64 - served as u64;
    }
}

/// A mutex that is handed from owner to owner.
#[derive(Default)]
pub struct Lock {
    held: bool,
    waiters: VecDeque<Slot>,
}

impl Lock {
    /// Takes it; false: the task waits.
    pub fn lock(&mut self, task: Slot) -> bool {
        if self.held {
            self.waiters.push_back(task);
            return false;
        }
        self.held = true;
        true
    }

    /// Releases it, to the first waiter if there is one.
    pub fn unlock(&mut self, woken: &mut Vec<Slot>) {
        match self.waiters.pop_front() {
            Some(next) => woken.push(next),
            None => self.held = false,
        }
    }
}

/// A bounded channel of messages without content.
pub struct Channel {
    /// What it is made of.
    pub kind: ChannelKind,
    capacity: u64,
    messages: u64,
    /// Messages from outside of the machine have no sender.
    senders: VecDeque<(Option<Slot>, u64)>,
    receivers: VecDeque<(Slot, u64)>,
    /// Who has received, in order, and how many messages, since this was last emptied.
    pub received: Vec<(Slot, u64)>,
}

impl Channel {
    fn new(kind: ChannelKind, capacity: u64) -> Channel {
        let (senders, receivers) = (VecDeque::new(), VecDeque::new());
        Channel { kind, capacity, messages: 0, senders, receivers, received: Vec::new() }
    }

    /// Puts messages in; false: the task waits for room. A burst that is larger than the channel goes into an empty one.
    pub fn send(&mut self, task: Slot, messages: u32, woken: &mut Vec<Slot>) -> bool {
        self.senders.push_back((Some(task), messages as u64));
        self.settle(woken);
        self.done(task, woken)
    }

    /// Messages come from outside: they wait there for room.
    pub fn arrive(&mut self, messages: u32, woken: &mut Vec<Slot>) {
        self.senders.push_back((None, messages as u64));
        self.settle(woken);
    }

    /// Takes messages out; false: the task waits for them.
    pub fn recv(&mut self, task: Slot, messages: u32, woken: &mut Vec<Slot>) -> bool {
        self.receivers.push_back((task, messages as u64));
        self.settle(woken);
        self.done(task, woken)
    }

    /// Serves senders and receivers in order for as long as one of them can go on.
    fn settle(&mut self, woken: &mut Vec<Slot>) {
        loop {
            if let Some(&(task, n)) = self.receivers.front().filter(|r| r.1 <= self.messages) {
                self.messages -= n;
                self.receivers.pop_front();
                self.received.push((task, n));
                woken.push(task);
            } else if let Some(&(task, n)) =
                self.senders.front().filter(|s| self.messages == 0 || self.messages + s.1 <= self.capacity)
            {
                self.messages += n;
                self.senders.pop_front();
                woken.extend(task);
            } else {
                return;
            }
        }
    }

    /// Whether the task itself was served; it needs no waking then.
    fn done(&self, task: Slot, woken: &mut Vec<Slot>) -> bool {
        let before = woken.len();
        woken.retain(|&t| t != task);
        woken.len() < before
    }
}

/// A barrier that opens when all parties are there, again and again.
pub struct Barrier {
    parties: u32,
    waiters: Vec<Slot>,
}

impl Barrier {
    /// Arrives; true: it was the last one and the others are to be woken.
    pub fn arrive(&mut self, task: Slot, woken: &mut Vec<Slot>) -> bool {
        if self.waiters.len() as u32 + 1 < self.parties {
            self.waiters.push(task);
            return false;
        }
        woken.append(&mut self.waiters);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semaphore_serves_in_order_and_keeps_what_is_left() {
        let mut s = Semaphore { value: 1, waiters: VecDeque::new() };
        let mut woken = Vec::new();
        assert!(s.wait(1) && !s.wait(2) && !s.wait(3));
        s.post(3, &mut woken);
        assert_eq!((woken, s.value), (vec![2, 3], 1));
    }

    #[test]
    fn a_lock_goes_to_the_first_waiter() {
        let mut l = Lock::default();
        let mut woken = Vec::new();
        assert!(l.lock(1) && !l.lock(2) && !l.lock(3));
        l.unlock(&mut woken);
        assert_eq!(woken, [2]);
        assert!(!l.lock(4), "handed over, never free in between");
    }

    #[test]
    fn a_full_channel_stops_the_sender_until_a_receiver_makes_room() {
        let mut c = Channel::new(ChannelKind::Pipe, 2);
        let mut woken = Vec::new();
        assert!(c.send(1, 2, &mut woken) && !c.send(1, 1, &mut woken));
        assert!(c.recv(2, 1, &mut woken));
        assert_eq!((woken.clone(), c.messages), (vec![1], 2));
        woken.clear();
        assert!(c.recv(2, 2, &mut woken) && !c.recv(3, 1, &mut woken));
        assert!(c.send(1, 1, &mut woken));
        assert_eq!((woken, c.messages), (vec![3], 0));
    }

    #[test]
    fn a_barrier_opens_for_all_parties_and_closes_again() {
        let mut b = Barrier { parties: 3, waiters: vec![] };
        for _ in 0..2 {
            let mut woken = Vec::new();
            assert!(!b.arrive(1, &mut woken) && !b.arrive(2, &mut woken) && b.arrive(3, &mut woken));
            assert_eq!(woken, [1, 2]);
        }
    }
}
