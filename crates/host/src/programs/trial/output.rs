//! A program's output while a trial runs: all of it is read, so that the program never waits for a
//! full pipe, and a bounded end of it is kept.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread::JoinHandle;

/// Bytes kept of each stream.
const KEPT: usize = 16 << 10;

/// Bytes still read after the program has ended. A process that left its group may write
/// for ever.
const REST_MAX: usize = 1 << 20;

/// The ends of both streams.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Ends {
    /// The last 16 KiB of standard output.
    pub stdout: String,
    /// The last 16 KiB of standard error.
    pub stderr: String,
}

#[derive(Debug)]
pub(super) struct Listener {
    /// Closed when the program has ended.
    stop: OwnedFd,
    thread: JoinHandle<[Vec<u8>; 2]>,
}

impl Listener {
    /// Reads standard output and error until [`Listener::end`].
    pub(super) fn start(streams: [OwnedFd; 2]) -> io::Result<Listener> {
        for stream in &streams {
            fcntl_setfl(stream, OFlags::NONBLOCK)?;
        }
        let (stopped, stop) = io::pipe()?;
        let listen = move || listen(&streams, stopped.as_fd());
        let thread = std::thread::Builder::new().name("output".into()).spawn(listen)?;
        Ok(Listener { stop: stop.into(), thread })
    }

    pub(super) fn end(self) -> Ends {
        drop(self.stop);
        let [stdout, stderr] = self.thread.join().unwrap_or_default();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ends { stdout: text(stdout), stderr: text(stderr) }
    }
}

fn listen(streams: &[OwnedFd; 2], stop: impl AsFd) -> [Vec<u8>; 2] {
    let mut kept = [Vec::new(), Vec::new()];
    let mut open = [true, true];
    loop {
        // A stream at its end is always readable: it is not waited for.
        let still = streams.iter().zip(open).filter(|(_, open)| *open);
        let mut fds = vec![PollFd::new(&stop, PollFlags::IN)];
        fds.extend(still.map(|(stream, _)| PollFd::new(stream, PollFlags::IN)));
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return kept,
        }
        let over = fds.first().is_some_and(|stop| !stop.revents().is_empty());
        let most = if over { REST_MAX } else { KEPT };
        for ((stream, open), kept) in streams.iter().zip(&mut open).zip(&mut kept) {
            *open = *open && read(stream, kept, most);
        }
        if over {
            return kept;
        }
    }
}

/// Reads what is available, about `most` bytes of it; false at the end of the stream.
fn read(stream: &OwnedFd, kept: &mut Vec<u8>, most: usize) -> bool {
    let (mut buffer, mut seen) = ([0; 4096], 0);
    while seen < most {
        match rustix::io::read(stream, &mut buffer) {
            Ok(0) => return false,
            Ok(count) => {
                seen += count;
                kept.extend(buffer.iter().take(count));
                kept.drain(..kept.len().saturating_sub(KEPT));
            }
            Err(Errno::INTR) => {}
            Err(error) => return error == Errno::AGAIN,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_end_is_kept_and_no_writer_waits() {
        let (out_read, mut out_write) = io::pipe().unwrap();
        let (error_read, error_write) = io::pipe().unwrap();
        let listener = Listener::start([out_read.into(), error_read.into()]).unwrap();
        // More than a pipe holds.
        for number in 0..40_000 {
            writeln!(out_write, "line {number}").unwrap();
        }
        drop(error_write);
        // The other end stays open, as with a process that was left.
        let ends = listener.end();
        assert!(ends.stdout.len() <= KEPT && ends.stdout.ends_with("line 39998\nline 39999\n"));
        assert_eq!(ends.stderr, "");
    }
}
