//! Scores.

use crate::background::with_policies;
use crate::convert;
use crate::error::{IntoPython, failed, input, unreadable};
use crate::frame::Frame;
use crate::job::{policy, text};
use crate::raised::Raised;
use crate::rows::{Kind, flatten, table};
use pyo3::prelude::*;
use schedlab_boundary::file;
use schedlab_campaign::Runner;
use schedlab_report::Style;
use schedlab_score::{Examiner, ScoreError, ScoreSet};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The columns of the table of items.
const ITEMS: [(&str, Kind); 9] = [
    ("held_out", Kind::Truth),
    ("part", Kind::Word),
    ("scenario", Kind::Word),
    ("path", Kind::Word),
    ("unit", Kind::Word),
    ("value", Kind::Number),
    ("reference", Kind::Number),
    ("ratio", Kind::Number),
    ("note", Kind::Word),
];

/// The score of a policy.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub struct Scored {
    score: schedlab_score::Score,
}

/// Scores a policy, in this process.
#[pyfunction]
#[pyo3(signature = (path, policy, *, held_out, fresh, threads))]
pub fn score(
    py: Python<'_>,
    path: PathBuf,
    policy: &Bound<'_, PyAny>,
    held_out: bool,
    fresh: bool,
    threads: Option<&Bound<'_, PyAny>>,
) -> PyResult<Scored> {
    let content = file::text(&path).map_err(|error| unreadable(&path, &error))?;
    let set = ScoreSet::parse(&content, &path).map_err(IntoPython::into_python)?;
    let raised = Raised::default();
    let policy = self::policy(policy, &raised)?;
    let threads = convert::threads(threads)?;
    let cache = convert::cache(fresh);
    let folder = path.parent().unwrap_or(Path::new(""));
    let score = with_policies(py, &raised, |monitor| {
        let runner = Runner::new(cache.as_ref(), threads, monitor);
        Examiner::new(set, folder, held_out, &runner)?.score(&policy, &runner)
    })?;
    Ok(Scored { score: score.map_err(|error: ScoreError| raised.explain(py, error.into_python()))? })
}

#[pymethods]
impl Scored {
    /// All of it as JSON.
    fn data(&self) -> PyResult<String> {
        text(&self.score)
    }

    /// As the command line prints it.
    fn show(&self) -> String {
        self.score.show(Style::PLAIN)
    }

    /// A row for each place, those that only check included.
    fn items(&self) -> Frame {
        let held_out = self.score.held_out.iter().map(|set| (true, set));
        let parts = std::iter::once((false, &self.score.scored)).chain(held_out);
        let parts = parts.flat_map(|(is_held_out, set)| set.parts.iter().map(move |part| (is_held_out, part)));
        let rows = parts.flat_map(|(is_held_out, part)| {
            part.items.iter().map(move |item| {
                let mut row = flatten(&json!({ "held_out": is_held_out, "part": part.metric }));
                row.extend(flatten(&json!(item)));
                row
            })
        });
        table(&rows.collect::<Vec<_>>(), &ITEMS).into()
    }
}

impl IntoPython for ScoreError {
    fn into_python(self) -> PyErr {
        match self {
            ScoreError::Venue(error) => error.into_python(),
            ScoreError::Input(what) => input(what),
            ScoreError::Failed(what) => failed(what),
            ScoreError::Stopped => failed("stopped"),
        }
    }
}
