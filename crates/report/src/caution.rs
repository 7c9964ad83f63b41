//! What a reader has to know before believing numbers, and which numbers it touches.

use crate::result::duration;
use crate::{Column, Style, wrap};
use schedlab_model::result::{GroupResult, RunResult};

/// With fewer runs than this intervals are too narrow.
const FEWEST_RUNS: u32 = 10;

/// Something to know, with a remedy where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution {
    /// In a sentence.
    pub text: String,
    /// The numbers that are touched.
    pub reach: Reach,
}

/// Which numbers are touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All of the result.
    All,
    /// Response times of these groups.
    Responses(Vec<usize>),
    /// Intervals over runs.
    Intervals,
    /// None that is there.
    Nothing,
}

/// What kind of number stands in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A response time.
    Response,
    /// An end of an interval over runs.
    Interval,
    /// Another one.
    Other,
}

impl Caution {
    fn touches(&self, number: Number, group: usize) -> bool {
        match &self.reach {
            Reach::All => true,
            Reach::Responses(groups) => number == Number::Response && groups.contains(&group),
            Reach::Intervals => number == Number::Interval,
            Reach::Nothing => false,
        }
    }
}

/// What is to be known about a number of a group; none where nothing touches it.
pub fn note(cautions: &[Caution], number: Number, group: usize) -> Option<String> {
    let touching = cautions.iter().filter(|caution| caution.touches(number, group));
    let texts: Vec<&str> = touching.map(|caution| caution.text.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// Columns with what is to be known about their numbers. `notes` gives it for a kind of number, a cell for each row.
pub(crate) fn noted(columns: Vec<Column>, notes: &dyn Fn(Number) -> Vec<Option<String>>) -> Vec<Column> {
    let number = |column: &Column| if column.shared_head() == "response" { Number::Response } else { Number::Other };
    let with_notes = |column: Column| {
        if column.is_words() {
            return column;
        }
        let notes = notes(number(&column));
        column.noted(notes)
    };
    columns.into_iter().map(with_notes).collect()
}

/// What a reader has to know before believing the numbers of a policy.
pub fn cautions(result: &RunResult, policy: &str) -> Vec<Caution> {
    let mut cautions = gaps(result);
    cautions.extend(silence(result));
    let starving = result.groups.iter().enumerate().filter_map(|(index, group)| Some((index, starved(group, policy)?)));
    cautions.extend(starving.map(|(index, text)| Caution { text, reach: Reach::Responses(vec![index]) }));
    if result.runs.as_ref().is_some_and(|runs| runs.count < FEWEST_RUNS) {
        let text = format!("Intervals of fewer than {FEWEST_RUNS} runs are too narrow; take --runs 30.");
        cautions.push(Caution { text, reach: Reach::Intervals });
    }
    cautions
}

/// Groups without a response time.
fn silence(result: &RunResult) -> Option<Caution> {
    let is_silent = |(_, group): &(usize, &GroupResult)| group.measures.requests == 0 && group.count > 0;
    let (indices, groups): (Vec<usize>, Vec<&GroupResult>) = result.groups.iter().enumerate().filter(is_silent).unzip();
    let names = groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>().join(", ");
    let text = format!("No request of {names} ended while it was measured; a longer --duration may show some.");
    (!indices.is_empty()).then_some(Caution { text, reach: Reach::Responses(indices) })
}

/// What the numbers do not hold, and why.
pub(crate) fn gaps(result: &RunResult) -> Vec<Caution> {
    let mut gaps = Vec::new();
    if result.partial {
        let end = duration(result.duration_ns);
        let runs = result.runs.as_ref().map_or(String::new(), |runs| format!(" of {} runs", runs.count));
        let text = format!("PARTIAL: stopped before the end; these are the numbers{runs} up to {end}.");
        gaps.push(Caution { text, reach: Reach::All });
    }
    if result.lost > 0 {
        let text = format!("{} events were lost; every number may be touched by that.", result.lost);
        gaps.push(Caution { text, reach: Reach::All });
    }
    let missing = result.missing.iter().map(|missing| format!("Not measured in {}: {missing}.", result.venue));
    gaps.extend(missing.map(|text| Caution { text, reach: Reach::Nothing }));
    gaps
}

/// Requests that never end are in no response time, so a policy that lets some starve looks fast.
pub(crate) fn starved(group: &GroupResult, policy: &str) -> Option<String> {
    let measures = &group.measures;
    let longest_response = measures.response_ns?.max;
    // A request of a task that never ran has not begun, but its task waits.
    let waits = measures.longest_wait_ns.max(measures.open_age_ns.map(|ages| ages.max));
    let longest_wait = waits.filter(|wait| *wait > 2 * longest_response)?;
    let (group, wait) = (&group.name, duration(longest_wait));
    Some(format!("Under {policy} a task of {group} waited for {wait}: the response times do not show what never ends."))
}

/// A paragraph for each, below a page.
pub(crate) fn warnings<'a>(cautions: impl IntoIterator<Item = &'a str>, style: Style) -> String {
    let text: String = cautions.into_iter().map(|caution| style.warning(&wrap("", 0, caution))).collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// The sentences of cautions.
pub(crate) fn texts(cautions: &[Caution]) -> impl Iterator<Item = &str> {
    cautions.iter().map(|caution| caution.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_stands_at_the_numbers_it_is_about() {
        let of = |text: &str, reach| Caution { text: text.into(), reach };
        let cautions = [
            of("Lost.", Reach::All),
            of("Starves.", Reach::Responses(vec![1])),
            of("Narrow.", Reach::Intervals),
            of("Missing.", Reach::Nothing),
        ];
        let at = |number, group| note(&cautions, number, group).unwrap();
        assert_eq!(at(Number::Response, 1), "Lost. Starves.");
        assert_eq!((at(Number::Response, 0), at(Number::Other, 1)), ("Lost.".into(), "Lost.".into()));
        assert_eq!(at(Number::Interval, 0), "Lost. Narrow.");
        assert_eq!(note(&cautions[1..], Number::Other, 1), None);
    }
}
