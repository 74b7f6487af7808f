//! What processes have mapped, from the records themselves as they come: for who needs it while they are recorded.
//! Owns nothing but the two put together; refuses samples.

use super::maps::{Maps, Module, Modules, Place};
use crate::perf::record::{Body, Layout, parse};

/// Mappings of processes, as far as records told.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    maps: Maps,
    modules: Modules,
}

impl Mappings {
    /// Takes in one whole record of a code stream. One that says nothing of mappings, or that is none, changes nothing.
    pub fn take(&mut self, record: &[u8]) {
        let Some((_, body)) = parse(record, Layout::Code { registers: true }) else { return };
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

    /// Where the address `ip` of process `pid` leads.
    pub fn place(&self, pid: u32, ip: u64) -> Place {
        self.maps.place(pid, ip)
    }

    /// The module of that number, as in [`Place`].
    pub fn module(&self, number: u32) -> Option<&Module> {
        self.modules.all().get(number as usize)
    }
}
