//! The mappings of processes, from records as they arrive, for use during a recording. Owns only the combination of
//! parser and maps; refuses samples.

use super::maps::{Maps, Module, Modules, Place};
use crate::perf::record::{Body, RecordLayout, parse};

/// Mappings of processes, as far as records have shown them.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    maps: Maps,
    modules: Modules,
}

impl Mappings {
    /// Applies one whole record of a code stream. Damage and records that do not concern mappings change nothing.
    pub fn take(&mut self, record: &[u8]) {
        let Some((_, body)) = parse(record, RecordLayout::Code { registers: true }) else { return };
        match body {
            Body::Mapped(mapped) => {
                let path = String::from_utf8_lossy(mapped.path).into_owned();
                let module = Module { path, device: mapped.device, inode: mapped.inode };
                if let Some(module) = self.modules.intern(module) {
                    self.maps.map(mapped.pid, mapped.start, mapped.length, mapped.offset, module);
                }
            }
            Body::Comm { pid, exec: true, .. } => self.maps.exec(pid),
            Body::Fork { pid, parent_pid, .. } if pid != parent_pid => self.maps.fork(pid, parent_pid),
            Body::Exit { tid } => self.maps.exit(tid),
            _ => {}
        }
    }

    /// The place of the address `ip` in process `pid`.
    pub fn place(&self, pid: u32, ip: u64) -> Place {
        self.maps.place(pid, ip)
    }

    /// The module with that number, as in [`Place`].
    pub fn module(&self, number: u32) -> Option<&Module> {
        self.modules.all().get(number as usize)
    }
}
