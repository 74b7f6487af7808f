//! The limits of one control group: its quota, its memory, how often the quota ran
//! out. Values that no kernel sets are reported and treated as no limit. Refuses to
//! know where groups are.

use crate::machine::reading::{Reading, quoted};
use crate::system::procfs;
use rtscope_model::manifest::Group;
use std::path::{Path, PathBuf};

/// Byte limits from here on mean none: v1 writes "no limit" as the largest multiple
/// of a page that fits into 63 bits.
const NO_LIMIT_BYTES: u64 = 1 << 60;

/// A group that covers the process, with the files to sample.
#[derive(Clone, PartialEq, Debug)]
pub struct GroupLevel {
    /// For the manifest.
    pub group: Group,
    /// File of the memory limit, as the process sees it.
    pub memory_limit_path: Option<String>,
    /// Periods in which the quota ran out, and all periods; `None`: not counted here.
    pub throttled: Option<(u64, u64)>,
    /// `cpu.stat`, if it has throttle counters.
    pub cpu_stat: Option<PathBuf>,
    /// File with the bytes charged.
    pub memory: Option<PathBuf>,
    /// File with the out-of-memory kill count.
    pub(super) oom: Option<PathBuf>,
}

/// CPUs and the period in nanoseconds; or no quota; or why no kernel would write
/// this text.
type Quota = Result<Option<(f64, u64)>, &'static str>;

/// The level whose files lie in `folder`.
pub(super) fn level(reading: &mut Reading<'_>, version: u8, name: &str, folder: &Path) -> GroupLevel {
    let existing = |reading: &Reading<'_>, file: &str| {
        let path = folder.join(file);
        reading.host.is_file(&path).then(|| reading.host.path(path))
    };
    let quota = if version == 2 { quota_v2(reading, name, folder) } else { quota_v1(reading, name, folder) };
    let limits: &[&str] = if version == 2 { &["memory.max", "memory.high"] } else { &["memory.limit_in_bytes"] };
    let limit = limits.iter().filter_map(|file| memory(reading, name, &folder.join(file))).min_by_key(|limit| limit.0);
    let (current, kills) = if version == 2 {
        ("memory.current", "memory.events")
    } else {
        ("memory.usage_in_bytes", "memory.oom_control")
    };
    let stat = folder.join("cpu.stat");
    let counted = reading.text(&stat).and_then(|text| {
        let counts = (procfs::number(&text, "nr_throttled")?, procfs::number(&text, "nr_periods").unwrap_or(0));
        reading.add_source(&format!("throttling of {name}"), &stat, &text);
        Some(counts)
    });
    GroupLevel {
        group: Group {
            path: name.to_owned(),
            version,
            quota_cpus: quota.as_ref().map(|quota| quota.0),
            period_ns: quota.as_ref().map(|quota| quota.1),
            quota_path: quota.map(|quota| quota.2),
            memory_limit_bytes: limit.as_ref().map(|limit| limit.0),
        },
        memory_limit_path: limit.map(|limit| limit.1),
        throttled: counted,
        cpu_stat: existing(reading, "cpu.stat").filter(|_| counted.is_some()),
        memory: existing(reading, current),
        oom: existing(reading, kills),
    }
}

/// The quota of a v2 group, `50000 100000` or `max 100000`, with its file.
fn quota_v2(reading: &mut Reading<'_>, name: &str, folder: &Path) -> Option<(f64, u64, String)> {
    let path = folder.join("cpu.max");
    let text = reading.source(&format!("quota of {name}"), &path)?;
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let quota = match words[..] {
        ["max", _] | ["max"] => Ok(None),
        [quota, period] => quota_of(quota, period),
        _ => Err("is not a quota and a period"),
    };
    reported(reading, &path, &text, quota)
}

/// The quota of a v1 group, which has a separate file for its period.
fn quota_v1(reading: &mut Reading<'_>, name: &str, folder: &Path) -> Option<(f64, u64, String)> {
    let path = folder.join("cpu.cfs_quota_us");
    let text = reading.source(&format!("quota of {name}"), &path)?;
    if text.trim() == "-1" {
        return None;
    }
    let period = reading.source(&format!("period of the quota of {name}"), folder.join("cpu.cfs_period_us"));
    let quota = match &period {
        Some(period) => quota_of(text.trim(), period.trim()),
        None => Err("has no period in cpu.cfs_period_us"),
    };
    let both = format!("{} {}", text.trim(), period.unwrap_or_default().trim());
    reported(reading, &path, &both, quota)
}

fn quota_of(quota: &str, period: &str) -> Quota {
    let number = |text: &str| match text.parse::<u64>() {
        Ok(0) => Err("has a 0 in it, which no kernel accepts"),
        Ok(number) => Ok(number),
        Err(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err("has a number in it that is too large for any kernel")
        }
        Err(_) => Err("is not a quota and a period"),
    };
    let (quota_us, period_us) = (number(quota)?, number(period)?);
    Ok(Some((quota_us as f64 / period_us as f64, period_us.saturating_mul(1000))))
}

fn reported(reading: &mut Reading<'_>, path: &Path, text: &str, quota: Quota) -> Option<(f64, u64, String)> {
    match quota {
        Ok(quota) => quota.map(|(cpus, period_ns)| (cpus, period_ns, path.display().to_string())),
        Err(why) => {
            reading.note(format!("{} says {}, which {why}: taken as no quota", path.display(), quoted(text)));
            None
        }
    }
}

/// A memory limit in bytes with its file; "max" and v1's huge default mean none.
fn memory(reading: &mut Reading<'_>, name: &str, path: &Path) -> Option<(u64, String)> {
    let text = reading.source(&format!("memory limit of {name}"), path)?;
    let shown = path.display();
    match text.trim().parse::<u64>() {
        _ if text.trim() == "max" => None,
        Ok(0) => {
            reading.note(format!("{shown} is 0, under which nothing could run: taken as no limit"));
            None
        }
        Ok(bytes) => (bytes < NO_LIMIT_BYTES).then(|| (bytes, shown.to_string())),
        Err(_) => {
            reading.note(format!("{shown} says {}, which is no number of bytes: taken as no limit", quoted(&text)));
            None
        }
    }
}

/// The limit that the kernel reports for a v1 group and all its ancestors, invisible
/// ones included.
pub(super) fn effective_memory_v1(reading: &mut Reading<'_>, folder: &Path) -> Option<(u64, String)> {
    let path = folder.join("memory.stat");
    let text = reading.text(&path)?;
    let bytes = procfs::number(&text, "hierarchical_memory_limit")?;
    reading.add_source("memory limit of all levels", &path, &format!("hierarchical_memory_limit {bytes}"));
    (bytes > 0 && bytes < NO_LIMIT_BYTES).then(|| (bytes, path.display().to_string()))
}
