//! The page of recordings that are hard to show: without pauses, of one lane and of 512, of 50 ms and of three
//! days. Each says what is missing and shows the rest, and none gets large.

use rtscope_analyze::results::Results;
use rtscope_decode::ghc_eventlog::builder::LogBuilder;
use rtscope_draw::page::SIZE_MAX;
use rtscope_read::input;
use rtscope_read::pipeline::{Options, analyse_for_page};
use rtscope_report::html;

const MS: u64 = 1_000_000;
const DAY: u64 = 86_400_000 * MS;

// Tags of GHC's log (rts/include/rts/EventLogFormat.h).
const GC_START: u16 = 9;
const GC_END: u16 = 10;
const REQUEST_PAR_GC: u16 = 12;
const GC_WORK: u16 = 21;
const GC_DONE: u16 = 22;
const GC_GLOBAL_SYNC: u16 = 54;

/// A run of `lanes` lanes with `pauses` collections; the last lane is late in each.
fn log(lanes: u16, pauses: u64, span_ns: u64) -> Vec<u8> {
    const CHUNK: u64 = 500;
    let every = span_ns / (pauses + 1);
    let unit = (every / 20).clamp(1, MS);
    let mut log = LogBuilder::new().preamble(77);
    let chunks = pauses.div_ceil(CHUNK).max(1);
    for chunk in 0..chunks {
        let own = chunk * CHUNK..((chunk + 1) * CHUNK).min(pauses);
        let (open, end) = (100 + own.start * every, if chunk + 1 == chunks { span_ns } else { 100 + own.end * every });
        for lane in 0..lanes {
            log = log.block(lane, open, end, |block| {
                block.run(open + 1, u32::from(lane) + 1);
                for pause in own.clone() {
                    let at = (pause + 1) * every - 10 * unit;
                    let late = if lane + 1 == lanes { 4 * unit } else { unit };
                    if lane == 0 {
                        block.mark(at, REQUEST_PAR_GC);
                    }
                    block.stop(at + unit / 2, u32::from(lane) + 1, 3);
                    block.mark(at + if lane == 0 { 5 * unit } else { late }, GC_START);
                    block.mark(at + 6 * unit, GC_WORK).mark(at + 7 * unit, GC_DONE);
                    if lane == 0 {
                        block.mark(at + 7 * unit + 1, GC_GLOBAL_SYNC).gc_stats(at + 7 * unit + 2, 0, 64, 2);
                    }
                    block.mark(at + 8 * unit, GC_END).run(at + 9 * unit, u32::from(lane) + 1);
                }
                block.stop(end.saturating_sub(1), u32::from(lane) + 1, 3);
            });
        }
    }
    log.end()
}

/// The page of a log, and the results it was made from.
fn page(log: &[u8]) -> (String, Results) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made.eventlog");
    std::fs::write(&path, log).expect("the log");
    let input = input::open(&path, None).expect("it is a log");
    let options = Options { threads: 2, ..Options::new("made.eventlog".as_ref()) };
    let (results, names) = analyse_for_page(&input, &options, &mut |_, _, _| {}).expect("a report");
    let page = html::page(&results, &names, &[]);
    assert!(page.len() < SIZE_MAX, "{} bytes", page.len());
    assert!(!page.contains("NaN") && !page.contains("=\"inf"), "a coordinate that is no number");
    (page, results)
}

fn has(page: &str, id: &str) -> bool {
    page.contains(&format!("<section id=\"{id}\">"))
}

#[test]
fn without_a_pause_it_says_so_and_shows_the_lanes() {
    let (page, results) = page(&log(2, 0, 3_000 * MS));
    assert_eq!(results.pauses.count, 0);
    assert!(has(&page, "lanes") && has(&page, "figures") && !has(&page, "worst") && !has(&page, "distribution"));
    let sentence =
        "no pause was seen, so this page has no \u{201c}How long pauses were\u{201d}, \u{201c}Pauses over time\u{201d}";
    assert!(page.contains(sentence), "{page}");
    assert!(page.contains("the recording does not say how much memory the program held"));
}

#[test]
fn one_lane_and_fifty_milliseconds_are_drawn() {
    let (page, results) = page(&log(1, 3, 50 * MS));
    assert_eq!((results.pauses.count, results.lanes.len()), (3, 1));
    for id in ["figures", "distribution", "over-time", "lanes", "worst", "losses"] {
        assert!(has(&page, id), "{id}");
    }
    assert_eq!(page.matches("<article class=\"pause waterfall\">").count(), 3);
}

#[test]
fn of_512_lanes_the_significant_ones_are_drawn() {
    let (page, results) = page(&log(512, 6, 2_000 * MS));
    assert_eq!((results.pauses.count, results.lanes.len()), (6, 512));
    assert!(page.contains("496 more rows are not drawn") && page.contains("504 more capabilities are not drawn"));
    assert!(page.contains("and 448 more, see <code>rtscope report --json</code>"), "the table of lanes");
    assert!(page.contains("last</text>") && page.contains("capability 511"), "the straggler is drawn");
}

#[test]
fn three_days_are_no_larger_than_three_hours() {
    let (short, _) = page(&log(8, 250, DAY / 8));
    let (long, results) = page(&log(8, 4_000, 3 * DAY));
    assert_eq!(results.pauses.count, 4_000);
    assert!(long.len() < short.len() * 3 / 2, "{} bytes, and {} of a sixteenth", long.len(), short.len());
    assert!(long.contains("72 h 00 min recorded"), "{}", long.get(..6_000).unwrap_or(""));
    for id in ["distribution", "over-time", "lanes", "utilisation", "worst"] {
        assert!(has(&long, id), "{id}");
    }
}
