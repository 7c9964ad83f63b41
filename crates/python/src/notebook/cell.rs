//! The values of a frame, one by one.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

/// A value.
pub enum Cell {
    /// There is none.
    Absent,
    /// A whole number.
    Whole(i128),
    /// A number.
    Number(f64),
    /// Text, or a truth value.
    Word(String),
}

impl Cell {
    /// All of it.
    pub fn text(&self) -> String {
        match self {
            Cell::Absent => "-".into(),
            Cell::Whole(number) => number.to_string(),
            Cell::Number(number) => number.to_string(),
            Cell::Word(word) => word.clone(),
        }
    }

    /// It as a number; none where it is something else.
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Whole(number) => Some(*number as f64),
            Cell::Number(number) => Some(*number),
            Cell::Absent | Cell::Word(_) => None,
        }
    }
}

/// The first values of a column, up to a number of them.
pub fn cells(batches: &[RecordBatch], index: usize, most: usize) -> Vec<Cell> {
    let of_batch = |batch: &RecordBatch| {
        let array = batch.column(index).clone();
        (0..batch.num_rows().min(most)).map(move |row| cell(array.as_ref(), row)).collect::<Vec<_>>()
    };
    batches.iter().flat_map(of_batch).take(most).collect()
}

/// Whether a column has no value at all.
pub fn is_empty(batches: &[RecordBatch], index: usize) -> bool {
    batches.iter().all(|batch| batch.column(index).null_count() == batch.num_rows())
}

fn cell(array: &dyn Array, row: usize) -> Cell {
    if array.is_null(row) {
        return Cell::Absent;
    }
    match array.data_type() {
        DataType::Int8 => Cell::Whole(array.as_primitive::<Int8Type>().value(row).into()),
        DataType::Int16 => Cell::Whole(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int32 => Cell::Whole(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => Cell::Whole(array.as_primitive::<Int64Type>().value(row).into()),
        DataType::UInt8 => Cell::Whole(array.as_primitive::<UInt8Type>().value(row).into()),
        DataType::UInt16 => Cell::Whole(array.as_primitive::<UInt16Type>().value(row).into()),
        DataType::UInt32 => Cell::Whole(array.as_primitive::<UInt32Type>().value(row).into()),
        DataType::UInt64 => Cell::Whole(array.as_primitive::<UInt64Type>().value(row).into()),
        DataType::Float32 => Cell::Number(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => Cell::Number(array.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => Cell::Word(array.as_boolean().value(row).to_string()),
        DataType::Utf8 => Cell::Word(array.as_string::<i32>().value(row).into()),
        DataType::LargeUtf8 => Cell::Word(array.as_string::<i64>().value(row).into()),
        DataType::Utf8View => Cell::Word(array.as_string_view().value(row).into()),
        DataType::Dictionary(..) => {
            let entry = array.slice(row, 1);
            let dictionary = entry.as_any_dictionary();
            cell(dictionary.values().as_ref(), dictionary.normalized_keys()[0])
        }
        other => Cell::Word(format!("({other})")),
    }
}
