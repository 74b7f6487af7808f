//! A pause as nested spans: time to stop, collection and release, with the causes of its
//! waits inside. Owns that layout, and that spans of pauses never overlap.

use crate::{Tables, word};
use rtscope_model::{Cause, CausePiece, LaneId, NameId, Pause, PauseKind, PauseQuality, Time};
use std::borrow::Cow;

/// A part of a pause; parts come outermost first and in order.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// 0 the pause, 1 its phases, 2 causes.
    pub depth: u32,
    /// First moment.
    pub from: Time,
    /// Last moment.
    pub to: Time,
    /// What it is.
    pub what: What<'a>,
}

/// What a part of a pause is.
#[derive(Copy, Clone, Debug)]
pub enum What<'a> {
    /// All of it.
    Whole(&'a Pause),
    /// From the request until the last lane has stopped.
    Stop,
    /// Until the work is done.
    Collect,
    /// Until the last lane runs again.
    Release,
    /// A lane was waited for, for a reason.
    Cause(&'a CausePiece),
}

/// What the name of a part goes by: equal keys have equal names.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Debug)]
pub enum Key {
    /// A pause of a kind.
    Whole(PauseKind),
    /// One of the three parts that all pauses have.
    Part(u8),
    /// A cause and who took the CPU.
    Cause(Cause, Option<NameId>),
}

impl What<'_> {
    /// What its name goes by.
    pub fn key(&self) -> Key {
        match self {
            What::Whole(pause) => Key::Whole(pause.kind),
            What::Stop => Key::Part(0),
            What::Collect => Key::Part(1),
            What::Release => Key::Part(2),
            What::Cause(piece) => Key::Cause(piece.cause, piece.who),
        }
    }

    /// What it is called; a cause by itself and by who took the CPU.
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

/// The parts of `pause` behind `after`, where the pause before ended. Parts without length
/// are left out, but for the pause itself.
pub fn parts<'a>(pause: &'a Pause, causes: &'a [CausePiece], after: Time) -> Vec<Part<'a>> {
    let end = pause.released.max(after);
    let clip = |at: Time| at.max(after).min(end);
    let begin = clip(pause.begin());
    let mut parts = Vec::with_capacity(4 + causes.len());
    parts.push(Part { depth: 0, from: begin, to: end, what: What::Whole(pause) });
    let stopped = clip(pause.stopped).max(begin);
    let collected = clip(pause.collected).max(stopped);
    let phases = [(begin, stopped, What::Stop), (stopped, collected, What::Collect), (collected, end, What::Release)];
    for (from, to, what) in phases {
        if from >= to {
            continue;
        }
        parts.push(Part { depth: 1, from, to, what });
        let mut now = from;
        let mut inside: Vec<&CausePiece> = causes.iter().filter(|piece| piece.from < to && piece.to > from).collect();
        inside.sort_by_key(|piece| piece.from);
        for piece in inside {
            let (first, last) = (piece.from.max(now), piece.to.min(to));
            if first < last {
                parts.push(Part { depth: 2, from: first, to: last, what: What::Cause(piece) });
                now = last;
            }
        }
    }
    parts
}

/// Beginnings and ends of parts, in the order in which they nest.
pub enum Edge<'p, 'a> {
    /// A part begins.
    Open(&'p Part<'a>),
    /// The innermost one ends.
    Close(&'p Part<'a>),
}

/// The edges of [`parts`].
pub fn edges<'p, 'a>(parts: &'p [Part<'a>]) -> Vec<Edge<'p, 'a>> {
    let mut edges = Vec::with_capacity(parts.len() * 2);
    let mut open: Vec<&Part<'a>> = Vec::with_capacity(3);
    for part in parts {
        while let Some(inner) = open.pop_if(|inner| inner.depth >= part.depth) {
            edges.push(Edge::Close(inner));
        }
        edges.push(Edge::Open(part));
        open.push(part);
    }
    edges.extend(open.into_iter().rev().map(Edge::Close));
    edges
}

/// The arrows of a pause: from the request to each arrival that came after it.
pub fn arrivals(pause: &Pause) -> Vec<(LaneId, Time)> {
    let Some(requested) = pause.requested else { return Vec::new() };
    let followers = pause.lanes.iter().filter(|part| pause.leader != Some(part.lane));
    followers.filter_map(|part| Some((part.lane, part.arrived.filter(|at| *at >= requested)?))).collect()
}

/// What is told of a pause beside its times: name and value.
pub fn facts(pause: &Pause) -> Vec<(&'static str, Fact<'_>)> {
    let mut facts = Vec::with_capacity(8);
    facts.push(("id", Fact::Number(pause.id)));
    facts.extend(pause.leader.map(|lane| ("leader", Fact::Number(lane.0.into()))));
    facts.extend(pause.straggler.map(|lane| ("straggler", Fact::Number(lane.0.into()))));
    facts.extend(pause.generation.map(|generation| ("generation", Fact::Number(generation.into()))));
    facts.extend(pause.copied_bytes.map(|bytes| ("copied_bytes", Fact::Number(bytes))));
    facts.extend(pause.gc_threads.map(|threads| ("gc_threads", Fact::Number(threads.into()))));
    if pause.quality == PauseQuality::Partial {
        facts.push(("quality", Fact::Text("partial".into())));
    }
    facts
}

/// What is told of a cause beside its name.
pub fn facts_of_cause<'a>(piece: &CausePiece, tables: Tables<'a>) -> Vec<(&'static str, Fact<'a>)> {
    let mut facts = Vec::with_capacity(5);
    facts.extend(piece.lane.map(|lane| ("lane", Fact::Number(lane.0.into()))));
    facts.extend(piece.tid.map(|tid| ("tid", Fact::Number(tid.0.into()))));
    facts.extend(piece.who_pid.map(|pid| ("who_pid", Fact::Number(pid.into()))));
    facts.extend(piece.code.map(|code| ("code", Fact::Text(tables.symbols.get(code).name.as_str().into()))));
    facts.push(("confidence", Fact::Text(piece.confidence.word().into())));
    facts
}

/// A value of a fact.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum Fact<'a> {
    /// A number.
    Number(u64),
    /// A text.
    Text(Cow<'a, str>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{pause, tables};

    /// `depth name from-to`, one for each part.
    fn words(pause: &Pause, causes: &[CausePiece], after: u64) -> Vec<String> {
        let parts = parts(pause, causes, Time(after));
        assert_eq!(edges(&parts).len(), parts.len() * 2);
        let word = |part: &Part<'_>| {
            let name = tables(|tables| part.what.name(tables));
            format!("{} {name} {}-{}", part.depth, part.from.0, part.to.0)
        };
        parts.iter().map(word).collect()
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
    fn a_pause_begins_behind_the_one_before() {
        let (pause, causes) = pause(0, 100, 150, 260, 270);
        let expected = ["0 minor pause 200-270", "1 collect 200-260", "1 release 260-270"];
        assert_eq!(words(&pause, &causes, 200), expected);
        assert_eq!(words(&pause, &causes, 400), ["0 minor pause 400-400"]);
    }

    #[test]
    fn an_arrival_before_the_request_has_no_arrow() {
        let (mut pause, _) = pause(0, 100, 150, 260, 270);
        assert_eq!(arrivals(&pause), [(LaneId(1), Time(150))]);
        pause.lanes[1].arrived = Some(Time(99));
        assert!(arrivals(&pause).is_empty());
    }
}
