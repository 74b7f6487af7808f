//! Reads a recorded table: one JSON document per line. Owns its form; `rtscope_tune::study::replay` defines
//! what it has to hold.

use rtscope_terminal::user_error::UserError;
use rtscope_tune::study::replay::{Measurement, ReplayTable};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Longest line in bytes.
const LINE: u64 = 1 << 20;

/// The part of a line that matters here.
#[derive(Deserialize)]
struct TableLine {
    cfg: String,
    rep: u64,
    x: BTreeMap<String, f64>,
}

/// The table of `path` for one figure.
///
/// # Errors
/// It cannot be read, a line is invalid, or the table is incomplete.
pub fn read(path: &Path, metric: &str) -> Result<ReplayTable, UserError> {
    let shown = path.display();
    let file =
        File::open(path).map_err(|error| UserError::unreadable(path, error).next("give a table with --replay"))?;
    let rows = rows(BufReader::new(file), metric)
        .map_err(|why| UserError::new(format!("{shown} is no table of {metric}")).because(why))?;
    ReplayTable::new(&rows).map_err(|no| UserError::new(format!("{shown} is not complete")).because(no))
}

fn rows(mut from: impl BufRead, metric: &str) -> Result<Vec<Measurement>, String> {
    let mut rows = Vec::new();
    let mut text = String::new();
    for number in 1.. {
        text.clear();
        let read = (&mut from).take(LINE).read_line(&mut text).map_err(|error| format!("line {number}: {error}"))?;
        if read == 0 {
            break;
        }
        if read as u64 == LINE {
            return Err(format!("line {number} is longer than {LINE} bytes"));
        }
        if text.trim().is_empty() {
            continue;
        }
        let line: TableLine = serde_json::from_str(&text).map_err(|error| format!("line {number}: {error}"))?;
        let value = line.x.get(metric).copied().ok_or_else(|| {
            let known: Vec<&str> = line.x.keys().map(String::as_str).collect();
            format!("line {number} has only {}", known.join(", "))
        })?;
        rows.push(Measurement { configuration: line.cfg, repeat: line.rep, value });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_rows() {
        let text = "{\"cfg\": \"-N1\", \"rep\": 3, \"foreign\": -0.1, \"x\": {\"a\": 1, \"b\": 2.5}}\n\n";
        let row = Measurement { configuration: "-N1".to_owned(), repeat: 3, value: 2.5 };
        assert_eq!(rows(text.as_bytes(), "b"), Ok(vec![row]));
        assert_eq!(rows(text.as_bytes(), "c"), Err("line 1 has only a, b".to_owned()));
        assert!(rows("{}".as_bytes(), "c").unwrap_err().starts_with("line 1: missing field"));
        assert!(rows(&b"\xff\n"[..], "c").unwrap_err().starts_with("line 1: "));
        let long = "x".repeat(LINE as usize + 1);
        assert!(rows(long.as_bytes(), "c").unwrap_err().contains("longer"));
        assert_eq!(rows("".as_bytes(), "c"), Ok(Vec::new()));
    }
}
