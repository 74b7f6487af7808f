//! The meaning of single records of the code streams. Owns the choice of fields; refuses state beyond the list of
//! modules: anything that depends on other records happens after the merge.

use super::maps::{Module, Modules};
use crate::perf::record::{Body, GONE, Mapped, RecordLayout, Stamp};
use crate::perf::stream::Interpret;
use rtscope_model::manifest::{Code, CodeSource};
use rtscope_model::{Cpu, Tid, Time};
use std::collections::HashMap;

/// Markers in a call chain are `PERF_CONTEXT_MAX` and above; the user part follows this one.
const MARKER_FIRST: u64 = -4095i64 as u64;
const MARKER_USER: u64 = -512i64 as u64;
/// Limit of callers per sample.
const CALLERS_MAX: usize = 64;

/// The content of one record.
#[derive(Clone, Debug)]
pub enum CodeRecord {
    /// A sample of a thread.
    Sample(Seen),
    /// A process mapped executable memory.
    Mapped {
        pid: u32,
        /// First address of the mapping.
        start: u64,
        /// Size in bytes.
        length: u64,
        /// Offset in the mapped file, in bytes.
        offset: u64,
        /// Index of the module.
        module: u32,
    },
    /// A process executes another program.
    Exec { pid: u32 },
    /// A process was created.
    Fork { pid: u32, parent: u32 },
    /// A thread ended.
    Exit { tid: u32 },
}

/// A sample before its addresses are resolved.
#[derive(Clone, Debug)]
pub struct Seen {
    pub pid: u32,
    pub tid: Tid,
    pub cpu: Cpu,
    /// The event that took it.
    pub source: CodeSource,
    /// The instruction pointer.
    pub ip: u64,
    /// Whether `ip` is in the kernel.
    pub in_kernel: bool,
    /// The kernel's call chain, innermost first.
    pub chain: Box<[u64]>,
    /// Return addresses in user space, innermost first.
    pub callers: Box<[u64]>,
    /// The instruction pointer in user space.
    pub user_ip: Option<u64>,
}

/// Interprets the events of one recording.
#[derive(Clone, Debug)]
pub struct Interpreter {
    layout: RecordLayout,
    sources: HashMap<u64, CodeSource>,
    /// All modules seen so far.
    pub modules: Modules,
    /// When each module was first mapped.
    pub mapped: Vec<Time>,
}

impl Interpreter {
    /// An interpreter for the recording that `code` describes.
    pub fn new(code: &Code, layout: RecordLayout) -> Interpreter {
        let ids = code.events.iter().flat_map(|event| event.ids.iter().map(|id| (*id, event.what)));
        Interpreter { layout, sources: ids.collect(), modules: Modules::default(), mapped: Vec::new() }
    }

    fn mapped(&mut self, time: Time, mapped: Mapped<'_>) -> Option<CodeRecord> {
        let path = String::from_utf8_lossy(mapped.path).into_owned();
        let module = self.modules.intern(Module { path, device: mapped.device, inode: mapped.inode })?;
        if self.modules.all().len() > self.mapped.len() {
            self.mapped.push(time);
        }
        let Mapped { pid, start, length, offset, .. } = mapped;
        Some(CodeRecord::Mapped { pid, start, length, offset, module })
    }
}

impl Interpret for Interpreter {
    type Item = CodeRecord;

    fn layout(&self) -> RecordLayout {
        self.layout
    }

    fn read(&mut self, stamp: Stamp, body: Body<'_>) -> Option<Option<CodeRecord>> {
        Some(match body {
            Body::Code(found) => {
                // A sample of an event that was not requested is damage.
                let source = *self.sources.get(&found.id)?;
                let (pid, tid, cpu) = (stamp.pid, Tid(stamp.tid), Cpu(stamp.cpu as u16));
                let (ip, in_kernel, user_ip) = (found.ip, found.in_kernel, found.user_ip);
                let (chain, callers) = (frames(found.chain), callers(found.chain));
                let seen = Seen { pid, tid, cpu, source, ip, in_kernel, chain, callers, user_ip };
                (stamp.tid != GONE).then_some(CodeRecord::Sample(seen))
            }
            Body::Mapped(mapped) => self.mapped(Time(stamp.time), mapped),
            Body::Comm { pid, exec: true, .. } => Some(CodeRecord::Exec { pid }),
            Body::Fork { pid, parent_pid, .. } if pid != parent_pid => {
                Some(CodeRecord::Fork { pid, parent: parent_pid })
            }
            Body::Exit { tid } => Some(CodeRecord::Exit { tid }),
            _ => None,
        })
    }

    fn gap(_: Cpu) -> Option<CodeRecord> {
        None
    }
}

/// The kernel frames of a call chain.
fn frames(chain: &[u8]) -> Box<[u64]> {
    let words = chain.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    words.take_while(|word| *word != MARKER_USER).filter(|word| *word < MARKER_FIRST).collect()
}

/// The user-space return addresses of a chain; its first user word is the innermost place itself.
fn callers(chain: &[u8]) -> Box<[u64]> {
    let words = chain.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let outside = words.skip_while(|word| *word != MARKER_USER).skip(2);
    outside.take_while(|word| *word < MARKER_FIRST).take(CALLERS_MAX).collect()
}
