//! Caches of the allowed CPUs: their size, which CPUs share them, and each CPU's
//! minimum share. A cache whose files are broken is left out with a note; no size
//! is guessed.

use super::ids;
use crate::machine::cpu_list;
use crate::machine::reading::{Reading, quoted};
use rtscope_model::resources::{Cache, OneCache};
use std::collections::BTreeMap;

/// One cache of one CPU.
struct One {
    level: u32,
    kind: String,
    size: u64,
    shared_by: Vec<u32>,
    share: u64,
    /// The sources, file and text: of the size, and of the CPUs that share it.
    sources: [(String, String); 2],
}

/// The caches of `allowed`, one entry for each level and type.
pub(super) fn read(reading: &mut Reading<'_>, allowed: &[u32]) -> Vec<Cache> {
    let mut kinds: BTreeMap<(u32, String), Vec<One>> = BTreeMap::new();
    // Errors in words: the first is shown, all are counted.
    let (mut wrong, mut seen): (Option<(String, usize)>, bool) = (None, false);
    for &cpu in allowed {
        for index in reading.host.numbered(ids::path(cpu, "cache"), "index") {
            seen = true;
            match one(reading, cpu, index, allowed) {
                Ok(one) => {
                    let kind = kinds.entry((one.level, one.kind.clone())).or_default();
                    // Each CPU that shares a cache has a folder for it.
                    if !kind.iter().any(|known| known.shared_by == one.shared_by && known.size == one.size) {
                        kind.push(one);
                    }
                }
                Err(why) => wrong.get_or_insert((why, 0)).1 += 1,
            }
        }
    }
    if let Some((why, count)) = wrong {
        let more = if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
        reading.note(format!("{why}: this cache is left out{more}"));
    } else if !seen && !allowed.is_empty() {
        reading.note("the kernel shows no caches".into());
    }
    kinds.into_iter().filter_map(|((level, kind), found)| entry(reading, level, kind, found)).collect()
}

fn entry(reading: &mut Reading<'_>, level: u32, kind: String, mut found: Vec<One>) -> Option<Cache> {
    found.sort_by(|one, other| one.shared_by.cmp(&other.shared_by));
    let overlap = overlapping(&found);
    if let Some(cpu) = overlap {
        reading.note(format!("the level {level} {} caches of CPU {cpu} contradict each other", kind.to_lowercase()));
    }
    // The cache that decides the figures is shown as their source.
    let least = found.iter().min_by_key(|one| one.share)?;
    let whats =
        [format!("size of the level {level} {kind} cache"), format!("CPUs that share a level {level} {kind} cache")];
    for (what, (path, text)) in whats.iter().zip(&least.sources) {
        reading.add_source(what, path, text);
    }
    Some(Cache {
        level,
        kind,
        size_bytes: found.iter().map(|one| one.size).min()?,
        share_bytes: least.share,
        count: u32::try_from(found.len()).unwrap_or(u32::MAX),
        each: found.into_iter().map(|one| OneCache { size_bytes: one.size, cpus: one.shared_by }).collect(),
    })
}

/// A CPU that two different caches of one kind claim.
fn overlapping(found: &[One]) -> Option<u32> {
    let mut cpus: Vec<u32> = found.iter().flat_map(|one| one.shared_by.iter().copied()).collect();
    cpus.sort_unstable();
    cpus.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

fn one(reading: &mut Reading<'_>, cpu: u32, index: u32, allowed: &[u32]) -> Result<One, String> {
    let path = |file: &str| ids::path(cpu, &format!("cache/index{index}/{file}"));
    let mut text = |file: &str| reading.text(path(file)).ok_or_else(|| format!("{} is not there", path(file)));
    let (level, kind, size, shared) = (text("level")?, text("type")?, text("size")?, text("shared_cpu_list")?);
    let shows = |file: &str, text: &str| format!("{} says {}", path(file), quoted(text));
    let number = level.trim().parse().map_err(|_| shows("level", &level))?;
    let kind = kind.trim();
    if !["Data", "Instruction", "Unified"].contains(&kind) {
        return Err(shows("type", kind));
    }
    let bytes = bytes(&size).filter(|bytes| *bytes > 0).ok_or_else(|| shows("size", &size))?;
    let shared_by = cpu_list::parse(&shared).map_err(|bad| format!("{}: {bad}", shows("shared_cpu_list", &shared)))?;
    if shared_by.binary_search(&cpu).is_err() {
        return Err(format!("{}, which leaves out CPU {cpu} itself", shows("shared_cpu_list", &shared)));
    }
    let workers = shared_by.iter().filter(|cpu| allowed.binary_search(cpu).is_ok()).count();
    Ok(One {
        level: number,
        kind: kind.to_owned(),
        size: bytes,
        share: bytes / u64::try_from(workers.max(1)).unwrap_or(1),
        shared_by,
        sources: [(path("size"), size), (path("shared_cpu_list"), shared)],
    })
}

/// `32K`, `1024K`, `8M`.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match text.get(digits.len()..)? {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("48K\n"), Some(49152));
        assert_eq!(bytes("1M"), Some(1 << 20));
        assert_eq!(bytes("512"), Some(512));
        assert_eq!(bytes("K"), None);
        assert_eq!(bytes("12X"), None);
        assert_eq!(bytes("99999999999999999999K"), None);
        assert_eq!(bytes("18446744073709551615K"), None);
    }
}
