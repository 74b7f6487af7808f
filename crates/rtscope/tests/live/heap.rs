//! Live: the memory of running Haskell programs, read by the real program from outside, on every GHC. Owns what
//! is known of them from the inside: what is alive, and what the runtime counts itself.

use testkit::heaps;

use heaps::{CHURN, Ground, PINNED, churned, document, figure, rtscope};
use serde_json::Value;
use std::path::Path;

const COUNT: u64 = 200_000;

/// What has to hold for any heap.
fn adds_up(heap: &Value) {
    let (rss, unexplained) = (figure(heap, "/rss_bytes"), figure(heap, "/unexplained_bytes"));
    assert!(unexplained.abs() <= 0.03 * rss, "{unexplained} of {rss} are not explained");
    assert_eq!(heap["contradictions"], 0);
}

/// What the runtime counts itself: megablocks, blocks that are not on a free list, nurseries. For each of
/// `lanes` it does not count the block of each generation that is copied into next, and now and then another.
fn agrees_with_the_runtime(heap: &Value, lanes: f64) {
    assert_eq!(figure(heap, "/heap_bytes"), figure(heap, "/runtime/megablocks") * 1_048_576.0);
    let blocks = |wanted: &dyn Fn(&str) -> bool| -> f64 {
        let kinds = heap["kinds"].as_array().unwrap().iter();
        kinds.filter(|kind| wanted(kind["kind"].as_str().unwrap())).map(|kind| figure(kind, "/blocks")).sum()
    };
    let used = blocks(&|kind| !["free", "free megablock", "descriptors", "returned"].contains(&kind));
    let counted = figure(heap, "/runtime/allocated_blocks");
    assert!((used - counted).abs() <= 0.01 * counted + 16.0, "{used} blocks, the runtime says {counted}");
    assert_eq!(blocks(&|kind| kind == "nursery"), figure(heap, "/runtime/nursery_blocks"));
    let generations = heap["runtime"]["generations"].as_array().unwrap();
    let small: f64 = generations.iter().map(|generation| figure(generation, "/blocks")).sum();
    // Segments count as a generation's blocks, too.
    let moved = blocks(&|kind| ["small", "non-moving"].contains(&kind));
    let more = moved - small - lanes * generations.len() as f64;
    assert!(
        more.abs() <= 0.01 * small + lanes,
        "{moved} blocks of objects that move, {small} by the runtime, {lanes} lanes"
    );
}

/// `live` objects are alive, to within 0.1 %.
fn are_alive(heap: &Value, baseline: f64, expected: u64) {
    let live = figure(heap, "/pinned/live_objects") - baseline;
    let expected = expected as f64;
    assert!((live - expected).abs() <= 0.001 * expected, "{live} alive, {expected} expected");
}

fn live_objects_are_reported(name: &str) {
    let Some(ground) = Ground::of(name) else { return };
    let plain = [&[][..], &["-c"], &["-G1"], &["-G3"]];
    let threaded = [&["-N8"][..], &["-N2", "-xn"]];
    let ways = [("plain", &["-rtsopts"][..], &plain[..]), ("threaded", &["-threaded", "-rtsopts"], &threaded)];
    for (way, flags, all) in ways {
        let program = ground.build(way, PINNED, flags);
        for options in all {
            for form in ["strip", "take"] {
                println!("{name} {way} {options:?} {form}");
                let share = the_articles_program(&ground, &program, form, options);
                // Every tenth keeps nearly all blocks, the first tenth only its own.
                let expected = if form == "strip" { 0.08..0.14 } else { 0.8..1.01 };
                assert!(options.contains(&"-xn") || expected.contains(&share), "{share}");
            }
        }
    }
}

/// Gives the share of pinned bytes that is alive at the end.
fn the_articles_program(ground: &Ground, program: &Path, form: &str, options: &[&str]) -> f64 {
    let count = COUNT.to_string();
    let is_non_moving = options.contains(&"-xn");
    let lanes = if options.contains(&"-N8") { 8.0 } else { 1.0 };
    let mut running = ground.start(program, &[&[form, &count, "+RTS"], options].concat());
    assert_eq!(running.line(), "start");
    let baseline = figure(&running.heap(&[], &[0]), "/pinned/live_objects");
    running.go_on();
    assert_eq!(running.line(), "all");
    let heap = running.heap(&[], &[0]);
    adds_up(&heap);
    // The threaded non-moving collector sweeps concurrently, and counts when it is done.
    if !is_non_moving {
        agrees_with_the_runtime(&heap, lanes);
    }
    are_alive(&heap, baseline, COUNT);
    running.go_on();
    assert_eq!(running.line(), "some");
    let mut share = 0.0;
    for options in [&[][..], &["--stop", "--max-stop", "10s"]] {
        let heap = running.heap(options, &[0]);
        adds_up(&heap);
        // The non-moving collector leaves dead holders in place: at most what was there.
        if is_non_moving {
            let live = figure(&heap, "/pinned/live_objects") - baseline;
            assert!(((COUNT / 10) as f64..=COUNT as f64 * 1.001).contains(&live), "{live}");
        } else {
            agrees_with_the_runtime(&heap, lanes);
            are_alive(&heap, baseline, COUNT / 10);
        }
        assert_eq!(figure(&heap, "/stop_ns") > 0.0, !options.is_empty());
        assert_eq!(heap["scan"]["during_stop"], !options.is_empty());
        let names: Vec<_> =
            heap["holders"].as_array().unwrap().iter().map(|holder| holder["name"].to_string()).collect();
        assert!(names.iter().any(|name| name.contains("PlainPtr")), "{names:?}");
        share = figure(&heap, "/pinned/live_bytes") / figure(&heap, "/pinned/used_bytes");
    }
    running.go_on();
    running.ends(&(COUNT / 10 * 8).to_string());
    share
}

/// At any moment: at least what is alive, at most that and what died since the last major collection, which the
/// program knows because it forces them.
fn bounds_hold_at_any_moment(name: &str) {
    let Some(ground) = Ground::of(name) else { return };
    let program = ground.build("churn", CHURN, &["-threaded"]);
    // Reading a program that runs needs time between two collections.
    bounds_hold(&ground, &program, 200_000, &["--stop", "--max-stop", "5s"]);
    bounds_hold(&ground, &program, 2_000_000, &[]);
}

fn bounds_hold(ground: &Ground, program: &Path, every: u64, options: &[&str]) {
    let (threads, kept, turns) = (2_u64, 100_000_u64, 8_000_000_u64);
    let numbers = [threads, kept, turns, every].map(|number| number.to_string());
    let arguments: Vec<&str> = numbers.iter().map(String::as_str).chain(["+RTS", "-N2"]).collect();
    let mut running = ground.start(program, &arguments);
    assert_eq!(running.line(), "ready");
    let mut sure = 0;
    for _ in 0..8 {
        // What moved while it was read, or was just being collected, is reported: then no bound is promised.
        let output = rtscope(&[&["heap", "--json", &running.pid()], options].concat());
        if output.status.code() == Some(1) {
            // It has ended: its speed varies.
            break;
        }
        let heap = document(&output, &[0, 3]);
        let doubts = heap["doubts"].as_array().unwrap();
        println!("{options:?}: {} alive of {}, {doubts:?}", heap["pinned"]["live_objects"], threads * kept);
        if !doubts.is_empty() {
            continue;
        }
        let live = figure(&heap, "/pinned/live_objects");
        let (least, most) = ((threads * kept) as f64, (threads * (kept + every)) as f64);
        // The block that each capability is filling is read up to where it was last left. A program that runs replaces
        // up to three thousand objects in the millisecond between reading its blocks and reading what holds them.
        let least = if options.is_empty() { 0.98 } else { 0.999 } * least;
        let bounds = least..=1.01 * most;
        assert!(bounds.contains(&live), "{live} alive of {bounds:?}, {options:?}");
        sure += 1;
    }
    assert!(sure > 0 || options.is_empty(), "each time it was being collected");
    running.ends(&churned(threads, kept, turns).to_string());
}

#[test]
fn live_9_0_live_objects_are_reported() {
    live_objects_are_reported("ghc-9.0");
}

#[test]
fn live_9_6_live_objects_are_reported() {
    live_objects_are_reported("ghc-9.6");
}

#[test]
fn live_9_10_live_objects_are_reported() {
    live_objects_are_reported("ghc-9.10");
}

#[test]
fn live_9_0_bounds_hold_at_any_moment() {
    bounds_hold_at_any_moment("ghc-9.0");
}

#[test]
fn live_9_6_bounds_hold_at_any_moment() {
    bounds_hold_at_any_moment("ghc-9.6");
}

#[test]
fn live_9_10_bounds_hold_at_any_moment() {
    bounds_hold_at_any_moment("ghc-9.10");
}
