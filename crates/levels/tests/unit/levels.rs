//! What is read from levels is what was written, at every scale: compared with a simple reference.

use proptest::prelude::*;
use rtscope_levels::{
    Item, LEVELS, LevelsError, OTHER, Point, Range, Reader, Span, TILE_ITEMS_MAX, Writer, bin_ns, tile_at, top_level,
};
use std::collections::BTreeMap;
use std::sync::Arc;

fn open(bytes: Vec<u8>) -> Result<Reader, LevelsError> {
    let length = bytes.len() as u64;
    Reader::open(Arc::new(bytes), length)
}

fn written(spans: &[Span]) -> Reader {
    let mut writer = Writer::new(Vec::new()).unwrap();
    spans.iter().for_each(|span| writer.spans(3, *span).unwrap());
    open(writer.finish(b"beside").unwrap()).unwrap()
}

/// Consecutive spans of all lengths; `bits` bounds lengths and gaps.
fn spans(bits: u32, kinds: u16) -> impl Strategy<Value = Vec<Span>> {
    let one = (0..bits, any::<u64>(), 0..bits, any::<u64>(), 0..kinds, 0..5u32, any::<bool>());
    proptest::collection::vec(one, 0..300).prop_map(|steps| {
        let mut at = 0;
        let mut out = Vec::new();
        for (length_bits, length, gap_bits, gap, kind, detail, gapless) in steps {
            let from = at + if gapless { 0 } else { gap & ((1 << gap_bits) - 1) };
            let to = from + 1 + (length & ((1 << length_bits) - 1));
            out.push(Span { from, to, kind, detail });
            at = to;
        }
        out
    })
}

/// The items of a level, computed from the raw spans.
fn plainly(spans: &[Span], level: u8) -> Vec<Item> {
    let mut long = Vec::new();
    let mut bins: BTreeMap<(u64, u16), (Item, u64)> = BTreeMap::new();
    for span in spans {
        let Span { from, to, kind, detail } = *span;
        let whole = Item { from, to, kind, count: 1, covered_ns: to - from, detail };
        if level == 0 || to - from >= bin_ns(level) {
            long.push(whole);
            continue;
        }
        for bin in from / bin_ns(level)..=(to - 1) / bin_ns(level) {
            let (from, to) = (from.max(bin * bin_ns(level)), to.min((bin + 1) * bin_ns(level)));
            let part = Item { from, to, covered_ns: to - from, count: u32::from(from == span.from), ..whole };
            let Some((item, longest)) = bins.get_mut(&(bin, kind)) else {
                bins.insert((bin, kind), (part, whole.covered_ns));
                continue;
            };
            (item.to, item.count) = (to, item.count + part.count);
            item.covered_ns += part.covered_ns;
            if whole.covered_ns > *longest {
                (item.detail, *longest) = (detail, whole.covered_ns);
            }
        }
    }
    long.extend(bins.into_values().map(|(item, _)| item));
    long.sort_by_key(|item| item.from);
    long
}

fn sums(items: &[Item], from: u64, to: u64) -> BTreeMap<u16, u64> {
    let mut sums = BTreeMap::new();
    for item in items.iter().filter(|item| item.from < to && item.to > from) {
        *sums.entry(item.kind).or_default() += item.covered_in(from, to);
    }
    sums
}

/// Some tiles of a level, including the first and the last.
fn tiles(level: u8, end: u64) -> Vec<u64> {
    let last = tile_at(level, end);
    let mut tiles: Vec<u64> = (0..=last.min(20)).chain([last / 2, last.saturating_sub(1), last]).collect();
    tiles.sort_unstable();
    tiles.dedup();
    tiles
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_tile_of_every_level_is_what_the_raw_spans_come_to(spans in spans(26, 6)) {
        let reader = written(&spans);
        let end = spans.last().map_or(0, |span| span.to);
        prop_assert_eq!((reader.end_ns(), reader.top(), reader.meta()), (end, top_level(end), &b"beside"[..]));
        if spans.is_empty() {
            return Ok(());
        }
        for level in 0..=reader.top() {
            let plain = plainly(&spans, level);
            let width = bin_ns(level) << 10;
            for tile in tiles(level, end) {
                let read = reader.items(3, level, tile).unwrap();
                let (from, to) = (tile * width, (tile + 1) * width);
                let expected: Vec<Item> =
                    plain.iter().copied().filter(|item| item.from < to && item.to > from).collect();
                prop_assert_eq!(&read, &expected, "level {} tile {}", level, tile);
                prop_assert_eq!(sums(&read, from, to), sums(&plainly(&spans, 0), from, to));
            }
        }
    }

    #[test]
    fn many_kinds_are_taken_together_and_nothing_is_lost(spans in spans(10, 40)) {
        let reader = written(&spans);
        if spans.is_empty() {
            return Ok(());
        }
        for level in 0..=reader.top() {
            let width = bin_ns(level) << 10;
            for tile in tiles(level, reader.end_ns()) {
                let read = reader.items(3, level, tile).unwrap();
                let (from, to) = (tile * width, (tile + 1) * width);
                let all = |items: &[Item]| sums(items, from, to).values().sum::<u64>();
                prop_assert_eq!(all(&read), all(&plainly(&spans, 0)));
                prop_assert!(read.is_sorted_by_key(|item| item.from) && read.len() <= TILE_ITEMS_MAX);
            }
        }
    }

    #[test]
    fn values_of_every_tile_are_what_the_raw_ones_come_to(steps in proptest::collection::vec((0..24u32, any::<u64>(), any::<i64>()), 1..300)) {
        let mut at = 0;
        let mut points: Vec<Point> = Vec::new();
        for (bits, step, value) in steps {
            at += step & ((1 << bits) - 1);
            points.push(Point { at, value });
        }
        let mut writer = Writer::new(Vec::new()).unwrap();
        points.iter().for_each(|point| writer.point(0, *point).unwrap());
        let reader = open(writer.finish(b"").unwrap()).unwrap();
        for level in 0..=reader.top() {
            let bin = if level == 0 { 1 } else { bin_ns(level) };
            let mut plain: BTreeMap<u64, Range> = BTreeMap::new();
            for Point { at, value } in &points {
                let range = plain.entry(at / bin).or_insert(Range { from: *at, to: *at, min: *value, max: *value, last: *value });
                *range = Range { to: *at, min: range.min.min(*value), max: range.max.max(*value), last: *value, ..*range };
            }
            let width = bin_ns(level) << 10;
            for tile in tiles(level, reader.end_ns()) {
                let before = plain.values().rfind(|range| range.from < tile * width);
                let inside = plain.values().filter(|range| range.from / width == tile);
                let expected: Vec<Range> = before.into_iter().chain(inside).copied().collect();
                prop_assert_eq!(reader.points(0, level, tile).unwrap(), expected);
            }
        }
    }

    #[test]
    fn no_input_is_refused_and_what_is_written_is_in_order(spans in proptest::collection::vec((any::<u64>(), any::<u64>(), any::<u16>(), any::<u32>()), 0..100)) {
        let mut writer = Writer::new(Vec::new()).unwrap();
        for (from, to, kind, detail) in &spans {
            writer.spans(9, Span { from: *from, to: *to, kind: *kind, detail: *detail }).unwrap();
        }
        let counts = writer.counts();
        prop_assert_eq!(counts.spans + counts.dropped, spans.len() as u64);
        let reader = open(writer.finish(b"").unwrap()).unwrap();
        prop_assert_eq!(reader.counts(), counts);
        for level in (0..=reader.top()).filter(|_| counts.spans > 0) {
            for tile in tiles(level, reader.end_ns()) {
                let items = reader.items(9, level, tile).unwrap();
                prop_assert!(items.is_sorted_by_key(|item| item.from));
            }
        }
    }
}

#[test]
fn a_tile_of_a_crowded_level_0_comes_in_bins() {
    let spans: Vec<Span> =
        (0..40_000).map(|at| Span { from: at * 50, to: at * 50 + 50, kind: (at % 3) as u16, detail: 0 }).collect();
    let reader = written(&spans);
    for tile in [0, 1] {
        let items = reader.items(3, 0, tile).unwrap();
        assert!(items.len() <= 1_024 * 3 && items.len() > 900, "{}", items.len());
        let (from, to) = (tile << 20, (tile + 1) << 20);
        assert_eq!(sums(&items, from, to), sums(&plainly(&spans, 0), from, to));
    }
}

#[test]
fn a_long_recording_has_bounded_tiles_and_an_index_of_several_heights() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    // 600 tracks make blocks small; one of them is long.
    for track in 0..600 {
        writer.spans(track, Span { from: 0, to: 1, kind: 0, detail: 0 }).unwrap();
    }
    let at = |index: u64| index * 1_000 + 10;
    for index in 0..200_000 {
        writer
            .spans(7, Span { from: at(index), to: at(index) + 700, kind: (index % 7) as u16, detail: index as u32 })
            .unwrap();
    }
    let reader = open(writer.finish(b"").unwrap()).unwrap();
    for level in 0..=reader.top() {
        let mut covered = 0;
        let width = bin_ns(level) << 10;
        for tile in 0..=tile_at(level, reader.end_ns()) {
            let items = reader.items(7, level, tile).unwrap();
            assert!(items.len() <= TILE_ITEMS_MAX);
            covered += sums(&items, tile * width, (tile + 1) * width).values().sum::<u64>();
        }
        assert_eq!(covered, 200_000 * 700 + 1, "level {level}");
    }
    let wide = reader.items(7, reader.top(), 0).unwrap();
    assert!(wide.len() > 1_000 && wide.iter().any(|item| item.kind == OTHER), "{}", wide.len());
}

#[test]
fn memory_is_bounded_whatever_is_written() {
    let mut writer = Writer::new(std::io::sink()).unwrap();
    let mut most = 0;
    for round in 0..500u64 {
        for track in 0..600u32 {
            let from = round * 9_000_000 + u64::from(track);
            for part in 0..2 {
                let from = from + part * 3_000_000;
                let span =
                    Span { from, to: from + 1_000 + u64::from(track) * 4_000, kind: (round % 9) as u16, detail: track };
                writer.spans(track, span).unwrap();
            }
        }
        if round % 50 == 49 {
            most = most.max(writer.memory_bytes());
        }
    }
    assert!(most > 1 << 20 && most <= 32 << 20, "{most}");
}

#[test]
fn moments_are_kept_and_disorder_is_repaired_and_counted() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (from, to) in [(10, 20), (15, 30), (5, 25), (40, 40), (50, 45), (60, 70)] {
        writer.spans(0, Span { from, to, kind: 0, detail: 0 }).unwrap();
    }
    for (at, value) in [(10, 1), (5, 2), (5, 3), (30, 4)] {
        writer.point(1, Point { at, value }).unwrap();
    }
    assert!(writer.point(0, Point { at: 0, value: 0 }).is_err());
    assert!(writer.spans(1, Span { from: 90, to: 91, kind: 0, detail: 0 }).is_err());
    assert!(writer.spans(1 << 16, Span { from: 90, to: 91, kind: 0, detail: 0 }).is_err());
    let counts = writer.counts();
    assert_eq!((counts.spans, counts.points, counts.clipped, counts.dropped), (4, 4, 3, 2));
    let reader = open(writer.finish(b"").unwrap()).unwrap();
    let items: Vec<(u64, u64)> = reader.items(0, 0, 0).unwrap().iter().map(|item| (item.from, item.to)).collect();
    assert_eq!(items, [(10, 20), (20, 30), (40, 41), (60, 70)]);
    let ranges: Vec<_> =
        reader.points(1, 0, 0).unwrap().iter().map(|range| (range.from, range.min, range.max, range.last)).collect();
    assert_eq!(ranges, [(10, 1, 3, 3), (30, 4, 4, 4)]);
    assert_eq!(
        reader.tracks().map(|track| (track.id, track.count, track.from, track.to)).collect::<Vec<_>>(),
        [(0, 4, 10, 70), (1, 4, 10, 30)]
    );
}

#[test]
fn what_is_not_there_is_reported() {
    let reader = written(&[Span { from: 0, to: 5_000_000, kind: 0, detail: 0 }]);
    assert_eq!(reader.top(), 2);
    assert_eq!(reader.items(4, 0, 0), Err(LevelsError::NoTrack(4)));
    assert_eq!(reader.points(3, 0, 0), Err(LevelsError::NoTrack(3)));
    assert_eq!(reader.items(3, 3, 0), Err(LevelsError::NoLevel(3)));
    assert_eq!(reader.items(3, 0, u64::MAX), Ok(vec![]));
    assert_eq!(reader.items(3, 0, 5).map(|items| items.len()), Ok(0));
    assert_eq!(reader.items(3, 0, 4).map(|items| items.len()), Ok(1));
}

#[test]
fn other_files_and_half_written_ones_are_refused() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    (0..5_000).for_each(|at| writer.spans(0, Span { from: at * 10, to: at * 10 + 9, kind: 1, detail: 0 }).unwrap());
    let whole = writer.finish(b"{}").unwrap();
    assert_eq!(open(b"something else".to_vec()).unwrap_err(), LevelsError::NotLevels);
    assert_eq!(open(Vec::new()).unwrap_err(), LevelsError::NotLevels);
    for end in [8, 20, whole.len() / 2, whole.len() - 1] {
        assert_eq!(open(whole.get(..end).unwrap().to_vec()).unwrap_err(), LevelsError::Unfinished, "{end}");
    }
    assert_eq!(open(whole).unwrap().items(0, 0, 0).unwrap().len(), 5_000);
}

#[test]
fn all_of_time_fits() {
    let reader = written(&[
        Span { from: 0, to: 1, kind: 1, detail: 0 },
        Span { from: 1 << 63, to: u64::MAX - 1, kind: 2, detail: 0 },
        Span { from: u64::MAX, to: u64::MAX, kind: 3, detail: 0 },
    ]);
    assert_eq!((reader.top(), reader.counts().dropped), (LEVELS - 1, 1));
    assert_eq!(reader.items(3, LEVELS - 1, 0).unwrap().len(), 2);
}
