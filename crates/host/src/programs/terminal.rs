//! The terminal's keyboard while something is shown on it: keys arrive one by one and are not
//! echoed. Owns restoring the settings; refuses to write to the screen.

use crate::programs::signals::Signals;
use crate::system::{clock, ready};
use rustix::event::PollFlags;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Disables a control character.
const NO_CHARACTER: u8 = 0;

/// A keyboard; dropping it restores the terminal's settings.
#[derive(Debug)]
pub struct Keyboard {
    before: Termios,
}

impl Keyboard {
    /// Standard input, if it is a terminal. Its keys still send signals, except the one
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

    /// Keys pressed since the last call.
    fn take(&self) -> Vec<u8> {
        let mut keys = [0; 64];
        let count = rustix::io::read(io::stdin(), &mut keys).unwrap_or(0);
        keys.get(..count).unwrap_or_default().to_vec()
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// What ended a wait early.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Woken {
    /// Keys that were pressed, as bytes.
    pub keys: Vec<u8>,
    /// A signal arrived that ends the program.
    pub signal: bool,
}

/// Waits for a key, a signal, or for `ended` to become readable; at most `longest`.
pub fn wait(keyboard: Option<&Keyboard>, signals: &Signals, ended: Option<BorrowedFd<'_>>, longest: Duration) -> Woken {
    let stdin = io::stdin();
    let key = keyboard.map(|_| stdin.as_fd());
    let seen = ready::wait([signals.descriptor()].into_iter().chain(key).chain(ended), Some(clock::ns_of(longest)));
    let key = seen.get(1).copied().filter(|_| keyboard.is_some()).unwrap_or(PollFlags::empty());
    let keys = keyboard.filter(|_| !key.is_empty()).map_or(Vec::new(), Keyboard::take);
    // A terminal that is gone is always ready.
    Woken { keys, signal: ready::hung_up(key) || !signals.take().is_empty() }
}
