//! The journal between two manifests: see `rtscope_decode::capture::journal`. With it a manifest of many logs
//! need not be rewritten for each of them. Owns the file, and how often a manifest of some size is written.

use crate::capture::store::Store;
use rtscope_decode::capture::journal::{JournalLine, NAME, write_line};
use rtscope_model::Loss;
use rtscope_model::manifest::Log;
use std::fs::File;
use std::io::{self, Write};

/// Longest time between manifests: what a killed recorder leaves may be this old; streams and journal are newer.
const MANIFEST_PERIOD_NS: u64 = 2_000_000_000;
/// Nanoseconds per byte: manifests take at most a megabyte a second.
const NS_PER_BYTE: u64 = 1_000;

/// Time from a manifest of `bytes` to the next one.
pub(super) fn period_ns(bytes: u64) -> u64 {
    bytes.saturating_mul(NS_PER_BYTE).max(MANIFEST_PERIOD_NS)
}

#[derive(Debug, Default)]
pub(super) struct Journal {
    file: Option<File>,
    /// Number of losses already written.
    losses: usize,
}

impl Journal {
    /// Makes its file. If that fails, a killed recorder leaves less.
    pub(super) fn create(store: &Store) -> Journal {
        Journal { file: store.folder().create_to_append(NAME).ok(), losses: 0 }
    }

    /// Writes new logs and losses; returns the bytes written. Errors: the disk.
    pub(super) fn write(&mut self, logs: &[Log], losses: &[Loss]) -> io::Result<u64> {
        let fresh = losses.iter().enumerate().skip(self.losses);
        let lines = logs.iter().cloned().map(JournalLine::Log);
        let mut bytes = Vec::new();
        lines.chain(fresh.map(|(number, loss)| JournalLine::Loss(number, loss.clone()))).for_each(|line| {
            write_line(&mut bytes, &line);
        });
        self.losses = losses.len();
        match &mut self.file {
            Some(file) if !bytes.is_empty() => file.write_all(&bytes).map(|()| bytes.len() as u64),
            _ => Ok(0),
        }
    }

    /// Removes the journal: the manifest now contains everything.
    pub(super) fn remove(&mut self, store: &Store) {
        self.file = None;
        let _ = store.folder().remove(NAME);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_bounded_by_their_size() {
        assert_eq!(period_ns(5_000), MANIFEST_PERIOD_NS);
        assert_eq!(period_ns(1_400_000), MANIFEST_PERIOD_NS);
        assert_eq!(period_ns(30_000_000), 30_000_000_000);
    }
}
