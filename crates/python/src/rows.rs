//! Rows of named values as a table.

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{Field, Schema};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A row by the names of its columns.
pub type Row = Map<String, Value>;

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

/// A table with a column for every name that is in a row: those of `first` before the others, which are in the order of
/// their names, numbers in them as numbers.
pub fn table(rows: &[Row], first: &[&str]) -> RecordBatch {
    let names: BTreeSet<&String> = rows.iter().flat_map(Map::keys).collect();
    let mut names: Vec<&String> = names.into_iter().collect();
    names.sort_by_cached_key(|name| {
        let place = first.iter().position(|first| first == name).unwrap_or(first.len());
        let words = name.split('.').map(|word| (word.parse::<u64>().ok(), word)).collect::<Vec<_>>();
        (place, words)
    });
    let columns: Vec<ArrayRef> = names.iter().map(|name| column(rows, name)).collect();
    let field = |(name, column): (&&String, &ArrayRef)| Field::new(name.as_str(), column.data_type().clone(), true);
    let schema = Schema::new(names.iter().zip(&columns).map(field).collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)
        .expect("columns are as long as there are rows")
}

/// Whole numbers, numbers, truth values, or else words.
fn column(rows: &[Row], name: &str) -> ArrayRef {
    let values = || rows.iter().map(|row| row.get(name).filter(|value| !value.is_null()));
    let all = |is: fn(&Value) -> bool| values().flatten().all(is);
    if all(Value::is_i64) {
        Arc::new(values().map(|value| value?.as_i64()).collect::<Int64Array>())
    } else if all(Value::is_number) {
        Arc::new(values().map(|value| value?.as_f64()).collect::<Float64Array>())
    } else if all(Value::is_boolean) {
        Arc::new(values().map(|value| value?.as_bool()).collect::<BooleanArray>())
    } else {
        let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
        Arc::new(values().map(|value| value.map(word)).collect::<StringArray>())
    }
}
