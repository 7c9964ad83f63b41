//! Writes a Parquet file, row group by row group.

use super::{HEADER_KEY, schema};
use crate::{
    fields::{Field, Form, each_field},
    header::Header,
    words::{Kind, Words},
    writer,
};
use ::parquet::{
    basic::{Compression, Encoding},
    data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type},
    errors::{ParquetError, Result},
    file::{
        metadata::KeyValue,
        properties::{EnabledStatistics, WriterProperties},
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::ColumnPath,
};
use prost::bytes::Bytes;
use schedlab_model::{time::Time, trace::Event};
use std::{
    io::{self, Write},
    sync::Arc,
};

/// Events in a row group: what is held in memory (about 80 bytes each). Large, since the file's footer, which is held
/// too, has an entry for each group.
const ROW_GROUP: usize = 1 << 18;

/// The values of a field in the row group being filled, and for each row up to the last value whether it has one.
#[derive(Default)]
struct Column {
    levels: Vec<i16>,
    values: Vec<u64>,
}

impl Column {
    fn set(&mut self, row: usize, value: u64) {
        self.levels.resize(row, 0);
        self.levels.push(1);
        self.values.push(value);
    }
}

/// Writes events as a Parquet file.
pub(crate) struct Encoder<W: Write + Send> {
    file: SerializedFileWriter<W>,
    header: Header,
    times: Vec<i64>,
    cpus: Vec<i32>,
    kinds: Vec<u64>,
    columns: [Column; Field::ALL.len()],
}

impl<W: Write + Send> Encoder<W> {
    /// Begins a file.
    pub(crate) fn new(out: W, header: &Header) -> io::Result<Encoder<W>> {
        let properties = WriterProperties::builder()
            // The library's own name would change the bytes with each of its versions.
            .set_created_by("schedlab".into())
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_column_dictionary_enabled(ColumnPath::from("time_ns"), false)
            .set_column_encoding(ColumnPath::from("time_ns"), Encoding::DELTA_BINARY_PACKED);
        let file = SerializedFileWriter::new(out, schema(), Arc::new(properties.build())).map_err(to_io)?;
        Ok(Encoder {
            file,
            header: header.clone(),
            times: Vec::new(),
            cpus: Vec::new(),
            kinds: Vec::new(),
            columns: Default::default(),
        })
    }

    fn flush(&mut self) -> Result<()> {
        let rows = self.times.len();
        let mut group = self.file.next_row_group()?;
        write_column::<Int64Type, _>(&mut group, &self.times, None)?;
        write_column::<Int32Type, _>(&mut group, &self.cpus, None)?;
        write_column::<ByteArrayType, _>(&mut group, &words(Kind::WORDS, &self.kinds), None)?;
        for (field, column) in Field::ALL.iter().zip(&mut self.columns) {
            column.levels.resize(rows, 0);
            let (values, levels) = (&column.values, Some(&column.levels[..]));
            match field.form() {
                Form::Id => write_column::<Int32Type, _>(&mut group, &all(values, |v| v as i32), levels)?,
                Form::Wide => write_column::<Int64Type, _>(&mut group, &all(values, |v| v as i64), levels)?,
                Form::Word(list) => write_column::<ByteArrayType, _>(&mut group, &words(list, values), levels)?,
            }
            column.levels.clear();
            column.values.clear();
        }
        group.close()?;
        self.times.clear();
        self.cpus.clear();
        self.kinds.clear();
        Ok(())
    }
}

impl<W: Write + Send> writer::Encoder for Encoder<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let row = self.times.len();
        self.times.push(event.time.ns() as i64);
        self.cpus.push(event.cpu.0 as i32);
        self.kinds.push(Kind::of(&event.kind).code());
        each_field(&event.kind, |field, value| self.columns[field as usize].set(row, value));
        if row + 1 == ROW_GROUP {
            self.flush().map_err(to_io)?;
        }
        Ok(())
    }

    fn end(&mut self, end: Time, lost: u64) -> io::Result<()> {
        if !self.times.is_empty() {
            self.flush().map_err(to_io)?;
        }
        let header = Header { end, lost, ..self.header.clone() };
        self.file.append_key_value_metadata(KeyValue::new(HEADER_KEY.to_owned(), header.to_json()));
        self.file.finish().map_err(to_io)?;
        Ok(())
    }
}

fn all<T>(values: &[u64], convert: impl Fn(u64) -> T) -> Vec<T> {
    values.iter().map(|&value| convert(value)).collect()
}

fn words(list: &'static [&'static str], codes: &[u64]) -> Vec<ByteArray> {
    let words: Vec<ByteArray> = list.iter().map(|word| Bytes::from_static(word.as_bytes()).into()).collect();
    codes.iter().map(|&code| words[code as usize].clone()).collect()
}

fn write_column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    let mut column = group.next_column()?.expect("the schema has as many columns as are written");
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// What the system said, out of the library's wrapping.
fn to_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
