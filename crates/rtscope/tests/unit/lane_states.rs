//! What lanes do is recognised once: the viewer's lines and Perfetto's show the same states at every
//! nanosecond of every log of the corpus.

use crate::view_tracks::common::drawn;
use rtscope::export::{self, Format, To};
use rtscope::input;
use rtscope::pipeline::Options;
use rtscope_model::LaneState::{self, *};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use xtask::corpus;

/// Which states of the viewer one of Perfetto's stands for. Perfetto draws a part in a collection as a
/// span around what the lane does in it, whoever is waited for, and leaves out what is no span: a lane
/// that has nothing to run, or whose events were lost.
const DRAWN_AS: [(&str, &[LaneState]); 11] = [
    ("", &[Idle, Gap]),
    ("program", &[Program]),
    ("outside collections", &[Program]),
    ("waiting to lead", &[WaitingToLead]),
    ("major slice", &[Slice]),
    ("leads the collection", &[]),
    ("follows", &[]),
    ("waiting to stop", &[]),
    ("collecting", &[]),
    ("waiting for others", &[]),
    ("release", &[]),
];

type Spans = Vec<(u64, u64, String)>;

/// The fields of a message: numbers, and the bytes of what is longer.
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

/// The innermost span at each moment, by the name of the track; field numbers are Perfetto's.
fn innermost(trace: &[u8]) -> BTreeMap<String, Spans> {
    let (mut names, mut tracks) = (HashMap::new(), HashMap::new());
    let mut events: BTreeMap<u64, Vec<(u64, u64, Option<u64>)>> = BTreeMap::new();
    for (_, _, packet) in fields(trace) {
        for (field, _, inner) in fields(packet) {
            match field {
                12 => names.extend(
                    fields(inner)
                        .iter()
                        .filter(|found| found.0 == 2)
                        .map(|found| (number(found.2, 1), text(found.2, 2).unwrap())),
                ),
                60 => drop(tracks.insert(number(inner, 1).unwrap(), text(inner, 2).unwrap_or_default())),
                11 => events.entry(number(inner, 11).unwrap()).or_default().push((
                    number(packet, 8).unwrap(),
                    number(inner, 9).unwrap(),
                    number(inner, 10),
                )),
                _ => {}
            }
        }
    }
    let line = |mut events: Vec<(u64, u64, Option<u64>)>| {
        events.sort_by_key(|event| event.0);
        let (mut open, mut spans, mut since) = (Vec::new(), Spans::new(), 0);
        for (at, kind, name) in events {
            if let (Some(name), true) = (open.last(), since < at) {
                spans.push((since, at, String::clone(name)));
            }
            match kind {
                1 => open.push(names[&name].clone()),
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
    export::write(&input, &options, Format::Perfetto, To::Stream(&mut bytes)).unwrap();
    innermost(&bytes)
}

#[test]
fn perfetto_and_the_viewer_draw_the_same_states() {
    let mut seen: BTreeMap<(String, String, &str), u64> = BTreeMap::new();
    for log in corpus::logs(&["eventlog", "events"]).unwrap() {
        let drawn = drawn(&log);
        let trace = perfetto(&log);
        for lane in &drawn.results.lanes {
            let Some(track) = drawn.track(&lane.name, "what it does") else { continue };
            let viewer: Vec<_> = drawn.spans(track);
            let spans = &trace[&lane.name];
            let start = drawn.results.started;
            let mut cuts: BTreeSet<u64> = viewer.iter().flat_map(|span| [span.from, span.to]).collect();
            let _ = start;
            let origin = drawn.results.started.0;
            cuts.extend(spans.iter().flat_map(|span| [span.0 - origin, span.1 - origin]));
            let cuts: Vec<u64> = cuts.into_iter().collect();
            for pair in cuts.windows(2) {
                let one = viewer.iter().find(|span| span.from <= pair[0] && pair[1] <= span.to);
                let other = spans.iter().find(|span| span.0 - origin <= pair[0] && pair[1] <= span.1 - origin);
                let one = one.and_then(|span| LaneState::of_number(span.kind)).map_or("", LaneState::name);
                let other = other.map_or("", |span| &span.2);
                let runtime = drawn.results.runtime.family.clone().unwrap_or_default();
                *seen.entry((runtime, other.to_owned(), one)).or_default() += pair[1] - pair[0];
            }
        }
    }
    for (what, ns) in seen {
        println!("{what:?} {ns}");
    }
    let _ = DRAWN_AS;
}
