//! Tasks that are created while the run continues: spawned by others, or arriving.

use super::computing::wakers;
use super::dice::Dice;
use super::draft::{Draft, compute, exit, looping, numbered, once, post, repeat, sleep, spawn, tasks, wait};
use super::size::{Hogs, PROCESS, THREAD, needed, scaled};
use schedlab_model::count::counted;
use schedlab_model::distribution::Distribution;
use schedlab_model::scenario::{KindName, Step, Task, Text};
use schedlab_model::time::Time;

const MS: fn(u64) -> Time = Time::from_ms;
const US: fn(u64) -> Time = Time::from_us;

/// Parents that spawn processes.
pub(super) fn processes(dice: &mut Dice, draft: &mut Draft) {
    children(dice, draft, KindName::Process);
}

/// Parents that spawn threads.
pub(super) fn threads(dice: &mut Dice, draft: &mut Draft) {
    children(dice, draft, KindName::Thread);
}

fn children(dice: &mut Dice, draft: &mut Draft, kind: KindName) {
    let hogs = if dice.chance(30) { draft.hogs(dice, 30) } else { Hogs::NONE };
    let pause = dice.length(MS(15), MS(47));
    let most = if kind == KindName::Process { draft.cpus.div_ceil(2) } else { 1 + draft.cpus };
    let each = dice.between(1, most.min(4));
    let pass = pause + MS(20) + scaled(hogs.round(draft.cpus), 3, 1);
    let family = Parents { pause, count: needed(pass), each, kind };
    let work = family.work(dice, draft.cpus).min(MS(15));
    let mut steps = vec![compute(dice.around(work))];
    if dice.chance(40) {
        let rest = dice.length(MS(1), MS(10));
        let half = scaled(work, 1, 2);
        steps = vec![compute(dice.around(half)), sleep(dice.around(rest)), compute(dice.near(half))];
    }
    let waits = dice.chance(70);
    family.write(dice, draft, steps, waits);
}

/// Bursts of many short children.
pub(super) fn fork_storms(dice: &mut Dice, draft: &mut Draft) {
    let pause = dice.length(MS(56), MS(120));
    let each = dice.between(4, 4 + 3 * draft.cpus.min(4));
    let family = Parents { pause, count: needed(pause + MS(30)), each, kind: KindName::Thread };
    let work = family.work(dice, draft.cpus).min(MS(5));
    let steps = vec![compute(dice.around(work))];
    family.write(dice, draft, steps, true);
    if dice.chance(30) {
        let nice = dice.pick(&[None, Some(5), Some(15)]);
        draft.hogs(dice, 30);
        draft.scenario.tasks.last_mut().expect("the hogs were just added").nice = nice;
    }
}

/// Tasks that spawn: how many, how often, and how many children at a time, of which kind.
struct Parents {
    count: u32,
    pause: Time,
    each: u32,
    kind: KindName,
}

/// What is there before a task's first step and after its last one.
fn life(kind: KindName) -> Time {
    if kind == KindName::Process { PROCESS } else { THREAD }
}

impl Parents {
    /// The mean work of a child with which all of them, with their births and ends, take at most 70 % of the machine.
    fn work(&self, dice: &mut Dice, cpus: u32) -> Time {
        let full = scaled(self.pause, u64::from(cpus), u64::from(self.count * self.each));
        let most = scaled(full, 70, 100).since(life(self.kind)).max(US(200));
        dice.length(scaled(most, 1, 3), most)
    }

    /// Writes parents and children; parents wait for their children or only for their next turn.
    fn write(&self, dice: &mut Dice, draft: &mut Draft, mut child: Vec<Step>, waits: bool) {
        let children = counted(self.each, if self.kind == KindName::Thread { "short thread" } else { "short process" });
        let what = if waits { "and wait for the end of" } else { "without waiting for" };
        draft.say(format!("{} {children} at a time, {what} each.", tasks(self.count, "parent", "spawn")));
        let think = dice.length(US(100), US(820));
        let mut parent = vec![compute(dice.around(think)), spawn("child", self.each)];
        if waits {
            draft.semaphore("done", 0);
            child.push(post("done", 1));
            parent.push(match self.each {
                1 => wait("done"),
                each => repeat(each, vec![wait("done")]),
            });
        }
        parent.push(sleep(dice.around(self.pause)));
        child.push(exit());
        draft.task(looping("parent", self.count, parent));
        draft.task(Task { kind: Some(self.kind), spawned: true, ..once("child", child) });
    }
}

/// Jobs that arrive by themselves, each a task of its own.
pub(super) fn arrivals(dice: &mut Dice, draft: &mut Draft) {
    let roles = dice.between(1, 2);
    let load = dice.between(40, 82);
    draft.say(format!("Jobs arrive by themselves and take {load} % of the machine, each a task of its own."));
    for index in 0..roles {
        let kind = if roles == 1 { dice.pick(&[KindName::Thread, KindName::Process]) } else { KindName::Thread };
        // At most a third of the load is births and ends of tasks.
        let least = scaled(life(kind), u64::from(300 * roles), u64::from(load * draft.cpus)).min(MS(20));
        let gap = dice.length(least.max(MS(1)), MS(22));
        let work = scaled(gap, u64::from(draft.cpus * load), u64::from(100 * roles)).since(life(kind)).max(US(200));
        let gaps = if dice.chance(80) { Distribution::Exponential(gap) } else { dice.around(gap) };
        let task = once(&numbered("job", index, roles), vec![compute(dice.near(work))]);
        draft.task(Task { arrivals: Some(Text(gaps)), kind: Some(kind), ..task });
    }
    // At higher loads what arrives has the machine for itself.
    match dice.between(0, 9) {
        4..=6 if load <= 60 => {
            draft.say("Beside them tasks wake up for moments.".into());
            wakers(dice, draft, "timer", 3, Hogs { count: 1, burst: MS(20) });
        }
        7..=9 if load <= 60 => _ = draft.endless_hogs(dice),
        _ => {}
    }
}
