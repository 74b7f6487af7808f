//! Shared by tests of the link-in libraries: the libraries, built by each toolchain as users would
//! build them, programs linked with them, and directory trees of machines to run those on. Owns no
//! assertion about a plan.
pub mod probe;
pub mod ring;
pub mod stm;
pub mod threads;

use serde_json::Value;
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use xtask::cache::cache;
use xtask::missing;
use xtask::package::{self, Packages};
use xtask::surroundings::QuotaGroup;
use xtask::toolchain::{Spec, Toolchain};

/// A folder in which one toolchain builds the libraries and programs.
pub struct Bench {
    toolchain: Toolchain,
    folder: tempfile::TempDir,
    /// Databases of the packages to link with, which lie elsewhere.
    databases: RefCell<Vec<PathBuf>>,
}

impl Bench {
    /// A bench of toolchain `name`; `None` if it is not installed (a message was printed).
    pub fn of(name: &str) -> Option<Bench> {
        let Some(toolchain) = Spec::find(name).unwrap().installed(&cache()) else {
            missing(&format!("{name}: `cargo xtask toolchains --only {name}`"));
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Some(Bench { toolchain, folder, databases: RefCell::default() })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn packages(&self) -> Packages<'_> {
        Packages { toolchain: &self.toolchain, folder: self.folder.path() }
    }

    /// Runs a build step; prints its output if it fails.
    fn step(&self, directory: &Path, program: impl AsRef<OsStr>, words: &[impl AsRef<OsStr>]) {
        self.packages().step(directory, program, words).unwrap_or_else(|error| panic!("{error:#}"));
    }

    /// Builds rtscope-start.
    pub fn build_haskell(&self) {
        self.build_package("haskell");
    }

    /// Builds the Haskell package in this folder of the libraries, unless another test has done so.
    pub fn build_package(&self, package: &str) {
        let folder = Packages::shared(&self.toolchain, package).unwrap_or_else(|error| panic!("{error:#}"));
        self.databases.borrow_mut().push(Packages { toolchain: &self.toolchain, folder: &folder }.database());
    }

    /// Links `source` with rtscope-start; it need not import the package.
    pub fn link_haskell(&self, source: &str, flags: &[&str], program: &str) {
        self.link_packages(&["rtscope-start"], source, flags, program);
    }

    /// Links `source` with packages that were built here, or with none.
    pub fn link_packages(&self, packages: &[&str], source: &str, flags: &[&str], program: &str) {
        let objects = self.path(&format!("{program}-objects"));
        let mut words: Vec<OsString> = vec!["-v0".into()];
        for database in self.databases.borrow().iter() {
            words.extend(["-package-db".into(), database.into()]);
        }
        for package in packages {
            words.extend(["-package".into(), package.into()]);
        }
        words.extend(["-outputdir".into(), objects.into(), self.path(source).into(), "-o".into()]);
        words.push(self.path(program).into());
        words.extend(flags.iter().map(OsString::from));
        self.step(self.folder.path(), "ghc", &words);
    }

    /// Builds the OCaml library as its dune file does: native and bytecode.
    pub fn build_ocaml(&self) {
        for folder in ["ocaml", "c"] {
            for entry in fs::read_dir(bindings().join(folder)).unwrap().flatten() {
                let name = entry.file_name().into_string().unwrap();
                if [".c", ".h", ".ml", ".mli"].iter().any(|ending| name.ends_with(ending)) {
                    fs::copy(entry.path(), self.path(&name)).unwrap();
                }
            }
        }
        let script = r#"set -e
            rule=$(sed -n 's/.*(-linkall \(.*\))))$/\1/p' "$1")
            ocamlopt -ccopt '-O2 -Wall -Wextra -Werror' -c rtscope_*.c
            ocamlmklib -o rtscope_start_stubs rtscope_*.o
            ocamlc -w +a-42-70 -warn-error +a -c rtscope_start.mli rtscope_start.ml
            ocamlopt -w +a-42-70 -warn-error +a -c rtscope_start.ml
            ocamlopt -a -linkall -cclib -lrtscope_start_stubs $rule -o rtscope_start.cmxa rtscope_start.cmx
            ocamlc -a -linkall -dllib -lrtscope_start_stubs -o rtscope_start.cma rtscope_start.cmo"#;
        let rules = bindings().join("ocaml/dune");
        let words = ["-c".as_ref(), script.as_ref(), "build".as_ref(), rules.as_os_str()];
        self.step(self.folder.path(), "sh", &words);
    }

    /// Builds the OCaml events library as its dune file does: native and bytecode.
    pub fn build_events(&self) {
        let names = ["dune", "rtscope_events.ml", "rtscope_events.mli", "rtscope_events_stubs.c"];
        for name in names {
            fs::copy(bindings().join("ocaml/events").join(name), self.path(name)).unwrap();
        }
        let script = r#"set -e
            flags="-I +runtime_events -w +a-42-70 -warn-error +a"
            ocamlc -ccopt '-O2 -fPIC -Wall -Wextra -Werror' -c rtscope_events_stubs.c
            ocamlmklib -o rtscope_events_stubs rtscope_events_stubs.o
            ocamlc $flags -c rtscope_events.mli rtscope_events.ml
            ocamlopt $flags -c rtscope_events.ml
            ocamlopt -a -linkall -cclib -lrtscope_events_stubs -o rtscope_events.cmxa rtscope_events.cmx
            ocamlc -a -linkall -dllib -lrtscope_events_stubs -o rtscope_events.cma rtscope_events.cmo"#;
        self.step(self.folder.path(), "sh", &["-c", script]);
    }

    /// Links `source` with the events library and libraries of the compiler; `events` gives its place
    /// among them. It is linked even if the source does not name it.
    pub fn link_events(&self, compiler: &str, libraries: &[&str], source: &str, program: &str) {
        let ending = if compiler == "ocamlc" { "cma" } else { "cmxa" };
        let file = |name: &&str| match *name {
            "events" => format!("rtscope_events.{ending}"),
            name => format!("{name}.{ending}"),
        };
        let mut words: Vec<String> = ["-I", ".", "-ccopt", "-L."].map(String::from).into();
        for folder in ["unix", "threads", "runtime_events"] {
            words.extend(["-I".into(), format!("+{folder}")]);
        }
        words.extend(libraries.iter().map(file));
        words.extend([source, "-o", program].map(String::from));
        self.step(self.folder.path(), compiler, &words);
    }

    /// Links `source` with the OCaml library, by `ocamlopt` or `ocamlc`.
    pub fn link_ocaml(&self, compiler: &str, source: &str, program: &str) {
        let library = if compiler == "ocamlc" { "rtscope_start.cma" } else { "rtscope_start.cmxa" };
        self.step(self.folder.path(), compiler, &["-I", ".", "-ccopt", "-L.", library, source, "-o", program]);
    }

    /// The command line that starts a program of this bench, to be run by another process.
    pub fn line(&self, words: &[&str]) -> Vec<OsString> {
        let shared = package::shared_folder().unwrap();
        let mut line = self.toolchain.enter(&[self.folder.path(), &shared]);
        line.push(self.path(words[0]).into());
        line.extend(words[1..].iter().map(OsString::from));
        line
    }

    /// Runs a program, in a group if one is given, with variables added to the environment.
    pub fn run(&self, group: Option<&QuotaGroup>, variables: &[(&str, &str)], words: &[&str]) -> Output {
        let mut line: Vec<OsString> =
            group.map_or_else(Vec::new, |group| group.enter().into_iter().map(OsString::from).collect());
        line.extend(self.line(words));
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).current_dir(self.folder.path()).stdin(Stdio::null());
        let runtime = ["GHCRTS", "OCAMLRUNPARAM", "CAMLRUNPARAM"];
        for name in runtime.iter().chain(&["RTSCOPE_GOAL", "RTSCOPE_PLAN", "RTSCOPE_ROOT", "RTSCOPE_STM"]) {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied()).output().unwrap()
    }

    /// Runs a program that prints one JSON object and nothing on standard error.
    pub fn figures(&self, group: Option<&QuotaGroup>, variables: &[(&str, &str)], words: &[&str]) -> Value {
        let done = self.run(group, variables, words);
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && stderr.is_empty(), "{words:?} {variables:?}: {stderr}");
        serde_json::from_slice(&done.stdout).unwrap()
    }

    /// Makes a machine of `cores` with `threads` each, all allowed; returns the folder for RTSCOPE_ROOT.
    pub fn machine(&self, cores: u32, threads: u32) -> String {
        let root = format!("machine-{cores}-{threads}");
        let last = cores * threads - 1;
        self.write(&format!("{root}/proc/self/status"), &format!("Cpus_allowed_list:\t0-{last}\n"));
        self.write(&format!("{root}/proc/meminfo"), "MemTotal:       16777216 kB\n");
        for cpu in 0..=last {
            let first = cpu / threads * threads;
            let list = format!("{first}-{}\n", first + threads - 1);
            self.write(&format!("{root}/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list"), &list);
        }
        self.path(&root).into_os_string().into_string().unwrap()
    }
}

/// A file of the libraries.
pub fn path(name: &str) -> PathBuf {
    bindings().join(name)
}

/// The folder of the libraries.
fn bindings() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings")).unwrap()
}
