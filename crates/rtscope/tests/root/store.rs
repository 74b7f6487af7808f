//! As root: what other users cannot make the recorder write, in their folders and by their programs, and that
//! it records anyway.

use testkit::ground;
use testkit::rings;

use ground::{ground, manifest, record, recorder, reported, scratch, stderr};
use rings::grounds;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use xtask::missing;
use xtask::toolchain::is_root;

const BOB: u32 = 65534;
const AS_BOB: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
const SECRET: &[u8] = b"0123456789abcdef";

fn as_bob(script: &str, at: &Path) -> Output {
    let done = Command::new(AS_BOB[0]).args(&AS_BOB[1..]).args(["sh", "-ec", script]).current_dir(at).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    done
}

/// A folder of bob's, and a file of root's next to it.
fn of_bob(scratch: &tempfile::TempDir) -> (PathBuf, PathBuf) {
    let (folder, secret) = (scratch.path().join("bob"), scratch.path().join("secret"));
    fs::create_dir(&folder).unwrap();
    chown(&folder, Some(BOB), Some(BOB)).unwrap();
    fs::write(&secret, SECRET).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    (folder, secret)
}

fn words<'a>(words: &[&'a str]) -> Vec<&'a OsStr> {
    words.iter().map(|word| OsStr::new(*word)).collect()
}

/// Every file and folder below.
fn all_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below =
        entries.flat_map(|path| if path.is_dir() { [all_below(&path), vec![path]].concat() } else { vec![path] });
    below.collect()
}

#[test]
fn root_a_foreign_folder_is_refused_and_left_as_it_was() {
    if !is_root() {
        return missing("root, to give a folder away");
    }
    let scratch = scratch();
    let (bob, secret) = of_bob(&scratch);
    fs::set_permissions(&bob, fs::Permissions::from_mode(0o755)).unwrap();
    for options in [&[][..], &["--force"]] {
        let output = record(&bob, options, &words(&["true"]));
        assert_eq!(output.status.code(), Some(125));
        assert!(stderr(&output).contains("belongs to") && stderr(&output).contains("65534"), "{}", stderr(&output));
    }
    assert_eq!((fs::read_dir(&bob).unwrap().count(), bob.metadata().unwrap().mode() & 0o777), (0, 0o755));
    // A folder of root's, through a link of bob's.
    let own = scratch.path().join("own");
    fs::create_dir(&own).unwrap();
    symlink(&own, bob.join("link")).unwrap();
    assert_eq!(record(&bob.join("link"), &[], &words(&["true"])).status.code(), Some(125));
    assert_eq!((fs::read_dir(&own).unwrap().count(), &fs::read(secret).unwrap()[..]), (0, SECRET));
}

#[test]
fn root_a_capture_that_another_user_moves_and_replaces_stays_the_one_written_to() {
    let Some(ground) = ground() else { return };
    if !is_root() {
        return missing("root, to give a folder away");
    }
    let scratch = scratch();
    let (bob, secret) = of_bob(&scratch);
    let seconds = [ground.program.as_os_str(), "seconds".as_ref(), "3".as_ref()];
    let mut recorder = recorder(&bob.join("c"), &["--flush-every", "200ms"], &seconds).spawn().unwrap();
    ground::logging_pid(&bob.join("c"));
    let plant = format!(
        "mv c moved; mkdir c; cd c; for name in manifest.json manifest.json.new samples.jsonl stm.jsonl .reserve log; do
            ln -s {0} $name; done
        mkdir eventlog code sched unflushed; for at in eventlog/log eventlog/0.eventlog eventlog/1.eventlog \
            code/symbols.json code/symbols.json.new; do ln -s {0} $at; done; find . | sort > ../planted",
        secret.display()
    );
    as_bob(&plant, &bob);
    assert!(recorder.wait().unwrap().success());
    assert_eq!((&fs::read(&secret).unwrap()[..], secret.metadata().unwrap().mode() & 0o777), (SECRET, 0o600));
    as_bob("cd c; find . | sort | cmp - ../planted", &bob);
    let (capture, root) = (bob.join("moved"), 0);
    assert_eq!(manifest(&capture)["status"], "complete");
    assert!(reported(&capture)["pauses"]["count"].as_u64() > Some(0));
    assert!(all_below(&capture).iter().all(|path| path.symlink_metadata().unwrap().uid() == root));
}

#[test]
fn everything_in_a_capture_is_private_whatever_the_umask() {
    let scratch = scratch();
    let capture = scratch.path().join("c");
    let script = format!("umask 0; exec {} record -q -o {} -- sleep 0.5", testkit::rtscope(), capture.display());
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    let found = all_below(&capture);
    assert!(found.iter().any(|path| path.ends_with("samples.jsonl")), "{found:?}");
    for path in found.iter().chain([&capture]) {
        let (mode, private) = (path.metadata().unwrap().mode() & 0o777, if path.is_dir() { 0o700 } else { 0o600 });
        assert_eq!(mode, private, "{}", path.display());
    }
}

/// A loop device over a file; removed when dropped.
struct Device(String);

impl Device {
    fn over(file: &Path) -> Option<Device> {
        let done = Command::new("losetup").args(["-f", "--show"]).arg(file).output().ok()?;
        done.status.success().then(|| Device(String::from_utf8_lossy(&done.stdout).trim().to_owned()))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

/// A ring file of 8 MiB of which no event was written yet, and the end of its first one.
fn forged(at: &Path) {
    let words: [u64; 8] = [1, 128, 80, 8192 * 8, 8192, 64, 64 + 128 * 80, 0];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    fs::write(at.join("ring"), bytes).unwrap();
    fs::OpenOptions::new().write(true).open(at.join("ring")).unwrap().set_len(9 << 20).unwrap();
    fs::write(at.join("tail"), 8_u64.to_ne_bytes()).unwrap();
}

/// Replaces a ring that the recorder has open by a link, then begins to write events.
const SWAP: &str = r#"
    at=$OCAML_RUNTIME_EVENTS_DIR
    cp --sparse=always ring $at/$$.events
    sleep 1
    exec 9<>$at/$$.events
    mv $at/$$.events $at/moved
    ln -s "$1" $at/$$.events
    dd if=tail of=/proc/self/fd/9 bs=8 seek=9 conv=notrunc 2> /dev/null
    sleep 1
    echo swapped
"#;

#[test]
fn root_a_ring_that_becomes_a_link_makes_root_write_nothing() {
    if !is_root() {
        return missing("root, to record another user's program");
    }
    let scratch = scratch();
    let (bob, secret) = of_bob(&scratch);
    forged(&bob);
    let image = scratch.path().join("image");
    fs::write(&image, vec![0xaa; 16 << 20]).unwrap();
    let device = Device::over(&image);
    let devices = device.iter().map(|device| PathBuf::from(&device.0));
    for (number, aim) in [secret.clone()].into_iter().chain(devices).enumerate() {
        let capture = scratch.path().join(format!("c{number}"));
        let script = ["sh", "-ec", SWAP, "swap"];
        let line = words(&[&AS_BOB[..], &script].concat()).into_iter().chain([aim.as_os_str()]).collect::<Vec<_>>();
        let mut recorder = recorder(&capture, &["--no-kernel", "--sample-code", "0"], &line);
        let output = recorder.current_dir(&bob).output().unwrap();
        assert_eq!(&output.stdout[..], b"swapped\n", "{}", stderr(&output));
        // It was taken for a ring: otherwise nothing was tested.
        assert_eq!(manifest(&capture)["logs"].as_array().map(Vec::len), Some(1));
    }
    assert_eq!(&fs::read(&secret).unwrap()[..], SECRET);
    if device.is_none() {
        eprintln!("not run: this machine gives no loop device");
    }
    assert!(Command::new("sync").arg("-d").arg(&image).status().unwrap().success());
    drop(device);
    assert!(fs::read(&image).unwrap().iter().all(|byte| *byte == 0xaa));
}

/// Two users in one recording: each user's ring is recorded, and neither can touch the other's.
#[test]
fn root_rings_of_other_users_are_recorded_and_stay_theirs() {
    if !is_root() {
        return missing("root, to record another user's program");
    }
    for ground in grounds() {
        ground.build("ocamlopt", &["-ccopt", "-static"], "program");
        let script = r#"
            setpriv --reuid=65534 --regid=65534 --clear-groups "$1" domains 2 4 &
            setpriv --reuid=65533 --regid=65533 --clear-groups "$1" domains 1 4 &
            setpriv --reuid=65532 --regid=65532 --clear-groups sh -c '
                at=$OCAML_RUNTIME_EVENTS_DIR/$1.events
                until test -e $at; do sleep 0.05; done
                rm $at && echo removed
                mv $at $at.mine && echo moved
                ln -sf /etc/passwd $at && echo replaced
                (: > $at) && echo cut
                cat $at && echo read' try $! 2> /dev/null
            wait
        "#;
        let program = ground.path("program");
        let line = words(&["setpriv", "--reuid=0", "sh", "-c", script, "both"]);
        let line: Vec<&OsStr> = line.into_iter().chain([program.as_os_str()]).collect();
        let output = record(&ground.path("c"), &[], &line);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"done\ndone\n"[..]), "{}", stderr(&output));
        let manifest = ground.manifest("c");
        let logs = manifest["logs"].as_array().unwrap();
        assert_eq!(logs.len(), 2, "{}", manifest["logs"]);
        assert!(logs.iter().all(|log| log["version"] == ground.version && log["pid"].as_u64() > Some(0)));
        let of_rings = |loss: &&serde_json::Value| loss["source"].as_str().unwrap().starts_with("rings");
        assert_eq!(manifest["losses"].as_array().unwrap().iter().find(of_rings), None);
        assert!(reported(&ground.path("c"))["pauses"]["count"].as_u64() > Some(0));
        assert!(!ground.path("c").join("rings/live").exists());
        // They ended normally: each removed its own file.
        for log in logs {
            assert_eq!(ground.stream("c", log["path"].as_str().unwrap()).ends, 1, "{log}");
        }
    }
}
