//! Writes one Parquet file row by row. Owns columns, row groups and their encodings; refuses to know the content of a
//! table, and opens no files.
//!
//! Rows are collected and written in groups, so memory is bounded. Nothing is compressed: times are stored as
//! differences and words as numbers, which every reader can read and which leaves little to compress.
#![forbid(unsafe_code)]

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

/// Number of rows in a group.
pub const GROUP: usize = 1 << 15;
/// Limit of remembered words; evicted ones are allocated again.
const WORDS_MAX: usize = 1 << 16;

/// The type of a column.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Kind {
    /// Nanoseconds that usually increase.
    Time,
    /// Any whole number.
    Number,
    /// Any real number.
    Real,
    /// A time, in nanoseconds since 1970.
    Stamp,
    /// A text that often repeats.
    Word,
    /// True or false.
    Flag,
}

/// A column: its name, its kind, and whether it may be null.
pub type Shape<'a> = (&'a str, Kind, bool);

/// The column may be null.
pub const NULL: bool = true;
/// The column has a value in each row.
pub const FULL: bool = false;

/// A text of a cell, made by [`Words`].
pub type Word = ByteArray;

struct Column {
    kind: Kind,
    nullable: bool,
    numbers: Vec<i64>,
    reals: Vec<f64>,
    words: Vec<ByteArray>,
    flags: Vec<bool>,
    /// 1 where there is a value, else 0.
    there: Vec<i16>,
}

/// A Parquet table that is being written.
pub struct Table<W: Write + Send> {
    columns: Vec<Column>,
    rows: usize,
    file: Option<SerializedFileWriter<W>>,
}

/// A row being filled: one value per column, in their order.
pub struct Row<'t> {
    columns: std::slice::IterMut<'t, Column>,
}

impl Row<'_> {
    fn put(&mut self, there: bool, add: impl FnOnce(&mut Column)) {
        if let Some(column) = self.columns.next() {
            column.there.push(i16::from(there));
            if there {
                add(column);
            }
        }
    }

    /// Adds a whole number, or a time.
    pub fn number(&mut self, value: impl TryInto<i64>) -> &mut Self {
        self.maybe(Some(value))
    }

    /// Adds a whole number or null.
    pub fn maybe(&mut self, value: Option<impl TryInto<i64>>) -> &mut Self {
        let value = value.map(|value| value.try_into().unwrap_or(i64::MAX));
        self.put(value.is_some(), |column| column.numbers.extend(value));
        self
    }

    /// Adds a real number or null.
    pub fn real(&mut self, value: Option<f64>) -> &mut Self {
        self.put(value.is_some(), |column| column.reals.extend(value));
        self
    }

    /// Adds a text or null.
    pub fn word(&mut self, value: Option<Word>) -> &mut Self {
        self.put(value.is_some(), |column| column.words.extend(value));
        self
    }

    /// Adds a boolean.
    pub fn flag(&mut self, value: bool) -> &mut Self {
        self.put(true, |column| column.flags.push(value));
        self
    }
}

impl<W: Write + Send> Table<W> {
    /// Begins a table with these columns and rows named `row`; `metadata` goes into the file.
    pub fn new(out: W, row: &str, shapes: &[Shape<'_>], metadata: &[(&str, String)]) -> io::Result<Table<W>> {
        let columns = shapes.iter().map(Column::new).collect();
        let fields = shapes.iter().map(|shape| Ok(Arc::new(field(shape)?)));
        let fields = fields.collect::<Result<_, ParquetError>>().map_err(failed)?;
        let schema = Type::group_type_builder(row).with_fields(fields).build().map_err(failed)?;
        let pairs = metadata.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::UNCOMPRESSED)
            .set_created_by(format!("rtscope {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(pairs.collect()));
        for (name, ..) in shapes.iter().filter(|(_, kind, _)| *kind == Kind::Time) {
            let path = ColumnPath::from(*name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build())).map_err(failed)?;
        Ok(Table { columns, rows: 0, file: Some(file) })
    }

    /// Adds a row.
    pub fn row(&mut self, fill: impl FnOnce(&mut Row<'_>)) -> io::Result<()> {
        fill(&mut Row { columns: self.columns.iter_mut() });
        self.rows += 1;
        if self.rows >= GROUP { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        let Some(file) = self.file.as_mut().filter(|_| self.rows > 0) else { return Ok(()) };
        let mut group = file.next_row_group().map_err(failed)?;
        self.columns.iter_mut().try_for_each(|column| column.write(&mut group)).map_err(failed)?;
        group.close().map_err(failed)?;
        self.rows = 0;
        Ok(())
    }

    /// Writes the remaining rows and the end of the file.
    pub fn finish(&mut self) -> io::Result<()> {
        self.write()?;
        match self.file.take() {
            Some(mut file) => file.finish().map(|_| ()).map_err(failed),
            None => Ok(()),
        }
    }
}

fn field((name, kind, nullable): &Shape<'_>) -> Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Time | Kind::Number => (Physical::INT64, None),
        Kind::Stamp => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
        Kind::Real => (Physical::DOUBLE, None),
        Kind::Word => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Flag => (Physical::BOOLEAN, None),
    };
    let repetition = if *nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(name, physical).with_repetition(repetition).with_logical_type(logical).build()
}

impl Column {
    fn new(&(_, kind, nullable): &Shape<'_>) -> Column {
        let (numbers, reals, words, flags, there) = Default::default();
        Column { kind, nullable, numbers, reals, words, flags, there }
    }

    fn write<W: Write + Send>(&mut self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<(), ParquetError> {
        let there = self.nullable.then_some(self.there.as_slice());
        match self.kind {
            Kind::Time | Kind::Number | Kind::Stamp => put::<Int64Type, W>(group, &mut self.numbers, there)?,
            Kind::Real => put::<DoubleType, W>(group, &mut self.reals, there)?,
            Kind::Word => put::<ByteArrayType, W>(group, &mut self.words, there)?,
            Kind::Flag => put::<BoolType, W>(group, &mut self.flags, there)?,
        }
        self.there.clear();
        Ok(())
    }
}

/// Writes the values of a row group and empties `values`.
fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &mut Vec<T::T>,
    there: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, there, None)?;
    values.clear();
    column.close()
}

/// Converts an error of the library; one that comes from the output is unwrapped.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner.to_string()),
        },
        error => io::Error::other(error.to_string()),
    }
}

/// Texts of cells; equal texts are stored once.
#[derive(Default)]
pub struct Words {
    known: HashMap<Box<str>, Word>,
}

impl Words {
    /// The cell for `text`.
    pub fn get(&mut self, text: &str) -> Word {
        if let Some(word) = self.known.get(text) {
            return word.clone();
        }
        if self.known.len() >= WORDS_MAX {
            self.known.clear();
        }
        let word = Word::from(text);
        self.known.insert(text.into(), word.clone());
        word
    }

    /// The cell for `text`; null if it is empty.
    pub fn some(&mut self, text: &str) -> Option<Word> {
        (!text.is_empty()).then(|| self.get(text))
    }
}
