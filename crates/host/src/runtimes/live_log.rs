//! The log of a running program, without a recording: where its bytes are, and how the next
//! ones are taken from its memory. Owns finding it, and the message if there is none. Refuses
//! to decode: bytes go to a [`GrowingLog`].

use crate::binary::{Inspected, RuntimeSymbols};
use crate::live::ObservedProcess;
use crate::memory::LiveProcess;
use crate::procfs::Host;
use crate::runtimes::ocaml::rings::{self, NoRings};
use crate::unflushed::{self, Block, Buffers, Take};
use rtscope_decode::formats::{GrowingLog, LogFormat, Opening, Piece};
use rtscope_decode::ghc_eventlog;
use rtscope_decode::ocaml_ring::{GrowingRings, Version};
use rtscope_model::{ClockMap, Time};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// The shortest time between two reads of rings, which may be overwritten.
const RINGS_MIN_NS: u64 = 2_000_000;

/// A log that was found.
pub struct LiveLog {
    /// The decoder that makes events of it.
    pub log: Box<dyn GrowingLog>,
    /// Its clock, mapped to the monotonic clock.
    pub clock: ClockMap,
    /// The source of its bytes.
    pub tap: Box<dyn Tap>,
}

/// The result of one read of a log.
#[derive(Copy, Clone, Debug, Default)]
pub struct Looked {
    /// A part was skipped: the log grows faster than it is read.
    pub left_out: bool,
    /// When the next read should come at the latest, nanoseconds from now; `None`: at any time.
    pub due_ns: Option<u64>,
}

/// A source of a log's bytes.
pub trait Tap {
    /// Passes what is new to `log`, about `most` bytes of a file.
    ///
    /// # Errors
    /// There is no more to come, and why.
    fn look(&mut self, log: &mut dyn GrowingLog, most: usize, now: Time) -> Result<Looked, &'static str>;

    /// Whether the last bytes in memory at one read are delivered only at the next.
    fn gives_late(&self) -> bool;
}

/// The log that a process writes.
///
/// # Errors
/// There is no readable log, and what would help: a sentence.
pub fn find(host: &Host, process: &ObservedProcess, inspected: &Inspected, now: Time) -> Result<LiveLog, String> {
    let pid = process.held.pid();
    if process.program.is_none() {
        let of_the_kernel = host.command(pid).is_some_and(|command| command.is_empty());
        return Err(match of_the_kernel {
            true => "No pauses: it is no program but a thread of the kernel's.".to_owned(),
            false => "No pauses: what it runs is not to be known; look at it as its own user or as root.".to_owned(),
        });
    }
    match rings::Manual::of(host, pid, now) {
        Ok(rings) => {
            let version = inspected.binary.version.as_deref().and_then(|text| Version::parse(text).ok());
            let log = Box::new(GrowingRings::by_hand(version));
            return Ok(LiveLog { log, clock: ClockMap::MONOTONIC, tap: Box::new(RingTap(rings)) });
        }
        Err(NoRings::Off) => {}
        Err(why) => return Err(format!("No pauses: {why}; look at it as its own user or as root.")),
    }
    let located = unflushed::locate(&process.held);
    let Some((file, path)) = process.eventlog() else { return Err(no_log(host, process, inspected, located)) };
    eventlog(process, file, &path.display().to_string(), located)
}

fn no_log(host: &Host, process: &ObservedProcess, inspected: &Inspected, located: Option<RuntimeSymbols>) -> String {
    let runtime = inspected.runtime();
    let memory = || LiveProcess::from(process.held.clone());
    match located {
        Some(located) if unflushed::is_logging(memory(), located) => {
            "No pauses: it logs, but not into a file (a pipe or a socket), and only a file says how its events are laid out; \
             start it with `+RTS -l -olFILE`."
                .to_owned()
        }
        _ if inspected.binary.can_log == Some(false) => {
            "No pauses: it cannot write an eventlog, as GHC 9.2 or older linked it without `-eventlog`; link it with that, \
             or with GHC 9.4 or later, and start it with `+RTS -l`."
                .to_owned()
        }
        _ if runtime.is_known() => format!("No pauses: {} (or under `rtscope record`).", runtime.log_is_off),
        _ => not_a_runtime(host, process.held.pid()),
    }
}

/// A sentence that the process has no known runtime, and which of its children have one.
fn not_a_runtime(host: &Host, pid: u32) -> String {
    const WHAT: &str = "No pauses: by its file it is not a program of GHC or OCaml 5";
    let is_one =
        |child: &u32| ObservedProcess::open(host, *child).is_some_and(|child| child.inspect().runtime().is_known());
    match host.descendants(pid).into_iter().find(is_one) {
        Some(child) => format!("{WHAT}; process {child}, which it started, is one: rtscope top {child}."),
        None => format!("{WHAT}; what the kernel and /proc say is shown."),
    }
}

fn eventlog(
    process: &ObservedProcess,
    file: File,
    path: &str,
    located: Option<RuntimeSymbols>,
) -> Result<LiveLog, String> {
    let located = located.filter(|located| located.has_buffers()).ok_or(
        "No pauses: its binary has no symbols, so what it has logged and not written yet cannot be found; use a build \
         that was not stripped.",
    )?;
    let memory = LiveProcess::from(process.held.clone());
    let clock = unflushed::clock(&memory, &located).ok_or(
        "No pauses: its memory cannot be read; look at it as root, or as its own user with \
         `sysctl kernel.yama.ptrace_scope=0`.",
    )?;
    let file = Arc::new(file);
    let log = ghc_eventlog::EventlogFormat.follow(Opening::new(Arc::clone(&file) as _, path), false);
    let log = log.map_err(|error| format!("No pauses: its log {path} cannot be read: {error}."))?;
    Ok(LiveLog { log, clock, tap: Box::new(EventlogTap { file, buffers: Buffers::new(memory, located) }) })
}

/// An eventlog's file, and the buffers of its program.
struct EventlogTap {
    file: Arc<File>,
    buffers: Buffers<LiveProcess>,
}

impl Tap for EventlogTap {
    fn look(&mut self, log: &mut dyn GrowingLog, most: usize, _now: Time) -> Result<Looked, &'static str> {
        // In this order: a block that is written out meanwhile is no longer in memory.
        let mut pieces = Pieces { log, taken: Vec::new() };
        let _ = self.buffers.copy(&mut pieces);
        let Pieces { log, taken } = pieces;
        let left_out = log.read_or_skip(self.file.as_ref(), most);
        for (block, from, bytes) in &taken {
            log.add(Piece { lane: block.capability, opened: block.opened, from: *from, bytes });
        }
        Ok(Looked { left_out, due_ns: None })
    }

    fn gives_late(&self) -> bool {
        true
    }
}

/// Takes copies of buffers. Their place is decided after the log's file was read.
struct Pieces<'a> {
    log: &'a mut dyn GrowingLog,
    taken: Vec<(Block, u64, Vec<u8>)>,
}

impl Take for Pieces<'_> {
    fn had(&self, block: Block) -> u64 {
        self.log.had(block.capability, block.opened)
    }

    fn take(&mut self, block: Block, from: u64, bytes: &[u8]) -> io::Result<()> {
        self.taken.push((block, from, bytes.to_vec()));
        Ok(())
    }
}

/// Rings that are copied before they are overwritten.
struct RingTap(rings::Manual);

impl Tap for RingTap {
    fn look(&mut self, log: &mut dyn GrowingLog, _most: usize, now: Time) -> Result<Looked, &'static str> {
        let goes_on = self.0.look(now).unwrap_or(false);
        log.add(Piece { lane: 0, opened: 0, from: 0, bytes: &self.0.take() });
        match goes_on {
            true => Ok(Looked { due_ns: Some(self.0.due_ns.max(RINGS_MIN_NS)), ..Looked::default() }),
            false => Err("Its rings began anew or cannot be read any more: start `rtscope top` again."),
        }
    }

    fn gives_late(&self) -> bool {
        false
    }
}
