//! One trial of a real program: a batch program that runs to its end, or a server that is started, loaded and
//! stopped. Owns what a trial is, when it counts and the messages for a failed one; the study decides which
//! configuration is tried and what follows.

use super::measure::{self, Figures};
use super::objective::Objective;
use super::runtimes::{self, OwnFigures};
use rtscope_host::background::use_realtime_priority;
use rtscope_host::clock;
use rtscope_host::procfs::Host;
use rtscope_host::signals::Signals;
use rtscope_host::trial::{self, Bounds, Ended, Gate, Job, NotQuiet, Running};
use rtscope_load::document::{Document, Doubt, Ended as LoadEnded};
use rtscope_load::target::TargetError;
use rtscope_load::{Load, LoadError, Stop};
use rtscope_model::units;
use rtscope_report::words::signal_name;
use rtscope_tune::study::Outcome;
use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// Between two checks whether a server takes connections, and whether it still runs.
const LOOK: Duration = Duration::from_millis(20);

/// Timeout of a first connection to a server, which is then retried.
const CONNECT: Duration = Duration::from_millis(500);

/// Characters of a program's last output that go into the message about its failure.
const LAST_WORDS: usize = 300;

/// What a trial does with the program.
#[derive(Clone, Debug)]
pub enum Way {
    /// Runs it to its end.
    Batch {
        /// A longer run has failed.
        timeout: Duration,
    },
    /// Starts it, sends it a load and stops it.
    Server {
        /// The load including its warm-up, which does not count.
        load: Box<Load>,
        /// A server that takes no connections for this long has failed.
        ready: Duration,
    },
}

/// Default time limit of a batch program.
pub const TIMEOUT: Duration = Duration::from_secs(600);

/// Default time until a server must take connections.
pub const READY: Duration = Duration::from_secs(30);

/// Turns a program's standard output into its figures; an error says why there are none.
pub type Says = fn(&str) -> Result<Figures, String>;

/// How trials are run.
pub struct Live<'a> {
    /// What trials do.
    pub way: Way,
    /// How to get the figures that the program's runtime counts itself; `None`: not at all.
    pub own: Option<&'static OwnFigures>,
    /// How to read figures that a batch program prints about itself. A program that does not print them has failed.
    pub says: Option<Says>,
    /// When trials may start.
    pub gate: Gate,
    /// What other processes may do meanwhile.
    pub bounds: Bounds,
    /// Fewest attempts at a trial that others disturb; there are more while patience lasts.
    pub tries: u32,
    /// How long a server may take to obey SIGINT, and then SIGTERM.
    pub grace: Duration,
    /// A folder for temporary files, which the program can write to.
    pub scratch: PathBuf,
    /// Signals that end the study. They are never consumed here, so the first one ends everything.
    pub signals: Option<&'a Signals>,
    /// Notes on all trials: where figures come from, why some are missing.
    pub notes: BTreeSet<String>,
}

/// Result of a trial.
#[derive(Clone, PartialEq, Debug)]
pub enum Tried {
    /// Nothing disturbed it.
    Clean(Figures),
    /// The program did not do what it should.
    Failed {
        /// How it failed, with its last output.
        why: String,
        /// Figures that are known nevertheless.
        figures: Figures,
    },
    /// There is no trial, and none should follow.
    Stopped(String),
}

/// What a study learns of it.
pub fn outcome(tried: &Tried, objective: &Objective) -> Outcome {
    let figures = match tried {
        Tried::Clean(figures) => figures,
        Tried::Failed { why, .. } => return Outcome::Failed(why.clone()),
        Tried::Stopped(why) => return Outcome::Stopped(why.clone()),
    };
    match (objective.broken(figures), objective.measure(figures)) {
        (Ok(Some(why)), _) => Outcome::Failed(why),
        (Ok(None), Ok(measure)) => Outcome::Measured(measure),
        (Err(why), _) | (_, Err(why)) => Outcome::Stopped(why),
    }
}

/// An attempt that does not count.
struct Dirty {
    why: String,
    /// Whether the program itself may be at fault.
    own: bool,
    figures: Figures,
}

/// How far a server got.
struct Served {
    document: Option<Document>,
    failed: Option<String>,
}

impl<'a> Live<'a> {
    /// Trials with the usual settings.
    pub fn new(way: Way, own: Option<&'static OwnFigures>, scratch: PathBuf, signals: Option<&'a Signals>) -> Live<'a> {
        let (gate, grace, notes) = (Gate::default(), Duration::from_secs(5), BTreeSet::new());
        Live { way, own, says: None, gate, bounds: Bounds::default(), tries: 5, grace, scratch, signals, notes }
    }

    /// Waits up to `patience` for a quiet machine before each trial, and counts none that others disturb; if
    /// `noisy`, counts trials whatever others do to the CPUs meanwhile.
    pub fn with_noise(self, noisy: bool, patience: Duration) -> Live<'a> {
        let (gate, bounds) = if noisy {
            (Gate { quiet: Duration::ZERO, foreign: 1.0, patience }, Bounds { foreign: 1.0, steal: 1.0 })
        } else {
            (Gate { patience, ..Gate::default() }, Bounds::default())
        };
        Live { gate, bounds, ..self }
    }

    /// Runs a trial, and repeats it if others disturb it: `dirty` gets each such attempt. The calling thread
    /// has to live until it returns.
    pub fn run(&mut self, job: &Job, dirty: &mut dyn FnMut(&str, &Figures)) -> Tried {
        let (began, mut tries) = (Instant::now(), 0);
        let Dirty { why, own, figures } = loop {
            match self.gate.wait(&Host::default(), job.cpus.as_deref(), self.wake()) {
                Ok(()) => {}
                Err(NotQuiet::Interrupted) => return Tried::Stopped(interrupted()),
                Err(never) => {
                    return Tried::Stopped(format!("the machine is never quiet: {never}; --noisy tries all the same"));
                }
            }
            let disturbed = match self.once(job) {
                Ok(tried) => return tried,
                Err(disturbed) => disturbed,
            };
            dirty(&disturbed.why, &disturbed.figures);
            tries += 1;
            // Short trials would use up their attempts before a neighbour has ended.
            if tries >= self.tries && (disturbed.own || began.elapsed() >= self.gate.patience) {
                break disturbed;
            }
        };
        let tries = units::counted(tries.into(), "try", "tries");
        match own {
            // Only this configuration starves the load: others may be measurable.
            true => Tried::Failed { why: format!("{why}, in each of {tries}"), figures },
            false => Tried::Stopped(format!(
                "the machine is never quiet: {why}, after {tries}; --noisy counts them all the same"
            )),
        }
    }

    fn once(&mut self, job: &Job) -> Result<Tried, Dirty> {
        let file = self.scratch.join(format!("statistics-{}", std::process::id()));
        let asked = self.own.map(|own| (own, (own.ask)(job, &file)));
        let job = asked.as_ref().and_then(|(_, asked)| asked.as_ref().ok()).unwrap_or(job);
        if let Way::Server { load, .. } = &self.way
            && let Ok(address) = load.target.find(CONNECT)
        {
            let why = format!("something takes connections at {address} already; end it, or give another port");
            return Ok(Tried::Stopped(why));
        }
        let running = match trial::start(&Host::default(), job) {
            Ok(running) => running,
            Err(error) => return Ok(Tried::Failed { why: error.to_string(), figures: Figures::new() }),
        };
        let done = match self.way.clone() {
            Way::Batch { timeout } => self.to_its_end(running, timeout),
            Way::Server { load, ready } => self.under_load(running, &load, ready),
        };
        let (ended, mut served) = match done {
            Ok(done) => done,
            Err(why) => return Ok(Tried::Stopped(why)),
        };
        self.notes.insert(ended.how.to_string());
        let mut figures = measure::of_run(&ended);
        let loaded = served.document.is_some();
        if let Some(document) = &served.document {
            figures.extend(measure::of_load(document));
            add_cpu_per_request(&mut figures, document);
        } else if self.own.is_none() {
            figures.insert("time_ns".to_owned(), ended.wall_ns as f64);
        }
        if let Some((own, asked)) = &asked {
            match asked.as_ref().map_err(String::clone).and_then(|_| (own.take)(&file)) {
                // The time of a server is that of its load.
                Ok(said) => figures.extend(said.into_iter().filter(|(name, _)| !loaded || name != "time_ns")),
                // A program that failed has a better reason to report.
                Err(why) if badly(&ended).is_none() => {
                    _ = self.notes.insert(format!("no figures of {}'s runtime: {why}", own.info.name))
                }
                Err(_) => {}
            }
        }
        match self.says.map(|says| says(&ended.output.stdout)) {
            Some(Ok(said)) => figures.extend(said),
            Some(Err(why)) => _ = served.failed.get_or_insert(why),
            None => {}
        }
        judged(&ended, served, figures, &self.bounds)
    }

    /// Waits for its end; an error says why there is no trial.
    fn to_its_end(&self, mut running: Running, timeout: Duration) -> Result<(Ended, Served), String> {
        let over = running.wait(Instant::now() + timeout, self.wake());
        let interrupted = self.interrupted();
        let failed = (!over).then(|| format!("it did not end within {}", shown(timeout)));
        let ended = if over { running.end() } else { running.stop(self.grace) };
        if interrupted {
            return Err(self::interrupted());
        }
        ended.map(|ended| (ended, Served { document: None, failed })).map_err(|error| error.to_string())
    }

    /// Loads a server as soon as it takes connections, then stops it; an error says why there is no trial.
    fn under_load(&self, mut running: Running, load: &Load, ready: Duration) -> Result<(Ended, Served), String> {
        let waited = self.until_it_listens(&mut running, load, ready);
        let served = match waited {
            Ok(()) => self.loaded(&mut running, load),
            Err(failed) => Ok(Served { document: None, failed: Some(failed) }),
        };
        // Before anything is concluded: it has to end in any case.
        let ended = running.stop(self.grace);
        if self.interrupted() {
            return Err(interrupted());
        }
        let served = served?;
        ended.map(|ended| (ended, served)).map_err(|error| error.to_string())
    }

    /// Waits until a server takes connections; an error says why it does not.
    fn until_it_listens(&self, running: &mut Running, load: &Load, ready: Duration) -> Result<(), String> {
        let deadline = Instant::now() + ready;
        loop {
            match load.target.find(CONNECT) {
                Ok(_) => return Ok(()),
                Err(TargetError::Refused(..)) => {}
                Err(error) => return Err(error.to_string()),
            }
            if running.wait(Instant::now() + LOOK, self.wake()) {
                return Err("it ended before it took connections".to_owned());
            }
            if self.interrupted() {
                return Err(String::new());
            }
            if Instant::now() >= deadline {
                return Err(format!("it took no connections within {}", shown(ready)));
            }
        }
    }

    /// Sends the load. `Err`: there is no trial.
    fn loaded(&self, running: &mut Running, load: &Load) -> Result<Served, String> {
        let stop = Stop::default();
        let mut gone = false;
        let done = thread::scope(|scope| {
            let loading = scope.spawn(|| rtscope_load::run(load, &stop, use_realtime_priority, None, &mut |_| ()));
            while !loading.is_finished() {
                gone = running.wait(Instant::now() + LOOK, self.wake());
                if gone || self.interrupted() {
                    stop.now();
                    break;
                }
            }
            loading.join()
        });
        let failed = gone.then(|| "it ended while it was under load".to_owned());
        match done {
            Ok(Ok(document)) => {
                let failed = failed.or_else(|| given_up(&document));
                Ok(Served { document: Some(document), failed })
            }
            Ok(Err(LoadError::Target(error))) => {
                Ok(Served { document: None, failed: Some(failed.unwrap_or_else(|| error.to_string())) })
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the load ended with a bug".to_owned()),
        }
    }

    fn wake(&self) -> Option<BorrowedFd<'a>> {
        self.signals.map(Signals::descriptor)
    }

    fn interrupted(&self) -> bool {
        self.signals.is_some_and(Signals::arrived)
    }
}

fn interrupted() -> String {
    "interrupted".to_owned()
}

/// A duration for people.
pub(super) fn shown(time: Duration) -> String {
    units::duration(clock::ns_of(time))
}

fn given_up(document: &Document) -> Option<String> {
    let limit = document.limit.as_deref().filter(|_| document.ended == LoadEnded::Limit)?;
    Some(format!("the load was given up: {limit}"))
}

fn add_cpu_per_request(figures: &mut Figures, document: &Document) {
    let requests = &document.requests;
    let answered = requests.fine + requests.warm_up.saturating_sub(requests.warm_up_failed);
    if let Some(cpu) = figures.get("cpu_ns").filter(|_| answered > 0) {
        let each = cpu / answered as f64;
        figures.insert("cpu_per_request_ns".to_owned(), each);
    }
}

/// Judges an attempt. A program that ended badly by itself did so regardless of others.
fn judged(ended: &Ended, served: Served, figures: Figures, bounds: &Bounds) -> Result<Tried, Dirty> {
    if let Some(how) = badly(ended) {
        let before = served.failed.map(|failed| format!("{failed}: ")).unwrap_or_default();
        return Ok(Tried::Failed { why: format!("{before}{}", with_last_words(&how, ended)), figures });
    }
    if let Some(why) = ended.noise.dirty(bounds) {
        return Err(Dirty { why, own: false, figures });
    }
    if let Some(why) = served.failed {
        return Ok(Tried::Failed { why: with_last_words(&why, ended), figures });
    }
    if served.document.is_some_and(|document| document.doubts.contains(&Doubt::Late)) {
        let why = "the load was late by 1 ms or more for 1 % of the requests: the program left it too little CPU";
        return Err(Dirty { why: why.to_owned(), own: true, figures });
    }
    Ok(Tried::Clean(figures))
}

/// How it ended, if badly. A program that was stopped may end in any way.
fn badly(ended: &Ended) -> Option<String> {
    if ended.oom_kills > 0 {
        return Some("the kernel killed it for want of memory".to_owned());
    }
    if ended.stopped_by.is_some() || ended.status.success() {
        return None;
    }
    Some(match (ended.status.signal(), ended.status.code()) {
        (Some(signal), _) => format!("it was killed by {}", signal_name(signal)),
        (None, code) => format!("it ended with {}", code.unwrap_or_default()),
    })
}

fn with_last_words(how: &str, ended: &Ended) -> String {
    let output = &ended.output;
    if let Some(refusal) = runtimes::refusal(&output.stderr) {
        return refusal;
    }
    let said = [&output.stderr, &output.stdout].into_iter().find(|text| !text.trim().is_empty());
    let Some(said) = said else { return format!("{how} and said nothing") };
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(3)..).unwrap_or_default().join(" / ");
    let first = last.chars().count().saturating_sub(LAST_WORDS);
    format!("{how}; it said last: {}", last.chars().skip(first).collect::<String>())
}
