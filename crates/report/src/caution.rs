//! What a reader has to know before believing numbers, and which numbers it touches.

use crate::others::legend;
use crate::result::{duration, has_intervals};
use crate::table::MARK;
use crate::{Column, Style, wrap};
use schedlab_model::count::numbered;
use schedlab_model::metric;
use schedlab_model::outcome::{Outcome, RoleView};

/// With fewer runs than this intervals are unreliable.
pub const FEWEST_RUNS: u32 = 10;

/// The caution about intervals over too few runs. One run has no interval, and enough runs need no caution.
pub fn few_runs(runs: u32) -> Option<String> {
    (2..FEWEST_RUNS)
        .contains(&runs)
        .then(|| format!("Intervals of fewer than {FEWEST_RUNS} runs are unreliable; take --runs 30."))
}

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
    /// All of the result: every number gets a mark, and the caution follows the table.
    Marked,
    /// Response times of these roles.
    Responses(Vec<usize>),
    /// Intervals over runs.
    Intervals,
    /// None that is there.
    Nothing,
}

/// What kind of number is in a cell.
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
    fn touches(&self, number: Number, role: usize) -> bool {
        match &self.reach {
            Reach::All | Reach::Marked => true,
            Reach::Responses(roles) => number == Number::Response && roles.contains(&role),
            Reach::Intervals => number == Number::Interval,
            Reach::Nothing => false,
        }
    }
}

/// What is to be known about a number of a role; none where nothing touches it.
pub fn note(cautions: &[Caution], number: Number, role: usize) -> Option<String> {
    let touching = cautions.iter().filter(|caution| caution.touches(number, role));
    let texts: Vec<&str> = touching.map(|caution| caution.text.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// Columns with what is to be known about their numbers. `notes` gives it for a kind of number, a cell for each row.
/// `marks` says in which rows there is a mark at each number.
pub(crate) fn noted(
    columns: Vec<Column>,
    marks: &[bool],
    notes: &dyn Fn(Number) -> Vec<Option<String>>,
) -> Vec<Column> {
    let number = |column: &Column| if column.shared_head() == "response" { Number::Response } else { Number::Other };
    let with_notes = |column: Column| {
        if column.is_words() {
            return column;
        }
        let notes = notes(number(&column));
        column.noted(notes).marked(marks.to_vec())
    };
    columns.into_iter().map(with_notes).collect()
}

/// What a reader has to know before believing the numbers of a policy. `shown` are the metrics of roles that are shown.
pub fn cautions(result: &Outcome, policy: &str, shown: &[&str]) -> Vec<Caution> {
    let mut cautions = gaps(result);
    cautions.extend(legend(result, policy).map(|text| Caution { text, reach: Reach::Marked }));
    let roles = result.roles();
    cautions.extend(silence(&roles));
    cautions.extend(roles.iter().flat_map(|role| partly_known(role, policy, result.runs(), shown)));
    let starving = roles.iter().enumerate().filter_map(|(index, role)| Some((index, starved(role, policy)?)));
    cautions.extend(starving.map(|(index, text)| Caution { text, reach: Reach::Responses(vec![index]) }));
    let few = few_runs(result.runs()).filter(|_| has_intervals(result));
    cautions.extend(few.map(|text| Caution { text, reach: Reach::Intervals }));
    cautions
}

/// Roles without a response time.
fn silence(roles: &[RoleView]) -> Option<Caution> {
    let is_silent = |(_, role): &(usize, &RoleView)| {
        role.metrics.get("requests") == Some(0.0) && role.metrics.get("count") > Some(0.0)
    };
    let (indices, roles): (Vec<usize>, Vec<&RoleView>) = roles.iter().enumerate().filter(is_silent).unzip();
    let names = roles.iter().map(|role| role.name).collect::<Vec<_>>().join(", ");
    // To tasks that get no CPU a longer run is of no use.
    let has_cpu = roles.iter().any(|role| role.starvation().iter().all(Option::is_none));
    let remedy = if has_cpu { "; a longer --duration may show some" } else { "" };
    let text = format!("No request of {names} ended while it was measured{remedy}.");
    (!indices.is_empty()).then_some(Caution { text, reach: Reach::Responses(indices) })
}

/// Means that are of some runs only, since the others do not know the metric.
fn partly_known(role: &RoleView, policy: &str, runs: u32, shown: &[&str]) -> Vec<Caution> {
    let mut names: Vec<(u32, &str)> = Vec::new();
    for path in shown {
        let of = role.metrics.value(path).map_or(runs, |value| value.n);
        let name = &*metric::known(path).metric.name;
        if of < runs && !names.contains(&(of, name)) {
            names.push((of, name));
        }
    }
    let mut cautions = Vec::new();
    for of in (1..runs).filter(|of| names.iter().any(|(n, _)| n == of)) {
        let these = names.iter().filter(|(n, _)| *n == of).map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
        let text = format!(
            "Under {policy}, {these} of {}: means of {of} of the {runs} runs; the others have none.",
            role.name
        );
        cautions.push(Caution { text, reach: Reach::Nothing });
    }
    cautions
}

/// What the numbers do not hold, and why.
pub(crate) fn gaps(result: &Outcome) -> Vec<Caution> {
    let mut gaps = Vec::new();
    if result.is_partial() {
        let end = duration(result.duration_ns());
        let runs = if result.runs() > 1 { format!(" of {} runs", result.runs()) } else { String::new() };
        let text = format!("PARTIAL: stopped before the end; these are the numbers{runs} up to {end}.");
        gaps.push(Caution { text, reach: Reach::All });
    }
    if let Some(lost) = result.whole().get("lost").filter(|lost| *lost > 0.0) {
        let text = format!("{} lost; every number may be touched by that.", numbered(lost, "event was", "events were"));
        gaps.push(Caution { text, reach: Reach::All });
    }
    let missing = result.missing().iter().map(|missing| format!("Not measured in {}: {missing}.", result.venue()));
    let set_up = result.cautions().iter().map(|text| format!("Under {}, {text}.", result.policy().name));
    gaps.extend(missing.chain(set_up).map(|text| Caution { text, reach: Reach::Nothing }));
    gaps
}

/// Requests that never end are in no response time, so a policy that lets some starve looks fast. Of several runs each is
/// looked at by itself.
pub(crate) fn starved(role: &RoleView, policy: &str) -> Option<String> {
    let each = role.starvation();
    let starving: Vec<f64> = each.iter().copied().flatten().collect();
    let longest = duration(starving.iter().copied().reduce(f64::max)? as u64);
    let runs = match each.len() {
        1 => String::new(),
        all => format!("in {} of {all} runs ", starving.len()),
    };
    let up_to = if starving.len() > 1 { "up to " } else { "" };
    let name = role.name;
    let waited = match without_cpu(role) {
        Some(who) => format!("{who} of {name} never got a CPU, and the longest wait was {longest}"),
        None => format!("a task of {name} waited for {up_to}{longest}"),
    };
    Some(format!(
        "Under {policy} {runs}{waited}: response times leave out requests that never finished, and the mean and \
         percentiles of waits leave out waits that did not end."
    ))
}

/// How many of a role's tasks wanted a CPU and got none, in the run where most did; none where each got one.
fn without_cpu(role: &RoleView) -> Option<String> {
    let each = role.metrics.each("starved");
    let starved = each.iter().copied().flatten().reduce(f64::max).filter(|starved| *starved > 0.0)?;
    let up_to = if each.len() > 1 { "up to " } else { "" };
    let tasks = role.metrics.get("count").filter(|_| each.len() == 1);
    let of = tasks.filter(|tasks| *tasks > starved).map(|tasks| format!(" of {tasks}")).unwrap_or_default();
    let noun = if starved == 1.0 && of.is_empty() { "task" } else { "tasks" };
    Some(format!("{up_to}{starved}{of} {noun}"))
}

/// What the marks mean that these cautions put at numbers, a paragraph for each.
pub(crate) fn legends<'a>(cautions: impl IntoIterator<Item = &'a Caution>, style: Style) -> String {
    let marked = cautions.into_iter().filter(|caution| caution.reach == Reach::Marked);
    marked.map(|caution| style.warning(&wrap(&format!("{MARK} "), 2, &caution.text))).collect()
}

/// Whether these cautions put a mark at every number.
pub(crate) fn are_marking(cautions: &[Caution]) -> bool {
    cautions.iter().any(|caution| caution.reach == Reach::Marked)
}

/// A paragraph for each, below a page.
pub(crate) fn warnings<'a>(cautions: impl IntoIterator<Item = &'a str>, style: Style) -> String {
    let text: String = cautions.into_iter().map(|caution| style.warning(&wrap("", 0, caution))).collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// The sentences of cautions that are not told below a table.
pub(crate) fn texts(cautions: &[Caution]) -> impl Iterator<Item = &str> {
    cautions.iter().filter(|caution| caution.reach != Reach::Marked).map(|caution| caution.text.as_str())
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
        let marked = [of("Others.", Reach::Marked)];
        assert_eq!(note(&marked, Number::Other, 3).unwrap(), "Others.");
        assert!(are_marking(&marked) && !are_marking(&cautions) && texts(&marked).next().is_none());
        assert_eq!(legends(&[&cautions[..], &marked].concat(), Style::PLAIN), "* Others.\n");
        let at = |number, role| note(&cautions, number, role).unwrap();
        assert_eq!(at(Number::Response, 1), "Lost. Starves.");
        assert_eq!((at(Number::Response, 0), at(Number::Other, 1)), ("Lost.".into(), "Lost.".into()));
        assert_eq!(at(Number::Interval, 0), "Lost. Narrow.");
        assert_eq!(note(&cautions[1..], Number::Other, 1), None);
    }
}
