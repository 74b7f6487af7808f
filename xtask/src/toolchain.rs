//! The compilers that rtscope is tested with: where they come from, how they are installed once into a cache,
//! how they compile, and how compiled programs run. Owns the cache's layout and the mounts; refuses to know
//! what is compiled.
//!
//! A toolchain is either the machine's own (`root: None`) or a Debian tree in the cache, entered with
//! `chroot`. Mounts are made in a mount namespace of the entering process, so they always end with it.

use crate::apt;
use crate::compiled;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A toolchain that can be installed.
#[derive(Debug)]
pub struct Spec {
    /// Its name: `ghc-9.6`.
    pub name: &'static str,
    /// The Debian suite that has it.
    pub suite: &'static str,
    /// Version of its GHC.
    pub ghc: &'static str,
    /// Version of its OCaml, if it has one.
    pub ocaml: Option<&'static str>,
    /// Packages to install.
    pub packages: &'static [&'static str],
}

/// Every toolchain, oldest first.
pub const ALL: [Spec; 3] = [
    Spec { name: "ghc-9.0", suite: "bookworm", ghc: "9.0.2", ocaml: None, packages: &["ghc"] },
    Spec {
        name: "ghc-9.6",
        suite: "trixie",
        ghc: "9.6.6",
        ocaml: Some("5.3.0"),
        packages: &["ghc", "ocaml", "ocaml-findlib"],
    },
    Spec {
        name: "ghc-9.10",
        suite: "forky",
        ghc: "9.10.3",
        ocaml: Some("5.4.1"),
        packages: &["ghc", "ocaml", "ocaml-findlib", "libeio-ocaml-dev", "libdomainslib-ocaml-dev"],
    },
];

/// Written last into a tree, so that an incomplete tree is never used.
const STAMP: &str = ".rtscope-complete";

/// Runs inside its own mount namespace: arguments are the tree, folders that are visible inside at the same
/// path, `--`, the command.
const ENTER: &str = r#"
set -e
root=$1; shift
for d in proc dev sys; do mount --rbind "/$d" "$root/$d"; done
while [ "$1" != -- ]; do mkdir -p "$root$1"; mount --rbind "$1" "$root$1"; shift; done
shift
exec chroot "$root" env -C "$PWD" "$@"
"#;

/// As above, without a working directory: arguments are the tree, the suite, the mirror, the debootstrap
/// script, its key option, the log, the packages. /proc, /dev and /sys must exist before GHC is installed, or
/// its package cache is not built. Prints a line per step; everything else goes to the log.
const INSTALL: &str = r#"
set -e
root=$1 suite=$2 mirror=$3 script=$4 key=$5 log=$6; shift 6
exec 3>&1 >"$log" 2>&1
echo "$suite: the base system" >&3
debootstrap --variant=minbase "$key" "$suite" "$root" "$mirror" "$script"
for d in proc dev sys; do mount --rbind "/$d" "$root/$d"; done
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
old="-o Acquire::Check-Valid-Until=false"
echo "$suite: $*" >&3
chroot "$root" apt-get $old update -q
chroot "$root" apt-get $old install -y -q --no-install-recommends "$@"
chroot "$root" apt-get clean
"#;

/// An installed toolchain.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// Its name: `ghc-9.6`.
    pub name: &'static str,
    /// Version of its GHC.
    pub version: String,
    /// Its tree; `None` for the machine's own compiler.
    pub root: Option<PathBuf>,
}

impl Spec {
    /// The toolchain called `name`.
    pub fn find(name: &str) -> Result<&'static Spec> {
        ALL.iter().find(|spec| spec.name == name).with_context(|| {
            let known: Vec<_> = ALL.iter().map(|spec| spec.name).collect();
            format!("no toolchain is called {name}; known: {}", known.join(", "))
        })
    }

    /// The toolchain if it is installed, or `None`.
    pub fn installed(&self, cache: &Path) -> Option<Toolchain> {
        let found = |root| Some(Toolchain { name: self.name, version: self.ghc.to_owned(), root });
        if host_ghc().as_deref() == Some(self.ghc) {
            return found(None);
        }
        let root = self.root(cache);
        let complete = fs::read_to_string(root.join(STAMP)).is_ok_and(|stamp| stamp == self.stamp());
        (complete && is_root()).then(|| found(Some(root))).flatten()
    }

    /// Installs it if needed. `print` gets one line per step.
    pub fn install(&self, cache: &Path, print: &mut dyn FnMut(&str)) -> Result<Toolchain> {
        if let Some(there) = self.installed(cache) {
            return Ok(there);
        }
        ensure!(
            is_root(),
            "GHC {} is not here and installing it takes root: run `sudo cargo xtask toolchains --only {}`",
            self.ghc,
            self.name
        );
        fs::create_dir_all(cache.join("toolchains"))?;
        let lock = File::create(cache.join("toolchains").join(format!("{}.lock", self.suite)))?;
        lock.lock()?;
        if self.installed(cache).is_none() {
            if apt::candidate("ghc").is_some_and(|version| version.starts_with(self.ghc)) {
                print(&format!("installing GHC {} from this machine's own packages", self.ghc));
                apt::install(&["ghc"])?;
            } else {
                self.bootstrap(&self.root(cache), print)?;
            }
        }
        self.installed(cache).with_context(|| format!("{} was installed but does not work", self.name))
    }

    fn bootstrap(&self, root: &Path, print: &mut dyn FnMut(&str)) -> Result<()> {
        apt::install(&["debootstrap"])?;
        remove_tree(root)?;
        let mirror = apt::mirror()?;
        let script = Path::new("/usr/share/debootstrap/scripts").join(self.suite);
        let script = if script.exists() { script } else { script.with_file_name("sid") };
        let key = apt::keyring().map_or_else(
            || {
                print("no Debian keyring on this machine: the packages' signatures are not checked");
                OsString::from("--no-check-gpg")
            },
            |path| OsString::from(format!("--keyring={}", path.display())),
        );
        print(&format!("installing {} (GHC {}) into {}", self.suite, self.ghc, root.display()));
        let log_path = root.with_extension("log");
        let mut installing = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", INSTALL, "sh"])
            .args([root.as_os_str(), OsStr::new(self.suite), OsStr::new(&mirror), script.as_os_str(), &key])
            .arg(&log_path)
            .args(self.packages)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("unshare (package util-linux) cannot be run")?;
        for line in installing.stdout.take().into_iter().flat_map(|steps| BufReader::new(steps).lines()) {
            print(&line?);
        }
        let status = installing.wait()?;
        if !status.success() {
            let tail = last_lines(&log_path, 15);
            bail!("{} could not be installed; the log is {} and ends:\n{tail}", self.name, log_path.display());
        }
        let here = Toolchain { name: self.name, version: self.ghc.to_owned(), root: Some(root.into()) };
        let version = here.ghc_version()?;
        ensure!(version == self.ghc, "{} has GHC {version}, not {}", self.suite, self.ghc);
        fs::write(root.join(STAMP), self.stamp())?;
        Ok(())
    }

    fn root(&self, cache: &Path) -> PathBuf {
        cache.join("toolchains").join(self.suite)
    }

    fn stamp(&self) -> String {
        format!("{} {}\n", self.ghc, self.packages.join(" "))
    }
}

impl Toolchain {
    /// The machine's own `ghc`, of a tested version or not.
    pub fn of_this_machine() -> Option<Toolchain> {
        host_ghc().map(|version| Toolchain { name: "ghc-own", version, root: None })
    }

    /// Identifies this compiler: its version, and when a package of its tree last changed.
    pub fn identity(&self) -> String {
        let packages = self.root.as_ref().map(|root| root.join("var/lib/dpkg/status"));
        let changed = packages.and_then(|file| fs::metadata(file).ok()?.modified().ok());
        format!("{} {} {changed:?}", self.name, self.version)
    }

    /// Version of the OCaml in its tree, if there is one.
    pub fn ocaml(&self) -> Option<&'static str> {
        self.root.as_ref()?;
        Spec::find(self.name).ok()?.ocaml
    }

    /// The prefix of a command line that runs in this toolchain's tree, in the same working directory, with
    /// `folders` visible at their own paths. Every step execs, so the process id stays the same. Empty for the
    /// machine's own toolchain.
    pub fn enter(&self, folders: &[&Path]) -> Vec<OsString> {
        let Some(root) = &self.root else { return Vec::new() };
        let mut words: Vec<OsString> =
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "enter"].map(OsString::from).into();
        words.push(root.into());
        words.extend(folders.iter().map(|folder| folder.as_os_str().to_owned()));
        words.push("--".into());
        words
    }

    /// A command that runs `program` inside, in `directory` (which must be in or below `folders`).
    pub fn command(&self, program: &OsStr, directory: &Path, folders: &[&Path]) -> Command {
        let mut words = self.enter(folders);
        words.push(program.to_owned());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(directory);
        command
    }

    /// Compiles `sources[0]/Main.hs` to `output`, with modules looked up in all of `sources` and with the C files
    /// there. Objects go into a folder next to `output`.
    pub fn compile(&self, sources: &[&Path], flags: &[&str], output: &Path) -> Result<()> {
        let identity = self.identity();
        let with = [&[identity.as_str()], flags].concat();
        compiled::once(&with, sources, output, || self.compile_anew(sources, flags, output))
    }

    fn compile_anew(&self, sources: &[&Path], flags: &[&str], output: &Path) -> Result<()> {
        let folder = output.parent().context("an output without a folder")?;
        fs::create_dir_all(folder)?;
        let mut folders = sources.to_vec();
        folders.push(folder);
        let own = *sources.first().context("no sources")?;
        let objects = output.with_extension("objects");
        fs::create_dir_all(&objects)?;
        let parts = self.compile_c(own, &objects, &folders)?;
        let mut command = self.command(OsStr::new("ghc"), folder, &folders);
        command.args(["-v0", "-O1", "-fforce-recomp", "-rtsopts"]).args(flags);
        if ["8.", "9.0.", "9.2."].iter().any(|old| self.version.starts_with(old)) {
            // From 9.4 on every runtime can log, and the flag only causes a warning.
            command.arg("-eventlog");
        }
        command.args(sources.iter().map(|source| format!("-i{}", source.display())));
        command.arg("-outputdir").arg(objects).arg(own.join("Main.hs")).args(parts).arg("-o").arg(output);
        self.run_ghc(command, own)
    }

    /// Compiles the C files of `own` into `objects`, one by one: GHC would put the object of a file with an
    /// absolute path next to its source.
    fn compile_c(&self, own: &Path, objects: &Path, folders: &[&Path]) -> Result<Vec<PathBuf>> {
        let files = fs::read_dir(own)?.collect::<Result<Vec<_>, _>>()?.into_iter().map(|entry| entry.path());
        let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "c")).collect();
        files.sort();
        let object = |file: PathBuf| {
            let object = objects.join(file.file_stem().unwrap_or_default()).with_extension("c.o");
            let mut command = self.command(OsStr::new("ghc"), objects, folders);
            command.args(["-v0", "-O1", "-fforce-recomp", "-c"]).arg(&file).arg("-o").arg(&object);
            self.run_ghc(command, &file).map(|()| object)
        };
        files.into_iter().map(object).collect()
    }

    fn run_ghc(&self, mut command: Command, on: &Path) -> Result<()> {
        let done = command.stdin(Stdio::null()).output().context("ghc cannot be run")?;
        let stderr = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "ghc {} on {}: {stderr}", self.version, on.display());
        Ok(())
    }

    /// Whether its GHC has this package.
    pub fn has_package(&self, name: &str) -> bool {
        let mut asked = self.command(OsStr::new("ghc-pkg"), Path::new("/"), &[]);
        let done = asked.args(["--simple-output", "list", name]).stderr(Stdio::null()).output();
        done.is_ok_and(|done| done.status.success() && !done.stdout.trim_ascii().is_empty())
    }

    fn ghc_version(&self) -> Result<String> {
        let done = self.command(OsStr::new("ghc"), Path::new("/"), &[]).arg("--numeric-version").output()?;
        ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }
}

/// Whether this process may install, chroot and make control groups.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn host_ghc() -> Option<String> {
    let done = Command::new("ghc").arg("--numeric-version").stderr(Stdio::null()).output().ok()?;
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

/// Removes a tree, unless something is mounted in it: /dev may be bound there.
fn remove_tree(root: &Path) -> Result<()> {
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let inside = mounts.lines().filter_map(|line| line.split(' ').nth(1)).find(|at| Path::new(at).starts_with(root));
    if let Some(at) = inside {
        bail!("{} is half-made, but {at} is mounted in it: `umount {at}`, then run this again", root.display());
    }
    if root.exists() {
        fs::remove_dir_all(root).with_context(|| format!("{} cannot be removed", root.display()))?;
    }
    Ok(())
}

fn last_lines(path: &Path, count: usize) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_made_tree_is_not_taken_for_whole() {
        let cache = tempfile::tempdir().unwrap();
        let spec = Spec { name: "x", suite: "none", ghc: "0.0.1", ocaml: None, packages: &["ghc"] };
        fs::create_dir_all(spec.root(cache.path()).join("usr")).unwrap();
        assert!(spec.installed(cache.path()).is_none());
        fs::write(spec.root(cache.path()).join(STAMP), "0.0.1 other packages\n").unwrap();
        assert!(spec.installed(cache.path()).is_none());
        fs::write(spec.root(cache.path()).join(STAMP), spec.stamp()).unwrap();
        assert_eq!(spec.installed(cache.path()).is_some(), is_root());
    }

    #[test]
    fn a_tree_with_a_mount_in_it_is_not_removed() {
        let refused = remove_tree(Path::new("/proc")).unwrap_err().to_string();
        assert!(refused.contains("is mounted in it"), "{refused}");
    }

    #[test]
    fn entering_the_machine_s_own_toolchain_adds_nothing() {
        let own = Toolchain { name: "x", version: "9.0.2".into(), root: None };
        assert!(own.enter(&[Path::new("/tmp")]).is_empty());
        let tree = Toolchain { root: Some("/r".into()), ..own };
        let words = tree.enter(&[Path::new("/tmp")]);
        assert_eq!(words[words.len() - 3..], ["/r", "/tmp", "--"].map(OsString::from));
    }
}
