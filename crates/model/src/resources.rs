//! The resources of the machine that a process may use: CPUs, caches, quotas, memory, each with the file that it was
//! read from. Owns the types; they are read by the host crate, and evaluated by planning.
//!
//! Serialized by `rtscope machine --json`; keys keep their meaning.

use serde::Serialize;

/// The resources that one process may use.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Resources {
    /// Logical CPUs that the process may run on, ascending: its affinity mask, which already includes its cpuset.
    pub cpus_allowed: Vec<u32>,
    /// Logical CPUs that are online, ascending; empty where unknown.
    pub cpus_online: Vec<u32>,
    /// Physical cores among `cpus_allowed`.
    pub cores: u32,
    /// CPUs of `cpus_allowed` that share a physical core: one list per core, ascending by first CPU.
    pub siblings: Vec<Vec<u32>>,
    /// Packages (sockets) among `cpus_allowed`.
    pub packages: u32,
    /// NUMA nodes among `cpus_allowed`; 1 if the kernel shows none.
    pub numa_nodes: u32,
    /// Kinds of cores among `cpus_allowed`, fastest first, on a hybrid machine; empty if all cores of the
    /// machine are alike.
    pub kinds: Vec<CoreKind>,
    /// Every online CPU with its place; used for drawing.
    pub cpus: Vec<CpuPlace>,
    /// Caches that `cpus_allowed` use, one entry per level and type.
    pub caches: Vec<Cache>,
    /// Smallest CPU quota of all visible levels, in CPUs; `None`: there is none.
    pub quota_cpus: Option<f64>,
    /// File with that quota.
    pub quota_path: Option<String>,
    /// Whether levels above the visible ones exist or may exist: their quotas and limits are not known.
    pub ancestors_hidden: bool,
    /// The smallest of the memory limits of all visible levels and the machine's memory, bytes; `None`: not known.
    pub memory_limit_bytes: Option<u64>,
    /// File with that limit; `/proc/meminfo` for the machine's own memory.
    pub memory_limit_path: Option<String>,
    /// Whether a control group sets that limit: the kernel then reclaims memory of the group, throttles it or kills
    /// in it, however much memory the machine has left.
    pub memory_limited: bool,
    /// Every level of control groups that covers the process, starting with its own.
    pub levels: Vec<CgroupLevel>,
    /// The files that were read.
    pub sources: Vec<Source>,
    /// What could not be read or is inconsistent, one sentence each, with the value used instead.
    pub notes: Vec<String>,
}

/// One kind of core.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CoreKind {
    /// Name of the kind: `performance`, `efficient`, `low-power`, or the kernel's capacity as a number.
    pub name: String,
    /// CPUs of `cpus_allowed` that have this kind.
    pub cpus: Vec<u32>,
}

/// The place of a CPU in the machine.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CpuPlace {
    /// Number of the CPU.
    pub cpu: u32,
    /// Number of its core, counted from 0 over the whole machine; not the kernel's `core_id`.
    pub core: u32,
    /// Number of its package.
    pub package: u32,
    /// Number of its NUMA node.
    pub node: u32,
    /// Whether the process may run on it.
    pub allowed: bool,
}

/// Caches of one level and type, each private to a core or shared.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Cache {
    /// Level of the cache; 1 is nearest to the core.
    pub level: u32,
    /// Type of the cache in the kernel: `Data`, `Instruction` or `Unified`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Size of one cache, bytes; the smallest if they differ.
    pub size_bytes: u64,
    /// Smallest share of a worker on each allowed CPU: size divided by the allowed CPUs that share one cache, bytes.
    pub share_bytes: u64,
    /// Number of these caches that `cpus_allowed` use.
    pub count: u32,
    /// The individual caches.
    pub each: Vec<OneCache>,
}

/// One cache.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct OneCache {
    /// Size in bytes.
    pub size_bytes: u64,
    /// The CPUs that share it, ascending, including those that are not allowed.
    pub cpus: Vec<u32>,
}

/// A level of control groups.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CgroupLevel {
    /// Path relative to the hierarchy's mount, `/` for the mount itself.
    pub path: String,
    /// Version of the hierarchy: 1 or 2.
    pub version: u8,
    /// CPU quota divided by its period, in CPUs; `None`: no quota.
    pub quota_cpus: Option<f64>,
    /// Period of the quota, nanoseconds.
    pub period_ns: Option<u64>,
    /// Smallest memory limit set here, bytes.
    pub memory_limit_bytes: Option<u64>,
    /// Number of periods so far in which a quota ran out here; `None`: not counted at this level.
    pub throttled_periods: Option<u64>,
    /// Number of periods so far.
    pub periods: Option<u64>,
}

/// A file and its content.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Source {
    /// The fact that it gave: `cpus_allowed`, `siblings of cpu0`.
    pub what: String,
    /// Path as the process sees it, relative to the given root.
    pub path: String,
    /// Its text, truncated if it is long.
    pub text: String,
}
