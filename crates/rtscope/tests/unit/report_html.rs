//! The page of every situation: balanced, escaped, self-contained, bounded.
//! With `RTSCOPE_PAGES=DIR` the pages are left there for the browser test.

use testkit::results as common;

use base64::Engine;
use rtscope_analyze::results::LanesOverTime;
use rtscope_analyze::results::requests::WHATS;
use rtscope_analyze::results::{Column, Mmu, NurseryUse};
use rtscope_draw::page::SIZE_MAX;
use rtscope_model::{LaneId, Time};
use rtscope_report::html;
use sha2::{Digest, Sha256};
use std::path::PathBuf;

fn page(name: &str) -> String {
    let fixture = common::by_name(name);
    html::page(&fixture.results, &fixture.names, &[])
}

#[test]
fn pages_are_written_for_the_browser_test() {
    let folder = std::env::var_os("RTSCOPE_PAGES")
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages"), PathBuf::from);
    std::fs::create_dir_all(&folder).expect("the folder for pages");
    for fixture in common::all() {
        let text = html::page(&fixture.results, &fixture.names, &[]);
        assert!(text.len() < SIZE_MAX, "{}: {} bytes", fixture.name, text.len());
        std::fs::write(folder.join(format!("{}.html", fixture.name)), text).expect("writing a page");
    }
}

/// Names of the tags in `html` that do not nest; empty if it is well-formed.
fn unbalanced(html: &str) -> Vec<String> {
    const VOID: [&str; 4] = ["meta", "!DOCTYPE", "br", "img"];
    let mut open: Vec<&str> = Vec::new();
    let mut wrong = Vec::new();
    let mut rest = html;
    while let Some((_, after)) = rest.split_once('<') {
        let Some((tag, after)) = after.split_once('>') else {
            wrong.push("a tag without an end".into());
            break;
        };
        let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap_or("");
        if tag.starts_with('/') {
            if open.pop() != Some(name) {
                wrong.push(format!("</{name}>"));
            }
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
        rest = after;
    }
    wrong.extend(open.into_iter().map(String::from));
    wrong
}

#[test]
fn the_check_of_nesting_sees_what_is_wrong() {
    assert!(unbalanced("<a><b x=\"1\"/></a><meta y>").is_empty());
    assert_eq!(unbalanced("<a><b></a>"), ["</a>", "a"]);
    assert_eq!(unbalanced("<a"), ["a tag without an end"]);
}

#[test]
fn tags_nest_in_every_situation() {
    for fixture in common::all() {
        let wrong = unbalanced(&html::page(&fixture.results, &fixture.names, &[]));
        assert!(wrong.is_empty(), "{}: {wrong:?}", fixture.name);
    }
}

#[test]
fn what_lanes_did_fills_columns_and_stays_in_its_strip() {
    let mut fixture = common::throttled();
    let column_ns = fixture.results.span_ns / 4;
    let full = [column_ns / 4, column_ns / 2, 0, 0, column_ns / 4, 0, 0, 0, 0, 0];
    let lanes = vec![(LaneId(0), vec![full; 4])];
    fixture.results.drawing.lanes = Some(LanesOverTime { from: common::START, column_ns, lanes, left_out: 3 });
    let page = html::page(&fixture.results, &fixture.names, &[]);
    let section = between(&page, "<section id=\"lanes\">", "</section>");
    for (class, words, box_) in [
        ("program", "program", "V25.5H"),
        ("collecting", "collecting", "V12.5H"),
        ("throttled", "throttled: the CPU quota was used up", "V6.0H"),
    ] {
        let shape = between(section, &format!("<path class=\"fill-{class}\" d=\""), "</path>");
        assert!(
            shape.contains(&format!("<title>{words}</title>")) && shape.matches(box_).count() == 4,
            "{words}: {shape}"
        );
        assert!(section.contains(&format!("class=\"fill-{class}\"/></svg> {words}</span>")), "{words} in the legend");
    }
    assert!(!section.contains("getting back"), "what was not there has neither a shape nor a colour");
    assert!(section.contains("3 more rows are not drawn"));
}

#[test]
fn drawings_that_are_given_stand_in_the_page() {
    let fixture = common::throttled();
    let folder = tempfile::tempdir().expect("a folder");
    let (one, large) = (folder.path().join("one.svg"), folder.path().join("large.svg"));
    std::fs::write(&one, "<svg aria-label=\"time and memory\"><script>alert(1)</script></svg>").expect("a drawing");
    std::fs::write(&large, format!("<svg>{}</svg>", " ".repeat(html::PLOTS_MAX))).expect("a drawing");
    let page = html::page(&fixture.results, &fixture.names, &html::read_plots(&[&one]).expect("a plot"));
    assert!(unbalanced(&page).is_empty());
    assert!(page.contains("<img alt=\"time and memory\" src=\"data:image/svg+xml;base64,"));
    assert!(between(&page, "Content-Security-Policy\" content=\"", "\">").contains(" img-src data:;"));
    assert_eq!(page.matches("<script").count(), 2, "the data, and the copy buttons");
    let refused = |path: &PathBuf| html::read_plots(&[path]).err().expect("refused").to_string();
    assert!(refused(&large).contains("more than 256 KiB"), "{}", refused(&large));
    assert!(refused(&folder.path().join("none.svg")).contains("No such file"));
}

#[test]
fn no_string_of_the_program_becomes_markup() {
    let page = page("hostile");
    assert_eq!(page.matches("<script").count(), 2, "the data, and the copy buttons");
    assert!(!page.contains("<img") && !page.contains("<!--"));
    let shown = page.split("<script").next().unwrap_or("");
    assert!(!shown.contains('\x1b') && !shown.contains('\u{202e}'));
    assert!(page.contains("&lt;img src=http://example.invalid/x onerror=alert(2)&gt;&quot;&#39;&amp;"));
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    // Patterns and sections of the page itself are referred to by name.
    let page = page("throttled").replace("url(\"#", "").replace("href=\"#", "");
    for word in ["http://", "https://", "src=", "href=", "url(", "@import", " style=", " on"] {
        let hits: Vec<_> = page.match_indices(word).filter(|(at, _)| word != " on" || is_handler(&page, *at)).collect();
        assert!(hits.is_empty(), "{word} in the page at {hits:?}");
    }
}

/// Whether ` on…` at `at` is an attribute such as ` onclick=`.
fn is_handler(page: &str, at: usize) -> bool {
    let word: String = page.get(at + 1..).unwrap_or("").chars().take_while(char::is_ascii_alphabetic).collect();
    page.get(at + 1 + word.len()..).is_some_and(|rest| rest.starts_with('='))
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text)))
}

/// The hashes of all elements that begin with `tag`.
fn hashes(page: &str, tag: &str, end: &str) -> Vec<String> {
    page.split(tag).skip(1).filter_map(|rest| Some(hash(rest.split_once(end)?.0))).collect()
}

#[test]
fn the_policy_allows_the_style_sheet_and_the_copy_buttons_and_nothing_else() {
    let page = page("throttled");
    let style = hash(between(&page, "<style>", "</style>"));
    let [copy] = &hashes(&page, "<script>", "</script>")[..] else { panic!("one script") };
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\">");
    let wanted =
        format!("default-src 'none'; style-src {style}; script-src {copy}; base-uri 'none'; form-action 'none'");
    assert_eq!(policy, wanted, "style.css or copy.js changed: put its new hash into page.rs");
}

#[test]
fn a_page_without_anything_to_paste_has_no_script() {
    assert_eq!(hashes(&page("healthy"), "<script>", "</script>"), [""; 0]);
}

#[test]
fn the_policy_of_a_page_with_a_map_allows_its_style_and_its_script_too() {
    let page = page("heap_map");
    let (styles, scripts) = (hashes(&page, "<style>", "</style>"), hashes(&page, "<script>", "</script>"));
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\">");
    let [style, map] = [&styles, &scripts].map(|hashes| hashes.last().map_or("", String::as_str));
    assert!(
        styles.len() == 2 && policy.contains(style) && policy.contains(map),
        "the style or the script of the map changed: put its new hash into heap_map.rs: {policy}"
    );
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    text.split_once(start).and_then(|(_, rest)| rest.split_once(end)).map_or("", |(inner, _)| inner)
}

fn data(page: &str) -> serde_json::Value {
    let json = between(page, "id=\"rtscope-data\">", "</script>");
    serde_json::from_str(json).expect("the embedded data is JSON")
}

#[test]
fn the_figures_are_embedded() {
    let data = data(&page("hostile"));
    assert_eq!(data["schema"], "rtscope/page/1");
    assert_eq!(data["results"]["schema"], "rtscope/report/1");
    assert_eq!(data["results"]["span_ns"], 3_000_000_000u64);
    assert_eq!(data["drawing"]["worst"].as_array().map(Vec::len), Some(10));
    assert_eq!(data["drawing"]["worst"][0]["states"][0]["spans"][0]["state"], "running");
    let path = data["results"]["source"]["path"].as_str().unwrap_or("");
    assert!(path.starts_with("</script><script>"), "the text itself survives: {path}");
}

#[test]
fn the_map_has_the_figures_of_the_looks() {
    let fixture = common::by_name("heap_map");
    let page = html::page(&fixture.results, &fixture.names, &[]);
    let json = between(&page, "id=\"rtscope-heaps\">", "</script>");
    let data: serde_json::Value = serde_json::from_str(json).expect("the data of the map is JSON");
    let shots = data["shots"].as_array().expect("snapshots");
    assert_eq!(shots.len(), fixture.results.heaps.len());
    for (shot, heap) in shots.iter().zip(&fixture.results.heaps) {
        for (class, word) in [("h-pinned", "pinned"), ("h-old", "small"), ("h-free", "free")] {
            let wanted = heap.kinds.iter().find(|kind| kind.kind == word).map_or(0, |kind| kind.block_bytes);
            assert_eq!(shot["kinds"][class][0].as_u64().unwrap_or(0), wanted, "{class}");
        }
        let live = heap.ledger.iter().filter(|line| line.part == rtscope_model::heap::Part::Live);
        assert_eq!(shot["ledger"]["live"][0].as_u64(), Some(live.map(|line| line.bytes).sum()));
    }
    assert_eq!(page.matches("<title>look at the heap: ").count(), shots.len(), "marks on the memory plot");
    assert_eq!(page.matches("<script ").count(), 2, "the figures and the map");
}

#[test]
fn lists_that_are_too_long_are_cut_and_counted() {
    let mut fixture = common::many_lanes();
    assert!(data(&html::page(&fixture.results, &fixture.names, &[]))["left_out"].as_u64() > Some(0));
    // Absurd amounts of everything still give a page that opens.
    let long = "x".repeat(100_000);
    for loss in &mut fixture.results.losses {
        loss.note.clone_from(&long);
    }
    let finding = fixture.results.findings.first().cloned().expect("a finding");
    fixture.results.findings = vec![finding; 5_000];
    let slice = fixture.results.drawing.over_time.last().copied().expect("a slice");
    fixture.results.drawing.over_time = vec![slice; 50_000];
    let worst = fixture.results.drawing.worst.clone();
    fixture.results.drawing.worst = worst.iter().cycle().take(500).cloned().collect();
    for memory in &mut fixture.results.drawing.memory {
        memory.points = memory.points.iter().copied().cycle().take(100_000).collect();
    }
    let page = html::page(&fixture.results, &fixture.names, &[]);
    assert!(page.len() < SIZE_MAX, "{} bytes", page.len());
    assert!(unbalanced(&page).is_empty());
}

/// Figures that no run has, but a damaged log may: nothing may panic, hang, or leave the limits of the formats.
#[test]
fn absurd_figures_are_shown_all_the_same() {
    for extreme in [0, 1, u64::MAX] {
        let mut fixture = common::throttled();
        let results = &mut fixture.results;
        results.span_ns = extreme;
        results.pauses.total_ns = extreme;
        results.pauses.per_second = f64::INFINITY;
        results.productivity.wall = Some(f64::NAN);
        for d in [&mut results.pauses.time_to_stop_ns, &mut results.pauses.pause_ns] {
            d.sum = Some(extreme);
            d.p50 = Some(extreme);
            d.p99 = None;
            d.max = Some(extreme);
        }
        results.causes.iter_mut().for_each(|sum| (sum.sum_ns, sum.share) = (extreme, f64::NEG_INFINITY));
        results.lanes.iter_mut().for_each(|lane| lane.idle_ns = Some(extreme));
        let column = |from_ns, to_ns, count| Column { from_ns, to_ns, count, sum_ns: extreme };
        results.spectrum = vec![column(extreme, 0, 1), column(0, extreme, extreme), column(1, 1, 1)];
        let mmu = |window_ns, share| Mmu { window_ns, utilization: share, bounded: share };
        results.mmu = vec![mmu(0, f64::NAN), mmu(1, -1.0), mmu(extreme, f64::INFINITY)];
        results.sparks = common::concurrent().results.sparks;
        results.sparks.iter_mut().for_each(|sparks| sparks.all.converted = extreme);
        for lane in &mut results.lanes {
            lane.allocated_bytes = Some(extreme);
            lane.allocation_bytes_per_second = Some(f64::NAN);
            lane.nursery_use = Some(NurseryUse { mean: f64::INFINITY, min: f64::NAN });
        }
        if let Some(level) = &mut results.memory.rss_bytes {
            (level.max, level.mean) = (extreme, f64::NAN);
        }
        let drawing = &mut results.drawing;
        for slice in &mut drawing.over_time {
            (slice.to, slice.max_ns, slice.stop_ns) = (Time(extreme), extreme, extreme);
        }
        for line in &mut drawing.memory {
            line.points.iter_mut().for_each(|(at, bytes)| (*at, *bytes) = (Time(extreme), extreme));
        }
        let slowest = results.slowest_pauses.as_mut().map(|slowest| &mut slowest.account);
        for account in results.account.iter_mut().chain(slowest) {
            account.lanes_ns = extreme.max(1);
            account.parts.iter_mut().for_each(|part| part.ns = extreme / 2);
        }
        for worst in &mut drawing.worst {
            worst.blamed.pause.stopped = Time(extreme);
            worst.blamed.pause.released = Time(0);
            worst.blamed.causes.iter_mut().for_each(|piece| piece.to = Time(extreme));
            worst.states.iter_mut().flat_map(|lane| &mut lane.spans).for_each(|span| span.to = Time(extreme));
        }
        let page = html::page(&fixture.results, &fixture.names, &[]);
        assert!(unbalanced(&page).is_empty() && page.len() < SIZE_MAX);
        assert!(!page.contains("NaN") && !page.contains("=\"inf"), "a drawing with a coordinate that is no number");
        let shown = rtscope_report::text::render(&fixture.results, &rtscope_terminal::style::Style::plain(80));
        // Two accounts, and the tables of the page.
        assert!(shown.lines().count() < 110, "{shown}");
        let first = rtscope_report::text::first_screen(&fixture.results, &rtscope_terminal::style::Style::plain(80));
        assert!(first.lines().count() < 60, "{first}");
    }
}

#[test]
fn the_drawing_of_requests_is_a_file_of_its_own() {
    let mut fixture = common::by_name("loaded");
    // The slowest requests waited for everything in turn.
    let whats = WHATS.into_iter().map(Some).chain([None]).cycle();
    let slow = &mut fixture.results.requests.as_mut().expect("requests").drawing.slow;
    slow.iter_mut().zip(whats).for_each(|(slow, what)| slow.2 = what);
    let drawing = rtscope_report::drawings::requests_svg(&fixture.results).expect("requests");
    assert!(drawing.starts_with("<svg xmlns=") && unbalanced(&drawing).is_empty());
    let used = common::classes::used(&drawing);
    for class in ["collect", "stop", "release", "k-runnable", "unsplit", "m-rss"] {
        assert!(used.contains(class), "{class}: {used:?}");
    }
    assert_eq!(common::classes::without_style(&drawing), [""; 0]);
}
