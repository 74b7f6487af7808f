//! Builds the Haskell packages of bindings/ as their users would: with Cabal's own library, without a
//! network, and with a separate package database. Owns the steps; refuses to know the packages' content.

use crate::cache;
use crate::compiled;
use crate::toolchain::Toolchain;
use crate::workload::repository;
use anyhow::{Result, ensure};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The folder of packages that are built once and that all programs share.
///
/// # Errors
/// The folder cannot be created.
pub fn shared_folder() -> Result<PathBuf> {
    cache::folder("packages")
}

/// A folder in which one toolchain builds packages and registers them.
pub struct Packages<'t> {
    /// The toolchain that compiles.
    pub toolchain: &'t Toolchain,
    /// The folder, as an absolute path.
    pub folder: &'t Path,
}

impl Packages<'_> {
    /// The package database.
    pub fn database(&self) -> PathBuf {
        self.folder.join("db")
    }

    /// Builds the package in this folder of `bindings/` and registers it. `flags` are the package's own:
    /// `-lead`.
    ///
    /// # Errors
    /// A step failed; the error has its output.
    pub fn build(&self, package: &str, flags: &[&str]) -> Result<()> {
        let source = repository().join("bindings").join(package);
        let option = |name: &str, value: PathBuf| OsString::from(format!("--{name}={}", value.display()));
        let setup = self.folder.join(format!("{package}-setup"));
        let build = option("builddir", self.folder.join(format!("{package}-build")));
        fs::create_dir_all(self.folder)?;
        if !self.database().exists() {
            self.step(self.folder, "ghc-pkg", &[OsStr::new("init"), self.database().as_os_str()])?;
        }
        let objects = self.folder.join(format!("{package}-setup-objects"));
        let words: [OsString; 3] = ["-v0".into(), "-outputdir".into(), objects.into()];
        let more: [OsString; 3] = ["-o".into(), setup.clone().into(), source.join("Setup.hs").into()];
        let compiler = ["setup", &self.toolchain.identity()];
        compiled::once(&compiler, &[&source], &setup, || self.step(self.folder, "ghc", &[words, more].concat()))?;
        let mut configure = vec!["configure".into(), "-v0".into(), build.clone()];
        configure.push(option("package-db", self.database()));
        configure.push(option("prefix", self.folder.join("installed")));
        configure.push("--ghc-option=-Werror".into());
        configure.extend(flags.iter().map(|flag| OsString::from(format!("--flags={flag}"))));
        self.step(&source, &setup, &configure)?;
        for verb in ["build", "copy", "register"] {
            self.step(&source, &setup, &[verb.into(), "-v0".into(), build.clone()])?;
        }
        Ok(())
    }

    /// Builds the package without flags if needed, for all programs that link with it; returns the folder of
    /// its [`Packages::database`], which must be visible wherever it is used.
    ///
    /// # Errors
    /// A step failed; the error has its output.
    pub fn shared(toolchain: &Toolchain, package: &str) -> Result<PathBuf> {
        let source = repository().join("bindings").join(package);
        let all = shared_folder()?.join(toolchain.name);
        fs::create_dir_all(&all)?;
        let key = compiled::key_of_all(&[&toolchain.identity()], &source)?;
        let folder = all.join(format!("{package}-{key:016x}"));
        // Others that want it now, in this process or another, wait for the lock.
        let lock = fs::File::create(folder.with_extension("lock"))?;
        lock.lock()?;
        let whole = folder.join("whole");
        if !whole.exists() {
            if folder.exists() {
                fs::remove_dir_all(&folder)?;
            }
            Packages { toolchain, folder: &folder }.build(package, &[])?;
            fs::write(whole, [])?;
        }
        Ok(folder)
    }

    /// Runs a build step in `directory`.
    ///
    /// # Errors
    /// The step failed; the error has its output.
    pub fn step(&self, directory: &Path, program: impl AsRef<OsStr>, words: &[impl AsRef<OsStr>]) -> Result<()> {
        let (bindings, shared) = (repository().join("bindings"), shared_folder()?);
        let mut command = self.toolchain.command(program.as_ref(), directory, &[self.folder, &bindings, &shared]);
        let done = command.args(words).stdin(Stdio::null()).output()?;
        let printed = [done.stdout, done.stderr].concat();
        ensure!(done.status.success(), "{}: {}", program.as_ref().display(), String::from_utf8_lossy(&printed));
        Ok(())
    }
}
