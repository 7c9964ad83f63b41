//! What a step takes and makes on average, with all that it repeats.

use super::step::{Effect, Step};

impl Step {
    /// CPU time that it computes for, in nanoseconds.
    pub fn work_ns(&self) -> f64 {
        self.sum(&|effect| match effect {
            Effect::Works(length) => length.mean_ns(),
            _ => 0.0,
        })
    }

    /// How long it computes, sleeps and uses devices, in nanoseconds, where no other task wants a CPU or the device.
    pub fn length_ns(&self) -> f64 {
        self.sum(&|effect| match effect {
            Effect::Works(length) | Effect::Sleeps(length) => length.mean_ns(),
            Effect::Uses(io) => io.service.0.mean_ns(),
            _ => 0.0,
        })
    }

    /// How many tasks of a role it creates.
    pub fn spawns(&self, role: &str) -> f64 {
        self.sum(&|effect| match effect {
            Effect::Spawns(name, count) if name == role => f64::from(count),
            _ => 0.0,
        })
    }

    fn sum(&self, of: &dyn Fn(Effect) -> f64) -> f64 {
        match self.effect() {
            Effect::Repeats(times, steps) => f64::from(times) * steps.iter().map(|step| step.sum(of)).sum::<f64>(),
            effect => of(effect),
        }
    }
}
