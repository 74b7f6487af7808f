//! Merges blocks from many machines into one study. Owns which files belong together; refuses files of another study,
//! two different files of one block, and rows that do not belong to their block.

use crate::{StoreError, study};
use rtscope_tune::jobs;
use rtscope_tune::study::{Description, Row, StudyKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Extension of shards, such as `shard-0.sqlite`; any name with it is accepted.
pub const ENDING: &str = "sqlite";

/// The result of a merge.
#[derive(Debug)]
pub struct Merged {
    /// Description of the merged study.
    pub description: Description,
    /// Their rows, block by block.
    pub rows: Vec<Row>,
    /// Numbers of the blocks that were found.
    pub blocks: Vec<u32>,
    /// Numbers of the blocks that are missing.
    pub missing: Vec<u32>,
    /// Files that were skipped, and why.
    pub left_out: Vec<(PathBuf, String)>,
}

/// A block's file.
struct Shard {
    path: PathBuf,
    index: u32,
    description: Description,
    rows: Vec<Row>,
}

/// Merges the blocks of `dir` and stores them in `out`, where an earlier result of the same job is replaced.
/// Unreadable files are skipped.
///
/// # Errors
/// The blocks do not belong together, or nothing can be read or stored; the text says why.
pub fn merge(dir: &Path, out: &Path) -> Result<Merged, String> {
    let merged = take(dir, out)?;
    keep(&merged, out).map_err(|why| format!("cannot keep the result in {}: {why}", out.display()))?;
    Ok(merged)
}

fn take(dir: &Path, out: &Path) -> Result<Merged, String> {
    let mut left_out = Vec::new();
    let mut shards: BTreeMap<u32, Shard> = BTreeMap::new();
    for path in files(dir)?.into_iter().filter(|path| path != out) {
        let shard = match read(&path) {
            Ok(Some(shard)) => shard,
            Ok(None) => continue,
            Err(why) => {
                left_out.push((path, why));
                continue;
            }
        };
        if let Some(first) = shards.values().next() {
            let alike = Description { kind: first.description.kind, ..shard.description.clone() };
            let what = first.description.differs(&alike);
            let what =
                what.or_else(|| (of(&first.description) != of(&shard.description)).then_some("number of blocks"));
            if let Some(what) = what {
                let (first, path) = (first.path.display(), path.display());
                return Err(format!("{first} and {path} are of different studies: not the same {what}"));
            }
        }
        match shards.get(&shard.index) {
            Some(same) if same.rows == shard.rows => {
                left_out.push((path, format!("it is the same as {}", same.path.display())));
            }
            Some(other) => {
                let (other, path, block) = (other.path.display(), path.display(), shard.index);
                return Err(format!(
                    "{other} and {path} both hold block {block} and are not the same: keep one of them"
                ));
            }
            None => drop(shards.insert(shard.index, shard)),
        }
    }
    let Some(first) = shards.values().next() else {
        let why = left_out.first().map(|(path, why)| format!(" ({}: {why})", path.display()));
        return Err(format!("there is no block of a job in {}{}", dir.display(), why.unwrap_or_default()));
    };
    let of = of(&first.description);
    let mut machines: Vec<&str> = shards.values().map(|shard| shard.description.machine.as_str()).collect();
    machines.sort_unstable();
    machines.dedup();
    let machine = machines.join("; ");
    let description = Description { machine, kind: StudyKind::Merged { of }, ..first.description.clone() };
    let blocks: Vec<u32> = shards.keys().copied().collect();
    let missing = (0..of).filter(|index| !shards.contains_key(index)).collect();
    let rows = shards.into_values().flat_map(|shard| shard.rows).collect();
    Ok(Merged { description, rows, blocks, missing, left_out })
}

fn of(description: &Description) -> u32 {
    match description.kind {
        StudyKind::Block { of, .. } | StudyKind::Merged { of } => of,
        StudyKind::Search => 0,
    }
}

/// The studies in a folder, by name.
fn files(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = |error: std::io::Error| format!("cannot read {}: {error}", dir.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(folder)? {
        let path = entry.map_err(folder)?.path();
        if path.extension().is_some_and(|ending| ending == ENDING) {
            files.push(path);
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// The block in a file; `None`: the file is an earlier result.
fn read(path: &Path) -> Result<Option<Shard>, String> {
    let (description, rows) = study::read(path).map_err(|error| error.to_string())?;
    let index = match description.kind {
        StudyKind::Block { index, of } if index < of => index,
        StudyKind::Merged { .. } => return Ok(None),
        _ => return Err("it is no block of a job".to_owned()),
    };
    let space = description.space().map_err(|error| error.to_string())?;
    let asks = jobs::block(&space, &description.design, index);
    match rows.iter().find(|row| !asks.contains(&row.taken.ask)) {
        Some(row) => Err(format!("its trial {} is none of block {index}", row.taken.ask.number)),
        None => Ok(Some(Shard { path: path.to_owned(), index, description, rows })),
    }
}

/// Stored atomically: written to a new file, which is then renamed.
fn keep(merged: &Merged, out: &Path) -> Result<(), StoreError> {
    match study::read(out) {
        Err(StoreError::Missing) => (),
        Err(error) => return Err(error),
        Ok((old, _)) if old.kind != merged.description.kind => return Err(StoreError::Taken),
        Ok((old, _)) => old.differs(&merged.description).map_or(Ok(()), |what| Err(StoreError::Differs(what)))?,
    }
    let mut name = out.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    // Left over from a merge that was killed.
    let _ = std::fs::remove_file(&part);
    let made = study::Store::create(&part, &merged.description)
        .and_then(|mut store| store.append_all(&merged.rows))
        .and_then(|()| std::fs::rename(&part, out).map_err(|error| StoreError::Other(error.to_string())));
    if made.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use crate::testing::description;
    use rtscope_tune::study::{Design, Outcome, Taken, Verdict};

    fn shard(folder: &Path, name: &str, index: u32, change: impl FnOnce(&mut Description, &mut Vec<Row>)) {
        let kind = StudyKind::Block { index, of: 8 };
        let mut about = Description { machine: format!("node {}", index % 2), kind, ..description() };
        let asks = jobs::block(&about.space().unwrap(), &about.design, index);
        let value = |configuration: usize| f64::from(index + 1) * (1.0 - 0.2 * configuration as f64);
        let row = |ask| Row::new(Taken { ask, outcome: Outcome::Measured(value(ask.configuration)) });
        let mut rows: Vec<Row> = asks.into_iter().map(row).collect();
        change(&mut about, &mut rows);
        Store::create(&folder.join(name), &about).unwrap().append_all(&rows).unwrap();
    }

    #[test]
    fn blocks_become_one_study() {
        let folder = tempfile::tempdir().unwrap();
        let (dir, out) = (folder.path(), folder.path().join("study.sqlite"));
        for index in [5, 0, 1, 2, 3, 6] {
            shard(dir, &format!("shard-{index}.sqlite"), index, |_, _| ());
        }
        std::fs::write(dir.join("notes.txt"), "not one").unwrap();
        let merged = merge(dir, &out).unwrap();
        assert_eq!((merged.blocks, merged.missing, merged.left_out), (vec![0, 1, 2, 3, 5, 6], vec![4, 7], vec![]));
        let (kept, rows) = study::read(&out).unwrap();
        assert_eq!((&kept.machine[..], kept.kind, rows.len()), ("node 0; node 1", StudyKind::Merged { of: 8 }, 24));
        let found = jobs::answer(&kept.space().unwrap(), &kept.design, &rows);
        assert_eq!((found.verdict, found.candidates[0].pairs), (Verdict::Better(2), 6));
        // Later, with one more block.
        shard(dir, "shard-7.sqlite", 7, |_, _| ());
        assert_eq!(merge(dir, &out).unwrap().missing, [4]);
        assert_eq!(study::read(&out).unwrap().1.len(), 28);
        assert!(!dir.join("study.sqlite.part").exists());
    }

    #[test]
    fn what_does_not_belong_is_refused() {
        let refused = |change: &dyn Fn(&Path)| {
            let folder = tempfile::tempdir().unwrap();
            shard(folder.path(), "a.sqlite", 0, |_, _| ());
            change(folder.path());
            let error = merge(folder.path(), &folder.path().join("out")).unwrap_err().to_string();
            assert!(!folder.path().join("out").exists());
            error.replace(&format!("{}/", folder.path().display()), "")
        };
        let seeded = |dir: &Path| {
            shard(dir, "b.sqlite", 1, |about, rows| {
                about.design = Design { seed: 8, ..about.design };
                *rows = Vec::new();
            })
        };
        assert_eq!(
            refused(&seeded),
            "a.sqlite and b.sqlite are of different studies: not the same budget, seed or intervals"
        );
        let more = |dir: &Path| shard(dir, "b.sqlite", 1, |about, _| about.kind = StudyKind::Block { index: 1, of: 9 });
        assert_eq!(refused(&more), "a.sqlite and b.sqlite are of different studies: not the same number of blocks");
        let again = |dir: &Path| shard(dir, "b.sqlite", 0, |_, rows| rows.truncate(2));
        assert_eq!(refused(&again), "a.sqlite and b.sqlite both hold block 0 and are not the same: keep one of them");
        let only = |dir: &Path| {
            std::fs::remove_file(dir.join("a.sqlite")).unwrap();
            std::fs::write(dir.join("b.sqlite"), "garbage".repeat(200)).unwrap();
        };
        assert!(refused(&only).ends_with("(b.sqlite: it is no study of rtscope)"), "{}", refused(&only));
        assert!(merge(Path::new("/no/where"), Path::new("out")).is_err());
    }

    #[test]
    fn what_cannot_be_read_is_left_out_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        shard(dir, "a.sqlite", 0, |_, _| ());
        std::fs::copy(dir.join("a.sqlite"), dir.join("b.sqlite")).unwrap();
        std::fs::write(dir.join("c.sqlite"), "").unwrap();
        shard(dir, "d.sqlite", 1, |about, _| about.kind = StudyKind::Search);
        shard(dir, "e.sqlite", 2, |_, rows| rows[1].taken.ask.number += 100);
        shard(dir, "f.sqlite", 3, |_, _| ());
        let open = Store::open(&dir.join("f.sqlite")).unwrap();
        let merged = merge(dir, &dir.join("out")).unwrap();
        drop(open);
        let words: Vec<&str> = merged.left_out.iter().map(|(_, why)| why.as_str()).collect();
        assert!(words[0].starts_with("it is the same as"), "{words:?}");
        assert_eq!(
            words[1..],
            [
                "it is no study of rtscope",
                "it is no block of a job",
                "its trial 109 is none of block 2",
                "another process has it open",
            ]
        );
        assert_eq!((merged.blocks.as_slice(), merged.rows.len()), (&[0][..], 4));
    }

    #[test]
    fn another_study_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let (dir, out) = (folder.path(), folder.path().join("out"));
        shard(dir, "a.sqlite", 0, |_, _| ());
        drop(Store::create(&out, &description()).unwrap());
        assert!(merge(dir, &out).unwrap_err().to_string().ends_with("it holds a study already"));
        std::fs::write(&out, "my diary, page one".repeat(99)).unwrap();
        assert!(merge(dir, &out).unwrap_err().to_string().ends_with("it is no study of rtscope"));
    }
}
