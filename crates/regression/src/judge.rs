//! What a check says about a value.

use crate::bound::Tolerance;
use crate::language::Bounds;
use crate::report::{Allowed, Value, Verdict};
use schedlab_metrics::statistics::{compare, mean_interval};
use schedlab_model::metric::{Better, Metric};
use schedlab_report::amount;

/// What a check says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judgement {
    pub verdict: Verdict,
    /// Which bounds do not hold, or are not known to.
    pub why: Vec<String>,
    /// Between which values the change lies, where chance has a part.
    pub change: Option<(f64, f64)>,
    /// Which changes the bounds allow; none where there is nothing that the value is held against.
    pub allowed: Option<Allowed>,
    /// Whether a bound of the value itself does not hold.
    pub is_out_of_bounds: bool,
}

/// Between which numbers something lies; both ends are the same where nothing is left to chance.
type Range = (f64, f64);

/// Holds a value against its bounds. `from` is what it is held against, `level` that of each interval.
pub(crate) fn judge(metric: &Metric, bounds: &Bounds, from: Option<&Value>, to: &Value, level: f64) -> Judgement {
    let show = |value: f64| amount(metric, value);
    let allowed = from.map(|from| allowed(metric.better, bounds, from.number));
    let mut judgement =
        Judgement { verdict: Verdict::Met, why: Vec::new(), change: None, allowed, is_out_of_bounds: false };
    if let Some(from) = from {
        let change = difference(from, to, level);
        judgement.change = change.filter(|(low, high)| low != high);
        judgement.verdict = direction(change, metric.better);
        let worse = change.map(|(low, high)| if metric.better == Better::Higher { (-high, -low) } else { (low, high) });
        if let Some(allowed) = &bounds.worse {
            let told = format!("worse by more than {}", allowed.words(show));
            judgement.take(above(worse, allowed.of(from.number)), &told);
        }
        if let Some(allowed) = &bounds.differs {
            let told = format!("differs by more than {}", allowed.words(show));
            judgement.take(beyond(change, allowed, from.number), &told);
        }
    }
    let range = itself(to, level);
    let below = range.map(|(low, high)| (-high, -low));
    let over = bounds.max.map(|max| (above(range, max), format!("above {}", show(max))));
    let under = bounds.min.map(|min| (above(below, -min), format!("below {}", show(min))));
    for (is_broken, told) in over.into_iter().chain(under) {
        judgement.is_out_of_bounds |= is_broken == Some(true);
        judgement.take(is_broken, &told);
    }
    judgement
}

/// Which changes from a value all bounds together allow.
fn allowed(better: Better, bounds: &Bounds, from: f64) -> Allowed {
    let mut allowed = Allowed { least: bounds.min.map(|min| min - from), most: bounds.max.map(|max| max - from) };
    let lower = |old: Option<f64>, new: f64| Some(old.map_or(new, |old| old.max(new)));
    let upper = |old: Option<f64>, new: f64| Some(old.map_or(new, |old| old.min(new)));
    if let Some(worse) = &bounds.worse {
        match better {
            Better::Higher => allowed.least = lower(allowed.least, -worse.of(from)),
            _ => allowed.most = upper(allowed.most, worse.of(from)),
        }
    }
    if let Some(differs) = &bounds.differs {
        allowed.least = lower(allowed.least, -differs.of(from));
        allowed.most = upper(allowed.most, differs.of(from));
    }
    allowed
}

impl Judgement {
    /// Takes in what one bound says: whether it is broken, where that is known.
    fn take(&mut self, is_broken: Option<bool>, told: &str) {
        match is_broken {
            Some(false) => return,
            Some(true) => self.verdict = Verdict::Failed,
            None if self.verdict != Verdict::Failed => self.verdict = Verdict::Inconclusive,
            None => {}
        }
        let told = if is_broken.is_none() { format!("perhaps {told}") } else { told.into() };
        self.why.push(told);
    }
}

/// Whether what lies in a range is above a limit; nothing where it may be or may not.
fn above(range: Option<Range>, limit: f64) -> Option<bool> {
    match range? {
        (low, _) if low > limit => Some(true),
        (_, high) if high <= limit => Some(false),
        _ => None,
    }
}

/// Whether a change is beyond what is allowed, either way.
fn beyond(change: Option<Range>, allowed: &Tolerance, from: f64) -> Option<bool> {
    let (change, limit) = (change?, allowed.of(from));
    let ways = [above(Some(change), limit), above(Some((-change.1, -change.0)), limit)];
    match ways {
        [Some(false), Some(false)] => Some(false),
        [Some(true), _] | [_, Some(true)] => Some(true),
        _ => None,
    }
}

/// Which way a value has gone.
fn direction(change: Option<Range>, better: Better) -> Verdict {
    let Some((low, high)) = change else { return Verdict::Same };
    match better {
        _ if low <= 0.0 && high >= 0.0 => Verdict::Same,
        Better::Neither => Verdict::Within,
        Better::Lower if high < 0.0 => Verdict::Better,
        Better::Higher if low > 0.0 => Verdict::Better,
        _ => Verdict::Within,
    }
}

/// How far a value is from another one; nothing where a run of each says too little.
fn difference(from: &Value, to: &Value, level: f64) -> Option<Range> {
    let (Some(before), Some(after)) = (&from.runs, &to.runs) else {
        return Some((to.number - from.number, to.number - from.number));
    };
    let interval = compare(before, after, level)?.difference_interval?;
    Some((interval.low, interval.high))
}

/// Where a value itself lies.
fn itself(value: &Value, level: f64) -> Option<Range> {
    let Some(runs) = &value.runs else { return Some((value.number, value.number)) };
    if runs.len() < 2 {
        return None;
    }
    // Runs that all gave one number have no interval: that number is all there is.
    let interval = mean_interval(runs, level);
    Some(interval.map_or((value.number, value.number), |interval| (interval.low, interval.high)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::metric::{Unit, known};

    fn tolerance(text: &str, unit: Unit) -> Option<Tolerance> {
        Some(Tolerance::read(&format!("{text:?}").parse().unwrap(), unit).unwrap())
    }

    fn verdict(path: &str, bounds: Bounds, from: &Value, to: &Value) -> Verdict {
        judge(known(path).metric, &bounds, Some(from), to, 0.95).verdict
    }

    #[test]
    fn worse_is_what_the_metric_says() {
        let (less, more) = (Value::exact(0.90), Value::exact(0.95));
        let of = |path, unit, text| {
            let bounds = Bounds { worse: tolerance(text, unit), ..Bounds::default() };
            [
                verdict(path, bounds, &less, &more),
                verdict(path, bounds, &more, &less),
                verdict(path, bounds, &less, &less),
            ]
        };
        assert_eq!(of("jain", Unit::Ratio, "1 %"), [Verdict::Better, Verdict::Failed, Verdict::Same]);
        assert_eq!(of("jain", Unit::Ratio, "10 %"), [Verdict::Better, Verdict::Within, Verdict::Same]);
        let imbalance = of("imbalance.tasks", Unit::Ratio, "1 %");
        assert_eq!(imbalance, [Verdict::Failed, Verdict::Better, Verdict::Same]);
    }

    #[test]
    fn a_change_can_be_asked_for_both_ways() {
        let (less, more) = (Value::exact(100.0), Value::exact(104.0));
        let bounds = |text| Bounds { differs: tolerance(text, Unit::Count), ..Bounds::default() };
        for (from, to) in [(&less, &more), (&more, &less)] {
            assert_eq!(verdict("migrations", bounds("3 %"), from, to), Verdict::Failed);
            assert_eq!(verdict("migrations", bounds("5 %"), from, to), Verdict::Within);
        }
        let both = Bounds { worse: tolerance("0 %", Unit::Ns), ..bounds("10 %") };
        assert_eq!(verdict("response_ns.p99", both, &more, &less), Verdict::Better);
        assert_eq!(verdict("response_ns.p99", both, &more, &Value::exact(50.0)), Verdict::Failed);
    }

    #[test]
    fn from_nothing_any_part_is_too_much() {
        let (nothing, one) = (Value::exact(0.0), Value::exact(1.0));
        let bounds = |worse| Bounds { worse, ..Bounds::default() };
        let parts = bounds(tolerance("50 %", Unit::Count));
        assert_eq!(verdict("lost", parts, &nothing, &one), Verdict::Failed);
        assert_eq!(verdict("lost", bounds(tolerance("1", Unit::Count)), &nothing, &one), Verdict::Within);
    }

    #[test]
    fn the_narrowest_bound_is_what_is_allowed() {
        let bounds = Bounds {
            worse: tolerance("3 %", Unit::Ns),
            differs: tolerance("10 %", Unit::Ns),
            max: Some(102.0),
            ..Bounds::default()
        };
        let of = |path: &str, from: Option<&Value>| {
            judge(known(path).metric, &bounds, from, &Value::exact(100.0), 0.95).allowed
        };
        let close = |value: Option<f64>, to: f64| value.is_some_and(|value| (value - to).abs() < 1e-6);
        let response = of("response_ns.p99", Some(&Value::exact(100.0))).unwrap();
        assert!(close(response.least, -10.0) && close(response.most, 2.0), "{response:?}");
        let rate = of("throughput_per_s", Some(&Value::exact(100.0))).unwrap();
        assert!(close(rate.least, -3.0) && close(rate.most, 2.0), "{rate:?}");
        assert_eq!(of("response_ns.p99", None), None);
        // What it is held against may be above the bound already: then nothing less than that decrease is allowed.
        let above = of("response_ns.p99", Some(&Value::exact(112.0))).unwrap();
        assert!(close(above.most, -10.0), "{above:?}");
    }

    #[test]
    fn what_chance_touches_is_judged_by_its_interval() {
        let runs = |base: f64| Value::of_runs((0..20).map(|run| base + f64::from(run % 5)).collect());
        let bounds = Bounds { worse: tolerance("3 %", Unit::Ns), ..Bounds::default() };
        let of = |to: f64| verdict("response_ns.p99", bounds, &runs(100.0), &runs(to));
        assert_eq!(
            [of(100.0), of(101.5), of(103.0), of(110.0)],
            [Verdict::Same, Verdict::Within, Verdict::Inconclusive, Verdict::Failed]
        );
        assert_eq!(of(90.0), Verdict::Better);
        let limits = |to: f64| {
            let bounds = Bounds { max: Some(105.0), ..Bounds::default() };
            judge(known("response_ns.p99").metric, &bounds, None, &runs(to), 0.95).verdict
        };
        assert_eq!(
            [limits(100.0), limits(103.0), limits(110.0)],
            [Verdict::Met, Verdict::Inconclusive, Verdict::Failed]
        );
    }

    #[test]
    fn bounds_that_do_not_hold_are_named() {
        let metric = known("response_ns.p99").metric;
        let bounds = Bounds { max: Some(20e6), worse: tolerance("1 %", Unit::Ns), ..Bounds::default() };
        let judgement = judge(metric, &bounds, Some(&Value::exact(20e6)), &Value::exact(25e6), 0.95);
        assert_eq!(judgement.why, ["worse by more than 1 %", "above 20 ms"]);
        let below = Bounds { min: Some(0.9), ..Bounds::default() };
        let judgement = judge(known("jain").metric, &below, None, &Value::exact(0.5), 0.95);
        assert_eq!(judgement.why, ["below 0.9000"]);
    }
}
