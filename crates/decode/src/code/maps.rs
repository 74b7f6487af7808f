//! What is mapped where, per process, according to the records so far. Owns the way from an address to a place in a
//! file; refuses to read that file. Bounded: hostile bytes can name any number of processes and mappings.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Processes that are remembered after their end: their last samples may come from another CPU's stream.
const ENDED_KEPT: usize = 64;
const PROCESSES_MAX: usize = 1 << 16;
const MAPS_MAX: usize = 1 << 16;
const MODULES_MAX: usize = 1 << 16;

/// What a mapping comes from.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Origin {
    /// A file: the program, a library.
    File,
    /// Code that the kernel maps into every process.
    Vdso,
    /// Memory without a file: code that was generated at run time.
    Memory,
}

/// An executable mapping.
#[derive(Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub struct Module {
    /// Path as the process saw it, or the kernel's name for it: `[vdso]`.
    pub path: String,
    /// Major and minor number of the file's device.
    pub device: (u32, u32),
    /// Inode of the file.
    pub inode: u64,
}

impl Module {
    /// The kind of mapping.
    pub fn origin(&self) -> Origin {
        let path = self.path.as_str();
        let file =
            path.starts_with('/') && !["//anon", "/memfd:", "/dev/", "/SYSV"].iter().any(|no| path.starts_with(no));
        match path {
            "[vdso]" => Origin::Vdso,
            _ if file => Origin::File,
            _ => Origin::Memory,
        }
    }

    /// The last component of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default().trim_end_matches(" (deleted)")
    }
}

/// What an address points to.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub enum Place {
    /// An address in the kernel.
    Kernel(u64),
    /// A place in a module.
    Module {
        /// Index into the modules of the stream.
        module: u32,
        /// Offset in the module's file, in bytes.
        offset: u64,
        /// The address itself.
        ip: u64,
    },
    /// The process has nothing executable there, as far as records show.
    Unmapped,
    /// No mappings of the process are known.
    Unknown,
}

/// The modules of a stream, in the order in which they were first seen.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    list: Vec<Module>,
    index: HashMap<Module, u32>,
}

impl Modules {
    /// The number of `module`; `None` where there are too many.
    pub fn intern(&mut self, module: Module) -> Option<u32> {
        if let Some(id) = self.index.get(&module) {
            return Some(*id);
        }
        let id = u32::try_from(self.list.len()).ok().filter(|_| self.list.len() < MODULES_MAX)?;
        self.list.push(module.clone());
        self.index.insert(module, id);
        Some(id)
    }

    /// All modules, by number.
    pub fn all(&self) -> &[Module] {
        &self.list
    }
}

#[derive(Copy, Clone, Debug)]
struct Map {
    end: u64,
    offset: u64,
    module: u32,
}

/// Mappings of all processes.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    /// Mappings of each process, by their first address.
    processes: HashMap<u32, Arc<BTreeMap<u64, Map>>>,
    ended: VecDeque<u32>,
}

impl Maps {
    /// `pid` maps `length` bytes of `module` at `start`, from `offset` on. This replaces what was mapped there.
    pub fn map(&mut self, pid: u32, start: u64, length: u64, offset: u64, module: u32) {
        let Some(end) = start.checked_add(length).filter(|end| *end > start) else { return };
        if self.processes.len() >= PROCESSES_MAX && !self.processes.contains_key(&pid) {
            return;
        }
        let maps = Arc::make_mut(self.processes.entry(pid).or_default());
        let covered: Vec<(u64, Map)> =
            maps.range(..end).rev().take_while(|(_, map)| map.end > start).map(|(from, map)| (*from, *map)).collect();
        for (from, map) in covered {
            maps.remove(&from);
            if from < start {
                maps.insert(from, Map { end: start, ..map });
            }
            if map.end > end {
                maps.insert(end, Map { offset: map.offset.wrapping_add(end - from), ..map });
            }
        }
        if maps.len() < MAPS_MAX {
            maps.insert(start, Map { end, offset, module });
        }
    }

    /// `pid` executes another program: its mappings are gone.
    pub fn exec(&mut self, pid: u32) {
        if let Some(process) = self.processes.get_mut(&pid) {
            *process = Arc::default();
        }
    }

    /// `pid` begins as a copy of `parent`.
    pub fn fork(&mut self, pid: u32, parent: u32) {
        self.ended.retain(|ended| *ended != pid);
        match self.processes.get(&parent).cloned() {
            Some(process) if self.processes.len() < PROCESSES_MAX => self.processes.insert(pid, process),
            // The number was reused: it is another process now.
            _ => self.processes.remove(&pid),
        };
    }

    /// A thread ends, and its process too if it was the process's first thread.
    pub fn exit(&mut self, tid: u32) {
        if self.processes.contains_key(&tid) && !self.ended.contains(&tid) {
            self.ended.push_back(tid);
        }
        if self.ended.len() > ENDED_KEPT
            && let Some(oldest) = self.ended.pop_front()
        {
            self.processes.remove(&oldest);
        }
    }

    /// The place of the address `ip` in `pid`.
    pub fn place(&self, pid: u32, ip: u64) -> Place {
        let Some(maps) = self.processes.get(&pid) else { return Place::Unknown };
        match maps.range(..=ip).next_back() {
            Some((start, map)) if ip < map.end => {
                Place::Module { module: map.module, offset: map.offset.wrapping_add(ip - start), ip }
            }
            _ if maps.is_empty() => Place::Unknown,
            _ => Place::Unmapped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(maps: &Maps, ip: u64) -> Option<(u32, u64)> {
        match maps.place(1, ip) {
            Place::Module { module, offset, .. } => Some((module, offset)),
            _ => None,
        }
    }

    #[test]
    fn a_later_mapping_hides_what_it_covers() {
        let mut maps = Maps::default();
        assert_eq!(maps.place(1, 0x1000), Place::Unknown);
        maps.map(1, 0x1000, 0x3000, 0, 7);
        maps.map(1, 0x2000, 0x1000, 0x500, 8);
        assert_eq!(
            [0x1fff, 0x2000, 0x3000].map(|ip| at(&maps, ip)),
            [Some((7, 0xfff)), Some((8, 0x500)), Some((7, 0x2000))]
        );
        assert_eq!(maps.place(1, 0x4000), Place::Unmapped);
        maps.map(1, 0, 0x8000, 0, 9);
        assert_eq!(at(&maps, 0x2000), Some((9, 0x2000)));
    }

    #[test]
    fn fork_copies_and_exec_forgets() {
        let mut maps = Maps::default();
        maps.map(2, 0x1000, 0x1000, 0, 7);
        maps.fork(1, 2);
        maps.map(2, 0x1000, 0x1000, 0, 8);
        assert_eq!(at(&maps, 0x1000), Some((7, 0)));
        maps.exec(1);
        assert_eq!(maps.place(1, 0x1000), Place::Unknown);
        maps.fork(2, 99);
        assert_eq!(maps.place(2, 0x1000), Place::Unknown);
    }

    #[test]
    fn ended_processes_are_forgotten_in_the_end() {
        let mut maps = Maps::default();
        for pid in 1..=100 {
            maps.map(pid, 0x1000, 0x1000, 0, 7);
            maps.exit(pid);
        }
        assert_eq!(maps.processes.len(), ENDED_KEPT);
        maps.map(5, u64::MAX - 10, 100, 0, 7);
        assert_eq!(maps.processes.len(), ENDED_KEPT, "a mapping over the end of memory is none");
    }

    #[test]
    fn paths_distinguish_files_from_memory() {
        let of = |path: &str| Module { path: path.into(), device: (0, 0), inode: 0 };
        assert_eq!(of("/usr/bin/prog").origin(), Origin::File);
        assert_eq!(of("[vdso]").origin(), Origin::Vdso);
        for memory in ["//anon", "[heap]", "/memfd:jit (deleted)", "", "/dev/zero (deleted)"] {
            assert_eq!(of(memory).origin(), Origin::Memory, "{memory}");
        }
        assert_eq!(of("/tmp/a/prog (deleted)").name(), "prog");
    }
}
