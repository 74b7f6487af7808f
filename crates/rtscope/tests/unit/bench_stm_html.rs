//! The page of `rtscope bench stm`: self-contained, escaped, bounded. With `RTSCOPE_PAGES=DIR`
//! the page is left there for the browser test.

use base64::Engine;
use rtscope_draw::page::SIZE_MAX;
use rtscope_lab::bench::stm::configurations::{self, Cores, Way};
use rtscope_lab::bench::stm::html as page;
use rtscope_lab::bench::stm::results::{Baselines, Measured, Runs, SCHEMA, StmPoint, StmResults, Timed};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

const EVIL: &str = "</script><script>alert(1)</script><img src=x>\"'&\u{202e}";

/// An experiment with so many benchmarks and runs of each; each configuration is a bit slower than the last.
fn found(benchmarks: usize, runs: usize) -> StmResults {
    let configurations = configurations::of(&Way::usual(true), Cores { all: 2, few: 1 });
    let times = |threads: u32, factor: f64| -> Vec<Timed> {
        let base = 1e8 * factor * f64::from(threads).sqrt();
        (0..runs).map(|block| Timed { block, ns: base * (1.0 + (block * 7 % 5) as f64 / 50.0) }).collect()
    };
    let points = || {
        let cells = [1, 2, 4, 8, 16, 32].into_iter().flat_map(|threads| {
            let default = times(threads, 1.0);
            configurations.iter().enumerate().filter_map(move |(index, one)| {
                let aborts = (0..runs).map(|run| f64::from(threads) * 1e5 + run as f64 * 1e4).collect();
                let factor = 1.0 + index as f64 / 10.0;
                let (own, few) = (Runs { times: times(threads, factor), aborts }, times(1, factor));
                let fewest = (threads > 1).then_some(few.as_slice());
                let baselines = Baselines { default: (index > 0).then_some(default.as_slice()), fewest };
                StmPoint::of(threads, one.name, own, baselines, 1)
            })
        });
        cells.collect::<Vec<_>>()
    };
    let measured = |index: usize| Measured {
        name: if index == 0 { EVIL.into() } else { format!("benchmark-{index}") },
        about: (index > 0).then_some("what it does"),
        command: format!("./{EVIL} {{threads}}"),
        points: points(),
    };
    StmResults {
        schema: SCHEMA,
        seed: 1,
        runs: runs as u32,
        cpus: Some(2),
        capabilities: 2,
        ended: Some(EVIL.into()),
        noisy: true,
        disturbed: 0,
        foreign: Some(0.01),
        benchmarks: (0..benchmarks).map(measured).collect(),
        configurations,
    }
}

fn pages_folder() -> PathBuf {
    std::env::var_os("RTSCOPE_PAGES")
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages"), PathBuf::from)
}

#[test]
fn pages_are_written_for_the_browser_test() {
    std::fs::create_dir_all(pages_folder()).expect("the folder for pages");
    std::fs::write(pages_folder().join("stm_bench.html"), page::stm_bench(&found(2, 8))).expect("writing a page");
}

#[test]
fn the_page_shows_all_of_it_and_loads_nothing() {
    let page = page::stm_bench(&found(2, 8));
    for id in ["verdict", "benchmark-1", "benchmark-2"] {
        assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
    }
    let styles: Vec<&str> = page.split("<style>").skip(1).filter_map(|rest| rest.split("</style>").next()).collect();
    let hash = |style: &&str| base64::engine::general_purpose::STANDARD.encode(Sha256::digest(style));
    let allowed: Vec<String> = styles.iter().map(|style| format!("'sha256-{}'", hash(style))).collect();
    assert_eq!(styles.len(), 2, "the sheet of all pages and that of the lines");
    assert!(page.contains(&format!("default-src 'none'; style-src {}; base-uri", allowed.join(" "))), "{allowed:?}");
    // Patterns of the page itself are referred to by name.
    let loads = page.replace("url(\"#", "");
    for word in ["src=\"", "href=", "url(", "@import", " style="] {
        assert!(!loads.contains(word), "{word}");
    }
    let shown = page.split("<script").next().unwrap();
    // Both plots of both benchmarks, each with seven lines of six points.
    assert_eq!((shown.matches("<svg viewBox").count(), shown.matches("<circle").count()), (2, 2 * 2 * 7 * 6));
    assert!(
        shown.contains("<td>1.600</td><td>1.600 to 1.600</td>")
            && shown.contains("of default</th>")
            && shown.contains("of 1 threads</th>"),
        "{shown}"
    );
}

#[test]
fn no_string_becomes_markup() {
    let page = page::stm_bench(&found(1, 3));
    assert_eq!(page.matches("<script").count(), 1, "only the data");
    assert!(!page.contains("<img"));
    let shown = page.split("<script").next().unwrap();
    assert!(!shown.contains('\u{202e}') && shown.contains("&lt;script&gt;"));
    let data = page.split("id=\"rtscope-data\">").nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
    let data: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!((&data["schema"], &data["benchmarks"][0]["name"]), (&json!("rtscope/stm-bench/1"), &json!(EVIL)));
    let point = &data["benchmarks"][0]["points"][1];
    assert_eq!((&point["configuration"], &point["times"][2]["block"]), (&json!("often"), &json!(2)));
}

#[test]
fn a_large_experiment_and_none_are_pages_too() {
    let mut large = found(2, 8);
    for point in large.benchmarks.iter_mut().flat_map(|benchmark| &mut benchmark.points) {
        point.times = (0..1000).map(|block| Timed { block, ns: 1e8 }).collect();
    }
    large.benchmarks = vec![large.benchmarks; 5].concat();
    let page = page::stm_bench(&large);
    assert!(page.len() < SIZE_MAX && page.contains("id=\"benchmark-10\""), "{}", page.len());
    let nothing = page::stm_bench(&found(0, 0));
    assert!(!nothing.contains("NaN") && !nothing.contains("inf\""));
}
