//! `report --pauses`: one JSON line per pause, written as pauses come. Holds
//! nothing between lines.

use rtscope_analyze::kernel::code::called;
use rtscope_analyze::results::BlamedPause;
use rtscope_model::pause::{PauseKind, PauseMode};
use rtscope_model::{Cause, CausePiece, Confidence, LanePause, Names, Pause, PauseQuality, ReleaseBasis, Symbols};
use serde::Serialize;
use std::io::{self, Write};

/// Writes pauses to `out`, one line each.
pub struct PauseLines<W> {
    out: W,
}

impl<W: Write> PauseLines<W> {
    /// Lines go to `out`; give it a buffer.
    pub fn new(out: W) -> Self {
        PauseLines { out }
    }

    /// Writes one pause; `names` resolves who took CPUs, `symbols` where the code was.
    pub fn write(&mut self, blamed: &BlamedPause, names: &Names, symbols: &Symbols) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, &PauseLine::new(blamed, names, symbols))?;
        self.out.write_all(b"\n")
    }

    /// Flushes and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A pause as its line holds it; also the form in which a page embeds it.
#[derive(Serialize)]
pub(super) struct PauseLine<'p> {
    id: u64,
    kind: PauseKind,
    mode: PauseMode,
    generation: Option<u16>,
    leader: Option<u16>,
    requested_ns: Option<u64>,
    stopped_ns: u64,
    collected_ns: u64,
    released_ns: u64,
    release_basis: ReleaseBasis,
    straggler: Option<u16>,
    quality: PauseQuality,
    copied_bytes: Option<u64>,
    gc_threads: Option<u32>,
    lanes: Vec<LaneLine>,
    causes: Vec<CauseLine<'p>>,
}

#[derive(Serialize)]
struct LaneLine {
    lane: u16,
    tid: Option<u32>,
    arrived_ns: Option<u64>,
    work_begin_ns: Option<u64>,
    work_end_ns: Option<u64>,
    work_ns: u64,
    left_ns: Option<u64>,
}

#[derive(Serialize)]
struct CauseLine<'p> {
    cause: Cause,
    who: Option<&'p str>,
    who_pid: Option<u32>,
    code: Option<&'p str>,
    neighbour: bool,
    lane: Option<u16>,
    tid: Option<u32>,
    from_ns: u64,
    to_ns: u64,
    confidence: Confidence,
}

impl<'p> PauseLine<'p> {
    pub(super) fn new(blamed: &'p BlamedPause, names: &'p Names, symbols: &'p Symbols) -> Self {
        let pause: &Pause = &blamed.pause;
        PauseLine {
            id: pause.id,
            kind: pause.kind,
            mode: pause.mode,
            generation: pause.generation,
            leader: pause.leader.map(|lane| lane.0),
            requested_ns: pause.requested.map(|time| time.0),
            stopped_ns: pause.stopped.0,
            collected_ns: pause.collected.0,
            released_ns: pause.released.0,
            release_basis: pause.release_basis,
            straggler: pause.straggler.map(|lane| lane.0),
            quality: pause.quality,
            copied_bytes: pause.copied_bytes,
            gc_threads: pause.gc_threads,
            lanes: pause.lanes.iter().map(LaneLine::new).collect(),
            causes: blamed.causes.iter().map(|piece| CauseLine::new(piece, names, symbols)).collect(),
        }
    }
}

impl LaneLine {
    fn new(part: &LanePause) -> Self {
        LaneLine {
            lane: part.lane.0,
            tid: part.tid.map(|tid| tid.0),
            arrived_ns: part.arrived.map(|time| time.0),
            work_begin_ns: part.work_begin.map(|time| time.0),
            work_end_ns: part.work_end.map(|time| time.0),
            work_ns: part.work_ns,
            left_ns: part.left.map(|time| time.0),
        }
    }
}

impl<'p> CauseLine<'p> {
    fn new(piece: &CausePiece, names: &'p Names, symbols: &'p Symbols) -> Self {
        CauseLine {
            cause: piece.cause,
            who: piece.who.map(|name| names.get(name)).filter(|name| !name.is_empty()),
            who_pid: piece.who_pid,
            code: piece.code.map(|code| called(symbols.get(code))),
            neighbour: piece.neighbour,
            lane: piece.lane.map(|lane| lane.0),
            tid: piece.tid.map(|tid| tid.0),
            from_ns: piece.from.0,
            to_ns: piece.to.0,
            confidence: piece.confidence,
        }
    }
}
