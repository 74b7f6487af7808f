//! Trials as a Parquet table: a row each, figures as columns. Owns the schema of
//! `docs/formats/study.md`; nothing is compressed, as a study is small and every reader can
//! read that.

use crate::rows::stage_word;
use ::parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;
use rtscope_tune::study::{Description, Outcome, Row};
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use thiserror::Error;

/// Name and version of the schema, in the file's metadata as `rtscope.schema`.
pub const SCHEMA: &str = "rtscope/trials/1";

/// Before the name of a figure in its column's name, so that it is no other column's.
pub const FIGURE: &str = "figure_";

/// Why there is no table.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct NotWritten(String);

impl From<ParquetError> for NotWritten {
    fn from(error: ParquetError) -> NotWritten {
        match error {
            ParquetError::External(inner) => NotWritten(inner.to_string()),
            other => NotWritten(other.to_string()),
        }
    }
}

/// A column: its name, what it is, what it has in each row.
struct Column {
    name: String,
    logical: Option<LogicalType>,
    values: Values,
}

/// By row; absence only where the column may be empty.
enum Values {
    Flag(Vec<bool>),
    Count(Vec<i64>),
    Word(Vec<ByteArray>),
    MaybeWord(Vec<Option<ByteArray>>),
    MaybeNumber(Vec<Option<f64>>),
}

/// Writes the table.
///
/// # Errors
/// `to` cannot be written.
pub fn write(rows: &[Row], description: &Description, to: impl Write + Send) -> Result<(), NotWritten> {
    let columns = columns(rows, description);
    let fields = columns.iter().map(|column| Ok(Arc::new(column.field()?))).collect::<Result<_, ParquetError>>()?;
    let schema = Type::group_type_builder("trial").with_fields(fields).build()?;
    let about = serde_json::to_string(description).map_err(|error| NotWritten(error.to_string()))?;
    let metadata = [("rtscope.schema", SCHEMA.to_owned()), ("rtscope.study", about)];
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_created_by(format!("rtscope {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(metadata.map(|(key, value)| KeyValue::new(key.to_owned(), value)).into()))
        .build();
    let mut file = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    columns.iter().try_for_each(|column| column.write(&mut group))?;
    group.close()?;
    file.close()?;
    Ok(())
}

fn columns(rows: &[Row], description: &Description) -> Vec<Column> {
    let counts = |of: &dyn Fn(&Row) -> u64| {
        Values::Count(rows.iter().map(|row| i64::try_from(of(row)).unwrap_or(i64::MAX)).collect())
    };
    let flags = |of: fn(&Row) -> bool| Values::Flag(rows.iter().map(of).collect());
    let words = |of: &dyn Fn(&Row) -> String| Values::Word(rows.iter().map(|row| word(&of(row))).collect());
    let texts = |of: fn(&Row) -> Option<&String>| {
        Values::MaybeWord(rows.iter().map(|row| of(row).map(|text| word(text))).collect())
    };
    let numbers = |of: &dyn Fn(&Row) -> Option<f64>| Values::MaybeNumber(rows.iter().map(of).collect());
    let named = |row: &Row| description.names.get(row.taken.ask.configuration).cloned().unwrap_or_default();
    let started = LogicalType::timestamp(true, TimeUnit::NANOS);
    let plain = |name: &str, values| Column { name: name.to_owned(), logical: None, values };
    let text = |name: &str, values| Column { name: name.to_owned(), logical: Some(LogicalType::String), values };
    let mut columns = vec![
        plain("number", counts(&|row| row.taken.ask.number as u64)),
        plain("attempt", counts(&|row| u64::from(row.attempt))),
        text("stage", words(&|row| stage_word(row.taken.ask.stage).to_owned())),
        plain("block", counts(&|row| row.taken.ask.block as u64)),
        plain("configuration", counts(&|row| row.taken.ask.configuration as u64)),
        text("name", words(&named)),
        plain("again", flags(|row| row.taken.ask.again)),
        text("outcome", words(&|row| outcome(row).0.to_owned())),
        plain("value", numbers(&|row| outcome(row).1)),
        text("why", texts(|row| outcome(row).2)),
        plain("dirty", flags(|row| row.dirty)),
        Column { name: "started".to_owned(), logical: Some(started), values: counts(&|row| row.started_unix_ns) },
        text("note", texts(|row| row.note.as_ref())),
    ];
    let figures: BTreeSet<&String> = rows.iter().flat_map(|row| row.figures.keys()).collect();
    let figure = |name: &String| plain(&format!("{FIGURE}{name}"), numbers(&|row| row.figures.get(name).copied()));
    columns.extend(figures.into_iter().map(figure));
    columns
}

fn outcome(row: &Row) -> (&'static str, Option<f64>, Option<&String>) {
    match &row.taken.outcome {
        Outcome::Measured(value) => ("measured", Some(*value), None),
        Outcome::Failed(why) => ("failed", None, Some(why)),
        Outcome::Stopped(why) => ("stopped", None, Some(why)),
    }
}

fn word(text: &str) -> ByteArray {
    ByteArray::from(text)
}

impl Column {
    fn field(&self) -> Result<Type, ParquetError> {
        let (physical, repetition) = match &self.values {
            Values::Flag(_) => (Physical::BOOLEAN, Repetition::REQUIRED),
            Values::Count(_) => (Physical::INT64, Repetition::REQUIRED),
            Values::Word(_) => (Physical::BYTE_ARRAY, Repetition::REQUIRED),
            Values::MaybeWord(_) => (Physical::BYTE_ARRAY, Repetition::OPTIONAL),
            Values::MaybeNumber(_) => (Physical::DOUBLE, Repetition::OPTIONAL),
        };
        Type::primitive_type_builder(&self.name, physical)
            .with_repetition(repetition)
            .with_logical_type(self.logical.clone())
            .build()
    }

    fn write<W: Write + Send>(&self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<(), ParquetError> {
        match &self.values {
            Values::Flag(values) => put::<BoolType, W>(group, values, None),
            Values::Count(values) => put::<Int64Type, W>(group, values, None),
            Values::Word(values) => put::<ByteArrayType, W>(group, values, None),
            Values::MaybeWord(values) => {
                put::<ByteArrayType, W>(group, &values.iter().flatten().cloned().collect::<Vec<_>>(), there(values))
            }
            Values::MaybeNumber(values) => {
                put::<DoubleType, W>(group, &values.iter().flatten().copied().collect::<Vec<_>>(), there(values))
            }
        }
    }
}

/// 1 where there is a value.
fn there<T>(values: &[Option<T>]) -> Option<Vec<i16>> {
    Some(values.iter().map(|value| i16::from(value.is_some())).collect())
}

fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    there: Option<Vec<i16>>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, there.as_deref(), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{description, row};
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::{Field, Row as Read};

    fn table(rows: &[Row]) -> (Vec<Read>, Vec<(String, Option<String>)>) {
        let mut out = Vec::new();
        write(rows, &description(), &mut out).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trials.parquet");
        std::fs::write(&path, out).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
        let metadata = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
        let read = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        (read, metadata.into_iter().map(|pair| (pair.key, pair.value)).collect())
    }

    fn field(row: &Read, name: &str) -> Field {
        let found = row.get_column_iter().find(|(column, _)| *column == name);
        found.unwrap_or_else(|| panic!("no {name}")).1.clone()
    }

    #[test]
    fn each_trial_is_a_row_and_each_figure_a_column() {
        let mut rows: Vec<Row> = (0..5).map(row).collect();
        rows[1].figures.insert("number".to_owned(), 4.5);
        rows[2].taken.outcome = Outcome::Failed("it ends with 2".to_owned());
        rows[3].note = Some("steal 3 %".to_owned());
        rows[3].dirty = true;
        let (read, metadata) = table(&rows);
        assert_eq!(read.len(), 5);
        for (row, read) in rows.iter().zip(&read) {
            let name = &description().names[row.taken.ask.configuration];
            assert_eq!(field(read, "number"), Field::Long(row.taken.ask.number as i64));
            assert_eq!(
                (field(read, "name"), field(read, "stage")),
                (Field::Str(name.clone()), Field::Str("fresh".into()))
            );
            assert_eq!(field(read, "dirty"), Field::Bool(row.dirty));
            assert_eq!(field(read, "figure_rss_bytes"), Field::Double(row.figures["rss_bytes"]));
            assert_eq!(field(read, "value"), outcome(row).1.map_or(Field::Null, Field::Double));
        }
        assert_eq!(
            (field(&read[1], "figure_number"), field(&read[0], "figure_number")),
            (Field::Double(4.5), Field::Null)
        );
        assert_eq!(field(&read[2], "why"), Field::Str("it ends with 2".to_owned()));
        assert_eq!(
            (field(&read[3], "note"), field(&read[2], "note")),
            (Field::Str("steal 3 %".to_owned()), Field::Null)
        );
        let of = |key: &str| metadata.iter().find(|(name, _)| name == key).unwrap().1.clone().unwrap();
        assert_eq!(of("rtscope.schema"), SCHEMA);
        assert_eq!(serde_json::from_str::<Description>(&of("rtscope.study")).unwrap(), description());
    }

    #[test]
    fn no_trials_are_an_empty_table() {
        assert_eq!(table(&[]).0.len(), 0);
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let error = write(&[row(0)], &description(), Full).unwrap_err();
        assert_eq!(error.to_string(), "no storage space");
    }
}
