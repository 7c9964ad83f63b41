//! A report for people.

use crate::report::{Counts, FirstDifference, Report, Row, Value, Verdict};
use schedlab_model::count::counted;
use schedlab_model::metric::Metric;
use schedlab_model::selector::Selector;
use schedlab_report::export::Findings;
use schedlab_report::{Column, Style, Table, amount, wrap};

impl Report {
    /// The page. It only counts what did not change, unless `all` is set.
    pub fn show(&self, all: bool, style: Style) -> String {
        let mut page = wrap("", 0, &style.bold(&self.headline()));
        let is_shown = |row: &&Row| all || row.is_worth_a_look();
        let rows: Vec<&Row> = self.checks.iter().filter(is_shown).collect();
        page += &tables(&rows, style);
        let untold = self.checks.len() - rows.len();
        if untold > 0 && !rows.is_empty() {
            let others = counted(untold as u64, "other check");
            page += &format!("\n{others} passed, unchanged.\n");
        }
        for line in self.remarks() {
            page += &format!("\n{}", wrap("", 2, &line));
        }
        page
    }

    /// What a new baseline changes, to be read before it is committed.
    pub fn updated(&self, file: &str, style: Style) -> String {
        let held = || self.checks.iter().filter(|row| row.is_held());
        let new = held().filter(|row| row.from.is_none() && row.to.is_some()).count();
        let changed: Vec<&Row> = held().filter(|row| row.is_changed()).collect();
        let counts = format!("{}, {new} new, {} changed", counted(held().count() as u64, "value"), changed.len());
        let page = wrap("", 0, &style.bold(&format!("{file} is written: {counts}")));
        page + &tables(&changed, style)
    }

    /// Everything that files have of it: all checks, a table for each case with its name.
    pub fn findings(&self) -> Findings {
        let rows: Vec<&Row> = self.checks.iter().collect();
        Findings {
            answer: vec![format!("{}.", self.headline())],
            points: self.reasons(),
            cautions: self.cautions.clone(),
            ..Findings::of(cases(&rows).into_iter().map(|(name, rows)| (name, table(&rows))))
        }
    }

    /// In a sentence, what came of it.
    pub fn headline(&self) -> String {
        let Counts { checks, failed, absent, inconclusive, better, within } = self.counts;
        let all = counted(checks as u64, "check");
        let parts = [
            (failed, "failed", "failed"),
            (absent, "has no value", "have no value"),
            (inconclusive, "is inconclusive", "are inconclusive"),
            (better, "improved", "improved"),
            (within, "changed within its bounds", "changed within their bounds"),
        ];
        let told = parts.iter().filter(|(count, ..)| *count > 0).enumerate().map(|(place, &(count, one, many))| {
            let of = if place == 0 { format!(" of {all}") } else { String::new() };
            format!("{count}{of} {}", if count == 1 { one } else { many })
        });
        let told: Vec<String> = told.collect();
        let partial = if self.partial { " (PARTIAL: it was stopped)" } else { "" };
        let end = match (failed + absent, inconclusive) {
            (0, 0) => "passed",
            (0, _) => "is inconclusive",
            _ => "failed",
        };
        match told.is_empty() {
            true => format!("{} {end}: {all}, nothing changed{partial}", self.gate),
            false => format!("{} {end}: {}{partial}", self.gate, told.join(", ")),
        }
    }

    /// What there is to say below the table: reasons, first differences, cautions.
    pub fn remarks(&self) -> Vec<String> {
        let mut lines = self.reasons();
        lines.extend(self.cautions.iter().cloned());
        lines
    }

    /// Why checks came out as they did, and where runs begin to differ.
    fn reasons(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for row in self.checks.iter().filter(|row| !row.why.is_empty()) {
            let line = format!("{}: {}.", row.name(), row.why.join(", "));
            if row.verdict != Verdict::Same && !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.extend(self.first_differences.iter().map(FirstDifference::words));
        lines
    }
}

/// A table for each case, that with what is worst first.
fn tables(rows: &[&Row], style: Style) -> String {
    let of_case = |(name, rows): (String, Vec<&Row>)| format!("\n{}{}", wrap("", 2, &name), table(&rows).show(style));
    cases(rows).into_iter().map(of_case).collect()
}

/// Rows by their cases, each with its name, in the order of the rows.
pub fn cases<'a>(rows: &[&'a Row]) -> Vec<(String, Vec<&'a Row>)> {
    let mut cases: Vec<([&str; 3], Vec<&Row>)> = Vec::new();
    for row in rows {
        match cases.iter_mut().find(|(case, _)| *case == row.case()) {
            Some((_, own)) => own.push(row),
            None => cases.push((row.case(), vec![row])),
        }
    }
    let named = |([scenario, policy, venue], rows): ([&str; 3], Vec<&'a Row>)| {
        (format!("{scenario} under {policy} in {venue}"), rows)
    };
    cases.into_iter().map(named).collect()
}

/// The rows of a case as a table. Programs read the case too, and numbers in the unit that the metric's name ends in.
pub fn table(rows: &[&Row]) -> Table {
    let column = |head: &str, of: &dyn Fn(&Row) -> String| Column::words(head, rows.iter().map(|row| of(row)));
    let numbers = |head: &str, of: &dyn Fn(&Row) -> String| Column::numbers(head, rows.iter().map(|row| of(row)));
    let exact = |of: &dyn Fn(&Row) -> Option<f64>| rows.iter().map(|row| of(row)).collect::<Vec<_>>();
    let number = |value: &Option<Value>| value.as_ref().map(|value| value.number);
    let case = vec![
        column("scenario", &|row| row.scenario.clone()),
        column("policy", &|row| row.policy.clone()),
        column("venue", &|row| row.venue.clone()),
        column("metric", &|row| row.metric.clone()),
    ];
    Table::new([
        column("metric", &|row| row.metric.strip_prefix("roles.").unwrap_or(&row.metric).into()).in_parts(case),
        numbers("from", &|row| row.shown(&row.from)).exactly("from", exact(&|row| number(&row.from))),
        numbers("to", &|row| row.shown(&row.to)).exactly("to", exact(&|row| number(&row.to))),
        numbers("change", &Row::change_words).exactly("change %", exact(&Row::change_percent)),
        column("", &|row| row.verdict.words().into()).called("verdict"),
    ])
}

impl Row {
    /// Whether a reader wants to see it.
    pub fn is_worth_a_look(&self) -> bool {
        !matches!(self.verdict, Verdict::Same | Verdict::Met)
    }

    /// What it is about, in words.
    pub fn name(&self) -> String {
        format!("{} under {} in {}, {}", self.scenario, self.policy, self.venue, self.metric)
    }

    fn about(&self) -> Option<&'static Metric> {
        Selector::parse(&self.metric).ok().map(|selector| selector.metric())
    }

    /// One of its values with its unit.
    pub fn shown(&self, value: &Option<Value>) -> String {
        match (value, self.about()) {
            (Some(value), Some(metric)) => amount(metric, value.number),
            (Some(value), None) => value.number.to_string(),
            (None, _) => "-".into(),
        }
    }

    /// How far it went, in percent of where it was: not finite where that is zero.
    fn change_percent(&self) -> Option<f64> {
        let change = self.to.as_ref()?.number - self.from.as_ref()?.number;
        Some(if change == 0.0 { 0.0 } else { 100.0 * change / self.from.as_ref()?.number.abs() })
    }

    /// The same in words.
    pub(crate) fn change_words(&self) -> String {
        let Some(percent) = self.change_percent() else { return "-".into() };
        match percent {
            0.0 => "0".into(),
            _ if !percent.is_finite() => "new".into(),
            _ if percent.abs() < 0.05 => format!("{percent:+.1e} %"),
            _ => format!("{percent:+.1} %"),
        }
    }
}

impl FirstDifference {
    /// In a sentence or two.
    pub fn words(&self) -> String {
        let FirstDifference { scenario, policy, venue, against, same_switches, before, after } = self;
        let told = |switch: &Option<crate::Switch>| {
            switch.as_ref().map_or("there are no more switches".to_string(), crate::Switch::words)
        };
        let same = match same_switches {
            0 => "the first switch is another already".into(),
            1 => "the first switch is the same".to_string(),
            count => format!("the first {count} switches are the same"),
        };
        format!(
            "{scenario} under {policy} in {venue}, against {against}: {same}. Before, {}; now {}.",
            told(before),
            told(after)
        )
    }
}
