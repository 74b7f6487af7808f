//! What a process may use of its machine: processors, caches, quotas, memory, each
//! with the file that said so. Owns the words; reading them is the host's, drawing
//! conclusions is planning's.
//!
//! Its JSON is `rtscope machine --json`; keys keep their meaning.

use serde::Serialize;

/// What one process may use.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Resources {
    /// Logical CPUs that the process may run on, ascending: its affinity mask, which
    /// has its cpuset in it already.
    pub cpus_allowed: Vec<u32>,
    /// Logical CPUs that are online, ascending; empty where unknown.
    pub cpus_online: Vec<u32>,
    /// Physical cores among `cpus_allowed`.
    pub cores: u32,
    /// CPUs of `cpus_allowed` that share a physical core, a list per core, ascending by
    /// the first.
    pub siblings: Vec<Vec<u32>>,
    /// Packages (sockets) among `cpus_allowed`.
    pub packages: u32,
    /// NUMA nodes among `cpus_allowed`; 1 where the kernel shows none.
    pub numa_nodes: u32,
    /// Kinds of core of a hybrid machine, fastest first, those that `cpus_allowed` has;
    /// empty where all cores of the machine are alike.
    pub kinds: Vec<CoreKind>,
    /// Every processor that is online, with its place; what a drawing needs.
    pub cpus: Vec<CpuPlace>,
    /// Caches that `cpus_allowed` use, one entry for each level and type.
    pub caches: Vec<Cache>,
    /// Smallest CPU quota of all visible levels, in CPUs; `None`: none is set.
    pub quota_cpus: Option<f64>,
    /// File of that quota.
    pub quota_path: Option<String>,
    /// Whether levels above what is visible exist or may exist: their quotas and
    /// limits are not known.
    pub ancestors_hidden: bool,
    /// Smallest memory limit of all visible levels and the machine's memory, bytes;
    /// `None`: not known.
    pub memory_limit_bytes: Option<u64>,
    /// File of that limit; the machine's own memory comes from `/proc/meminfo`.
    pub memory_limit_path: Option<String>,
    /// Whether a control group sets that limit: the kernel then takes memory back from
    /// the group, slows it down or kills in it, whatever the machine has left.
    pub memory_limited: bool,
    /// Every level of control groups that covers the process, its own first.
    pub levels: Vec<Level>,
    /// What was read.
    pub sources: Vec<Source>,
    /// What could not be read or does not fit together, one sentence each, with what
    /// was taken instead.
    pub notes: Vec<String>,
}

/// One kind of core.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CoreKind {
    /// `performance`, `efficient`, `low-power`, or the kernel's capacity as a number.
    pub name: String,
    /// CPUs of `cpus_allowed` of this kind.
    pub cpus: Vec<u32>,
}

/// Where a processor sits.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CpuPlace {
    /// Its number.
    pub cpu: u32,
    /// Number of its core, counted from 0 over the machine: not the kernel's `core_id`.
    pub core: u32,
    /// Its package.
    pub package: u32,
    /// Its NUMA node.
    pub node: u32,
    /// Whether the process may run there.
    pub allowed: bool,
}

/// A cache, of each core or shared by several.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`, as the kernel says.
    #[serde(rename = "type")]
    pub kind: String,
    /// Size of one, bytes; the smallest where they differ.
    pub size_bytes: u64,
    /// Size over the allowed CPUs that share one: what a worker on each of them has, at
    /// least, bytes.
    pub share_bytes: u64,
    /// How many of them `cpus_allowed` use.
    pub count: u32,
    /// Each of them.
    pub each: Vec<OneCache>,
}

/// One cache.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct OneCache {
    /// Its size, bytes.
    pub size_bytes: u64,
    /// The CPUs that share it, ascending: those that are not allowed included.
    pub cpus: Vec<u32>,
}

/// A level of control groups.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Level {
    /// Path below the hierarchy's mount, `/` for what is mounted.
    pub path: String,
    /// 1 or 2.
    pub version: u8,
    /// CPU quota over its period, in CPUs; `None`: none.
    pub quota_cpus: Option<f64>,
    /// Period of the quota, nanoseconds.
    pub period_ns: Option<u64>,
    /// Smallest memory limit set here, bytes.
    pub memory_limit_bytes: Option<u64>,
    /// Periods in which a quota ran out here so far; `None`: not counted at this level.
    pub throttled_periods: Option<u64>,
    /// Periods so far.
    pub periods: Option<u64>,
}

/// A file and what it said.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Source {
    /// What was learned: `cpus_allowed`, `siblings of cpu0`.
    pub what: String,
    /// Its path as the process sees it: without the root that was given.
    pub path: String,
    /// Its text, cut where it is long.
    pub text: String,
}
