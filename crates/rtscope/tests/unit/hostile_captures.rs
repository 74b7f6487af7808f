//! Captures of others: a pipe, a socket, a link, a device or a folder in place of each file and each folder,
//! and names in the manifest that lead elsewhere. Whatever reads the capture ends soon, in bounded memory, and
//! shows nothing of a foreign file.

use rtscope_decode::capture::empty_manifest;
use rtscope_model::manifest::{Code, Kernel, Log, Manifest, Status, Tier, Tracepoint};
use rtscope_model::{ClockMap, ClockMethod, Time};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, pidfd_open, prlimit};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The content of every foreign file.
const SECRET: &str = "the-secret-of-another";
const WITHIN: Duration = Duration::from_secs(5);
const MEMORY: u64 = 256 << 20;
const PID: u32 = 4_242;

/// Names of all files of a capture.
const FILES: [&str; 11] = [
    "manifest.json",
    "eventlog/0.eventlog",
    "sched/cpu0.perf.zst",
    "sched/threads.json",
    "sched/sched_switch.format",
    "code/cpu0.perf.zst",
    "code/symbols.json",
    "heap/0.json",
    "samples.jsonl",
    "stm.jsonl",
    "unflushed/4242-0.0",
];
const FOLDERS: [&str; 5] = ["eventlog", "sched", "code", "heap", "unflushed"];

const KINDS: [&str; 7] = ["pipe", "socket", "link", "link to text", "link to a pipe", "device", "other"];

struct HostileFolder {
    folder: tempfile::TempDir,
}

impl HostileFolder {
    fn new() -> HostileFolder {
        let ground = HostileFolder { folder: tempfile::tempdir().unwrap() };
        fs::write(ground.at("secret"), format!("{SECRET}\n").repeat(100)).unwrap();
        pipe(&ground.at("pipe"));
        // Another user's capture, as valid as ours, with the secret wherever there is text.
        capture(&ground.at("foreign"), &manifest(Status::Complete, SECRET), SECRET);
        ground
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A fresh capture that replaces the last one.
    fn capture(&self, manifest: &Manifest) -> PathBuf {
        let path = self.at("capture");
        let _ = fs::remove_dir_all(&path);
        capture(&path, manifest, "harmless");
        path
    }

    /// Puts something else in place of `name`; false if that cannot be created here.
    fn put(&self, kind: &str, name: &str) -> bool {
        let path = self.at("capture").join(name);
        if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.unwrap();
        match kind {
            "pipe" => pipe(&path),
            // The name stays when the listener goes.
            "socket" => drop(UnixListener::bind(&path).unwrap()),
            "link" => symlink(self.at("foreign").join(name), &path).unwrap(),
            "link to text" => symlink(self.at("secret"), &path).unwrap(),
            "link to a pipe" => symlink(self.at("pipe"), &path).unwrap(),
            "device" => symlink("/dev/zero", &path).unwrap(),
            _ if FILES.contains(&name) => fs::create_dir(&path).unwrap(),
            _ => fs::write(&path, "x").unwrap(),
        }
        true
    }

    fn run(&self, words: &[&str], what: &str) {
        let out = self.at("out");
        let mut command = Command::new(testkit::rtscope());
        command.args(words).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", self.at("cache")).stdout(File::create(&out).unwrap());
        let mut child = LimitedProcess::start(command.stderr(File::create(self.at("err")).unwrap()));
        assert!(child.ends_soon(), "{what}: {words:?} has not ended");
        let code = child.0.wait().unwrap().code();
        let said = [out, self.at("err")].map(|file| fs::read(file).unwrap());
        let said = said.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        // A signal: it asked for more memory than it may have.
        assert!(matches!(code, Some(0 | 1 | 3)), "{what}: {words:?}: {code:?}: {said}");
        assert!(!said.contains("panicked"), "{what}: {words:?}: {said}");
        assert!(!said.contains(SECRET), "{what}: {words:?}: {said}");
    }

    fn run_all(&self, what: &str) {
        for words in [
            &["report", "capture"][..],
            &["report", "-v", "capture"],
            &["report", "--json", "capture"],
            &["report", "--pauses", "capture"],
            &["report", "foreign-free", "--compare", "capture"],
            &["export", "--to", "chrome", "-o", "-", "capture"],
            &["top", "--plain", "--for", "1s", "capture"],
            &["heap", "capture"],
            &["stm", "capture"],
        ] {
            self.run(words, what);
        }
        self.view(what);
    }

    /// The page is served until it is ended: its data is in the cache.
    fn view(&self, what: &str) {
        let mut command = Command::new(testkit::rtscope());
        command.args(["view", "--no-open", "capture"]).current_dir(self.folder.path());
        command.env("XDG_CACHE_HOME", self.at("cache")).stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = LimitedProcess::start(command.stdout(Stdio::piped()));
        let out = child.0.stdout.take().unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = BufReader::new(out).read_line(&mut line);
            let _ = sender.send(line);
        });
        assert!(receiver.recv_timeout(WITHIN).is_ok(), "{what}: view neither serves nor ends");
        drop(child);
        assert!(!holds(&self.at("cache"), SECRET.as_bytes()), "{what}: the secret is in what view made");
        assert!(!self.at("capture/levels").exists(), "{what}: view wrote into the capture");
        let _ = fs::remove_dir_all(self.at("cache"));
    }
}

struct LimitedProcess(Child);

impl LimitedProcess {
    /// With memory of its own up to [`MEMORY`]: asking for more ends it.
    fn start(command: &mut Command) -> LimitedProcess {
        let running = LimitedProcess(command.spawn().unwrap());
        let most = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
        // It may have ended: then its status is what counts.
        let _ = prlimit(Some(running.pid()), Resource::Data, most);
        running
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    fn ends_soon(&self) -> bool {
        let process = pidfd_open(self.pid(), PidfdFlags::empty()).unwrap();
        let within = WITHIN.try_into().unwrap();
        poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&within)).unwrap() == 1
    }
}

impl Drop for LimitedProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn pipe(path: &Path) {
    use rustix::fs::{CWD, Mode, mkfifoat};
    mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).unwrap();
}

fn holds(folder: &Path, bytes: &[u8]) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.into_iter().any(|path| {
        let mut all = Vec::new();
        path.is_dir() && holds(&path, bytes)
            || path.is_file()
                && File::open(&path).unwrap().read_to_end(&mut all).is_ok()
                && all.windows(bytes.len()).any(|part| part == bytes)
    })
}

fn manifest(status: Status, command: &str) -> Manifest {
    let clock = ClockMap { offset_ns: 0, error_ns: Some(1), method: ClockMethod::RuntimeStatic };
    let log = Log { path: FILES[1].into(), pid: PID, clock, classes: String::new(), version: None };
    let point = Tracepoint { name: "sched_switch".into(), id: 1, format: FILES[4].into() };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Manifest {
        status,
        command: vec![command.into()],
        pid: PID,
        started: Time(now.as_nanos() as u64),
        logs: vec![log],
        kernel: Kernel {
            tier: Tier::Tracepoints,
            streams: vec![FILES[2].into()],
            tracepoints: vec![point],
            ..Kernel::default()
        },
        code: Some(Code { streams: vec![FILES[5].into()], symbols: Some(FILES[6].into()), ..Code::default() }),
        ..empty_manifest()
    }
}

fn capture(path: &Path, manifest: &Manifest, text: &str) {
    for name in FOLDERS {
        fs::create_dir_all(path.join(name)).unwrap();
    }
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/ghc-9.6/non-threaded.eventlog");
    let log = fs::read(log).unwrap();
    let quoted = serde_json::to_string(text).unwrap();
    let heap = format!("{{\"schema\":\"rtscope/heap/1\",\"time\":9,\"of\":\"process {PID}\",\"doubts\":[{quoted}]}}");
    let symbols = format!("{{\"schema\":\"rtscope/symbols/1\",\"missing\":[{quoted}]}}");
    for (name, bytes) in FILES.iter().zip([
        &serde_json::to_vec(manifest).unwrap()[..],
        &log,
        text.as_bytes(),
        format!("[[1,1,{quoted}]]").as_bytes(),
        format!("name: {text}\nID: 1\nformat:\n").as_bytes(),
        text.as_bytes(),
        symbols.as_bytes(),
        heap.as_bytes(),
        b"{\"t\":1,\"rss\":2}\n",
        b"{\"t\":1}\n",
        &[&[0, 18][..], &[0; 22]].concat(),
    ]) {
        fs::write(path.join(name), bytes).unwrap();
    }
}

/// Every kind in place of a share of the names, so that the shares run in parallel.
fn hostile(names: &[&str]) {
    let ground = HostileFolder::new();
    capture(&ground.at("foreign-free"), &manifest(Status::Complete, "free"), "free");
    for status in [Status::Complete, Status::Recording] {
        let manifest = manifest(status, "own");
        for name in names {
            for kind in KINDS {
                ground.capture(&manifest);
                let what = format!("{kind} as {name}, {status:?}");
                assert!(ground.put(kind, name));
                match status {
                    Status::Recording => ground.run(&["top", "--plain", "--for", "1ms", "capture"], &what),
                    _ => ground.run_all(&what),
                }
            }
        }
    }
}

#[test]
fn an_honest_capture_is_read() {
    let ground = HostileFolder::new();
    ground.capture(&manifest(Status::Complete, "own"));
    capture(&ground.at("foreign-free"), &manifest(Status::Complete, "free"), "free");
    ground.run_all("nothing hostile");
    for words in [&["report", "-v", "capture"][..], &["heap", "capture"]] {
        let output = Command::new(testkit::rtscope()).args(words).current_dir(ground.folder.path()).output();
        let said = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
        assert!(said.contains(if words[0] == "heap" { "harmless" } else { "own" }), "{said}");
    }
}

#[test]
fn text_of_a_capture_cannot_act() {
    // A title, a colour by one character, and text that runs backwards.
    let evil = "\x1b]0;title\x07\u{9b}31m\u{202e}x\u{7f}";
    let ground = HostileFolder::new();
    let mut manifest = manifest(Status::Complete, evil);
    manifest.notes = vec![evil.into()];
    manifest.kernel.missing = vec![evil.into()];
    manifest.logs.push(Log { path: format!("../{evil}"), pid: 7, ..manifest.logs[0].clone() });
    capture(&ground.at("capture"), &manifest, evil);
    for words in [
        &["report", "capture"][..],
        &["report", "capture", "--log", "9"],
        &["report", "--json", "capture"],
        &["report", "--json", "capture", "--compare", "capture"],
        &["report", "capture", "--compare", "capture"],
        &["heap", "capture"],
        &["heap", "--json", "capture"],
        &["top", "--plain", "capture"],
        &["top", "--json", "capture"],
        &["stm", "capture"],
    ] {
        let output = Command::new(testkit::rtscope()).args(words).current_dir(ground.folder.path()).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let acts = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!said.is_empty() && !said.contains(acts), "{words:?}: {said:?}");
    }
}

#[test]
fn hostile_manifests_and_logs() {
    hostile(&FILES[..3]);
}

#[test]
fn hostile_kernel_and_code_files() {
    hostile(&FILES[3..7]);
}

#[test]
fn hostile_heaps_and_counts() {
    hostile(&FILES[7..]);
}

#[test]
fn hostile_folders_of_logs_and_scheduling() {
    hostile(&FOLDERS[..2]);
}

#[test]
fn hostile_folders_of_code_heaps_and_what_was_not_written() {
    hostile(&FOLDERS[2..]);
}

#[test]
fn names_that_lead_out_of_the_capture_are_not_followed() {
    let ground = HostileFolder::new();
    capture(&ground.at("foreign-free"), &manifest(Status::Complete, "free"), "free");
    let foreign = ground.at("foreign").display().to_string();
    for way in [&foreign, "../foreign", "eventlog/../../foreign"] {
        let lead = |name: &str| format!("{way}/{name}");
        let devices = [ground.at("pipe").display().to_string(), "/dev/zero".to_owned()];
        for to in [None, Some(&devices[0]), Some(&devices[1])] {
            let to = |name: &str| to.cloned().unwrap_or_else(|| lead(name));
            let mut manifest = manifest(Status::Complete, "own");
            manifest.logs[0].path = to(FILES[1]);
            manifest.kernel.streams[0] = to(FILES[2]);
            manifest.kernel.tracepoints[0].format = to(FILES[4]);
            let code = manifest.code.as_mut().unwrap();
            (code.streams[0], code.symbols) = (to(FILES[5]), Some(to(FILES[6])));
            ground.capture(&manifest);
            ground.run_all(&format!("{} as the log", manifest.logs[0].path));
            let mut report = Command::new(testkit::rtscope());
            let output = report.args(["report", "--json"]).arg(ground.at("capture")).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(said.contains("give the log itself to `rtscope report`"), "{said}");
            assert!(said.contains("\"lanes\":[]"), "nothing of the log outside is in the report: {said}");
        }
    }
}
