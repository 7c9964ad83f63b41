//! Calls that wake several tasks: one after the other, each when the wakeup before it is done (`wake_up_q`).
//!
//! A task that is woken later gets to its queue later, and so behind the earlier ones. A kernel that preempts tasks within their
//! calls can do so between two wakeups; the waker then wakes the rest when it has a CPU again.

use super::{Wake, World};
use schedlab_model::machine::{Costs, Mechanisms};
use schedlab_model::time::Time;
use schedlab_model::trace::WakeSource;
use std::collections::VecDeque;

/// The tasks that are in such calls.
pub struct Waking {
    /// Whether wakeups take time, and come one after the other.
    one_by_one: bool,
    open: Vec<Open>,
}

/// A call whose first wakeup is done or on its way.
struct Open {
    waker: u32,
    source: WakeSource,
    /// The tasks that are left to wake, at least one.
    left: VecDeque<u32>,
}

impl Waking {
    /// None yet.
    pub fn new(costs: &Costs, mechanisms: Mechanisms) -> Waking {
        Waking { one_by_one: mechanisms.wake_one_by_one && costs.wakeup > Time::ZERO, open: Vec::new() }
    }

    /// Whether no task is in one.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Keeps all but the first of the tasks to wake for later.
    pub fn keep_rest(&mut self, waker: u32, source: WakeSource, woken: &mut Vec<u32>) {
        if self.one_by_one && woken.len() > 1 {
            self.open.push(Open { waker, source, left: woken.drain(1..).collect() });
        }
    }

    /// The next wakeup by a task, if its call has one left.
    fn next(&mut self, waker: u32) -> Option<Wake> {
        let index = self.open.iter().position(|call| call.waker == waker)?;
        let call = &mut self.open[index];
        let (slot, source) = (call.left.pop_front().expect("there is one"), call.source);
        if call.left.is_empty() {
            self.open.remove(index);
        }
        Some(Wake { slot, waker: Some(waker), source })
    }
}

impl World {
    /// Whether the task is in a call that has another one to wake, which is on its way then.
    #[inline]
    pub(super) fn wakes_next(&mut self, slot: u32) -> bool {
        if self.waking.is_empty() {
            return false;
        }
        let wake = self.waking.next(slot);
        self.wakes.extend(wake);
        wake.is_some()
    }

    /// Whether the task is in a call that has others left to wake.
    #[inline]
    pub fn is_in_call(&self, slot: u32) -> bool {
        self.waking.open.iter().any(|call| call.waker == slot)
    }
}
