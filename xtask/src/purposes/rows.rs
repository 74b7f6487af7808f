//! A row for each pair of runs in a tab-separated file. Owns its columns; a row is written at once when its pair is
//! judged, so that a command that was ended goes on behind it.

use super::pair::Scored;
use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

const HEAD: &str =
    "seed\tcommit\truntime\ttoolchain\tkind\tamount\tsamples\twith_purpose\tright\tknown_ns\tfound_ns\telsewhere";

/// One pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub seed: u64,
    pub commit: String,
    pub runtime: String,
    pub toolchain: String,
    pub kind: String,
    pub amount: u64,
    pub samples: u64,
    pub with_purpose: f64,
    pub right: f64,
    pub known_ns: f64,
    pub found_ns: f64,
    pub elsewhere: String,
}

impl Row {
    /// Of a pair of so much work.
    pub fn of(seed: u64, commit: &str, toolchain: &str, (kind, amount): (&str, u64), scored: &Scored) -> Row {
        let elsewhere = scored.elsewhere.iter().map(|(key, ns)| format!("{key} {:+.0} ms", ns / 1e6));
        Row {
            seed,
            commit: commit.to_owned(),
            runtime: scored.runtime.clone(),
            toolchain: toolchain.to_owned(),
            kind: kind.to_owned(),
            amount,
            samples: scored.samples,
            with_purpose: scored.with_purpose,
            right: scored.right(),
            known_ns: scored.known_ns,
            found_ns: scored.found_ns,
            elsewhere: elsewhere.collect::<Vec<_>>().join(", "),
        }
    }

    fn line(&self) -> String {
        let Row { seed, commit, runtime, toolchain, kind, amount, samples, elsewhere, .. } = self;
        format!(
            "{seed}\t{commit}\t{runtime}\t{toolchain}\t{kind}\t{amount}\t{samples}\t{:.4}\t{:.4}\t{:.0}\t{:.0}\t{elsewhere}",
            self.with_purpose, self.right, self.known_ns, self.found_ns
        )
    }

    fn read(line: &str) -> Result<Row> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [seed, commit, runtime, toolchain, kind, amount, samples, with, right, known, found, elsewhere] =
            fields[..]
        else {
            bail!("{} columns", fields.len());
        };
        Ok(Row {
            seed: seed.parse()?,
            commit: commit.into(),
            runtime: runtime.into(),
            toolchain: toolchain.into(),
            kind: kind.into(),
            amount: amount.parse()?,
            samples: samples.parse()?,
            with_purpose: with.parse()?,
            right: right.parse()?,
            known_ns: known.parse()?,
            found_ns: found.parse()?,
            elsewhere: elsewhere.into(),
        })
    }
}

/// The file.
#[derive(Debug)]
pub struct Rows {
    path: PathBuf,
    pub all: Vec<Row>,
}

impl Rows {
    /// Opens or begins it. A last line without its end is of a pair that was cut off, and is removed.
    pub fn open(path: &Path) -> Result<Rows> {
        let text = if path.exists() { fs::read_to_string(path)? } else { format!("{HEAD}\n") };
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let mut lines = whole.lines();
        ensure!(lines.next() == Some(HEAD), "{} is no file of this command", path.display());
        let all = lines
            .enumerate()
            .map(|(at, line)| Row::read(line).with_context(|| format!("{}, line {}", path.display(), at + 2)));
        let all = all.collect::<Result<_>>()?;
        fs::create_dir_all(path.parent().context("a file without a folder")?)?;
        fs::write(path, whole).with_context(|| path.display().to_string())?;
        Ok(Rows { path: path.to_owned(), all })
    }

    /// Whether this commit has judged the pair.
    pub fn has(&self, seed: u64, commit: &str, (toolchain, runtime): (&str, &str), kind: &str) -> bool {
        let same = |row: &&Row| row.seed == seed && row.commit == commit && row.toolchain == toolchain;
        self.all.iter().filter(same).any(|row| row.kind == kind && row.runtime.starts_with(runtime))
    }

    /// Adds a row, in one write.
    pub fn add(&mut self, row: Row) -> Result<()> {
        let mut file = OpenOptions::new().append(true).open(&self.path)?;
        file.write_all(format!("{}\n", row.line()).as_bytes())?;
        self.all.push(row);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_begun_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.tsv");
        let scored = Scored {
            runtime: "ghc 9.0.2".into(),
            samples: 7,
            with_purpose: 0.999,
            known_ns: 1000.0,
            found_ns: 960.0,
            elsewhere: vec![("copying-old".into(), 4e7)],
        };
        let row = Row::of(3, "abc", "ghc-9.0", ("stacks", 10), &scored);
        Rows::open(&path).unwrap().add(row.clone()).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"4\tabc\tghc").unwrap();
        let rows = Rows::open(&path).unwrap();
        assert_eq!(rows.all, [row]);
        assert!(rows.has(3, "abc", ("ghc-9.0", "ghc"), "stacks"));
        assert!(
            !rows.has(3, "abc", ("ghc-9.0", "ocaml"), "stacks") && !rows.has(3, "abd", ("ghc-9.0", "ghc"), "stacks")
        );
        fs::write(&path, "mine\n").unwrap();
        assert!(Rows::open(&path).is_err());
    }
}
