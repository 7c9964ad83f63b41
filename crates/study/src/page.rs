//! The page of a study: its questions, tables and values, for people on a terminal, as Markdown, and as data.

use crate::Verdict;
use crate::case::{Case, Experiment};
use crate::coverage::{self, Covered, coverage};
use crate::language::{Question, Study};
use crate::overhead;
use crate::picture::ChartPage;
use crate::runner::CaseOutcome;
use crate::table::TablePage;
use crate::values::{Row, exported, markdown_values, notes, values, words_published};
use crate::verdict::{judge, plain};
use crate::words::Words;
use schedlab_boundary::markdown::{block, line};
use schedlab_model::time::Time;
use schedlab_report::export::{Failed, Findings};
use schedlab_report::{Quantity, Style, Table, wrap};
use serde::Serialize;
use std::fmt::Write as _;

/// The name and version of the form of a [`Page`].
pub const SCHEMA: &str = "schedlab.study/1";

/// What a study says.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// Always `schedlab.study/1`.
    pub schema: &'static str,
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The source of the results that are reproduced.
    pub source: String,
    /// Its goal.
    pub goal: String,
    /// Whether it is the quick version.
    pub quick: bool,
    /// The version of schedlab.
    pub version: String,
    /// Each question with what was seen.
    pub questions: Vec<Answered>,
    /// What the source prints, item by item; empty where not all questions were asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paper: Vec<Covered>,
}

/// A question with what was seen.
#[derive(Clone, Debug, Serialize)]
pub struct Answered {
    /// Its name.
    pub id: String,
    /// The question.
    pub asks: String,
    /// Tables of what was measured.
    pub tables: Vec<TablePage>,
    /// What was found about all of a table's rows together.
    pub statements: Vec<String>,
    /// How many estimates of overhead are refused, since their interval holds zero.
    #[serde(skip_serializing_if = "is_none")]
    pub refused: usize,
    /// Pictures as the source has them.
    pub charts: Vec<ChartPage>,
    /// Published values.
    pub values: Vec<Row>,
    /// What the values of this run come to.
    pub found: String,
    /// What follows, in the words of the study; empty where this run does not bear it.
    pub answer: String,
    /// Why nothing follows, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<String>,
    /// How each case was run, and those that were not.
    pub cases: Vec<String>,
    /// Why cases were not run, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// Nothing of it.
fn is_none(number: &usize) -> bool {
    *number == 0
}

impl Answered {
    /// What is to be said in the end: what the values come to, and what follows, or why nothing does.
    pub fn answers(&self) -> impl Iterator<Item = String> {
        let why = self.unanswered.as_ref().map(|why| format!("No conclusion: {why}."));
        [Some(self.found.clone()), Some(self.answer.clone()), why].into_iter().flatten().filter(|text| !text.is_empty())
    }
}

/// How many values got each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// They hold.
    pub hold: usize,
    /// They were made to give what was published.
    pub fitted: usize,
    /// They differ for a reason that a run shows.
    pub explained: usize,
    /// They differ, and the reason that the study gives is shown by nothing.
    pub supposed: usize,
    /// They differ.
    pub differ: usize,
    /// They cannot be distinguished from no effect.
    pub cannot_tell: usize,
    /// They differ in a run that the quick version makes smaller.
    pub smaller: usize,
    /// They cannot be compared.
    pub not_comparable: usize,
    /// They were not run, or not found.
    pub not_run: usize,
}

impl Counts {
    fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Counts {
        let mut counts = Counts::default();
        for row in rows {
            *match &row.judged.verdict {
                Verdict::Holds => &mut counts.hold,
                Verdict::Fitted { .. } => &mut counts.fitted,
                Verdict::Differs { reason: Some(_), proof: Some(_) } => &mut counts.explained,
                Verdict::Differs { reason: Some(_), proof: None } => &mut counts.supposed,
                Verdict::Differs { reason: None, .. } => &mut counts.differ,
                Verdict::CannotTell { .. } => &mut counts.cannot_tell,
                Verdict::RunSmaller { .. } => &mut counts.smaller,
                Verdict::NotComparable { .. } => &mut counts.not_comparable,
                Verdict::NotRun { .. } => &mut counts.not_run,
            } += 1;
        }
        counts
    }

    /// In words, what of one is said and what of many: those that hold always, others where there are some.
    fn words(self) -> String {
        let parts = [
            (self.hold, "holds", "hold"),
            (self.fitted, "is a fit", "are fits"),
            (self.explained, "differs for a reason that a run shows", "differ for a reason that a run shows"),
            (self.supposed, "differs for a reason that no run shows", "differ for a reason that no run shows"),
            (self.differ, "differs", "differ"),
            (self.cannot_tell, "proves nothing", "prove nothing"),
            (self.smaller, "differs in a smaller run", "differ in smaller runs"),
            (self.not_comparable, "cannot be compared", "cannot be compared"),
            (self.not_run, "was not run here", "were not run here"),
        ];
        let all: usize = parts.iter().map(|(count, ..)| count).sum();
        let there = parts.iter().filter(|(count, ..)| *count > 0);
        if all <= 1 {
            return there
                .map(|(_, one, _)| format!("The value {one}"))
                .next()
                .unwrap_or_else(|| "There are no values".into());
        }
        let verb = |(count, one, many): &(usize, &'static str, &'static str)| if *count == 1 { *one } else { *many };
        let rest = there.filter(|(_, one, _)| *one != "holds").map(|part| format!(", {} {}", part.0, verb(part)));
        format!("{} of {all} values {}{}", self.hold, verb(&parts[0]), rest.collect::<String>())
    }
}

/// What the values of a question come to, in a sentence.
fn found(values: &[Row]) -> String {
    match values {
        [] => String::new(),
        _ => format!("{}.", Counts::of(values).words()),
    }
}

/// Why the study's own words about a question cannot be said of this run: they are about cases that were not all run, or
/// about values that came out otherwise.
fn unanswered(
    question: &Question,
    values: &[Row],
    experiment: &Experiment,
    outcomes: &[CaseOutcome],
) -> Option<String> {
    let of_question = || question.runs.iter().flat_map(|run| experiment.of_run(&run.name, outcomes));
    let why: Vec<&str> = of_question().filter_map(|(_, outcome)| outcome.why_not()).collect();
    if let Some(first) = why.first() {
        return Some(format!("{} of {} runs were not made here: {}", why.len(), of_question().count(), flat(first)));
    }
    let left_out = question.runs.iter().filter(|run| experiment.left_out.contains(&run.name)).count();
    if left_out > 0 {
        return Some(format!("the quick version leaves out {left_out} of {} runs", question.runs.len()));
    }
    let open = values.iter().find_map(|row| {
        let (verdict, what) = (&row.judged.verdict, &row.judged.what);
        let what_it_is = match verdict {
            Verdict::NotRun { .. } => "is missing",
            Verdict::RunSmaller { .. } => "differs",
            _ => return None,
        };
        Some(format!("a value {what_it_is} ({what}): {}", flat(verdict.reason()?)))
    });
    if open.is_some() {
        return open;
    }
    match &unexplained(values).collect::<Vec<_>>()[..] {
        [] => None,
        [only] => Some(format!("1 value differs and the study does not say why: {only}")),
        all => Some(format!("{} values differ and the study does not say why: {}", all.len(), all.join("; "))),
    }
}

/// The names of the values that differ without a reason.
fn unexplained(values: &[Row]) -> impl Iterator<Item = &str> {
    let is_open = |row: &&Row| matches!(row.judged.verdict, Verdict::Differs { reason: None, .. });
    values.iter().filter(is_open).map(|row| row.judged.what.as_str())
}

/// Why cases of a question were not run, each once with how many.
fn missing(question: &Question, experiment: &Experiment, outcomes: &[CaseOutcome]) -> Vec<String> {
    let of_question = question.runs.iter().flat_map(|run| experiment.of_run(&run.name, outcomes));
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for (case, why) in of_question.filter_map(|(case, outcome)| Some((case, flat(outcome.why_not()?)))) {
        match all.iter_mut().find(|(known, _)| *known == why) {
            Some((_, runs)) if runs.contains(&case.run.as_str()) => {}
            Some((_, runs)) => runs.push(&case.run),
            None => all.push((why, vec![&case.run])),
        }
    }
    all.into_iter().map(|(why, runs)| format!("not run here: {}: {why}", runs.join("; "))).collect()
}

impl Page {
    /// Questions that this run does not answer, each with the reason; those for which the quick version leaves something out
    /// are no surprise.
    pub fn unanswered(&self) -> impl Iterator<Item = (&str, &str)> {
        self.questions.iter().filter_map(|question| Some((question.id.as_str(), question.unanswered.as_deref()?)))
    }

    /// The names of the values that differ and of which the study does not say why, in the order of its questions.
    pub fn unexplained(&self) -> impl Iterator<Item = &str> {
        self.questions.iter().flat_map(|question| unexplained(&question.values))
    }

    /// What a study says after its cases were run.
    pub fn new(study: &Study, experiment: &Experiment, outcomes: &[CaseOutcome]) -> Page {
        let is_asked = |number: usize| experiment.variant.question.is_none_or(|only| only == number);
        let asked = study.questions.iter().enumerate().filter(|(number, _)| is_asked(*number));
        let questions = asked.map(|(_, question)| {
            let words = Words::of(question, experiment, outcomes);
            let row = |value: &crate::ValueSpec| {
                let rows = judge(value, (experiment, outcomes), &words).into_iter();
                let items = coverage::named(&value.item);
                let (unit, place) = (&value.unit, &value.place);
                let row = |judged| Row { unit: unit.clone(), place: place.clone(), items: items.to_vec(), judged };
                rows.map(row).collect::<Vec<_>>()
            };
            let tables = question.tables.iter().map(|table| TablePage::new(table, experiment, outcomes));
            let overheads = question.overheads.iter().map(|spec| overhead::page(spec, experiment, outcomes));
            let overheads: Vec<overhead::Pages> = overheads.collect();
            let refused = overheads.iter().map(|pages| pages.refused).sum();
            let tables: Vec<TablePage> = tables.collect();
            let moved = tables.iter().filter_map(TablePage::firmness);
            let statements = moved.chain(overheads.iter().flat_map(|pages| pages.statements.clone())).collect();
            let values: Vec<Row> = question.values.iter().flat_map(row).collect();
            let (answer, wordless) = match words.fill(question.answer.trim()) {
                Ok(answer) => (answer, None),
                Err(why) => (String::new(), Some(why)),
            };
            let unanswered = unanswered(question, &values, experiment, outcomes).or(wordless);
            let charts = question.charts.iter().map(|chart| ChartPage::new(chart, experiment, outcomes));
            let (more, drawn): (Vec<_>, Vec<_>) =
                overheads.into_iter().map(|pages| (pages.tables, pages.charts)).unzip();
            Answered {
                refused,
                id: question.id.clone(),
                asks: question.asks.clone(),
                tables: tables.into_iter().chain(more.into_iter().flatten()).collect(),
                statements,
                found: found(&values),
                answer: if unanswered.is_none() { answer } else { String::new() },
                charts: charts.filter(|chart| !chart.series.is_empty()).chain(drawn.concat()).collect(),
                missing: missing(question, experiment, outcomes),
                unanswered,
                values,
                cases: question
                    .runs
                    .iter()
                    .flat_map(|run| experiment.of_run(&run.name, outcomes).map(provenance))
                    .collect(),
            }
        });
        let questions: Vec<Answered> = questions.collect();
        let paper = if experiment.variant.question.is_none() { coverage(study, &questions) } else { Vec::new() };
        Page {
            schema: SCHEMA,
            paper,
            name: study.name.clone(),
            title: study.title.clone(),
            source: study.source.clone(),
            goal: study.goal.trim().into(),
            quick: experiment.variant.quick,
            version: env!("CARGO_PKG_VERSION").into(),
            questions,
        }
    }

    /// How many values got each verdict.
    pub fn counts(&self) -> Counts {
        Counts::of(self.questions.iter().flat_map(|question| &question.values))
    }

    /// The counts in words.
    pub fn summary(&self) -> String {
        self.counts().words()
    }

    /// For a terminal.
    pub fn show(&self, style: Style) -> String {
        let mut text = wrap("", 0, &self.title) + &wrap("Goal: ", 6, &self.goal);
        for question in &self.questions {
            text += &("\n".to_string() + &wrap(&format!("{}: ", question.id), 2, &question.asks));
            for table in &question.tables {
                text += &format!("\n{}\n{}", table.title, table.with_sketches().show(style));
            }
            for statement in &question.statements {
                text += &("\n".to_string() + &wrap("", 0, statement));
            }
            if !question.values.is_empty() {
                text += &("\n".to_string() + &values(&question.values, style));
            }
            let printed = question.values.iter().filter_map(words_published);
            let notes = printed.chain(notes(&question.values)).chain(question.missing.clone());
            text += &notes.map(|line| wrap("- ", 2, &line)).collect::<String>();
            for paragraph in question.answers() {
                text += &("\n".to_string() + &wrap("", 0, &paragraph));
            }
        }
        text + "\n" + &wrap("", 0, &(self.summary() + "."))
    }

    /// Everything that files have of it.
    pub fn findings(&self) -> Findings {
        let told = |of: &dyn Fn(&Answered) -> Vec<String>| -> Vec<String> {
            let named = |question: &Answered| {
                of(question).into_iter().map(|text| format!("{}: {text}", question.id)).collect::<Vec<_>>()
            };
            self.questions.iter().flat_map(named).collect()
        };
        let missing = |question: &Answered| question.missing.clone();
        let failed = |why: String| Failed { labels: Vec::new(), why };
        let answers = told(&|question| question.answers().collect());
        Findings {
            answer: [format!("{}. {}.", self.title, self.summary())].into_iter().chain(answers).collect(),
            points: told(&|question| question.statements.clone()),
            cautions: told(&|question| notes(&question.values)),
            failures: told(&missing).into_iter().map(failed).collect(),
            ..Findings::of(self.tables())
        }
    }

    /// The tables of all questions and their published values.
    fn tables(&self) -> Vec<(String, Table)> {
        let of_question = |question: &Answered| {
            let titled = |title: &str| format!("{}: {title}", question.id);
            let measured = question.tables.iter().map(|table| (titled(&table.title), table.as_table()));
            let values =
                (!question.values.is_empty()).then(|| (titled("published values"), exported(&question.values)));
            measured.chain(values).collect::<Vec<_>>()
        };
        self.questions.iter().flat_map(of_question).collect()
    }

    /// As Markdown.
    pub fn markdown(&self, command: &str) -> String {
        let mut text = format!("# {}\n\n**Goal:** {}\n", line(&self.title), line(&flat(&self.goal)));
        if !self.source.is_empty() {
            let _ = write!(text, "\n**Source:** {}\n", line(&flat(&self.source)));
        }
        let quick = if self.quick { ", the quick version" } else { "" };
        let _ = write!(text, "\nMade by `{command}` (schedlab {}{quick}). {}.\n", self.version, self.summary());
        for question in &self.questions {
            let _ = write!(text, "\n## {}: {}\n", line(&question.id), line(&flat(&question.asks)));
            for table in &question.tables {
                let _ = write!(text, "\n{}:\n\n{}", line(&table.title), table.markdown());
            }
            question.statements.iter().for_each(|statement| text += &format!("\n{}\n", line(statement)));
            if !question.values.is_empty() {
                text += &("\n".to_string() + &markdown_values(&question.values));
            }
            for note in notes(&question.values) {
                let _ = write!(text, "\n- {}", line(&note));
            }
            text += if question.values.is_empty() { "" } else { "\n" };
            for paragraph in question.answers() {
                let _ = write!(text, "\n{}\n", block(&paragraph));
            }
            if !question.cases.is_empty() {
                text += "\n<details><summary>Runs</summary>\n\n";
                question.cases.iter().for_each(|case| text += &format!("- {}\n", line(case)));
                text += "\n</details>\n";
            }
        }
        if !self.paper.is_empty() {
            text += &format!("\n## The source, item by item\n\n{}", coverage::markdown(&self.paper));
        }
        text
    }
}

/// How a case was run.
fn provenance((case, outcome): (&Case, &CaseOutcome)) -> String {
    let at: String = case.at.iter().map(|(path, value)| format!(", {path} = {}", plain(value))).collect();
    let head = format!("`{}`: {} under `{}`{at}", case.run, case.runs.workload.name, case.policy_name);
    match outcome {
        CaseOutcome::NotRun(why) => format!("{head}: not run here: {}", flat(why)),
        CaseOutcome::Ran(observed) => {
            let result = &observed.result;
            let kernel = result.provenance().kernel.as_deref().filter(|_| result.venue() != "sim");
            let kernel = kernel.map_or(String::new(), |kernel| format!(" ({kernel})"));
            let more = if case.runs.seeds.len() > 1 {
                format!(" and {} derived from it", case.runs.seeds.len() - 1)
            } else {
                String::new()
            };
            let seconds = case.runs.duration().unwrap_or(Time(result.duration_ns())).as_s();
            let (hash, seed) = (&case.runs.scenario_hash[..12], case.runs.seeds[0]);
            format!("{head} in {}{kernel}, {seconds} s, seed {seed}{more}, scenario {hash}", result.venue())
        }
    }
}

/// A number with at most four digits that mean something.
pub(crate) fn number(value: f64) -> String {
    Quantity::of(&[Some(value)]).show(Some(value))
}

pub(crate) fn with_unit(text: &str, unit: &str) -> String {
    if unit.is_empty() { text.into() } else { format!("{text} {unit}") }
}

pub(crate) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
