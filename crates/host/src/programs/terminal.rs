//! The terminal's keyboard while something is shown on it: keys come one by one and are not
//! echoed. Owns putting back what was set; refuses to write to the screen.

use crate::programs::signals::Signals;
use crate::system::{clock, ready};
use rustix::event::{PollFd, PollFlags};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::io::{self, IsTerminal};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Turns a control character off.
const NO_CHARACTER: u8 = 0;

/// A keyboard; what was set is put back when it is dropped.
#[derive(Debug)]
pub struct Keyboard {
    before: Termios,
}

impl Keyboard {
    /// Standard input, if it is a terminal. Signals still come from its keys, but for the one
    /// that suspends: it would leave the screen as it is.
    pub fn of_stdin() -> Option<Keyboard> {
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return None;
        }
        let before = tcgetattr(&stdin).ok()?;
        let mut now = before.clone();
        now.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        now.special_codes[SpecialCodeIndex::VMIN] = 0;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        now.special_codes[SpecialCodeIndex::VSUSP] = NO_CHARACTER;
        tcsetattr(&stdin, OptionalActions::Now, &now).ok()?;
        Some(Keyboard { before })
    }

    /// Keys that were pressed since the last call.
    fn take(&self) -> Vec<u8> {
        let mut keys = [0; 64];
        let count = rustix::io::read(io::stdin(), &mut keys).unwrap_or(0);
        keys.get(..count).unwrap_or_default().to_vec()
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // A terminal that has gone needs nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// What ended a wait before its time.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Woken {
    /// Keys.
    pub keys: Vec<u8>,
    /// A signal came that ends the program.
    pub signal: bool,
}

/// Waits for a key, a signal, or that `ended` becomes readable; at most so long.
pub fn wait(keyboard: Option<&Keyboard>, signals: &Signals, ended: Option<BorrowedFd<'_>>, longest: Duration) -> Woken {
    let (stdin, signal) = (io::stdin(), signals.descriptor());
    let mut fds = vec![PollFd::new(&signal, PollFlags::IN)];
    fds.extend(keyboard.map(|_| PollFd::new(&stdin, PollFlags::IN)));
    fds.extend(ended.as_ref().map(|ended| PollFd::new(ended, PollFlags::IN)));
    ready::wait(&mut fds, Some(clock::ns_of(longest)));
    let key = fds.get(1).filter(|_| keyboard.is_some()).map_or(PollFlags::empty(), PollFd::revents);
    let keys = keyboard.filter(|_| !key.is_empty()).map_or(Vec::new(), Keyboard::take);
    // A terminal that has gone is ready for ever.
    let gone = key.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
    Woken { keys, signal: gone || !signals.take().is_empty() }
}
