//! The rows of a sweep's table: one for each run and role, or for a run that failed.

use crate::axis::{Kind, as_number, as_word};
use crate::plan::{Column, Plan};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use schedlab_model::metric::{Found, Part, known};
use schedlab_model::result::RunResult;
use std::sync::Arc;

/// Columns that every table has.
pub(crate) const RUN: &str = "run";
const POLICY: &str = "policy";
const VENUE: &str = "venue";
const SEED: &str = "seed";
const ROLE: &str = "role";
const ERROR: &str = "error";

/// A row of what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The run, by its place in the plan.
    pub run: usize,
    /// The role; absent where the run failed.
    pub role: Option<String>,
    /// One for each measure of the plan.
    pub values: Vec<Option<f64>>,
    /// What the run failed of.
    pub error: Option<String>,
}

impl Row {
    /// The rows of a run that came to its end: one for each role. A measure of the whole machine is in each.
    pub(crate) fn of_result(run: usize, result: &RunResult, measures: &[String]) -> Vec<Row> {
        let measures: Vec<_> = measures.iter().map(|path| known(path)).collect();
        let row = |role: &schedlab_model::result::RoleResult| {
            let value = |measure| Found::of(measure, Part::Role(role)).or_else(|| measure.of(Part::Run(result)));
            let values = measures.iter().map(value).collect();
            Row { run, role: Some(role.name.clone()), values, error: None }
        };
        result.roles.iter().map(row).collect()
    }

    /// The row of a run that failed.
    pub(crate) fn of_error(run: usize, error: String, measures: &[String]) -> Row {
        Row { run, role: None, values: vec![None; measures.len()], error: Some(error) }
    }
}

/// The columns of a plan's table.
pub(crate) fn schema(plan: &Plan) -> SchemaRef {
    let axis = |column: &Column| {
        let data_type = match column.kind {
            Kind::Integer | Kind::Time => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Word => DataType::Utf8,
        };
        Field::new(column.name(), data_type, false)
    };
    let word = |name: &str, nullable: bool| Field::new(name, DataType::Utf8, nullable);
    let mut fields = vec![word(RUN, false)];
    fields.extend(plan.own_axes().map(axis));
    fields.extend([
        word(POLICY, false),
        word(VENUE, false),
        Field::new(SEED, DataType::UInt64, false),
        word(ROLE, true),
    ]);
    fields.extend(plan.measures.iter().map(|measure| Field::new(measure, DataType::Float64, true)));
    fields.push(word(ERROR, true));
    Arc::new(Schema::new(fields))
}

/// Rows as columns.
pub(crate) fn batch(plan: &Plan, rows: &[Row]) -> RecordBatch {
    let runs = || rows.iter().map(|row| &plan.runs[row.run]);
    let words = |words: Vec<Option<String>>| Arc::new(StringArray::from(words)) as ArrayRef;
    let axis = |column: &Column| -> ArrayRef {
        let values = runs().map(|run| plan.value(run, column));
        match column.kind {
            Kind::Integer | Kind::Time => Arc::new(
                values
                    .map(|value| value.as_integer().or_else(|| as_number(value).map(|n| n as i64)))
                    .collect::<Int64Array>(),
            ),
            Kind::Float => Arc::new(values.map(as_number).collect::<Float64Array>()),
            Kind::Word => words(values.map(|value| Some(as_word(value))).collect()),
        }
    };
    let mut columns = vec![words(runs().map(|run| Some(run.name.clone())).collect())];
    columns.extend(plan.own_axes().map(axis));
    columns.push(words(runs().map(|run| Some(plan.policy_name(run).to_string())).collect()));
    columns.push(words(runs().map(|_| Some(plan.venue().name().to_string())).collect()));
    columns.push(Arc::new(runs().map(|run| Some(run.seed)).collect::<UInt64Array>()));
    columns.push(words(rows.iter().map(|row| row.role.clone()).collect()));
    let measure =
        |index: usize| Arc::new(rows.iter().map(|row| row.values[index]).collect::<Float64Array>()) as ArrayRef;
    columns.extend((0..plan.measures.len()).map(measure));
    columns.push(words(rows.iter().map(|row| row.error.clone()).collect()));
    RecordBatch::try_new(schema(plan), columns).expect("columns are those of the schema")
}

/// The names of the runs in a batch; none where it is no table of a sweep.
pub(crate) fn names(batch: &RecordBatch) -> Option<&StringArray> {
    batch.column_by_name(RUN)?.as_string_opt()
}

/// A row of a batch again, as one of a run of the plan; none where the batch has other columns.
pub(crate) fn row(batch: &RecordBatch, index: usize, run: usize, plan: &Plan) -> Option<Row> {
    let word = |name: &str| {
        let column: &StringArray = batch.column_by_name(name)?.as_string_opt()?;
        Some(column.is_valid(index).then(|| column.value(index).to_string()))
    };
    let number = |name: &String| {
        let column = batch.column_by_name(name)?.as_primitive_opt::<Float64Type>()?;
        Some(column.is_valid(index).then(|| column.value(index)))
    };
    let values = plan.measures.iter().map(number).collect::<Option<_>>()?;
    Some(Row { run, role: word(ROLE)?, values, error: word(ERROR)? })
}
