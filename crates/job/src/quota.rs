//! The smallest limit of a control group under which a target is met: where to look next.
//!
//! Nothing says that a longer quota never makes a response slower, so the answer is the smallest quota from which on all that
//! were tried meet the target. First come quotas in equal ratios, from what the tasks use to all of the machine's CPUs, then
//! some between the last one that fails and the first that does not, until these are close.

use schedlab_model::control_group::MIN_QUOTA;
use schedlab_model::time::Time;

/// How many quotas are tried at first.
const GRID: u32 = 9;

/// How many are tried between two at once.
const BETWEEN: u64 = 3;

/// Two quotas are close when they differ by no more than this part of the greater one, or by a millisecond.
const CLOSE: f64 = 0.02;

/// A quota that was tried, and whether the target was met.
pub type Tried = (Time, bool);

/// The first quotas, for tasks that use this many CPUs without a limit on a machine with this many.
pub fn grid(used_cpus: f64, machine_cpus: f64, period: Time) -> Vec<Time> {
    let least = (0.8 * used_cpus).max(MIN_QUOTA.ns() as f64 / period.ns() as f64);
    let most = machine_cpus.max(least);
    let ratio = (most / least).powf(1.0 / f64::from(GRID - 1));
    let quota = |step: u32| whole(least * ratio.powi(step as i32) * period.ns() as f64);
    let mut quotas: Vec<Time> = (0..GRID).map(quota).collect();
    quotas.dedup();
    quotas
}

/// To a millisecond, from where a kernel takes it.
fn whole(ns: f64) -> Time {
    Time::from_ms((ns / 1e6).round() as u64).max(MIN_QUOTA)
}

/// The smallest quota from which on all that were tried meet the target.
pub fn least(tried: &[Tried]) -> Option<Time> {
    let mut sorted = tried.to_vec();
    sorted.sort();
    sorted.iter().rev().take_while(|(_, is_met)| *is_met).last().map(|(quota, _)| *quota)
}

/// The quotas to be tried next; none where the answer is as exact as it gets.
pub fn next(tried: &[Tried]) -> Vec<Time> {
    let Some(least) = least(tried) else { return Vec::new() };
    let below = tried.iter().filter(|(quota, _)| *quota < least).map(|(quota, _)| *quota).max();
    let Some(below) = below else { return Vec::new() };
    let gap_ms = (least.ns() - below.ns()) / 1_000_000;
    if gap_ms <= 1 || (least.ns() - below.ns()) as f64 <= CLOSE * least.ns() as f64 {
        return Vec::new();
    }
    let at = |step: u64| Time::from_ms(below.ns() / 1_000_000 + gap_ms * step / (BETWEEN + 1));
    let mut quotas: Vec<Time> = (1..=BETWEEN).map(at).filter(|quota| *quota > below && *quota < least).collect();
    quotas.dedup();
    quotas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_ends_at_the_least_that_does() {
        for threshold in [7, 50, 51, 199, 399] {
            let meets = |quota: &Time| *quota >= Time::from_ms(threshold);
            let mut tried: Vec<Tried> = Vec::new();
            let mut quotas = grid(0.05, 4.0, Time::from_ms(100));
            assert_eq!((quotas[0], quotas[quotas.len() - 1]), (Time::from_ms(4), Time::from_ms(400)));
            let mut rounds = 0;
            while !quotas.is_empty() {
                tried.extend(quotas.iter().map(|quota| (*quota, meets(quota))));
                quotas = next(&tried);
                rounds += 1;
            }
            let found = least(&tried).unwrap().ns() as f64 / 1e6;
            assert!(
                found >= threshold as f64 && found <= (threshold as f64 * 1.03).max(threshold as f64 + 1.0),
                "{threshold}: {found}"
            );
            assert!(rounds < 8, "{threshold}: {rounds}");
        }
    }

    #[test]
    fn what_meets_it_by_chance_is_no_answer() {
        let tried = [(1, true), (2, false), (3, true), (4, true)].map(|(ms, is_met)| (Time::from_ms(ms), is_met));
        assert_eq!(least(&tried), Some(Time::from_ms(3)));
        assert_eq!(next(&tried), []);
        assert_eq!(least(&[(Time::from_ms(9), false)]), None);
    }
}
