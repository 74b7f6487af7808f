//! How the parts of a machine are nested: packages, NUMA nodes and shared caches as boxes in boxes down to
//! cores. Owns that order for every drawing; refuses to draw.

use rtscope_model::resources::{Cache, CpuPlace, OneCache, Resources};
use rtscope_model::units;
use std::collections::{BTreeMap, BTreeSet};

/// A box: its names and its contents.
#[derive(Debug)]
pub(super) struct Nest {
    /// `package 0`, `node 0`, `L3 32 MiB`: all that have the same CPUs, outermost first.
    pub(super) names: Vec<String>,
    pub(super) inner: Vec<Nest>,
    /// Cores that are in no smaller box.
    pub(super) cores: Vec<Core>,
}

#[derive(Debug)]
pub(super) struct Core {
    pub(super) number: u32,
    /// Number, and whether the process may run there.
    pub(super) cpus: Vec<(u32, bool)>,
    /// `P`, `E`, …; empty where all cores are alike.
    pub(super) kind: String,
    /// Its private caches: `L2 1.0 MiB`, the largest level first.
    pub(super) caches: Vec<String>,
}

struct Set {
    cpus: BTreeSet<u32>,
    name: String,
}

pub(super) fn nests(resources: &Resources) -> Vec<Nest> {
    let cores = cores(resources);
    let mut top = Nest { names: Vec::new(), inner: Vec::new(), cores: Vec::new() };
    let mut boxes: Vec<(Nest, BTreeSet<u32>)> = Vec::new();
    for set in sets(resources) {
        match boxes.last_mut() {
            Some((same, cpus)) if *cpus == set.cpus => same.names.push(set.name),
            _ => boxes.push((Nest { names: vec![set.name], inner: Vec::new(), cores: Vec::new() }, set.cpus)),
        }
    }
    // From the smallest outwards: each takes what is still free and inside it.
    let mut free: Vec<(Nest, BTreeSet<u32>)> = Vec::new();
    let mut loose = cores;
    for (mut nest, cpus) in boxes.into_iter().rev() {
        let lies_in = |inner: &BTreeSet<u32>| inner.is_subset(&cpus);
        let (mut inside, outside): (Vec<_>, Vec<_>) = free.into_iter().partition(|(_, inner)| lies_in(inner));
        inside.sort_by_key(|(_, inner)| inner.first().copied());
        nest.inner = inside.into_iter().map(|(nest, _)| nest).collect();
        let all_in = |core: &Core| core.cpus.iter().all(|(cpu, _)| cpus.contains(cpu));
        (nest.cores, loose) = loose.into_iter().partition(all_in);
        free = outside;
        free.push((nest, cpus));
    }
    free.sort_by_key(|(_, cpus)| cpus.first().copied());
    top.inner = free.into_iter().map(|(nest, _)| nest).collect();
    if loose.is_empty() {
        return top.inner;
    }
    top.cores = loose;
    vec![top]
}

/// Packages, nodes and caches shared by several cores, the largest first. One that cuts through another cannot
/// be drawn as a box and is left out; a note says so.
fn sets(resources: &Resources) -> Vec<Set> {
    let mut sets = Vec::new();
    let by = |key: fn(&CpuPlace) -> u32| {
        let mut groups: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for place in &resources.cpus {
            groups.entry(key(place)).or_default().insert(place.cpu);
        }
        groups
    };
    let nodes = by(|place| place.node);
    let several_nodes = nodes.len() > 1;
    sets.extend(by(|place| place.package).into_iter().map(|(id, cpus)| Set { cpus, name: format!("package {id}") }));
    let nodes = nodes.into_iter().filter(|_| several_nodes);
    sets.extend(nodes.map(|(id, cpus)| Set { cpus, name: format!("NUMA node {id}") }));
    let core_of: BTreeMap<u32, u32> = resources.cpus.iter().map(|place| (place.cpu, place.core)).collect();
    for cache in resources.caches.iter().rev() {
        for one in &cache.each {
            let cpus: BTreeSet<u32> = one.cpus.iter().copied().filter(|cpu| core_of.contains_key(cpu)).collect();
            let cores: BTreeSet<_> = cpus.iter().filter_map(|cpu| core_of.get(cpu)).collect();
            if cores.len() > 1 {
                sets.push(Set { cpus, name: cache_name(cache, one.size_bytes) });
            }
        }
    }
    // Stable: among equal sets the package comes first, then the node, then caches.
    sets.sort_by_key(|set| (std::cmp::Reverse(set.cpus.len()), set.cpus.first().copied()));
    let mut kept: Vec<Set> = Vec::new();
    for set in sets {
        let fits = |other: &Set| other.cpus.is_disjoint(&set.cpus) || set.cpus.is_subset(&other.cpus);
        if kept.iter().all(fits) {
            kept.push(set);
        }
    }
    kept
}

fn cores(resources: &Resources) -> Vec<Core> {
    let mut cores: BTreeMap<u32, Core> = BTreeMap::new();
    for place in &resources.cpus {
        let new =
            || Core { number: place.core, cpus: Vec::new(), kind: kind(resources, place.cpu), caches: Vec::new() };
        cores.entry(place.core).or_insert_with(new).cpus.push((place.cpu, place.allowed));
    }
    for core in cores.values_mut() {
        core.caches = own_caches(resources, core);
    }
    cores.into_values().collect()
}

/// Caches that only this core's CPUs share.
fn own_caches(resources: &Resources, core: &Core) -> Vec<String> {
    let has = |cpu: &u32| core.cpus.iter().any(|(own, _)| own == cpu);
    let own = |one: &&OneCache| !one.cpus.is_empty() && one.cpus.iter().all(has);
    let mine = resources.caches.iter().rev().filter_map(|cache| Some((cache, cache.each.iter().find(own)?)));
    mine.map(|(cache, one)| cache_name(cache, one.size_bytes)).collect()
}

fn cache_name(cache: &Cache, size_bytes: u64) -> String {
    format!("{} {}", cache_level(cache), units::bytes(size_bytes))
}

/// `L1d`, `L3`.
pub(super) fn cache_level(cache: &Cache) -> String {
    let letter = match cache.kind.as_str() {
        "Data" => "d",
        "Instruction" => "i",
        _ => "",
    };
    format!("L{}{letter}", cache.level)
}

/// The kind of core in a letter or two.
fn kind(resources: &Resources, cpu: u32) -> String {
    let kind = resources.kinds.iter().find(|kind| kind.cpus.contains(&cpu));
    kind.map_or("", |kind| match kind.name.as_str() {
        "performance" => "P",
        "efficient" => "E",
        "low-power" => "LP",
        capacity => capacity,
    })
    .to_owned()
}
