//! Shared by tests of `rtscope tune -- PROG`: only one study runs at a time, as parallel ones would
//! disturb each other; and what holds for every study, however noisy the machine.
use crate::ground::scratch;
use rtscope_store::study;
use rtscope_tune::study::{Outcome, Row};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tempfile::TempDir;
use xtask::missing;
use xtask::toolchain::Toolchain;

/// A folder for studies, and the right to run trials.
pub struct StudyFolder {
    /// The folder of all files.
    pub folder: TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// Waits for the other tests of this binary.
pub fn place() -> StudyFolder {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    StudyFolder { folder: scratch(), _alone: alone }
}

/// Whether no trial ran because other load kept the machine busy, which is no fault of rtscope.
pub fn is_loud(done: &Output) -> bool {
    let stderr = String::from_utf8_lossy(&done.stderr);
    let loud = done.status.code() == Some(3) && stderr.contains("the machine is never quiet");
    if loud {
        eprintln!("not run: {stderr}");
    }
    loud
}

/// `words` as a command.
pub fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// A program that only sleeps for this long: its time is the same on any machine.
pub fn sleeper(seconds: &str) -> Vec<OsString> {
    words(&["sleep", seconds])
}

impl StudyFolder {
    /// `rtscope tune OPTIONS -- PROGRAM`, to be run in the folder.
    pub fn tune(&self, options: &[&str], program: &[OsString]) -> Command {
        let mut command = Command::new(crate::rtscope());
        command.arg("tune").args(options);
        if !options.contains(&"--patience") {
            command.args(["--patience", "5s"]);
        }
        command.arg("--").args(program);
        command.env_remove("GHCRTS").env_remove("OCAMLRUNPARAM").current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a study to its end, stored in `study`, with a document; `None`: the machine was not quiet for a
    /// single run.
    pub fn study(&self, options: &[&str], program: &[OsString]) -> Option<Studied> {
        let done = self.tune(&[&["--json", "-o", "study"], options].concat(), program).output().unwrap();
        self.studied(&done)
    }

    /// The study of a run that has ended.
    pub fn studied(&self, done: &Output) -> Option<Studied> {
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        let status = done.status.code();
        if status == Some(3) && done.stdout.is_empty() {
            assert!(is_loud(done), "{stderr}");
            return None;
        }
        let document = serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
        let studied = Studied { status, document, stderr, folder: self.path("study") };
        studied.is_sound();
        Some(studied)
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// A study that ended with a document.
pub struct Studied {
    /// Its exit status.
    pub status: Option<i32>,
    /// The document that it printed.
    pub document: Value,
    /// Its standard error.
    pub stderr: String,
    /// The folder of its recorded rows.
    pub folder: PathBuf,
}

impl Studied {
    /// The document's verdict.
    pub fn verdict(&self) -> &str {
        self.document["verdict"].as_str().unwrap()
    }

    /// A count of trials from the document.
    pub fn trials(&self, which: &str) -> usize {
        self.document["trials"][which].as_u64().unwrap() as usize
    }

    /// Whether it has an answer: the machine was steady enough.
    pub fn answered(&self) -> bool {
        self.status == Some(0)
    }

    /// Whether other load ended it.
    pub fn is_cut(&self) -> bool {
        self.verdict() == "stopped"
    }

    /// The recorded rows.
    pub fn rows(&self) -> Vec<Row> {
        rows(&self.folder.join(if self.document["kind"] == "search" { "study.sqlite" } else { "blocks.sqlite" }))
    }

    /// Asserts what holds for every study.
    fn is_sound(&self) {
        let Studied { status, document, stderr, folder } = self;
        let expected = match self.verdict() {
            "better" | "no_difference" => 0,
            "default_fails" => 1,
            "impossible" | "too_noisy" | "stopped" => 3,
            other => panic!("{other}"),
        };
        assert_eq!(*status, Some(expected), "{document} {stderr}");
        assert_eq!(document["schema"], "rtscope/tune/1");
        let kept: Value = serde_json::from_slice(&fs::read(folder.join("result.json")).unwrap()).unwrap();
        assert_eq!(kept, *document);
        assert!(fs::read_to_string(folder.join("pareto.svg")).unwrap().starts_with("<svg"));
        let table = fs::read(folder.join("trials.parquet")).unwrap();
        assert!(table.starts_with(b"PAR1") && table.ends_with(b"PAR1"));
        self.recommends_only_what_is_better();
        self.counts_what_is_kept();
        let left: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("statistics")), "{left:?}");
    }

    fn recommends_only_what_is_better(&self) {
        let document = &self.document;
        let pasted = document["paste"].as_array().unwrap();
        match (self.verdict(), document["recommended"]["name"].as_str()) {
            ("better", Some(name)) => {
                let gain = &document["over_default"]["gain"];
                assert!(gain["low"].as_f64().unwrap() > 1.0, "{document}");
                assert!(!name.is_empty() && document["failed"].as_array().unwrap().iter().all(|of| of["name"] != name));
            }
            ("no_difference", Some(name)) => assert!(name.is_empty() && pasted.is_empty(), "{document}"),
            (_, name) => assert!(name.is_none() && pasted.is_empty(), "{document}"),
        }
    }

    fn counts_what_is_kept(&self) {
        let (document, rows) = (&self.document, self.rows());
        let (dirty, clean): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.dirty);
        let measured_count = clean.iter().filter(|row| matches!(row.taken.outcome, Outcome::Measured(_))).count();
        let counted = ["clean", "failed", "dirty"].map(|which| self.trials(which));
        assert_eq!(counted, [measured_count, clean.len() - measured_count, dirty.len()]);
        assert!(clean.len() <= self.trials("budget"));
        assert!(clean.iter().enumerate().all(|(place, row)| row.taken.ask.number == place), "{rows:?}");
        assert!(dirty.iter().all(|row| row.note.is_some() && row.figures.contains_key("foreign")));
        // Points are based on blocks that measured both it and the default.
        let measured = |configuration: u64| -> BTreeSet<_> {
            let of = |row: &&&Row| {
                row.taken.ask.configuration as u64 == configuration && matches!(row.taken.outcome, Outcome::Measured(_))
            };
            clean.iter().filter(of).map(|row| row.taken.ask.block).collect()
        };
        let points = document["pareto"].as_array().unwrap();
        let default = points.iter().find(|point| point["name"] == "");
        for point in points {
            let [own, default] = [point, default.unwrap()].map(|of| measured(of["configuration"].as_u64().unwrap()));
            let blocks = &own & &default;
            assert_eq!(point["trials"], blocks.len() as u64, "{point} of {clean:?}");
        }
    }
}

/// The recorded rows of a study.
pub fn rows(store: &Path) -> Vec<Row> {
    study::read(store).unwrap().1
}

/// A port that no process listens on.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// `programs/trial`, compiled by this machine's own GHC.
pub fn trial() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let toolchain = Toolchain::of_this_machine()?;
        let folder = scratch();
        let program = folder.path().join("trial");
        compile(&toolchain, &program, None);
        Some((folder, program))
    });
    if built.is_none() {
        missing("ghc");
    }
    built.as_ref().map(|(_, program)| program.as_path())
}

/// Compiles the program with any GHC, with an option for its linker.
pub fn compile(toolchain: &Toolchain, program: &Path, link: Option<&str>) {
    const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/haskell/trial");
    let sources = program.with_extension("source");
    fs::create_dir(&sources).unwrap();
    for name in ["Main.hs", "sockets.c"] {
        fs::copy(Path::new(SOURCE).join(name), sources.join(name)).unwrap();
    }
    let flags: Vec<&str> = ["-threaded", "-rtsopts=all"].into_iter().chain(link).collect();
    toolchain.compile(&[&sources], &flags, program).unwrap();
}

/// A command that runs the program.
pub fn command(program: &Path, arguments: &[&str]) -> Vec<OsString> {
    std::iter::once(program.into()).chain(arguments.iter().map(OsString::from)).collect()
}

/// Processes with `word` among their arguments, except `rtscope` itself.
pub fn running(word: &str) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let has = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = words.split(|byte| *byte == 0);
        let own = words.next().is_some_and(|first| first == crate::rtscope().as_bytes());
        !own && words.any(|other| OsStr::new(word).as_encoded_bytes() == other)
    };
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(has).collect()
}
