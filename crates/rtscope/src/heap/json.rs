//! `rtscope heap --json`. Owns the document's keys, which stay; what is not known is null.

use super::Shown;
use rtscope_heap::descriptor::BLOCK;
use rtscope_heap::map::Kind;
use serde_json::{Value, json};

/// The document.
pub(super) fn document(shown: &Shown) -> String {
    let survey = &shown.survey;
    let totals = survey.totals();
    let kinds: Vec<Value> = totals
        .iter()
        .map(|total| {
            json!({
                "kind": total.kind.word(),
                "generation": total.generation,
                "blocks": total.blocks,
                "block_bytes": total.blocks * BLOCK,
                "used_bytes": total.kind.is_used().then_some(total.used_bytes),
            })
        })
        .collect();
    let ledger: Vec<Value> =
        shown.ledger.iter().map(|line| json!({"line": line.line, "bytes": line.bytes, "how": line.how})).collect();
    let pinned = |figure: &dyn Fn(&rtscope_heap::Total) -> u64| -> u64 {
        totals.iter().filter(|total| total.kind == Kind::Pinned).map(figure).sum()
    };
    let generations: Vec<Value> = survey
        .after
        .generations
        .iter()
        .enumerate()
        .map(|(number, generation)| {
            json!({
                "generation": number,
                "collections": generation.collections,
                "blocks": generation.blocks,
                "large_blocks": generation.large_blocks,
                "compact_blocks": generation.compact_blocks,
                "blocks_max": generation.blocks_max,
            })
        })
        .collect();
    let found = &shown.scan.pinned;
    let holders: Vec<Value> = found
        .holders
        .iter()
        .map(|holder| {
            json!({
                "name": shown.name(holder.info_address),
                "count": holder.count,
                "live_bytes": holder.live_bytes,
                "kept_dead_bytes": holder.kept_dead_bytes,
            })
        })
        .collect();
    let worst: Vec<Value> = found
        .worst
        .iter()
        .map(|(address, live, dead)| json!({"address": address, "live_bytes": live, "dead_bytes": dead}))
        .collect();
    let census: Vec<Value> = shown
        .scan
        .census
        .iter()
        .map(|entry| {
            json!({
                "name": shown.name(entry.info_address),
                "type": entry.info.kind.word(),
                "count": entry.count,
                "bytes": entry.bytes,
            })
        })
        .collect();
    let document = json!({
        "schema": "rtscope/heap/1",
        "of": shown.of,
        "ghc": shown.version.map(|(major, minor, patch)| format!("{major}.{minor}.{patch}")),
        "rss_bytes": shown.rss_bytes,
        "heap_bytes": shown.heap_bytes(),
        "stop_ns": shown.held.map_or(0, |held| held.stopped.as_nanos() as u64),
        "read_ns": shown.took.as_nanos() as u64,
        "looks": survey.looks,
        "collections_meanwhile": survey.collections(),
        "unsettled_megablocks": survey.unsettled,
        "contradictions": survey.contradictions(),
        "kinds": kinds,
        "ledger": ledger,
        "unexplained_bytes": shown.unexplained_bytes(),
        "pinned": {
            "blocks": pinned(&|total| total.blocks),
            "block_bytes": pinned(&|total| total.blocks * BLOCK),
            "used_bytes": pinned(&|total| total.used_bytes),
            "objects": found.objects,
            "live_bytes": found.live_bytes,
            "live_objects": found.live_objects,
            "worst": worst,
        },
        "holders": holders,
        "census": census,
        "scan": {
            "read_bytes": shown.scan.read_bytes,
            "skipped_bytes": shown.scan.skipped_bytes,
            "unread_bytes": shown.scan.unread_bytes,
            "collections_of_oldest": shown.moved,
        },
        "runtime": {
            "generations": generations,
            "nursery_blocks": survey.after.nursery_blocks,
            "megablocks": survey.after.megablocks,
            "allocated_blocks": survey.after.blocks,
        },
    });
    format!("{document:#}\n")
}
