//! Rings that are read while their program writes them: the frames that a recorder appends to a
//! stream, or that are taken by hand. Owns cutting a stream between frames, and waiting until the
//! version that wrote them is known; refuses to keep what was given out.

use super::captured::{HEAD_WORDS, kind, whole_frames};
use super::rings::facts;
use super::{RingStream, Rings, Version};
use crate::log::{GrowingLog, LogFacts, Piece};
use crate::source::ReadAt;
use rtscope_model::{Classes, ClockMap, Event, Loss};
use std::io;
use std::sync::Arc;

/// Frames that wait until the version is known.
const UNTOLD_MAX: usize = 16 << 20;
/// Head of a stream of rings.
const HEAD: usize = 8 * HEAD_WORDS;

/// See the module.
#[derive(Default)]
pub struct GrowingRings {
    stream: Option<Box<RingStream>>,
    version: Option<Version>,
    told: Option<String>,
    untold: Vec<u8>,
    /// Frames, each time after a head, of which no events were made.
    portions: Vec<Vec<u8>>,
    /// It begins in the middle: what was before is not lost.
    joined: bool,
    /// Why they cannot be read.
    failed: Option<String>,
    /// The head of the file that is read, at first with the names that were in it.
    head: Vec<u8>,
    /// Where the next frame of the file starts.
    at: u64,
}

impl GrowingRings {
    /// Rings whose frames are taken by hand. `version` is what the caller knows of it.
    pub fn by_hand(version: Option<Version>) -> GrowingRings {
        GrowingRings { version, ..GrowingRings::default() }
    }

    /// Those that a recorder writes to `file`, from the first event on or from the end.
    pub(super) fn of_file(file: &dyn ReadAt, version: Option<Version>, from_start: bool) -> io::Result<GrowingRings> {
        let mut head = read_exact(file, 0, HEAD)?;
        let mut at = HEAD as u64;
        if !from_start {
            let mut names = Vec::new();
            at = whole_frames(file, at, u64::MAX, &mut |what, from, to| {
                if what == kind::NAME {
                    names.push((from, to));
                }
            })?;
            for (from, to) in names {
                head.extend(read_exact(file, from, (to - from) as usize)?);
            }
        }
        Ok(GrowingRings { version, joined: !from_start, head, at, ..GrowingRings::default() })
    }

    fn take(&mut self, bytes: Vec<u8>, classes: Classes, into: &mut Vec<Event>) {
        if bytes.len() <= HEAD || self.failed.is_some() {
            return;
        }
        match &mut self.stream {
            Some(stream) => match stream.go_on(Arc::new(bytes)) {
                Ok(()) => into.extend(stream),
                Err(error) => self.failed = Some(error.to_string()),
            },
            None => self.begin(&bytes, classes, into),
        }
    }

    fn begin(&mut self, bytes: &[u8], classes: Classes, into: &mut Vec<Event>) {
        let skip = if self.untold.is_empty() { 0 } else { HEAD };
        self.untold.extend_from_slice(bytes.get(skip..).unwrap_or_default());
        match Rings::open(Arc::new(self.untold.clone()), self.version) {
            Ok(rings) => {
                self.told = Some(rings.version().to_string());
                let mut stream = Box::new(rings.stream(classes));
                into.extend(&mut stream);
                if self.joined {
                    stream.take_losses();
                }
                (self.stream, self.untold) = (Some(stream), Vec::new());
            }
            Err(error) if self.untold.len() > UNTOLD_MAX || self.version.is_some() => {
                self.failed = Some(error.to_string());
                self.untold = Vec::new();
            }
            Err(_) => {}
        }
    }
}

impl GrowingLog for GrowingRings {
    fn read(&mut self, file: &dyn ReadAt, most: usize) -> io::Result<bool> {
        let end = whole_frames(file, self.at, most as u64, &mut |_, _, _| {})?;
        let frames = read_exact(file, self.at, usize::try_from(end - self.at).unwrap_or(0));
        let kept = self.head.get(..HEAD).unwrap_or_default().to_vec();
        let mut portion = std::mem::replace(&mut self.head, kept);
        portion.extend(frames?);
        self.at = end;
        self.portions.push(portion);
        Ok(false)
    }

    fn add(&mut self, piece: Piece<'_>) {
        self.portions.push(piece.bytes.to_vec());
    }

    fn events(&mut self, classes: Classes, _clock: ClockMap) -> Vec<Event> {
        let mut events = Vec::new();
        for portion in std::mem::take(&mut self.portions) {
            self.take(portion, classes, &mut events);
        }
        events
    }

    fn take_losses(&mut self, _clock: ClockMap) -> Vec<Loss> {
        self.stream.as_mut().map_or(Vec::new(), |stream| stream.take_losses())
    }

    fn facts(&self) -> LogFacts {
        facts(self.told.clone().or_else(|| self.version.map(|version| version.to_string())))
    }

    fn tells(&self) -> bool {
        self.told.is_some()
    }

    fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }
}

fn read_exact(file: &dyn ReadAt, at: u64, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    let read = file.read_full(&mut bytes, at)?;
    if read == count { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
