//! A study in its file. Owns when a row is durable, and which process may write; refuses rows of another study only
//! by its description, since the order of trials is `rtscope_tune`'s task.
//!
//! Each row is a transaction with a rollback journal and `synchronous=FULL`: when [`Store::append`] returns, the row
//! survives a kill and a power cut. A write-ahead log would be faster, but a study should be one file, and shards of
//! a job are on volumes of other machines, where such a log does not work. A trial takes longer than any disk.
//!
//! The writer keeps the file locked while it is open, also against readers: a reader that gets rows knows that no
//! process is continuing the study. The lock ends with the process.

use crate::{StoreError, VERSION, rows};
use rtscope_tune::study::{Description, Row};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// Identifies the file format, as in `PRAGMA application_id`: "rtst".
const APPLICATION: i64 = 0x7274_7374;

/// How long to wait for a lock: another process may be about to close the file.
const PATIENCE: Duration = Duration::from_millis(500);

/// A study that can be written.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    description: Description,
}

impl Store {
    /// Creates a study in a file that does not exist yet, or is empty.
    ///
    /// # Errors
    /// The file already holds a study, or cannot be created.
    pub fn create(path: &Path, description: &Description) -> Result<Store, StoreError> {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        lock(&connection)?;
        if !is_empty(&connection)? {
            check(&connection)?;
            return Err(StoreError::Taken);
        }
        // Atomic: a kill here leaves an empty file, which is not a study yet.
        let begun = connection.unchecked_transaction()?;
        begun.execute_batch(rows::TABLES)?;
        begun.execute("INSERT INTO study (id, description) VALUES (1, ?)", [serde_json::to_string(description)?])?;
        begun.pragma_update(None, "application_id", APPLICATION)?;
        begun.pragma_update(None, "user_version", VERSION)?;
        begun.commit()?;
        Ok(Store { connection, description: description.clone() })
    }

    /// Opens the study in a file, to continue it.
    ///
    /// # Errors
    /// There is none, it cannot be written, or another process has it open.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        lock(&connection)?;
        check(&connection)?;
        Ok(Store { description: description(&connection)?, connection })
    }

    /// Opens the study in a file if it is this one, or creates it if there is none.
    ///
    /// # Errors
    /// It is another study, or it cannot be opened or created.
    pub fn resume(path: &Path, description: &Description) -> Result<Store, StoreError> {
        match Store::create(path, description) {
            Err(StoreError::Taken) => (),
            made => return made,
        }
        let store = Store::open(path)?;
        match store.description.differs(description) {
            None => Ok(store),
            Some(what) => Err(StoreError::Differs(what)),
        }
    }

    /// Stores a row durably and atomically.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn append(&mut self, row: &Row) -> Result<(), StoreError> {
        self.append_all(std::slice::from_ref(row))
    }

    /// Stores all of `rows`, or none.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn append_all(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        let begun = self.connection.transaction()?;
        rows.iter().try_for_each(|row| rows::insert(&begun, row))?;
        Ok(begun.commit()?)
    }

    /// All rows, in the order in which they were stored.
    ///
    /// # Errors
    /// A value is not valid.
    pub fn rows(&self) -> Result<Vec<Row>, StoreError> {
        rows::read(&self.connection)
    }
}

/// Reads a study that no process writes: its description and its rows. The file may be read-only.
///
/// # Errors
/// There is none, or a process has it open.
pub fn read(path: &Path) -> Result<(Description, Vec<Row>), StoreError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    check(&connection)?;
    Ok((description(&connection)?, rows::read(&connection)?))
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    // Some names have a special meaning in SQLite, but no absolute path has.
    let path = std::path::absolute(path).map_err(|error| StoreError::Other(error.to_string()))?;
    let connection = match Connection::open_with_flags(&path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => return Err(closed(&path, flags)),
        opened => opened?,
    };
    connection.busy_timeout(PATIENCE)?;
    // The content of a foreign file is data; this keeps SQLite from executing any of it.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// Finds the reason for an open error, which SQLite does not give.
fn closed(path: &Path, flags: OpenFlags) -> StoreError {
    let makes = flags.contains(OpenFlags::SQLITE_OPEN_CREATE);
    match std::fs::OpenOptions::new().read(true).write(makes).create(makes).open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !makes => StoreError::Missing,
        Err(error) if error.kind() == std::io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly,
        Err(error) => StoreError::Other(error.to_string()),
        Ok(_) => StoreError::Other("it cannot be opened".to_owned()),
    }
}

/// Takes the lock, which is held until the connection is closed.
fn lock(connection: &Connection) -> Result<(), StoreError> {
    if connection.is_readonly("main")? {
        return Err(StoreError::ReadOnly);
    }
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    Ok(connection.execute_batch("BEGIN EXCLUSIVE; COMMIT")?)
}

fn is_empty(connection: &Connection) -> Result<bool, StoreError> {
    let names: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(names == 0 && pragma(connection, "application_id")? == 0)
}

fn check(connection: &Connection) -> Result<(), StoreError> {
    if pragma(connection, "application_id")? != APPLICATION {
        return Err(StoreError::NotAStudy);
    }
    match pragma(connection, "user_version")? {
        VERSION => Ok(()),
        later if later > VERSION => Err(StoreError::Newer(later)),
        other => Err(StoreError::Damaged(format!("{other} is no version of the format"))),
    }
}

fn pragma(connection: &Connection, name: &str) -> Result<i64, StoreError> {
    Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
}

fn description(connection: &Connection) -> Result<Description, StoreError> {
    let text: String = connection.query_row("SELECT description FROM study", [], |row| row.get(0))?;
    Ok(serde_json::from_str(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{description, row};
    use rtscope_tune::study::{Design, Outcome};

    #[test]
    fn what_was_appended_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.sqlite");
        let mut rows: Vec<Row> = (0..9).map(row).collect();
        rows[3].taken.outcome = Outcome::Failed("it ends with 2".to_owned());
        rows[4].dirty = true;
        rows[5] = Row { attempt: 1, note: Some("steal 3 %".to_owned()), ..rows[5].clone() };
        rows[8].taken.outcome = Outcome::Stopped("time is over".to_owned());
        let mut store = Store::create(&path, &description()).unwrap();
        for row in &rows {
            store.append(row).unwrap();
        }
        assert_eq!(store.rows().unwrap(), rows);
        drop(store);
        assert_eq!(read(&path).unwrap(), (description(), rows.clone()));
        let mut again = Store::resume(&path, &description()).unwrap();
        again.append(&rows[0]).unwrap();
        assert_eq!((again.rows().unwrap().len(), &again.description), (10, &description()));
        drop(again);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn nan_is_stored_as_null() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create(&folder.path().join("s"), &description()).unwrap();
        let mut odd = row(0);
        odd.taken.outcome = Outcome::Measured(f64::NAN);
        odd.figures.insert("rss_bytes".to_owned(), f64::INFINITY);
        store.append(&odd).unwrap();
        let back = store.rows().unwrap();
        assert!(matches!(back[0].taken.outcome, Outcome::Measured(value) if value.is_nan()));
        assert!(!back[0].figures.contains_key("rss_bytes"));
    }

    #[test]
    fn two_do_not_write_one_study() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.sqlite");
        let store = Store::create(&path, &description()).unwrap();
        assert_eq!(Store::open(&path).unwrap_err(), StoreError::InUse);
        assert_eq!(Store::create(&path, &description()).unwrap_err(), StoreError::InUse);
        assert_eq!(read(&path).unwrap_err(), StoreError::InUse);
        drop(store);
        assert_eq!(Store::create(&path, &description()).unwrap_err(), StoreError::Taken);
        Store::open(&path).unwrap();
    }

    #[test]
    fn another_study_is_not_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.sqlite");
        drop(Store::resume(&path, &description()).unwrap());
        let other = Description { design: Design::new(30, 9), ..description() };
        let error = Store::resume(&path, &other).unwrap_err();
        assert_eq!(error.to_string(), "it holds another study: not the same budget, seed or intervals");
    }

    #[test]
    fn what_is_no_study_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("garbage"), "{\"cfg\": \"-A1m\"}\n".repeat(400)).unwrap();
        std::fs::write(at("empty"), "").unwrap();
        let other = Connection::open(at("other")).unwrap();
        other.execute_batch("CREATE TABLE trial (id INTEGER)").unwrap();
        drop(other);
        for (name, error) in [
            ("garbage", StoreError::NotAStudy),
            ("empty", StoreError::NotAStudy),
            ("other", StoreError::NotAStudy),
            ("none", StoreError::Missing),
        ] {
            assert_eq!(Store::open(&at(name)).unwrap_err(), error, "{name}");
            assert_eq!(read(&at(name)).unwrap_err(), error, "{name}");
        }
        for name in ["garbage", "other"] {
            assert_eq!(Store::resume(&at(name), &description()).unwrap_err(), StoreError::NotAStudy);
        }
        assert!(!at("none").exists());
        assert!(Store::resume(&at("empty"), &description()).is_ok());
        assert!(matches!(Store::resume(folder.path(), &description()), Err(StoreError::Other(_))));
        assert!(matches!(Store::create(&at("no/where"), &description()), Err(StoreError::Other(_))));
    }

    #[test]
    fn later_versions_and_wrong_values_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.sqlite");
        let mut store = Store::create(&path, &description()).unwrap();
        store.append(&row(0)).unwrap();
        drop(store);
        let change = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        for sql in [
            "UPDATE trial SET number = -1",
            "UPDATE trial SET number = 0, stage = 'late'",
            "UPDATE trial SET stage = 'fresh', outcome = 'lost'",
            "UPDATE trial SET outcome = 'failed', why = NULL",
            "UPDATE trial SET outcome = 'measured', attempt = 5000000000",
        ] {
            change(sql);
            let error = read(&path).unwrap_err();
            assert!(matches!(error, StoreError::Damaged(_)), "{sql}: {error}");
        }
        change("UPDATE trial SET attempt = 0; UPDATE study SET description = '{}'");
        assert!(matches!(Store::open(&path).unwrap_err(), StoreError::Damaged(_)));
        change("PRAGMA user_version = 2");
        assert_eq!(Store::open(&path).unwrap_err(), StoreError::Newer(2));
        assert_eq!(StoreError::Newer(2).to_string(), "it is of version 2 of the format, this rtscope knows version 1");
    }

    #[test]
    fn a_full_disk_keeps_what_was_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.sqlite");
        let mut store = Store::create(&path, &description()).unwrap();
        let pages = pragma(&store.connection, "page_count").unwrap();
        store.connection.pragma_update(None, "max_page_count", pages + 1).unwrap();
        let mut kept = 0;
        let error = loop {
            match store.append(&row(kept)) {
                Ok(()) => kept += 1,
                Err(error) => break error,
            }
        };
        assert_eq!((error, kept > 5), (StoreError::Full, true));
        assert_eq!(store.rows().unwrap(), (0..kept).map(row).collect::<Vec<_>>());
    }
}
