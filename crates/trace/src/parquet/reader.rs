//! Reads a Parquet file back, a batch of rows at a time.

use super::{COMMON, HEADER_KEY, schema};
use crate::{
    Error,
    fields::{Field, Form, Row},
    header::Header,
    reader::{EventResult, Events, header_error},
    words::{Kind, Words},
};
use ::parquet::{
    column::reader::ColumnReader,
    data_type::ByteArray,
    errors::ParquetError,
    file::{
        reader::{FileReader, SerializedFileReader},
        serialized_reader::ReadOptionsBuilder,
    },
    schema::types::SchemaDescriptor,
};
use schedlab_boundary::library;
use schedlab_model::{ids::CpuId, time::Time, trace::Event};
use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// Rows read at once.
const BATCH: usize = 4096;

/// Opens a Parquet trace: its header and its events.
pub(crate) fn open(path: &Path, mut file: File) -> Result<(Header, Events), Error> {
    if !ends_as_parquet(&mut file).map_err(|source| Error::Read { path: path.into(), source })? {
        return Err(Error::Truncated { path: path.into(), at: None });
    }
    let options = ReadOptionsBuilder::new().build();
    let file = guarded(|| SerializedFileReader::new_with_options(file, options).map_err(|error| error.to_string()))
        .map_err(|what| Error::Damaged { path: path.into(), what })?;
    let metadata = file.metadata().file_metadata();
    let foreign = |what: &str| Error::Foreign { path: path.into(), what: what.to_owned() };
    let header = metadata
        .key_value_metadata()
        .and_then(|pairs| pairs.iter().find(|pair| pair.key == HEADER_KEY))
        .and_then(|pair| pair.value.as_deref())
        .ok_or_else(|| foreign("a Parquet file without the key schedlab.trace in its metadata"))?;
    let header = Header::from_json(header).map_err(|error| header_error(path, error))?;
    let fields = fields(metadata.schema_descr())
        .ok_or_else(|| foreign("a Parquet file whose columns are not those of its schema"))?;
    let rows = Rows { fields, path: path.into(), file, next_group: 0, columns: Vec::new(), row: 0, rows: 0 };
    Ok((header, Box::new(rows)))
}

/// Whether the file has a Parquet file's last bytes.
fn ends_as_parquet(file: &mut File) -> std::io::Result<bool> {
    let mut end = [0; 4];
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(4)))?;
    // Four bytes at the start and eight at the end are the smallest.
    Ok(length >= 12 && file.read_exact(&mut end).is_ok() && &end == b"PAR1")
}

/// The fields that have a column: all that there are now, or the first of them, since a new field is the last. None where
/// the columns are others.
fn fields(found: &SchemaDescriptor) -> Option<&'static [Field]> {
    let shape = |schema: &SchemaDescriptor| -> Vec<_> {
        let columns = schema.columns().iter();
        columns.map(|c| (c.path().string(), c.physical_type(), c.max_def_level(), c.max_rep_level())).collect()
    };
    let (found, expected) = (shape(found), shape(&SchemaDescriptor::new(schema())));
    let known = found.len().checked_sub(COMMON.len()).filter(|&fields| fields >= FIRST_FIELDS)?;
    (found.len() <= expected.len() && found == expected[..found.len()]).then(|| &Field::ALL[..known])
}

/// The fields of the first version.
const FIRST_FIELDS: usize = Field::Request as usize;

/// Calls the library, which panics on some damaged files where an error is due. What a panic leaves half done is not
/// used again: the reader ends with its first error.
fn guarded<T>(call: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    library::guarded(call).unwrap_or_else(|_| Err("its pages or their description cannot be decoded".into()))
}

/// One column of the batch: the numbers that are there, and for each row whether it has one.
struct Column {
    reader: ColumnReader,
    form: Form,
    levels: Vec<i16>,
    values: Vec<u64>,
    next: usize,
}

impl Column {
    /// Reads the next batch and gives its rows.
    fn read(&mut self) -> Result<usize, String> {
        self.levels.clear();
        self.values.clear();
        self.next = 0;
        let levels = Some(&mut self.levels);
        let shown = |error: ParquetError| error.to_string();
        let rows = match (&mut self.reader, self.form) {
            (ColumnReader::Int32ColumnReader(reader), _) => {
                let mut values = Vec::new();
                let (rows, ..) = reader.read_records(BATCH, levels, None, &mut values).map_err(shown)?;
                self.values.extend(values.iter().map(|&value| u64::from(value as u32)));
                rows
            }
            (ColumnReader::Int64ColumnReader(reader), _) => {
                let mut values = Vec::new();
                let (rows, ..) = reader.read_records(BATCH, levels, None, &mut values).map_err(shown)?;
                self.values.extend(values.iter().map(|&value| value as u64));
                rows
            }
            (ColumnReader::ByteArrayColumnReader(reader), Form::Word(words)) => {
                let mut values = Vec::new();
                let (rows, ..) = reader.read_records(BATCH, levels, None, &mut values).map_err(shown)?;
                for value in &values {
                    self.values.push(code(words, value)?);
                }
                rows
            }
            _ => return Err("a column has another type than its schema says".into()),
        };
        Ok(rows)
    }

    /// The value of the next row, which every row has.
    fn required(&mut self) -> Result<u64, String> {
        self.next += 1;
        self.values.get(self.next - 1).copied().ok_or_else(|| "a column is too short".into())
    }

    /// The value of row `row` of the batch, to be asked row by row.
    fn optional(&mut self, row: usize) -> Result<Option<u64>, String> {
        match self.levels.get(row) {
            None => Err("a column is too short".into()),
            Some(0) => Ok(None),
            Some(_) => self.required().map(Some),
        }
    }
}

fn code(words: &[&str], value: &ByteArray) -> Result<u64, String> {
    let place = words.iter().position(|word| word.as_bytes() == value.data());
    place.map(|place| place as u64).ok_or_else(|| {
        let shown: String = String::from_utf8_lossy(value.data()).chars().take(40).collect();
        format!("`{}` is none of {}", shown.escape_debug(), words.join(", "))
    })
}

/// The events of a file.
struct Rows {
    path: PathBuf,
    file: SerializedFileReader<File>,
    fields: &'static [Field],
    next_group: usize,
    columns: Vec<Column>,
    row: usize,
    rows: usize,
}

impl Rows {
    /// Reads the next batch of this or the next row group. False at the end of the file.
    fn advance(&mut self) -> Result<bool, String> {
        loop {
            if !self.columns.is_empty() {
                self.row = 0;
                self.rows = self.columns[0].read()?;
                for column in &mut self.columns[1..] {
                    if column.read()? != self.rows {
                        return Err("its columns differ in length".into());
                    }
                }
                if self.rows > 0 {
                    return Ok(true);
                }
            }
            if self.next_group == self.file.num_row_groups() {
                return Ok(false);
            }
            self.open_group().map_err(|error| error.to_string())?;
        }
    }

    fn open_group(&mut self) -> Result<(), ParquetError> {
        let group = self.file.get_row_group(self.next_group)?;
        let forms = COMMON.iter().map(|&(_, form)| form).chain(self.fields.iter().map(|field| field.form()));
        let columns = forms.enumerate().map(|(index, form)| {
            let reader = group.get_column_reader(index)?;
            Ok(Column { reader, form, levels: Vec::new(), values: Vec::new(), next: 0 })
        });
        self.columns = columns.collect::<Result<_, ParquetError>>()?;
        self.next_group += 1;
        Ok(())
    }

    fn event(&mut self) -> Result<Event, String> {
        let (common, fields) = self.columns.split_at_mut(COMMON.len());
        let [time, cpu, kind] = common else { unreachable!("there are three common columns") };
        let (time, cpu) = (Time(time.required()?), CpuId(cpu.required()? as u32));
        let kind = Kind::from_code(kind.required()?).expect("words were turned into codes");
        let mut row = Row::default();
        for (&field, column) in self.fields.iter().zip(fields) {
            if let Some(value) = column.optional(self.row)? {
                row.set(field, value)?;
            }
        }
        self.row += 1;
        row.event(time, cpu, kind)
    }
}

impl Iterator for Rows {
    type Item = EventResult;

    fn next(&mut self) -> Option<EventResult> {
        let event = if self.row < self.rows {
            self.event()
        } else {
            match guarded(|| self.advance()) {
                Ok(true) => self.event(),
                Ok(false) => return None,
                Err(what) => Err(what),
            }
        };
        Some(event.map_err(|what| Error::Damaged { path: self.path.clone(), what }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema_with;
    use super::*;

    /// Files from before a field was there are read, others are none of ours.
    #[test]
    fn older_files_have_fewer_columns() {
        let known = |of: &[Field]| fields(&SchemaDescriptor::new(schema_with(of))).map(<[Field]>::len);
        assert_eq!(known(Field::ALL), Some(Field::ALL.len()));
        assert_eq!(known(&Field::ALL[..FIRST_FIELDS]), Some(FIRST_FIELDS));
        assert_eq!(known(&Field::ALL[..FIRST_FIELDS - 1]), None);
        assert_eq!(known(&Field::ALL[1..]), None);
    }

    #[test]
    fn a_panic_of_the_library_is_an_error_of_the_file() {
        let levels: Vec<i16> = Vec::new();
        let outcome = guarded(|| Ok(levels[3]));
        assert_eq!(outcome.unwrap_err(), "its pages or their description cannot be decoded");
        assert_eq!(guarded(|| Ok(4)), Ok(4));
    }
}
