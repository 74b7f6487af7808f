//! States of lanes are recognised in one place: the viewer's lines and Perfetto's show the same states at every
//! nanosecond of every log of the corpus.

use crate::view_tracks::common::drawn;
use rtscope::export::{self, ExportFormat, To};
use rtscope_model::LaneState::{self, *};
use rtscope_read::input;
use rtscope_read::pipeline::Options;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use xtask::corpus;

/// Name of Perfetto's innermost span while the viewer shows `state`. A lane's part in a collection is a span
/// around what it does in it: on its own, it means that the lane waits for others. Nothing is drawn for a lane
/// with nothing to run, or whose events were lost.
fn is_drawn_as(state: LaneState, span: Option<&str>) -> bool {
    match state {
        Idle | Gap => span.is_none(),
        Program => matches!(span, Some("program" | "outside collections")),
        WaitingForOthers => matches!(span, Some("collection" | "collection, leading")),
        state => span == Some(state.short_name()),
    }
}

type Spans = Vec<(u64, u64, String)>;

/// The fields of a message: numbers, and the bytes of longer ones.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let (number, long) = match tag & 7 {
            0 => (varint(&mut bytes), &bytes[..0]),
            kind => {
                let length = if kind == 1 { 8 } else { varint(&mut bytes) as usize };
                let (long, rest) = bytes.split_at(length);
                bytes = rest;
                (0, long)
            }
        };
        fields.push((tag >> 3, number, long));
    }
    fields
}

fn number(message: &[u8], field: u64) -> Option<u64> {
    fields(message).iter().find(|found| found.0 == field).map(|found| found.1)
}

fn text(message: &[u8], field: u64) -> Option<String> {
    let long = fields(message).iter().find(|found| found.0 == field)?.2;
    Some(String::from_utf8(long.to_vec()).unwrap())
}

/// What packets of a sequence refer to: names, the track, the time of the last packet.
#[derive(Default)]
struct Sequence {
    names: HashMap<Option<u64>, String>,
    track: Option<u64>,
    now: u64,
}

impl Sequence {
    fn time(&mut self, stamp: u64, absolute: bool) -> u64 {
        if absolute {
            return stamp;
        }
        self.now += stamp;
        self.now
    }
}

/// The innermost span at each moment, by track name; field numbers are Perfetto's.
fn innermost(trace: &[u8]) -> BTreeMap<String, Spans> {
    let (mut sequences, mut tracks) = (HashMap::<_, Sequence>::new(), HashMap::new());
    let mut events: BTreeMap<u64, Vec<(u64, u64, Option<String>)>> = BTreeMap::new();
    for (_, _, packet) in fields(trace) {
        let sequence = sequences.entry(number(packet, 10)).or_default();
        for (field, _, inner) in fields(packet) {
            let all = |of| fields(inner).into_iter().filter(move |found| found.0 == of).map(|found| found.2);
            match field {
                12 => sequence.names.extend(all(2).map(|name| (number(name, 1), text(name, 2).unwrap()))),
                59 => sequence.track = all(11).next().and_then(|event| number(event, 11)),
                6 => sequence.now = all(1).next_back().and_then(|clock| number(clock, 2)).unwrap(),
                60 => drop(tracks.insert(number(inner, 1).unwrap(), text(inner, 2).unwrap_or_default())),
                11 => {
                    let at = sequence.time(number(packet, 8).unwrap(), number(packet, 58).is_some());
                    let name = number(inner, 10).map(|iid| sequence.names[&Some(iid)].clone());
                    let track = number(inner, 11).or(sequence.track).unwrap();
                    events.entry(track).or_default().push((at, number(inner, 9).unwrap(), name));
                }
                _ => {}
            }
        }
    }
    let line = |mut events: Vec<(u64, u64, Option<String>)>| {
        events.sort_by_key(|event| event.0);
        let (mut open, mut spans, mut since) = (Vec::new(), Spans::new(), 0);
        for (at, kind, name) in events {
            if let (Some(name), true) = (open.last(), since < at) {
                spans.push((since, at, String::clone(name)));
            }
            match kind {
                1 => open.push(name.unwrap()),
                2 => drop(open.pop()),
                _ => {}
            }
            since = at;
        }
        spans
    };
    events.into_iter().filter_map(|(track, events)| Some((tracks.get(&track)?.clone(), line(events)))).collect()
}

fn perfetto(log: &Path) -> BTreeMap<String, Spans> {
    let input = input::open(log, None).unwrap();
    let mut bytes = Vec::new();
    let options = Options { threads: 2, ..Options::new(log) };
    export::write(&input, &options, ExportFormat::Perfetto, To::Stream(&mut bytes)).unwrap().unwrap();
    innermost(&bytes)
}

#[test]
fn perfetto_and_the_viewer_draw_the_same_states() {
    let mut compared = 0;
    for log in corpus::logs(&["eventlog", "events"]).unwrap() {
        let name = log.display();
        let drawn = drawn(&log);
        let trace = perfetto(&log);
        let origin = drawn.results.started.0;
        for lane in &drawn.results.lanes {
            let Some(track) = drawn.track(&lane.name, "what it does") else { continue };
            let mut spans = trace.get(&lane.name).map_or(&[][..], Vec::as_slice).iter().peekable();
            for item in drawn.spans(track) {
                let state = LaneState::of_number(item.kind).expect("a state");
                let (mut at, end) = (origin + item.from, origin + item.to);
                // Piece by piece: what Perfetto draws may be cut where the viewer's state continues.
                while at < end {
                    while spans.next_if(|span| span.1 <= at).is_some() {}
                    let next = spans.peek();
                    let (span, until) = match next {
                        Some(span) if span.0 <= at => (Some(span.2.as_str()), span.1),
                        Some(span) => (None, span.0),
                        None => (None, end),
                    };
                    let until = until.min(end);
                    assert!(
                        is_drawn_as(state, span),
                        "{name}, {}: {state:?} from {at} to {until} as {span:?}",
                        lane.name
                    );
                    compared += until - at;
                    at = until;
                }
            }
        }
    }
    assert!(compared > 10_000_000_000, "{compared} ns of lanes");
}
