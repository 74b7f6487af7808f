//! The files of a guest: a folder that becomes its file system in memory. Owns copying programs together
//! with their shared libraries.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The files that a guest will have.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// A tree with busybox in `root`, which is emptied first.
    pub fn new(root: &Path) -> Result<Tree> {
        if root.exists() {
            fs::remove_dir_all(root)?;
        }
        for folder in ["bin", "proc", "sys", "dev", "tmp"] {
            fs::create_dir_all(root.join(folder))?;
        }
        let tree = Tree { root: root.to_owned() };
        tree.copy(Path::new("/bin/busybox"), "bin/busybox")?;
        Ok(tree)
    }

    /// Copies a file to a path in the guest.
    pub fn copy(&self, from: &Path, to: &str) -> Result<()> {
        let to = self.root.join(to.trim_start_matches('/'));
        fs::create_dir_all(to.parent().context("a file without a folder")?)?;
        fs::copy(from, &to).with_context(|| from.display().to_string())?;
        Ok(())
    }

    /// Creates folders at paths in the guest.
    pub fn folders(&self, paths: &[&str]) -> Result<()> {
        let make = |path: &&str| fs::create_dir_all(self.root.join(path.trim_start_matches('/')));
        Ok(paths.iter().try_for_each(make)?)
    }

    /// Copies a program to `below`/`to`, and its libraries to where the program looks for them under `below`.
    /// `command` makes a command that runs in the file system that `program` is linked for; `root` is where
    /// that file system is on this machine.
    pub fn program(
        &self,
        program: &Path,
        (below, to): (&str, &str),
        root: &Path,
        command: impl Fn(&str) -> Command,
    ) -> Result<()> {
        self.copy(program, &format!("{below}/{to}"))?;
        let done = command("ldd").arg(program).output().context("ldd cannot be run")?;
        let stdout = String::from_utf8_lossy(&done.stdout).into_owned();
        ensure!(done.status.success(), "ldd {}: {}", program.display(), String::from_utf8_lossy(&done.stderr));
        for library in stdout.split_whitespace().filter(|word| word.starts_with('/')) {
            self.copy(&root.join(library.trim_start_matches('/')), &format!("{below}{library}"))?;
        }
        Ok(())
    }

    /// Packs it, with `init` as the first process.
    pub fn pack(&self, init: &str, into: &Path) -> Result<()> {
        let path = self.root.join("init");
        fs::write(&path, init)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        let pack = "set -o pipefail; find . -print0 | cpio --null --quiet -o -H newc | gzip -1 > \"$0\"";
        let mut shell = Command::new("bash");
        let done = shell.args(["-c", pack]).arg(into).current_dir(&self.root).stdin(Stdio::null()).output()?;
        ensure!(done.status.success(), "packing the guest's files: {}", String::from_utf8_lossy(&done.stderr));
        Ok(())
    }
}
