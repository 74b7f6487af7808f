//! Any bytes as levels of detail: refused, or read in ordered and bounded tiles. And any bytes as spans
//! and values to write: reading returns what was accepted.

use rtscope_levels::{Form, Item, LEVELS, Point, Reader, Span, TILE_ITEMS_MAX, Writer, bin_ns, tile_at};
use std::sync::Arc;

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    if let Ok(reader) = open(bytes.to_vec()) {
        for track in reader.tracks().take(16) {
            for level in 0..reader.top() + 2 {
                let places = [0, track.from, track.from / 2 + track.to / 2, track.to, u64::MAX];
                places.iter().for_each(|at| tile(&reader, track.id, track.form, level, tile_at(level, *at)));
            }
        }
    }
    written(bytes);
}

fn open(bytes: Vec<u8>) -> Result<Reader, rtscope_levels::LevelsError> {
    let length = bytes.len() as u64;
    Reader::open(Arc::new(bytes), length)
}

fn tile(reader: &Reader, track: u32, form: Form, level: u8, tile: u64) {
    let spans = reader.items(track, level, tile);
    let values = reader.points(track, level, tile);
    assert!(spans.is_err() || values.is_err(), "a track has both forms");
    let outside = level > reader.top();
    assert!(!outside || (spans.is_err() && values.is_err()));
    if let Ok(items) = spans {
        assert!(form == Form::Spans && items.len() <= TILE_ITEMS_MAX, "{} items", items.len());
        assert!(items.is_sorted_by_key(|item| item.from));
        assert!(items.iter().all(|item| item.from < item.to && item.covered_ns <= item.to - item.from));
    }
    if let Ok(ranges) = values {
        assert!(form == Form::Values && ranges.len() <= 1_025, "{} ranges", ranges.len());
        assert!(ranges.is_sorted_by_key(|range| range.from));
        assert!(ranges.iter().all(|range| range.min <= range.last && range.last <= range.max));
    }
}

/// Nine bytes per span or value: gap and length as mantissa and shift, kind, detail.
fn written(bytes: &[u8]) {
    let Ok(mut writer) = Writer::new(Vec::new()) else { return };
    let (mut at, mut spans) = (0u64, 0u64);
    for step in bytes.as_chunks::<9>().0 {
        let [gap, gap_shift, length, length_shift, kind, detail, track, form, back] = step.map(u64::from);
        let from = at.saturating_add(gap << (gap_shift % 40)).saturating_sub(back);
        let to = from.saturating_add(length << (length_shift % 40));
        if form.is_multiple_of(4) {
            let point = Point { at: from, value: length as i64 - gap as i64 };
            assert!(writer.point(2 + track as u32 % 2, point).is_ok());
            continue;
        }
        let before = writer.counts().spans;
        let span = Span { from, to, kind: kind as u16 % 64, detail: detail as u32 };
        assert!(writer.spans(track as u32 % 2, span).is_ok());
        spans += 1;
        if writer.counts().spans > before {
            // How much of it is left is not known here; its end is.
            at = to.max(at);
        }
    }
    let counts = writer.counts();
    assert_eq!(counts.spans + counts.dropped, spans);
    let Ok(reader) = writer.finish(bytes).map_err(drop).and_then(|bytes| open(bytes).map_err(drop)) else {
        panic!("what was written cannot be read");
    };
    assert!(reader.meta() == bytes && reader.counts() == counts && reader.top() < LEVELS);
    for track in reader.tracks() {
        if track.form == Form::Values {
            assert!((0..=reader.top()).all(|level| reader.points(track.id, level, 0).is_ok()));
            continue;
        }
        // The widest tile contains everything, however often it was merged.
        let whole = reader.items(track.id, reader.top(), 0).expect("was written");
        let count: u64 = whole.iter().map(|item| u64::from(item.count)).sum();
        assert_eq!(count, track.count);
        let covered = |items: &[Item], from, to| items.iter().map(|item| item.covered_in(from, to)).sum::<u64>();
        for level in 0..reader.top() {
            let width = bin_ns(level) << 10;
            let tile = tile_at(level, track.from);
            let (from, to) = (tile * width, (tile * width).saturating_add(width));
            let read = reader.items(track.id, level, tile).expect("was written");
            let raw = (tile_at(0, from)..=tile_at(0, to - 1)).take(65).collect::<Vec<_>>();
            if raw.len() <= 64 {
                let of = |tile: &u64| {
                    let items = reader.items(track.id, 0, *tile).expect("was written");
                    covered(&items, tile << 20, (tile + 1) << 20)
                };
                assert_eq!(covered(&read, from, to), raw.iter().map(of).sum::<u64>());
            }
        }
    }
}
