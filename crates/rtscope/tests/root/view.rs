//! `rtscope view` with other users on the machine: a user other than its own gets no answer and takes no place.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use xtask::missing;
use xtask::toolchain::is_root;

/// More connections than the server has places for.
const IDLE: usize = 100;
const OTHER: u32 = 65_534;

struct ChildProcess(Child);

impl Drop for ChildProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server with `sudo_uid` in its environment, and the address that it prints.
fn served(cache: &Path, sudo_uid: Option<u32>) -> (ChildProcess, String) {
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/ghc-9.6/non-threaded.eventlog");
    let mut command = Command::new(testkit::rtscope());
    command.args(["view", "--no-open", log]).env("XDG_CACHE_HOME", cache).env_remove("SUDO_UID");
    command.envs(sudo_uid.map(|uid| ("SUDO_UID", uid.to_string()))).stderr(Stdio::null());
    let mut child = ChildProcess(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut url = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    (child, url.trim().to_owned())
}

/// A shell of another user that connects this often, asks once, and stays until its input ends.
fn other_user(url: &str, connections: usize) -> (ChildProcess, String) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let (address, port) = host.split_once(':').unwrap();
    let script = format!(
        "for number in $(seq {connections}); do exec {{fd}}<>/dev/tcp/{address}/{port}; done; \
         printf 'GET /{path} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n' >&$fd; \
         timeout 5 head -c 12 <&$fd; echo; read"
    );
    let mut command = Command::new("bash");
    command.args(["-c", &script]).uid(OTHER).current_dir("/").stdin(Stdio::piped()).stderr(Stdio::null());
    let mut child = ChildProcess(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut answer = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    (child, answer.trim().to_owned())
}

fn own(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn root_other_users_are_not_answered_and_take_no_place() {
    if !is_root() {
        return missing("root, to become another user");
    }
    let cache = tempfile::tempdir().unwrap();
    let (server, url) = served(cache.path(), None);
    let (idle, answer) = other_user(&url, IDLE);
    assert_eq!(answer, "", "with the right address, but of another user");
    let began = Instant::now();
    assert!(own(&url).starts_with("HTTP/1.1 200"), "with {IDLE} connections of another user");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop((idle, server));
    let (server, url) = served(cache.path(), Some(OTHER));
    let (asker, answer) = other_user(&url, 1);
    assert_eq!(answer, "HTTP/1.1 200", "who became root with sudo");
    drop((asker, server));
}
