//! What delayed pauses is answered alike wherever it is asked: report and its JSON, each pause's line, page and
//! view; and what is not known is null, never 0. Owns asking all of them about one recording.

use rtscope_read::{input, pipeline};
use rtscope_report::html::page;
use rtscope_report::pauses_json;
use rtscope_report::{text, units};
use rtscope_terminal::style::Style;
use rtscope_view::ViewArgs;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// If there are more lanes than this, a page does not show all of them.
const LANES_SHOWN: usize = 8;

/// Asserts this for the recording at `path`; gives its report as JSON.
pub fn are_one(path: &Path) -> Value {
    let name = path.display();
    let input = input::open(path, None).unwrap();
    let mut lines = Vec::new();
    let mut keep = |pause: &_, names: &_, symbols: &_| pauses_json::write(&mut lines, pause, names, symbols).unwrap();
    let (results, names) = pipeline::analyse(&input, &pipeline::Options::new(path), &mut keep).unwrap();
    let report = serde_json::to_value(&results).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let pauses: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sums = sums(&pauses, &name.to_string());
    let reported: BTreeMap<u64, (u64, u64)> = report["held_up"].as_array().unwrap().iter().map(sum).collect();
    assert_eq!(reported, sums, "{name}");
    // In words.
    let text = text::render(&results, &Style::plain(200));
    let page = page(&results, &names, &[]);
    let is_row = |line: &&str| line.starts_with("  ");
    let (one, many) = results.runtime.info().lane;
    let heading = format!("{}{} ", many[..1].to_uppercase(), &many[1..]);
    let table: Vec<&str> =
        text.lines().skip_while(|line| !line.starts_with(&heading)).skip(1).take_while(is_row).collect();
    for lane in results.lanes.iter().filter(|_| results.lanes.len() <= LANES_SHOWN) {
        let held = results.held_up.iter().find(|held| held.lane == lane.id);
        let cells = held
            .map_or(["-".to_owned(), "-".to_owned()], |held| [units::count(held.count), units::duration(held.sum_ns)]);
        match table.iter().find(|line| line.trim_start().starts_with(&format!("{} ", lane.name))) {
            Some(row) => {
                let row: String = row.split_whitespace().collect();
                assert!(row.ends_with(&cells.concat().replace(' ', "")), "{name}: {row}; {cells:?}");
            }
            None => {
                assert!(
                    table
                        .iter()
                        .any(|row| row.contains(&format!(" more {one}")) || row.contains(&format!(" more {many}"))),
                    "{name}: no row of {}: {text}",
                    lane.name
                )
            }
        }
        let on_page = cells.map(|cell| format!("<td>{cell}</td>")).concat();
        assert!(page.contains(&on_page), "{name}: the page lacks {on_page}");
    }
    let args = ViewArgs {
        recording: path.to_owned().into(),
        port: 0,
        no_open: true,
        log: None,
        version: Default::default(),
        requests: None,
    };
    let view = rtscope_view::open(&args, &|_| None).unwrap();
    for pause in longest(&pauses) {
        let viewed = view.answer("pause", &format!("id={}", pause["id"]));
        let viewed: Value = serde_json::from_slice(&viewed.body).unwrap();
        assert_eq!(viewed["held_up_by"], pause["held_up_by"], "{name}");
    }
    for worst in report["worst_pauses"].as_array().unwrap_or(&Vec::new()) {
        let line = pauses.iter().find(|pause| pause["id"] == worst["id"]).unwrap();
        assert_eq!(line["held_up_by"], worst["held_up_by"], "{name}");
    }
    report
}

/// For each lane, how many whole pauses it delayed and for how long.
fn sums(pauses: &[Value], name: &str) -> BTreeMap<u64, (u64, u64)> {
    let mut sums: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for pause in pauses {
        let held = &pause["held_up_by"];
        assert_eq!(held.is_null(), pause["causes"].as_array().unwrap().is_empty(), "{name}: {pause:#}");
        if held.is_null() {
            continue;
        }
        assert!(held["ns"].as_u64() > Some(0) && held["cause"].is_string(), "{name}: {held}");
        if pause["quality"] == "whole"
            && let Some(lane) = held["lane"].as_u64()
        {
            let sum = sums.entry(lane).or_default();
            *sum = (sum.0 + 1, sum.1 + held["ns"].as_u64().unwrap());
        }
    }
    sums
}

fn sum(of: &Value) -> (u64, (u64, u64)) {
    let number = |key: &str| of[key].as_u64().unwrap();
    (number("lane"), (number("count"), number("sum_ns")))
}

/// The longest hundred pauses, which a view shows first.
fn longest(pauses: &[Value]) -> Vec<&Value> {
    let length =
        |pause: &&Value| pause["released_ns"].as_u64().zip(pause["requested_ns"].as_u64()).map(|(to, from)| to - from);
    let mut all: Vec<&Value> = pauses.iter().collect();
    all.sort_by_key(|pause| std::cmp::Reverse(length(pause)));
    all.truncate(100);
    all
}
