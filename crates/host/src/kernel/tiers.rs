//! The ways to record the kernel's scheduling, from the richest to the cheapest.
//! Owns what each opens and the sentences about what each lacks; refuses to read
//! what the rings then hold.

use super::perf::{self, Event, PerfEvent, Scope};
use super::ring::Ring;
use super::tracefs::{self, Description};
use super::words;
use crate::capture::redact::Redactor;
use crate::machine::cpu_list;
use crate::system::open_files;
use rtscope_model::Pid;
use rtscope_model::manifest::Tier;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

/// Whose threads are recorded if the tier cannot record all threads.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum KernelTarget {
    /// A child that exists but has not called exec yet.
    Spawned(Pid),
    /// A process that is already running.
    Attached(Pid),
}

/// How to record.
#[derive(Clone, Debug)]
pub struct KernelOptions {
    /// The program.
    pub target: KernelTarget,
    /// The richest tier to try; `None`: all.
    pub force_tier: Option<Tier>,
    /// Replaces names in `threads.json`. Names in the streams stay: they are
    /// what the ring held.
    pub redactor: Option<Redactor>,
}

/// Tracepoints that are recorded. Forks, exits and names come as records of perf
/// itself (`task`, `comm`), which distinguish a thread from a process and are
/// translated to the recorder's pid namespace.
const TRACEPOINTS: [&str; 4] = ["sched_switch", "sched_waking", "sched_wakeup_new", "sched_migrate_task"];

const SAMPLE_TYPE: u64 = perf::SAMPLE_TID | perf::SAMPLE_TIME | perf::SAMPLE_CPU;

/// The smallest useful ring.
pub const RING_BYTES_MIN: usize = 16 << 10;
/// Ring size without privilege: half of the kernel's default allowance per CPU, so that a
/// second recorder of this user finds room too.
const RING_BYTES_OWN: usize = 256 << 10;
/// Ring size with privilege: 80 ms of the busiest CPU that was measured (50 MB/s).
const RING_BYTES_WIDE: usize = 4 << 20;
/// Total of all rings, on machines with many CPUs.
const RINGS_BYTES_MAX: usize = 128 << 20;
/// How often a running process is searched for threads that are not watched yet.
const RESCANS: usize = 8;
/// `/proc/self/ns/pid` of a process in the machine's first pid namespace
/// (`PROC_PID_INIT_INO` of `include/linux/proc_ns.h`).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// One CPU's events and the ring that they share.
#[derive(Debug)]
pub struct CpuRing {
    pub cpu: u16,
    pub ring: Ring,
    /// The event that the ring was mapped for, and those redirected to it.
    pub events: Vec<Event>,
    /// What each of `events` reports.
    pub whats: Vec<PerfEvent>,
}

#[derive(Debug, Default)]
pub struct Opened {
    pub tier: Tier,
    /// One ring per CPU; none when polling.
    pub rings: Vec<CpuRing>,
    pub sample_type: u64,
    pub tracepoints: Vec<Description>,
    /// Sentences about what this tier lacks.
    pub missing: Vec<String>,
}

/// Opens the richest permitted tier, not above `most`.
pub fn open(root: &Path, target: KernelTarget, most: Option<Tier>) -> Opened {
    let mut missing = Vec::new();
    let cpus = match online_cpus(root) {
        Ok(cpus) => cpus,
        Err(error) => return polling(vec![format!("The list of online CPUs cannot be read ({error}).")]),
    };
    for tier in [Tier::Tracepoints, Tier::CpuWideSwitches, Tier::OwnSwitches] {
        // Tiers are declared from the richest down.
        if let Some(asked) = most.filter(|asked| *asked as u8 > tier as u8) {
            missing.push(words::not_asked(tier, asked));
            continue;
        }
        match open_tier(root, tier, &cpus, target, None) {
            Ok(opened) => {
                missing.extend(opened.missing);
                return Opened { missing, ..opened };
            }
            Err(error) => missing.push(words::refused(tier, &error)),
        }
    }
    polling(missing)
}

/// Opens `tier` with rings of `ring_bytes`, or of the tier's own size. The error says why not.
fn open_tier(
    root: &Path,
    tier: Tier,
    cpus: &[u16],
    target: KernelTarget,
    ring_bytes: Option<usize>,
) -> io::Result<Opened> {
    if tier != Tier::OwnSwitches && in_a_pid_namespace(root) {
        // Processes outside the namespace have no pid in it: perf stamps them with 0, which
        // is the idle task. An unnamed thread on a CPU is better than one called idle.
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the recorder runs in a pid namespace of its own, as in a container; record from the host",
        ));
    }
    match tier {
        Tier::Tracepoints => open_tracepoints(root, cpus, ring_bytes),
        Tier::CpuWideSwitches => open_cpu_wide(cpus, ring_bytes),
        Tier::OwnSwitches => open_own(root, cpus, target, ring_bytes),
        Tier::Polling => Ok(polling(Vec::new())),
    }
}

/// Tries `tier` on one CPU without recording anything; the error says what is missing.
pub fn probe(root: &Path, tier: Tier) -> io::Result<()> {
    let (own, cpus) = (KernelTarget::Spawned(Pid(std::process::id())), online_cpus(root)?);
    open_tier(root, tier, cpus.get(..1).unwrap_or_default(), own, Some(RING_BYTES_MIN)).map(drop)
}

fn polling(missing: Vec<String>) -> Opened {
    Opened { tier: Tier::Polling, missing, ..Opened::default() }
}

/// Tier 1: every switch, wake-up and migration of the machine.
fn open_tracepoints(root: &Path, cpus: &[u16], ring_bytes: Option<usize>) -> io::Result<Opened> {
    let tracepoints = tracefs::describe(root, &TRACEPOINTS)?;
    let missing = TRACEPOINTS
        .iter()
        .filter(|name| !tracepoints.iter().any(|found| found.name == **name))
        .map(|name| format!("This kernel has no tracepoint {name}."))
        .collect();
    let whats: Vec<PerfEvent> = tracepoints
        .iter()
        .map(|point| match point.name.as_str() {
            "sched_switch" => PerfEvent::TracepointAndTasks(point.id),
            _ => PerfEvent::Tracepoint(point.id),
        })
        .collect();
    if !whats.iter().any(|what| matches!(what, PerfEvent::TracepointAndTasks(_))) {
        return Err(io::Error::new(io::ErrorKind::NotFound, "this kernel has no tracepoint sched_switch"));
    }
    let sample_type = SAMPLE_TYPE | perf::SAMPLE_RAW;
    let rings = open_wide(cpus, &whats, sample_type, ring_bytes)?;
    Ok(Opened { tier: Tier::Tracepoints, rings, sample_type, tracepoints, missing })
}

/// Tier 2: every switch of the machine, no wake-ups.
fn open_cpu_wide(cpus: &[u16], ring_bytes: Option<usize>) -> io::Result<Opened> {
    let rings = open_wide(cpus, &[PerfEvent::Switches], SAMPLE_TYPE, ring_bytes)?;
    Ok(Opened { tier: Tier::CpuWideSwitches, rings, sample_type: SAMPLE_TYPE, ..Opened::default() })
}

/// A ring per CPU with these events of every thread.
fn open_wide(cpus: &[u16], whats: &[PerfEvent], sample_type: u64, bytes: Option<usize>) -> io::Result<Vec<CpuRing>> {
    let size = bytes.unwrap_or_else(|| RING_BYTES_WIDE.min(share(cpus.len())));
    let open = |cpu: &u16| open_ring(*cpu, whats, &[Scope::Cpu(*cpu)], sample_type, size).transpose();
    cpus.iter().filter_map(open).collect()
}

/// Tier 3: the switches of the program's own threads.
fn open_own(root: &Path, cpus: &[u16], target: KernelTarget, ring_bytes: Option<usize>) -> io::Result<Opened> {
    let size = ring_bytes.unwrap_or(RING_BYTES_OWN);
    let (rings, missing) = open_threads(root, cpus, target, &[PerfEvent::Switches], SAMPLE_TYPE, size)?;
    Ok(Opened { tier: Tier::OwnSwitches, rings, sample_type: SAMPLE_TYPE, missing, ..Opened::default() })
}

/// A ring per CPU with these events of the program's threads, and sentences about what they lack.
pub fn open_threads(
    root: &Path,
    cpus: &[u16],
    target: KernelTarget,
    whats: &[PerfEvent],
    sample_type: u64,
    size: usize,
) -> io::Result<(Vec<CpuRing>, Vec<String>)> {
    let mut watched = match target {
        KernelTarget::Spawned(pid) => vec![pid.0],
        KernelTarget::Attached(pid) => tids_of(root, pid)?,
    };
    // Not down to the last descriptor: the recorder needs some for itself.
    if watched.len() > 1 && (watched.len() * cpus.len() * whats.len()) as u64 > open_files::room() {
        return Err(io::Error::from_raw_os_error(libc::EMFILE));
    }
    let mut rings = Vec::new();
    for cpu in cpus {
        let scopes: Vec<Scope> = watched.iter().map(|tid| Scope::ThreadOnCpu(*tid, *cpu)).collect();
        rings.extend(open_ring(*cpu, whats, &scopes, sample_type, size)?);
    }
    let mut missing = Vec::new();
    if let KernelTarget::Attached(pid) = target {
        if let Err(error) = watch_new_threads(root, pid, (whats, sample_type), &mut watched, &mut rings) {
            let why = words::errno(&error);
            let remedy = words::remedy(Tier::OwnSwitches, &error);
            missing.push(format!("Some threads of process {pid} are not watched ({why}). To change that: {remedy}."));
        }
        missing.push(format!("Processes that process {pid} had started before the recording are not watched."));
    }
    Ok((rings, missing))
}

/// Watches threads that were made while the others were being attached. Those made by
/// a thread that was already watched are inherited and come twice, which the
/// decoder folds.
fn watch_new_threads(
    root: &Path,
    pid: Pid,
    (whats, sample_type): (&[PerfEvent], u64),
    watched: &mut Vec<u32>,
    rings: &mut [CpuRing],
) -> io::Result<()> {
    let mut known: HashSet<u32> = watched.iter().copied().collect();
    for _ in 0..RESCANS {
        let fresh: Vec<u32> = tids_of(root, pid)?.into_iter().filter(|tid| known.insert(*tid)).collect();
        if fresh.is_empty() {
            break;
        }
        for ring in rings.iter_mut() {
            for tid in &fresh {
                for what in whats {
                    add_event(ring, *what, Scope::ThreadOnCpu(*tid, ring.cpu), sample_type)?;
                }
            }
        }
        watched.extend(fresh);
    }
    Ok(())
}

/// Opens all events of one CPU into one ring. `None`: the CPU went offline, or
/// no thread of the scopes is alive any more.
fn open_ring(
    cpu: u16,
    whats: &[PerfEvent],
    scopes: &[Scope],
    sample_type: u64,
    size: usize,
) -> io::Result<Option<CpuRing>> {
    let size = size.next_power_of_two().clamp(rustix::param::page_size(), 1 << 30);
    let mut opened: Option<CpuRing> = None;
    for scope in scopes {
        for what in whats {
            match &mut opened {
                Some(ring) => add_event(ring, *what, *scope, sample_type)?,
                None => {
                    let event = match Event::open(*what, *scope, sample_type, (size / 8) as u32) {
                        Err(error) if is_gone(&error) => continue,
                        other => other?,
                    };
                    let ring = map_what_is_allowed(&event, size)?;
                    opened = Some(CpuRing { cpu, ring, events: vec![event], whats: vec![*what] });
                }
            }
        }
    }
    if scopes.iter().all(|scope| matches!(scope, Scope::ThreadOnCpu(..))) && opened.is_none() {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(opened)
}

fn add_event(ring: &mut CpuRing, what: PerfEvent, scope: Scope, sample_type: u64) -> io::Result<()> {
    let event = match Event::open(what, scope, sample_type, 0) {
        Err(error) if is_gone(&error) => return Ok(()),
        other => other?,
    };
    if let Some(first) = ring.events.first() {
        event.redirect_to(first)?;
    }
    ring.events.push(event);
    ring.whats.push(what);
    Ok(())
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENODEV))
}

/// Halves the ring until the user's allowance of locked memory covers it.
fn map_what_is_allowed(event: &Event, size: usize) -> io::Result<Ring> {
    let mut size = size;
    loop {
        match Ring::map(event, size) {
            Err(error) if size > RING_BYTES_MIN && matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOMEM)) => {
                size /= 2;
            }
            other => return other,
        }
    }
}

pub fn share(cpus: usize) -> usize {
    let each = RINGS_BYTES_MAX / cpus.max(1);
    // Round down to a power of two.
    (1usize << each.max(1).ilog2()).max(RING_BYTES_MIN)
}

fn tids_of(root: &Path, pid: Pid) -> io::Result<Vec<u32>> {
    let folder = root.join(format!("proc/{pid}/task"));
    Ok(fs::read_dir(folder)?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

pub fn online_cpus(root: &Path) -> io::Result<Vec<u16>> {
    let text = fs::read_to_string(root.join("sys/devices/system/cpu/online"))?;
    let cpus = cpu_list::parse(&text).map_err(|bad| io::Error::new(io::ErrorKind::InvalidData, bad))?;
    if cpus.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no CPU is online"));
    }
    Ok(cpus.into_iter().filter_map(|cpu| u16::try_from(cpu).ok()).collect())
}

fn in_a_pid_namespace(root: &Path) -> bool {
    fs::read_link(root.join("proc/self/ns/pid")).is_ok_and(|link| link.as_os_str() != FIRST_PID_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn online_cpus_come_from_the_tree() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("sys/devices/system/cpu/online");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        assert!(online_cpus(root.path()).is_err());
        for (text, cpus) in [("0-1\n", Some(vec![0, 1])), ("0,2-3,9", Some(vec![0, 2, 3, 9])), ("", None), ("0-", None)]
        {
            fs::write(&file, text).unwrap();
            assert_eq!(online_cpus(root.path()).ok(), cpus, "{text}");
        }
    }

    #[test]
    fn rings_share_a_bounded_amount() {
        assert_eq!(share(2), 64 << 20);
        assert_eq!(share(96), 1 << 20);
        assert_eq!(share(1 << 20), RING_BYTES_MIN);
        assert_eq!(share(0), RINGS_BYTES_MAX);
    }
}
