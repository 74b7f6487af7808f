//! `report --json`: the results, key by key. The keys are those of
//! `docs/report-json.md` and keep their meaning.

use rtscope_analyze::results::Results;
use std::io::{self, Write};

/// Writes the results as one JSON document and a line feed: on one line, or
/// `pretty` for people. A figure that is no number (0/0) is null.
pub fn write(results: &Results, pretty: bool, out: &mut dyn Write) -> io::Result<()> {
    if pretty {
        serde_json::to_writer_pretty(&mut *out, results)?;
    } else {
        serde_json::to_writer(&mut *out, results)?;
    }
    out.write_all(b"\n")
}
