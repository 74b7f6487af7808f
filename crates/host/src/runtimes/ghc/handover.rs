//! How a program's eventlog gets into the capture: the path that programs open is a
//! link, which is moved on as soon as inotify reports an open. docs/decisions/008 explains
//! why, and why two more links lead to the next two files. The files are regular ones,
//! never a FIFO: a dead reader would hang the program for ever.
//!
//! `log` is a second name of one of the two links. The file after the next is ready before it is needed,
//! and only then does the opened one get its number.
//!
//! Until the link has moved, a second process can open the same file. inotify reports this twice: by a second open
//! before the move (the kernel merges two that follow each other directly), and later by a second close of a file that
//! was open for writing. Readers close without having written.
//!
//! `GHCRTS` is split at spaces, so a capture whose path contains anything unusual is reached through a
//! private folder under the temporary directory. Commands that change root or user before they start the
//! program get an inherited folder descriptor instead of a path; so does every program for which another user
//! could replace the capture by a folder of their own: the program would then open what that user likes.

use crate::capture::folder::Folder;
use crate::runtimes::route::{Route, inheritable};
use rustix::fs::{AtFlags, FileType, Mode, inotify};
use std::collections::{HashMap, HashSet};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

const LINK: &str = "log";
const LINK_NEW: &str = "log.new";
/// Links, and the files that they lead to.
const SIDES: [(&str, &str); 2] = [("a", "next-a.eventlog"), ("b", "next-b.eventlog")];
/// One log file.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Opened {
    /// Name below the capture: `eventlog/0.eventlog`.
    pub name: String,
    pub path: PathBuf,
    /// Number of processes known to have opened it before the link moved on.
    pub processes: u32,
    /// It was returned before, and more of its processes have become known.
    pub again: bool,
}

/// The folder of logs while the program runs.
#[derive(Debug)]
pub struct Handover {
    folder: Folder,
    path: String,
    private: Option<(Folder, String)>,
    descriptor: Option<OwnedFd>,
    watch: OwnedFd,
    file_mode: Mode,
    /// The side that the link leads to.
    side: usize,
    happened: [Happened; 2],
    /// The previous file of each side, until inotify reports its move to its number: earlier events for the side's name
    /// belong to that file.
    moving: [Option<u32>; 2],
    /// Number of files that have a number.
    numbered: u32,
    /// How often a writer closed each of these.
    closes: HashMap<u32, u32>,
    /// Those that more than one process is known to have opened.
    mixed: HashSet<u32>,
    /// Those found in `mixed` since the last call.
    late: Vec<u32>,
}

/// Events of a file that has no number yet.
#[derive(Copy, Clone, Default, Debug)]
struct Happened {
    opens: u32,
    /// Closes by writers.
    closes: u32,
}

impl Handover {
    /// Prepares `eventlog/` of a capture for a route. Errors: the folder cannot
    /// be written, or inotify's limits are reached.
    pub fn prepare(capture: &Folder, route: &Route) -> io::Result<Handover> {
        let folder = capture.folder("eventlog")?;
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        let by_descriptor = matches!(route, Route::Descriptor | Route::Shared);
        // Another user must be able to enter the folder and write the file;
        // the capture around it stays closed to all others.
        let (folder_mode, file_mode) = if *route == Route::Shared { (0o711, 0o666) } else { (0o700, 0o600) };
        folder.set_mode(folder_mode)?;
        let mut handover = Handover {
            path: String::new(),
            private: None,
            descriptor: None,
            watch,
            file_mode: Mode::from_raw_mode(file_mode),
            side: 0,
            happened: [Happened::default(); 2],
            moving: [None; 2],
            numbered: 0,
            closes: HashMap::new(),
            mixed: HashSet::new(),
            late: Vec::new(),
            folder,
        };
        for (side, (link, file)) in SIDES.into_iter().enumerate() {
            handover.make_file(side)?;
            // A relative link works in every root.
            rustix::fs::symlinkat(file, handover.folder.descriptor(), link)?;
        }
        handover.point_link(0)?;
        if by_descriptor {
            let high = inheritable(&handover.folder)?;
            handover.path = format!("/proc/self/fd/{}/{LINK}", high.as_raw_fd());
            handover.descriptor = Some(high);
        } else if let Some(plain) = plain_path(&handover.folder.path().join(LINK)) {
            handover.path = plain;
        } else {
            handover.go_through_private_folder()?;
        }
        // The kernel merges equal consecutive events; the truncation that comes
        // with each program's open (MODIFY) separates two opens.
        let opens = inotify::WatchFlags::OPEN | inotify::WatchFlags::MODIFY;
        let watched = opens | inotify::WatchFlags::CLOSE_WRITE | inotify::WatchFlags::MOVED_FROM;
        inotify::add_watch(&handover.watch, handover.folder.own_path(), watched)?;
        Ok(handover)
    }

    /// The path to give to `-ol`.
    pub fn log_path(&self) -> &str {
        &self.path
    }

    /// The descriptor that the program has to inherit, if the path needs one.
    pub fn inherited(&self) -> Option<RawFd> {
        self.descriptor.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Becomes readable when a log was opened.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }

    /// Logs opened since the last call; when this returns, the link already points to a fresh file, unless none
    /// could be made: then the error says why, and the next call tries again. Logs of earlier calls that turned
    /// out to belong to several processes come last.
    pub fn take_opened(&mut self) -> (Vec<Opened>, Option<io::Error>) {
        let (mut found, mut failed) = (Vec::new(), None);
        loop {
            self.drain();
            let opened = self.happened.iter().position(|happened| happened.opens > 0);
            match opened.map(|side| self.hand_over(side)) {
                Some(Ok(opened)) => found.push(opened),
                Some(Err(error)) => failed = Some(error),
                None => {}
            }
            if opened.is_none() || failed.is_some() {
                break;
            }
        }
        let late = std::mem::take(&mut self.late);
        found.extend(late.into_iter().map(|number| self.opened(number, 2, true)));
        (found, failed)
    }

    fn opened(&self, number: u32, processes: u32, again: bool) -> Opened {
        let name = numbered(number);
        let path = self.folder.path().join(&name);
        Opened { name: format!("eventlog/{name}"), path, processes, again }
    }

    /// Gives an opened file its number. It may be the one that the link has left: a process that was resolving the link
    /// creates the file that the link led to.
    fn hand_over(&mut self, side: usize) -> io::Result<Opened> {
        if side == self.side {
            let other = 1 - side;
            self.make_file(other)?;
            self.point_link(other)?;
            // Opens that arrived before the link moved.
            self.drain();
        }
        let opened = self.number(side)?;
        // For the next time. If it fails now, it is tried again then.
        let _ = self.make_file(side);
        Ok(opened)
    }

    fn number(&mut self, side: usize) -> io::Result<Opened> {
        let Happened { opens, closes } = self.happened.get_mut(side).map_or_else(Happened::default, std::mem::take);
        let number = self.numbered;
        self.folder.rename(file_of(side), &numbered(number))?;
        self.numbered += 1;
        self.moving.get_mut(side).into_iter().for_each(|moving| *moving = Some(number));
        self.closes.extend((closes > 0).then_some((number, closes)));
        let processes = opens.max(closes).max(1);
        self.mixed.extend((processes > 1).then_some(number));
        Ok(self.opened(number, processes, false))
    }

    /// Ends the handover: removes the links, the private folder and unopened files. Running programs keep what they
    /// have open.
    pub fn finish(&mut self) {
        let links = SIDES.map(|(link, _)| link);
        for link in [LINK, LINK_NEW].iter().chain(&links) {
            let _ = self.folder.remove(link);
        }
        for side in 0..SIDES.len() {
            let file = file_of(side);
            match self.folder.look_at(file) {
                Ok(found) if found.st_size == 0 => drop(self.folder.remove(file)),
                Ok(_) => drop(self.number(side)),
                Err(_) => {}
            }
        }
        for number in 0..self.numbered {
            let _ = self.close_to_others(&numbered(number));
        }
        let _ = self.folder.set_mode(0o700);
        if let Some((parent, name)) = &self.private {
            let _ = parent.folder(name).and_then(|private| private.remove("d"));
            let _ = parent.remove_folder(name);
        }
    }

    /// Restricts a file that another user had to open to its owner.
    fn close_to_others(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::chmodat(self.folder.descriptor(), name, Mode::RUSR | Mode::WUSR, AtFlags::empty())?)
    }

    /// Counts opens and closes by the name that the file has when they are reported: a file with a number is opened
    /// by readers, and by a program that had already resolved the link.
    fn drain(&mut self) {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(self.watch.as_fd(), &mut buffer);
        let mut arrived = Vec::new();
        let mut overflowed = false;
        while let Ok(event) = events.next() {
            overflowed |= event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW);
            let Some(name) = event.file_name().and_then(|name| name.to_str().ok()) else { continue };
            let side = SIDES.iter().position(|(_, file)| *file == name);
            arrived.push((side, number_of(name), event.events()));
        }
        for (side, number, what) in arrived {
            match (side, number) {
                (Some(side), _) => self.happened_to(side, what),
                (None, Some(number)) if what.contains(inotify::ReadFlags::CLOSE_WRITE) => self.closed(number),
                _ => {}
            }
        }
        if overflowed {
            self.make_up_for_lost_events();
        }
    }

    /// After an overflow of the kernel's queue: a lost move must not make the next file's events count for the last one
    /// for ever, and a file with contents was opened.
    fn make_up_for_lost_events(&mut self) {
        self.moving = [None; 2];
        for (side, happened) in self.happened.iter_mut().enumerate() {
            let written = self.folder.look_at(file_of(side)).is_ok_and(|file| file.st_size > 0);
            happened.opens = happened.opens.max(u32::from(written));
        }
    }

    fn happened_to(&mut self, side: usize, what: inotify::ReadFlags) {
        let (Some(moving), Some(happened)) = (self.moving.get_mut(side), self.happened.get_mut(side)) else { return };
        let (opened, closed) =
            (what.contains(inotify::ReadFlags::OPEN), what.contains(inotify::ReadFlags::CLOSE_WRITE));
        if what.contains(inotify::ReadFlags::MOVED_FROM) {
            *moving = None;
            return;
        }
        match *moving {
            Some(number) if opened => self.late.extend(self.mixed.insert(number).then_some(number)),
            Some(number) if closed => self.closed(number),
            Some(_) => {}
            None => {
                happened.opens += u32::from(opened);
                happened.closes += u32::from(closed);
            }
        }
    }

    /// A writer closed a file that has its number.
    fn closed(&mut self, number: u32) {
        let closes = self.closes.entry(number).or_default();
        *closes += 1;
        if *closes == 2 && self.mixed.insert(number) {
            self.late.push(number);
        }
    }

    /// Makes a side's file, empty and regular, without opening it (that would cause an event), unless it exists.
    fn make_file(&self, side: usize) -> io::Result<()> {
        let name = file_of(side);
        match rustix::fs::mknodat(self.folder.descriptor(), name, FileType::RegularFile, self.file_mode, 0) {
            Err(rustix::io::Errno::EXIST) => return Ok(()),
            made => made?,
        }
        // No other user can put a file under this name: only this user may write to the folder.
        rustix::fs::chmodat(self.folder.descriptor(), name, self.file_mode, AtFlags::empty())?;
        Ok(())
    }

    fn point_link(&mut self, side: usize) -> io::Result<()> {
        let Some((link, _)) = SIDES.get(side) else { return Err(io::ErrorKind::InvalidInput.into()) };
        match self.folder.link(link, LINK_NEW) {
            // Left by a call that did not get further.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.folder.remove(LINK_NEW)?;
                self.folder.link(link, LINK_NEW)?;
            }
            linked => linked?,
        }
        self.folder.rename(LINK_NEW, LINK)?;
        self.side = side;
        Ok(())
    }

    fn go_through_private_folder(&mut self) -> io::Result<()> {
        let candidates = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into(), "/dev/shm".into()];
        let mut last = io::Error::new(io::ErrorKind::NotFound, "no temporary directory has a path without spaces");
        for parent in candidates.iter().filter(|parent| plain_path(parent).is_some()) {
            let stamp = crate::system::clock::monotonic().0;
            let name = format!("rtscope-{}-{stamp:x}", std::process::id());
            match Folder::reach(parent).and_then(|parent| self.private_in(parent, name)) {
                Ok(()) => return Ok(()),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn private_in(&mut self, parent: Folder, name: String) -> io::Result<()> {
        let private = parent.make_folder(&name, 0o700)?;
        let path = plain_path(private.path()).filter(|_| private.stays_in_place());
        let linked = match &path {
            Some(_) => rustix::fs::symlinkat(self.folder.path(), private.descriptor(), "d").map_err(io::Error::from),
            None => Err(io::Error::new(io::ErrorKind::PermissionDenied, "no temporary directory is safe")),
        };
        linked.inspect_err(|_| _ = parent.remove_folder(&name))?;
        self.path = format!("{}/d/{LINK}", path.unwrap_or_default());
        self.private = Some((parent, name));
        Ok(())
    }
}

fn numbered(number: u32) -> String {
    format!("{number}.eventlog")
}

fn number_of(name: &str) -> Option<u32> {
    name.strip_suffix(".eventlog")?.parse().ok()
}

fn file_of(side: usize) -> &'static str {
    SIDES.get(side).map_or(LINK, |(_, file)| file)
}

/// The path as text, if `GHCRTS` can contain it.
fn plain_path(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@%,:=~".contains(letter);
    text.chars().all(plain).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::store::Store;
    use std::fs;

    fn open_as_a_program_does(path: &str) -> fs::File {
        fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).unwrap()
    }

    fn taken(handover: &mut Handover) -> Vec<Opened> {
        let (opened, failed) = handover.take_opened();
        assert!(failed.is_none(), "{failed:?}");
        opened
    }

    #[test]
    fn what_another_user_had_to_open_is_closed_to_others_at_the_end() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("c"), false).unwrap();
        let mut handover = Handover::prepare(store.folder(), &Route::Shared).unwrap();
        let mode = |name: &str| fs::metadata(store.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("eventlog"), mode("eventlog/log")), (0o711, 0o666));
        let mut log = open_as_a_program_does(store.path().join("eventlog/log").to_str().unwrap());
        assert_eq!(taken(&mut handover).len(), 1);
        assert_eq!(mode("eventlog/0.eventlog"), 0o666);
        std::io::Write::write_all(&mut log, b"x").unwrap();
        handover.finish();
        assert_eq!((mode("eventlog"), mode("eventlog/0.eventlog")), (0o700, 0o600));
    }

    #[test]
    fn every_open_gets_a_file_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("with space.rtscope"), false).unwrap();
        let mut handover = Handover::prepare(store.folder(), &Route::Path).unwrap();
        assert!(!handover.log_path().contains(' '));
        assert_eq!(taken(&mut handover), []);
        let path = handover.log_path().to_owned();
        let _first = open_as_a_program_does(&path);
        let opened = taken(&mut handover);
        assert_eq!(opened.len(), 1);
        assert_eq!((opened[0].name.as_str(), opened[0].processes), ("eventlog/0.eventlog", 1));
        let _second = open_as_a_program_does(&path);
        assert_eq!(taken(&mut handover)[0].name, "eventlog/1.eventlog");
        // A reader of a file that the link has left is not a second writer.
        drop(fs::File::open(store.path().join("eventlog/0.eventlog")).unwrap());
        assert_eq!(taken(&mut handover), []);
        handover.finish();
        assert!(!Path::new(&path).exists());
        let mut left: Vec<_> =
            fs::read_dir(store.path().join("eventlog")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["0.eventlog", "1.eventlog"]);
    }

    #[test]
    fn opens_before_the_link_moves_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("c"), false).unwrap();
        let mut handover = Handover::prepare(store.folder(), &Route::Path).unwrap();
        let path = handover.log_path().to_owned();
        let _open = [(); 3].map(|()| open_as_a_program_does(&path));
        let opened = taken(&mut handover);
        assert_eq!((opened.len(), opened[0].processes), (1, 3));
        handover.finish();
    }

    /// The process had resolved the link, and opens the file after the link has moved.
    #[test]
    fn a_late_opener_is_known_when_it_closes() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("c"), false).unwrap();
        let mut handover = Handover::prepare(store.folder(), &Route::Path).unwrap();
        let first = open_as_a_program_does(handover.log_path());
        assert_eq!(taken(&mut handover)[0].processes, 1);
        let path = store.path().join("eventlog/0.eventlog");
        let late = open_as_a_program_does(path.to_str().unwrap());
        drop(fs::File::open(&path).unwrap());
        drop(first);
        assert_eq!(taken(&mut handover), []);
        drop(late);
        let again = taken(&mut handover);
        assert_eq!((again.len(), again[0].name.as_str(), again[0].again), (1, "eventlog/0.eventlog", true));
        drop(open_as_a_program_does(path.to_str().unwrap()));
        assert_eq!(taken(&mut handover), []);
        handover.finish();
    }

    /// A process closes the file, and another opens it, after its opens were counted and before it gets its number.
    #[test]
    fn what_happens_just_before_a_file_is_numbered_is_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("c"), false).unwrap();
        let mut handover = Handover::prepare(store.folder(), &Route::Path).unwrap();
        let path = handover.log_path().to_owned();
        let first = open_as_a_program_does(&path);
        handover.drain();
        drop(first);
        assert_eq!(handover.number(0).unwrap().processes, 1);
        handover.make_file(0).unwrap();
        assert_eq!(taken(&mut handover), []);
        let _second = open_as_a_program_does(&path);
        handover.drain();
        let third = open_as_a_program_does(&path);
        assert_eq!(handover.number(0).unwrap().processes, 1);
        handover.make_file(0).unwrap();
        let again = taken(&mut handover);
        assert_eq!((again.len(), again[0].name.as_str(), again[0].again), (1, "eventlog/1.eventlog", true));
        drop(third);
        assert_eq!(taken(&mut handover), []);
        handover.finish();
    }

    /// As after a full queue: neither the move of the first file nor the open of the second was reported.
    #[test]
    fn lost_events_do_not_make_all_further_programs_share_a_log() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("c"), false).unwrap();
        let mut handover = Handover::prepare(store.folder(), &Route::Path).unwrap();
        let path = handover.log_path().to_owned();
        handover.moving = [Some(0); 2];
        let mut first = open_as_a_program_does(&path);
        std::io::Write::write_all(&mut first, b"x").unwrap();
        assert_eq!(taken(&mut handover).len(), 1);
        assert!(handover.mixed.contains(&0), "counted for the file before");
        handover.make_up_for_lost_events();
        let names: Vec<String> = taken(&mut handover).into_iter().map(|opened| opened.name).collect();
        assert_eq!(names, ["eventlog/0.eventlog"]);
        let _second = open_as_a_program_does(&path);
        assert_eq!(taken(&mut handover)[0].name, "eventlog/1.eventlog");
        handover.finish();
    }

    #[test]
    fn a_descriptor_leads_to_the_same_files() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("c"), false).unwrap();
        for route in [Route::Descriptor, Route::Shared] {
            let mut handover = Handover::prepare(store.folder(), &route).unwrap();
            assert!(handover.inherited().unwrap() >= 20);
            let _open = open_as_a_program_does(handover.log_path());
            assert_eq!(taken(&mut handover).len(), 1);
            handover.finish();
            store.folder().folder("eventlog").unwrap().clear(0);
        }
    }
}
