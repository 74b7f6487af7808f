//! What is opened of a process and what is refused.

use super::*;
use crate::system::procfs::Host;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::io;
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn own() -> Process {
    Process::open(&Host::default(), std::process::id()).unwrap()
}

fn fifo(path: &Path) {
    rustix::fs::mkfifoat(rustix::fs::CWD, path, Mode::RUSR | Mode::WUSR).unwrap();
}

fn named(path: &Path) -> Result<File, Refused> {
    open_target(&own(), ProcessFile::Named(path.to_owned()))
}

#[test]
fn only_ordinary_files_are_opened_whatever_stands_under_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "x").unwrap();
    fifo(&at("pipe"));
    fs::create_dir(at("folder")).unwrap();
    symlink("/dev/zero", at("device")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    symlink(at("file"), at("link")).unwrap();
    symlink("/proc/self/status", at("made-up")).unwrap();
    symlink(at("loop"), at("loop")).unwrap();
    assert!(named(&at("file")).is_ok() && named(&at("link")).is_ok());
    assert!(open_own(&at("link"), true).is_ok());
    for name in ["pipe", "folder", "device", "socket"] {
        assert!(matches!(named(&at(name)), Err(Refused::NotOrdinary)), "{name}");
        assert!(matches!(open_own(&at(name), true), Err(Refused::NotOrdinary)), "{name}");
    }
    assert!(matches!(open_own(&at("link"), false), Err(Refused::NotOrdinary)));
    assert!(matches!(open_own(&at("made-up"), true), Err(Refused::MadeUp)));
    for name in ["made-up", "loop", "none"] {
        assert!(named(&at(name)).is_err(), "{name}");
    }
}

#[test]
fn no_link_of_proc_leads_out_of_a_root() {
    // `/proc/self/root` is a link that a path in another root must not follow.
    let found = named(Path::new("/proc/self/root/etc/passwd"));
    assert!(matches!(found, Err(Refused::System(_))), "{found:?}");
}

#[test]
fn what_is_mapped_is_opened_by_what_it_is_and_not_by_its_name() {
    let text = own().text("maps").unwrap();
    let program = std::env::current_exe().unwrap();
    let mapping =
        crate::target::mappings::parse(&text).into_iter().find(|one| Path::new(&one.name) == program).unwrap();
    let inode = fs::metadata(&program).unwrap().ino();
    assert_eq!(mapping.inode, inode);
    let open = |range: Range<u64>, device, inode| {
        open_target(&own(), ProcessFile::Mapped { range, device, inode, path: mapping.name.clone() })
    };
    let opened = open(mapping.range.clone(), mapping.device, inode).unwrap();
    assert_eq!(opened.metadata().unwrap().ino(), inode);
    // If nothing is mapped (any more), the name is used if it leads to that file.
    assert!(open(0..4096, mapping.device, inode).is_ok());
    assert!(matches!(open(0..4096, mapping.device, inode + 1), Err(Refused::Another)));
    assert!(matches!(open(0..4096, (mapping.device.0 + 1, 3), inode), Err(Refused::Another)));
    assert_eq!(open_target(&own(), ProcessFile::Executable).unwrap().metadata().unwrap().ino(), inode);
}

#[test]
fn a_pipe_under_the_name_of_what_was_mapped_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["lib.so", "lib.so (deleted)"] {
        fifo(&folder.path().join(name));
        let path = folder.path().join(name).display().to_string();
        let found =
            open_target(&own(), ProcessFile::Mapped { range: 0..4096, device: (0, 0), inode: 1, path: path.clone() });
        assert!(matches!(found, Err(Refused::NotOrdinary)), "{found:?}");
    }
}

#[test]
fn a_descriptor_is_the_file_whatever_became_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let (path, away) = (folder.path().join("x.eventlog"), folder.path().join("y"));
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(b"its own").unwrap();
    let (read, _write) = io::pipe().unwrap();
    let fd = |descriptor: &dyn std::os::fd::AsRawFd| u32::try_from(descriptor.as_raw_fd()).unwrap();
    fs::rename(&path, &away).unwrap();
    symlink("/etc/passwd", &path).unwrap();
    let opened = open_target(&own(), ProcessFile::Descriptor(fd(&file))).unwrap();
    assert_eq!(io::read_to_string(opened).unwrap(), "its own");
    assert!(own().descriptors().contains(&(fd(&file), away)));
    assert!(own().access(fd(&file)).unwrap().contains(OFlags::WRONLY));
    assert!(matches!(open_target(&own(), ProcessFile::Descriptor(fd(&read))), Err(Refused::NotOrdinary)));
    assert!(open_target(&own(), ProcessFile::Descriptor(1 << 20)).is_err());
}

#[test]
fn a_process_that_has_ended_gives_nothing() {
    let mut child = Ended(Command::new("sleep").arg("60").spawn().unwrap());
    let process = Process::open(&Host::default(), child.0.id()).unwrap();
    assert!(process.check().is_ok() && process.text("maps").is_ok() && process.root().is_ok());
    child.0.kill().unwrap();
    // A zombie has nothing left to read.
    while process.check().is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(Process::open(&Host::default(), process.pid()).is_err());
    child.0.wait().unwrap();
    assert_eq!(process.check().unwrap_err().raw_os_error(), Some(libc::ESRCH));
    assert!(process.text("maps").is_err() && process.link("exe").is_err() && process.descriptors().is_empty());
    assert!(open_target(&process, ProcessFile::Executable).is_err());
}

/// Process 7 of a tree, which was started at `start`.
fn in_tree(root: &Path, start: u64) {
    let folder = root.join("proc/7");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("stat"), format!("7 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {start} 1")).unwrap();
    fs::write(folder.join("maps"), format!("of {start}")).unwrap();
}

#[test]
fn another_process_of_the_same_number_is_not_it() {
    let root = tempfile::tempdir().unwrap();
    in_tree(root.path(), 5);
    let process = Process::open(&Host::at(root.path()), 7).unwrap();
    assert_eq!((process.start_ticks(), process.text("maps").unwrap()), (5, "of 5".to_owned()));
    fs::remove_dir_all(root.path().join("proc/7")).unwrap();
    in_tree(root.path(), 6);
    assert!(process.check().is_err() && process.text("maps").is_err());
    assert_eq!(Process::open(&Host::at(root.path()), 7).unwrap().start_ticks(), 6);
}

/// `ns_last_pid` makes the kernel reuse a number: in a pid namespace of its own, so that no
/// other process gets it.
#[test]
fn root_a_number_that_is_given_again_is_not_taken_for_the_same_process() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let script = "mount -t proc proc /proc; sleep 60 & echo $!; read go; kill -9 $!; wait $!; \
                  echo $(( $! - 1 )) > /proc/sys/kernel/ns_last_pid; sleep 61 & echo $!; read go; kill -9 $!";
    let mut command = Command::new("unshare");
    command.args(["--pid", "--mount", "--fork", "--kill-child", "sh", "-c", script]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut inside = Ended(command.spawn().unwrap());
    let mut words = io::BufReader::new(inside.0.stdout.take().unwrap());
    let mut word = || {
        let mut line = String::new();
        io::BufRead::read_line(&mut words, &mut line).unwrap();
        line.trim().parse::<u32>().unwrap()
    };
    let first = word();
    // The namespace's own /proc, through the process that lives there.
    let host = Host::default();
    let shell = host.children(inside.0.id()).first().copied().unwrap();
    let there = Host::at(format!("/proc/{shell}/root"));
    // Between fork and exec it has another command line, or none.
    let calls = |process: &Process, word: &str| {
        let is = || process.text("cmdline").unwrap() == format!("sleep\0{word}\0");
        (0..1000).any(|_| {
            is() || {
                std::thread::sleep(Duration::from_millis(5));
                false
            }
        })
    };
    let process = Process::open(&there, first).unwrap();
    assert!(calls(&process, "60"));
    inside.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    assert_eq!(word(), first, "the number was given again");
    assert!(process.check().is_err() && process.text("cmdline").is_err());
    let other = Process::open(&there, first).unwrap();
    assert!(calls(&other, "61"));
    inside.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
}
