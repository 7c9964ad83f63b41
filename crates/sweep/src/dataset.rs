//! A folder of Parquet files that together are one table.
//!
//! Every part is written whole or not at all. Rows of runs that the sweep does not ask for any more go into a folder
//! in addition to the parts, from which they come back when it asks again.

use crate::plan::{Plan, by_name};
use crate::rows::{Row, batch, names, row, schema};
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use schedlab_boundary::file;
use schedlab_boundary::own::Partial;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The folder of rows that are not asked for.
const UNUSED: &str = "unused";

/// A sweep's table on disk.
pub struct Dataset {
    folder: PathBuf,
    /// Which runs of the plan are there.
    has: Vec<bool>,
    /// Of those, how many failed.
    failed: usize,
    next_part: usize,
}

/// A folder that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A file or the folder itself.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A part that is none.
    #[error("{}: this is not a part of a sweep ({error}); remove it, or choose another folder", path.display())]
    Part {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        error: String,
    },
}

impl Dataset {
    /// The table in a folder, which is made where it is not there. What is in it and is not of the plan is put aside.
    ///
    /// # Errors
    ///
    /// The folder cannot be written to, or has files that are no parts of a sweep.
    pub fn open(folder: &Path, plan: &Plan) -> Result<Dataset, DatasetError> {
        fs::create_dir_all(folder).map_err(|error| DatasetError::File { path: folder.into(), error })?;
        let mut dataset = Dataset { folder: folder.into(), has: vec![false; plan.runs.len()], failed: 0, next_part: 0 };
        let index = by_name(plan);
        let (own, aside) = (parts(folder)?, parts(&folder.join(UNUSED))?);
        dataset.next_part = own.iter().chain(&aside).map(|(number, _)| number + 1).max().unwrap_or(0);
        for (_, path) in own.into_iter().chain(aside) {
            dataset.take_in(&path, plan, &index)?;
        }
        Ok(dataset)
    }

    /// The runs that are not there, by their place in the plan.
    pub fn missing(&self) -> impl Iterator<Item = usize> {
        (0..self.has.len()).filter(|run| !self.has[*run])
    }

    /// How many runs of the plan are there.
    pub fn count(&self) -> usize {
        self.has.iter().filter(|has| **has).count()
    }

    /// How many of those failed.
    pub fn failed(&self) -> usize {
        self.failed
    }

    /// Adds the rows of whole runs as a part.
    ///
    /// # Errors
    ///
    /// The folder cannot be written to.
    pub fn add(&mut self, plan: &Plan, mut rows: Vec<Row>) -> Result<(), DatasetError> {
        if rows.is_empty() {
            return Ok(());
        }
        rows.sort_by_key(|row| row.run);
        self.write(&self.folder.clone(), &batch(plan, &rows))?;
        self.note(&rows);
        Ok(())
    }

    /// Adds a part that [`crate::make`] made.
    ///
    /// # Errors
    ///
    /// It is no part, its runs are not those of the plan, or the folder cannot be written to.
    pub fn take(&mut self, plan: &Plan, part: &[u8]) -> Result<(), DatasetError> {
        let no_part = |error: String| DatasetError::Part { path: "(a part)".into(), error };
        let batch = decoded(Bytes::copy_from_slice(part)).map_err(no_part)?;
        let index = by_name(plan);
        let found = names(&batch).ok_or_else(|| no_part("it has no column `run`".into()))?;
        let known = |(at, name): (usize, Option<&str>)| row(&batch, at, *index.get(name?)?, plan);
        let rows: Option<Vec<Row>> = found.iter().enumerate().map(known).collect();
        let rows = rows.ok_or_else(|| no_part("its runs are others; is it of another version?".into()))?;
        self.add(plan, rows.into_iter().filter(|row| !self.has[row.run]).collect())
    }

    /// All parts, and the columns that they have.
    ///
    /// # Errors
    ///
    /// A part cannot be read.
    pub fn batches(&self, plan: &Plan) -> Result<(SchemaRef, Vec<RecordBatch>), DatasetError> {
        let batches = parts(&self.folder)?.into_iter().map(|(_, path)| read(&path)).collect::<Result<_, _>>()?;
        Ok((schema(plan), batches))
    }

    /// The rows of the plan's runs.
    pub(crate) fn rows(&self, plan: &Plan) -> Result<Vec<Row>, DatasetError> {
        let index = by_name(plan);
        let (_, batches) = self.batches(plan)?;
        let of_batch = |batch: &RecordBatch| -> Vec<Row> {
            let Some(names) = names(batch) else { return Vec::new() };
            let known = |(at, name): (usize, Option<&str>)| row(batch, at, *index.get(name?)?, plan);
            names.iter().enumerate().filter_map(known).collect()
        };
        Ok(batches.iter().flat_map(of_batch).collect())
    }

    fn note(&mut self, rows: &[Row]) {
        for row in rows {
            self.failed += usize::from(row.error.is_some() && !self.has[row.run]);
            self.has[row.run] = true;
        }
    }

    /// Looks into a part from before. It stays as it is when the plan asks for all of its rows and has its columns.
    fn take_in(&mut self, path: &Path, plan: &Plan, index: &BTreeMap<&str, usize>) -> Result<(), DatasetError> {
        let is_aside = path.parent().is_some_and(|folder| folder.ends_with(UNUSED));
        let batch = read(path)?;
        let no_part = |error: &str| DatasetError::Part { path: path.into(), error: error.into() };
        let found = names(&batch).ok_or_else(|| no_part("it has no column `run`"))?;
        let wanted: Vec<Option<usize>> =
            found.iter().map(|name| index.get(name?).copied().filter(|run| !self.has[*run])).collect();
        let rows = wanted.iter().enumerate().filter_map(|(at, run)| Some(row(&batch, at, (*run)?, plan)));
        let rows: Option<Vec<Row>> = rows.collect();
        let rows = rows.ok_or_else(|| no_part("its columns are others"))?;
        self.note(&rows);
        if !is_aside && rows.len() == wanted.len() && batch.schema().fields() == schema(plan).fields()
            || is_aside && rows.is_empty()
        {
            return Ok(());
        }
        let is_unwanted: BooleanArray = wanted.iter().map(|run| Some(run.is_none())).collect();
        let unwanted = filter_record_batch(&batch, &is_unwanted).map_err(|error| no_part(&error.to_string()))?;
        if unwanted.num_rows() > 0 {
            self.write(&self.folder.join(UNUSED), &unwanted)?;
        }
        if !rows.is_empty() {
            self.write(&self.folder.clone(), &crate::rows::batch(plan, &rows))?;
        }
        fs::remove_file(path).map_err(|error| DatasetError::File { path: path.into(), error })
    }

    /// Writes a part under its final name only when it is whole.
    fn write(&mut self, folder: &Path, batch: &RecordBatch) -> Result<(), DatasetError> {
        let path = folder.join(format!("part-{:05}.parquet", self.next_part));
        let wrong = |error: io::Error| DatasetError::File { path: path.clone(), error };
        fs::create_dir_all(folder).map_err(wrong)?;
        Partial::write(&path, &encoded(batch)).map_err(wrong)?;
        self.next_part += 1;
        Ok(())
    }
}

/// The parts in a folder with their numbers, in their order; none where there is no folder.
fn parts(folder: &Path) -> Result<Vec<(usize, PathBuf)>, DatasetError> {
    let wrong = |error| DatasetError::File { path: folder.into(), error };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(wrong(error)),
    };
    let mut parts = Vec::new();
    for entry in entries {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = name.strip_prefix("part-").and_then(|rest| rest.strip_suffix(".parquet"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            parts.push((number, path));
        }
    }
    parts.sort();
    Ok(parts)
}

/// A batch as the bytes of a Parquet file.
pub fn encoded(batch: &RecordBatch) -> Vec<u8> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut bytes = Vec::new();
    let written = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).and_then(|mut writer| {
        writer.write(batch)?;
        writer.close()
    });
    written.expect("plain columns can be written to memory");
    bytes
}

/// A whole part.
fn read(path: &Path) -> Result<RecordBatch, DatasetError> {
    let bytes =
        file::bytes(path, file::RESULT_BYTES).map_err(|error| DatasetError::File { path: path.into(), error })?;
    decoded(Bytes::from(bytes)).map_err(|error| DatasetError::Part { path: path.into(), error })
}

fn decoded(bytes: Bytes) -> Result<RecordBatch, String> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|error| error.to_string())?;
    let rows = usize::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0).max(1);
    let schema = builder.schema().clone();
    let mut reader = builder.with_batch_size(rows).build().map_err(|error| error.to_string())?;
    match reader.next() {
        None => Ok(RecordBatch::new_empty(schema)),
        Some(batch) => batch.map_err(|error| error.to_string()),
    }
}
