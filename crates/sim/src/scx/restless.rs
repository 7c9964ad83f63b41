//! Finds a policy that never lets time go by.
//!
//! Scenario and policy are told apart by what happens between two choices. A task that does steps of its program makes
//! progress, however many choices that takes: it yields, and gets its CPU back. Whether its program ever lets time go by
//! is for [`World`] to judge. Choices between which no task does anything are the policy's.

use crate::world::World;

/// More choices than this never follow one another without a step, but for what many tasks do that start together.
const CHOICES: u64 = 1 << 19;
const CHOICES_PER_TASK: u64 = 100;

/// More choices than this at one instant, whoever causes them, take minutes of the simulating machine.
const CHOICES_AT_ONCE: u64 = 100_000_000;

/// Who lets no time go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The policy: no task does a step.
    Policy,
    /// The scenario: its tasks do steps all the time.
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
    /// Counts a choice, or a timer of the policy. Whether they would go on for ever, or for too long, and who is to blame.
    #[inline]
    pub fn goes_on(&mut self, world: &World) -> Option<Blame> {
        self.choices += 1;
        if self.choices > CHOICES { self.has_no_end(world) } else { None }
    }

    /// Looks whether something has happened since it last looked, and begins to count again if so.
    #[cold]
    fn has_no_end(&mut self, world: &World) -> Option<Blame> {
        let steps = world.done_now().steps;
        if (self.at_ns, self.steps) != (world.now_ns, steps) {
            let before = if self.at_ns == world.now_ns { self.at_once } else { 0 };
            let at_once = before + self.choices;
            *self = Restless { at_ns: world.now_ns, steps, choices: 0, at_once };
            return (at_once > CHOICES_AT_ONCE).then_some(Blame::Scenario);
        }
        (self.choices > CHOICES_PER_TASK * u64::from(world.tasks.created())).then_some(Blame::Policy)
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
        let blames: Vec<Option<Blame>> = (0..=CHOICES).map(|_| restless.goes_on(&world)).collect();
        assert!(blames[..CHOICES as usize].iter().all(Option::is_none));
        assert_eq!(blames[CHOICES as usize], Some(Blame::Policy));
        // Steps in between, as many choices as there may be at one instant, and one more.
        let tired = |at_ns, at_once| Restless { at_ns, steps: 1, choices: CHOICES, at_once };
        assert_eq!(tired(0, CHOICES_AT_ONCE - CHOICES - 1).goes_on(&world), None);
        assert_eq!(tired(0, CHOICES_AT_ONCE - CHOICES).goes_on(&world), Some(Blame::Scenario));
        // Time has gone by.
        world.now_ns = 1;
        assert_eq!(tired(0, CHOICES_AT_ONCE - CHOICES).goes_on(&world), None);
    }
}
