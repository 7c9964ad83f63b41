//! Finds a policy that never lets time go by.
//!
//! Scenario and policy are told apart by what happens between two choices. A task that does steps of its program makes
//! progress, however many choices that takes: it yields, and gets its CPU back. Whether its program ever lets time go by
//! is for [`World`] to judge. Choices between which no task does anything are the policy's.

use crate::world::World;

/// More choices than this never follow one another without a step, but for what many tasks do that start together.
const CHOICES: u64 = 1 << 19;
const CHOICES_PER_TASK: u64 = 100;

/// Counts what happens at one instant while no task does a step.
#[derive(Debug, Default)]
pub struct Restless {
    at_ns: u64,
    steps: u64,
    choices: u64,
}

impl Restless {
    /// Counts a choice, or a timer of the policy. Whether they would go on for ever.
    #[inline]
    pub fn goes_on(&mut self, world: &World) -> bool {
        self.choices += 1;
        self.choices > CHOICES && self.has_no_end(world)
    }

    /// Looks whether something has happened since it last looked, and begins to count again if so.
    #[cold]
    fn has_no_end(&mut self, world: &World) -> bool {
        let steps = world.done_now().steps;
        if (self.at_ns, self.steps) != (world.now_ns, steps) {
            *self = Restless { at_ns: world.now_ns, steps, choices: 0 };
            return false;
        }
        self.choices > CHOICES_PER_TASK * u64::from(world.tasks.created())
    }
}
