//! A process that runs: its log's buffers or rings, the kernel's records and counters, all
//! taken by hand. Owns what is looked at and when; nothing is written, nothing is stopped.

use super::source::{CLASSES, Common, Log, Looked, OcamlLog, Sched, Source, samples};
use super::transactions::Transactions;
use crate::trouble::Trouble;
use rtscope_analyze::Context;
use rtscope_analyze::results::Program;
use rtscope_decode::ghc_eventlog::{Growing, Piece};
use rtscope_decode::ocaml_ring::Version;
use rtscope_host::binary::Inspected;
use rtscope_host::cgroup::{self, Groups};
use rtscope_host::live::{Life, Process};
use rtscope_host::memory::LiveProcess;
use rtscope_host::procfs::Host;
use rtscope_host::unflushed::{self, Block, Buffers, Take};
use rtscope_host::{clock, kernel, machine, own_cost, rings, sampler, stm};
use rtscope_model::manifest::{Kernel, Tier};
use rtscope_model::{ClockMap, ClockMethod, Event, Pid, Tid, Time};
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks at everything, and at quotas where there are some, nanoseconds.
const LOOK_NS: u64 = 100_000_000;
const QUOTA_NS: u64 = 20_000_000;
/// The shortest time between two looks at rings, which may be overwritten.
const RINGS_MIN_NS: u64 = 2_000_000;
/// Between two looks at whether it still runs the same program.
const LIFE_NS: u64 = 500_000_000;
/// How long after its start a program may not have opened its log yet, and how often that is
/// looked at.
const START_NS: u64 = 1_000_000_000;
const START_STEP: Duration = Duration::from_millis(50);
/// The offset of a clock that was read from its runtime.
const ORIGIN_ERROR_NS: u64 = 1_000;

/// The bytes of a log.
enum Bytes {
    None,
    Ghc { file: Arc<File>, buffers: Buffers<LiveProcess> },
    Ocaml(rings::ByHand),
}

/// See the module.
pub(super) struct Running {
    host: Host,
    process: Process,
    inspected: Inspected,
    command: Vec<String>,
    groups: Groups,
    cpus: (Vec<u16>, u32),
    bytes: Bytes,
    common: Common,
    kernel: Option<kernel::ByHand>,
    sampler: sampler::ByHand,
    next_life: Time,
    ended: Option<String>,
}

impl Running {
    /// Process `pid`. `tier` is the richest way to see the kernel that is tried; `None`: none.
    pub(super) fn open(host: &Host, pid: u32, tier: Option<Tier>, now: Time) -> Result<Running, Trouble> {
        let process = Process::open(host, pid).ok_or_else(|| {
            Trouble::new(format!("there is no process {pid}")).next("`pgrep -a NAME` shows what runs")
        })?;
        let inspected = process.inspect();
        let (bytes, log, mut notes) = await_log(host, &process, &inspected, now);
        let groups = cgroup::of_process(host, pid);
        let machine = machine::snapshot(host, pid);
        let kernel = tier.map(|tier| kernel::ByHand::start(kernel::Target::Attached(Pid(pid)), Some(tier)));
        let mut sched = Sched::default();
        match &kernel {
            Some(kernel) => {
                let (opened, failed) = Sched::open(kernel.kernel(), kernel.formats(), Some(kernel.threads()));
                sched = opened;
                notes.extend(kernel.kernel().missing.iter().cloned());
                notes.extend(failed);
            }
            None => {
                notes.push("The kernel's scheduling is not looked at (--no-kernel): causes are guesses.".to_owned())
            }
        }
        let quota = groups.quota_cpus().is_some();
        let sampler = sampler::ByHand::new(sampler::Config {
            host: host.clone(),
            pid,
            levels: groups.levels.clone(),
            period_ns: if quota { QUOTA_NS } else { LOOK_NS },
            transactions: Some(stm::Kept { capture: None, redact: false }),
        });
        Ok(Running {
            host: host.clone(),
            command: host.command(pid).unwrap_or_default(),
            process,
            inspected,
            cpus: (machine.cpus_allowed.clone(), machine.cpus_online),
            groups,
            bytes,
            kernel,
            sampler,
            // Looking at a large binary takes a while, in which nothing is counted.
            common: Common {
                log,
                sched,
                notes,
                transactions: Transactions::new(None),
                losses: Vec::new(),
                started: clock::monotonic(),
                looked: Time(0),
            },
            next_life: now,
            ended: None,
        })
    }

    pub(super) fn note(&mut self, note: String) {
        self.common.notes.push(note);
    }

    fn look_at_log(&mut self, now: Time, into: &mut Vec<Event>) -> u64 {
        let mut taken = Vec::new();
        if let (Bytes::Ghc { file, buffers }, Log::Ghc { growing, .. }) = (&mut self.bytes, &self.common.log) {
            // In this order: a block that is written out meanwhile is not in memory any more.
            let mut pieces = Pieces { growing, taken };
            let _ = buffers.copy(&mut pieces);
            taken = pieces.taken;
            let _ = self.common.read_file(file.as_ref(), now);
        }
        match (&mut self.bytes, &mut self.common.log) {
            (Bytes::Ghc { .. }, Log::Ghc { growing, clock }) => {
                for (block, from, bytes) in &taken {
                    growing.add(Piece { cap: block.capability, opened: block.opened, from: *from, bytes });
                }
                into.extend(growing.events(CLASSES, *clock));
                LOOK_NS
            }
            (Bytes::Ocaml(rings), Log::Ocaml(log)) => {
                if !rings.look(now).unwrap_or(false) && self.ended.is_none() && self.process.life() == Life::Runs {
                    const WHY: &str = "Its rings began anew or cannot be read any more: start `rtscope top` again.";
                    self.common.notes.push(WHY.to_owned());
                    self.bytes = Bytes::None;
                    return LOOK_NS;
                }
                log.add(rings.take(), into);
                rings.due_ns().clamp(RINGS_MIN_NS, LOOK_NS)
            }
            _ => LOOK_NS,
        }
    }

    fn log_is_ghc(&self) -> bool {
        matches!(self.bytes, Bytes::Ghc { .. })
    }
}

impl Source for Running {
    fn common(&self) -> &Common {
        &self.common
    }

    fn own_cpu_ns(&self) -> u64 {
        own_cost::cpu_ns(&self.host)
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn look(&mut self, now: Time, into: &mut Vec<Event>) -> Looked {
        self.sampler.look();
        let before = std::mem::replace(&mut self.common.looked, now);
        let due_ns = self.look_at_log(now, into);
        if let Some(kernel) = &mut self.kernel {
            let mut records = Vec::new();
            kernel.take(&mut records);
            self.common.sched.add(records, into);
        }
        samples(&self.sampler.take(), into);
        self.common.transactions.add(&self.sampler.take_transactions());
        // What was in a buffer's last bytes at this look is given at the next.
        let until = if self.log_is_ghc() { before } else { now };
        let due_ns = if self.groups.quota_cpus().is_some() { due_ns.min(QUOTA_NS) } else { due_ns };
        Looked { until, due_ns }
    }

    fn context(&self) -> Context {
        let pid = self.process.pid();
        let mut context = Context {
            program: Some(Program { command: self.command.clone(), ..Program::default() }),
            program_pid: Some(Pid(pid)),
            program_tids: vec![Tid(pid)],
            groups: self.groups.manifest(),
            cpus_allowed: self.cpus.0.clone(),
            cpus_online: self.cpus.1,
            kernel: Some(self.kernel.as_ref().map_or_else(Kernel::default, |kernel| kernel.kernel().clone())),
            started: Some(self.common.started),
            sample_period_ns: Some(if self.groups.quota_cpus().is_some() { QUOTA_NS } else { LOOK_NS }),
            // Without a log, what threads do is told all the same.
            clock: ClockMap::MONOTONIC,
            ..Context::default()
        };
        context.runtime.family.clone_from(&self.inspected.binary.family);
        context.runtime.version.clone_from(&self.inspected.binary.version);
        self.common.log.describe(&mut context);
        context
    }

    fn over(&mut self) -> Option<String> {
        let now = clock::monotonic();
        let due = now >= self.next_life;
        if self.ended.is_none() && (due || self.process.has_ended()) {
            self.next_life = now.plus(LIFE_NS);
            let pid = self.process.pid();
            self.ended = match self.process.life() {
                Life::Runs => None,
                Life::Ended => Some(format!("process {pid} has ended")),
                Life::Other(program) => Some(format!("process {pid} runs another program now: {}", program.display())),
            };
        }
        self.ended.clone()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.process.descriptor()
    }
}

/// Takes copies of buffers. What they belong to is decided when the log's file was read.
struct Pieces<'a> {
    growing: &'a Growing,
    taken: Vec<(Block, u64, Vec<u8>)>,
}

impl Take for Pieces<'_> {
    fn had(&self, block: Block) -> u64 {
        self.growing.had(block.capability, block.opened)
    }

    fn take(&mut self, block: Block, from: u64, bytes: &[u8]) -> io::Result<()> {
        self.taken.push((block, from, bytes.to_vec()));
        Ok(())
    }
}

/// The log that a process writes, and what there is to say about it. A program that has just been
/// started has not opened its log yet: it gets some time.
fn await_log(host: &Host, process: &Process, inspected: &Inspected, now: Time) -> (Bytes, Log, Vec<String>) {
    let begun = clock::monotonic();
    loop {
        let mut notes = Vec::new();
        let (bytes, log) = find_log(host, process, inspected, now, &mut notes);
        let may_log = inspected.is_ghc() || inspected.is_ocaml();
        let young = process.age_ns() < START_NS && clock::monotonic().since(begun) < START_NS;
        if !matches!(log, Log::None) || !may_log || !young || process.has_ended() {
            return (bytes, log, notes);
        }
        std::thread::sleep(START_STEP);
    }
}

/// The log that a process writes; `notes` hears what there is not, and what would help.
fn find_log(host: &Host, process: &Process, inspected: &Inspected, now: Time, notes: &mut Vec<String>) -> (Bytes, Log) {
    let pid = process.pid();
    if process.program().is_none() {
        let of_the_kernel = host.command(pid).is_some_and(|command| command.is_empty());
        notes.push(match of_the_kernel {
            true => "No pauses: it is no program but a thread of the kernel's.".to_owned(),
            false => "No pauses: what it runs is not to be known; look at it as its own user or as root.".to_owned(),
        });
        return (Bytes::None, Log::None);
    }
    match rings::ByHand::of(host, pid, now) {
        Ok(rings) => {
            let version = inspected.binary.version.as_deref().and_then(|text| Version::parse(text).ok());
            return (Bytes::Ocaml(rings), Log::Ocaml(OcamlLog::new(version)));
        }
        Err(rings::NoRings::Off) => {}
        Err(why) => {
            notes.push(format!("No pauses: {why}; look at it as its own user or as root."));
            return (Bytes::None, Log::None);
        }
    }
    match (process.eventlog(), unflushed::locate(process.held())) {
        (Some((file, path)), located) => {
            let file = Arc::new(file);
            match ghc(process, Arc::clone(&file), &path.display().to_string(), located) {
                Ok((buffers, log)) => return (Bytes::Ghc { file, buffers }, log),
                Err(why) => notes.push(why),
            }
        }
        (None, Some(located)) if unflushed::is_logging(memory(process), located) => notes.push(
            "No pauses: it logs, but not into a file (a pipe or a socket), and only a file says how its events are laid out; \
             start it with `+RTS -l -olFILE`."
                .to_owned(),
        ),
        (None, _) if inspected.binary.can_log == Some(false) => notes.push(
            "No pauses: it cannot write an eventlog, as GHC 9.2 or older linked it without `-eventlog`; link it with that, \
             or with GHC 9.4 or later, and start it with `+RTS -l`."
                .to_owned(),
        ),
        (None, _) if inspected.is_ghc() => notes.push(
            "No pauses: it writes no eventlog, which cannot be switched on from outside; start it with `+RTS -l` (or under \
             `rtscope record`)."
                .to_owned(),
        ),
        (None, _) if inspected.is_ocaml() => notes.push(
            "No pauses: its runtime events are off and cannot be switched on from outside; start it with \
             OCAML_RUNTIME_EVENTS_START=1 (or under `rtscope record`)."
                .to_owned(),
        ),
        (None, _) => notes.push(not_a_runtime(host, pid)),
    }
    (Bytes::None, Log::None)
}

fn memory(process: &Process) -> LiveProcess {
    process.held().clone().into()
}

fn ghc(
    process: &Process,
    file: Arc<File>,
    path: &str,
    located: Option<unflushed::Located>,
) -> Result<(Buffers<LiveProcess>, Log), String> {
    let located = located.filter(|located| located.symbols.has_buffers()).ok_or_else(|| {
        "No pauses: its binary has no symbols, so what it has logged and not written yet cannot be found; use a build \
         that was not stripped."
            .to_owned()
    })?;
    let memory = memory(process);
    let clock = match unflushed::clock_origin(&memory, &located) {
        Some(origin) => ClockMap {
            offset_ns: i64::try_from(origin).unwrap_or(i64::MAX),
            error_ns: Some(ORIGIN_ERROR_NS),
            method: ClockMethod::RuntimeStatic,
        },
        None => {
            return Err("No pauses: its memory cannot be read; look at it as root, or as its own user with \
                        `sysctl kernel.yama.ptrace_scope=0`."
                .to_owned());
        }
    };
    let growing =
        Growing::open(file, path).map_err(|error| format!("No pauses: its log {path} cannot be read: {error}."))?;
    Ok((Buffers::new(memory, located), Log::Ghc { growing: Box::new(growing), clock }))
}

/// What it is not, and which of those that it started would be.
fn not_a_runtime(host: &Host, pid: u32) -> String {
    const WHAT: &str = "No pauses: it is no program of GHC or OCaml 5 as far as its file tells";
    let program = |child: &u32| {
        let found = Process::open(host, *child)?.inspect();
        found.binary.family.map(|_| *child)
    };
    match host.descendants(pid).iter().find_map(program) {
        Some(child) => format!("{WHAT}; process {child}, which it started, is one: rtscope top {child}."),
        None => format!("{WHAT}; what the kernel and /proc say is shown."),
    }
}
