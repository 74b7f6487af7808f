//! The page's map of the heap: snapshots to browse, with totals and ledger of the selected one. Owns which
//! snapshots are kept and how they are encoded for the script; without scripts the last one is drawn. The squares
//! come from `heap::picture`.

use crate::heap::layout::{Layout, shape};
use crate::heap::picture::{Picture, Square, SquareKind};
use crate::heap::svg::{in_page, swatch};
use rtscope_draw::escape::{escape, json_in_script};
use rtscope_draw::html::{begin, figure};
use rtscope_draw::page::More;
use rtscope_draw::svg::Svg;
use rtscope_model::Time;
use rtscope_model::heap::{Heap, Part};
use rtscope_model::units;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const SCRIPT: &str = include_str!("heap_map.js");
/// Style and script that only pages with a map have.
pub(crate) const MORE: More = More {
    style: concat!(include_str!("../heap/map.css"), include_str!("heap_map.css")),
    style_hash: "sha256-fhaAeclDoLuxXU5ubEUfix5NIlRPupACwXAt9j7ZBjc=",
    script_hash: Some("sha256-z/kgHWl9brJc0F18YMlbslHBCpcxjwrKwBR53LZBfto="),
};

/// Maximum snapshots in a page.
const SHOTS_MAX: usize = 60;
/// Approximate maximum of megablocks held at a time.
const MEGABLOCKS_MAX: usize = 240_000;
/// Maximum bytes of all maps, and of the drawing for pages without scripts.
const MAPS_MAX: usize = 360_000;
const DRAWING_MAX: usize = 120_000;
/// Width of the picture, in pixels.
const WIDTH: f64 = 640.0;
/// Maximum places of megablocks in the picture; beyond that no map is drawn.
const PLACES_MAX: u64 = 200_000;
/// Steps of reduction, the least missed first: snapshots, and blocks per square.
const THINNER: [(usize, u64); 11] =
    [(60, 1), (60, 2), (60, 4), (30, 4), (30, 8), (16, 8), (16, 16), (8, 32), (4, 64), (3, 128), (2, 256)];

#[derive(Serialize)]
struct Shot {
    at: Option<String>,
    heap: String,
    rss: Option<String>,
    /// By class: bytes, bytes in words, and share. The ledger: the same by part.
    kinds: BTreeMap<&'static str, (u64, String, String)>,
    ledger: BTreeMap<&'static str, (u64, String, String)>,
    map: String,
}

/// The section; `None` without a map and a ledger. `left_out`: number of further snapshots.
pub(crate) fn section(heaps: &[Heap], left_out: u64, started: Time) -> Option<String> {
    heaps.iter().find(|heap| !heap.megablocks.is_empty() || !heap.ledger.is_empty())?;
    let all = spread(heaps, shots_max(heaps));
    let pictures: Vec<(&Heap, Picture)> = all.iter().map(|heap| (*heap, Picture::of(heap))).collect();
    let (last, drawn) = pictures.last()?;
    let (per, maps) = maps(&pictures);
    let kept: Vec<&(&Heap, Picture)> = maps.iter().filter_map(|(index, _)| pictures.get(*index)).collect();
    let slots: BTreeSet<u64> =
        kept.iter().flat_map(|(_, picture)| picture.tiles.iter().map(|tile| tile.slot)).collect();
    let mut layout = Layout::of(&slots.iter().copied().collect::<Vec<_>>(), WIDTH);
    if layout.segments.iter().map(|segment| segment.slots).sum::<u64>() > PLACES_MAX {
        layout.segments.clear();
    }
    let [across, down] = shape(per);
    let shots: Vec<Shot> =
        kept.iter().zip(maps.iter()).map(|((heap, picture), (_, map))| shot(heap, picture, started, map)).collect();
    let shown = |kind: &SquareKind| shots.iter().any(|shot| shot.kinds.contains_key(kind.class()));
    let rows: Vec<SquareKind> = SquareKind::ALL.into_iter().filter(shown).collect();
    // The script counts in units, each `unit` pixels long.
    let data = json!({
        "first": slots.first().copied().unwrap_or(0),
        "per": per,
        "across": across,
        "down": down,
        "columns": layout.columns,
        "width": WIDTH,
        "height": layout.height(),
        "unit": layout.unit,
        "segments": layout.segments,
        "kinds": rows.iter().map(kind_json).collect::<Value>(),
        "grades": (0..10).map(|grade| drawn.grade_words(grade)).collect::<Value>(),
        "shots": shots,
    });
    let shot = shots.last()?;
    let looks = [shots.len() as u64, heaps.len() as u64 + left_out];
    let mut out = format!("<p>{}</p>", escape(&introduction(looks, per, last, &layout)));
    out.push_str(&controls(shots.len()));
    out.push_str("<div class=\"h-sides\">");
    if layout.height() > 0 {
        out.push_str(
            "<div class=\"h-picture\"><canvas id=\"h-canvas\" width=\"640\" height=\"10\" tabindex=\"0\" role=\"application\" \
             aria-label=\"Map of the heap's blocks\" aria-describedby=\"h-details\"></canvas>\
             <p id=\"h-details\" role=\"status\">Point at a square, or go through them with the arrow keys.</p></div>",
        );
        let drawing = figure(&in_page(drawn, DRAWING_MAX), "");
        let _ = write!(out, "<noscript>{drawing}</noscript>");
    }
    let legend = rows.iter().map(|kind| (kind.class(), mark(*kind) + kind.words())).collect::<Vec<_>>();
    let parts: Vec<_> = Part::ALL
        .into_iter()
        .filter(|part| shots.iter().any(|shot| shot.ledger.contains_key(part.key())))
        .map(|part| (part.key(), part.words().to_owned()))
        .collect();
    let _ = write!(
        out,
        "<div class=\"h-tables\"><div id=\"h-legend\">{}</div><div id=\"h-ledger\">{}</div></div></div>",
        figures(["blocks", "bytes", "of the heap"], &legend, &shot.kinds),
        figures(["resident memory", "bytes", "of all"], &parts, &shot.ledger)
    );
    let json = json_in_script(&data.to_string());
    let _ =
        write!(out, "<script type=\"application/json\" id=\"rtscope-heaps\">{json}</script><script>{SCRIPT}</script>");
    Some(out)
}

/// Times of the snapshots on the page, with labels.
pub(crate) fn marks(heaps: &[Heap]) -> Vec<(Time, String)> {
    let mark = |heap: &&Heap| Some((heap.time?, format!("look at the heap: {}", units::bytes(heap.heap_bytes))));
    spread(heaps, SHOTS_MAX).iter().filter_map(mark).collect()
}

/// Number of snapshots to look at: fewer if they are very large.
fn shots_max(heaps: &[Heap]) -> usize {
    let megablocks = heaps.iter().map(|heap| heap.megablocks.len()).max().unwrap_or(0);
    (MEGABLOCKS_MAX / megablocks.max(1)).clamp(3, SHOTS_MAX)
}

/// At most `most` snapshots: the first, the last, the largest, and others at even distances.
fn spread(heaps: &[Heap], most: usize) -> Vec<&Heap> {
    let kept = spread_of(heaps.len(), most, |index| heaps.get(index).map_or(0, |heap| heap.heap_bytes));
    kept.into_iter().filter_map(|index| heaps.get(index)).collect()
}

/// Like [`spread`], but by index; `size` gives the size of each snapshot.
fn spread_of(count: usize, most: usize, size: impl Fn(usize) -> u64) -> BTreeSet<usize> {
    let last = count.saturating_sub(1);
    let mut kept: BTreeSet<usize> = [0, last].into();
    kept.extend((0..count).max_by_key(|index| (size(*index), std::cmp::Reverse(*index))));
    let room = most.saturating_sub(kept.len()) + 1;
    kept.extend((1..room).map(|step| last * step / room));
    kept.retain(|index| *index < count);
    kept
}

/// Blocks per square, and the maps of the snapshots that are kept: as few blocks and as many snapshots as there is
/// room for.
fn maps(pictures: &[(&Heap, Picture)]) -> (u64, Vec<(usize, String)>) {
    let size = |index: usize| pictures.get(index).map_or(0, |(heap, _)| heap.heap_bytes);
    let first =
        pictures.iter().filter_map(|(_, picture)| picture.tiles.first()).map(|tile| tile.slot).min().unwrap_or(0);
    for (most, per) in THINNER {
        let mut room = MAPS_MAX;
        let write = |index: usize| {
            let (_, picture) = pictures.get(index)?;
            let map = written_map(picture, first, per, room)?;
            room -= map.len();
            Some((index, map))
        };
        let written: Option<Vec<(usize, String)>> =
            spread_of(pictures.len(), most, size).into_iter().map(write).collect();
        if let Some(written) = written {
            return (per, written);
        }
    }
    // Too large in any case: figures without a map.
    (256, vec![(pictures.len() - 1, String::new())])
}

/// A map as text: megablocks separated by `;`. Each has its distance in places from the previous one (empty: 1), runs
/// of a letter with their lengths (empty: 1), and `*` with the number of identical megablocks in a row. `None` if it
/// is longer than `room`.
fn written_map(picture: &Picture, first: u64, per: u64, room: usize) -> Option<String> {
    let [across, down] = shape(per);
    let mut squares = picture.squares(per);
    let written = |slot: u64| {
        let of_tile: Vec<Square> = squares.by_ref().take((across * down) as usize).map(|(_, square)| square).collect();
        let mut runs = String::new();
        for run in of_tile.chunk_by(|a, b| a == b) {
            runs.extend(run.first().map(|square| letter(*square)));
            if run.len() > 1 {
                let _ = write!(runs, "{}", run.len());
            }
        }
        (slot, runs)
    };
    let mut tiles = picture.tiles.iter().map(|tile| tile.slot).map(written).peekable();
    let (mut out, mut next) = (String::new(), first);
    while let Some((slot, runs)) = tiles.next() {
        let skipped = if slot == next { String::new() } else { (slot - next + 1).to_string() };
        next = slot + 1;
        while tiles.next_if(|(like, same)| *like == next && *same == runs).is_some() {
            next += 1;
        }
        let alike = if next > slot + 1 { format!("*{}", next - slot) } else { String::new() };
        let split = if out.is_empty() { "" } else { ";" };
        out.extend([split, &skipped, &runs, &alike]);
        if out.len() > room {
            return None;
        }
    }
    Some(out)
}

/// The letter of a square; for pinned ones `A` and following, by grade.
fn letter(square: Square) -> char {
    if square.kind == SquareKind::Pinned { char::from(b'A' + square.grade.min(9)) } else { square.kind.code() }
}

/// A kind for the script; its colour comes from the style sheet.
fn kind_json(kind: &SquareKind) -> Value {
    let colour = if *kind == SquareKind::FreeMegablock { "free" } else { kind.class().trim_start_matches("h-") };
    json!({ "code": kind.code(), "colour": colour, "words": kind.words() })
}

fn shot(heap: &Heap, picture: &Picture, started: Time, map: &str) -> Shot {
    let kind = |(kind, bytes, share): (SquareKind, u64, Option<String>)| {
        (kind.class(), (bytes, units::bytes(bytes), share.unwrap_or_default()))
    };
    let all = heap.ledger.iter().map(|line| line.bytes).fold(0u64, u64::saturating_add);
    let all = heap.rss_bytes.unwrap_or(all);
    let line = |part: Part| (part.key(), heap.part_bytes(part));
    let lines = Part::ALL.into_iter().map(line).filter(|(_, bytes)| *bytes > 0);
    let ledger = lines.map(|(key, bytes)| (key, (bytes, units::bytes(bytes), units::percent_of(bytes, all))));
    Shot {
        at: heap.time.map(|time| units::duration(time.since(started))),
        heap: units::bytes(picture.bytes().max(heap.heap_bytes)),
        rss: heap.rss_bytes.map(units::bytes),
        kinds: picture.totals().map(kind).collect(),
        ledger: ledger.collect(),
        map: map.to_owned(),
    }
}

/// What is shown, how many of how many looks, and what was left out.
fn introduction([shown, looks]: [u64; 2], per: u64, last: &Heap, layout: &Layout) -> String {
    let mut out = match looks {
        1 => "One look at the heap".to_owned(),
        looks if looks == shown => format!("{} looks at the heap", units::count(looks)),
        looks => format!("{shown} of {} looks at the heap", units::count(looks)),
    };
    if let Some(compiler) = last.built_by() {
        let _ = write!(out, " of a program of {compiler}");
    }
    if layout.height() == 0 {
        return out + ". There is no map to draw.";
    }
    let _ = write!(
        out,
        ". Megablocks of 1 MiB stand by address, frames hold nothing, a line through one says that all of it is free. \
         A {}; pinned blocks are filled from below as far as they are alive.",
        Picture::square_words(per)
    );
    out.extend(layout.not_drawn().map(|far| format!(" {far}.")));
    out
}

fn controls(count: usize) -> String {
    let last = count.saturating_sub(1);
    format!(
        "<div class=\"h-controls\" id=\"h-controls\" hidden=\"\"><label for=\"h-slider\">Snapshot</label>\
         <button type=\"button\" id=\"h-previous\">Previous</button>\
         <input type=\"range\" id=\"h-slider\" min=\"0\" max=\"{last}\" step=\"1\" value=\"{last}\"/>\
         <button type=\"button\" id=\"h-next\">Next</button><output id=\"h-time\" for=\"h-slider\"></output></div>"
    )
}

/// The sample of a kind, to precede its name.
fn mark(kind: SquareKind) -> String {
    let mut svg = Svg::mark([33.0, 12.0], "h-mark");
    swatch(&mut svg, [0.0, 0.0], kind);
    svg.finish() + " "
}

/// A table whose figures the script may change: a row for each key.
fn figures(heads: [&str; 3], rows: &[(&'static str, String)], of: &BTreeMap<&str, (u64, String, String)>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut out = begin(heads);
    let nothing = (0, "-".to_owned(), String::new());
    for (key, words) in rows {
        let (count, bytes, share) = of.get(key).unwrap_or(&nothing);
        let share = escape(share);
        let _ = write!(
            out,
            "<tr data-key=\"{key}\"><th scope=\"row\">{words}</th><td><data value=\"{count}\">{bytes}</data></td><td>{share}</td></tr>"
        );
    }
    out.push_str("</tbody></table></div>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::picture::{BLOCKS, MEGABLOCK};
    use rtscope_model::heap::Megablock;
    use std::collections::HashMap;

    fn heap(megablocks: &[(u64, &str)]) -> Heap {
        let megablock = |(slot, marks): &(u64, &str)| Megablock {
            address: slot * MEGABLOCK,
            blocks: marks.chars().cycle().take(BLOCKS).collect(),
        };
        let megablocks: Vec<_> = megablocks.iter().map(megablock).collect();
        Heap { heap_bytes: megablocks.len() as u64 * MEGABLOCK, megablocks, ..Heap::default() }
    }

    /// Marks that differ between megablocks and between snapshots.
    fn noise(seed: u64) -> String {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as usize
        };
        (0..BLOCKS).map(|_| char::from(b"..1o9"[next() % 5])).collect()
    }

    /// Reads a map as the script does, by place.
    fn read(map: &str, first: u64) -> HashMap<u64, String> {
        let (mut found, mut slot) = (HashMap::new(), first);
        for part in map.split(';').filter(|part| !part.is_empty()) {
            let digits = part.chars().take_while(char::is_ascii_digit).count();
            let (skip, rest) = part.split_at(digits);
            let (runs, times) = rest.split_once('*').unwrap_or((rest, "1"));
            slot += skip.parse().unwrap_or(1) - 1;
            let mut squares = String::new();
            let mut rest = runs;
            while let Some(letter) = rest.chars().next() {
                rest = &rest[1..];
                let digits = rest.chars().take_while(char::is_ascii_digit).count();
                squares.push_str(&letter.to_string().repeat(rest[..digits].parse().unwrap_or(1)));
                rest = &rest[digits..];
            }
            for _ in 0..times.parse::<u64>().expect("a number") {
                found.insert(slot, squares.clone());
                slot += 1;
            }
        }
        found
    }

    #[test]
    fn maps_are_written_so_that_they_can_be_read_again() {
        let full = format!("===={}", "o".repeat(252));
        let picture = Picture::of(&heap(&[(7, &full), (8, &full), (9, "59."), (20, "n"), (21, "n")]));
        let map = written_map(&picture, 5, 1, 10_000).expect("it fits");
        assert!(map.starts_with("3d4o252*2;FJfFJf") && map.ends_with(";11n256*2"), "{map}");
        let found = read(&map, 5);
        assert_eq!(found.len(), 5);
        assert_eq!((&found[&8][..5], &found[&9][..4], &found[&21][..2]), ("ddddo", "FJfF", "nn"));
        assert_eq!(written_map(&picture, 5, 1, 100), None);
        assert_eq!(written_map(&picture, 5, 64, 100).as_deref(), Some("3o4*2;HfH2;11n4*2"));
    }

    #[test]
    fn the_first_the_last_and_the_largest_are_kept() {
        let largest = |index: usize| if index == 333 { 9 } else { 1 };
        let kept = spread_of(1000, 60, largest);
        assert!(kept.len() <= 60 && kept.len() > 50, "{}", kept.len());
        assert!([0, 333, 999].iter().all(|index| kept.contains(index)));
        let apart = kept.iter().zip(kept.iter().skip(1)).map(|(a, b)| b - a).max();
        assert!(apart <= Some(20), "{apart:?}");
        assert_eq!(spread_of(3, 60, largest).into_iter().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(spread_of(1, 60, largest).len(), 1);
        assert!(spread_of(0, 60, largest).is_empty());
        assert_eq!(spread_of(1000, 2, largest).len(), 3);
    }

    #[test]
    fn many_snapshots_of_a_large_heap_are_thinned_until_they_fit() {
        let heaps: Vec<Heap> = (0..70u64)
            .map(|index| {
                let marks: Vec<_> = (0..100).map(|slot| (slot, noise(index * 1000 + slot))).collect();
                heap(&marks.iter().map(|(slot, marks)| (*slot, marks.as_str())).collect::<Vec<_>>())
            })
            .collect();
        let section = section(&heaps, 0, Time(0)).expect("a section");
        assert!(section.len() < MAPS_MAX + DRAWING_MAX + 60_000, "{}", section.len());
        assert!(
            section.contains(" of 70 looks at the heap") && section.contains("A square stands for 4 blocks (16 KiB)")
        );
    }

    #[test]
    fn absurd_heaps_have_figures_all_the_same() {
        assert_eq!(section(&[], 0, Time(0)), None);
        assert_eq!(section(&[Heap::default()], 0, Time(0)), None);
        let line = rtscope_model::heap::HeapLine { bytes: 4096, ..Default::default() };
        let ledger = section(&[Heap { ledger: vec![line], ..Heap::default() }], 0, Time(0)).expect("a section");
        assert!(ledger.contains("There is no map to draw") && !ledger.contains("<canvas"), "{ledger}");
        assert!(ledger.contains("outside the heap</th><td><data value=\"4096\">4.0 KiB"), "{ledger}");
        let some = section(&[Heap::default(), heap(&[(1, "o")]), Heap::default()], 7, Time(0)).expect("a section");
        assert!(some.contains("3 of 10 looks at the heap") && some.contains("<canvas"), "{some}");
        let mut far: Vec<_> = (0..20_000u64).map(|slot| (slot * 700_000_000, "o.")).collect();
        far.push((u64::MAX / MEGABLOCK, "<\"'é"));
        let mut odd = heap(&far);
        odd.compiler = Some("</script><script>".into());
        odd.time = Some(Time(5));
        let odd = [odd];
        let section = section(&odd, 0, Time(u64::MAX)).expect("a section");
        assert!(section.len() < 1_000_000, "{}", section.len());
        assert_eq!(section.matches("</script>").count(), 2);
    }

    #[test]
    fn the_script_has_no_sign_that_begins_a_tag() {
        assert!(!SCRIPT.contains('<'));
    }
}
