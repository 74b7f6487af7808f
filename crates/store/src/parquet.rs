//! Trials as a Parquet table: one row per trial, figures as columns. Owns the schema of `docs/formats/study.md`;
//! nothing is compressed, since a study is small and every reader can read that.

use crate::rows::{outcome_words, stage_word};
use rtscope_table::{FULL, Kind, NULL, Shape, Table, Words};
use rtscope_tune::study::{Description, Row};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Name and version of the schema; stored as `rtscope.schema` in the file's metadata.
pub const SCHEMA: &str = "rtscope/trials/1";

/// Prefix of figures' column names, which distinguishes them from other columns.
pub const FIGURE: &str = "figure_";

const COLUMNS: [Shape<'_>; 13] = [
    ("number", Kind::Number, FULL),
    ("attempt", Kind::Number, FULL),
    ("stage", Kind::Word, FULL),
    ("block", Kind::Number, FULL),
    ("configuration", Kind::Number, FULL),
    ("name", Kind::Word, FULL),
    ("again", Kind::Flag, FULL),
    ("outcome", Kind::Word, FULL),
    ("value", Kind::Real, NULL),
    ("why", Kind::Word, NULL),
    ("dirty", Kind::Flag, FULL),
    ("started", Kind::Stamp, FULL),
    ("note", Kind::Word, NULL),
];

/// Writes the table.
pub fn write(rows: &[Row], description: &Description, to: impl Write + Send) -> io::Result<()> {
    let about = [("rtscope.schema", SCHEMA.to_owned()), ("rtscope.study", serde_json::to_string(description)?)];
    let figures: BTreeSet<&String> = rows.iter().flat_map(|row| row.figures.keys()).collect();
    let names: Vec<String> = figures.iter().map(|name| format!("{FIGURE}{name}")).collect();
    let of_figures = names.iter().map(|name| (name.as_str(), Kind::Real, NULL));
    let columns: Vec<Shape<'_>> = COLUMNS.into_iter().chain(of_figures).collect();
    let mut table = Table::new(to, "trial", &columns, &about)?;
    let mut words = Words::default();
    for row in rows {
        let ask = &row.taken.ask;
        let (outcome, value, why) = outcome_words(&row.taken.outcome);
        let name = description.names.get(ask.configuration).map_or("", String::as_str);
        table.row(|cells| {
            cells.number(ask.number).number(row.attempt).word(Some(words.get(stage_word(ask.stage))));
            cells.number(ask.block).number(ask.configuration).word(Some(words.get(name))).flag(ask.again);
            cells.word(Some(words.get(outcome))).real(value).word(why.map(|why| words.get(why))).flag(row.dirty);
            cells.number(row.started_unix_ns).word(row.note.as_ref().map(|note| words.get(note)));
            figures.iter().for_each(|name| {
                cells.real(row.figures.get(*name).copied());
            });
        })?;
    }
    table.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{description, row};
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::{Field, Row as Read};
    use rtscope_tune::study::Outcome;

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
            assert_eq!(field(read, "value"), outcome_words(&row.taken.outcome).1.map_or(Field::Null, Field::Double));
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
    fn what_cannot_be_written_is_reported() {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let error = write(&[row(0)], &description(), full).unwrap_err();
        assert_eq!(error.to_string(), "No space left on device (os error 28)");
    }
}
