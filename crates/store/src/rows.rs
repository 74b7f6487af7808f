//! Converts rows of a study to SQLite columns and back. Owns the meaning of numbers and nulls in columns; refuses
//! values that do not fit.

use crate::StoreError;
use rtscope_tune::study::{Ask, Outcome, Row, Stage, Taken};
use rusqlite::types::Type;
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

/// The tables. A trial's `value` is null where nothing was measured, `why` where something was.
pub const TABLES: &str = "
    CREATE TABLE study (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        description TEXT NOT NULL
    ) STRICT;
    CREATE TABLE trial (
        id INTEGER PRIMARY KEY,
        number INTEGER NOT NULL,
        stage TEXT NOT NULL,
        block INTEGER NOT NULL,
        configuration INTEGER NOT NULL,
        again INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        outcome TEXT NOT NULL,
        value REAL,
        why TEXT,
        dirty INTEGER NOT NULL,
        started_unix_ns INTEGER NOT NULL,
        note TEXT
    ) STRICT;
    CREATE TABLE figure (
        trial INTEGER NOT NULL REFERENCES trial (id),
        name TEXT NOT NULL,
        value REAL NOT NULL,
        PRIMARY KEY (trial, name)
    ) STRICT, WITHOUT ROWID;
";

/// The columns of a trial, in the order of writing and reading.
const COLUMNS: &str =
    "number, stage, block, configuration, again, attempt, outcome, value, why, dirty, started_unix_ns, note";

/// Writes one row; atomic within the caller's transaction.
pub fn insert(to: &Connection, row: &Row) -> Result<(), StoreError> {
    let Row { taken: Taken { ask, outcome }, .. } = row;
    let (outcome, value, why) = outcome_words(outcome);
    let mut insert =
        to.prepare(&format!("INSERT INTO trial ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"))?;
    insert.execute(params![
        signed(ask.number)?,
        stage_word(ask.stage),
        signed(ask.block)?,
        signed(ask.configuration)?,
        ask.again,
        row.attempt,
        outcome,
        value,
        why,
        row.dirty,
        signed(row.started_unix_ns)?,
        row.note,
    ])?;
    let trial = to.last_insert_rowid();
    let mut insert = to.prepare("INSERT INTO figure (trial, name, value) VALUES (?, ?, ?)")?;
    // A figure that is not finite is left out: SQLite cannot represent it.
    for (name, value) in row.figures.iter().filter(|(_, value)| value.is_finite()) {
        insert.execute(params![trial, name, value])?;
    }
    Ok(())
}

/// All rows, in the order of writing.
pub fn read(from: &Connection) -> Result<Vec<Row>, StoreError> {
    let mut figures: BTreeMap<i64, BTreeMap<String, f64>> = BTreeMap::new();
    let mut select = from.prepare("SELECT trial, name, value FROM figure")?;
    let mut found = select.query([])?;
    while let Some(row) = found.next()? {
        figures.entry(row.get(0)?).or_default().insert(row.get(1)?, row.get(2)?);
    }
    let mut select = from.prepare(&format!("SELECT id, {COLUMNS} FROM trial ORDER BY id"))?;
    let mut found = select.query([])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let figures = figures.remove(&row.get(0)?).unwrap_or_default();
        rows.push(trial(row, figures)?);
    }
    Ok(rows)
}

fn trial(row: &rusqlite::Row<'_>, figures: BTreeMap<String, f64>) -> Result<Row, StoreError> {
    let number = |column: usize| -> Result<usize, StoreError> {
        let value: i64 = row.get(column)?;
        usize::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value).into())
    };
    let ask = Ask {
        number: number(1)?,
        stage: stage(&row.get::<_, String>(2)?)?,
        block: number(3)?,
        configuration: number(4)?,
        again: row.get(5)?,
    };
    let why = || row.get(9);
    let outcome = match row.get::<_, String>(7)?.as_str() {
        // SQLite cannot represent NaN, which was stored as null.
        "measured" => Outcome::Measured(row.get::<_, Option<f64>>(8)?.unwrap_or(f64::NAN)),
        "failed" => Outcome::Failed(why()?),
        "stopped" => Outcome::Stopped(why()?),
        other => return Err(unknown(7, "an outcome", other)),
    };
    Ok(Row {
        taken: Taken { ask, outcome },
        figures,
        attempt: row.get(6)?,
        dirty: row.get(10)?,
        started_unix_ns: u64::try_from(row.get::<_, i64>(11)?).unwrap_or(0),
        note: row.get(12)?,
    })
}

/// An outcome as a word, with the measured value, or why there is none.
pub fn outcome_words(outcome: &Outcome) -> (&'static str, Option<f64>, Option<&String>) {
    match outcome {
        Outcome::Measured(value) => ("measured", Some(*value), None),
        Outcome::Failed(why) => ("failed", None, Some(why)),
        Outcome::Stopped(why) => ("stopped", None, Some(why)),
    }
}

/// A stage as a word, as in JSON.
pub fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::Check => "check",
        Stage::Breadth => "breadth",
        Stage::Halving => "halving",
        Stage::Fresh => "fresh",
    }
}

fn stage(word: &str) -> Result<Stage, StoreError> {
    let all = [Stage::Check, Stage::Breadth, Stage::Halving, Stage::Fresh];
    all.into_iter().find(|stage| stage_word(*stage) == word).ok_or_else(|| unknown(2, "a stage", word))
}

fn unknown(column: usize, what: &str, word: &str) -> StoreError {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, format!("{word:?} is not {what}").into()).into()
}

/// Converts to a signed integer, as SQLite has no others.
fn signed<T: TryInto<i64>>(value: T) -> Result<i64, StoreError> {
    value.try_into().map_err(|_| StoreError::Other("a number is too large to be kept".to_owned()))
}
