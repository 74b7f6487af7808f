//! Rows of a long measurement, as JSON lines. Each run's rows are added as soon as it ends, so that an
//! interrupted command can continue. Owns the file; an incomplete last line is ignored.

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// The file and its rows.
#[derive(Debug)]
pub struct Rows<R> {
    file: File,
    length: u64,
    /// All rows, in the order in which they were added.
    pub all: Vec<R>,
}

impl<R: Serialize + DeserializeOwned> Rows<R> {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// The file belongs to another command, or cannot be written.
    pub fn open(path: &Path) -> Result<Rows<R>> {
        let text = if path.exists() { fs::read_to_string(path)? } else { String::new() };
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let row = |(at, line): (usize, &str)| {
            serde_json::from_str(line)
                .with_context(|| format!("{}, line {}, is not of this command", path.display(), at + 1))
        };
        let all = whole.lines().enumerate().map(row).collect::<Result<_>>()?;
        fs::create_dir_all(path.parent().context("a file without a folder")?)?;
        let file = File::options().append(true).create(true).open(path).with_context(|| path.display().to_string())?;
        let length = whole.len() as u64;
        file.set_len(length)?;
        Ok(Rows { file, length, all })
    }

    /// Adds the rows of one run: all, or none if they cannot be written.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn add(&mut self, rows: Vec<R>) -> Result<()> {
        let mut text = String::new();
        for row in &rows {
            text += &serde_json::to_string(row)?;
            text.push('\n');
        }
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            self.file.set_len(self.length)?;
            return Err(error.into());
        }
        self.length += text.len() as u64;
        self.all.extend(rows);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_begun_goes_on_and_a_line_that_was_cut_off_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("rows.jsonl");
        Rows::open(&path).unwrap().add(vec![(1, "a".to_owned()), (2, "b".to_owned())]).unwrap();
        File::options().append(true).open(&path).unwrap().write_all(b"[3,\"c").unwrap();
        let mut rows = Rows::<(u32, String)>::open(&path).unwrap();
        assert_eq!(rows.all.len(), 2);
        rows.add(vec![(4, "d".into())]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "[1,\"a\"]\n[2,\"b\"]\n[4,\"d\"]\n");
        fs::write(&path, "mine\n").unwrap();
        assert!(Rows::<(u32, String)>::open(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
    }

    #[test]
    fn a_full_disk_leaves_no_part_of_a_run() {
        let file = File::options().append(true).open("/dev/full").unwrap();
        let mut rows = Rows { file, length: 0, all: Vec::new() };
        assert!(rows.add(vec![1, 2]).is_err() && rows.all.is_empty());
    }
}
