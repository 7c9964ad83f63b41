//! Tables that other libraries take without copying them.

use crate::error::failed;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use schedlab_model::count::counted;

/// How many columns are named where a frame is shown in a line.
const NAMED: usize = 12;

/// A table in memory, in Arrow's layout.
///
/// polars, pyarrow, pandas, DuckDB and every other library that knows the Arrow PyCapsule interface takes it as it is;
/// numbers are not copied.
#[pyclass(frozen, module = "schedlab")]
pub struct Frame {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Frame {
    /// Of parts with one schema.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Frame {
        Frame { schema, batches }
    }
}

impl From<RecordBatch> for Frame {
    fn from(batch: RecordBatch) -> Frame {
        Frame { schema: batch.schema(), batches: vec![batch] }
    }
}

#[pymethods]
impl Frame {
    /// The schema, as Arrow's C data interface has it.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(failed)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The table, as Arrow's C stream interface has it. It always comes in its own schema.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// How another process has it back.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let frame = slf.get();
        let mut writer = ArrowWriter::try_new(Vec::new(), frame.schema.clone(), None).map_err(failed)?;
        frame.batches.iter().try_for_each(|batch| writer.write(batch)).map_err(failed)?;
        let bytes = PyBytes::new(slf.py(), &writer.into_inner().map_err(failed)?);
        Ok((slf.get_type().getattr("_from_parquet")?, (bytes,)))
    }

    /// What `__reduce__` made of one.
    #[staticmethod]
    fn _from_parquet(bytes: &[u8]) -> PyResult<Frame> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::copy_from_slice(bytes)).map_err(failed)?;
        let schema = builder.schema().clone();
        let batches = builder.build().map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
        Ok(Frame { schema, batches })
    }

    /// The names of the columns, in their order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// As a polars DataFrame. Needs polars: `pip install schedlab[polars]`.
    fn to_polars<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "polars")?.getattr("DataFrame")?.call1((slf,))
    }

    /// As a pandas DataFrame. Needs pandas and pyarrow: `pip install schedlab[pandas]`.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "pandas")?;
        Frame::to_pyarrow(slf)?.call_method0("to_pandas")
    }

    /// As a pyarrow Table. Needs pyarrow: `pip install schedlab[pandas]`.
    fn to_pyarrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "pyarrow")?.call_method1("table", (slf,))
    }

    /// The first rows, with units, for a notebook.
    fn _repr_html_(&self) -> String {
        crate::notebook::html(&self.schema, &self.batches)
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = (self.__len__(), self.columns());
        let rows = counted(rows as u64, "row");
        let more = match columns.len().saturating_sub(NAMED) {
            0 => String::new(),
            1 => " and 1 more column".to_string(),
            more => format!(" and {more} more columns"),
        };
        format!("Frame of {rows}: {}{more}", columns[..columns.len().min(NAMED)].join(", "))
    }
}

/// A library that is not installed is named with what installs it.
fn library<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        let extra = if name == "polars" { "polars" } else { "pandas" };
        let told = PyImportError::new_err(format!("{name} is not installed; pip install schedlab[{extra}] does it"));
        told.set_cause(py, Some(error));
        told
    })
}
