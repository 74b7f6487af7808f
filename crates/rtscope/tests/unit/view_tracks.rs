//! Tracks of the corpus' logs: what is drawn is what the report says, and the session knows all of it.

#[path = "../drawn/mod.rs"]
pub mod common;

use common::{drawn, sums};
use rtscope_analyze::results::BlamedPause;
use rtscope_analyze::{Analysis, Context, Tail};
use rtscope_decode::ghc_eventlog::Eventlog;
use rtscope_levels::Counts;
use rtscope_model::{Classes, ClockMap, Names, Pause, PauseKind};
use rtscope_report::kinds::SpanKind;
use rtscope_view::session::Form;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use xtask::corpus;

/// Logs of the corpus: GHC's, and OCaml's rings.
fn logs() -> Vec<PathBuf> {
    let logs = corpus::logs(&["eventlog", "events"]).unwrap();
    assert!(logs.len() >= 19, "{} logs", logs.len());
    logs
}

#[test]
fn tracks_are_what_the_session_says() {
    for log in logs() {
        let name = log.display();
        let drawn = drawn(&log);
        let shown = drawn.parts.groups.iter().flat_map(|group| &group.tracks).map(|track| track.id);
        let listed: Vec<u32> = shown.chain(drawn.parts.account.tracks.iter().map(|track| track.id)).collect();
        let written: BTreeSet<u32> = drawn.reader.tracks().map(|track| track.id).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), written, "{name}");
        assert_eq!(listed.len(), written.len(), "{name}");
        let kinds: BTreeSet<u16> = drawn.parts.kinds.iter().map(|kind| kind.id).collect();
        for track in drawn.parts.groups.iter().flat_map(|group| &group.tracks) {
            assert_eq!(track.top, drawn.reader.top(), "{name}");
            if track.form == Form::Values {
                assert!(!drawn.reader.points(track.id, track.top, 0).unwrap().is_empty(), "{name}");
                continue;
            }
            let spans = drawn.spans(track.id);
            assert!(spans.iter().all(|span| kinds.contains(&span.kind)), "{name}: {}", track.name);
            assert!(spans.iter().all(|span| (span.detail as usize) < drawn.parts.details.len()), "{name}");
        }
        assert!(
            drawn.reader.end_ns() <= drawn.results.span_ns + 1,
            "{name}: {} of {}",
            drawn.reader.end_ns(),
            drawn.results.span_ns
        );
    }
}

#[test]
fn pauses_and_collections_are_as_long_as_the_report_says() {
    let collecting = [SpanKind::Collecting, SpanKind::CollectingMajor, SpanKind::OtherWork, SpanKind::ConcurrentSync]
        .map(SpanKind::id);
    let of = |sums: &BTreeMap<u16, u64>| collecting.iter().filter_map(|kind| sums.get(kind)).sum::<u64>();
    for log in logs() {
        let name = log.display();
        let drawn = drawn(&log);
        let Counts { clipped, dropped, .. } = drawn.reader.counts();
        // A concurrent collector's stop may overlap another pause: it is cut there.
        let syncs = drawn.pauses().filter(|pause| pause.kind == PauseKind::ConcurrentSync).count() as u64;
        assert!(clipped + dropped <= syncs * 2, "{name}: {clipped} {dropped}");
        if clipped + dropped > 0 {
            continue;
        }
        let pauses = sums(&drawn.spans(drawn.track("Pauses", "pauses").expect("pauses")));
        let collect: u64 = drawn.pauses().map(Pause::collect_ns).sum();
        let release: u64 = drawn.pauses().map(Pause::release_ns).sum();
        assert_eq!(of(&pauses), collect, "{name}");
        assert_eq!(pauses.get(&SpanKind::Release.id()).copied().unwrap_or(0), release, "{name}");
        for lane in &drawn.results.lanes {
            let Some(track) = drawn.track(&lane.name, "what it does") else { continue };
            let parts = drawn.pauses().filter_map(|pause| {
                let part = pause.lanes.iter().find(|part| part.lane.0 == lane.id)?;
                let begin = part.work_begin?.max(pause.stopped);
                Some(part.work_end.unwrap_or(pause.collected).since(begin))
            });
            let (drawn_ns, reported_ns) = (of(&sums(&drawn.spans(track))), parts.sum::<u64>());
            // Where work is not posted the leader's is still drawn.
            assert!(drawn_ns >= reported_ns, "{name}: {} {drawn_ns} of {reported_ns}", lane.name);
            if drawn.results.runtime.family.as_deref() == Some("ocaml") {
                assert_eq!(drawn_ns, reported_ns, "{name}: {}", lane.name);
            }
        }
    }
}

#[test]
fn a_capability_is_always_something() {
    for log in corpus::logs(&["eventlog"]).unwrap() {
        let name = log.display();
        let drawn = drawn(&log);
        for lane in &drawn.results.lanes {
            let spans = drawn.spans(drawn.track(&lane.name, "what it does").expect("a line"));
            assert!(spans.windows(2).all(|pair| pair[0].to == pair[1].from), "{name}: {}", lane.name);
            assert!(spans.windows(2).all(|pair| (pair[0].to, pair[0].kind) != (pair[1].from, pair[1].kind)), "{name}");
        }
    }
}

#[test]
fn runs_outside_collections_change_no_report() {
    for log in corpus::logs(&["eventlog"]).unwrap() {
        let eventlog = Eventlog::open(Arc::new(std::fs::read(&log).unwrap()), Vec::new()).unwrap();
        let report = |classes: Classes| {
            let mut context = Context { threaded: Some(true), generations: Some(2), ..Context::default() };
            context.runtime.family = Some("ghc".into());
            let (names, mut pauses) = (Names::default(), Vec::new());
            let mut analysis = Analysis::new(context);
            let mut keep = |pause: &BlamedPause| pauses.push(format!("{pause:?}"));
            for event in eventlog.stream(classes, ClockMap::LOG_OWN, 1) {
                analysis.push(&event, &names, &mut keep);
            }
            let results = analysis.finish(&names, Tail::default(), &mut keep);
            (serde_json::to_string(&results).unwrap(), pauses)
        };
        assert_eq!(report(Analysis::CLASSES), report(Analysis::CLASSES_GREEN), "{}", log.display());
    }
}
