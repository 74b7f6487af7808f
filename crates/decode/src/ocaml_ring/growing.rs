//! Reads rings while their program writes them: the frames that a recorder appends to a stream, or that the caller
//! passes in. Owns cutting a stream between frames, and waiting until the version that wrote them is known; refuses
//! to keep events that were delivered.

use super::captured::{HEAD_WORDS, kind, whole_frames};
use super::error::RingError;
use super::rings::facts;
use super::{RingStream, Rings, Version};
use crate::log::{GrowingLog, LogFacts, Piece};
use crate::source::ReadAt;
use rtscope_model::{Classes, ClockMap, Event, Loss};
use std::io;
use std::sync::Arc;

/// Limit of the frames that wait until the version is known, in bytes.
const PENDING_MAX: usize = 16 << 20;
/// Size of the head of a stream of rings, in bytes.
const HEAD: usize = 8 * HEAD_WORDS;

/// Rings that are read while their program writes them.
#[derive(Default)]
pub struct GrowingRings {
    stream: Option<Box<RingStream>>,
    version: Option<Version>,
    known: Option<String>,
    /// A head, and frames that have not become events yet.
    pending: Vec<u8>,
    /// Reading begins in the middle: what came before is not a loss.
    joined: bool,
    /// Why they cannot be read.
    failed: Option<String>,
    /// Offset of the next frame in the file.
    at: u64,
}

impl GrowingRings {
    /// Rings whose frames the caller passes in. `version` is what the caller knows about it.
    pub fn by_hand(version: Option<Version>) -> GrowingRings {
        GrowingRings { version, ..GrowingRings::default() }
    }

    /// Rings that a recorder writes to `file`, from the first event on or from the end.
    pub(super) fn of_file(file: &dyn ReadAt, version: Option<Version>, from_start: bool) -> io::Result<GrowingRings> {
        let mut pending = read_exact(file, 0, HEAD as u64)?;
        let mut at = HEAD as u64;
        if !from_start {
            let mut names = Vec::new();
            at = whole_frames(file, at, u64::MAX, &mut |what, from, to| {
                if what == kind::NAME {
                    names.push((from, to));
                }
            })?;
            for (from, to) in names {
                pending.extend(read_exact(file, from, to)?);
            }
        }
        Ok(GrowingRings { version, joined: !from_start, pending, at, ..GrowingRings::default() })
    }

    /// Opens the rings, or continues with them.
    fn take(&mut self, classes: Classes) -> Result<(), RingError> {
        match &mut self.stream {
            Some(stream) => stream.resume_with(Arc::new(self.pending.clone()))?,
            None => match Rings::open(Arc::new(self.pending.clone()), self.version) {
                Ok(rings) => {
                    self.known = Some(rings.version().to_string());
                    self.stream = Some(Box::new(rings.stream(classes)));
                }
                Err(error) if self.pending.len() > PENDING_MAX || self.version.is_some() => return Err(error),
                Err(_) => return Ok(()),
            },
        }
        self.pending.truncate(HEAD);
        Ok(())
    }
}

impl GrowingLog for GrowingRings {
    fn read(&mut self, file: &dyn ReadAt, most: usize) -> io::Result<bool> {
        let end = whole_frames(file, self.at, most as u64, &mut |_, _, _| {})?;
        self.pending.extend(read_exact(file, self.at, end)?);
        self.at = end;
        Ok(false)
    }

    /// Adds frames, after a head.
    fn add(&mut self, piece: Piece<'_>) {
        let known = if self.pending.is_empty() { 0 } else { HEAD };
        self.pending.extend_from_slice(piece.bytes.get(known..).unwrap_or_default());
    }

    fn events(&mut self, classes: Classes, _clock: ClockMap) -> Vec<Event> {
        if self.failed.is_none() && self.pending.len() > HEAD {
            self.failed = self.take(classes).err().map(|error| error.to_string());
        }
        if self.failed.is_some() {
            self.pending.clear();
        }
        let Some(stream) = &mut self.stream else { return Vec::new() };
        let events = stream.collect();
        if std::mem::take(&mut self.joined) {
            stream.take_losses();
        }
        events
    }

    fn take_losses(&mut self, _clock: ClockMap) -> Vec<Loss> {
        self.stream.as_mut().map_or(Vec::new(), |stream| stream.take_losses())
    }

    fn facts(&self) -> LogFacts {
        facts(self.known.clone().or_else(|| self.version.map(|version| version.to_string())))
    }

    fn identifies_runtime(&self) -> bool {
        self.known.is_some()
    }

    fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }
}

fn read_exact(file: &dyn ReadAt, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(to.saturating_sub(from)).unwrap_or(0)];
    let read = file.read_full(&mut bytes, from)?;
    if read == bytes.len() { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
