//! Watches a running program: looks every few milliseconds, so that little of what it did before its end is missed,
//! and updates the display once a second. Owns the loop; the program is never stopped, its signals are passed on and
//! rtscope exits with its status.

use super::document::{Document, SCHEMA, StmArgs, refusal_error};
use super::text;
use rtscope_analyze::recording::stm::Stm;
use rtscope_analyze::results::stm::Transactions;
use rtscope_host::clock;
use rtscope_host::memory::LiveProcess;
use rtscope_host::privileges;
use rtscope_host::procfs::Host;
use rtscope_host::signals::{self, Signals};
use rtscope_host::spawn::{SpawnError, Start, find_program, hold};
use rtscope_host::stm::{Changes, Refusal, StmCounters, find};
use rtscope_host::target::Process;
use rtscope_model::{StmSeen, Time};
use rtscope_terminal::line::Line;
use rtscope_terminal::style::Style;
use rtscope_terminal::user_error::UserError;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// Interval between two looks. A look takes some microseconds.
const LOOK: Duration = Duration::from_millis(5);
/// Interval between two updates of the display, nanoseconds.
const SHOW_NS: u64 = 1_000_000_000;
/// How often to look for counts in a program that was started, and the interval in nanoseconds: its libraries are
/// mapped a moment after it has begun.
const TRIES: u32 = 3;
const TRY_AGAIN_NS: u64 = 20_000_000;

/// Watches process `pid` until it ends, a signal comes or the time is up.
pub(super) fn attached(host: &Host, pid: u32, args: &StmArgs) -> Result<Document, UserError> {
    let at = find(host, pid).map_err(|refusal| refusal_error(&refusal))?;
    let caught = catch()?;
    let mut watched = StmProcess::new(pid, at, false, clock::monotonic());
    give_up_privileges(host, pid);
    if !watched.look() {
        return Err(refusal_error(&Refusal::Gone(pid)));
    }
    let mut shown = Shown::new(args.quiet, true);
    let until = until(args);
    while !is_over(until) && caught.take().is_empty() && watched.look() {
        shown.show(&mut watched);
        std::thread::sleep(LOOK);
    }
    Ok(watched.document())
}

/// Starts the program and watches it until it ends. Returns its status, and no document if nothing could be seen,
/// which has been reported then.
pub(super) fn started(host: &Host, args: &StmArgs) -> Result<(Option<Document>, u8), UserError> {
    let caught = catch()?;
    let mut sight = Sight::new(clock::monotonic());
    let mut child = spawn(args, &caught)?;
    let pid = child.id();
    give_up_privileges(host, pid);
    let mut shown = Shown::new(args.quiet, false);
    let until = until(args);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(error) => return Err(UserError::new("cannot wait for the program").because(error)),
        }
        caught.take().into_iter().for_each(|signal| signals::pass_on(host, pid, signal));
        if !is_over(until) {
            sight.look(host, pid);
            sight.watched.iter_mut().for_each(|watched| shown.show(watched));
        }
        std::thread::sleep(LOOK);
    };
    drop(shown);
    let looked_on = !is_over(until);
    let document = sight.watched.map(|mut watched| {
        if looked_on {
            watched.has_ended();
        }
        watched.document()
    });
    if document.is_none() {
        let ended = || UserError::new("the program ended before anything of it could be seen");
        eprintln!("{}", sight.refusal.as_ref().map_or_else(ended, refusal_error));
    }
    Ok((document, code(status)))
}

/// What is seen of a process that was started. A wrapper becomes the program after a while.
struct Sight {
    begun: Time,
    watched: Option<StmProcess>,
    /// The program tried last, how often, and why that failed.
    exe: Option<PathBuf>,
    tries: u32,
    refusal: Option<Refusal>,
    next: Time,
}

impl Sight {
    fn new(begun: Time) -> Sight {
        Sight { begun, watched: None, exe: None, tries: 0, refusal: None, next: begun }
    }

    fn look(&mut self, host: &Host, pid: u32) {
        match &mut self.watched {
            Some(watched) => _ = watched.look(),
            None => self.find(host, pid),
        }
    }

    fn find(&mut self, host: &Host, pid: u32) {
        let now = clock::monotonic();
        let Ok(exe) = Process::open(host, pid).and_then(|process| process.link("exe")) else { return };
        if self.exe.as_ref() != Some(&exe) {
            (self.exe, self.tries, self.next) = (Some(exe), 0, now);
        }
        if self.tries >= TRIES || now < self.next {
            return;
        }
        (self.tries, self.next) = (self.tries + 1, now.plus(TRY_AGAIN_NS));
        match find(host, pid) {
            Ok(at) => {
                let mut watched = StmProcess::new(pid, at, true, self.begun);
                watched.look();
                self.watched = Some(watched);
            }
            // That a program has just ended is no reason to report.
            Err(Refusal::Gone(_)) => {}
            Err(refusal) => self.refusal = Some(refusal),
        }
    }
}

fn give_up_privileges(host: &Host, pid: u32) {
    if let Err(kept) = privileges::leave_to_opener(host, pid) {
        eprintln!("rtscope: {kept}");
    }
}

fn catch() -> Result<Signals, UserError> {
    Signals::install().map_err(|error| UserError::new("cannot wait for signals").because(error))
}

fn spawn(args: &StmArgs, caught: &Signals) -> Result<Child, UserError> {
    let argv = args.command.clone();
    let path = argv.first().and_then(|program| find_program(program));
    let default_signals = caught.installed.clone();
    let start = Start { argv, path, set: Vec::new(), inherit: Vec::new(), default_signals, bare: false };
    hold(start).and_then(rtscope_host::spawn::HeldChild::release).map_err(|error| {
        let status = if let SpawnError::Exec { status, .. } = &error { *status } else { 125 };
        UserError::new(error.to_string()).ends_with(status)
    })
}

/// The status as a shell reports it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(0);
    u8::try_from(code & 0xff).unwrap_or(0)
}

fn until(args: &StmArgs) -> Option<Time> {
    args.limit.map(|limit| clock::monotonic().plus(clock::ns_of(limit)))
}

fn is_over(until: Option<Time>) -> bool {
    until.is_some_and(|until| clock::monotonic() >= until)
}

/// A process whose transactions are counted: over the whole time, and over the last second.
struct StmProcess {
    pid: u32,
    at: StmCounters<LiveProcess>,
    whole: bool,
    all: (Stm, Changes),
    recent: (Stm, Changes),
    /// The last settled number of attempts, used while a newer one is not settled.
    attempts: Option<u64>,
    gone: bool,
}

impl StmProcess {
    fn new(pid: u32, at: StmCounters<LiveProcess>, whole: bool, begun: Time) -> StmProcess {
        let fold = || (Stm::new(Some(begun)), Changes::default());
        StmProcess { pid, at, whole, all: fold(), recent: fold(), attempts: None, gone: false }
    }

    /// Looks once; false if the process is gone.
    fn look(&mut self) -> bool {
        let now = clock::monotonic();
        let Ok(mut look) = self.at.look() else {
            self.has_ended();
            return false;
        };
        self.attempts = look.attempts.or(self.attempts);
        look.attempts = self.attempts;
        let why = self.at.no_outcomes_because(&look);
        for ((stm, changes), whole) in [(&mut self.all, self.whole), (&mut self.recent, false)] {
            changes.since(&look, whole, why.as_deref(), |seen| stm.push(now, &seen));
            stm.push(now, &StmSeen::Last);
        }
        true
    }

    /// Notes that the process is gone, from now on at the latest.
    fn has_ended(&mut self) {
        if !std::mem::replace(&mut self.gone, true) {
            self.all.0.push(clock::monotonic(), &StmSeen::Gone);
        }
    }

    /// What was counted since the last call.
    fn take_recent(&mut self) -> Option<Transactions> {
        let recent = self.recent.0.values(None);
        self.recent = (Stm::new(Some(clock::monotonic())), Changes::default());
        recent
    }

    fn document(&self) -> Document {
        let transactions = self.all.0.values(None).unwrap_or_default();
        Document { schema: SCHEMA, of: format!("process {}", self.pid), transactions }
    }
}

/// The display while it runs: a whole text on a terminal that rtscope has for itself, else one line.
struct Shown {
    style: Option<Style>,
    line: Line,
    next: Time,
}

impl Shown {
    fn new(quiet: bool, whole_screen: bool) -> Shown {
        let style = Style::of_stdout();
        let style = (whole_screen && !quiet && style.again().is_some()).then_some(style);
        let next = clock::monotonic().plus(SHOW_NS);
        Shown { line: Line::new(quiet || style.is_some()), style, next }
    }

    fn show(&mut self, watched: &mut StmProcess) {
        let now = clock::monotonic();
        if now < self.next || (self.style.is_none() && !self.line.is_seen()) {
            return;
        }
        self.next = now.plus(SHOW_NS);
        let Some(recent) = watched.take_recent() else { return };
        match &self.style {
            Some(style) => {
                let again = style.again().unwrap_or_default();
                let frame = text::text(&watched.document(), Some(&recent), style);
                let mut out = io::stdout().lock();
                // A closed terminal is no reason to stop.
                let _ = out.write_all(format!("{again}{frame}").as_bytes()).and_then(|()| out.flush());
            }
            None => self.line.put(&format!("rtscope: {}", text::now(&recent))),
        }
    }
}
