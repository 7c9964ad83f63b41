//! Tasks that may not run everywhere, and tasks of other classes than most.

use super::computing::wakers;
use super::dice::Dice;
use super::draft::{Draft, compute, looping, sleep, tasks};
use super::size::{Hogs, PACE, needed, scaled};
use schedlab_model::count::counted;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::CpuId;
use schedlab_model::scenario::{Task, Text};
use schedlab_model::time::Time;
use schedlab_model::workload::Class;

const MS: fn(u64) -> Time = Time::from_ms;
const US: fn(u64) -> Time = Time::from_us;

/// Pinned tasks next to free ones.
pub(super) fn affinity(dice: &mut Dice, draft: &mut Draft) {
    let cpus = draft.cpus;
    let (home, pinned) = (dice.between(0, cpus - 1), dice.between(1, 2));
    let free = dice.between(1, cpus + 1);
    let pauses = dice.chance(70);
    // A pinned task shares its CPU with the other pinned ones and with its part of the free ones.
    let rivals = pinned + free.div_ceil(cpus) + 1;
    let burst = dice.length(US(500), scaled(PACE, 8, u64::from(10 * rivals)).min(MS(7)));
    let hog = |dice: &mut Dice, name: &str, count: u32| {
        let mut steps = vec![compute(dice.around(burst))];
        if pauses {
            let pause = dice.length(US(300), MS(2));
            steps.push(sleep(dice.around(pause)));
        }
        looping(name, count, steps)
    };
    let only = |cpus: CpuSet| Some(Text(cpus));
    draft.say(format!(
        "{} of CPU {home} beside {} that may run on any CPU.",
        counted(pinned, "task"),
        counted(free, "task")
    ));
    let task = hog(dice, "pinned", pinned);
    draft.task(Task { cpus: only([CpuId(home)].into_iter().collect()), ..task });
    let start_on = dice.chance(50).then(|| dice.between(0, cpus - 1));
    let task = hog(dice, "free", free);
    draft.task(Task { start_on, ..task });
    let hogs = Hogs { count: cpus * rivals, burst: if pauses { burst } else { Time::NEVER } };
    if dice.chance(75) {
        let width = dice.between(1, cpus);
        let first = dice.between(0, cpus - width);
        let masked: CpuSet = (first..first + width).map(CpuId).collect();
        draft.say(format!("Tasks that wake up for moments may run on {}.", counted(width, "CPU")));
        // Their work fits on the CPUs that they have.
        draft.cpus = width;
        let hogs = Hogs { count: width * rivals, ..hogs };
        wakers(dice, draft, "waker", 2, hogs).cpus = only(masked);
        draft.cpus = cpus;
    }
}

/// Batch, idle and real-time tasks next to others.
pub(super) fn classes(dice: &mut Dice, draft: &mut Draft) {
    let (batch, idle) = dice.pick(&[(true, false), (false, true), (true, true)]);
    let urgent = dice.chance(60);
    let mut hogs = Hogs::NONE;
    if idle {
        hogs = Hogs { count: dice.between(1, draft.cpus.div_ceil(2) + 1), burst: Time::NEVER };
        low(dice, draft, Class::Idle, hogs.count, None);
    }
    if batch && idle {
        // These pause, so that idle tasks have something, too.
        let request = dice.length(US(500), MS(2));
        let count = needed(hogs.round(draft.cpus) + MS(10));
        let pause = scaled(request, u64::from(2 * count), u64::from(draft.cpus)).max(request);
        low(dice, draft, Class::Batch, count, Some((request, pause)));
    } else if batch {
        hogs = Hogs { count: dice.between(1, draft.cpus.div_ceil(2) + 1), burst: Time::NEVER };
        low(dice, draft, Class::Batch, hogs.count, None);
    }
    draft.say("Beside them tasks that wake up for moments.".into());
    wakers(dice, draft, "waker", if urgent { 3 } else { 2 }, hogs);
    if urgent {
        realtime(dice, draft);
    }
}

/// Tasks of a class below others, which compute always or, if a request and a pause are named, between pauses.
fn low(dice: &mut Dice, draft: &mut Draft, class: Class, count: u32, paced: Option<(Time, Time)>) {
    let name = if class == Class::Idle { "idle" } else { "batch" };
    let request = paced.map_or_else(|| dice.length(US(500), MS(5)), |(request, _)| request);
    let mut steps = vec![compute(dice.around(request))];
    steps.extend(paced.map(|(_, pause)| sleep(dice.around(pause))));
    draft.say(format!("{} {request} at a time.", tasks(count, &format!("{name} task"), "compute")));
    draft.task(Task { class: Some(Text(class)), ..looping(name, count, steps) });
}

/// Real-time tasks that take at most a fifth of the machine.
fn realtime(dice: &mut Dice, draft: &mut Draft) {
    let roles = dice.between(1, 2);
    for index in 0..roles {
        let priority = dice.between(1, 40) as u8 + 40 * index as u8;
        let (name, class) = dice.pick(&[("fifo", Class::Fifo(priority)), ("rr", Class::RoundRobin(priority))]);
        let pause = dice.length(MS(5), MS(18));
        let count = dice.between(1, draft.cpus).max(needed(pause + MS(3)));
        let most = scaled(pause, u64::from(draft.cpus), u64::from(5 * roles * count));
        let work = dice.length(US(100), most.min(MS(2)));
        let who = tasks(count, "real-time task", "wake");
        draft.say(format!("{who} up every {pause} for {work}, with {name} priority {priority}."));
        let name = if index == 0 { "urgent" } else { "more-urgent" };
        let steps = vec![sleep(dice.around(pause)), compute(dice.near(work))];
        draft.task(Task { class: Some(Text(class)), ..looping(name, count, steps) });
    }
}
