//! One process whose threads are sampled. Owns finding out how to sample it, that samples wait for
//! names, and that a failure is reported once. Refuses programs of unknown runtimes.

use super::groups::{self, Texts};
use super::places::PlaceNames;
use crate::binary;
use crate::runtimes;
use crate::runtimes::recorded::{HostRuntime, NoHeap, Then};
use crate::runtimes::waiting::{Looks, Thread, ThreadsLook};
use crate::sandbox;
use crate::system::procfs::Host;
use crate::target::Process;
use rtscope_model::{OldObjects, Time, WaitSeen};
use std::io;
use std::path::PathBuf;

/// Attempts at a process that may become a known program later.
const TRIES_MAX: u32 = 40;
/// Limits of threads in samples that wait for names, and of samples of old objects.
const HELD_MAX: usize = 1 << 16;
const OLD_MAX: usize = 1 << 12;
/// One sample in this many asks whether the process still runs the same program: that takes another process's help.
const ASK_EVERY: u32 = 4;
/// Thunks get names if at least one part in this many of the old bytes are thunks.
const OLD_SHARE: u64 = 3;

#[derive(Debug)]
pub(super) struct WatchedProcess {
    pid: u32,
    redact: bool,
    program: Option<PathBuf>,
    tries: u32,
    looks: u32,
    state: LookState,
    texts: Texts,
    out: Vec<(Option<Time>, WaitSeen)>,
    /// Notes about places without names, after sampling has ended.
    notes: Vec<String>,
}

#[derive(Debug)]
enum LookState {
    Unknown,
    Looking(Box<Looking>),
    Refused,
}

#[derive(Debug)]
struct Looking {
    process: Process,
    runtime: &'static dyn HostRuntime,
    looks: Box<dyn Looks>,
    places: PlaceNames,
    /// Samples whose places have no names yet.
    held: Vec<(Time, Vec<Thread>)>,
    /// Old objects whose places have no names yet.
    old: Vec<(Time, OldObjects<u64>)>,
}

fn may_not(error: &io::Error) -> String {
    format!("its threads may not be looked at ({error}): record as root")
}

impl WatchedProcess {
    pub fn new(pid: u32, redact: bool) -> WatchedProcess {
        let (texts, out) = (Texts::default(), Vec::new());
        WatchedProcess {
            pid,
            redact,
            program: None,
            tries: 0,
            looks: 0,
            state: LookState::Unknown,
            texts,
            out,
            notes: Vec::new(),
        }
    }

    /// Takes one sample; returns the CPU time of children.
    pub fn look(&mut self, host: &Host, now: Time) -> u64 {
        let before_ns = sandbox::spent_ns();
        self.looks = self.looks.wrapping_add(1);
        if let LookState::Looking(looking) = &self.state
            && self.looks.is_multiple_of(ASK_EVERY)
            && looking.process.link("exe").ok() != self.program
        {
            self.finish();
            (self.state, self.tries) = (LookState::Unknown, 0);
        }
        if matches!(self.state, LookState::Unknown) {
            self.begin(host);
        }
        if let LookState::Looking(looking) = &mut self.state {
            if let Some(old) = looking.looks.old()
                && old.bytes > 0
                && looking.old.len() < OLD_MAX
            {
                // Naming takes a child that reads all symbols, and a few thunks are not reported.
                let many = old.thunk_bytes.saturating_mul(OLD_SHARE) >= old.bytes;
                looking.places.want(old.thunks.iter().filter(|_| many).map(|(code, _)| *code));
                looking.old.push((now, old));
            }
            self.out.extend(looking.looks.made().map(|made| (Some(now), WaitSeen::Made(made))));
            match looking.looks.look() {
                Ok(ThreadsLook::Threads(threads)) => {
                    looking
                        .places
                        .want(threads.iter().flat_map(|thread| thread.frames.iter().map(|code| code.address)));
                    looking.held.push((now, threads));
                }
                Ok(ThreadsLook::Busy) => {}
                Ok(ThreadsLook::Missed) => self.out.push((Some(now), WaitSeen::Missed(1))),
                // The family's follower reports that it has ended.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    self.refuse(may_not(&error));
                    return 0;
                }
                Err(_) => {}
            }
            let held: usize = looking.held.iter().map(|look| look.1.len()).sum();
            if looking.places.is_due(now) || (held > HELD_MAX && !looking.places.is_complete()) {
                looking.places.look_up();
            }
            if looking.places.is_complete() {
                self.settle();
            }
        }
        sandbox::spent_ns().saturating_sub(before_ns)
    }

    fn begin(&mut self, host: &Host) {
        self.tries += 1;
        let Ok(process) = Process::open(host, self.pid) else { return };
        let program = process.link("exe");
        if let Err(error) = &program
            && error.kind() == io::ErrorKind::PermissionDenied
        {
            return self.refuse(may_not(error));
        }
        let program = program.ok();
        // Before exec the program is still this one.
        if program.is_none() || program == std::env::current_exe().ok() {
            return;
        }
        let info = binary::inspect_process(&process).runtime();
        let known = runtimes::possible(info).find(|_| info.is_known());
        let Some(runtime) = known else { return self.refuse_later("it is of no runtime that is known".to_owned()) };
        match runtime.threads(&process) {
            Ok(looks) => {
                let places = PlaceNames::open(&process);
                self.program = program;
                let (held, old) = (Vec::new(), Vec::new());
                self.state = LookState::Looking(Box::new(Looking { process, runtime, looks, places, held, old }));
            }
            Err(NoHeap { why, then: Then::Never(next) }) => self.refuse(format!("{why}{next}")),
            Err(NoHeap { why, then: Then::Failed }) => self.refuse(why),
            Err(NoHeap { why, then: Then::TryAgain }) => self.refuse_later(why),
            Err(NoHeap { then: Then::Gone, .. }) => {}
        }
    }

    fn refuse_later(&mut self, why: String) {
        if self.tries >= TRIES_MAX {
            self.refuse(why);
        }
    }

    fn refuse(&mut self, why: String) {
        self.out.push((None, WaitSeen::Not(why)));
        self.state = LookState::Refused;
    }

    /// Groups the samples whose places have names.
    fn settle(&mut self) {
        let LookState::Looking(looking) = &mut self.state else { return };
        for (time, threads) in std::mem::take(&mut looking.held) {
            let look = groups::group(&threads, &looking.places, looking.runtime, self.redact, &mut self.texts);
            self.out.extend(self.texts.take().into_iter().map(|text| (Some(time), text)));
            self.out.push((Some(time), WaitSeen::Look(look)));
        }
        for (time, old) in std::mem::take(&mut looking.old) {
            let old = groups::old(&old, &looking.places, &mut self.texts);
            self.out.extend(self.texts.take().into_iter().map(|text| (Some(time), text)));
            self.out.push((Some(time), WaitSeen::Old(old)));
        }
    }

    /// Names what is left; returns the CPU time of children.
    pub fn finish(&mut self) -> u64 {
        let LookState::Looking(looking) = &mut self.state else { return 0 };
        let before_ns = sandbox::spent_ns();
        if !looking.places.is_complete() {
            looking.places.look_up();
        }
        self.note_nameless();
        self.settle();
        sandbox::spent_ns().saturating_sub(before_ns)
    }

    fn note_nameless(&mut self) {
        let LookState::Looking(looking) = &self.state else { return };
        let program = self.program.as_ref().and_then(|program| program.to_str());
        if let Some(program) = program.filter(|program| looking.places.is_nameless(program)) {
            self.notes.push(format!(
                "the places where threads of {program} wait have no names: its symbols are gone (do not `strip` it)"
            ));
        }
    }

    /// Why places have no names, after [`WatchedProcess::finish`].
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// New results since the last call.
    pub fn take(&mut self) -> Vec<(Option<Time>, WaitSeen)> {
        std::mem::take(&mut self.out)
    }
}
