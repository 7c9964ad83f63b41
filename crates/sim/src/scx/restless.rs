//! Finds a policy that never lets time go by.
//!
//! Scenario and policy are distinguished by what happens between two choices. A task that does steps of its program makes
//! progress, however many choices that takes: it yields, and gets its CPU back. Whether its program ever lets time go by
//! is for [`World`] to judge. Choices between which no task does anything are the policy's.

use crate::world::World;

/// More choices than this never follow one another without a step, except for what many tasks do that start together.
const CHOICES: u64 = 1 << 19;
const CHOICES_PER_TASK: u64 = 100;

/// More choices than this at one instant, of the policy or of the tasks, take minutes of the simulating machine.
const CHOICES_AT_ONCE: u64 = 100_000_000;

/// What is to follow when many choices were made at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrest {
    /// A pause, in which events are handed on and a stop may be asked for.
    Pause,
    /// The end: the policy lets no time go by, for no task does a step.
    Policy,
    /// The end: the scenario does, for its tasks do steps all the time.
    Scenario,
}

/// Counts what happens at one instant while no task does a step.
#[derive(Debug, Default)]
pub struct Restless {
    at_ns: u64,
    steps: u64,
    choices: u64,
    /// About how many choices there were at this instant, tasks' steps in between.
    at_once: u64,
}

impl Restless {
    /// Counts a choice, or a timer of the policy. Says what follows from their number, if something does.
    #[inline]
    pub fn goes_on(&mut self, world: &World) -> Option<Unrest> {
        self.choices += 1;
        if self.choices > CHOICES { self.has_no_end(world) } else { None }
    }

    /// Looks whether something has happened since it last looked, and begins to count again if so.
    #[cold]
    fn has_no_end(&mut self, world: &World) -> Option<Unrest> {
        let steps = world.done_now().steps;
        if (self.at_ns, self.steps) != (world.now_ns, steps) {
            let before = if self.at_ns == world.now_ns { self.at_once } else { 0 };
            let at_once = before + self.choices;
            *self = Restless { at_ns: world.now_ns, steps, choices: 0, at_once };
            return Some(if at_once > CHOICES_AT_ONCE { Unrest::Scenario } else { Unrest::Pause });
        }
        match self.choices > CHOICES_PER_TASK * u64::from(world.tasks.created()) {
            true => Some(Unrest::Policy),
            false => self.choices.is_multiple_of(CHOICES).then_some(Unrest::Pause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::scenario::Scenario;
    use std::rc::Rc;

    #[test]
    fn choices_at_one_instant_are_the_policys_or_the_scenarios() {
        let text = "name = \"t\"\n[machine]\ncpus = 1\n[[task]]\nname = \"t\"\nonce = [{ compute = \"1s\" }]\n\
                    [run]\nduration = \"1s\"\n";
        let workload = Rc::new(Scenario::parse(text, "t").unwrap().compile().unwrap());
        let mut world = World::new(&workload, &workload.machine.costs, 1);
        let mut restless = Restless::default();
        // No step in between.
        let unrest: Vec<Option<Unrest>> = (0..=CHOICES).map(|_| restless.goes_on(&world)).collect();
        assert!(unrest[..CHOICES as usize].iter().all(Option::is_none));
        assert_eq!(unrest[CHOICES as usize], Some(Unrest::Policy));
        // Steps in between, as many choices as there may be at one instant, and one more.
        let tired = |at_ns, at_once| Restless { at_ns, steps: 1, choices: CHOICES, at_once };
        assert_eq!(tired(0, CHOICES_AT_ONCE - CHOICES - 1).goes_on(&world), Some(Unrest::Pause));
        assert_eq!(tired(0, CHOICES_AT_ONCE - CHOICES).goes_on(&world), Some(Unrest::Scenario));
        // Time has gone by.
        world.now_ns = 1;
        assert_eq!(tired(0, CHOICES_AT_ONCE - CHOICES).goes_on(&world), Some(Unrest::Pause));
    }
}
