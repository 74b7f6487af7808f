//! How a recording begins: what the program is, where the capture goes, how its
//! log is switched on, and holding it until every source is attached.

use super::session::Session;
use super::{Options, Outcome, RecordError, Target};
use crate::binary::{self, Inspected};
use crate::clock;
use crate::handover::{self, Handover, Route};
use crate::kernel;
use crate::options::{self, Plan, Request};
use crate::procfs::Host;
use crate::signals::Signals;
use crate::spawn::{self, Start, find_program};
use crate::store::Store;
use rtscope_model::Pid;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Environment names that go into the manifest.
const ENVIRONMENT: [&str; 9] = [
    "GHCRTS",
    "OCAMLRUNPARAM",
    "CAMLRUNPARAM",
    "LANG",
    "LC_ALL",
    "TZ",
    "MALLOC_ARENA_MAX",
    "LD_PRELOAD",
    "GHCRTS_MAXN",
];

/// Records; returns when the program has ended, or, for a process that was
/// attached to, when the limit is over, it ended, or a signal came. `say` gets
/// sentences for the user as they become known.
pub fn record(options: Options, say: &mut dyn FnMut(&str)) -> Result<Outcome, RecordError> {
    let own = |what| move |error| RecordError::Own { what, error };
    let signals = Signals::install().map_err(own("signal handlers"))?;
    match options.target.clone() {
        Target::Command(argv) => record_command(options, &argv, &signals, say),
        Target::Attach(pid) => record_process(options, pid, &signals, say),
    }
}

fn record_command(
    options: Options,
    argv: &[OsString],
    signals: &Signals,
    say: &mut dyn FnMut(&str),
) -> Result<Outcome, RecordError> {
    let host = Host::default();
    // Decisions are made on text; what is not text reaches the program as it is.
    let words: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let name = words.first().map_or("program", String::as_str);
    let store = Store::create(&output_path(&options, name))?;
    let inspected = inspect_command(argv, &words);
    let (handover, plan) = prepare_log(&options, &words, &inspected, &store)?;
    let planned = argv.iter().zip(&words).zip(&plan.argv);
    let held = spawn::hold(Start {
        argv: planned.map(|((raw, word), new)| if word == new { raw.clone() } else { new.into() }).collect(),
        path: argv.first().and_then(|first| find_program(first)),
        ghcrts: plan.ghcrts.clone(),
        inherit: handover.as_ref().and_then(Handover::inherited),
        default_signals: signals.installed(),
    });
    let held = held.inspect_err(|_| store.remove())?;
    let pid = held.pid;
    let mut session = Session::begin(options, host, store, pid, inspected, say);
    session.manifest.command = words;
    session.manifest.environment = environment(|name| std::env::var(name).ok());
    session.manifest.added.clone_from(&plan.added);
    session.take_plan(handover, &plan);
    session.start_sources(kernel::Target::Spawned(Pid(pid)));
    let child = match held.release() {
        Ok(child) => child,
        Err(error) => {
            session.abandon();
            return Err(error.into());
        }
    };
    Ok(session.follow(Some(child), signals))
}

fn record_process(
    options: Options,
    pid: u32,
    signals: &Signals,
    say: &mut dyn FnMut(&str),
) -> Result<Outcome, RecordError> {
    let host = Host::default();
    if !host.runs(pid) {
        return Err(RecordError::NoProcess(pid));
    }
    let command = host.command(pid).unwrap_or_default();
    let name = command.first().map_or("program", String::as_str);
    let store = Store::create(&output_path(&options, name))?;
    let mut inspected = binary::inspect(&host.process(pid, "exe"));
    if let Ok(path) = fs::read_link(host.process(pid, "exe")) {
        inspected.binary.path = path.display().to_string();
    }
    let mut session = Session::begin(options, host, store, pid, inspected, say);
    session.manifest.command = command;
    let variables = session.host.process_text(pid, "environ").unwrap_or_default();
    session.manifest.environment = environment(|name| {
        variables.split('\0').find_map(|entry| entry.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    });
    session.find_attached_logs();
    session.start_sources(kernel::Target::Attached(Pid(pid)));
    Ok(session.follow(None, signals))
}

/// Where the capture goes.
fn output_path(options: &Options, program: &str) -> PathBuf {
    if let Some(path) = &options.output {
        return path.clone();
    }
    let name = Path::new(program).file_name().map_or("program".into(), |name| name.to_string_lossy());
    let stem = format!("{name}-{}", clock::local_stamp());
    let path = PathBuf::from(format!("{stem}.rtscope"));
    // A second recording in the same second.
    if path.exists() { PathBuf::from(format!("{stem}-{}.rtscope", std::process::id())) } else { path }
}

/// What the command's program accepts. For a wrapper: the first GHC program
/// that its arguments name, if they name one.
fn inspect_command(argv: &[OsString], words: &[String]) -> Inspected {
    let Some(first) = argv.first() else { return Inspected::default() };
    let Some(path) = find_program(first) else { return Inspected::default() };
    let outer = binary::inspect(&path);
    if outer.binary.family.is_some() {
        return outer;
    }
    let root = Path::new(first).file_name().is_some_and(|name| name == "chroot").then(|| argv.get(1)).flatten();
    let words = words.iter().skip(1).flat_map(|argument| argument.split_ascii_whitespace()).take(64);
    let inner = words.filter_map(|word| {
        let path = match root {
            Some(root) if word.starts_with('/') => Path::new(root).join(word.trim_start_matches('/')),
            _ => find_program(word.as_ref())?,
        };
        if path.is_file() { Some(binary::inspect(&path)).filter(Inspected::is_ghc) } else { None }
    });
    inner.into_iter().next().unwrap_or(outer)
}

/// Decides how the program is made to log, and where to.
fn prepare_log(
    options: &Options,
    argv: &[String],
    inspected: &Inspected,
    store: &Store,
) -> Result<(Option<Handover>, Plan), RecordError> {
    let untouched = |note: &str| Plan { argv: argv.to_vec(), notes: vec![note.to_owned()], ..Plan::default() };
    if !options.eventlog {
        return Ok((None, untouched("the eventlog was not switched on (--no-eventlog)")));
    }
    let route = handover::route(argv);
    if let Route::None(note) = &route {
        return Ok((None, untouched(note)));
    }
    let handover = Handover::prepare(store.path(), &route).map_err(|error| {
        store.remove();
        RecordError::Own { what: "the folder for the eventlog", error }
    })?;
    let first = argv.first().and_then(|first| find_program(first.as_ref())).map(|path| binary::inspect(&path));
    let wrapper = first.is_none_or(|first| first.binary.family.is_none());
    let plan = options::plan(&Request {
        argv,
        ghcrts: std::env::var("GHCRTS").ok().as_deref(),
        inspected,
        wrapper,
        detail: options.detail,
        log_path: handover.log_path(),
    });
    if plan.logging {
        return Ok((Some(handover), plan));
    }
    handover.finish();
    Ok((None, plan))
}

fn environment(get: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    ENVIRONMENT.iter().filter_map(|name| Some(((*name).to_owned(), get(name)?))).collect()
}
