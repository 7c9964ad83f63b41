//! What there is: shipped scenarios, policies and studies, schemas, trace files.

use crate::background::interruptible;
use crate::error::{IntoPython, failed, input};
use crate::frame::Frame;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use pyo3::prelude::*;
use schedlab_boundary::file;
use schedlab_campaign::{spread, threads};
use schedlab_catalogue as catalogue;
use schedlab_model::{schema as schemas, trace::Sink};
use schedlab_policy::catalog;
use schedlab_report::{comparison, quota};
use schedlab_trace::{Format, Reader, Writer};
use schedlab_venue::{Discipline, Monitor, ideal_name};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that are decoded at once.
const ROWS_AT_ONCE: usize = 1 << 16;

/// Name, about and kind (`sched_ext` or `ideal`) of all policies that ship.
#[pyfunction]
pub fn policies() -> Vec<(String, String, String)> {
    let shipped = catalog().iter().map(|policy| (policy.name.into(), policy.about().into(), "sched_ext".into()));
    let ideal = Discipline::ALL.iter().map(|one| (ideal_name(*one), one.about().into(), "ideal".into()));
    shipped.chain(ideal).collect()
}

/// The names and texts of all scenarios that ship.
#[pyfunction]
pub fn scenarios() -> Vec<(&'static str, &'static str)> {
    catalogue::scenarios().iter().map(|shipped| (shipped.name, shipped.text)).collect()
}

/// The names and texts of all studies that ship.
#[pyfunction]
pub fn studies() -> Vec<(&'static str, &'static str)> {
    catalogue::studies().iter().map(|shipped| (shipped.name, shipped.text)).collect()
}

/// A JSON schema by its name.
#[pyfunction]
pub fn schema(name: &str) -> PyResult<String> {
    let schema = match name {
        "scenario" => schemas::scenario(),
        "result" => schemas::result(),
        "runs" => schemas::runs(),
        "metrics" => schemas::metrics(),
        "comparison" => comparison::schema(),
        "quota" => quota::schema(),
        other => {
            return Err(input(format!(
                "there is no schema `{other}`; there are scenario, result, runs, comparison, quota and metrics"
            )));
        }
    };
    Ok(schema.to_string())
}

/// The header of a trace file as JSON, and its events.
#[pyfunction]
pub fn read_trace(py: Python<'_>, path: PathBuf) -> PyResult<(String, Frame)> {
    interruptible(py, |monitor| read(&path, monitor))?
}

fn read(path: &Path, monitor: &Monitor) -> PyResult<(String, Frame)> {
    let reader = Reader::open(path).map_err(IntoPython::into_python)?;
    let header = reader.header().to_json();
    if reader.format() == Format::Parquet {
        return Ok((header, events(path, monitor)?));
    }
    let folder = tempfile::tempdir().map_err(failed)?;
    let copy = folder.path().join("trace.parquet");
    rewrite(reader, &copy, monitor)?;
    Ok((header, events(&copy, monitor)?))
}

/// The same trace as Parquet.
fn rewrite(reader: Reader, copy: &Path, monitor: &Monitor) -> PyResult<()> {
    let header = reader.header().clone();
    let mut writer = Writer::create(copy, &header).map_err(IntoPython::into_python)?;
    for event in reader.take_while(|_| !monitor.is_stopped()) {
        writer.event(&event.map_err(IntoPython::into_python)?);
    }
    writer.finish(header.end);
    writer.close().map_err(IntoPython::into_python)
}

/// All rows of a Parquet file, its row groups on all cores.
fn events(path: &Path, monitor: &Monitor) -> PyResult<Frame> {
    let damaged = |error: &dyn std::fmt::Display| input(format!("{}: {error}", path.display()));
    let file = file::open(path, file::ANY_BYTES).map_err(|error| crate::error::unreadable(path, &error))?;
    let plain = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(|error| damaged(&error))?;
    let options = ArrowReaderOptions::new().with_schema(with_views(plain.schema()));
    let metadata = ArrowReaderMetadata::try_new(plain.metadata().clone(), options).map_err(|error| damaged(&error))?;
    let groups = metadata.metadata().num_row_groups();
    let group = |index: usize| -> Result<Vec<RecordBatch>, String> {
        if monitor.is_stopped() {
            return Ok(Vec::new());
        }
        let file = file::open(path, file::ANY_BYTES).map_err(|error| error.to_string())?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
        let reader = builder.with_row_groups(vec![index]).with_batch_size(ROWS_AT_ONCE).build();
        let reader = reader.map_err(|error| error.to_string())?;
        reader.collect::<Result<_, _>>().map_err(|error| error.to_string())
    };
    let parts = spread(threads(None), groups, group).into_iter().collect::<Result<Vec<_>, _>>();
    Ok(Frame::new(metadata.schema().clone(), parts.map_err(|error| damaged(&error))?.concat()))
}

/// The same columns, words as views, which polars takes as they are.
fn with_views(schema: &SchemaRef) -> SchemaRef {
    let field = |field: &Arc<arrow_schema::Field>| match field.data_type() {
        DataType::Utf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        _ => field.clone(),
    };
    Arc::new(Schema::new_with_metadata(
        schema.fields().iter().map(field).collect::<Vec<_>>(),
        schema.metadata().clone(),
    ))
}
