//! Pools of workers that answer requests from outside, and devices that tasks wait for.

use super::dice::Dice;
use super::draft::{Draft, compute, io, lock, looping, numbered, recv, sleep, tasks, unlock};
use super::size::{Hogs, neat, needed, scaled};
use schedlab_model::count::counted;
use schedlab_model::distribution::Distribution;
use schedlab_model::scenario::{ChannelKindName, Source, Task, Text};
use schedlab_model::time::Time;
use schedlab_model::workload::Class;

const MS: fn(u64) -> Time = Time::from_ms;
const US: fn(u64) -> Time = Time::from_us;

/// Tasks that use a device next to tasks that compute.
pub(super) fn devices(dice: &mut Dice, draft: &mut Draft) {
    let roles = dice.between(1, 2);
    let hogs = match dice.between(0, 9) {
        0..=1 => Hogs::NONE,
        2..=7 => draft.hogs(dice, 100),
        _ => draft.endless_hogs(dice),
    };
    let common = dice.chance(50);
    // Tasks that share a device take turns there, so more tasks get more of it.
    let least = dice.between(1, 2 + draft.cpus);
    for index in 0..roles {
        let device = if common { "disk".into() } else { numbered("disk", index, roles) };
        let users = if common { roles } else { 1 };
        let service = dice.length(MS(1), scaled(MS(12), 1, u64::from(users)));
        let count = least.max(needed(scaled(service, 3, 1) + hogs.round(draft.cpus) + MS(4)));
        let most = scaled(service, u64::from(draft.cpus), 2 * u64::from(roles));
        let work = dice.length(US(200), most.min(MS(4)));
        let name = numbered("reader", index, roles);
        draft.say(format!("{} a device for {service} at a time, for work of {work}.", tasks(count, "reader", "use")));
        let steps = vec![io(&device, dice.around(service)), compute(dice.around(work))];
        draft.task(looping(&name, count, steps));
    }
}

/// One pool or two.
pub(super) fn pools(dice: &mut Dice, draft: &mut Draft) {
    let pools = dice.between(1, 2);
    let beside = dice.chance(30);
    let load = dice.between(40, if beside { 55 } else { 80 });
    if beside {
        draft.hogs(dice, 85 - load);
    }
    draft.say(format!("Requests from outside take {load} % of the machine."));
    for index in 0..pools {
        let channel = numbered("requests", index, pools);
        let gap = dice.length(scaled(MS(8), 1, u64::from(draft.cpus)), MS(22));
        let work = scaled(gap, u64::from(draft.cpus * load), u64::from(100 * pools));
        let messages = if dice.chance(25) { dice.between(2, 4) } else { 1 };
        let workers = draft.cpus + dice.between(1, 3 * draft.cpus);
        let kind = dice.pick(&[ChannelKindName::Pipe, ChannelKindName::Socket]);
        draft.channel(&channel, kind, 64);
        feed(dice, draft, &channel, scaled(gap, messages.into(), 1), messages);
        let name = numbered("worker", index, pools);
        draft.say(format!("{} {channel}.", tasks(workers, "worker", "answer")));
        draft.task(looping(&name, workers, vec![recv(&channel), compute(served(dice, work))]));
    }
}

/// The work per request, for requests that are the same in every run. Which worker serves which request differs between
/// venues after a while, and so does what is drawn for them: two runs are two samples.
fn served(dice: &mut Dice, work: Time) -> Distribution {
    let work = neat(work);
    match dice.between(0, 9) {
        0..=3 => Distribution::Constant(work),
        4..=6 => Distribution::Uniform(neat(scaled(work, 1, 2)), neat(scaled(work, 3, 2))),
        _ => dice.around(work),
    }
}

fn feed(dice: &mut Dice, draft: &mut Draft, channel: &str, gap: Time, messages: u32) {
    let gaps = if dice.chance(80) { Distribution::Exponential(gap) } else { dice.around(gap) };
    draft.scenario.sources.push(Source {
        channel: channel.into(),
        arrivals: Some(Text(gaps)),
        messages: (messages > 1).then_some(messages),
        ..Source::default()
    });
}

/// A pool whose workers need a lock and a device, next to background tasks.
pub(super) fn services(dice: &mut Dice, draft: &mut Draft) {
    draft.say("Requests from outside are answered with a lock and a device.".into());
    let load = dice.between(25, 45);
    let hogs = background(dice, draft, 85 - load);
    let gap = dice.length(scaled(MS(10), 1, u64::from(draft.cpus.min(2))), MS(18));
    // Half of it before, half of it after.
    let work = scaled(gap, u64::from(draft.cpus.min(4) * load), 200);
    let held = dice.length(US(100), scaled(gap, 1, 5).min(work));
    let service = dice.length(MS(1), scaled(gap, 2, 5));
    // Twice as many as are at work on average.
    let stay = scaled(hogs.round(draft.cpus) + work + service + held, 4, 1);
    let workers = 2 * stay.0.div_ceil(gap.0) as u32 + dice.between(1, 2 * draft.cpus);
    draft.channel("requests", ChannelKindName::Socket, 64);
    feed(dice, draft, "requests", gap, 1);
    let locked = [lock("cache"), compute(dice.around(held)), unlock("cache")];
    let read = io("disk", dice.around(service));
    let mut steps = vec![recv("requests"), compute(served(dice, work))];
    match dice.chance(50) {
        true => steps.extend(locked.into_iter().chain([read])),
        false => steps.extend([read].into_iter().chain(locked)),
    }
    steps.push(compute(dice.near(work)));
    draft.say(format!("There are {}.", counted(workers, "worker")));
    draft.task(looping("worker", workers, steps));
}

/// Background work of a service: hogs, and housekeepers that wake up periodically.
fn background(dice: &mut Dice, draft: &mut Draft, percent: u32) -> Hogs {
    let hogs = draft.hogs(dice, percent);
    let batch = Some(Text(Class::Batch));
    let (nice, class) = match dice.between(0, 3) {
        0 => (None, None),
        1 => (Some(10), None),
        2 => (None, batch),
        _ => (Some(5), batch),
    };
    let task = draft.scenario.tasks.last_mut().expect("the hogs were just added");
    *task = Task { nice, class, ..task.clone() };
    if dice.chance(60) {
        let pause = dice.length(MS(10), MS(22));
        let count = needed(pause + hogs.round(draft.cpus) + MS(5));
        let work = dice.length(US(100), US(470));
        draft.say(format!("{} up every {pause}.", tasks(count, "housekeeper", "wake")));
        draft.task(looping("housekeeper", count, vec![sleep(dice.around(pause)), compute(dice.near(work))]));
    }
    hogs
}
