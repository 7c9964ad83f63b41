//! Tasks that send each other messages: producers and consumers, clients and servers, chains of stages.

use super::dice::Dice;
use super::draft::{Draft, compute, looping, numbered, recv, send, sleep, tasks};
use super::size::{Hogs, PACE, needed, scaled};
use schedlab_model::count::counted;
use schedlab_model::scenario::ChannelKindName;
use schedlab_model::time::Time;

const MS: fn(u64) -> Time = Time::from_ms;
const US: fn(u64) -> Time = Time::from_us;

/// Producers, questions and chains by pipes.
pub(super) fn pipes(dice: &mut Dice, draft: &mut Draft) {
    match dice.between(0, 2) {
        0 => pairs(dice, draft),
        1 => questions(dice, draft, ChannelKindName::Pipe),
        _ => chain(dice, draft, ChannelKindName::Pipe),
    }
}

/// Clients of servers, and chains, by sockets.
pub(super) fn sockets(dice: &mut Dice, draft: &mut Draft) {
    if dice.chance(70) {
        questions(dice, draft, ChannelKindName::Socket);
    } else {
        chain(dice, draft, ChannelKindName::Socket);
    }
}

/// Producers that feed consumers, as fast as both can or at a pace of their own.
fn pairs(dice: &mut Dice, draft: &mut Draft) {
    let pairs = dice.between(1, 3);
    let paced = dice.chance(50);
    draft.say(format!("{} of producers and consumers, joined by a pipe.", counted(pairs, "pair")));
    for index in 0..pairs {
        let channel = numbered("goods", index, pairs);
        let consumers = dice.between(1, draft.cpus + 1);
        draft.channel(&channel, ChannelKindName::Pipe, dice.between(1, 16));
        // A pair has at least this much of the machine, in quarters of a CPU.
        let quarters = (4 * draft.cpus / pairs).min(4);
        let (producers, pause, most) = if paced {
            let pause = dice.length(MS(4), MS(18));
            let producers = dice.between(1, 2).max(needed(pause + MS(4)));
            (producers, pause, scaled(pause, u64::from(quarters * 6), u64::from(40 * producers)))
        } else {
            (dice.between(1, 2), Time::ZERO, scaled(PACE, u64::from(quarters * 8), 40))
        };
        let make = dice.length(US(200), scaled(most, 1, 2));
        let take = dice.length(US(200), scaled(most, 1, 2));
        let mut steps = vec![compute(dice.around(make)), send(&channel)];
        if paced {
            steps.insert(0, sleep(dice.around(pause)));
        }
        draft.task(looping(&numbered("producer", index, pairs), producers, steps));
        let steps = vec![recv(&channel), compute(dice.around(take))];
        draft.task(looping(&numbered("consumer", index, pairs), consumers, steps));
    }
}

/// Clients that ask and wait for an answer.
fn questions(dice: &mut Dice, draft: &mut Draft, kind: ChannelKindName) {
    let services = dice.between(1, 2);
    let hogs = if dice.chance(45) { draft.hogs(dice, 100) } else { Hogs::NONE };
    for index in 0..services {
        let (question, answer) = (numbered("question", index, services), numbered("answer", index, services));
        draft.channel(&question, kind, dice.between(1, 16));
        draft.channel(&answer, kind, dice.between(1, 16));
        let servers = dice.between(1, draft.cpus);
        let pause = dice.length(MS(5), MS(22));
        let clients = dice.between(1, 2 * draft.cpus).max(needed(pause + scaled(hogs.round(draft.cpus), 3, 1) + MS(5)));
        // Both sides together take at most 60 % of what they have.
        let most = scaled(pause, u64::from(6 * servers), u64::from(20 * clients * services)).min(MS(5));
        let ask = dice.length(US(100), most);
        let serve = dice.length(US(100), most);
        let whom = if servers == 1 { "a server".into() } else { format!("one of {servers} servers") };
        draft.say(format!("{} {whom} for an answer that takes {serve}.", tasks(clients, "client", "ask")));
        let steps = vec![sleep(dice.around(pause)), compute(dice.near(ask)), send(&question), recv(&answer)];
        draft.task(looping(&numbered("client", index, services), clients, steps));
        let steps = vec![recv(&question), compute(dice.around(serve)), send(&answer)];
        draft.task(looping(&numbered("server", index, services), servers, steps));
    }
}

/// Three or four stages, each of which hands on to the next.
fn chain(dice: &mut Dice, draft: &mut Draft, kind: ChannelKindName) {
    let stages = dice.between(3, 4);
    let hogs = if dice.chance(35) { draft.hogs(dice, 100) } else { Hogs::NONE };
    let paced = hogs.count > 0 || dice.chance(60);
    let pause = dice.length(MS(4), MS(18));
    let first = if paced { dice.between(1, 2).max(needed(pause + hogs.round(draft.cpus) + MS(4))) } else { 1 };
    let most = match paced {
        true => scaled(pause, 6 * u64::from(draft.cpus.min(stages)), u64::from(10 * stages * first)),
        false => scaled(PACE, 8, u64::from(10 * stages)),
    };
    let beside = if hogs.count > 0 { 2 } else { 1 };
    draft.say(format!("A chain of {stages} stages, each of which hands on to the next."));
    let channel = |stage: u32| format!("to-{}", stage + 1);
    (2..=stages).for_each(|stage| draft.channel(&channel(stage - 1), kind, dice.between(1, 16)));
    for stage in 1..=stages {
        let work = dice.length(US(100), scaled(most, 1, beside));
        let mut steps = vec![compute(dice.around(work))];
        match stage {
            1 if paced => steps.insert(0, sleep(dice.around(pause))),
            1 => {}
            _ => steps.insert(0, recv(&channel(stage - 1))),
        }
        if stage < stages {
            steps.push(send(&channel(stage)));
        }
        let count = if stage == 1 { first } else { dice.between(1, draft.cpus) };
        draft.task(looping(&format!("stage-{stage}"), count, steps));
    }
}
