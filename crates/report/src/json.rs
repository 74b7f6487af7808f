//! `report --json`: the results, key by key. The keys are documented in `docs/report-json.md` and keep their meaning;
//! what cannot be known is null.

use super::words::has_runtime;
use rtscope_analyze::results::Results;
use serde_json::Value;
use std::io::{self, Write};

/// Keys that only a runtime's log can fill.
const FROM_THE_LOG: [&str; 3] = ["/pauses", "/mmu", "/productivity/runtime_view"];

/// The results as one JSON document. A figure that is not a number (0/0) is null.
pub fn document(results: &Results) -> Value {
    let mut document = serde_json::to_value(results).unwrap_or_default();
    if !has_runtime(results) {
        for key in FROM_THE_LOG {
            document.pointer_mut(key).into_iter().for_each(forget);
        }
    }
    document
}

/// Writes the document of [`document`] on one line.
pub fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &document(results))?;
    out.write_all(b"\n")
}

/// Keeps the shape but sets all figures to null and empties lists.
fn forget(value: &mut Value) {
    match value {
        Value::Object(keys) => keys.values_mut().for_each(forget),
        Value::Array(list) => list.clear(),
        figure => *figure = Value::Null,
    }
}
