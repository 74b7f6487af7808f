//! GHC's runtime: what it leaves in files, how its eventlog is enabled and taken, its heap, its
//! transactions, its threads.

mod eventlogs;
pub(crate) mod files;
mod handover;
mod handover_thread;
pub mod heap;
mod logs;
mod names;
pub mod options;
mod refused;
pub mod stm;
pub(crate) mod threads;
pub mod unflushed;
mod writers;

pub use files::Ghc;

use super::recorded::{Around, Command, HostRuntime, Launch, NoHeap, Notices, Prepared, ReadHeap, RuntimeLogs};
use super::waiting::{self, Looks, NamedFrame};
use crate::target::Process;
use eventlogs::Eventlogs;
use heap::Ask;
use refused::no_heap;
use rtscope_model::WaitKind;

impl HostRuntime for Ghc {
    fn writes(&self) -> &'static str {
        "eventlog"
    }

    fn environment(&self) -> &'static [&'static str] {
        &["GHCRTS", "GHCRTS_MAXN"]
    }

    fn prepare(&self, command: &Command<'_>, launch: &mut Launch) -> Prepared {
        let made = Eventlogs::prepare(command, launch).map_err(|error| ("the folder for the eventlog", error))?;
        Ok(made.map(|made| Box::new(made) as Box<dyn RuntimeLogs>))
    }

    fn attach(&self, process: &Process, _around: &Around<'_>, notices: &mut Notices) -> Option<Box<dyn RuntimeLogs>> {
        Some(Box::new(Eventlogs::of_process(process, notices)?))
    }

    fn heap(&self) -> Result<ReadHeap, &'static str> {
        Ok(|host, pid| heap::take(host, pid, &Ask { stop: None, objects: Some(1) }).map_err(|failed| no_heap(&failed)))
    }

    fn threads(&self, process: &Process) -> Result<Box<dyn Looks>, NoHeap> {
        threads::find(process)
    }

    fn interpret(&self, found: WaitKind, frames: &[Option<NamedFrame<'_>>]) -> waiting::Interpreted {
        threads::interpret(found, frames)
    }
}
