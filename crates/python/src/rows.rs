//! Rows of named values as a table.

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray, UInt64Array,
};
use arrow_schema::{Field, Schema};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A row by the names of its columns.
pub type Row = Map<String, Value>;

/// What a column holds. Columns never depend on the rows, so that tables of different runs fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Text.
    Word,
    /// A truth value.
    Truth,
    /// A whole number.
    Whole,
    /// A seed: a whole number that may need all 64 bits.
    Seed,
    /// A number.
    Number,
}

/// The plain values of an object under their paths, `ratio_interval.low`; lists stay out.
pub fn flatten(value: &Value) -> Row {
    let mut row = Row::new();
    add(value, "", &mut row);
    row
}

fn add(value: &Value, path: &str, row: &mut Row) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                add(value, &path, row);
            }
        }
        Value::Array(_) => {}
        plain => {
            row.insert(path.into(), plain.clone());
        }
    }
}

/// A table with these columns in this order, also where no row has a value for one. What a row lacks is null.
pub fn table<N: AsRef<str>>(rows: &[Row], columns: &[(N, Kind)]) -> RecordBatch {
    let arrays: Vec<ArrayRef> = columns.iter().map(|(name, kind)| column(rows, name.as_ref(), *kind)).collect();
    let field =
        |((name, _), array): (&(N, Kind), &ArrayRef)| Field::new(name.as_ref(), array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().zip(&arrays).map(field).collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options)
        .expect("columns are as long as there are rows")
}

fn column(rows: &[Row], name: &str, kind: Kind) -> ArrayRef {
    let values = || rows.iter().map(|row| row.get(name).filter(|value| !value.is_null()));
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
    match kind {
        Kind::Word => Arc::new(values().map(|value| value.map(word)).collect::<StringArray>()),
        Kind::Truth => Arc::new(values().map(|value| value?.as_bool()).collect::<BooleanArray>()),
        Kind::Whole => Arc::new(values().map(|value| value?.as_i64()).collect::<Int64Array>()),
        Kind::Seed => Arc::new(values().map(|value| value?.as_u64()).collect::<UInt64Array>()),
        Kind::Number => Arc::new(values().map(|value| value?.as_f64()).collect::<Float64Array>()),
    }
}
