//! `bpf_timer`: what the program asks, and the callbacks. When a timer expires is for the host to say.

use std::collections::BTreeMap;

use crate::maps::ElementKey;
use crate::memory::{GuestMemory, MemoryError};
use crate::program::MapId;

/// What the host keeps about a timer.
const BYTES_KEPT: u64 = 192;

/// What a program asked of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerRequest {
    /// Guest address of the `bpf_timer`: its name.
    pub timer: u64,
    /// What.
    pub action: TimerAction,
}

/// What a timer is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerAction {
    /// Expire at a time; a start before expiry replaces the earlier one.
    Start {
        /// Simulated time in nanoseconds, never before that of the request.
        at_ns: u64,
        /// Expire on this CPU; else where it was started.
        cpu: u32,
        /// Whether the program asked for that CPU.
        pinned: bool,
    },
    /// Do not expire.
    Cancel,
}

/// A timer that was initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// The map whose value it is in.
    pub map: MapId,
    /// Guest address of that value.
    pub value: u64,
    /// Its key.
    pub key: ElementKey,
    /// Handle of the callback; 0 when none was set.
    pub callback: u64,
    /// Whether it will expire.
    pub active: bool,
    /// Whether its callback is running.
    pub firing: bool,
    /// The number of its last request that was not taken yet; 0 when there is none.
    request: u64,
}

/// All timers by guest address, and what was asked of them since the host last took it: of each timer the last thing.
#[derive(Clone, Debug, Default)]
pub struct Timers {
    pub known: BTreeMap<u64, Timer>,
    requests: BTreeMap<u64, TimerRequest>,
    /// The number of the last request.
    last: u64,
}

impl Timers {
    /// Begins to know a timer; false when it is known.
    pub fn add(&mut self, memory: &GuestMemory, address: u64, element: Element) -> Result<bool, MemoryError> {
        if self.known.contains_key(&address) {
            return Ok(false);
        }
        memory.charge("timers", BYTES_KEPT)?;
        let Element { map, value, key } = element;
        let timer = Timer { map, value, key, callback: 0, active: false, firing: false, request: 0 };
        self.known.insert(address, timer);
        Ok(true)
    }

    /// Asks for an expiry, now if it would be earlier.
    pub fn start(&mut self, address: u64, at_ns: u64, now_ns: u64, cpu: u32, pinned: bool) {
        if let Some(timer) = self.known.get_mut(&address) {
            timer.active = true;
            self.ask(address, TimerAction::Start { at_ns: at_ns.max(now_ns), cpu, pinned });
        }
    }

    /// Takes an expiry back; gives whether there was one.
    pub fn cancel(&mut self, address: u64) -> bool {
        let Some(timer) = self.known.get_mut(&address) else { return false };
        let was_active = std::mem::take(&mut timer.active);
        if was_active {
            self.ask(address, TimerAction::Cancel);
        }
        was_active
    }

    fn ask(&mut self, address: u64, action: TimerAction) {
        let Some(timer) = self.known.get_mut(&address) else { return };
        self.requests.remove(&timer.request);
        self.last += 1;
        timer.request = self.last;
        self.requests.insert(self.last, TimerRequest { timer: address, action });
    }

    /// How many requests wait to be taken.
    #[inline]
    pub fn has_requests(&self) -> usize {
        self.requests.len()
    }

    /// What was asked, in the order in which it was.
    pub fn take_requests(&mut self) -> Vec<TimerRequest> {
        std::mem::take(&mut self.requests).into_values().collect()
    }

    /// Forgets the timers of a value that goes away; gives how many.
    pub fn forget(&mut self, memory: &GuestMemory, value: u64, size: u64) -> u64 {
        let gone: Vec<u64> = self.known.range(value..value.saturating_add(size)).map(|(&address, _)| address).collect();
        for address in &gone {
            self.cancel(*address);
            self.known.remove(address);
            memory.refund(BYTES_KEPT);
        }
        gone.len() as u64
    }
}

/// The element of a map that a timer is in.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    pub map: MapId,
    pub value: u64,
    pub key: ElementKey,
}
