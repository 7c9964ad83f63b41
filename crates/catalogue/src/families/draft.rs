//! A scenario while a family writes it.

use super::dice::Dice;
use super::size::{DURATION, Hogs, WARMUP, neat, scaled};
use schedlab_model::count::counted;
use schedlab_model::distribution::Distribution;
use schedlab_model::scenario::{
    Channel, ChannelKindName, Io, Machine, Run, Scenario, Semaphore, Step, Task, Text, True,
};
use schedlab_model::time::Time;

/// A scenario with nothing in it yet but its CPUs.
pub(super) fn empty(name: &str, cpus: u32, origin: &str) -> Scenario {
    let machine = Machine { cpus: Some(cpus), ..Machine::default() };
    let run = Run { duration: Some(Text(DURATION)), warmup: Some(Text(WARMUP)), ..Run::default() };
    Scenario::new(name, machine, run, Vec::new(), origin)
}

/// What a family writes into.
pub(super) struct Draft {
    /// The scenario so far.
    pub scenario: Scenario,
    /// The number of CPUs.
    pub cpus: u32,
}

impl Draft {
    /// Adds a sentence to what the scenario says about itself.
    pub fn say(&mut self, sentence: String) {
        let about = &mut self.scenario.about;
        if !about.is_empty() {
            about.push(' ');
        }
        about.push_str(&sentence);
    }

    /// Adds a role, which can still be changed.
    pub fn task(&mut self, task: Task) -> &mut Task {
        self.scenario.tasks.push(task);
        self.scenario.tasks.last_mut().expect("one was just added")
    }

    /// Declares a semaphore.
    pub fn semaphore(&mut self, name: &str, initial: u32) {
        self.scenario.semaphore.insert(name.into(), Semaphore { initial });
    }

    /// Declares a channel.
    pub fn channel(&mut self, name: &str, kind: ChannelKindName, capacity: u32) {
        let channel = Channel { capacity: Some(capacity), kind: Some(kind) };
        self.scenario.channel.insert(name.into(), channel);
    }

    /// Adds tasks that compute, with pauses, at most for a percentage of the machine's time. A pause lets waiting tasks
    /// continue after some milliseconds instead of a whole slice.
    pub fn hogs(&mut self, dice: &mut Dice, percent: u32) -> Hogs {
        let count = dice.between(1, self.cpus + 1);
        let burst = dice.length(Time::from_ms(1), Time::from_ms(5));
        // A pass of burst and pause takes at least this long.
        let pass = scaled(burst, u64::from(100 * count), u64::from(percent * self.cpus));
        let pause = dice.length(Time::from_us(500), Time::from_ms(3)).max(neat(pass.since(burst)));
        let steps = vec![compute(dice.around(burst)), sleep(dice.around(pause))];
        self.task(looping("hog", count, steps));
        self.say(format!("{} {burst} at a time, with pauses of {pause}.", tasks(count, "hog", "compute")));
        Hogs { count, burst: scaled(burst, 5, 4) }
    }

    /// The same, of which none ever pauses.
    pub fn endless_hogs(&mut self, dice: &mut Dice) -> Hogs {
        let count = dice.between(1, self.cpus + 1);
        let request = dice.length(Time::from_ms(1), Time::from_ms(6));
        self.task(looping("hog", count, vec![compute(dice.around(request))]));
        self.say(format!("{} without a pause.", tasks(count, "hog", "compute")));
        Hogs { count, burst: Time::NEVER }
    }
}

/// What a number of a kind do: "1 worker computes", "3 workers compute".
pub(super) fn tasks(count: u32, noun: &str, verb: &str) -> String {
    format!("{} {verb}{}", counted(count, noun), if count == 1 { "s" } else { "" })
}

/// A name, with a number where there are several of the kind.
pub(super) fn numbered(name: &str, index: u32, of: u32) -> String {
    if of == 1 { name.into() } else { format!("{name}-{}", index + 1) }
}

/// A role whose tasks repeat these steps.
pub(super) fn looping(name: &str, count: u32, steps: Vec<Step>) -> Task {
    Task { name: name.into(), count: (count > 1).then_some(count), repeated: Some(steps), ..Task::default() }
}

/// A role whose tasks do these steps and end.
pub(super) fn once(name: &str, steps: Vec<Step>) -> Task {
    Task { name: name.into(), once: Some(steps), ..Task::default() }
}

pub(super) fn compute(time: Distribution) -> Step {
    Step::Compute { compute: Text(time) }
}

pub(super) fn sleep(time: Distribution) -> Step {
    Step::Sleep { sleep: Text(time) }
}

pub(super) fn lock(name: &str) -> Step {
    Step::Lock { lock: name.into() }
}

pub(super) fn unlock(name: &str) -> Step {
    Step::Unlock { unlock: name.into() }
}

pub(super) fn wait(semaphore: &str) -> Step {
    Step::Wait { wait: semaphore.into() }
}

pub(super) fn post(semaphore: &str, times: u32) -> Step {
    Step::Post { post: semaphore.into(), times }
}

pub(super) fn send(channel: &str) -> Step {
    Step::Send { send: channel.into(), messages: 1 }
}

pub(super) fn recv(channel: &str) -> Step {
    Step::Recv { recv: channel.into(), messages: 1 }
}

pub(super) fn barrier(name: &str) -> Step {
    Step::Barrier { barrier: name.into() }
}

pub(super) fn io(device: &str, service: Distribution) -> Step {
    Step::Io { io: Io { device: device.into(), service: Text(service) } }
}

pub(super) fn spawn(role: &str, count: u32) -> Step {
    Step::Spawn { spawn: role.into(), count }
}

pub(super) fn exit() -> Step {
    Step::Exit { exit: True }
}

pub(super) fn repeat(times: u32, steps: Vec<Step>) -> Step {
    Step::Repeat { repeat: times, request: false, steps }
}
