//! `report --pauses`: one JSON line per pause, written as pauses come.

use rtscope_analyze::kernel::called;
use rtscope_analyze::results::{BlamedPause, HeldUp};
use rtscope_model::{Cause, CausePiece, Confidence, LaneId, NameId, Names, Pause, Symbols, Tid, Time};
use serde::Serialize;
use std::io::{self, Write};

/// Writes the line of a pause to `out`, which should be buffered; `names` resolves which process took a CPU,
/// `symbols` where the code was.
pub fn write(out: &mut impl Write, blamed: &BlamedPause, names: &Names, symbols: &Symbols) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &PauseLine::new(blamed, names, symbols))?;
    out.write_all(b"\n")
}

/// A pause as its line holds it; a page embeds the same form.
#[derive(Serialize)]
pub(super) struct PauseLine<'p> {
    #[serde(flatten)]
    pause: &'p Pause,
    held_up_by: Option<HeldUpLine<'p>>,
    causes: Vec<CauseLine<'p>>,
}

#[derive(Serialize)]
struct HeldUpLine<'p> {
    #[serde(flatten)]
    held: HeldUp,
    who: Option<&'p str>,
    code: Option<&'p str>,
}

#[derive(Serialize)]
struct CauseLine<'p> {
    cause: Cause,
    who: Option<&'p str>,
    who_pid: Option<u32>,
    code: Option<&'p str>,
    neighbour: bool,
    lane: Option<LaneId>,
    tid: Option<Tid>,
    from_ns: Time,
    to_ns: Time,
    confidence: Confidence,
}

impl<'p> PauseLine<'p> {
    pub(super) fn new(blamed: &'p BlamedPause, names: &'p Names, symbols: &'p Symbols) -> Self {
        let name = |id: Option<NameId>| id.map(|name| names.get(name)).filter(|name| !name.is_empty());
        let cause = |piece: &CausePiece| CauseLine {
            cause: piece.cause,
            who: name(piece.who),
            who_pid: piece.who_pid,
            code: piece.code.map(|code| called(symbols.get(code))),
            neighbour: piece.neighbour,
            lane: piece.lane,
            tid: piece.tid,
            from_ns: piece.from,
            to_ns: piece.to,
            confidence: piece.confidence,
        };
        let held_up_by = blamed.held_up_by().map(|held| HeldUpLine {
            held,
            who: name(held.who),
            code: held.code.map(|code| called(symbols.get(code))),
        });
        PauseLine { pause: &blamed.pause, held_up_by, causes: blamed.causes.iter().map(cause).collect() }
    }
}
