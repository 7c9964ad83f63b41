//! `bpf_timer`: what the program asks, and the callbacks. When a timer expires is for the host to say.

use std::collections::BTreeMap;

use crate::maps::ElementKey;
use crate::program::MapId;

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
        /// Simulated time in nanoseconds.
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
}

/// All timers by guest address, and what was asked of them since the host last took it.
#[derive(Clone, Debug, Default)]
pub struct Timers {
    pub known: BTreeMap<u64, Timer>,
    pub requests: Vec<TimerRequest>,
}

impl Timers {
    /// Asks for an expiry.
    pub fn start(&mut self, address: u64, at_ns: u64, cpu: u32, pinned: bool) {
        if let Some(timer) = self.known.get_mut(&address) {
            timer.active = true;
            self.requests.push(TimerRequest { timer: address, action: TimerAction::Start { at_ns, cpu, pinned } });
        }
    }

    /// Takes an expiry back; gives whether there was one.
    pub fn cancel(&mut self, address: u64) -> bool {
        let Some(timer) = self.known.get_mut(&address) else { return false };
        let was_active = std::mem::take(&mut timer.active);
        if was_active {
            self.requests.push(TimerRequest { timer: address, action: TimerAction::Cancel });
        }
        was_active
    }

    /// Forgets the timers of a value that goes away.
    pub fn forget(&mut self, value: u64, size: u64) {
        let gone: Vec<u64> = self.known.range(value..value.saturating_add(size)).map(|(&address, _)| address).collect();
        for address in gone {
            self.cancel(address);
            self.known.remove(&address);
        }
    }
}
