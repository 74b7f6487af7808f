//! OCaml's runtime: what it leaves in files, its rings, and its threads.

mod domains;
pub(crate) mod files;
mod logs;
mod names;
pub mod rings;
pub(crate) mod threads;

pub use files::Ocaml;

use super::recorded::{Around, Command, HostRuntime, Launch, NoHeap, Notices, Prepared, ReadHeap, RuntimeLogs};
use super::waiting::{self, Looks, NamedFrame};
use crate::target::Process;
use logs::Rings;
use rtscope_model::WaitKind;

impl HostRuntime for Ocaml {
    fn writes(&self) -> &'static str {
        "runtime events"
    }

    fn environment(&self) -> &'static [&'static str] {
        &[
            "OCAMLRUNPARAM",
            "CAMLRUNPARAM",
            "OCAML_RUNTIME_EVENTS_START",
            "OCAML_RUNTIME_EVENTS_DIR",
            "OCAML_RUNTIME_EVENTS_PRESERVE",
        ]
    }

    fn prepare(&self, command: &Command<'_>, launch: &mut Launch) -> Prepared {
        let made = Rings::prepare(command, launch).map_err(|error| ("the folder for rings", error))?;
        Ok(made.map(|made| Box::new(made) as Box<dyn RuntimeLogs>))
    }

    fn attach(&self, _process: &Process, around: &Around<'_>, notices: &mut Notices) -> Option<Box<dyn RuntimeLogs>> {
        Some(Box::new(Rings::attach(around, notices)?))
    }

    fn heap(&self) -> Result<ReadHeap, &'static str> {
        Err("heap snapshots are of GHC programs only: for OCaml the counters in its rings say where the memory is")
    }

    fn threads(&self, process: &Process) -> Result<Box<dyn Looks>, NoHeap> {
        threads::find(process)
    }

    fn interpret(&self, found: WaitKind, frames: &[Option<NamedFrame<'_>>]) -> waiting::Interpreted {
        threads::interpret(found, frames)
    }
}
