//! Every figure on the page is one of `report --json`, rounded by the rules of `crates/model/src/units.rs`:
//! tables cell by cell, each column and row by its key; drawings by what their shapes say.

use testkit::results as common;

use rtscope_model::text::clean;
use rtscope_model::units;
use rtscope_report::{html, json};
use serde_json::Value;

/// A table: its column heads and its rows, as text.
struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Text without tags, its entities resolved.
fn text(html: &str) -> String {
    let mut out = String::new();
    for (index, part) in html.split('<').enumerate() {
        out.push_str(if index == 0 { part } else { part.split_once('>').map_or("", |(_, text)| text) });
    }
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&middot;", "·"), ("&amp;", "&")];
    entities.iter().fold(out, |out, (entity, sign)| out.replace(entity, sign)).trim().to_owned()
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Vec<&'t str> {
    text.split(start).skip(1).filter_map(|rest| Some(rest.split_once(end)?.0)).collect()
}

fn tables(html: &str) -> Vec<Table> {
    let cells = |row: &str| -> Vec<String> {
        row.split("<t")
            .skip(1)
            .filter(|cell| cell.starts_with("h ") || cell.starts_with("d>"))
            .map(|cell| {
                let cell = cell.split_once('>').map_or("", |(_, cell)| cell);
                text(cell.split("</t").next().unwrap_or(""))
            })
            .collect()
    };
    let table = |html: &str| {
        let (head, body) = html.split_once("</thead>").expect("a head");
        Table { heads: cells(head), rows: between(body, "<tr>", "</tr>").into_iter().map(cells).collect() }
    };
    between(html, "<table>", "</table>").into_iter().map(table).collect()
}

fn section<'p>(page: &'p str, id: &str) -> &'p str {
    between(page, &format!("<section id=\"{id}\">"), "</section>").first().copied().unwrap_or("")
}

/// How a figure of the document is written: `null` is a dash.
fn said(value: &Value, how: fn(f64) -> String) -> String {
    value.as_f64().map_or_else(|| "-".into(), how)
}

fn ns(value: f64) -> String {
    units::duration(value as u64)
}

fn bytes(value: f64) -> String {
    units::bytes(value.max(0.0) as u64)
}

fn count(value: f64) -> String {
    units::count(value as u64)
}

fn of_run(document: &Value, sum: &Value) -> String {
    match (sum.as_u64(), document["span_ns"].as_u64()) {
        (Some(sum), Some(span)) => units::percent_of(sum, span),
        _ => "-".into(),
    }
}

/// What the row of a distribution has to contain.
fn distribution(document: &Value, d: &Value) -> Vec<String> {
    if d["count"] == 0 {
        return ["-", "-", "-", "-", "unknown", "-"].map(String::from).to_vec();
    }
    let mut row: Vec<String> = ["p50", "p90", "p99", "max", "sum"].map(|key| said(&d[key], ns)).to_vec();
    row.push(of_run(document, &d["sum"]));
    row
}

fn check_pauses(name: &str, document: &Value, table: &Table) -> usize {
    let pauses = &document["pauses"];
    let outside = document["span_ns"].as_u64().unwrap_or(0).saturating_sub(pauses["total_ns"].as_u64().unwrap_or(0));
    let mut seen = 0;
    for row in &table.rows {
        let figures = &row[1..];
        let wanted = match row[0].as_str() {
            "outside pauses" => {
                let mut row = vec!["-".to_owned(); 4];
                row.extend([units::duration(outside), of_run(document, &outside.into())]);
                row
            }
            "waiting for all to stop" => distribution(document, &pauses["time_to_stop_ns"]),
            "collecting" => distribution(document, &pauses["collect_ns"]),
            "restarting" => distribution(document, &pauses["release_ns"]),
            "whole pause" => distribution(document, &pauses["pause_ns"]),
            // What is left of all pauses when the parts are subtracted.
            "in pauses not seen whole" => continue,
            other => panic!("{name}: what is the row {other}?"),
        };
        assert_eq!(figures, wanted, "{name}: {}", row[0]);
        seen += figures.len();
    }
    seen
}

/// The page lists each cause once, the document once for each process that caused it.
fn check_causes(name: &str, document: &Value, table: &Table) -> usize {
    let mut sums: Vec<(String, u64, f64)> = Vec::new();
    for cause in document["causes"].as_array().expect("causes") {
        let occupied = cause["cause"] == "wake-latency" && !cause["who"].is_null();
        let key = format!("{}{occupied}", cause["cause"]);
        let (sum, share) = (cause["sum_ns"].as_u64().unwrap_or(0), cause["share"].as_f64().unwrap_or(0.0));
        match sums.iter_mut().find(|known| known.0 == key) {
            Some(known) => (known.1, known.2) = (known.1 + sum, known.2 + share),
            None => sums.push((key, sum, share)),
        }
    }
    sums.retain(|sum| sum.1 > 0);
    let mut wanted: Vec<_> = sums.iter().map(|sum| (units::duration(sum.1), units::percent(sum.2))).collect();
    let mut shown: Vec<_> = table.rows.iter().map(|row| (row[1].clone(), row[2].clone())).collect();
    wanted.sort();
    shown.sort();
    assert_eq!(shown, wanted, "{name}: causes");
    shown.len() * 2
}

fn check_lanes(name: &str, document: &Value, table: &Table) -> usize {
    let mut seen = 0;
    let lanes = document["lanes"].as_array().expect("lanes");
    // Of many lanes, those that held others up come first.
    let called = |lane: &&Value, name: &str| lane["name"].as_str().is_some_and(|own| clean(own) == name);
    for (index, row) in table.rows.iter().enumerate() {
        let named = || lanes.iter().find(|lane| called(lane, &row[0]));
        let lane = if lanes.len() <= 4 { lanes.get(index) } else { named() };
        let lane = lane.unwrap_or_else(|| panic!("{name}: {row:?}"));
        for (head, cell) in table.heads.iter().zip(row) {
            let wanted = match head.as_str() {
                "program" => said(&lane["mutator_ns"], ns),
                "collect" => said(&lane["collect_ns"], ns),
                "stop wait" => said(&lane["stop_wait_ns"], ns),
                "restart" => said(&lane["release_wait_ns"], ns),
                "idle" => said(&lane["idle_ns"], ns),
                "GC start wait" => {
                    assert_eq!(cell.trim_start_matches('~'), said(&lane["leadership_wait_ns"], ns), "{name}: {head}");
                    continue;
                }
                "blocked" => {
                    let waits = ["stop_wait_ns", "release_wait_ns", "leadership_wait_ns"];
                    let waited: u64 = waits.iter().filter_map(|key| lane[key].as_u64()).sum();
                    lane["life_ns"].as_u64().map_or("-".into(), |life| units::percent_of(waited.min(life), life))
                }
                "held up" | "for" => {
                    let all = document["held_up"].as_array().expect("lanes that held pauses up");
                    let said_of = |one: &Value| match head.as_str() {
                        "for" => said(&one["sum_ns"], ns),
                        _ => said(&one["count"], count),
                    };
                    all.iter().find(|one| one["lane"] == lane["id"]).map_or("-".into(), said_of)
                }
                "in all" => said(&lane["allocated_bytes"], bytes),
                "rate" => said(&lane["allocation_bytes_per_second"], |rate| format!("{}/s", bytes(rate))),
                "nursery used" => said(&lane["nursery_use"]["mean"], units::percent),
                "least" => said(&lane["nursery_use"]["min"], units::percent),
                // Invisible characters in a name are made visible.
                "capabilities" | "domains" | "allocation" => continue,
                other => panic!("{name}: what is the column {other}?"),
            };
            assert_eq!(*cell, wanted, "{name}: {head} of lane {}", lane["id"]);
            seen += 1;
        }
    }
    seen
}

fn check_generations(name: &str, document: &Value, table: &Table) -> usize {
    let all = document["pauses"]["by_generation"].as_array().expect("generations");
    assert_eq!(table.rows.len(), all.len(), "{name}");
    for (row, one) in table.rows.iter().zip(all) {
        let of_ocaml = document["runtime"]["family"] == "ocaml";
        let named = |number: u64| {
            if of_ocaml { ["minor", "major"][number as usize].to_owned() } else { format!("generation {number}") }
        };
        let mut wanted = vec![named(one["generation"].as_u64().unwrap_or(0)), said(&one["count"], count)];
        wanted.extend(["p50", "max", "sum"].map(|key| said(&one["collect_ns"][key], ns)));
        wanted.push(said(&one["copied_bytes"], bytes));
        assert_eq!(*row, wanted, "{name}");
    }
    all.len() * 5
}

fn check_windows(name: &str, document: &Value, table: &Table) -> usize {
    let all = document["mmu"].as_array().expect("windows");
    assert_eq!(table.rows.len(), all.len(), "{name}");
    for (row, one) in table.rows.iter().zip(all) {
        let shown = [&row[0], &row[1], &row[3]].map(String::clone);
        let window = said(&one["window_ns"], units::tick_label);
        assert_eq!(shown, [window, said(&one["utilization"], units::percent), said(&one["bounded"], units::percent)]);
    }
    all.len() * 3
}

fn check_memory(name: &str, document: &Value, table: &Table) -> usize {
    for row in &table.rows {
        let key = match row[0].as_str() {
            "RSS" => "rss_bytes",
            "heap held" => "heap_bytes",
            "in blocks" => "blocks_bytes",
            "live" => "live_bytes",
            "residency" => "residency_bytes",
            "slop" => "slop_bytes",
            other => panic!("{name}: what is the row {other}?"),
        };
        let level = &document["memory"][key];
        assert_eq!(row[1..4], ["max", "mean", "last"].map(|part| said(&level[part], bytes)), "{name}: {key}");
    }
    table.rows.len() * 3
}

#[test]
fn every_figure_in_a_table_is_the_documents() {
    let mut seen = 0;
    for fixture in common::all() {
        let (name, page) = (fixture.name, html::page(&fixture.results, &fixture.names, &[]));
        let document = json::document(&fixture.results);
        for id in ["figures", "utilisation", "memory", "allocation"] {
            for table in tables(section(&page, id)) {
                let first = table.heads.first().map_or("", String::as_str);
                seen += match first {
                    "pauses" => check_pauses(name, &document, &table),
                    "why pauses waited" => check_causes(name, &document, &table),
                    "capabilities" | "domains" | "allocation" => check_lanes(name, &document, &table),
                    "collections" => check_generations(name, &document, &table),
                    "in any window of" => check_windows(name, &document, &table),
                    "memory" => check_memory(name, &document, &table),
                    "where the memory is" => 0,
                    heap if heap.starts_with("heap by ") => 0,
                    other => panic!("{name}: what is the table {other}?"),
                };
            }
        }
    }
    assert!(seen > 1_500, "{seen} figures");
}

/// The tooltips of a drawing's shapes.
fn titles(html: &str) -> Vec<String> {
    between(html, "<title>", "</title>").into_iter().map(text).collect()
}

#[test]
fn every_column_and_every_window_in_a_drawing_is_the_documents() {
    let mut seen = 0;
    for fixture in common::all() {
        let page = html::page(&fixture.results, &fixture.names, &[]);
        let document = json::document(&fixture.results);
        let column = |one: &Value| {
            let pauses = units::counted(one["count"].as_u64().unwrap_or(0), "pause", "pauses");
            let words = [&one["from_ns"], &one["to_ns"], &one["sum_ns"]].map(|value| said(value, ns));
            format!("{pauses} of {} to {}, {} in all", words[0], words[1], words[2])
        };
        let columns: Vec<String> = document["spectrum"].as_array().expect("columns").iter().map(column).collect();
        for title in titles(section(&page, "distribution")) {
            assert!(columns.contains(&title), "{}: {title} is not among {columns:?}", fixture.name);
            seen += 1;
        }
        let window = |one: &Value| {
            let (length, shares) = (said(&one["window_ns"], units::tick_label), ["utilization", "bounded"]);
            let [at_least, or_longer] = shares.map(|key| said(&one[key], units::percent));
            format!("any {length}: at least {at_least} outside pauses; any {length} or longer: {or_longer}")
        };
        let windows: Vec<String> = document["mmu"].as_array().expect("windows").iter().map(window).collect();
        for title in titles(section(&page, "utilisation")) {
            assert!(windows.contains(&title), "{}: {title}", fixture.name);
            seen += 1;
        }
    }
    assert!(seen > 300, "{seen} shapes");
}

#[test]
fn what_findings_say_and_cost_is_the_documents() {
    let mut seen = 0;
    for fixture in common::all().into_iter().filter(|fixture| fixture.name != "hostile") {
        let shown = text(section(&html::page(&fixture.results, &fixture.names, &[]), "verdict"));
        for finding in json::document(&fixture.results)["findings"].as_array().expect("findings") {
            // Text between backticks is code there.
            let of = |key: &str| finding[key].as_str().unwrap_or("-").replace('`', "");
            let share = said(&finding["share"], units::percent);
            assert!(shown.contains(&of("claim")) && shown.contains(&of("id")) && shown.contains(&share), "{shown}");
            if finding["cost_bytes"].is_null() {
                assert!(shown.contains(&format!("costs {}", said(&finding["cost_ns"], ns))), "{shown}");
            }
            for evidence in finding["evidence"].as_array().expect("evidence") {
                let text = evidence["text"].as_str().expect("a text").replace('`', "");
                assert!(shown.contains(&text), "{shown}");
                seen += 1;
            }
        }
    }
    assert!(seen > 5, "{seen}");
}

/// The longest pauses: lengths in the drawing are differences between the times in `report --pauses`.
#[test]
fn the_parts_of_a_drawn_pause_are_those_of_its_line() {
    let fixture = common::by_name("throttled");
    let page = html::page(&fixture.results, &fixture.names, &[]);
    let data = between(&page, "id=\"rtscope-data\">", "</script>")[0];
    let data: Value = serde_json::from_str(data).expect("the data");
    let mut articles = between(section(&page, "worst"), "<article", "</article>");
    // Pauses that look alike lie together.
    articles.sort_by_key(|article| between(article, "<h3>", ".")[0].parse::<usize>().expect("a place"));
    let worst = data["drawing"]["worst"].as_array().expect("pauses");
    assert_eq!(articles.len(), worst.len());
    for (article, one) in articles.iter().zip(worst) {
        let pause = &one["pause"];
        let at = |value: &Value| value.as_u64().expect("a moment");
        let from = pause["requested_ns"].as_u64().unwrap_or(at(&pause["stopped_ns"]));
        let parts = [
            format!("stop {}", units::duration(at(&pause["stopped_ns"]) - from)),
            format!("collect {}", units::duration(at(&pause["collected_ns"]) - at(&pause["stopped_ns"]))),
            format!("restart {}", units::duration(at(&pause["released_ns"]) - at(&pause["collected_ns"]))),
        ];
        let titles = titles(article);
        for part in parts.iter().filter(|part| !part.ends_with(" 0")) {
            assert!(titles.contains(part), "{part}: {titles:?}");
        }
        for lane in pause["lanes"].as_array().expect("lanes") {
            let stopped = format!("stopped after {}", units::duration(at(&lane["arrived_ns"]).saturating_sub(from)));
            assert!(titles.contains(&stopped), "{stopped}: {titles:?}");
        }
        let length = units::duration(at(&pause["released_ns"]) - from);
        assert!(article.split_once('>').is_some_and(|(_, inside)| text(inside).contains(&length)), "{length}");
    }
}
