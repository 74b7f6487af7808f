//! Programs that were compiled already: one is compiled once for each compiler, its version, its
//! flags and the text of its sources, whoever asks and wherever it is to lie. Owns the folder
//! `compiled` of the cache, and what makes one compiled thing another; refuses to know how
//! anything is compiled.

use crate::cache;
use anyhow::{Context, Result, ensure};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Endings of what a compiler reads.
const SOURCES: [&str; 5] = ["hs", "ml", "mli", "c", "h"];

/// Gives `output` what `compile` writes there. `with` are the compiler and its flags.
pub fn once(with: &[&str], sources: &[&Path], output: &Path, compile: impl FnOnce() -> Result<()>) -> Result<()> {
    let kept = cache::folder("compiled")?.join(format!("{:016x}", key(with, sources)?));
    // Whoever else wants it at this moment, in this process or another, waits for it.
    let lock = File::create(kept.with_extension("lock"))?;
    lock.lock()?;
    if kept.exists() {
        return copy(&kept, output);
    }
    compile()?;
    let part = kept.with_extension("part");
    copy(output, &part)?;
    fs::rename(part, kept).map_err(Into::into)
}

fn key(with: &[&str], sources: &[&Path]) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    with.hash(&mut hasher);
    for folder in sources {
        let files = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        let mut files: Vec<PathBuf> = files.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|ending| SOURCES.iter().any(|of| ending == *of)));
        files.sort();
        for file in files {
            file.file_name().hash(&mut hasher);
            fs::read(&file)?.hash(&mut hasher);
        }
        // The same files in other folders are found in another order.
        "/".hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// Of the compiler and of every file of a folder, and of those below it.
pub fn key_of_all(with: &[&str], folder: &Path) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    with.hash(&mut hasher);
    hash_all(folder, &mut hasher)?;
    Ok(hasher.finish())
}

fn hash_all(folder: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    let files = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<PathBuf> = files.flatten().map(|entry| entry.path()).collect();
    files.sort();
    for file in files {
        file.file_name().hash(hasher);
        if file.is_dir() {
            hash_all(&file, hasher)?;
        } else {
            fs::read(&file)?.hash(hasher);
        }
    }
    "/".hash(hasher);
    Ok(())
}

/// By a process of its own: no other thread's child inherits a descriptor that is open for writing,
/// for as long as which the kernel refuses to start the program.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let done = Command::new("cp").arg("--").args([from, to]).status().context("cp")?;
    ensure!(done.success(), "{} could not be copied to {}", from.display(), to.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_another_where_anything_of_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let keyed = |with: &[&str]| key(with, &[folder.path()]).unwrap();
        fs::write(folder.path().join("Main.hs"), "main = print 1").unwrap();
        let first = keyed(&["ghc", "-O"]);
        fs::write(folder.path().join("Main.o"), "an object").unwrap();
        assert_eq!(keyed(&["ghc", "-O"]), first);
        assert_ne!(keyed(&["ghc", "-O2"]), first);
        fs::write(folder.path().join("Main.hs"), "main = print 2").unwrap();
        assert_ne!(keyed(&["ghc", "-O"]), first);
    }

    #[test]
    fn a_package_is_another_where_any_file_of_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let keyed = |with: &[&str]| key_of_all(with, folder.path()).unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("a.cabal"), "name: a").unwrap();
        fs::write(folder.path().join("src/A.hs"), "module A where").unwrap();
        let first = keyed(&["ghc"]);
        assert_eq!(keyed(&["ghc"]), first);
        assert_ne!(keyed(&["other"]), first);
        fs::write(folder.path().join("src/A.hs"), "module A () where").unwrap();
        let second = keyed(&["ghc"]);
        assert_ne!(second, first);
        fs::write(folder.path().join("a.cabal"), "name: b").unwrap();
        assert_ne!(keyed(&["ghc"]), second);
    }

    #[test]
    fn what_was_compiled_is_not_compiled_again() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("program");
        // A text that no run before has compiled.
        fs::write(folder.path().join("main.c"), format!("{}", folder.path().display())).unwrap();
        let made = once(&["cc"], &[folder.path()], &output, || Ok(fs::write(&output, "first")?));
        made.unwrap();
        fs::remove_file(&output).unwrap();
        once(&["cc"], &[folder.path()], &output, || panic!("it is kept")).unwrap();
        assert_eq!(fs::read_to_string(&output).unwrap(), "first");
        let kept = cache::folder("compiled").unwrap().join(format!("{:016x}", key(&["cc"], &[folder.path()]).unwrap()));
        ["", "lock"].iter().for_each(|ending| fs::remove_file(kept.with_extension(ending)).unwrap());
    }
}
