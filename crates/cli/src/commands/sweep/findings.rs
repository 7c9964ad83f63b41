//! What a sweep came to, for the terminal and for files.

use schedlab_model::metric;
use schedlab_model::time::Time;
use schedlab_report::export::{Failed, Findings};
use schedlab_report::{Column, Style, Table, amount, wrap};
use schedlab_sweep::{Measured, Place, Point, Reason, Tally};

/// How many runs of each policy there are and failed, and why.
pub fn page(tallies: &[Tally], style: Style) -> String {
    let reasons = failures(tallies).map(|failed| wrap("- ", 2, &failed.why)).collect::<String>();
    let gap = if reasons.is_empty() { "" } else { "\n" };
    format!("{}{gap}{reasons}", runs(tallies).show(style))
}

/// Everything that files have of it.
pub fn findings(title: &str, tallies: &[Tally], measured: &Measured) -> Findings {
    Findings {
        answer: vec![format!("{title}.")],
        failures: failures(tallies).collect(),
        ..Findings::of([("Runs", runs(tallies)), ("Means", means(measured))])
    }
}

fn runs(tallies: &[Tally]) -> Table {
    let numbers =
        |head: &str, of: fn(&Tally) -> usize| Column::numbers(head, tallies.iter().map(|tally| of(tally).to_string()));
    Table::new([
        Column::words("policy", tallies.iter().map(|tally| tally.policy.clone())),
        numbers("runs", |tally| tally.runs),
        numbers("failed", |tally| tally.failed),
    ])
}

/// Each reason of each policy.
fn failures(tallies: &[Tally]) -> impl Iterator<Item = Failed> {
    tallies.iter().flat_map(|tally| {
        tally.failures.iter().map(|Reason { why, runs }| {
            Failed::policy(&tally.policy, &format!("{}: {runs} of {} runs failed: {why}", tally.policy, tally.runs))
        })
    })
}

/// The mean of each measure over the runs at each place.
fn means(measured: &Measured) -> Table {
    let points = || measured.points.iter();
    let words = |head: &str, of: &dyn Fn(&Point) -> String| Column::words(head, points().map(of));
    let names = [words("policy", &|point| point.policy.clone()), words("role", &|point| point.role.clone())];
    let axis = |(index, axis): (usize, &schedlab_sweep::AxisView)| {
        let number = |point: &Point| match point.places[index] {
            Place::Number(number) => Some(number),
            Place::Word(_) => None,
        };
        let shown = words(&axis.key, &|point| shown(&point.places[index], axis.is_time));
        match points().any(|point| number(point).is_some()) {
            true => shown.exactly(&axis.key, points().map(number)),
            false => shown,
        }
    };
    let measure = |(index, path): (usize, &String)| {
        let means: Vec<Option<f64>> = points().map(|point| mean(&point.values[index])).collect();
        let shown = |mean: &Option<f64>| match (mean, metric::find(path)) {
            (Some(mean), Ok(found)) => amount(found.metric, *mean),
            _ => "-".into(),
        };
        Column::numbers(path, means.iter().map(shown).collect::<Vec<_>>()).exactly(path, means)
    };
    let axes = measured.axes.iter().enumerate().map(axis);
    Table::new(names.into_iter().chain(axes).chain(measured.measures.iter().enumerate().map(measure)))
}

fn shown(place: &Place, is_time: bool) -> String {
    match place {
        Place::Number(ns) if is_time => Time(*ns as u64).to_string(),
        Place::Number(number) => number.to_string(),
        Place::Word(word) => word.clone(),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_fails_says_why() {
        let lost = Tally {
            policy: "never".into(),
            runs: 2,
            failed: 2,
            failures: vec![Reason { why: "it does not load".into(), runs: 2 }],
        };
        let tallies = [Tally { policy: "rr".into(), runs: 2, ..Tally::default() }, lost];
        let page = page(&tallies, Style::PLAIN);
        assert!(page.contains("never      2       2\n"), "{page}");
        assert!(page.ends_with("\n\n- never: 2 of 2 runs failed: it does not load\n"), "{page}");
        assert_eq!(failures(&tallies).count(), 1);
    }
}
