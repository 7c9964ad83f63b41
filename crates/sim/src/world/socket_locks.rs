//! The locks of sockets' sending ends (`lock_sock` in `tcp_sendmsg`).
//!
//! A message to the same machine arrives while its sender is in the call: the soft interrupt that wakes the reader runs before
//! the call has released the lock. A reader that takes the sender's CPU at once leaves the lock with a task that waits for a CPU, and
//! other senders sleep until that one has run (`__lock_sock`, `release_sock`).
//!
//! The locks of receiving ends are left out. They are held while a message is copied, and no task is woken meanwhile.

use super::objects::Attempt;
use super::{Wake, World};
use schedlab_model::ids::ObjectId;
use schedlab_model::machine::Mechanisms;
use schedlab_model::trace::WakeSource;
use schedlab_model::workload::{ChannelKind, Step};
use std::collections::VecDeque;

/// The locks of all channels.
pub struct SocketLocks {
    is_on: bool,
    locks: Vec<SocketLock>,
    /// How many are held.
    held: usize,
}

#[derive(Clone, Default)]
struct SocketLock {
    owner: Option<u32>,
    waiters: VecDeque<u32>,
}

impl SocketLocks {
    /// None is held.
    pub fn new(channels: usize, mechanisms: Mechanisms) -> SocketLocks {
        // What is handed over is there at the instant of the call.
        let is_on = mechanisms.socket_lock && mechanisms.retry;
        SocketLocks { is_on, locks: vec![SocketLock::default(); channels], held: 0 }
    }

    /// Whether none is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Takes a lock for a task, or has it wait.
    fn take(&mut self, channel: ObjectId, slot: u32) -> Attempt {
        let lock = &mut self.locks[channel.index()];
        if lock.owner.is_some_and(|owner| owner != slot) {
            lock.waiters.push_back(slot);
            return Attempt::Wait;
        }
        self.held += usize::from(lock.owner.replace(slot).is_none());
        Attempt::Done
    }

    /// Releases what a task holds, and says which of those that wait tries next.
    fn release(&mut self, slot: u32) -> Option<u32> {
        let lock = self.locks.iter_mut().find(|lock| lock.owner == Some(slot))?;
        lock.owner = None;
        self.held -= 1;
        lock.waiters.pop_front()
    }
}

impl World {
    /// Whether the task has to wait for the lock that its step takes; it tries the same step once more then.
    pub(super) fn is_locked_out(&mut self, slot: u32, step: &Step, cpu: u32) -> bool {
        let Step::Send(channel, _) = step else { return false };
        let this = &self.objects.channels[channel.index()];
        // A sender waits for room before its call.
        let takes_it = self.socket_locks.is_on && this.kind == ChannelKind::Socket && !this.is_full();
        if !takes_it || self.tasks[slot].paid {
            return false;
        }
        // The call has begun, whether it can go on or not.
        self.give_with(slot, step, cpu);
        self.socket_locks.take(*channel, slot) == Attempt::Wait
    }

    /// A task that continues behind its call has released the lock. Whether another one is woken by that.
    #[inline]
    pub(super) fn leaves_socket(&mut self, slot: u32) -> bool {
        if self.socket_locks.is_empty() || self.tasks[slot].paid {
            return false;
        }
        let next = self.socket_locks.release(slot);
        self.wakes.extend(next.map(|next| Wake { slot: next, waker: Some(slot), source: WakeSource::Semaphore }));
        next.is_some()
    }
}

#[cfg(test)]
mod tests {
    use crate::ideal::test_helpers::*;

    /// When the requests of three senders of a message each and of their reader end; a message takes a millisecond to send.
    fn ends(kind: &str, on: bool) -> Vec<u64> {
        let mut workload = described(
            4,
            &format!(
                "[channel.c]\nkind = \"{kind}\"\n\
                 [[task]]\nname = \"sender\"\ncount = 3\nonce = [{{ send = \"c\" }}]\n\
                 [[task]]\nname = \"reader\"\nonce = [{{ recv = \"c\", messages = 3 }}]\n"
            ),
        );
        workload.machine.mechanisms.socket_lock = on;
        let cost = if kind == "socket" { "socket_send" } else { "pipe_send" };
        let costs = ["", "", "", "", "", "", cost];
        ends_ns(&events_with(&workload, decimal_costs(&costs)))
    }

    #[test]
    fn who_sends_by_a_socket_waits_for_others_that_do() {
        const MS: u64 = 1_000_000;
        // The reader's requests, which are the messages, end with the last of them.
        assert_eq!(ends("socket", true), [MS, 2 * MS, 3 * MS, 3 * MS, 3 * MS, 3 * MS]);
        assert_eq!(ends("socket", false), [MS; 6]);
        assert_eq!(ends("pipe", true), [MS; 6]);
    }

    #[test]
    fn the_requests_of_a_message_that_waits_for_the_lock_are_given_once() {
        use schedlab_model::trace::EventKind::RequestQueue;
        let workload = described(
            4,
            "[channel.c]\nkind = \"socket\"\n\
             [[task]]\nname = \"sender\"\ncount = 3\nonce = [{ send = \"c\", messages = 2 }]\n\
             [[task]]\nname = \"reader\"\nonce = [{ recv = \"c\", messages = 6 }]\n",
        );
        let events = events_with(&workload, decimal_costs(&["socket_send"]));
        let queued = events.iter().filter(|event| matches!(event.kind, RequestQueue { .. }));
        assert_eq!(queued.map(|event| event.time.ns()).collect::<Vec<_>>(), [0; 6]);
    }
}
