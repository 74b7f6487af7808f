//! Strings and threads by number, which a provider registers and its records refer to. Owns their bounds; each
//! provider has its own tables.

/// Limit of all strings together, in bytes; no valid trace has more.
const TEXT_MAX: usize = 64 << 20;
/// Largest string index.
const STRINGS: usize = 0x7fff;

/// A thread as a trace names it.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Thread {
    /// Process id and thread id.
    #[allow(missing_docs)]
    Known { process: u64, thread: u64 },
    /// An index that no record defines. Some writers omit these records.
    Numbered(u8),
}

/// Tables of one provider.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub provider: u32,
    pub ticks_per_second: u64,
    strings: Vec<Option<Box<[u8]>>>,
    threads: [Option<(u64, u64)>; 256],
    bytes: usize,
}

impl Tables {
    pub fn new(provider: u32) -> Tables {
        Tables { provider, ticks_per_second: 1_000_000_000, strings: Vec::new(), threads: [None; 256], bytes: 0 }
    }

    /// Registers a string; `false`: the limit of bytes is exceeded.
    pub fn set_string(&mut self, index: u16, text: &[u8]) -> bool {
        let index = usize::from(index);
        if index == 0 || index > STRINGS {
            return true;
        }
        if self.strings.len() <= index {
            self.strings.resize(index + 1, None);
        }
        let Some(place) = self.strings.get_mut(index) else { return true };
        self.bytes -= place.as_ref().map_or(0, |old| old.len());
        let fits = self.bytes + text.len() <= TEXT_MAX;
        *place = fits.then(|| text.into());
        self.bytes += if fits { text.len() } else { 0 };
        fits
    }

    pub fn set_thread(&mut self, index: u8, process: u64, thread: u64) {
        if let Some(place) = self.threads.get_mut(usize::from(index)).filter(|_| index != 0) {
            *place = Some((process, thread));
        }
    }

    /// A registered string; `None`: never registered.
    pub fn string(&self, index: u16) -> Option<&[u8]> {
        match index {
            0 => Some(&[]),
            _ => self.strings.get(usize::from(index))?.as_deref(),
        }
    }

    pub fn thread(&self, index: u8) -> Thread {
        let known = self.threads.get(usize::from(index)).copied().flatten();
        known.map_or(Thread::Numbered(index), |(process, thread)| Thread::Known { process, thread })
    }

    /// Converts ticks to nanoseconds.
    pub fn ns(&self, ticks: u64) -> u64 {
        match self.ticks_per_second {
            0 | 1_000_000_000 => ticks,
            rate => u64::try_from(u128::from(ticks) * 1_000_000_000 / u128::from(rate)).unwrap_or(u64::MAX),
        }
    }
}
