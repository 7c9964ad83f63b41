//! A frame as a notebook shows it: its first rows as a small table, with a unit above each column of numbers, or behind
//! each number where rows have units of their own.

mod cell;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use cell::{Cell, cells, is_empty};
use schedlab_html::parts::escaped;
use schedlab_model::metric::{Unit, find};
use schedlab_report::{Quantity, Times, with_minus};

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

/// Columns that say what is measured in a row: a unit, a metric or a figure.
const MEASURED_BY: [&str; 3] = ["unit", "metric", "figure"];

/// Columns in the unit of what is measured in their row.
const IN_UNIT_OF_ROW: [&str; 19] = [
    "value",
    "low",
    "high",
    "reference",
    "recorded",
    "modelled",
    "difference",
    "difference_interval.low",
    "difference_interval.high",
    "difference_interval.estimate",
    "under_changes.difference_low",
    "under_changes.difference_high",
    "from.number",
    "to.number",
    "allowed.least",
    "allowed.most",
    "change.low",
    "change.high",
    "seen",
];

/// Times whose names do not end in `_ns`.
const TIMES: [&str; 3] = ["measured_interval.low", "measured_interval.high", "measured_interval.estimate"];

/// What the numbers of a row are measured in, and all of them: the times of a row have one unit.
struct Measured {
    unit: Option<Unit>,
    all: Vec<Option<f64>>,
}

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
    let measured = rows_measured(schema, batches);
    let shown = |index| column(schema, batches, index, measured.as_deref());
    let shown: Vec<Shown> = chosen(schema, batches).into_iter().map(shown).collect();
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

/// The columns that are shown: what names a row, then the metrics that most readers look for, then others; those without
/// any value last.
fn chosen(schema: &SchemaRef, batches: &[RecordBatch]) -> Vec<usize> {
    let mut all: Vec<usize> = (0..schema.fields().len()).collect();
    if all.len() > COLUMNS {
        all.sort_by_cached_key(|index| {
            let name = schema.field(*index).name();
            let place = FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len());
            (is_empty(batches, *index), find(name).is_ok(), place, *index)
        });
        all.truncate(COLUMNS);
    }
    all
}

/// What each of the first rows measures; none where rows do not have units of their own.
fn rows_measured(schema: &SchemaRef, batches: &[RecordBatch]) -> Option<Vec<Measured>> {
    let index = MEASURED_BY.iter().find_map(|name| schema.index_of(name).ok())?;
    let columns: Vec<Vec<Cell>> = IN_UNIT_OF_ROW
        .iter()
        .filter_map(|name| schema.index_of(name).ok())
        .map(|index| cells(batches, index, ROWS))
        .collect();
    let row = |(row, cell): (usize, Cell)| Measured {
        unit: if let Cell::Word(word) = cell { unit_of(&word) } else { None },
        all: columns.iter().map(|column| column[row].number()).collect(),
    };
    Some(cells(batches, index, ROWS).into_iter().enumerate().map(row).collect())
}

/// The unit that a word stands for: its name, or a metric or figure which is measured in it.
fn unit_of(word: &str) -> Option<Unit> {
    let units = [Unit::Ns, Unit::Count, Unit::Fraction, Unit::Ratio, Unit::PerSecond];
    let named = units.into_iter().find(|unit| unit.words() == word);
    // Before a metric may stand where it is, as in `roles.worker.response_ns.p99`.
    let mut tails = std::iter::successors(Some(word), |path| Some(path.split_once('.')?.1));
    named.or_else(|| Some(tails.find_map(|path| find(path).ok())?.metric.unit)).or_else(|| unit_of_name(word))
}

/// The unit that the end of a name tells.
fn unit_of_name(name: &str) -> Option<Unit> {
    let ends = |end: &str| name.split('.').any(|part| part.ends_with(end));
    let units = [("_ns", Unit::Ns), ("_frac", Unit::Fraction), ("_per_s", Unit::PerSecond)];
    let told = units.into_iter().find(|(end, _)| ends(end)).map(|(_, unit)| unit);
    told.or_else(|| TIMES.contains(&name).then_some(Unit::Ns))
}

/// The first rows of a column. Times have one unit, and parts of a whole are in percent.
fn column(schema: &SchemaRef, batches: &[RecordBatch], index: usize, rows: Option<&[Measured]>) -> Shown {
    let field = schema.field(index);
    let (name, kind) = (field.name().clone(), field.data_type());
    let cells = cells(batches, index, ROWS);
    let numbers: Vec<Option<f64>> = cells.iter().map(Cell::number).collect();
    let unit = find(&name).ok().map(|found| found.metric.unit).or_else(|| unit_of_name(&name));
    // All digits of a seed count.
    let is_exact = kind.is_integer() && matches!(unit, None | Some(Unit::Count | Unit::Ratio));
    let is_number = kind.is_integer() || kind.is_floating();
    let (unit, cells) = match rows.filter(|_| IN_UNIT_OF_ROW.contains(&name.as_str())) {
        _ if !is_number || is_exact => (String::new(), cells.iter().map(Cell::text).collect()),
        Some(rows) => (String::new(), numbers.iter().zip(rows).map(|(number, row)| row.show(*number)).collect()),
        None => measured(unit, &numbers, &numbers),
    };
    Shown { name, unit, is_number, cells }
}

impl Measured {
    /// A number of the row with its unit: `95 ms`.
    fn show(&self, number: Option<f64>) -> String {
        let (unit, shown) = measured(self.unit, &self.all, &[number]);
        let shown = shown.concat();
        if unit.is_empty() || number.is_none() { shown } else { format!("{shown} {unit}") }
    }
}

/// Numbers among all that stand beside them: the name of their unit, and how they are shown.
fn measured(unit: Option<Unit>, all: &[Option<f64>], numbers: &[Option<f64>]) -> (String, Vec<String>) {
    let plain = |values: &[Option<f64>]| {
        let quantity = Quantity::of(values);
        values.iter().map(|value| with_minus(&quantity.show(*value)).into_owned()).collect()
    };
    match unit {
        Some(Unit::Ns) => {
            let times = Times::among(all, numbers);
            let shown = numbers.iter().map(|ns| with_minus(&times.show(*ns)).into_owned());
            (times.unit.into(), shown.collect())
        }
        Some(Unit::Fraction) => {
            ("%".into(), plain(&numbers.iter().map(|part| part.map(|part| 100.0 * part)).collect::<Vec<_>>()))
        }
        Some(Unit::PerSecond) => ("per s".into(), plain(numbers)),
        Some(Unit::Count | Unit::Ratio) | None => (String::new(), plain(numbers)),
    }
}
