//! Shared by tests of OCaml recordings: programs compiled by each OCaml that rtscope is tested with and
//! run in its own tree, and a reader of `rings/N.ring` that follows only the format's documentation.
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use xtask::cache::cache;
use xtask::missing;
use xtask::toolchain::{Spec, Toolchain};
use xtask::workload::Language;

/// Allocates in a number of domains for some seconds; starts other processes of itself.
const PROGRAM: &str = crate::source!("ocaml/ring-programs/main.ml");

/// Programs of one OCaml release, in a folder together with the captures.
pub struct Ground {
    toolchain: Toolchain,
    /// The release as its programs print it.
    pub version: &'static str,
    folder: tempfile::TempDir,
}

/// The ground for each release that is installed (a message is printed for the others).
pub fn grounds() -> Vec<Ground> {
    ["ghc-9.6", "ghc-9.10"].into_iter().filter_map(Ground::of).collect()
}

impl Ground {
    /// The ground for toolchain `name`.
    pub fn of(name: &str) -> Option<Ground> {
        let spec = Spec::find(name).unwrap();
        let Some(toolchain) = spec.installed(&cache()) else {
            missing(&format!("{name}: `cargo xtask toolchains --only {name}`"));
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let ground = Ground { toolchain, version: spec.ocaml.unwrap(), folder };
        fs::write(ground.path("program.ml"), PROGRAM).unwrap();
        let source = Language::Ocaml.folder().join("ring-programs");
        xtask::ocaml::compile(&ground.toolchain, &[&source], &ground.path("program")).unwrap();
        Some(ground)
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles the program by `ocamlopt` or `ocamlc`.
    pub fn build(&self, compiler: &str, flags: &[&str], program: &str) {
        let library = if compiler == "ocamlc" { "unix.cma" } else { "unix.cmxa" };
        let words = [&["-I", "+unix", library][..], flags, &["program.ml", "-o", program]].concat();
        self.run(compiler, &words);
    }

    /// Runs a program of the tree in the folder.
    pub fn run(&self, program: &str, words: &[&str]) {
        let mut command = self.toolchain.command(program.as_ref(), self.folder.path(), &[self.folder.path()]);
        let done = command.args(words).output().unwrap();
        assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// The command line of the program, which needs the tree's libraries; to be run in the folder.
    pub fn line(&self, words: &[&str]) -> Vec<OsString> {
        let mut line = self.toolchain.enter(&[self.folder.path()]);
        line.push(self.path("program").into());
        line.extend(words.iter().map(OsString::from));
        line
    }

    /// `rtscope record` of the program, into the capture `name`.
    pub fn recorder(&self, name: &str, options: &[&str], words: &[&str]) -> Command {
        let mut command = clean(crate::rtscope().as_ref());
        command.arg("record").arg("-o").arg(self.path(name)).args(options).arg("--").args(self.line(words));
        command.current_dir(self.folder.path());
        command
    }

    /// Runs such a recording to its end.
    pub fn record(&self, name: &str, options: &[&str], words: &[&str]) -> Output {
        self.recorder(name, options, words).output().unwrap()
    }

    /// The manifest of a capture.
    pub fn manifest(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(name).join("manifest.json")).unwrap()).unwrap()
    }

    /// A stream of a capture.
    pub fn stream(&self, name: &str, log: &str) -> Stream {
        Stream::read(&self.path(name).join(log))
    }
}

/// A command without ring variables in its environment.
pub fn clean(program: &OsStr) -> Command {
    let mut command = Command::new(program);
    for name in ["START", "DIR", "PRESERVE"] {
        command.env_remove(format!("OCAML_RUNTIME_EVENTS_{name}"));
    }
    command.env_remove("OCAMLRUNPARAM").env_remove("CAMLRUNPARAM").env_remove("GHCRTS").stdin(Stdio::null());
    command
}

/// Waits until a condition holds.
pub fn wait_for(what: &str, mut until: impl FnMut() -> bool) {
    let start = Instant::now();
    while !until() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal.
pub fn kill(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

/// The content of a stream, by slot.
#[derive(Debug, Default)]
pub struct Stream {
    /// Words in each ring.
    pub ring_words: u64,
    /// Id of the process, in its own namespace.
    pub pid: u64,
    pub slots: BTreeMap<u64, Slot>,
    /// Number of frames that say that the process has ended.
    pub ends: u32,
}

/// The content of a stream for one ring.
#[derive(Debug, Default)]
pub struct Slot {
    /// End of the last frame.
    pub position: u64,
    /// Words that were copied.
    pub copied: u64,
    /// Words missing between frames.
    pub lost: u64,
    /// (runtime or user, type, id, stamp) of each event.
    pub events: Vec<(u64, u64, u64, u64)>,
}

/// Type and id of the first event of a process, and of the last.
pub const RING_START: (u64, u64) = (1, 0);
pub const RING_STOP: (u64, u64) = (1, 1);

impl Stream {
    /// Reads a stream; its last frame may be cut, everything else must match the format.
    pub fn read(path: &Path) -> Stream {
        let bytes = fs::read(path).unwrap();
        let words: Vec<u64> = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(bytes[..8], *b"RTSRING1");
        let mut stream = Stream { ring_words: words[2], pid: words[4], ..Stream::default() };
        let mut rest = &words[8..];
        while let Some(([kind, at, count, _], body)) = rest.split_first_chunk::<4>() {
            let Some((body, after)) = body.split_at_checked(*count as usize) else { break };
            match kind & 0xff {
                1 => stream.slots.entry(kind >> 16 & 0xffff).or_default().take(*at, body),
                4 => stream.slots.entry(kind >> 16 & 0xffff).or_default().take(*at, &unpacked(body)),
                2 => assert_eq!(*count, 16),
                3 => stream.ends += 1,
                other => panic!("a frame of kind {other}"),
            }
            rest = after;
        }
        stream
    }

    /// Words lost in all rings.
    pub fn lost(&self) -> u64 {
        self.slots.values().map(|slot| slot.lost).sum()
    }

    /// Whether a ring contains this runtime event.
    pub fn has(&self, wanted: (u64, u64)) -> bool {
        self.slots
            .values()
            .flat_map(|slot| &slot.events)
            .any(|event| (event.0, event.1, event.2) == (0, wanted.0, wanted.1))
    }
}

impl Slot {
    fn take(&mut self, at: u64, words: &[u64]) {
        assert!(at >= self.position, "a frame goes back");
        self.lost += at - self.position;
        self.position = at + words.len() as u64;
        self.copied += words.len() as u64;
        let mut rest = words;
        while let Some(header) = rest.first() {
            let length = (header >> 54) as usize;
            assert!((1..=rest.len()).contains(&length), "a frame does not end with an event");
            let (event, after) = rest.split_at(length);
            let (user, kind, id) = (header >> 53 & 1, header >> 49 & 15, header >> 36 & 0x1fff);
            if (user, kind) != (0, 0) {
                let before = self.events.last().map_or(0, |event| event.3);
                assert!(event[1] >= before, "stamps go back");
                self.events.push((user, kind, id, event[1]));
            }
            rest = after;
        }
    }
}

/// Unpacks the words of a frame, written from the format's documentation, without rtscope's code.
fn unpacked(body: &[u64]) -> Vec<u64> {
    let bytes: Vec<u8> = body[1..].iter().flat_map(|word| word.to_le_bytes()).collect();
    let (mut at, mut last, mut headers, mut words) = (0, 0, Vec::new(), Vec::new());
    let number = |at: &mut usize| {
        let from = *at;
        *at += 1 + bytes[from..].iter().take_while(|byte| **byte >= 0x80).count();
        bytes[from..*at].iter().rev().fold(0_u64, |number, byte| number << 7 | u64::from(byte & 0x7f))
    };
    while words.len() < body[0] as usize {
        at += 1;
        let header = match bytes[at - 1] {
            255 => {
                at += 8;
                headers.push(u64::from_le_bytes(bytes[at - 8..at].try_into().unwrap()));
                headers[headers.len() - 1]
            }
            known => headers[usize::from(known)],
        };
        words.push(header);
        let rest = (header >> 54) - 1;
        if header >> 49 & 31 == 0 {
            words.resize(words.len() + rest as usize, 0);
            continue;
        }
        last = number(&mut at).wrapping_add(last);
        words.push(last);
        words.extend((1..rest).map(|_| number(&mut at)));
    }
    assert!(headers.len() < 255 && words.len() == body[0] as usize && bytes.len() - at < 8);
    words
}
