//! Studies after the Goal/Question/Metric method: a goal, questions, and for each question runs, metrics, and what others
//! have published, with a verdict on each value.
//!
//! A [`Study`] is a file. Its [`Experiment`] is what there is to run, case by case; [`carry_out`] has the cases run by
//! `schedlab-campaign` and puts together what was seen. A [`Page`] holds the values next to the published ones.

mod blocks;
mod case;
mod check;
mod claim;
mod course;
mod coverage;
mod judge;
mod language;
mod measure;
mod overhead;
mod page;
mod picture;
mod runner;
mod section;
mod seen;
mod statuses;
mod table;
mod values;
mod verdict;
mod words;

pub use case::{Beside, Case, Experiment, Variant};
pub use claim::{Bound, Choice, Difference, Equation, NumberSpec, Per, Proof, Published, ValueSpec};
pub use coverage::{Covered, HEADS as COVERAGE_HEADS, Item, Shown, rows as coverage_rows};
pub use language::{
    ChartKind, ChartSpec, Column, Metric, OverheadMetric, OverheadSpec, Question, QuickRun, RunSpec, Share, StatusSpec,
    Study, TableSpec, schema,
};
pub use page::{Answered, Counts, Page, SCHEMA};
pub use picture::{ChartPage, Point, Series};
pub use runner::{CaseOutcome, Observed, TOO_SHORT, carry_out};
pub use table::{TableKind, TablePage, TableRow};
pub use values::{Row, notes};
pub use verdict::{Firmness, Judged, Proved, Verdict};
