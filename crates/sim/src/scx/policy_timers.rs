//! The timers of the policy among those of the world. One that is set again leaves its old entry there; when most
//! entries are such, they are thrown away.

use crate::world::timers::{Due, Timers};
use schedlab_bpf::TimerAction;
use std::collections::BTreeMap;

/// The fewest entries that are kept, however few timers there are.
const ENTRIES: usize = 1 << 12;

/// A timer of the policy.
struct PolicyTimer {
    address: u64,
    /// Counted when it is set or stopped; an entry with another one means nothing.
    generation: u32,
    cpu: u32,
}

/// All timers that were ever set, by number.
#[derive(Default)]
pub struct PolicyTimers {
    timers: Vec<PolicyTimer>,
    by_address: BTreeMap<u64, u32>,
    /// Entries among the world's timers.
    entries: usize,
}

impl PolicyTimers {
    /// Does what the policy asked of a timer, on a CPU.
    pub fn ask(&mut self, world: &mut Timers, address: u64, action: TimerAction, cpu: u32) {
        let next = self.timers.len() as u32;
        let index = *self.by_address.entry(address).or_insert(next);
        if index == next {
            self.timers.push(PolicyTimer { address, generation: 0, cpu });
        }
        let timer = &mut self.timers[index as usize];
        timer.generation = timer.generation.wrapping_add(1);
        if let TimerAction::Start { at_ns, cpu: on, pinned } = action {
            timer.cpu = if pinned { on } else { cpu };
            let due = Due::Policy(index, timer.generation);
            if self.entries >= ENTRIES + 2 * self.timers.len() {
                self.throw_away(world);
            }
            world.push(at_ns, due);
            self.entries += 1;
        }
    }

    fn throw_away(&mut self, world: &mut Timers) {
        let mut entries = 0;
        world.retain(|due| match due {
            Due::Policy(index, generation) => {
                let is_meant = self.timers[index as usize].generation == generation;
                entries += usize::from(is_meant);
                is_meant
            }
            _ => true,
        });
        self.entries = entries;
    }

    /// Address and CPU of a timer that is due, unless it was set again or stopped since.
    pub fn due(&mut self, index: u32, generation: u32) -> Option<(u64, u32)> {
        self.entries -= 1;
        let timer = &self.timers[index as usize];
        (timer.generation == generation).then_some((timer.address, timer.cpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_is_set_again_and_again_takes_no_room() {
        let (mut timers, mut world) = (PolicyTimers::default(), Timers::default());
        world.push(5, Due::Watchdog);
        let start = |at_ns| TimerAction::Start { at_ns, cpu: 3, pinned: true };
        for round in 0..100_000 {
            timers.ask(&mut world, 64 + round % 2, start(1_000_000 - round), 0);
            assert!(timers.entries <= ENTRIES + 5);
        }
        timers.ask(&mut world, 65, TimerAction::Cancel, 0);
        let mut due = Vec::new();
        while let Some(next) = world.pop() {
            if let Due::Policy(index, generation) = next {
                due.extend(timers.due(index, generation));
            } else {
                assert_eq!(next, Due::Watchdog);
            }
        }
        assert_eq!((due, timers.entries), (vec![(64, 3)], 0));
    }
}
