//! Studies.

use crate::background::interruptible;
use crate::convert;
use crate::error::{IntoPython, input, not_found};
use crate::frame::Frame;
use crate::job::text;
use crate::rows::{Kind, flatten, table};
use pyo3::prelude::*;
use schedlab_campaign::Runner;
use schedlab_catalogue::{self as catalogue, StudyFile};
use schedlab_charts::Look;
use schedlab_html::of_study;
use schedlab_report::Style;
use schedlab_study::{Experiment, Page, Study, Variant, carry_out};
use serde_json::json;

/// The most seeds under which values are judged.
const MOST_SEEDS: u32 = 1000;

/// The columns of the table of values.
const VALUES: [(&str, Kind); 19] = [
    ("question", Kind::Word),
    ("what", Kind::Word),
    ("place", Kind::Word),
    ("published", Kind::Word),
    ("seen", Kind::Number),
    ("unit", Kind::Word),
    ("verdict", Kind::Word),
    ("reason", Kind::Word),
    ("own", Kind::Word),
    ("derivation", Kind::Word),
    ("unverified", Kind::Word),
    ("predicted", Kind::Number),
    ("firmness.same", Kind::Whole),
    ("firmness.of", Kind::Whole),
    ("firmness.beside", Kind::Word),
    ("firmness.low", Kind::Number),
    ("firmness.high", Kind::Number),
    ("proof.holds", Kind::Truth),
    ("proof.seen", Kind::Word),
];

/// What a study came to.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct StudyPage {
    page: Page,
    source: String,
}

/// Runs a study, or one of its questions: a shipped one, or a file.
#[pyfunction]
#[pyo3(signature = (name, *, quick, seed, seeds, fresh, threads))]
pub fn study(
    py: Python<'_>,
    name: &str,
    quick: bool,
    seed: Option<&Bound<'_, PyAny>>,
    seeds: &Bound<'_, PyAny>,
    fresh: bool,
    threads: Option<&Bound<'_, PyAny>>,
) -> PyResult<StudyPage> {
    let seeds = convert::whole(seeds, "seeds", 1, MOST_SEEDS)?;
    let (name, question) = catalogue::of_question(name);
    let file = StudyFile::find(name).map_err(|error| not_found(name, error))?;
    let study = Study::parse(&file.text, &file.origin).map_err(IntoPython::into_python)?;
    let question = question.map(|id| study.question_numbered(id)).transpose().map_err(input)?;
    let variant = Variant { quick, seed: seed.map(convert::seed).transpose()?, seeds, question };
    let threads = convert::threads(threads)?;
    let cache = convert::cache(fresh);
    let page = interruptible(py, |monitor| {
        let origin = (file.text.as_str(), file.origin.as_str());
        let experiment = Experiment::plan(&study, origin, variant, &file.folder, &|name| file.scenario(name))?;
        let outcomes = carry_out(&experiment, &Runner::new(cache.as_ref(), threads, monitor));
        Ok(Page::new(&study, &experiment, &outcomes))
    })?;
    let page = page.map_err(|error: schedlab_venue::VenueError| error.into_python())?;
    Ok(StudyPage { page, source: file.text })
}

#[pymethods]
impl StudyPage {
    /// All of it as JSON.
    fn data(&self) -> PyResult<String> {
        text(&self.page)
    }

    /// As the command line prints it.
    fn show(&self) -> String {
        self.page.show(Style::PLAIN)
    }

    /// The charts of the page: name, title, caption and specification of each.
    fn charts(&self) -> Vec<(String, String, String, String)> {
        crate::job::charts(&of_study(&self.page, &self.source, ""), Look::Light)
    }

    /// As a page.
    fn html(&self, command: &str) -> String {
        of_study(&self.page, &self.source, command).html()
    }

    /// A row for each published value, with what was seen next to it.
    fn values(&self) -> Frame {
        let of_question = |question: &schedlab_study::Answered| {
            let row = |value: &schedlab_study::Row| {
                let mut row = flatten(&json!({ "question": question.id }));
                row.extend(flatten(&json!(value)));
                row
            };
            question.values.iter().map(row).collect::<Vec<_>>()
        };
        table(&self.page.questions.iter().flat_map(of_question).collect::<Vec<_>>(), &VALUES).into()
    }
}
