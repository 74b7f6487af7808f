//! Which program a plan is for: found like exec finds it, its link read, what its user
//! gave it collected. Owns the way from a word to `tune`'s `Program`; refuses to run
//! anything.

use super::{PlanArgs, RuntimeArg};
use crate::trouble::Trouble;
use rtscope_host::binary::link::{self, GhcLink, Link};
use rtscope_host::procfs::Host;
use rtscope_host::target::{Process, Refused, What, open_target};
use rtscope_host::{launch, options, spawn};
use rtscope_model::OcamlRelease;
use rtscope_tune::plan::{Ghc, Given, Ocaml, Program, Runtime};
use std::ffi::OsStr;
use std::path::Path;

/// A program with a few words about it.
#[derive(Clone, Debug)]
pub struct Found {
    /// For the planner.
    pub program: Program,
    /// For people.
    pub about: String,
}

/// The program that `args` name, or any.
pub fn find(args: &PlanArgs, host: &Host) -> Result<Found, Trouble> {
    let own = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let live = host.is_live();
    if let Some(name) = &args.program {
        let path = spawn::find_program(name).filter(|path| path.exists());
        let path = path.ok_or_else(|| {
            Trouble::new(format!("{} cannot be found", name.to_string_lossy()))
                .because(if name.to_string_lossy().contains('/') {
                    "there is no such file"
                } else {
                    "it is not in PATH"
                })
                .next("give its path, as in `rtscope plan ./my-program`")
        })?;
        return Ok(of_file(&path, &name.to_string_lossy(), given(&own, &[]), live));
    }
    match (args.pid, args.runtime) {
        (Some(pid), None) => Ok(of_process(host, pid)),
        (_, Some(RuntimeArg::Ocaml)) => Ok(Found {
            program: Program::any_ocaml(given(&own, &[])),
            about: "any program of OCaml 5.3 or later".to_owned(),
        }),
        _ => Ok(Found { program: Program::any_ghc(given(&own, &[])), about: "any program of GHC".to_owned() }),
    }
}

/// The program in the file at `path`, which the user calls `name`. `live`: it is to run
/// on this machine, so what this process may do tells what it may do.
pub fn of_file(path: &Path, name: &str, given: Given, live: bool) -> Found {
    let (runtime, about) = runtime(link::read(path), live);
    Found { program: Program { name: Some(name.to_owned()), runtime, given }, about }
}

fn of_process(host: &Host, pid: u32) -> Found {
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
    let opened = process.map_err(Refused::from).and_then(|process| open_target(&process, What::Executable));
    let unreadable = opened.is_err();
    let (runtime, about) = match link::read_opened(opened, &exe) {
        // Not the path that was read, which says nothing.
        Link::Unknown(_) if unreadable => {
            let why = format!("The program of process {pid} cannot be read (root may): what it accepts is unknown.");
            (Runtime::Unknown(why), "not known".to_owned())
        }
        link => self::runtime(link, host.is_live()),
    };
    Found { program: Program { name: Some(name), runtime, given: given(&variable, &command) }, about }
}

/// What a program of that command line is told in an environment.
pub fn given(variable: &dyn Fn(&str) -> Option<String>, command: &[String]) -> Given {
    let places = options::runtime_options(command, false);
    Given {
        ghcrts: variable("GHCRTS"),
        arguments: places.into_iter().filter_map(|place| command.get(place).cloned()).collect(),
        ocamlrunparam: variable("OCAMLRUNPARAM").or_else(|| variable("CAMLRUNPARAM")),
    }
}

fn runtime(link: Link, live: bool) -> (Runtime, String) {
    match link {
        Link::Ghc(link) => {
            let about = about_ghc(&link);
            (Runtime::Ghc(ghc(link, live)), about)
        }
        Link::Ocaml(release) => {
            let about = match release {
                OcamlRelease::Before5 => "OCaml 4",
                OcamlRelease::Before5_3 => "OCaml 5.0 to 5.2",
                OcamlRelease::From5_3 => "OCaml 5.3 or later",
            };
            (Runtime::Ocaml(Ocaml { release: Some(release) }), about.to_owned())
        }
        Link::Unknown(why) => {
            (Runtime::Unknown(why), "not a program of GHC or OCaml, as far as its file tells".to_owned())
        }
    }
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

fn about_ghc(link: &GhcLink) -> String {
    let version = link.version.map_or("GHC of an unknown version".to_owned(), |(a, b, c)| format!("GHC {a}.{b}.{c}"));
    let Some(options) = &link.options else { return format!("{version}, stripped") };
    let way = match options.threaded {
        Some(true) => "threaded",
        Some(false) => "not threaded",
        None => "threaded or not",
    };
    let with = if options.with_rtsopts.is_empty() {
        String::new()
    } else {
        format!(", -with-rtsopts=\"{}\"", options.with_rtsopts)
    };
    format!("{version}, {way}, -rtsopts={}{with}", options.rtsopts.name())
}

/// The words of a command as text, for decisions only.
pub fn as_text(words: &[impl AsRef<OsStr>]) -> Vec<String> {
    words.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect()
}
