//! Finds the callers of sampled code: in a runtime's C code a function such as one that copies an object serves
//! many purposes, and only its callers say which.
//!
//! Owns the unwind rules of the files that processes have mapped, and the step from a sample with a copy of the stack's
//! top to one with its callers. All of it happens in the thread that moves records to the disk, never where a sample is
//! taken. What a program can choose is bounded: files are opened as for their names and read in the sandbox, once;
//! rules are followed without computing anything, a fixed number of frames. Refuses to name a caller.

mod dumps;
mod table;
mod walk;

use super::{mapped, records};
use crate::sandbox::{self, ONE_FILE};
use crate::symbols::{self, Files};
use crate::system::clock;
use dumps::Dumped;
use rtscope_decode::code::{Mappings, Module, Origin, Place};
use rtscope_model::Pid;
use std::collections::HashSet;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError};
use table::UnwindTable;
use walk::{Registers, Rule, walk};

/// Files whose rules are read, and rules kept over all of them: 64 MiB.
const FILES_MAX: usize = 256;
const RULES_MAX: usize = 1 << 22;
/// Files reported as having no rules.
const MISSING_MAX: usize = 16;

/// The files that the session holds open, shared with it.
pub type SharedFiles = Arc<Mutex<Files>>;

#[derive(Debug)]
enum Rules {
    NotAsked,
    None,
    Some(UnwindTable),
}

/// The result of unwinding one sample's copy of the stack with the rules of one file.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Unwound {
    /// Number of rules of the file.
    pub rules: usize,
    /// The part of the copy that the kernel filled.
    pub stack: Vec<u8>,
    /// Return addresses, innermost first.
    pub callers: Vec<u64>,
    /// The record in its stored form.
    pub kept: Vec<u8>,
}

/// Finds the callers of the sample in `record`, of an event `id`, in a process that has the file `image` mapped from
/// `base` on. `None`: it is not such a record. A file without rules gives no callers.
pub fn of_bytes(image: &[u8], base: u64, record: &[u8], id: u64) -> Option<Unwound> {
    let table = UnwindTable::read_image(image).unwrap_or_default();
    let dumped = Dumped::read(record, &[id])?.ok()?;
    let rule = |ip: u64| table.rule(ip.checked_sub(base)?);
    let callers = dumped.registers.map(|registers| walk(registers, dumped.stack, rule)).unwrap_or_default();
    let mut kept = Vec::new();
    dumped.write(&callers, &mut kept);
    Some(Unwound { rules: table.len(), stack: dumped.stack.to_vec(), callers, kept })
}

#[derive(Debug)]
pub struct Callers {
    files: SharedFiles,
    mappings: Mappings,
    /// Indexed by module number.
    rules: Vec<Rules>,
    asked: usize,
    kept: usize,
    /// Processes whose mappings were looked up in this round.
    looked_up: HashSet<u32>,
    /// Why there are no rules, one sentence for each file.
    missing: Vec<String>,
}

impl Callers {
    /// For processes whose files are in `files`.
    pub fn new(files: SharedFiles) -> Callers {
        Callers {
            files,
            mappings: Mappings::default(),
            rules: Vec::new(),
            asked: 0,
            kept: 0,
            looked_up: HashSet::new(),
            missing: Vec::new(),
        }
    }

    /// The rings are about to be read again.
    pub fn begin_round(&mut self) {
        self.looked_up.clear();
    }

    /// Appends one whole record from a ring to `into` in its stored form. `ids` are those of events whose samples carry
    /// a copy of the stack.
    pub fn keep(&mut self, record: &[u8], ids: &[u64], into: &mut Vec<u8>) {
        match Dumped::read(record, ids) {
            None => {
                self.mappings.take(record);
                into.extend_from_slice(record);
            }
            Some(Ok(dumped)) => {
                let callers = dumped.registers.map(|registers| self.callers(dumped.pid, registers, dumped.stack));
                dumped.write(&callers.unwrap_or_default(), into);
            }
            // The kernel writes no such record, and no reader could parse it.
            Some(Err(())) => {}
        }
    }

    /// Learns the mappings in records that were written without having been in a ring.
    pub fn learn(&mut self, records: &[u8]) {
        let mut rest = records;
        while let Some((record, after)) = records::split(rest) {
            self.mappings.take(record);
            rest = after;
        }
    }

    /// Sentences about files without rules; each is returned once.
    pub fn take_missing(&mut self) -> Vec<String> {
        std::mem::take(&mut self.missing)
    }

    fn callers(&mut self, pid: u32, registers: Registers, stack: &[u8]) -> Vec<u64> {
        if matches!(self.mappings.place(pid, registers.ip), Place::Unknown | Place::Unmapped) {
            self.look_up(pid);
        }
        walk(registers, stack, |ip| self.rule(pid, ip))
    }

    /// The rings of CPUs are read one after the other: a mapping made on another CPU may not have been read yet.
    fn look_up(&mut self, pid: u32) {
        if self.looked_up.insert(pid) {
            let text = self.lock_files(|files| files.mappings_of(pid));
            self.learn(&mapped::records_of(&text, Pid(pid), clock::monotonic(), 0));
        }
    }

    fn lock_files<T>(&self, work: impl FnOnce(&mut Files) -> T) -> T {
        work(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn rule(&mut self, pid: u32, ip: u64) -> Option<Rule> {
        let Place::Module { module, offset, .. } = self.mappings.place(pid, ip) else { return None };
        let number = module as usize;
        if self.rules.len() <= number {
            self.rules.resize_with(number + 1, || Rules::NotAsked);
        }
        if let Some(Rules::NotAsked) = self.rules.get(number) {
            let module = self.mappings.module(module).cloned();
            let rules = module.map_or(Rules::None, |module| self.read(pid, &module));
            *self.rules.get_mut(number)? = rules;
        }
        match self.rules.get(number) {
            Some(Rules::Some(table)) => table.rule(offset),
            _ => None,
        }
    }

    fn read(&mut self, pid: u32, module: &Module) -> Rules {
        self.asked += 1;
        if self.asked > FILES_MAX || self.kept > RULES_MAX {
            return Rules::None;
        }
        let read = match module.origin() {
            Origin::File => self.read_file(pid, module),
            Origin::Vdso => symbols::vdso().and_then(|image| UnwindTable::read_image(&image)),
            Origin::Memory => return Rules::None,
        };
        match read {
            Ok(table) => {
                self.kept += table.len();
                Rules::Some(table)
            }
            Err(why) => {
                if self.missing.len() < MISSING_MAX {
                    self.missing.push(format!("Callers of code in {} are not found: the file {why}.", module.name()));
                }
                Rules::None
            }
        }
    }

    fn read_file(&self, pid: u32, module: &Module) -> Result<UnwindTable, String> {
        let file = self.lock_files(|files| {
            files.look_at(pid);
            files.open(module, None)
        })?;
        let keep = [file.as_raw_fd()];
        let read = sandbox::run(&ONE_FILE, &keep, || UnwindTable::read(file));
        read.map_err(|died| format!("gives none: {died}"))?.value
    }
}
