//! How a recording begins: what the program is, where the capture goes, how its
//! log is enabled, and holding the program until every source is attached.

use super::room::{Full, Room};
use super::session::Session;
use super::{RecordError, RecordOptions, RecordOutcome, RecordTarget};
use crate::binary::{self, Inspected};
use crate::capture::store::{Store, StoreError};
use crate::kernel;
use crate::privileges::{self, user::User};
use crate::programs::signals::Signals;
use crate::programs::spawn::{self, Start, find_program};
use crate::runtimes;
use crate::runtimes::recorded::{Command, Launch, RuntimeLogs};
use crate::runtimes::route::{self, Route};
use crate::system::open_files;
use crate::system::procfs::Host;
use crate::target::Process;
use rtscope_model::{Pid, text};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Environment variables that go into the manifest, after those of runtimes.
const ENVIRONMENT: [&str; 5] = ["LANG", "LC_ALL", "TZ", "MALLOC_ARENA_MAX", "LD_PRELOAD"];

/// Records; returns when the program has ended, or, for an attached process,
/// when the limit is over, it has ended, or a signal has arrived. `notify` gets
/// sentences for the user as they become known.
pub fn record(options: RecordOptions, notify: &mut dyn FnMut(&str)) -> Result<RecordOutcome, RecordError> {
    let own = |what| move |error| RecordError::Own(what, error);
    open_files::raise();
    let host = privileges::host().map_err(|none| own("the process that opens files")(none.0))?;
    // Before the capture is made and before there are threads.
    let user = options.user.as_deref().map(become_user).transpose()?;
    let signals = Signals::install().map_err(own("signal handlers"))?;
    match options.target.clone() {
        RecordTarget::Command(argv) => record_command((host, user), options, &argv, &signals, notify),
        RecordTarget::Attach(pid) => record_process(host, options, pid, &signals, notify),
    }
}

fn become_user(name: &str) -> Result<User, RecordError> {
    let cannot = |error| RecordError::Own("another user", error);
    let user = User::find(name).map_err(cannot)?.ok_or_else(|| RecordError::NoUser(name.to_owned()))?;
    user.become_it().map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => RecordError::NotRoot,
        _ => cannot(error),
    })?;
    Ok(user)
}

fn record_command(
    (host, user): (Host, Option<User>),
    options: RecordOptions,
    argv: &[OsString],
    signals: &Signals,
    notify: &mut dyn FnMut(&str),
) -> Result<RecordOutcome, RecordError> {
    // Decisions are based on text; arguments that are not text reach the program unchanged.
    let words: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let name = words.first().map_or("program", String::as_str);
    let store = store(&options, name)?;
    let room = room(&options, &store)?;
    let inspected = inspect_command(argv, &words);
    let path = argv.first().and_then(|first| find_program(first));
    let (sources, launch) = prepare_logs(&options, &words, &inspected, path.as_deref(), &store)?;
    let planned = argv.iter().zip(&words).zip(&launch.argv);
    let held = spawn::hold(Start {
        argv: planned.map(|((raw, word), new)| if word == new { raw.clone() } else { new.into() }).collect(),
        path,
        set: launch.set.into_iter().chain(user.iter().flat_map(User::environment)).collect(),
        inherit: launch.inherit,
        default_signals: signals.installed.clone(),
        bare: user.is_some(),
    });
    let held = held.inspect_err(|_| store.remove())?;
    let pid = held.pid;
    let mut session = Session::begin(options, host, store, pid, inspected, room, notify);
    session.manifest.command = words;
    session.manifest.environment = environment(|name| std::env::var(name).ok());
    session.manifest.added = launch.added;
    session.take_sources(sources, launch.notes, launch.hints);
    session.start_sources(kernel::KernelTarget::Spawned(Pid(pid)));
    session.give_up_privileges();
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
    host: Host,
    options: RecordOptions,
    pid: u32,
    signals: &Signals,
    notify: &mut dyn FnMut(&str),
) -> Result<RecordOutcome, RecordError> {
    let process = Process::open(&host, pid).map_err(|_| RecordError::NoProcess(pid))?;
    let command = host.command(pid).unwrap_or_default();
    let name = command.first().map_or("program", String::as_str);
    let store = store(&options, name)?;
    let room = room(&options, &store)?;
    let mut session = Session::begin(options, host, store, pid, binary::inspect_process(&process), room, notify);
    session.manifest.command = command;
    let variables = process.text("environ").unwrap_or_default();
    session.manifest.environment = environment(|name| {
        variables.split('\0').find_map(|entry| entry.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    });
    session.find_attached_logs(&process);
    session.start_sources(kernel::KernelTarget::Attached(Pid(pid)));
    session.held = Some(process);
    session.give_up_privileges();
    Ok(session.follow(None, signals))
}

fn room(options: &RecordOptions, store: &Store) -> Result<(Room, Option<String>), RecordError> {
    Room::of(store.folder(), options.bounds).map_err(|Full(why)| {
        store.remove();
        RecordError::NoRoom(why)
    })
}

/// Capture names tried for one program in one folder.
const NUMBERS: std::ops::Range<u32> = 1..100_000;

/// Makes the capture folder: where `-o` says, else the first of `PROGRAM.rtscope`, `PROGRAM.1.rtscope`,
/// `PROGRAM.2.rtscope`... in the working directory that does not exist yet.
fn store(options: &RecordOptions, program: &str) -> Result<Store, StoreError> {
    if let Some(path) = &options.output {
        return Store::create(path, options.force);
    }
    // A program may have any name.
    let name = Path::new(program).file_name().map_or("program".into(), |name| name.to_string_lossy());
    let name = text::name(&name);
    let first = PathBuf::from(format!("{name}.rtscope"));
    let numbered = NUMBERS.map(|number| PathBuf::from(format!("{name}.{number}.rtscope")));
    let made = std::iter::once(first.clone()).chain(numbered).find_map(|path| Store::create_new(&path).transpose());
    made.unwrap_or(Err(StoreError::Occupied(first)))
}

/// What the command's program accepts. For a wrapper: the first GHC or OCaml
/// program among its arguments, if there is one.
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
        if path.is_file() { Some(binary::inspect(&path)).filter(|inner| inner.binary.family.is_some()) } else { None }
    });
    inner.into_iter().next().unwrap_or(outer)
}

/// Decides how the program is made to log, and where.
fn prepare_logs(
    options: &RecordOptions,
    argv: &[String],
    inspected: &Inspected,
    path: Option<&Path>,
    store: &Store,
) -> Result<(Sources, Launch), RecordError> {
    let mut launch = Launch { argv: argv.to_vec(), ..Launch::default() };
    let mut sources = Sources::new();
    if !options.eventlog {
        launch.notes.push("the runtime's log was not switched on (--no-eventlog)".to_owned());
        return Ok((sources, launch));
    }
    let route = route::route(argv, store.folder());
    if let Route::None(note) = &route {
        launch.notes.push(note.clone());
        return Ok((sources, launch));
    }
    let wrapper = path.is_none_or(|path| binary::inspect(path).binary.family.is_none());
    if wrapper && route == Route::Descriptor {
        launch.notes.push(format!(
            "other users could move the capture in {}, so programs are handed their logs by an inherited descriptor: one \
             that is started without it (Python's subprocess closes all) would end at once; then record to a folder of \
             your own with -o",
            store.path().parent().unwrap_or(Path::new("/")).display()
        ));
    }
    let directory = std::env::current_dir().unwrap_or_default();
    // Nothing may be known about the programs that a wrapper starts: then prepare for any.
    let command = Command {
        capture: store.folder(),
        inspected,
        wrapper,
        path,
        route: &route,
        directory: &directory,
        detail: options.detail,
        ring_size: options.ring_size,
    };
    for runtime in runtimes::possible(inspected.runtime()) {
        sources.extend(runtime.prepare(&command, &mut launch).map_err(|(what, error)| {
            store.remove();
            RecordError::Own(what, error)
        })?);
    }
    Ok((sources, launch))
}

type Sources = Vec<Box<dyn RuntimeLogs>>;

fn environment(get: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let names = runtimes::all().flat_map(|runtime| runtime.environment()).chain(&ENVIRONMENT);
    names.filter_map(|name| Some(((*name).to_owned(), get(name)?))).collect()
}
