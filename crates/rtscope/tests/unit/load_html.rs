//! The page and the drawing of a load: self-contained, escaped, bounded, whatever the
//! document holds. With `RTSCOPE_PAGES=DIR` the page is left there for the browser test.

use testkit::results::classes;

use base64::Engine;
use rtscope_draw::page::SIZE_MAX;
use rtscope_lab::load::{html as page, svg};
use rtscope_load::document::Document;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const EVIL: &str = "http://a/</script><script>alert(1)</script><img src=x>\"'&\u{202e}";

fn second(number: u64) -> Value {
    let stalls = number % 10 == 6;
    let some = |ns: u64| if stalls { Value::Null } else { json!(ns * (1 + number % 3)) };
    json!({
        "from_ns": number * SECOND, "lasts_ns": SECOND, "due": 500, "fine": if stalls { 0 } else { 480 },
        "failed": if number % 10 == 7 { 300 } else { 0 }, "p50_ns": some(2 * MS), "p90_ns": some(5 * MS),
        "p99_ns": some(90 * MS), "max_ns": some(700 * MS), "waiting": 0, "in_flight": 3, "oldest_ns": 0,
    })
}

/// A load of so many seconds, as in its document.
fn load(seconds: u64) -> Document {
    let figures = |scale: u64| {
        json!({
            "count": 500 * seconds, "min_ns": scale, "mean_ns": scale as f64 * 3.0, "p50_ns": 2 * scale, "p90_ns": 5 * scale,
            "p99_ns": 90 * scale, "p99_interval_ns": [80 * scale, 99 * scale], "p999_ns": 600 * scale, "max_ns": 700 * scale,
        })
    };
    let document = json!({
        "schema": "rtscope/load/1", "url": EVIL, "protocol": "http/1.1", "method": "GET", "profile": [],
        "warm_up_ns": SECOND, "timeout_ns": SECOND, "connections": 100, "streams": null, "threads": 1,
        "started": { "monotonic_ns": 5, "unix_ns": 6 }, "took_ns": seconds * SECOND + 2 * MS, "ended": "limit",
        "limit": EVIL, "requests": {
            "due": 500 * seconds, "fine": 480 * seconds, "failed": 20 * seconds, "unfinished": 0, "warm_up": 0, "warm_up_failed": 0,
        },
        "errors": { "connect": 0, "closed": 7, "protocol": 0, "timeout": 1, "status": { "503": 12 } },
        "rate": { "due": 500.0, "fine": 480.0 },
        "latency": {
            "all": figures(MS), "fine": figures(MS), "failed": figures(MS), "late": figures(100), "queued": figures(1_000),
            "service": figures(MS),
        },
        "opened": 9, "seconds": (0..seconds).map(second).collect::<Vec<_>>(), "kept": null,
        "doubts": ["given-up", "errors"],
    });
    let mut document: Document = serde_json::from_value(document).expect("the documented keys");
    let share = |step: u32| 1.0 - 10f64.powf(-f64::from(step) / 10.0);
    document.curve = (0..40).map(|step| (share(step), MS * u64::from(step + 1).pow(2))).collect();
    document
}

/// A load in which nothing happened.
fn nothing() -> Document {
    let mut none = load(0);
    (none.took_ns, none.warm_up_ns) = (0, 0);
    none.curve.clear();
    none.latency.all = Default::default();
    none
}

fn pages_folder() -> PathBuf {
    std::env::var_os("RTSCOPE_PAGES")
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages"), PathBuf::from)
}

#[test]
fn pages_are_written_for_the_browser_test() {
    std::fs::create_dir_all(pages_folder()).expect("the folder for pages");
    std::fs::write(pages_folder().join("load.html"), page::load(&load(40))).expect("writing a page");
}

#[test]
fn the_page_shows_all_of_it_and_loads_nothing() {
    let page = page::load(&load(40));
    for id in ["verdict", "figures", "over-time", "curve"] {
        assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
    }
    let style = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap();
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(style));
    assert!(page.contains(&format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri")));
    // Patterns and sections of the page itself are referred to by name.
    let loads = page.replace("url(\"#", "").replace("href=\"#", "");
    for word in ["src=\"", "href=", "url(", "@import", " style="] {
        assert!(!loads.contains(word), "{word}");
    }
    let shown = page.split("<script").next().unwrap();
    assert!(shown.contains("given up") && shown.contains("12 with 503") && shown.contains("p99.9"));
    // Three lines are interrupted where nothing ended, in each of four stalls.
    assert_eq!(shown.matches("<path class=\"m-rss\"").count(), 5, "{shown}");
}

#[test]
fn no_string_of_the_load_becomes_markup() {
    let page = page::load(&load(3));
    assert_eq!(page.matches("<script").count(), 1, "only the data");
    assert!(!page.contains("<img"));
    let shown = page.split("<script").next().unwrap();
    assert!(!shown.contains('\u{202e}') && shown.contains("&lt;script&gt;"));
    let data = page.split("id=\"rtscope-data\">").nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
    let data: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!((&data["schema"], &data["url"]), (&json!("rtscope/load/1"), &json!(EVIL)));
}

#[test]
fn a_day_and_nothing_are_drawn_too() {
    let day = load(86_400);
    assert!(page::load(&day).len() < SIZE_MAX && svg::document(&day).len() < 200_000);
    for drawn in [page::load(&nothing()), svg::document(&nothing()), page::load(&day), svg::document(&load(2))] {
        assert!(!drawn.contains("NaN") && !drawn.contains("inf\""), "{drawn}");
    }
    assert!(!page::load(&nothing()).contains("id=\"curve\""));
}

#[test]
fn the_drawing_is_a_file_of_its_own() {
    let drawing = svg::document(&load(40));
    assert!(drawing.starts_with("<svg xmlns=") && drawing.ends_with("</svg>"));
    assert!(drawing.contains("requests per second") && drawing.contains("warm-up over"));
    assert!(["m-live", "m-rss", "mark", "stop"].iter().all(|class| classes::used(&drawing).contains(class)));
    assert_eq!(classes::without_style(&drawing), [""; 0]);
}
