//! What the source prints, item by item: where the study shows it and with which verdict, or why it is left out.

use crate::language::{Question, Study};
use crate::page::{Answered, flat};
use schedlab_boundary::markdown::line;
use schedlab_model::scenario::OneOrMany;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// A table, a figure, an equation or a number of the source.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Its name, by which values, tables and pictures say that they show it.
    pub item: String,
    /// What the source prints there.
    #[serde(default)]
    pub prints: String,
    /// Why nothing here shows it.
    #[serde(default)]
    pub left_out: Option<String>,
}

/// An item with what shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Covered {
    /// Its number in the list of the study.
    pub number: usize,
    /// Its name.
    pub item: String,
    /// What the source prints there.
    pub prints: String,
    /// Where it is shown.
    pub here: Vec<Shown>,
    /// Why it is not, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// A row or a picture that shows an item.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// The question in which it stands.
    pub question: String,
    /// `value`, `table` or `picture`.
    pub kind: &'static str,
    /// What it is.
    pub what: String,
    /// The verdict, of a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<&'static str>,
    /// Why it differs or cannot be compared, and what was seen in the run that shows it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The items that something says to show.
pub(crate) fn named(items: &Option<OneOrMany>) -> &[String] {
    items.as_ref().map_or(&[], OneOrMany::all)
}

impl Question {
    /// Everything in it that may show items, with its key and place, and the items that it names.
    fn showing(&self) -> impl Iterator<Item = (&'static str, usize, &[String])> {
        let values = self.values.iter().map(|value| &value.item).enumerate().map(|(at, items)| ("value", at, items));
        let tables = self.tables.iter().map(|table| &table.item).enumerate().map(|(at, items)| ("table", at, items));
        let charts = self.charts.iter().map(|chart| &chart.item).enumerate().map(|(at, items)| ("chart", at, items));
        let overheads = self.overheads.iter().map(|overhead| &overhead.item).enumerate();
        let overheads = overheads.map(|(at, items)| ("overhead", at, items));
        values.chain(tables).chain(charts).chain(overheads).map(|(key, at, items)| (key, at, named(items)))
    }
}

impl Study {
    /// What is wrong with the list of items: one that is neither shown nor left out, a name that is not in it, and a
    /// published value that says nothing of where it comes from.
    pub(crate) fn fault_of_items(&self) -> Option<(String, String)> {
        let is_known = |name: &String| self.paper.iter().any(|item| item.item == *name);
        for (q, question) in self.questions.iter().enumerate() {
            for (key, at, items) in question.showing() {
                if let Some(unknown) = items.iter().find(|name| !is_known(name)) {
                    let message = format!("`paper` has no item `{unknown}`");
                    return Some((format!("question[{q}].{key}[{at}].item"), message));
                }
            }
            let is_nameless = |value: &crate::ValueSpec| value.published.is_some() && value.item.is_none();
            if let Some(v) = question.values.iter().position(is_nameless).filter(|_| !self.paper.is_empty()) {
                return Some((format!("question[{q}].value[{v}]"), "which `item` of `paper` is this?".into()));
            }
        }
        for (number, item) in self.paper.iter().enumerate() {
            let at = format!("paper[{number}].item");
            if self.paper[..number].iter().any(|before| before.item == item.item) {
                return Some((at, format!("there is another item `{}`", item.item)));
            }
            let is_shown =
                self.questions.iter().flat_map(Question::showing).any(|(.., names)| names.contains(&item.item));
            match (&item.left_out, is_shown) {
                (None, false) => return Some((at, "nothing shows this item: say `left_out`, and why".into())),
                (Some(_), true) => return Some((at, "this item is left out, and something shows it".into())),
                _ => {}
            }
        }
        None
    }
}

/// Each item with what shows it, after all questions were asked.
pub(crate) fn coverage(study: &Study, questions: &[Answered]) -> Vec<Covered> {
    let covered = |(number, item): (usize, &Item)| Covered {
        number: number + 1,
        item: item.item.clone(),
        prints: item.prints.clone(),
        here: study.questions.iter().zip(questions).flat_map(|(asked, seen)| shown(&item.item, asked, seen)).collect(),
        left_out: item.left_out.as_deref().map(flat),
    };
    study.paper.iter().enumerate().map(covered).collect()
}

/// What shows an item in a question.
fn shown(item: &String, asked: &Question, seen: &Answered) -> Vec<Shown> {
    let of = |kind: &'static str, what: &str| Shown {
        question: asked.id.clone(),
        kind,
        what: what.into(),
        verdict: None,
        reason: String::new(),
    };
    let values = seen.values.iter().filter(|row| row.items.contains(item)).map(|row| Shown {
        verdict: Some(row.judged.verdict.words()),
        reason: row.judged.because().unwrap_or_default(),
        ..of("value", &row.judged.what)
    });
    let tables = asked.tables.iter().filter(|table| named(&table.item).contains(item));
    let overheads = asked.overheads.iter().filter(|overhead| named(&overhead.item).contains(item));
    let charts = asked.charts.iter().filter(|chart| named(&chart.item).contains(item));
    let tables = tables.map(|table| of("table", &table.title)).chain(overheads.map(|table| of("table", &table.title)));
    values.chain(tables).chain(charts.map(|chart| of("picture", &chart.title))).collect()
}

/// As rows of words: number, item, where it is shown, verdict, reason.
pub fn rows(items: &[Covered]) -> Vec<[String; 5]> {
    let mut rows = Vec::new();
    for item in items {
        let prints = if item.prints.is_empty() { String::new() } else { format!(": {}", item.prints) };
        let mut head = [item.number.to_string(), format!("{}{prints}", item.item)];
        if let Some(why) = &item.left_out {
            let [number, name] = head.clone();
            rows.push([number, name, "-".into(), "left out".into(), why.clone()]);
        }
        for shown in &item.here {
            let [number, name] = std::mem::take(&mut head);
            let verdict = shown.verdict.unwrap_or("-").to_string();
            let here = format!("{} in `{}`: {}", shown.kind, shown.question, shown.what);
            rows.push([number, name, here, verdict, shown.reason.clone()]);
        }
    }
    rows
}

/// The heads of [`rows`].
pub const HEADS: [&str; 5] = ["no.", "in the source", "here", "verdict", "why, and the run that shows it"];

/// As a table of Markdown.
pub(crate) fn markdown(items: &[Covered]) -> String {
    let mut text = format!("| {} |\n|{}\n", HEADS.join(" | "), "---|".repeat(HEADS.len()));
    for row in rows(items) {
        let cells: Vec<String> = row.iter().map(|cell| line(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}
