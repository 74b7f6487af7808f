//! Any text as files of `/proc` and `/sys`, and any words as the head of a ring file. The first byte
//! selects which, so that each kind has its own inputs.

use rtscope_host::procfs::{Stat, field, number};
use rtscope_host::{by_bytes, cpu_list, mappings};

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let text = &*String::from_utf8_lossy(bytes);
    match kind {
        b'm' => maps(text),
        b's' => drop((Stat::parse(text), field(text, "Rss"), number(text, "VmRSS"))),
        b'g' => groups(text),
        b'r' => ring(bytes),
        _ => cpus(text),
    }
}

fn maps(text: &str) {
    let mappings = mappings::parse(text);
    assert!(mappings.len() <= text.lines().count());
    assert!(mappings.iter().all(|mapping| mapping.bytes() <= mapping.range.end && mapping.name.len() <= text.len()));
    assert!(by_bytes::mapped_lines(text) <= text.lines().count());
}

/// `mountinfo`, then an empty line, then `cgroup`.
fn groups(text: &str) {
    let (mounts, memberships) = text.split_once("\n\n").unwrap_or((text, text));
    for controller in ["cpu", "memory", ""] {
        if let Some(named) = by_bytes::group(mounts, memberships, controller) {
            assert!(named.contains('/') && named.len() <= 2 * text.len() + 2);
        }
    }
}

/// The length of the file, then its head.
fn ring(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else { return };
    let Some(metadata) = rest.first_chunk::<64>() else { return };
    let length = u64::from_ne_bytes(*length);
    if let Some(placed) = by_bytes::ring(metadata, length) {
        assert!(placed.header_end <= length && placed.words_end <= length);
    }
}

fn cpus(text: &str) {
    for cpus in [cpu_list::parse(text), cpu_list::parse_mask(text)].into_iter().flatten() {
        assert!(cpus.is_sorted() && cpus.last().is_none_or(|last| *last < cpu_list::CPUS_MAX));
    }
}
