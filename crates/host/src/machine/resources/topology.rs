//! How CPUs share cores, packages and NUMA nodes, and which kinds of core there
//! are. Cores come from the kernel's lists of siblings, never from equal `core_id`s:
//! those repeat in each package. If lists are inconsistent the next way is used, with
//! a note.

use super::ids;
use super::mask::Mask;
use crate::machine::cpu_list;
use crate::machine::reading::{Reading, quoted};
use rtscope_model::resources::{CoreKind, CpuPlace, Resources};
use std::collections::{BTreeMap, BTreeSet};

const NODES: &str = "/sys/devices/system/node";

/// A way to find out which CPUs share a core, best first.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
enum Way {
    /// A list in each CPU's folder.
    List(&'static str),
    /// Equal package, die and core.
    Ids,
    /// Each CPU counts as a core.
    Single,
}

const WAYS: [Way; 4] =
    [Way::List("topology/core_cpus_list"), Way::List("topology/thread_siblings_list"), Way::Ids, Way::Single];

/// CPUs that share a core, and the source of that for the first of them: what,
/// path, text.
struct Core {
    cpus: Vec<u32>,
    sources: Vec<(String, String, String)>,
}

/// Why a way failed.
enum Failed {
    /// The kernel has no such files.
    Absent,
    /// They are inconsistent or broken.
    Wrong(String),
}

/// Reads the topology of the allowed CPUs in `mask` as the kernel reports it. The rest is left empty.
pub(super) fn read(reading: &mut Reading<'_>, mask: &Mask) -> Resources {
    let allowed = &mask.allowed;
    if allowed.is_empty() {
        return Resources::default();
    }
    let (way, cores) = cores(reading, allowed);
    for (what, path, text) in cores.iter().flat_map(|core| &core.sources) {
        reading.add_source(what, path, text);
    }
    let siblings: Vec<Vec<u32>> = cores.into_iter().map(|core| core.cpus).collect();
    let everywhere = if mask.online.is_empty() { allowed } else { &mask.online };
    let nodes = nodes(reading, everywhere);
    let packages = packages(reading, everywhere, allowed);
    let of = |cpu: &u32, map: &BTreeMap<u32, u32>| map.get(cpu).copied().unwrap_or(0);
    let distinct = |map: &BTreeMap<u32, u32>| allowed.iter().map(|cpu| of(cpu, map)).collect::<BTreeSet<u32>>().len();
    contradictions(reading, &siblings, &packages, "packages");
    contradictions(reading, &siblings, &nodes, "NUMA nodes");

    let mut whole =
        if everywhere == allowed { siblings.clone() } else { all_cores(reading, way, everywhere, &siblings) };
    let place = |core: &Vec<u32>| core.first().map(|cpu| (of(cpu, &packages), of(cpu, &nodes), *cpu));
    whole.sort_by_key(place);
    let mut cpus: Vec<CpuPlace> = (0u32..)
        .zip(&whole)
        .flat_map(|(core, cpus)| cpus.iter().map(move |cpu| (core, cpu)))
        .map(|(core, cpu)| CpuPlace {
            cpu: *cpu,
            core,
            package: of(cpu, &packages),
            node: of(cpu, &nodes),
            allowed: allowed.binary_search(cpu).is_ok(),
        })
        .collect();
    cpus.sort_by_key(|place| place.cpu);
    Resources {
        cores: count(siblings.len()),
        packages: count(distinct(&packages)),
        numa_nodes: count(distinct(&nodes)),
        kinds: kinds(reading, everywhere, allowed),
        siblings,
        cpus,
        ..Resources::default()
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The cores of `cpus`, by the best way that works.
fn cores(reading: &mut Reading<'_>, cpus: &[u32]) -> (Way, Vec<Core>) {
    let mut reasons = Vec::new();
    for way in WAYS {
        match by(reading, way, cpus) {
            Ok(cores) => {
                let words = match way {
                    Way::List(file) => format!("cores are identified by {}", file.trim_start_matches("topology/")),
                    Way::Ids => "cores are identified by package, die and core id".to_owned(),
                    Way::Single => "each CPU is taken for a core of its own".to_owned(),
                };
                if way == Way::Single && reasons.is_empty() {
                    reasons.push("the kernel shows no topology".to_owned());
                }
                if !reasons.is_empty() {
                    reading.note(format!("{}: {words}", reasons.join("; ")));
                }
                return (way, cores);
            }
            Err(Failed::Wrong(why)) => reasons.push(why),
            // An older kernel lacks the newer files, which is not an error.
            Err(Failed::Absent) => {}
        }
    }
    (Way::Single, Vec::new())
}

/// The cores of every online CPU, for a drawing: by the way that worked for the
/// allowed ones; else those, and each other CPU by itself.
fn all_cores(reading: &mut Reading<'_>, way: Way, online: &[u32], siblings: &[Vec<u32>]) -> Vec<Vec<u32>> {
    if let Ok(cores) = by(reading, way, online) {
        return cores.into_iter().map(|core| core.cpus).collect();
    }
    let known: BTreeSet<u32> = siblings.iter().flatten().copied().collect();
    let others = online.iter().filter(|cpu| !known.contains(cpu)).map(|cpu| vec![*cpu]);
    siblings.iter().cloned().chain(others).collect()
}

fn by(reading: &mut Reading<'_>, way: Way, cpus: &[u32]) -> Result<Vec<Core>, Failed> {
    match way {
        Way::List(file) => by_lists(reading, file, cpus),
        Way::Ids => by_ids(reading, cpus),
        Way::Single => Ok(cpus.iter().map(|cpu| Core { cpus: vec![*cpu], sources: Vec::new() }).collect()),
    }
}

/// Cores from lists: each CPU's list must exist, contain that CPU, and agree with
/// the lists of its siblings.
fn by_lists(reading: &mut Reading<'_>, file: &str, cpus: &[u32]) -> Result<Vec<Core>, Failed> {
    let mut lists: BTreeMap<u32, (Vec<u32>, String)> = BTreeMap::new();
    let mut absent = None;
    for &cpu in cpus {
        let path = ids::path(cpu, file);
        let Some(text) = reading.text(&path) else {
            absent = absent.or(Some(path));
            continue;
        };
        let list =
            cpu_list::parse(&text).map_err(|bad| Failed::Wrong(format!("{path} says {}: {bad}", quoted(&text))))?;
        if list.binary_search(&cpu).is_err() {
            return Err(Failed::Wrong(format!("{path} says {}, which leaves out CPU {cpu} itself", quoted(&text))));
        }
        let inside = list.into_iter().filter(|other| cpus.binary_search(other).is_ok()).collect();
        lists.insert(cpu, (inside, text));
    }
    if let Some(path) = absent {
        let why = format!("{path} is not there");
        return Err(if lists.is_empty() { Failed::Absent } else { Failed::Wrong(why) });
    }
    for (cpu, (list, _)) in &lists {
        let other = list.iter().find(|other| lists.get(other).is_none_or(|(others, _)| others != list));
        if let Some(other) = other {
            let name = file.trim_start_matches("topology/");
            return Err(Failed::Wrong(format!("{name} of CPU {cpu} and of CPU {other} contradict each other")));
        }
    }
    let first = lists.into_iter().filter(|(cpu, (list, _))| list.first() == Some(cpu));
    Ok(first
        .map(|(cpu, (cpus, text))| Core {
            cpus,
            sources: vec![(format!("siblings of cpu{cpu}"), ids::path(cpu, file), text)],
        })
        .collect())
}

/// Cores from equal package, die and core ids. Not every kernel shows the die; the
/// others must be there.
fn by_ids(reading: &mut Reading<'_>, cpus: &[u32]) -> Result<Vec<Core>, Failed> {
    let mut cores: BTreeMap<[i64; 3], Core> = BTreeMap::new();
    let (mut known, mut failed) = (false, None);
    for &cpu in cpus {
        let package = ids::number(reading, cpu, "topology/physical_package_id");
        let core = ids::number(reading, cpu, "topology/core_id");
        let die = ids::number(reading, cpu, "topology/die_id").unwrap_or(-1);
        let (package, core) = match (package, core) {
            (Ok(package), Ok(core)) if core >= 0 => (package, core),
            (Ok(_), Ok(core)) => {
                known = true;
                failed = failed.or(Some(format!("{} is {core}", ids::path(cpu, "topology/core_id"))));
                continue;
            }
            (Err(why), other) | (other, Err(why)) => {
                known |= other.is_ok();
                failed = failed.or(Some(why));
                continue;
            }
        };
        known = true;
        let sources = || {
            let files = [("package", "topology/physical_package_id", package), ("core id", "topology/core_id", core)];
            files.map(|(what, file, id)| (format!("{what} of cpu{cpu}"), ids::path(cpu, file), id.to_string())).to_vec()
        };
        cores
            .entry([package, die, core])
            .or_insert_with(|| Core { cpus: Vec::new(), sources: sources() })
            .cpus
            .push(cpu);
    }
    match failed {
        Some(why) if known => Err(Failed::Wrong(why)),
        Some(_) => Err(Failed::Absent),
        None => {
            let mut cores: Vec<Core> = cores.into_values().collect();
            cores.sort_by_key(|core| core.cpus.first().copied());
            Ok(cores)
        }
    }
}

/// The package of each CPU. A kernel that does not know it says -1 or nothing.
fn packages(reading: &mut Reading<'_>, cpus: &[u32], allowed: &[u32]) -> BTreeMap<u32, u32> {
    let (mut packages, mut unknown) = (BTreeMap::new(), Vec::new());
    let mut reported = BTreeSet::new();
    for &cpu in cpus {
        const FILE: &str = "topology/physical_package_id";
        let Some(package) = ids::number(reading, cpu, FILE).ok().and_then(|id| u32::try_from(id).ok()) else {
            unknown.push(cpu);
            continue;
        };
        packages.insert(cpu, package);
        if allowed.binary_search(&cpu).is_ok() && reported.insert(package) {
            reading.add_source(&format!("package of cpu{cpu}"), ids::path(cpu, FILE), &package.to_string());
        }
    }
    if !unknown.is_empty() {
        let cpus = cpu_list::show(&unknown);
        reading.note(format!("the package of CPUs {cpus} is not known: they are counted as in package 0"));
    }
    packages
}

/// The NUMA node of each CPU; empty if the kernel shows none.
fn nodes(reading: &mut Reading<'_>, cpus: &[u32]) -> BTreeMap<u32, u32> {
    let mut nodes = BTreeMap::new();
    let numbers = reading.host.numbered(NODES, "node");
    for &node in &numbers {
        let path = format!("{NODES}/node{node}/cpulist");
        let Some(text) = reading.source(&format!("CPUs of node {node}"), &path) else { continue };
        let list = match cpu_list::parse(&text) {
            Ok(list) => list,
            Err(bad) => {
                reading.note(format!("{path} says {}: {bad}; this node is left out", quoted(&text)));
                continue;
            }
        };
        for cpu in list {
            let other = *nodes.entry(cpu).or_insert(node);
            if other != node {
                reading.note(format!("CPU {cpu} is in nodes {other} and {node}: the first is taken"));
            }
        }
    }
    let outside: Vec<u32> = cpus.iter().copied().filter(|cpu| !nodes.contains_key(cpu)).collect();
    if !numbers.is_empty() && !outside.is_empty() {
        let cpus = cpu_list::show(&outside);
        reading.note(format!("CPUs {cpus} are in no NUMA node: they are counted as in node 0"));
    }
    nodes
}

/// Notes cores whose CPUs have different packages or nodes. A core lies in one of
/// each; if ids say otherwise, the lists of siblings win.
fn contradictions(reading: &mut Reading<'_>, siblings: &[Vec<u32>], of: &BTreeMap<u32, u32>, what: &str) {
    let split = |core: &&Vec<u32>| core.iter().filter_map(|cpu| of.get(cpu)).collect::<BTreeSet<_>>().len() > 1;
    if let Some(core) = siblings.iter().find(split) {
        let cpus = cpu_list::show(core);
        reading.note(format!("CPUs {cpus} share a core but are said to be in several {what}: they count as one core"));
    }
}

/// The kinds of core: from Intel's lists, else by capacity if it differs.
fn kinds(reading: &mut Reading<'_>, online: &[u32], allowed: &[u32]) -> Vec<CoreKind> {
    let mut kinds = Vec::new();
    for (name, folder) in [("performance", "cpu_core"), ("efficient", "cpu_atom"), ("low-power", "cpu_lowpower")] {
        let path = format!("/sys/devices/{folder}/cpus");
        let Some(text) = reading.text(&path) else { continue };
        match cpu_list::parse(&text) {
            Ok(cpus) => kinds.push((name.to_owned(), cpus, path, text)),
            Err(bad) => reading.note(format!("{path} says {}: {bad}; this kind of core is left out", quoted(&text))),
        }
    }
    if kinds.is_empty() {
        kinds = by_capacity(reading, online);
    }
    if kinds.iter().filter(|(_, cpus, ..)| !cpus.is_empty()).count() < 2 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (name, cpus, path, text) in kinds {
        let cpus: Vec<u32> = cpus.into_iter().filter(|cpu| allowed.binary_search(cpu).is_ok()).collect();
        if !cpus.is_empty() {
            reading.add_source(&format!("{name} cores"), &path, &text);
            found.push(CoreKind { name, cpus });
        }
    }
    let missing = |cpu: &&u32| !found.iter().any(|kind: &CoreKind| kind.cpus.contains(cpu));
    let missing: Vec<u32> = allowed.iter().filter(missing).copied().collect();
    if !missing.is_empty() {
        reading.note(format!("the kind of core of CPUs {} is not known", cpu_list::show(&missing)));
    }
    found
}

/// CPUs of each `cpu_capacity`, largest first: name, CPUs, first file, its text.
fn by_capacity(reading: &mut Reading<'_>, online: &[u32]) -> Vec<(String, Vec<u32>, String, String)> {
    let mut capacities: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
    for &cpu in online {
        if let Ok(capacity) = ids::number(reading, cpu, "cpu_capacity") {
            capacities.entry(capacity).or_default().push(cpu);
        }
    }
    let kind = |(capacity, cpus): (i64, Vec<u32>)| {
        let path = ids::path(cpus.first().copied().unwrap_or(0), "cpu_capacity");
        (capacity.to_string(), cpus, path, capacity.to_string())
    };
    capacities.into_iter().rev().map(kind).collect()
}
