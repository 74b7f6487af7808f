//! Serves a [`Handover`] on a thread of its own, which runs with priority: a program that forks as its
//! first act opens its second log a millisecond after the first, and a session has other work to do. Owns that
//! nothing but moving the link happens there.

use super::handover::{Handover, Opened};
use crate::system::worker::{Shared, Worker, use_realtime_priority};
use std::io;
use std::os::fd::AsFd;

/// A handover, and its results that have not been taken yet.
#[derive(Debug)]
pub(super) struct HandoverState {
    handover: Handover,
    found: Vec<Opened>,
    failed: Option<io::Error>,
}

impl HandoverState {
    fn look(&mut self) {
        let (found, failed) = self.handover.take_opened();
        self.found.extend(found);
        self.failed = failed.or(self.failed.take());
    }
}

/// The thread that opens logs. `news` is set from the opening of a log until it is taken.
pub(super) type HandoverThread = Worker<HandoverState>;

impl HandoverThread {
    /// Starts serving. Errors: no more descriptors or threads.
    pub fn start(handover: Handover) -> io::Result<HandoverThread> {
        let watch = handover.descriptor().try_clone_to_owned()?;
        let shared = Shared::new(HandoverState { handover, found: Vec::new(), failed: None })?;
        let work = move |state: &Shared<HandoverState>| {
            while state.wait(&[watch.as_fd()], None) {
                let mut now = state.lock();
                now.look();
                if !now.found.is_empty() || now.failed.is_some() {
                    state.news.ring();
                }
            }
        };
        Worker::run(shared, "logs", use_realtime_priority, work)
    }

    /// Logs that were opened since the last call; when this returns, none of them can be opened once more.
    /// Errors: no fresh file could be made.
    pub fn take_opened(&self) -> (Vec<Opened>, Option<io::Error>) {
        let mut state = self.lock();
        self.news.clear();
        // Includes logs opened this very moment.
        state.look();
        (std::mem::take(&mut state.found), state.failed.take())
    }

    pub fn finish(mut self) {
        self.end();
        self.lock().handover.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::route::Route;
    use rustix::event::{PollFd, PollFlags, poll};
    use std::fs::OpenOptions;

    /// Like a program that forks at once, and its child.
    #[test]
    fn opens_a_moment_apart_get_files_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("eventlog")).unwrap();
        let capture = crate::capture::folder::Folder::open(folder.path()).unwrap();
        let handover = Handover::prepare(&capture, &Route::Path).unwrap();
        let path = handover.log_path().to_owned();
        let thread = HandoverThread::start(handover).unwrap();
        let open = || OpenOptions::new().write(true).truncate(true).open(&path).unwrap();
        let mut found = Vec::new();
        for expected in 1..=20 {
            drop(open());
            // Only the handover's thread checks meanwhile.
            while poll(&mut [PollFd::new(&thread.news, PollFlags::IN)], None) != Ok(1) {}
            let (more, failed) = thread.take_opened();
            assert!(failed.is_none());
            found.extend(more);
            assert_eq!(found.len(), expected);
        }
        let names: std::collections::BTreeSet<_> = found.iter().map(|opened| &opened.name).collect();
        assert!(names.len() == 20 && found.iter().all(|opened| opened.processes == 1), "{found:?}");
        thread.finish();
        assert!(!std::path::Path::new(&path).exists());
    }
}
