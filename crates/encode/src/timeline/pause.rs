//! A pause as nested spans: time to stop, collection and release, with the causes of its waits inside. Owns that
//! layout; spans of pauses never overlap.

use super::fact::{About, Fact};
use crate::{Tables, word};
use rtscope_model::{Cause, CausePiece, LaneId, NameId, Pause, PauseKind, PauseQuality, Time};
use std::io;

/// A part of a pause.
#[derive(Copy, Clone, Debug)]
pub struct PausePart<'a> {
    pub from: Time,
    pub to: Time,
    pub what: What<'a>,
}

/// The kind of a pause part.
#[derive(Copy, Clone, Debug)]
pub enum What<'a> {
    /// The whole pause.
    Whole(&'a Pause),
    /// From the request until the last lane has stopped.
    Stop,
    /// From then until the work is done.
    Collect,
    /// From then until the last lane runs again.
    Release,
    /// A wait for a lane, with its cause.
    Cause(&'a CausePiece),
}

/// Key of a part's name: equal keys have equal names.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Debug)]
pub enum Key {
    /// A whole pause of this kind.
    Whole(PauseKind),
    /// One of the three parts of every pause.
    Part(u8),
    /// A cause, and the process that took the CPU.
    Cause(Cause, Option<NameId>),
}

impl<'a> What<'a> {
    /// Passes each known fact of a pause or cause to `emit`, except times and names.
    pub fn each_fact(self, tables: Tables<'a>, mut emit: impl FnMut(About, Fact<'a>)) {
        match self {
            What::Whole(pause) => {
                let numbers = [
                    (About::Id, Some(pause.id)),
                    (About::Leader, pause.leader.map(|lane| lane.0.into())),
                    (About::Straggler, pause.straggler.map(|lane| lane.0.into())),
                    (About::Generation, pause.generation.map(u64::from)),
                    (About::CopiedBytes, pause.copied_bytes),
                    (About::GcThreads, pause.gc_threads.map(u64::from)),
                ];
                each_number(numbers, &mut emit);
                if pause.quality == PauseQuality::Partial {
                    emit(About::Quality, Fact::Text("partial".into()));
                }
            }
            What::Cause(piece) => {
                let numbers = [
                    (About::Lane, piece.lane.map(|lane| lane.0.into())),
                    (About::Tid, piece.tid.map(|tid| tid.0.into())),
                    (About::WhoPid, piece.who_pid.map(u64::from)),
                ];
                each_number(numbers, &mut emit);
                if let Some(code) = piece.code {
                    emit(About::Code, Fact::Text(tables.symbols.get(code).name.as_str().into()));
                }
                emit(About::Confidence, Fact::Text(piece.confidence.word().into()));
            }
            What::Stop | What::Collect | What::Release => {}
        }
    }

    /// The facts as a list of names and values.
    pub fn facts(self, tables: Tables<'a>) -> Vec<(&'static str, Fact<'a>)> {
        let mut facts = Vec::new();
        self.each_fact(tables, |about, fact| facts.push((about.word(), fact)));
        facts
    }

    pub fn key(&self) -> Key {
        match self {
            What::Whole(pause) => Key::Whole(pause.kind),
            What::Stop => Key::Part(0),
            What::Collect => Key::Part(1),
            What::Release => Key::Part(2),
            What::Cause(piece) => Key::Cause(piece.cause, piece.who),
        }
    }

    /// Its name; a cause is named by itself and by the process that took the CPU.
    pub fn name(&self, tables: Tables<'_>) -> String {
        match self {
            What::Whole(pause) => format!("{} pause", word(&pause.kind)),
            What::Stop => "time to stop".to_owned(),
            What::Collect => "collect".to_owned(),
            What::Release => "release".to_owned(),
            What::Cause(piece) => {
                let who = piece.who.map(|who| tables.kernel.get(who)).filter(|who| !who.is_empty());
                who.map_or_else(|| word(&piece.cause), |who| format!("{} by {who}", word(&piece.cause)))
            }
        }
    }
}

/// Passes the known numbers to `emit`.
fn each_number<'a, const N: usize>(numbers: [(About, Option<u64>); N], emit: &mut impl FnMut(About, Fact<'a>)) {
    let known = numbers.into_iter().filter_map(|(about, number)| Some((about, number?)));
    known.for_each(|(about, number)| emit(about, Fact::Number(number)));
}

/// The begin or the end of a part.
#[derive(Copy, Clone, Debug)]
pub enum Edge<'a> {
    /// The part begins.
    Open(PausePart<'a>),
    /// The part, which is the innermost one, ends.
    Close(PausePart<'a>),
}

/// Passes the edges of the parts of `pause` to `draw`, in nesting order. Parts begin at `after`, the end of the pause
/// before, at the earliest. Parts without length are left out, except the pause itself.
pub fn edges(
    pause: &Pause,
    causes: &[CausePiece],
    after: Time,
    mut draw: impl FnMut(Edge<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let sorted;
    let causes = if causes.is_sorted_by_key(|piece| piece.from) {
        causes
    } else {
        let mut copy = causes.to_vec();
        copy.sort_by_key(|piece| piece.from);
        sorted = copy;
        &sorted
    };
    let end = pause.released.max(after);
    let clip = |at: Time| at.max(after).min(end);
    let begin = clip(pause.begin());
    let stopped = clip(pause.stopped).max(begin);
    let collected = clip(pause.collected).max(stopped);
    let whole = PausePart { from: begin, to: end, what: What::Whole(pause) };
    draw(Edge::Open(whole))?;
    let phases = [(begin, stopped, What::Stop), (stopped, collected, What::Collect), (collected, end, What::Release)];
    for (from, to, what) in phases.into_iter().filter(|(from, to, _)| from < to) {
        draw(Edge::Open(PausePart { from, to, what }))?;
        let mut now = from;
        for piece in causes.iter().filter(|piece| piece.from < to && piece.to > from) {
            let cause = PausePart { from: piece.from.max(now), to: piece.to.min(to), what: What::Cause(piece) };
            if cause.from < cause.to {
                draw(Edge::Open(cause))?;
                draw(Edge::Close(cause))?;
                now = cause.to;
            }
        }
        draw(Edge::Close(PausePart { from, to, what }))?;
    }
    draw(Edge::Close(whole))
}

/// The arrows of a pause: from the request to each later arrival.
pub fn arrivals(pause: &Pause) -> impl Iterator<Item = (LaneId, Time)> {
    let followers = pause.lanes.iter().filter(|part| pause.leader != Some(part.lane));
    followers.filter_map(|part| {
        let requested = pause.requested?;
        Some((part.lane, part.arrived.filter(|at| *at >= requested)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{pause, tables};

    /// `depth name from-to`, one for each part.
    fn words(pause: &Pause, causes: &[CausePiece], after: u64) -> Vec<String> {
        let (mut open, mut words) = (Vec::new(), Vec::new());
        edges(pause, causes, Time(after), |edge| {
            let (Edge::Open(part) | Edge::Close(part)) = edge;
            let name = tables(|tables| part.what.name(tables));
            let label = format!("{name} {}-{}", part.from.0, part.to.0);
            match edge {
                Edge::Open(_) => {
                    words.push(format!("{} {label}", open.len()));
                    open.push(label);
                }
                Edge::Close(_) => assert_eq!(open.pop(), Some(label)),
            }
            Ok(())
        })
        .unwrap();
        assert!(open.is_empty(), "{open:?}");
        words
    }

    #[test]
    fn causes_lie_in_the_part_that_they_are_of() {
        let (pause, causes) = pause(0, 100, 150, 260, 270);
        let late = CausePiece { from: Time(255), to: Time(300), ..causes[0] };
        let expected = [
            "0 minor pause 100-270",
            "1 time to stop 100-150",
            "2 preempted by thief \"7\" 100-150",
            "1 collect 150-260",
            "2 preempted by thief \"7\" 255-260",
            "1 release 260-270",
            "2 preempted by thief \"7\" 260-270",
        ];
        assert_eq!(words(&pause, &[late, causes[0]], 0), expected);
    }

    #[test]
    fn a_pause_begins_after_the_one_before() {
        let (pause, causes) = pause(0, 100, 150, 260, 270);
        let expected = ["0 minor pause 200-270", "1 collect 200-260", "1 release 260-270"];
        assert_eq!(words(&pause, &causes, 200), expected);
        assert_eq!(words(&pause, &causes, 400), ["0 minor pause 400-400"]);
    }

    #[test]
    fn an_arrival_before_the_request_has_no_arrow() {
        let (mut pause, _) = pause(0, 100, 150, 260, 270);
        assert!(arrivals(&pause).eq([(LaneId(1), Time(150))]));
        pause.lanes[1].arrived = Some(Time(99));
        assert_eq!(arrivals(&pause).count(), 0);
    }
}
