//! The program that a plan is for: finds it as exec does, reads its link, collects what its user set. Owns the
//! way from a word to `tune`'s `Program`; refuses to run it.

use super::PlanArgs;
use rtscope_host::binary::link::{self, GhcLink, Link};
use rtscope_host::procfs::Host;
use rtscope_host::target::{Process, ProcessFile, Refused, open_target};
use rtscope_host::{launch, options, spawn};
use rtscope_terminal::user_error::UserError;
use rtscope_tune::runtime::{Given, Linked, Program};
use rtscope_tune::runtimes;
use rtscope_tune::runtimes::ghc::Ghc;
use rtscope_tune::runtimes::ocaml::Ocaml;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// A program and its short description.
#[derive(Clone, Debug)]
pub struct FoundProgram {
    /// For the planner.
    pub program: Program,
    /// For people: its short description.
    pub about: String,
}

/// The program that `args` name, or any program.
pub fn find(args: &PlanArgs, host: &Host) -> Result<FoundProgram, UserError> {
    if let Some(name) = &args.program {
        let path = spawn::find_program(name).filter(|path| path.exists());
        let path = path.ok_or_else(|| {
            UserError::new(format!("{} cannot be found", name.to_string_lossy()))
                .because(if name.to_string_lossy().contains('/') {
                    "there is no such file"
                } else {
                    "it is not in PATH"
                })
                .next("give its path, as in `rtscope plan ./my-program`")
        })?;
        return Ok(of_file(&path, &name.to_string_lossy(), &[], host.is_live()));
    }
    if let (Some(pid), None) = (args.pid, args.runtime) {
        return Ok(of_process(host, pid));
    }
    let [usual, ..] = runtimes::ALL;
    let runtime = args.runtime.unwrap_or(usual);
    let about = format!("any program of {}", runtime.any_of);
    Ok(FoundProgram { program: runtime.program(given(own, &[])), about })
}

/// The program in the file at `path`, which the user calls `name`, started with `command`. `live`: it will run
/// on this machine, so the permissions of this process are its own.
pub fn of_file(path: &Path, name: &str, command: &[String], live: bool) -> FoundProgram {
    of_link(link::read(path), live, name.to_owned(), given(own, command))
}

fn own(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

fn of_process(host: &Host, pid: u32) -> FoundProgram {
    let exe = host.process(pid, "exe");
    let process = Process::open(host, pid);
    let environment = process.as_ref().ok().and_then(|process| process.text("environ").ok()).unwrap_or_default();
    let variable = |name: &str| {
        environment.split('\0').find_map(|entry| entry.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    };
    let command = host.command(pid).unwrap_or_default();
    let name = std::fs::read_link(&exe).map_or_else(
        |_| command.first().cloned().unwrap_or_else(|| format!("process {pid}")),
        |path| path.display().to_string(),
    );
    let opened = process.map_err(Refused::from).and_then(|process| open_target(&process, ProcessFile::Executable));
    let unreadable = opened.is_err();
    let given = given(variable, &command);
    match link::read_opened(opened, &exe) {
        // Not the path that was read, which means nothing to the user.
        Link::Unknown(_) if unreadable => {
            let why = format!("The program of process {pid} cannot be read (root may): what it accepts is unknown.");
            FoundProgram { program: Program { name: Some(name), link: Err(why), given }, about: "not known".to_owned() }
        }
        link => of_link(link, host.is_live(), name, given),
    }
}

/// What the environment and the command line already set for the program.
fn given(variable: impl Fn(&str) -> Option<String>, command: &[String]) -> Given {
    let places = options::runtime_options(command, false);
    runtimes::given(variable, places.into_iter().filter_map(|place| command.get(place).cloned()).collect())
}

/// Turns a link that was read into what a plan is made for.
fn of_link(link: Link, live: bool, name: String, given: Given) -> FoundProgram {
    let link: Result<Arc<dyn Linked>, String> = match link {
        Link::Ghc(link) => Ok(Arc::new(ghc(link, live))),
        Link::Ocaml(release) => Ok(Arc::new(Ocaml { release: Some(release) })),
        Link::Unknown(why) => Err(why),
    };
    let about = link.as_ref().map_or_else(
        |_| {
            let names = runtimes::dialects().map(|dialect| dialect.info.name).collect::<Vec<_>>();
            format!("by its file not a program of {}", names.join(" or "))
        },
        |link| link.about(),
    );
    FoundProgram { program: Program { name: Some(name), link, given }, about }
}

fn ghc(link: GhcLink, live: bool) -> Ghc {
    let options = link.options;
    Ghc {
        version: link.version,
        threaded: options.as_ref().and_then(|options| options.threaded),
        rtsopts: options.as_ref().map(|options| options.rtsopts),
        with_rtsopts: options.map(|options| options.with_rtsopts).unwrap_or_default(),
        numa: link.numa.map(|has| has && (!live || launch::may_use_numa())),
        assumed: false,
    }
}

/// The words of a command as text, for decisions only.
pub fn as_text(words: &[impl AsRef<OsStr>]) -> Vec<String> {
    words.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect()
}
