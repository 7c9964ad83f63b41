//! Two accounts compared with each other.

use super::account::{Account, Had, Waited};
use schedlab_metrics::statistics::compare::{compare, leaves_out_equality};
use schedlab_model::ids::CpuId;
use schedlab_model::result::Interval;
use schedlab_model::time::Time;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Into how many blocks the shorter trace is cut.
pub const BLOCKS: u64 = 20;
/// With fewer blocks in which a task waited, there is no interval.
const LEAST: usize = 8;
/// How probable it is that all intervals together hold what is true.
const LEVEL: f64 = 0.95;
/// The length of a block for two traces of these lengths.
pub fn block_length(ends: [Time; 2]) -> Time {
    Time((ends[0].min(ends[1]).ns() / BLOCKS).max(1))
}

/// How much more a role waited, for each second of the run, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shift {
    /// The CPU, or what had it.
    pub what: String,
    /// Before, in nanoseconds for each second.
    #[serde(rename = "before_ns_per_s")]
    pub before: f64,
    /// After.
    #[serde(rename = "after_ns_per_s")]
    pub after: f64,
}

impl Shift {
    /// The difference.
    pub fn more(&self) -> f64 {
        self.after - self.before
    }
}

/// What changed for one role.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// Waits for each second, before and after.
    pub waits_per_s: [f64; 2],
    /// The mean of the blocks' mean waits, in nanoseconds; absent where no task waited.
    pub mean_ns: [Option<f64>; 2],
    /// Their difference, with its interval over blocks.
    #[serde(rename = "difference_ns", skip_serializing_if = "Option::is_none")]
    pub difference: Option<Interval>,
    /// After over before, with its interval over blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Interval>,
    /// Whether that is more than chance; absent where there are too few blocks to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_firm: Option<bool>,
    /// Whether it had a task before and after.
    #[serde(skip)]
    pub in_trace: [bool; 2],
    /// Nanoseconds waited for each second of the run, in sum, before and after.
    #[serde(rename = "waited_ns_per_s")]
    pub waited_per_s: [f64; 2],
    /// Of these, next to a CPU that idled.
    #[serde(rename = "beside_idle_ns_per_s")]
    pub beside_idle_per_s: [f64; 2],
    /// Where: the CPUs on which it waited more or less, the largest changes first.
    pub by_cpu: Vec<Shift>,
    /// Why: what had the CPU meanwhile, the largest changes first.
    pub by_had: Vec<Shift>,
}

/// Two traces next to each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contrast {
    /// The roles, the largest change of waited time first.
    pub changes: Vec<Change>,
    /// How many whole blocks each trace has.
    pub blocks: [usize; 2],
    /// How long a block is.
    #[serde(rename = "block_ns")]
    pub block: Time,
    /// How long each trace is.
    #[serde(rename = "lengths_ns")]
    pub ends: [Time; 2],
    /// The level of each interval: together they hold with 95 %.
    pub level: f64,
}

impl Contrast {
    /// `before` is what `after` is compared with. Both have blocks of this length.
    pub fn of(before: &Account, after: &Account, block: Time) -> Contrast {
        let sides = [before, after];
        let all = sides.map(|side| side.roles().collect::<BTreeMap<String, &Waited>>());
        let names: BTreeSet<&String> = all.iter().flat_map(|side| side.keys()).collect();
        // Of many intervals some would leave the truth out by chance.
        let judged = names.iter().filter(|name| is_judged(all[0].get(**name)) && is_judged(all[1].get(**name))).count();
        let level = 1.0 - (1.0 - LEVEL) / judged.max(1) as f64;
        let nothing = Waited::default();
        let present = sides.map(Account::present);
        let mut changes: Vec<Change> = names
            .iter()
            .map(|name| {
                let waited = [0, 1].map(|side: usize| all[side].get(*name).copied().unwrap_or(&nothing));
                let in_trace = [0, 1].map(|side: usize| present[side].contains(*name));
                Change { in_trace, ..change(name, waited, sides, level) }
            })
            .collect();
        changes.sort_by(|a, b| moved(b).total_cmp(&moved(a)).then_with(|| a.name.cmp(&b.name)));
        let ends = sides.map(Account::end);
        Contrast { changes, blocks: sides.map(Account::blocks), block, ends, level }
    }
}

/// By how much the waited time of a role changed.
fn moved(change: &Change) -> f64 {
    (change.waited_per_s[1] - change.waited_per_s[0]).abs()
}

fn is_judged(waited: Option<&&Waited>) -> bool {
    waited.is_some_and(|waited| waited.blocks.iter().filter(|(count, _)| *count > 0).count() >= LEAST)
}

/// The mean wait of each block in which a wait ended.
fn means(waited: &Waited) -> Vec<f64> {
    let waits = waited.blocks.iter().filter(|(count, _)| *count > 0);
    waits.map(|(count, sum)| *sum as f64 / *count as f64).collect()
}

fn change(name: &str, waited: [&Waited; 2], sides: [&Account; 2], level: f64) -> Change {
    let seconds = sides.map(|side| side.end().as_s().max(f64::MIN_POSITIVE));
    let rate = |side: usize, ns: u64| ns as f64 / seconds[side];
    let means = waited.map(means);
    let compared = compare(&means[0], &means[1], level);
    let is_enough = means.iter().all(|blocks| blocks.len() >= LEAST);
    let interval = |interval: Option<Interval>| interval.filter(|_| is_enough);
    let (difference, ratio) = compared
        .as_ref()
        .map_or((None, None), |compared| (interval(compared.difference_interval), interval(compared.ratio_interval)));
    Change {
        name: name.into(),
        waits_per_s: [0, 1].map(|side| waited[side].count() as f64 / seconds[side]),
        mean_ns: means.map(|blocks| schedlab_metrics::statistics::mean(&blocks)),
        in_trace: [true; 2],
        is_firm: if is_enough { leaves_out_equality(ratio, difference) } else { None },
        difference,
        ratio,
        waited_per_s: [0, 1].map(|side| rate(side, waited[side].total_ns)),
        beside_idle_per_s: [0, 1].map(|side| rate(side, waited[side].beside_idle_ns)),
        by_cpu: shifts(waited.map(|waited| &waited.by_cpu), [&cpu_name, &cpu_name], seconds),
        by_had: shifts(
            waited.map(|waited| &waited.by_had),
            [&|had| had_name(sides[0], had), &|had| had_name(sides[1], had)],
            seconds,
        ),
    }
}

fn cpu_name(cpu: CpuId) -> String {
    format!("cpu{cpu}")
}

fn had_name(side: &Account, had: Had) -> String {
    match had {
        Had::Role(role) => side.name(role),
        Had::Idle => "nothing (idle)".into(),
        Had::Untraced => "what was not recorded".into(),
    }
}

/// Both sides by name, for each second, the largest changes first.
fn shifts<K: Copy + Ord>(
    parts: [&BTreeMap<K, u64>; 2],
    name: [&dyn Fn(K) -> String; 2],
    seconds: [f64; 2],
) -> Vec<Shift> {
    let mut both: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for side in 0..2 {
        for (key, ns) in parts[side] {
            both.entry(name[side](*key)).or_default()[side] += *ns as f64 / seconds[side];
        }
    }
    let shift = |(what, sides): (String, [f64; 2])| Shift { what, before: sides[0], after: sides[1] };
    let mut shifts: Vec<Shift> = both.into_iter().map(shift).collect();
    shifts.sort_by(|a, b| b.more().abs().total_cmp(&a.more().abs()).then_with(|| a.what.cmp(&b.what)));
    shifts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::{fork, roles, switch, wakeup};
    use schedlab_model::trace::{Reason, Sink};

    /// A trace in which the timer waits for so long in each of many rounds while a worker runs.
    fn account(rounds: u64, wait: u64) -> Account {
        let end = Time(rounds * 1000);
        let mut account = Account::new(roles(), 1, end, Time(1000));
        [fork(0, 0, 0), fork(0, 1, 1), wakeup(0, 0, 0), switch(0, 0, None, Reason::Idle, Some(0))]
            .iter()
            .for_each(|event| account.event(event));
        for round in 0..rounds {
            let begin = round * 1000 + 100;
            let length = wait + round % 3;
            account.event(&wakeup(begin, 1, 0));
            account.event(&switch(begin + length, 0, Some(0), Reason::Preempted, Some(1)));
            account.event(&switch(begin + length + 10, 0, Some(1), Reason::Blocked, Some(0)));
        }
        account.finish(end);
        account
    }

    #[test]
    fn a_longer_wait_is_found_with_its_place_and_who_ran() {
        let contrast = Contrast::of(&account(20, 100), &account(45, 300), Time(1000));
        assert_eq!((contrast.blocks, contrast.changes[0].name.as_str()), ([20, 45], "timer"));
        let timer = &contrast.changes[0];
        assert_eq!(timer.is_firm, Some(true));
        let ratio = timer.ratio.unwrap();
        assert!(ratio.low > 2.9 && ratio.high < 3.1, "{ratio:?}");
        assert_eq!((timer.by_cpu[0].what.as_str(), timer.by_had[0].what.as_str()), ("cpu0", "worker"));
        assert!((timer.by_had[0].more() / timer.by_had[0].before - 2.0).abs() < 0.05);
        let worker = contrast.changes.iter().find(|change| change.name == "worker").unwrap();
        assert_eq!(worker.is_firm, Some(false));
    }

    #[test]
    fn few_blocks_and_one_side_alone_are_no_evidence() {
        let contrast = Contrast::of(&account(5, 100), &account(20, 300), Time(1000));
        assert!(contrast.changes.iter().all(|change| change.is_firm.is_none() && change.ratio.is_none()));
        let empty = Account::new(roles(), 1, Time(20_000), Time(1000));
        let contrast = Contrast::of(&empty, &account(20, 300), Time(1000));
        assert_eq!((contrast.changes[0].mean_ns[0], contrast.changes[0].is_firm), (None, None));
    }

    #[test]
    fn the_shorter_trace_decides_the_blocks() {
        assert_eq!(block_length([Time(40_000), Time(1_000_000)]), Time(2000));
        assert_eq!(block_length([Time(0), Time(5)]), Time(1));
    }
}
