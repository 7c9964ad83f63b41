//! Tasks in control groups: weights between groups, and limits on one.

use super::computing::wakers;
use super::dice::Dice;
use super::draft::{Draft, compute, looping, numbered, sleep};
use super::size::{Hogs, PACE, longest, scaled};
use schedlab_model::control_group::{Max, PeriodPhase};
use schedlab_model::count::counted;
use schedlab_model::scenario::{ControlGroup, Task, Text};
use schedlab_model::time::Time;

const MS: fn(u64) -> Time = Time::from_ms;
const US: fn(u64) -> Time = Time::from_us;

/// Groups of different weights, with tasks that always compute in each; some groups in a group, some tasks in none.
pub(super) fn shares(dice: &mut Dice, draft: &mut Draft) {
    let mut leaves: Vec<Leaf> = (0..dice.between(2, 3)).map(|index| Leaf::drawn(dice, draft, index)).collect();
    if dice.chance(35) {
        // The first becomes the parent of two.
        let parent = leaves.remove(0);
        draft.scenario.control_groups.push(ControlGroup { path: parent.path.clone(), ..parent.group() });
        leaves.extend((0..2).map(|index| Leaf::drawn(dice, draft, index).below(&parent)));
    }
    let alone = if dice.chance(30) { dice.between(1, draft.cpus) } else { 0 };
    let total = leaves.iter().map(|leaf| leaf.tasks).sum::<u32>() + alone;
    // Tasks of the root compete one by one, each with the weight of a group.
    let weights = top_weights(&leaves) + 100 * alone;
    draft.say(format!(
        "{} of different weights, with tasks that always compute.",
        counted(leaves.len() as u32, "control group")
    ));
    for leaf in &leaves {
        draft.scenario.control_groups.push(leaf.group());
        let by_weight = scaled(PACE, u64::from(draft.cpus * leaf.weight), u64::from(weights * leaf.siblings));
        let mean = dice.length(US(200), scaled(by_weight.min(longest(draft.cpus, leaf.tasks, total)), 1, 2));
        let task =
            looping(&format!("in-{}", leaf.path.replace('/', "-")), leaf.tasks, vec![compute(dice.around(mean))]);
        draft.task(Task { control_group: Some(leaf.path.clone()), ..task });
    }
    if alone > 0 {
        let by_weight = scaled(PACE, u64::from(draft.cpus * 100 * alone), u64::from(weights));
        let mean = dice.length(US(200), scaled(by_weight.min(longest(draft.cpus, alone, total)), 1, 2));
        draft.task(looping("alone", alone, vec![compute(dice.around(mean))]));
        draft.say(format!("Beside them {} of no group.", counted(alone, "task")));
    }
    if dice.chance(50) {
        let path = leaves[0].path.clone();
        wakers(dice, draft, "waker", 1, Hogs { count: total, burst: Time::NEVER }).control_group = Some(path);
        draft.say("In the first group tasks also wake up for moments.".into());
    }
}

/// The weights of the groups below the root.
fn top_weights(leaves: &[Leaf]) -> u32 {
    let mut seen = std::collections::BTreeSet::new();
    leaves.iter().filter(|leaf| seen.insert(leaf.top.clone())).map(|leaf| leaf.weight).sum()
}

/// A control group with tasks.
struct Leaf {
    path: String,
    /// The group below the root in which it is, or itself.
    top: String,
    /// The weight of that.
    weight: u32,
    own_weight: u32,
    /// How many share that.
    siblings: u32,
    tasks: u32,
}

impl Leaf {
    fn drawn(dice: &mut Dice, draft: &Draft, index: u32) -> Leaf {
        let path = numbered("group", index, 2);
        let weight = dice.pick(&[50, 100, 100, 200, 300, 400]);
        let tasks = dice.between(1, draft.cpus + 1);
        Leaf { top: path.clone(), path, weight, own_weight: weight, siblings: 1, tasks }
    }

    /// In another group, of which two equal ones share the weight.
    fn below(self, parent: &Leaf) -> Leaf {
        let path = format!("{}/{}", parent.path, self.path);
        Leaf { path, top: parent.path.clone(), weight: parent.weight, own_weight: 100, siblings: 2, ..self }
    }

    fn group(&self) -> ControlGroup {
        ControlGroup { path: self.path.clone(), weight: Some(self.own_weight), ..ControlGroup::default() }
    }
}

/// A service under a limit, which always computes or sleeps between requests, alone or next to others.
pub(super) fn limits(dice: &mut Dice, draft: &mut Draft) {
    let period = MS(dice.pick(&[20, 50, 100]));
    let percent = dice.between(20, 70);
    let quota = scaled(period, u64::from(draft.cpus * percent), 100).max(MS(1));
    let burst = dice.chance(25).then(|| scaled(quota, 1, 2));
    draft.scenario.run.period_phase = Some(Text(PeriodPhase::Random));
    draft.scenario.control_groups.push(ControlGroup {
        path: "service".into(),
        max: Some(Text(Max { quota: Some(quota), period: Some(period) })),
        burst: burst.map(Text),
        ..ControlGroup::default()
    });
    let beside = dice.chance(50);
    let count = dice.between(1, draft.cpus + 2);
    // What it may use, and what is left of the machine next to others.
    let usable = scaled(PACE, u64::from(draft.cpus * percent), if beside { 200 } else { 100 });
    let rivals = count + if beside { draft.cpus + 1 } else { 0 };
    let most = usable.min(longest(draft.cpus, count, rivals));
    let work = dice.length(US(200), scaled(most, 1, 2));
    // Under a policy without weights, a sleeper would wait for all others after each sleep, and end few requests.
    let steps = match beside || dice.chance(50) {
        true => vec![compute(dice.around(work))],
        false => vec![sleep(dice.around(work)), compute(dice.around(work))],
    };
    draft.task(Task { control_group: Some("service".into()), ..looping("worker", count, steps) });
    draft.say(format!("{} with {quota} of CPU time in each {period}.", counted(count, "worker")));
    if beside {
        draft.endless_hogs(dice);
    }
}
