//! A comparison as files have it: its labels in parts, and its differences as a table.

use super::{Comparison, Difference};
use crate::export::Findings;
use crate::{Column, Quantity, Table, amount, others};
use schedlab_model::metric::known;
use serde_json::Value;

impl Comparison {
    /// Everything that files have of it, but for what failed.
    pub fn findings(&self) -> Findings {
        let mut tables = if self.results.is_empty() { Vec::new() } else { self.tables() };
        tables.extend(self.difference_table().map(|table| ("Differences", table)));
        let parts = |labels: &[String]| self.parts(labels);
        let tables = tables
            .into_iter()
            .map(|(title, table)| (title, table.labelled("policy", parts).labelled("variant", parts)));
        let headline = self.conclusion.iter().map(|conclusion| conclusion.headline.clone());
        let sources = Some(self.sources()).filter(|sources| !sources.is_empty());
        let sources = sources.map(|sources| format!("Published in: {sources}."));
        let mut cautions = self.cautions();
        cautions.extend(others::figure_lines(self.policies.iter().zip(&self.results)));
        Findings {
            answer: headline.chain(self.basis()).chain(sources).collect(),
            points: self.conclusion.as_ref().map_or_else(Vec::new, |conclusion| conclusion.points()),
            cautions,
            ..Findings::of(tables)
        }
    }

    /// What programs read instead of labels: the scenario, the policy, what is varied, and the venue. A label that is empty, as
    /// below another of the same policy, has empty parts.
    fn parts(&self, labels: &[String]) -> Vec<Column> {
        let places: Vec<Option<usize>> =
            labels.iter().map(|label| self.policies.iter().position(|policy| policy == label)).collect();
        let column = |head: &str, of: &dyn Fn(usize) -> String| {
            Column::words(head, places.iter().map(|place| place.map_or_else(String::new, of)))
        };
        let mut parts = vec![
            column("scenario", &|place| self.results[place].scenario().name.clone()),
            column("policy", &|place| self.policy_alone(place)),
        ];
        if !self.variants.is_empty() {
            parts.push(column("variant", &|place| self.policies[place].clone()));
        }
        let paths = self.variants.first().into_iter().flat_map(|settings| settings.keys());
        parts.extend(paths.map(|path| column(path, &|place| setting(self.variants[place].get(path)))));
        parts.push(column("venue", &|place| self.results[place].venue().to_string()));
        parts
    }

    /// A policy without its venue and without what is varied.
    fn policy_alone(&self, place: usize) -> String {
        let (label, result) = (&self.policies[place], &self.results[place]);
        if !self.variants.is_empty() {
            return result.policy().name.clone();
        }
        label.strip_suffix(&format!("@{}", result.venue())).unwrap_or(label).into()
    }

    /// How each other policy differs from the baseline.
    fn difference_table(&self) -> Option<Table> {
        let rows = &self.differences;
        let words = |head: &str, of: &dyn Fn(&Difference) -> &str| {
            Column::words(head, rows.iter().map(|row| of(row).to_string()))
        };
        let ratio = |head: &str, of: &dyn Fn(&Difference) -> Option<f64>| {
            let values: Vec<Option<f64>> = rows.iter().map(of).collect();
            let shown = values.iter().map(|value| Quantity::with_decimals(3).show(*value)).collect::<Vec<_>>();
            let key = format!("ratio {head}");
            Column::numbers(head, shown).under("ratio").exactly(key.trim(), values)
        };
        let difference = |head: &str, of: &dyn Fn(&Difference) -> Option<f64>| {
            let shown = |row: &Difference| of(row).map_or("-".into(), |value| amount(known(&row.metric).metric, value));
            let key = format!("difference {head}");
            Column::numbers(head, rows.iter().map(shown).collect::<Vec<_>>())
                .under("difference")
                .exactly(key.trim(), rows.iter().map(of))
        };
        let mut columns = vec![
            words(self.what(), &|row| &row.policy),
            words("baseline", &|row| &row.baseline),
            words("role", &|row| &row.role),
            words("metric", &|row| &row.metric),
            ratio("", &|row| row.gap.ratio),
            ratio("from", &|row| row.gap.ratio_interval.map(|interval| interval.low)),
            ratio("to", &|row| row.gap.ratio_interval.map(|interval| interval.high)),
            difference("", &|row| Some(row.gap.difference)),
            difference("from", &|row| row.gap.difference_interval.map(|interval| interval.low)),
            difference("to", &|row| row.gap.difference_interval.map(|interval| interval.high)),
            words("verdict", &|row| &row.verdict),
        ];
        if rows.iter().any(|row| row.caution.is_some()) {
            columns.push(words("caution", &|row| row.caution.as_deref().unwrap_or_default()));
        }
        (!rows.is_empty()).then(|| Table::new(columns))
    }
}

/// What a path is set to, as the command line has it.
fn setting(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}
