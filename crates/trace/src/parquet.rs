//! Traces as Parquet: one row an event, one column a field, the header as JSON in the file's metadata.
//!
//! Ids and times are unsigned integers; words (`kind`, `source`, `reason`, `what`) are strings. A field that an event
//! does not have is null.

mod reader;
mod writer;

pub(crate) use reader::open;
pub(crate) use writer::Encoder;

use crate::{
    fields::{Field, Form},
    words::{Kind, Words},
};
use ::parquet::{
    basic::{LogicalType, Repetition, Type as Physical},
    schema::types::{Type, TypePtr},
};
use std::sync::Arc;

/// The key under which the header is in the metadata.
const HEADER_KEY: &str = "schedlab.trace";

/// The columns before those of [`Field::ALL`], which every event has.
const COMMON: [(&str, Form); 3] = [("time_ns", Form::Wide), ("cpu", Form::Id), ("kind", Form::Word(Kind::WORDS))];

/// The schema of the table.
fn schema() -> TypePtr {
    schema_with(Field::ALL)
}

/// The schema of a table with these fields.
fn schema_with(fields: &[Field]) -> TypePtr {
    let common = COMMON.iter().map(|&(name, form)| column(name, form, Repetition::REQUIRED));
    let fields = fields.iter().map(|field| column(field.name(), field.form(), Repetition::OPTIONAL));
    let table = Type::group_type_builder("event").with_fields(common.chain(fields).collect()).build();
    Arc::new(table.expect("a table of plain columns is a schema"))
}

fn column(name: &str, form: Form, repetition: Repetition) -> TypePtr {
    let (physical, logical) = match form {
        Form::Id => (Physical::INT32, LogicalType::integer(32, false)),
        Form::Wide => (Physical::INT64, LogicalType::integer(64, false)),
        Form::Word(_) => (Physical::BYTE_ARRAY, LogicalType::String),
    };
    let column = Type::primitive_type_builder(name, physical).with_repetition(repetition);
    Arc::new(column.with_logical_type(Some(logical)).build().expect("the logical type fits the physical one"))
}
