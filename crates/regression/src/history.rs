//! What gates measured at each revision: a folder of Parquet files that together are one table.
//!
//! A gate at a revision is one file, under a name made of both, so that measuring it again replaces it.

use crate::git::Commit;
use crate::report::{Report, Row};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use schedlab_boundary::own::Partial;
use schedlab_boundary::{FileName, Shown, file};
use schedlab_sweep::encoded;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

/// The columns of words, of whole numbers, and of others.
const WORDS: [&str; 10] =
    ["revision", "subject", "gate", "scenario", "policy", "venue", "metric", "unit", "verdict", "schedlab"];
const WHOLE: [&str; 2] = ["time_s", "ancestors"];
const VALUE: &str = "value";

/// A revision in a history.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision {
    /// When it was committed, in seconds since 1970; none of one that git does not know.
    pub time: Option<i64>,
    /// How many commits it rests on.
    pub ancestors: Option<i64>,
    /// Its hash, or the name that a user gave it.
    pub name: String,
    /// The first line of its message.
    pub subject: String,
}

/// A value at a revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// When.
    pub revision: Revision,
    /// What is measured: gate, scenario, policy, venue, metric.
    pub series: Series,
    /// The value; none where there was none.
    pub value: Option<f64>,
    /// What the gate said.
    pub verdict: String,
}

impl Point {
    /// Whether a bound did not hold.
    pub fn has_failed(&self) -> bool {
        self.verdict.eq_ignore_ascii_case(crate::Verdict::Failed.words())
    }
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// The gate's name.
    pub gate: String,
    /// The scenario, as the gate writes it.
    pub scenario: String,
    /// The venue.
    pub venue: String,
    /// The path of the value in a result.
    pub metric: String,
    /// The policy, as the gate writes it.
    pub policy: String,
}

/// A history: its revisions in order, and what was measured at each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Older ones first.
    pub revisions: Vec<Revision>,
    /// In the order of their revisions.
    pub points: Vec<Point>,
}

/// A folder that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// A file or the folder itself.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file that is none of a history.
    #[error("{}: this is not a file of a history ({why}); remove it, or choose another folder", path.display())]
    Other {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl From<&Commit> for Revision {
    fn from(commit: &Commit) -> Revision {
        Revision {
            time: Some(commit.time),
            ancestors: i64::try_from(commit.ancestors).ok(),
            name: commit.hash.clone(),
            subject: commit.subject.clone(),
        }
    }
}

impl Revision {
    /// One that git does not know.
    pub fn named(name: &str) -> Revision {
        Revision { name: name.into(), ..Revision::default() }
    }

    /// As much of its name as people read.
    pub fn short(&self) -> String {
        let is_hash = self.name.len() == 40 && self.name.bytes().all(|byte| byte.is_ascii_hexdigit());
        Shown::name(if is_hash { &self.name[..10] } else { &self.name }).into_string()
    }
}

/// Adds what a gate measured at a revision to a folder, which is made where it is not there; the file.
///
/// # Errors
///
/// It cannot be written.
pub fn add(folder: &Path, report: &Report, revision: &Revision) -> Result<PathBuf, HistoryError> {
    let name = FileName::made_of(&format!("{}-{}", report.gate, revision.name)).with(".parquet");
    let path = folder.join(name);
    let failed = |error| HistoryError::File { path: path.clone(), error };
    fs::create_dir_all(folder).map_err(failed)?;
    Partial::write(&path, &encoded(&batch(report, revision))).map_err(failed)?;
    Ok(path)
}

/// Reads a folder.
///
/// # Errors
///
/// It cannot be read, or has a file that is none of a history.
pub fn read(folder: &Path) -> Result<History, HistoryError> {
    let failed = |error| HistoryError::File { path: folder.into(), error };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "parquet") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut history = History::default();
    for path in paths {
        let bytes = file::bytes(&path, file::RESULT_BYTES);
        let bytes = bytes.map_err(|error| HistoryError::File { path: path.clone(), error })?;
        let points = decoded(Bytes::from(bytes)).map_err(|why| HistoryError::Other { path, why })?;
        history.points.extend(points);
    }
    history.points.sort_by(|a, b| (&a.revision, &a.series).cmp(&(&b.revision, &b.series)));
    for point in &history.points {
        if history.revisions.last() != Some(&point.revision) {
            history.revisions.push(point.revision.clone());
        }
    }
    Ok(history)
}

fn schema() -> Arc<Schema> {
    let word = |name: &&str| Field::new(*name, DataType::Utf8, false);
    let whole = |name: &&str| Field::new(*name, DataType::Int64, true);
    let value = Field::new(VALUE, DataType::Float64, true);
    let fields = WORDS.iter().map(word).chain(WHOLE.iter().map(whole)).chain([value]);
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn batch(report: &Report, revision: &Revision) -> RecordBatch {
    let rows = || report.checks.iter();
    let all = |word: &str| rows().map(|_| word.to_string()).collect::<Vec<_>>();
    let each = |of: &dyn Fn(&Row) -> String| rows().map(of).collect::<Vec<_>>();
    let words = |name: &str| match name {
        "revision" => all(&revision.name),
        "subject" => all(&revision.subject),
        "gate" => all(&report.gate),
        "schedlab" => all(&report.schedlab),
        "scenario" => each(&|row| row.scenario.clone()),
        "policy" => each(&|row| row.policy.clone()),
        "venue" => each(&|row| row.venue.clone()),
        "metric" => each(&|row| row.metric.clone()),
        "unit" => each(&|row| row.unit.words().into()),
        _ => each(&|row| row.verdict.words().to_lowercase()),
    };
    let mut columns: Vec<ArrayRef> =
        WORDS.iter().map(|name| Arc::new(StringArray::from(words(name))) as ArrayRef).collect();
    for whole in [revision.time, revision.ancestors] {
        columns.push(Arc::new(rows().map(|_| whole).collect::<Int64Array>()));
    }
    let value = |row: &Row| row.to.as_ref().map(|value| value.number);
    columns.push(Arc::new(rows().map(value).collect::<Float64Array>()));
    RecordBatch::try_new(schema(), columns).expect("columns are those of the schema")
}

fn decoded(bytes: Bytes) -> Result<Vec<Point>, String> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|error| error.to_string())?;
    let reader = builder.build().map_err(|error| error.to_string())?;
    let mut points = Vec::new();
    for batch in reader {
        let batch = batch.map_err(|error| error.to_string())?;
        points.extend(points_of(&batch).ok_or("its columns are others")?);
    }
    Ok(points)
}

fn points_of(batch: &RecordBatch) -> Option<Vec<Point>> {
    let words = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
    let whole = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Int64Type>();
    let values = batch.column_by_name(VALUE)?.as_primitive_opt::<Float64Type>()?;
    let [revision, subject, gate, scenario, policy, venue, metric, verdict] =
        ["revision", "subject", "gate", "scenario", "policy", "venue", "metric", "verdict"].map(words);
    let (revision, subject, gate, scenario) = (revision?, subject?, gate?, scenario?);
    let (policy, venue, metric, verdict) = (policy?, venue?, metric?, verdict?);
    let (time, ancestors) = (whole("time_s")?, whole("ancestors")?);
    // Text from a file may not be fit for a terminal or a page.
    let shown = |column: &StringArray, row: usize| Shown::name(column.value(row)).into_string();
    let point = |row: usize| Point {
        revision: Revision {
            time: time.is_valid(row).then(|| time.value(row)),
            ancestors: ancestors.is_valid(row).then(|| ancestors.value(row)),
            name: shown(revision, row),
            subject: shown(subject, row),
        },
        series: Series {
            gate: shown(gate, row),
            scenario: shown(scenario, row),
            venue: shown(venue, row),
            metric: shown(metric, row),
            policy: shown(policy, row),
        },
        value: values.is_valid(row).then(|| values.value(row)),
        verdict: shown(verdict, row),
    };
    Some((0..batch.num_rows()).map(point).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Value, Verdict};
    use schedlab_model::metric::Unit;

    fn report(value: f64) -> Report {
        let row = Row {
            scenario: "desk".into(),
            policy: "rr".into(),
            venue: "sim".into(),
            metric: "roles.a.response_ns.p99".into(),
            unit: Unit::Ns,
            against: None,
            from: None,
            to: Some(Value::exact(value)),
            change: None,
            allowed: None,
            is_out_of_bounds: false,
            verdict: Verdict::Met,
            why: Vec::new(),
        };
        Report::new("gate", vec![row])
    }

    fn revision(time: i64, name: &str) -> Revision {
        Revision { time: Some(time), ancestors: Some(time), name: name.into(), subject: format!("commit {name}") }
    }

    #[test]
    fn revisions_come_back_in_order_and_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let history = folder.path().join("new/history");
        for (time, name, value) in [(3, "c", 30.0), (1, "a", 10.0), (2, "b", 20.0), (1, "a", 11.0)] {
            add(&history, &report(value), &revision(time, name)).unwrap();
        }
        let read = read(&history).unwrap();
        assert_eq!(read.revisions.iter().map(|revision| revision.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(read.points.iter().filter_map(|point| point.value).collect::<Vec<_>>(), [11.0, 20.0, 30.0]);
        assert_eq!((read.points[0].verdict.as_str(), read.revisions[1].subject.as_str()), ("met", "commit b"));
    }

    #[test]
    fn files_of_others_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), History::default());
        fs::write(folder.path().join("a.parquet"), "text").unwrap();
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("a.parquet: this is not a file of a history"), "{error}");
        assert!(matches!(read(&folder.path().join("none")), Err(HistoryError::File { .. })));
    }
}
