//! Files of recorded steps next to a scenario: one row a step, in the order of table, list, item and step.
//!
//! | column | what |
//! |---|---|
//! | `table` | the number of the role's items among the names in the metadata |
//! | `list`, `item` | whose list, and which item of it; the steps of an item are consecutive rows |
//! | `op` | the code of what the step does |
//! | `object` | the number of a name in the metadata |
//! | `value`, `more` | how long or how much |

use crate::Error;
use ::parquet::{
    basic::{Compression, LogicalType, Repetition, Type as Physical},
    column::reader::ColumnReader,
    data_type::{DataType, Int32Type, Int64Type},
    file::{
        metadata::KeyValue,
        properties::{EnabledStatistics, WriterProperties},
        reader::{FileReader, SerializedFileReader},
        writer::SerializedFileWriter,
    },
    schema::types::{Type, TypePtr},
};
use schedlab_boundary::{Shown, file, own::Partial};
use schedlab_model::recorded::{Act, Lists, MAX_STEPS, Op, StepFile};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::File,
    io,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The key of the metadata.
const KEY: &str = "schedlab.steps";

/// The schema of the files that this version writes and reads.
const SCHEMA: &str = "schedlab.steps/1";

/// Rows that are held in memory.
const ROW_GROUP: usize = 1 << 16;

/// The columns, narrow ones first.
const NARROW: [&str; 5] = ["table", "list", "item", "op", "object"];
const WIDE: [&str; 2] = ["value", "more"];

#[derive(Serialize, Deserialize)]
struct Metadata {
    schema: String,
    /// Of objects and roles.
    names: Vec<String>,
    tables: Vec<String>,
}

/// Where a step stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The number of the table.
    pub table: u32,
    /// The list of the table.
    pub list: u32,
    /// The item of the list.
    pub item: u32,
}

/// A file of steps being written. It gets its name when [`StepWriter::close`] succeeds.
pub struct StepWriter {
    path: PathBuf,
    partial: Partial,
    file: SerializedFileWriter<File>,
    narrow: [Vec<i32>; NARROW.len()],
    wide: [Vec<i64>; WIDE.len()],
}

impl StepWriter {
    /// Begins a file; an older one stays until the end.
    pub fn create(path: &Path) -> Result<StepWriter, Error> {
        let properties = WriterProperties::builder()
            .set_created_by("schedlab".into())
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true);
        let begin = || {
            let (partial, file) = Partial::create(path)?;
            let file = SerializedFileWriter::new(file, schema(), Arc::new(properties.build()));
            Ok((partial, file.map_err(io::Error::other)?))
        };
        let (partial, file) = begin().map_err(|source| Error::Write { path: path.into(), source })?;
        Ok(StepWriter { path: path.into(), partial, file, narrow: Default::default(), wide: Default::default() })
    }

    /// Takes the next step.
    pub fn act(&mut self, place: Place, act: &Act) -> Result<(), Error> {
        let narrow = [place.table, place.list, place.item, act.op as u32, act.object];
        self.narrow.iter_mut().zip(narrow).for_each(|(column, value)| column.push(value as i32));
        self.wide.iter_mut().zip([act.value, act.more]).for_each(|(column, value)| column.push(value as i64));
        if self.narrow[0].len() == ROW_GROUP {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        let failed = |error| Error::Write { path: self.path.clone(), source: io::Error::other(error) };
        let mut group = self.file.next_row_group().map_err(failed)?;
        let mut columns = || -> ::parquet::errors::Result<()> {
            for values in &self.narrow {
                let mut column = group.next_column()?.expect("the schema has these columns");
                column.typed::<Int32Type>().write_batch(values, None, None)?;
                column.close()?;
            }
            for values in &self.wide {
                let mut column = group.next_column()?.expect("the schema has these columns");
                column.typed::<Int64Type>().write_batch(values, None, None)?;
                column.close()?;
            }
            Ok(())
        };
        columns().map_err(failed)?;
        group.close().map_err(failed)?;
        self.narrow.iter_mut().for_each(Vec::clear);
        self.wide.iter_mut().for_each(Vec::clear);
        Ok(())
    }

    /// Ends the file, whose steps know these names of objects, and these of tables.
    pub fn close(mut self, names: &[String], tables: &[String]) -> Result<(), Error> {
        if !self.narrow[0].is_empty() {
            self.flush()?;
        }
        let metadata = Metadata { schema: SCHEMA.into(), names: names.into(), tables: tables.into() };
        let json = serde_json::to_string(&metadata).expect("strings are JSON");
        self.file.append_key_value_metadata(KeyValue::new(KEY.to_owned(), json));
        let written = self.file.finish().map(drop).map_err(io::Error::other);
        written.and_then(|()| self.partial.commit()).map_err(|source| Error::Write { path: self.path, source })
    }
}

fn schema() -> TypePtr {
    let column = |name: &&str, physical, bits| {
        let column = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        let column = column.with_logical_type(Some(LogicalType::integer(bits, false)));
        Arc::new(column.build().expect("the logical type fits the physical one"))
    };
    let narrow = NARROW.iter().map(|name| column(name, Physical::INT32, 32));
    let wide = WIDE.iter().map(|name| column(name, Physical::INT64, 64));
    let table = Type::group_type_builder("step").with_fields(narrow.chain(wide).collect()).build();
    Arc::new(table.expect("a table of plain columns is a schema"))
}

/// Reads a file of steps.
///
/// # Errors
///
/// It cannot be read, is none, is damaged, or holds more steps than a scenario may have.
pub fn read_steps(path: &Path) -> Result<StepFile, Error> {
    let file = file::open(path, file::ANY_BYTES).map_err(|source| Error::Read { path: path.into(), source })?;
    // The library panics on some damaged files where an error is due.
    let read = panic::catch_unwind(AssertUnwindSafe(|| read(file)));
    let read = read.unwrap_or_else(|_| Err("its pages or their description cannot be decoded".into()));
    read.map_err(|what| Error::Steps { path: path.into(), what })
}

fn read(file: File) -> Result<StepFile, String> {
    let shown = |error: ::parquet::errors::ParquetError| error.to_string();
    let file = SerializedFileReader::new(file).map_err(shown)?;
    let metadata = file.metadata().file_metadata();
    let found = metadata.key_value_metadata().and_then(|pairs| pairs.iter().find(|pair| pair.key == KEY));
    let text = found.and_then(|pair| pair.value.as_deref()).ok_or("it is not a file of steps")?;
    let Metadata { schema: found, names, tables } = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if found != SCHEMA {
        return Err(format!("it has the schema {}, and this schedlab reads {SCHEMA}", Shown::name(&found)));
    }
    let columns = |of: &Type| -> Vec<(String, Physical)> {
        of.get_fields().iter().map(|field| (field.name().into(), field.get_physical_type())).collect()
    };
    if columns(metadata.schema()) != columns(&schema()) {
        return Err("its columns are not those of a file of steps".into());
    }
    if metadata.num_rows() as u64 > MAX_STEPS {
        return Err(format!(
            "it has {} steps, and a scenario holds {MAX_STEPS}; record for a shorter time",
            metadata.num_rows()
        ));
    }
    let mut lists: Vec<Lists> = vec![Lists::new(); tables.len()];
    let mut last = None;
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(shown)?;
        let rows = group.metadata().num_rows() as usize;
        let mut narrow = Vec::new();
        for index in 0..NARROW.len() {
            let ColumnReader::Int32ColumnReader(column) = group.get_column_reader(index).map_err(shown)? else {
                return Err("a column is of another type".into());
            };
            narrow.push(all::<Int32Type>(column, rows)?);
        }
        let mut wide = Vec::new();
        for index in NARROW.len()..NARROW.len() + WIDE.len() {
            let ColumnReader::Int64ColumnReader(column) = group.get_column_reader(index).map_err(shown)? else {
                return Err("a column is of another type".into());
            };
            wide.push(all::<Int64Type>(column, rows)?);
        }
        for row in 0..rows {
            let [table, list, item, op, object] = [0, 1, 2, 3, 4].map(|column: usize| narrow[column][row] as u32);
            let place = Place { table, list, item };
            let op =
                u8::try_from(op).ok().and_then(Op::from_code).ok_or_else(|| format!("no step has the code {op}"))?;
            if op.has_object() && object as usize >= names.len() {
                return Err(format!("a step names the object {object} of {}", names.len()));
            }
            let act = Act { op, object, value: wide[0][row] as u64, more: wide[1][row] as u64 };
            item_at(&mut lists, place, last)?.push(act);
            last = Some(place);
        }
    }
    let visible = |name: &String| Shown::name(name).into_string();
    let names = names.iter().map(visible).collect();
    Ok(StepFile::new(names, tables.iter().map(visible).zip(lists).collect::<BTreeMap<_, _>>()))
}

/// The item of a row, which is that of the row before or the next one in order.
fn item_at(tables: &mut [Lists], place: Place, last: Option<Place>) -> Result<&mut Vec<Act>, String> {
    let unordered = || "its rows are not in order".to_string();
    let lists = tables.get_mut(place.table as usize).ok_or_else(unordered)?;
    if last != Some(place) {
        if place.list as usize == lists.len() {
            lists.push(Vec::new());
        }
        let items = lists.last_mut().ok_or_else(unordered)?;
        if place.item as usize != items.len() {
            return Err(unordered());
        }
        items.push(Vec::new());
    }
    if place.list as usize + 1 != lists.len() {
        return Err(unordered());
    }
    lists.last_mut().and_then(|items| items.last_mut()).ok_or_else(unordered)
}

fn all<T: DataType>(
    mut reader: ::parquet::column::reader::ColumnReaderImpl<T>,
    rows: usize,
) -> Result<Vec<T::T>, String> {
    let mut values = Vec::with_capacity(rows.min(ROW_GROUP));
    while values.len() < rows {
        let (read, ..) =
            reader.read_records(rows - values.len(), None, None, &mut values).map_err(|e| e.to_string())?;
        if read == 0 {
            return Err("a column is too short".into());
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_back_in_their_items() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.steps.parquet");
        let act = |value| Act { op: Op::Recv, object: 1, value, more: 7 };
        let mut writer = StepWriter::create(&path).unwrap();
        let places = [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)];
        for (value, (table, list, item)) in (0..).zip(places) {
            writer.act(Place { table, list, item }, &act(value)).unwrap();
        }
        writer.close(&["s".into(), "q".into()], &["a".into(), "b".into()]).unwrap();
        let file = read_steps(&path).unwrap();
        assert_eq!(file.names, ["s", "q"]);
        assert_eq!(file.tables["a"], [vec![vec![act(0), act(1)], vec![act(2)]], vec![vec![act(3)]]]);
        assert_eq!(file.tables["b"], [[[act(4)]]]);
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.steps.parquet");
        let mut writer = StepWriter::create(&path).unwrap();
        writer.act(Place { table: 0, list: 0, item: 3 }, &Act::new(Op::Compute, 1)).unwrap();
        writer.close(&[], &["a".into()]).unwrap();
        assert!(read_steps(&path).unwrap_err().to_string().contains("not in order"));
        std::fs::write(&path, "PAR1 no").unwrap();
        assert!(matches!(read_steps(&path), Err(Error::Steps { .. })));
    }
}
