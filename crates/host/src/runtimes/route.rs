//! How a command's programs find the place for their logs. Owns which commands lose the way into a
//! private folder; refuses to know what a log is.

use crate::capture::folder::Folder;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::path::Path;

/// Above the numbers that scripts use for their own redirections.
const INHERITED_MIN: RawFd = 200;

/// Commands that change the user, and so may lose the way into a private folder.
const CHANGES_USER: [&str; 7] = ["setpriv", "gosu", "su-exec", "su", "runuser", "chpst", "setuidgid"];

/// How the program finds the place for its log.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum Route {
    /// By a path.
    Path,
    /// By an inherited descriptor of the folder: the capture's path can be made to lead elsewhere.
    Descriptor,
    /// By an inherited descriptor of the folder, which other users may use: root or user change first.
    Shared,
    /// Not at all, for this reason.
    None(String),
}

/// The route from a command to a capture.
pub fn route(argv: &[String], capture: &Folder) -> Route {
    match route_of_command(argv) {
        Route::Path if !capture.stays_in_place() => Route::Descriptor,
        route => route,
    }
}

fn route_of_command(argv: &[String]) -> Route {
    let name = argv.first().map(Path::new).and_then(Path::file_name).and_then(OsStr::to_str).unwrap_or("");
    if CHANGES_USER.contains(&name) && rustix::process::geteuid().is_root() {
        return Route::Shared;
    }
    if name != "chroot" {
        return Route::Path;
    }
    let Some(root) = argv.iter().skip(1).find(|argument| !argument.starts_with("--")) else { return Route::Path };
    let proc = Path::new(root).join("proc");
    match rustix::fs::statfs(&proc) {
        Ok(found) if found.f_type == rustix::fs::PROC_SUPER_MAGIC => Route::Shared,
        _ => Route::None(format!(
            "the program runs in another root without /proc, so it cannot reach the capture and no eventlog is \
             recorded; mount it with `mount --bind /proc {}`",
            proc.display()
        )),
    }
}

/// A descriptor of a folder with a number that a program is not likely to use.
pub fn inheritable(folder: &Folder) -> io::Result<OwnedFd> {
    let high = rustix::io::fcntl_dupfd_cloexec(folder.descriptor(), INHERITED_MIN);
    Ok(high.or_else(|_| rustix::io::fcntl_dupfd_cloexec(folder.descriptor(), 20))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_change_root_or_user_need_a_descriptor() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let folder = tempfile::tempdir().unwrap();
        let shared = Folder::open(folder.path()).unwrap().make_folder("shared", 0o755).unwrap();
        let capture = shared.make_folder("c", 0o700).unwrap();
        assert_eq!(route(&words("./prog 1"), &capture), Route::Path);
        assert_eq!(route(&words("/usr/sbin/chroot --userspec=1 / prog"), &capture), Route::Shared);
        let nowhere = route(&words("chroot /nowhere prog"), &capture);
        assert!(matches!(nowhere, Route::None(note) if note.contains("mount --bind")));
        shared.set_mode(0o777).unwrap();
        assert_eq!(route(&words("./prog 1"), &capture), Route::Descriptor);
    }
}
