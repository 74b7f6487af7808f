//! Live: tracks of captures with the kernel's side: threads under the lanes that they serve, which process took
//! a CPU, and what a quota looks like.

#[path = "../drawn/mod.rs"]
mod common;
use testkit::ground;

use common::{Drawn, drawn, sums};
use ground::{ground, record, scratch, stderr};
use rtscope_report::kinds::SpanKind;
use std::path::Path;
use std::process::Command;
use xtask::missing;
use xtask::runner::Runner;
use xtask::toolchain::{Toolchain, is_root};
use xtask::workload;

/// Nanoseconds of a kind over all threads of lanes.
fn of_threads(drawn: &Drawn, kind: SpanKind) -> u64 {
    let tracks = drawn.parts.groups.iter().flat_map(|group| &group.tracks);
    let threads = tracks.filter(|track| track.name.starts_with("thread "));
    threads.map(|track| sums(&drawn.spans(track.id)).get(&kind.id()).copied().unwrap_or(0)).sum()
}

#[test]
fn threads_stand_under_the_lanes_that_they_serve() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let capture = folder.path().join("c.rtscope");
    let output = record(&capture, &["--detail", "full"], &ground.a_second());
    assert!(output.status.success(), "{}", stderr(&output));
    let of_capture = drawn(&capture);
    if !of_capture.results.kernel.used {
        return missing("the kernel's scheduling events (perf_event_paranoid)");
    }
    for lane in &of_capture.results.lanes {
        let group = of_capture.parts.groups.iter().find(|group| group.name == lane.name).expect("a group");
        let threads = group.tracks.iter().filter(|track| track.name.starts_with("thread ")).count();
        assert!(threads >= 1, "{}: {:?}", lane.name, group.tracks);
    }
    // Three lanes that always have work, for a second: on a CPU, or waiting for one where others run.
    let ran = of_threads(&of_capture, SpanKind::Running);
    let wanting = [SpanKind::WaitsForCpu, SpanKind::Queued, SpanKind::Throttled];
    let waited: u64 = wanting.iter().map(|kind| of_threads(&of_capture, *kind)).sum();
    assert!(ran > 100_000_000 && ran + waited > 1_500_000_000, "{ran} and {waited}");
    let causes = sums(&of_capture.spans(of_capture.track("Pauses", "what they waited for").expect("causes")));
    let reported: u64 = of_capture.blamed.iter().flat_map(|pause| &pause.causes).map(|piece| piece.ns()).sum();
    assert_eq!(causes.values().sum::<u64>(), reported);
    same_through_a_trace(&capture, &of_capture);
}

/// A trace holds what a capture does.
fn same_through_a_trace(capture: &Path, of_capture: &Drawn) {
    let trace = capture.with_extension("fxt");
    let mut command = Command::new(testkit::rtscope());
    let done = command.args(["export", "--to", "fxt", "-o"]).arg(&trace).arg(capture).output().unwrap();
    assert!(matches!(done.status.code(), Some(0 | 3)), "{}", stderr(&done));
    let of_trace = drawn(&trace);
    assert_eq!(of_trace.parts.groups, of_capture.parts.groups);
    for track in of_trace.reader.tracks().filter(|track| track.form == rtscope_levels::Form::Spans) {
        assert_eq!(sums(&of_trace.spans(track.id)), sums(&of_capture.spans(track.id)), "track {}", track.id);
    }
}

#[test]
fn a_quota_shows_on_the_threads_that_it_stops() {
    let Some(toolchain) = Toolchain::of_this_machine() else { return missing("ghc") };
    if !is_root() {
        return missing("root, for a control group with a quota");
    }
    let runner = Runner::new(Path::new(testkit::rtscope())).unwrap();
    let outcome = runner.run(&workload::load("throttled").unwrap(), &toolchain).unwrap();
    let drawn = drawn(&outcome.capture);
    let throttled = of_threads(&drawn, SpanKind::Throttled);
    let finding = drawn.results.findings.iter().find(|finding| finding.id == "cpu-throttled").expect("the finding");
    // Threads that are throttled at the same time each count.
    assert!(throttled >= finding.cost_ns, "{throttled} of {finding:?}");
    let waited = sums(&drawn.spans(drawn.track("Pauses", "what they waited for").expect("causes")));
    let kinds = drawn.parts.kinds.iter().filter(|kind| kind.role == "throttled").map(|kind| kind.id);
    assert!(kinds.into_iter().any(|kind| waited.get(&kind).is_some_and(|ns| *ns > 0)), "{waited:?}");
}
