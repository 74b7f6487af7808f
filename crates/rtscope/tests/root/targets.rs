//! As root, with a program of another user that puts something else under the names of its files: whatever is
//! there, every command that takes a process id ends in time, and no byte of a file that is not the program's
//! gets into a capture.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testkit::output::stderr;
use xtask::missing;
use xtask::toolchain::is_root;

const OTHER_USER: u32 = 65534;
/// Longest time that a command may exceed its requested duration.
const PATIENCE: Duration = Duration::from_secs(5);
const SECRET: &str = "a line that the user of the program must not read";

/// `map PATH` maps the file executable and removes its name, `ring PATH` maps it shared and writable,
/// `log PATH` opens it for reading and writing. Then it waits.
const PROGRAM: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc == 3) {
    int ring = !strcmp(argv[1], "ring");
    int fd = open(argv[2], O_RDWR);
    if (fd < 0) return 1;
    if (strcmp(argv[1], "log")) {
      int access = ring ? PROT_READ | PROT_WRITE : PROT_READ | PROT_EXEC;
      if (mmap(NULL, 4096, access, ring ? MAP_SHARED : MAP_PRIVATE, fd, 0) == MAP_FAILED) return 2;
      close(fd);
      if (!ring) unlink(argv[2]);
    }
  }
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}
"#;

/// The compiled program in a folder that all users may look into; `None`: no root or no compiler.
fn program() -> Option<&'static Path> {
    static PROGRAM_FILE: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let made = PROGRAM_FILE.get_or_init(|| {
        let folder = open_folder();
        let (source, program) = (folder.path().join("target.c"), folder.path().join("target"));
        fs::write(&source, PROGRAM).unwrap();
        let compiled = Command::new("cc").arg(&source).arg("-o").arg(&program).status();
        compiled.is_ok_and(|status| status.success()).then_some((folder, program))
    });
    if !is_root() {
        missing("root, to look at another user's program");
        return None;
    }
    if made.is_none() {
        missing("cc");
    }
    made.as_ref().map(|(_, program)| program.as_path())
}

fn open_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// A folder of the other user.
fn foreign_folder() -> TempDir {
    let folder = open_folder();
    chown(folder.path(), Some(OTHER_USER), Some(OTHER_USER)).unwrap();
    folder
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the other user's program, and waits until it has done what was asked.
fn start(program: &Path, what: &str, path: &Path) -> Running {
    let mut command = Command::new(program);
    command.arg(what).arg(path).uid(OTHER_USER).gid(OTHER_USER).stdout(Stdio::piped());
    ready(command)
}

fn ready(mut command: Command) -> Running {
    let mut running = Running(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    running
}

fn file_of_other_user(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    chown(path, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
}

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg("-m").arg("666").arg(path).status().unwrap();
    assert!(made.success());
}

fn rtscope(arguments: &[&str]) -> Running {
    // Tests that run in the background of a script ignore SIGINT, and so would the recorder.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(testkit::rtscope());
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running(command.spawn().unwrap())
}

/// Its output after a signal ended it.
fn ended_by(running: Running, signal: &str) -> Output {
    let sent = Command::new("kill").args(["-s", signal, &running.0.id().to_string()]).status().unwrap();
    assert!(sent.success());
    ended(running, signal)
}

/// Its output, in time.
fn ended(mut running: Running, what: &str) -> Output {
    let until = Instant::now() + PATIENCE;
    loop {
        if running.0.try_wait().unwrap().is_some() {
            break;
        }
        assert!(Instant::now() < until, "{what} hangs");
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut output = Output { status: running.0.wait().unwrap(), stdout: Vec::new(), stderr: Vec::new() };
    std::io::Read::read_to_end(&mut running.0.stdout.take().unwrap(), &mut output.stdout).unwrap();
    std::io::Read::read_to_end(&mut running.0.stderr.take().unwrap(), &mut output.stderr).unwrap();
    output
}

/// Every command that takes a process id, with the status that it ends with for a program of
/// neither runtime.
fn look_with_everything(target: &Running, what: &str) {
    let pid = target.0.id().to_string();
    let captures = tempfile::tempdir().unwrap();
    let capture = captures.path().join("c").display().to_string();
    let record = ["record", "--pid", &pid, "--for", "300ms", "-o", &capture];
    let commands: [(&[&str], i32); 5] = [
        (&record, 0),
        (&["top", &pid, "--for", "300ms", "--json"], 0),
        (&["heap", &pid], 1),
        (&["stm", &pid, "--for", "300ms"], 1),
        (&["plan", "--pid", &pid], 3),
    ];
    for (arguments, status) in commands {
        let what = format!("{} over {what}", arguments[0]);
        let output = ended(rtscope(arguments), &what);
        assert_eq!(output.status.code(), Some(status), "{what}: {}", stderr(&output));
    }
}

#[test]
fn root_nothing_hangs_whatever_stands_under_the_name_of_a_mapped_file() {
    let Some(program) = program() else { return };
    for name in ["lib.so", "libHSrts-1.0.2_thr.so", "7.events"] {
        let folder = foreign_folder();
        let path = folder.path().join(name);
        for what in ["a pipe", "a pipe (deleted)", "a device", "a socket", "a folder"] {
            file_of_other_user(&path, &[0; 4096]);
            let target = start(program, if name == "7.events" { "ring" } else { "map" }, &path);
            let _ = fs::remove_file(&path);
            let deleted = folder.path().join(format!("{name} (deleted)"));
            let _socket = match what {
                "a pipe" => (fifo(&path), None).1,
                "a pipe (deleted)" => (fifo(&deleted), None).1,
                "a device" => (symlink("/dev/zero", &path).unwrap(), None).1,
                "a socket" => Some(UnixListener::bind(&path).unwrap()),
                _ => (fs::create_dir(&path).unwrap(), None).1,
            };
            look_with_everything(&target, &format!("{what} called {name}"));
            let _ = fs::remove_file(&path);
            let _ = fs::remove_dir(&path);
            let _ = fs::remove_file(&deleted);
        }
    }
}

#[test]
fn root_a_recording_ends_on_a_signal_whatever_it_looks_at() {
    let Some(program) = program() else { return };
    let folder = foreign_folder();
    let path = folder.path().join("lib.so");
    file_of_other_user(&path, &[0; 4096]);
    let target = start(program, "map", &path);
    fifo(&folder.path().join("lib.so (deleted)"));
    fifo(&path);
    for signal in ["TERM", "INT"] {
        let captures = tempfile::tempdir().unwrap();
        let capture = captures.path().join("c").display().to_string();
        let recorder = rtscope(&["record", "--pid", &target.0.id().to_string(), "-o", &capture]);
        wait_for(|| captures.path().join("c").exists());
        let output = ended_by(recorder, signal);
        assert_eq!(output.status.code(), Some(0), "{signal}: {}", stderr(&output));
    }
}

#[test]
fn root_a_pipe_in_a_folder_of_rings_is_no_ring() {
    let Some(program) = program() else { return };
    let folder = open_folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let path = folder.path().join("6.events");
    file_of_other_user(&path, &[0; 4096]);
    let target = start(program, "ring", &path);
    let captures = tempfile::tempdir().unwrap();
    let capture = captures.path().join("c").display().to_string();
    let pid = target.0.id().to_string();
    let recorder = rtscope(&["record", "--pid", &pid, "--for", "1s", "-o", &capture]);
    let manifest = captures.path().join("c/manifest.json");
    wait_for(|| manifest.exists());
    fifo(&folder.path().join("7.events"));
    symlink("/dev/zero", folder.path().join("8.events")).unwrap();
    let output = ended(recorder, "record over a folder of rings with a pipe in it");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

fn wait_for(mut what: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !what() {
        assert!(Instant::now() < until, "in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A file of root's that looks as much like a log as possible.
fn secret(folder: &Path) -> PathBuf {
    let path = folder.join("secret.eventlog");
    fs::write(&path, format!("hdrb{SECRET}")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).unwrap();
    path
}

/// Records the program while `meanwhile` is done; gives the messages and the bytes of the capture.
fn recorded(target: &Running, meanwhile: impl FnOnce()) -> (String, Vec<u8>) {
    let captures = tempfile::tempdir().unwrap();
    let capture = captures.path().join("c");
    let (pid, shown) = (target.0.id().to_string(), capture.display().to_string());
    let recorder = rtscope(&["record", "--pid", &pid, "--for", "1s", "-o", &shown]);
    wait_for(|| capture.join("manifest.json").exists());
    meanwhile();
    let output = ended(recorder, "record");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut bytes = Vec::new();
    let mut folders = vec![capture];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind => {
                    assert!(kind.is_file(), "{}", entry.path().display());
                    bytes.extend(fs::read(entry.path()).unwrap());
                }
            }
        }
    }
    (stderr(&output), bytes)
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn root_the_log_that_is_copied_is_the_one_that_was_open() {
    let Some(program) = program() else { return };
    let (folder, root) = (foreign_folder(), tempfile::tempdir().unwrap());
    let (path, away) = (folder.path().join("x.eventlog"), folder.path().join("y"));
    let secret = secret(root.path());
    type Instead<'t> = (&'t str, Box<dyn Fn() + 't>);
    let instead: [Instead; 3] = [
        ("a link", Box::new(|| symlink(&secret, &path).unwrap())),
        ("a pipe", Box::new(|| fifo(&path))),
        ("a link to a device", Box::new(|| symlink("/dev/zero", &path).unwrap())),
    ];
    for (what, make) in instead {
        file_of_other_user(&path, b"hdrb the program's own");
        let target = start(program, "log", &path);
        let (words, bytes) = recorded(&target, || {
            fs::rename(&path, &away).unwrap();
            make();
        });
        assert!(!holds(&bytes, SECRET), "{what}: {words}");
        assert!(holds(&bytes, "hdrb the program's own"), "{what}: {words}");
        fs::remove_file(&path).unwrap();
        fs::remove_file(&away).unwrap();
    }
}

#[test]
fn root_a_file_that_its_program_can_only_write_to_is_not_copied() {
    let Some(program) = program() else { return };
    let root = open_folder();
    let path = secret(root.path());
    let mut command = Command::new(program);
    // Like a service with a log of root's: opened by root, for writing.
    let log = File::options().append(true).open(&path).unwrap();
    command.uid(OTHER_USER).gid(OTHER_USER).stdout(Stdio::piped()).stderr(log);
    let target = ready(command);
    let (words, bytes) = recorded(&target, || {});
    assert!(!holds(&bytes, SECRET), "{words}");
    assert!(words.contains("must not read it"), "{words}");
}

#[test]
fn root_what_begins_as_no_log_is_not_copied() {
    let Some(program) = program() else { return };
    let folder = foreign_folder();
    let path = folder.path().join("x.eventlog");
    file_of_other_user(&path, SECRET.as_bytes());
    let (words, bytes) = recorded(&start(program, "log", &path), || {});
    assert!(!holds(&bytes, SECRET), "{words}");
    assert!(words.contains("does not begin as an eventlog does"), "{words}");
}

/// Whether no thread of a process has any privilege except for its own scheduling.
fn has_none(pid: u32) -> bool {
    const SYS_NICE: u64 = 1 << 23;
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    tasks.flatten().all(|task| {
        let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let sets = status.lines().filter(|line| ["CapPrm:", "CapEff:", "CapInh:", "CapAmb:"].contains(&&line[..7]));
        let sets: Vec<u64> = sets.map(|line| u64::from_str_radix(line[7..].trim(), 16).unwrap()).collect();
        sets.iter().all(|set| set & !SYS_NICE == 0)
    })
}

#[test]
fn root_what_looks_for_long_has_no_privileges_while_it_looks() {
    let Some(program) = program() else { return };
    let folder = foreign_folder();
    let path = folder.path().join("x");
    file_of_other_user(&path, &[0; 4096]);
    let target = start(program, "log", &path);
    let (pid, captures) = (target.0.id().to_string(), tempfile::tempdir().unwrap());
    let capture = captures.path().join("c").display().to_string();
    let looks: [&[&str]; 2] = [&["record", "--pid", &pid, "-o", &capture], &["top", &pid, "--plain"]];
    for arguments in looks {
        let looks = rtscope(arguments);
        wait_for(|| has_none(looks.0.id()));
        let output = ended_by(looks, "TERM");
        assert!(!stderr(&output).contains("privileges"), "{}", stderr(&output));
    }
}
