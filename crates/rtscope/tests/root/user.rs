//! As root with `--user NAME`: the program and the capture are that user's, what root sees is in the recording all the
//! same, and nothing that the user may not write to is written to.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use testkit::ground::{ground, manifest, reported, scratch, stderr};
use xtask::missing;
use xtask::toolchain::is_root;

/// The user that every system has, by name and number.
const OTHER: (&str, u32) = ("nobody", 65534);

/// Records `words` as the other user, in a folder of that user.
fn record(at: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(testkit::rtscope());
    command.args(["record", "--user", OTHER.0, "-o", "c.rtscope", "--"]).args(words);
    command.current_dir(at).env_remove("GHCRTS").env("SUDO_USER", "mary").output().unwrap()
}

fn folder_of_other() -> tempfile::TempDir {
    let folder = scratch();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    chown(folder.path(), Some(OTHER.1), Some(OTHER.1)).unwrap();
    folder
}

#[test]
fn root_a_program_runs_as_the_user_who_owns_its_capture() {
    let Some(ground) = ground() else { return };
    if !is_root() {
        return missing("root, to run a program as another user");
    }
    let folder = folder_of_other();
    let program = folder.path().join("program");
    testkit::executable::copy(&ground.program, &program);
    let script = "id -u; id -g; grep -E '^Cap(Prm|Eff|Amb)|^NoNewPrivs' /proc/self/status; echo $USER $LOGNAME; exec ./program seconds 1 +RTS -N2";
    let output = record(folder.path(), &["sh", "-c", script]);
    let said = String::from_utf8_lossy(&output.stdout).replace('\t', " ");
    let none = "0".repeat(16);
    let wanted = format!(
        "{1}\n{1}\nCapPrm: {none}\nCapEff: {none}\nCapAmb: {none}\nNoNewPrivs: 0\n{0} {0}\ndone\n",
        OTHER.0, OTHER.1
    );
    assert_eq!((output.status.code(), said), (Some(0), wanted), "{}", stderr(&output));
    assert!(!stderr(&output).contains("runs as root"), "{}", stderr(&output));
    let capture = folder.path().join("c.rtscope");
    assert_eq!(manifest(&capture)["kernel"]["tier"], "tracepoints", "what root sees is recorded");
    let report = reported(&capture);
    assert!(
        report["pauses"]["count"].as_u64() > Some(0) && report["memory"]["rss_bytes"]["max"].as_u64() > Some(1 << 20)
    );
    assert!(report["code"]["samples"].as_u64() > Some(5), "{}", report["code"]);
    let foreign = format!("find c.rtscope ! -uid {0} -o ! -gid {0}", OTHER.1);
    let found = Command::new("sh").args(["-c", &foreign]).current_dir(folder.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "files that are not the user's");
}

#[test]
fn root_the_user_may_not_look_into_the_recorder() {
    if !is_root() {
        return missing("root, to run a program as another user");
    }
    let folder = folder_of_other();
    let mut command = Command::new(testkit::rtscope());
    command.args(["record", "-q", "--user", OTHER.0, "-o", "c.rtscope", "sh", "-c", "echo ready; read line"]);
    let mut recorder = command.current_dir(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(recorder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let look = |what: &str| {
        let words = ["--reuid=65534", "--regid=65534", "--clear-groups", "cat"];
        let path = format!("/proc/{}/{what}", recorder.id());
        Command::new("setpriv").args(words).arg(path).output().unwrap().status.success()
    };
    let seen = [look("status"), look("environ"), look("maps")];
    drop(recorder.stdin.take());
    assert!(recorder.wait().unwrap().code().is_some());
    assert_eq!((&*line, seen), ("ready\n", [true, false, false]));
}

#[test]
fn root_nothing_is_written_where_the_user_may_not_write() {
    if !is_root() {
        return missing("root, to run a program as another user");
    }
    let folder = scratch();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let output = record(folder.path(), &["sh", "-c", "echo started"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(125), &b""[..]), "{}", stderr(&output));
    assert!(stderr(&output).to_lowercase().contains("permission denied"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // A folder of the user's that leads to one of root's.
    let (bob, secret) = (folder_of_other(), folder.path().join("secret"));
    fs::create_dir(&secret).unwrap();
    std::os::unix::fs::symlink(&secret, bob.path().join("c.rtscope")).unwrap();
    assert_eq!(record(bob.path(), &["true"]).status.code(), Some(125));
    assert_eq!((fs::read_dir(&secret).unwrap().count(), secret.metadata().unwrap().uid()), (0, 0));
}

#[test]
fn root_who_cannot_be_become_is_an_error_before_anything_starts() {
    if !is_root() {
        return missing("root, to give it up");
    }
    let folder = folder_of_other();
    let run = |prefix: &[&str], user: &str| {
        let words = [prefix, &[testkit::rtscope(), "record", "--user", user, "echo", "started"]].concat();
        Command::new(words[0]).args(&words[1..]).current_dir(folder.path()).output().unwrap()
    };
    let unknown = run(&["env"], "no-such-user");
    assert!(stderr(&unknown).contains("there is no user no-such-user"), "{}", stderr(&unknown));
    let bob = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let not_root = run(&bob, "root");
    assert!(stderr(&not_root).contains("only root can run a program as another user"), "{}", stderr(&not_root));
    for output in [unknown, not_root] {
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(125), &b""[..]));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn root_sudo_without_a_user_says_how_to_run_as_oneself() {
    if !is_root() {
        return missing("root");
    }
    let folder = scratch();
    let mut command = Command::new(testkit::rtscope());
    let output = command.args(["record", "true"]).env("SUDO_USER", "mary").current_dir(folder.path()).output().unwrap();
    assert!(stderr(&output).contains("--user mary runs it as mary"), "{}", stderr(&output));
}
