//! A frame as a notebook shows it: its first rows as a small table, with a unit above each column of numbers.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use schedlab_html::parts::escaped;
use schedlab_model::metric::{Unit, find};
use schedlab_report::{Quantity, Times};

/// How many rows and columns are shown.
const ROWS: usize = 10;
const COLUMNS: usize = 16;

/// Where there are more columns, these metrics come first behind what names a row.
const FIRST: [&str; 8] = [
    "response_ns.mean",
    "response_ns.p50",
    "response_ns.p99",
    "throughput_per_s",
    "run_delay_ns.mean",
    "wakeup_latency_ns.p99",
    "longest_wait_ns",
    "cpu_share",
];

/// A column as it is shown.
struct Shown {
    name: String,
    unit: String,
    is_number: bool,
    cells: Vec<String>,
}

/// The table as markup.
pub fn html(schema: &SchemaRef, batches: &[RecordBatch]) -> String {
    let rows = batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    let columns = schema.fields().len();
    let shown: Vec<Shown> = chosen(schema).into_iter().map(|index| column(schema, batches, index)).collect();
    let class =
        |one: &Shown| if one.is_number { " style=\"text-align: right\"" } else { " style=\"text-align: left\"" };
    let line = |tag: &str, of: &dyn Fn(&Shown) -> String| {
        let cells = shown.iter().map(|one| format!("<{tag}{}>{}</{tag}>", class(one), escaped(&of(one))));
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let head = line("th", &|one| one.name.clone()) + &line("th", &|one| one.unit.clone());
    let body: String =
        (0..rows.min(ROWS)).map(|row| line("td", &|one| one.cells.get(row).cloned().unwrap_or_default())).collect();
    let more = [
        (rows > ROWS).then(|| format!("{ROWS} of {rows} rows")),
        (columns > COLUMNS).then(|| format!("{COLUMNS} of {columns} columns")),
    ];
    let more = more.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let note =
        if more.is_empty() { String::new() } else { format!("<p>{more}; <code>to_polars()</code> has all.</p>") };
    format!("<table><thead>{head}</thead><tbody>{body}</tbody></table>{note}")
}

/// The columns that are shown: what names a row, then the metrics that most readers look for, then others.
fn chosen(schema: &SchemaRef) -> Vec<usize> {
    let mut all: Vec<usize> = (0..schema.fields().len()).collect();
    if all.len() > COLUMNS {
        let rank = |index: &usize| {
            let name = schema.field(*index).name();
            let is_metric = find(name).is_ok();
            (is_metric, FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()), *index)
        };
        all.sort_by_key(rank);
        all.truncate(COLUMNS);
    }
    all
}

/// The first rows of a column. Times have one unit, and parts of a whole are in percent.
fn column(schema: &SchemaRef, batches: &[RecordBatch], index: usize) -> Shown {
    let name = schema.field(index).name().clone();
    let arrays = || batches.iter().map(|batch| batch.column(index).as_ref());
    if let Some(numbers) = numbers(arrays()) {
        let (unit, cells) = measured(&name, &numbers);
        return Shown { name, unit, is_number: true, cells };
    }
    let cells = arrays().flat_map(words).take(ROWS).collect();
    Shown { name, unit: String::new(), is_number: false, cells }
}

/// The numbers of the first rows; none where they are something else.
fn numbers<'a>(arrays: impl Iterator<Item = &'a dyn Array>) -> Option<Vec<Option<f64>>> {
    let mut all = Vec::new();
    for array in arrays {
        let rows = 0..array.len().min(ROWS - all.len());
        let number = |row: usize| -> Option<f64> {
            let known = array.is_valid(row);
            match array.data_type() {
                DataType::Float64 => known.then(|| array.as_primitive::<Float64Type>().value(row)),
                DataType::Int64 => known.then(|| array.as_primitive::<Int64Type>().value(row) as f64),
                DataType::UInt64 => known.then(|| array.as_primitive::<UInt64Type>().value(row) as f64),
                _ => known.then(|| f64::from(array.as_primitive::<UInt32Type>().value(row))),
            }
        };
        if !matches!(array.data_type(), DataType::Float64 | DataType::Int64 | DataType::UInt64 | DataType::UInt32) {
            return None;
        }
        all.extend(rows.map(number));
    }
    Some(all)
}

/// A column of numbers with its unit, by what schedlab knows of its name.
fn measured(name: &str, numbers: &[Option<f64>]) -> (String, Vec<String>) {
    let known = find(name).ok().map(|found| found.metric.unit);
    let is_time = known == Some(Unit::Ns) || (known.is_none() && name.split('.').any(|part| part.ends_with("_ns")));
    let is_part = known == Some(Unit::Fraction) || (known.is_none() && name.ends_with("_frac"));
    let shown = |values: &[Option<f64>]| {
        let quantity = Quantity::of(values);
        values.iter().map(|value| quantity.show(*value)).collect()
    };
    if is_time {
        let times = Times::of(numbers);
        return (times.unit.into(), numbers.iter().map(|ns| times.show(*ns)).collect());
    }
    if is_part {
        return ("%".into(), shown(&numbers.iter().map(|part| part.map(|part| 100.0 * part)).collect::<Vec<_>>()));
    }
    (if known == Some(Unit::PerSecond) { "per s".into() } else { String::new() }, shown(numbers))
}

fn words(array: &dyn Array) -> Vec<String> {
    let rows = 0..array.len().min(ROWS);
    let word = |row: usize| match array.data_type() {
        _ if !array.is_valid(row) => "-".to_string(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_string(),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        _ => "…".into(),
    };
    rows.map(word).collect()
}
