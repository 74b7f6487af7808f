//! A cache of compiled programs: each is compiled once for a compiler, its version, its flags and the
//! text of its sources, for all callers and output folders. Owns the folder `compiled` of the cache and
//! its keys; refuses to know how anything is compiled.

use crate::cache;
use anyhow::{Context, Result, ensure};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Extensions of files that a compiler reads.
const SOURCES: [&str; 5] = ["hs", "ml", "mli", "c", "h"];

/// Puts into `output` what `compile` writes there. `with`: the compiler and its flags.
pub fn once(with: &[&str], sources: &[&Path], output: &Path, compile: impl FnOnce() -> Result<()>) -> Result<()> {
    let kept = cache::folder("compiled")?.join(format!("{:016x}", key(with, sources)?));
    // Others that want it now, in this process or another, wait for the lock.
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
        // Folders list the same files in different orders.
        "/".hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// The key for a compiler and every file in a folder and below.
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

/// Copies in a separate process: no child of another thread inherits a descriptor that is open for
/// writing, which would make the kernel refuse to start the program.
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
        // A text that no earlier run has compiled.
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
