//! Kernel streams, formats and thread lists made of any bytes: no panic, no endless loop, events in
//! time order.

use rtscope_decode::ReadAt;
use rtscope_decode::sched::{SchedStream, thread_names};
use rtscope_model::Time;
use rtscope_model::manifest::{Kernel, Tracepoint};
use std::collections::HashMap;
use std::sync::Arc;

const SWITCH: &str = include_str!("../../crates/decode/src/sched/fixtures/sched_switch.6.18.format");
const WAKING: &str = include_str!("../../crates/decode/src/sched/fixtures/sched_waking.6.18.format");
const MIGRATE: &str = include_str!("../../crates/decode/src/sched/fixtures/sched_migrate_task.6.18.format");

/// # Panics
/// If a check fails.
pub fn check(data: &[u8]) {
    let Some(([choice, split], bytes)) = data.split_first_chunk() else { return };
    let raw = choice & 1 == 1;
    let (first, second) = bytes.split_at(bytes.len() * usize::from(*split) / 255);
    let format = |text: &str| match choice & 2 {
        0 => text.to_owned(),
        _ => String::from_utf8_lossy(second).into_owned(),
    };
    let points = [("sched_switch", 372, SWITCH), ("sched_waking", 375, WAKING), ("sched_migrate_task", 371, MIGRATE)];
    let formats: HashMap<String, String> =
        points.iter().map(|(name, _, text)| ((*name).to_owned(), format(text))).collect();
    let tracepoint =
        |(name, id, _): &(&str, u64, &str)| Tracepoint { name: (*name).into(), id: *id, format: String::new() };
    let kernel = Kernel {
        streams: vec!["sched/cpu0.perf".into(), "sched/cpu1.perf".into()],
        tracepoints: if raw { points.iter().map(tracepoint).collect() } else { Vec::new() },
        sample_type: if raw { 0x486 } else { 0x86 },
        ..Kernel::default()
    };
    let source = |bytes: &[u8]| Arc::new(bytes.to_vec()) as Arc<dyn ReadAt>;
    let threads = (choice & 4 != 0 && thread_names(second).is_ok()).then_some(second);
    let Ok(mut stream) = SchedStream::open(&kernel, vec![source(first), source(second)], &formats, threads) else {
        return;
    };
    let mut last = Time(0);
    for event in stream.by_ref() {
        assert!(event.time >= last);
        last = event.time;
    }
    assert!(stream.losses().len() <= 3 * 512);
    // The same data again is older than what was returned, so hardly any events come.
    stream.resume_with([source(second), source(first)]);
    stream.by_ref().for_each(drop);
    assert!(stream.take_losses().len() <= 3 * 512 && stream.losses().is_empty());
}
