//! The terminal's keyboard while something is shown on it: keys come one by one and are not
//! echoed. Owns putting back what was set; refuses to write to the screen.

use crate::programs::signals::Signals;
use crate::system::{clock, ready};
use rustix::event::PollFlags;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
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
    let stdin = io::stdin();
    let key = keyboard.map(|_| stdin.as_fd());
    let seen = ready::wait([signals.descriptor()].into_iter().chain(key).chain(ended), Some(clock::ns_of(longest)));
    let key = seen.get(1).copied().filter(|_| keyboard.is_some()).unwrap_or(PollFlags::empty());
    let keys = keyboard.filter(|_| !key.is_empty()).map_or(Vec::new(), Keyboard::take);
    // A terminal that has gone is ready for ever.
    Woken { keys, signal: ready::hung_up(key) || !signals.take().is_empty() }
}
