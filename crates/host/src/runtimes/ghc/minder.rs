//! Serves a [`Handover`] on a thread of its own, which goes before others: a program that forks as its
//! first act opens its second log a millisecond after the first, and a session has more to do. Owns that
//! nothing but the link's moving is done there.

use crate::runtimes::ghc::handover::{Handover, Opened};
use crate::system::worker as background;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A handover, and what of it nobody has taken yet.
#[derive(Debug)]
struct Minded {
    handover: Handover,
    found: Vec<Opened>,
    failed: Option<io::Error>,
}

impl Minded {
    fn look(&mut self) {
        let (found, failed) = self.handover.take_opened();
        self.found.extend(found);
        self.failed = failed.or(self.failed.take());
    }
}

/// See the module.
#[derive(Debug)]
pub struct Minder {
    minded: Arc<Mutex<Minded>>,
    came: Arc<OwnedFd>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Minder {
    /// Minds it from now on. Errors: no more descriptors or threads.
    pub fn start(handover: Handover) -> io::Result<Minder> {
        let watch = handover.descriptor().try_clone_to_owned()?;
        let event = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Arc::new);
        let minded = Arc::new(Mutex::new(Minded { handover, found: Vec::new(), failed: None }));
        let mut minder = Minder { minded, came: event()?, stop: event()?, thread: None };
        let (minded, came, stop) = (Arc::clone(&minder.minded), Arc::clone(&minder.came), Arc::clone(&minder.stop));
        let thread = std::thread::Builder::new().name("logs".into());
        minder.thread = Some(thread.spawn(move || {
            background::go_before();
            while wait(&watch, &stop) {
                let mut minded = lock(&minded);
                minded.look();
                if !minded.found.is_empty() || minded.failed.is_some() {
                    ring(&came);
                }
            }
        })?);
        Ok(minder)
    }

    /// Readable when a log was opened, until it is taken.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.came.as_fd()
    }

    /// Logs that were opened since the last call; none of them is opened once more when this returns.
    /// Errors: no fresh file could be made.
    pub fn take_opened(&self) -> (Vec<Opened>, Option<io::Error>) {
        let mut minded = lock(&self.minded);
        let _ = rustix::io::read(&self.came, &mut [0; 8]);
        // What came this moment, too.
        minded.look();
        (std::mem::take(&mut minded.found), minded.failed.take())
    }

    /// Ends the handover; see there.
    pub fn finish(mut self) {
        self.end();
        lock(&self.minded).handover.finish();
    }

    fn end(&mut self) {
        ring(&self.stop);
        let _ = self.thread.take().map(background::end);
    }
}

impl Drop for Minder {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock(minded: &Mutex<Minded>) -> MutexGuard<'_, Minded> {
    minded.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ring(event: &OwnedFd) {
    let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
}

/// Waits for an open; false at the end.
fn wait(watch: &OwnedFd, stop: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(watch, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
    // Interrupted or not: a look costs little.
    let _ = poll(&mut fds, None);
    fds.get(1).is_some_and(|stop| stop.revents().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::route::Route;
    use std::fs::OpenOptions;

    /// As programs do: one that forks at once, and its child.
    #[test]
    fn opens_a_moment_apart_get_files_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("eventlog")).unwrap();
        let capture = crate::capture::folder::Folder::open(folder.path()).unwrap();
        let handover = Handover::prepare(&capture, &Route::Path).unwrap();
        let path = handover.log_path().to_owned();
        let minder = Minder::start(handover).unwrap();
        let open = || OpenOptions::new().write(true).truncate(true).open(&path).unwrap();
        let mut found = Vec::new();
        for expected in 1..=20 {
            drop(open());
            // Nobody but the thread looks meanwhile.
            while poll(&mut [PollFd::new(&minder.descriptor(), PollFlags::IN)], None) != Ok(1) {}
            let (more, failed) = minder.take_opened();
            assert!(failed.is_none());
            found.extend(more);
            assert_eq!(found.len(), expected);
        }
        let names: std::collections::BTreeSet<_> = found.iter().map(|opened| &opened.name).collect();
        assert!(names.len() == 20 && found.iter().all(|opened| opened.processes == 1), "{found:?}");
        minder.finish();
        assert!(!std::path::Path::new(&path).exists());
    }
}
