//! What a process may use of its machine: CPUs and how they share cores, packages,
//! nodes and caches; quotas; memory. Owns the rules by which files become figures,
//! each with its source; refuses to draw conclusions for a runtime.
//!
//! The rules are in `docs/machine.md`. Whatever is missing or inconsistent
//! has a stated fallback: [`of`] never fails.

mod caches;
mod ids;
mod mask;
mod memory;
mod topology;

use crate::machine::cgroup;
use crate::machine::reading::Reading;
use crate::system::procfs::{Host, ProcName};
use rtscope_model::resources::{CgroupLevel, Resources};

pub use mask::cpus;

/// What `pid` may use of the machine `host`; with `None`, what the reader may.
pub fn of(host: &Host, pid: Option<u32>) -> Resources {
    read(host, pid, true)
}

/// Like [`of`], without caches, which are four files out of five: no plan depends on
/// them, and a start should not wait for them.
pub fn without_caches(host: &Host, pid: Option<u32>) -> Resources {
    read(host, pid, false)
}

fn read(host: &Host, pid: Option<u32>, with_caches: bool) -> Resources {
    let process = pid.map_or(ProcName::Own, ProcName::Pid);
    let mut reading = Reading::new(host);
    let mask = mask::read(&mut reading, process);
    let topology = topology::read(&mut reading, &mask);
    let caches = if with_caches { caches::read(&mut reading, &mask.allowed) } else { Vec::new() };
    let total = memory::total(&mut reading);
    let (mut sources, mut notes) = reading.finish();

    let groups = cgroup::of(host, process);
    let tightest = groups.tightest();
    let (quota_cpus, quota_path) =
        (tightest.and_then(|group| group.quota_cpus), tightest.and_then(|group| group.quota_path.clone()));
    let (limit, memory_limited) = memory::smallest(groups.memory_limit(), total);
    let (memory_limit_bytes, memory_limit_path) = limit.unzip();
    let levels = groups.levels.iter().map(level).collect();
    sources.extend(groups.sources);
    notes.extend(groups.notes);

    Resources {
        cpus_allowed: mask.allowed,
        cpus_online: mask.online,
        caches,
        quota_cpus,
        quota_path,
        ancestors_hidden: groups.hidden,
        memory_limit_bytes,
        memory_limit_path,
        memory_limited,
        levels,
        sources,
        notes,
        ..topology
    }
}

fn level(level: &cgroup::GroupLevel) -> CgroupLevel {
    let group = &level.group;
    CgroupLevel {
        path: group.path.clone(),
        version: group.version,
        quota_cpus: group.quota_cpus,
        period_ns: group.period_ns,
        memory_limit_bytes: group.memory_limit_bytes,
        throttled_periods: level.throttled.map(|counts| counts.0),
        periods: level.throttled.map(|counts| counts.1),
    }
}
