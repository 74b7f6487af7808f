//! Code samples of the program, from which Perfetto draws flame graphs.
//!
//! Owns the tables of places: each place is written once, before the first sample that refers to it. A sample has at
//! most two frames: the program's place, and the kernel's inside it.

use super::field::{interned, packet, places, sample};
use super::sequence::pair;
use super::wire::Wire;
use rtscope_model::{CodeKind, CodeSample, Found, SymbolId, Symbols};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Limit of distinct pairs of places; a sample of a further pair has no place.
const STACKS_MAX: usize = 1 << 16;
/// The format's numbers for the mode of a sample.
const KERNEL: u64 = 1;
const USER: u64 = 2;

/// The places written so far.
#[derive(Default)]
pub(super) struct Places {
    frames: HashSet<SymbolId>,
    modules: HashMap<String, u64>,
    stacks: HashMap<(Option<SymbolId>, SymbolId), u64>,
    /// CPU time that samples of each CPU account for, in nanoseconds.
    spent: BTreeMap<u16, u64>,
}

impl Places {
    /// Fills a packet with a timer sample of a thread of `pid`; other samples are ignored.
    pub fn fill(&mut self, packet: &mut Wire, found: &CodeSample, pid: u32, symbols: &Symbols) {
        let Found::Running { ns } = found.what else { return };
        let key = (found.user, found.leaf);
        let mut stack = self.stacks.get(&key).copied();
        if stack.is_none() && self.stacks.len() < STACKS_MAX {
            let iid = self.stacks.len() as u64 + 1;
            self.stacks.insert(key, iid);
            stack = Some(iid);
            packet.message(packet::INTERNED_DATA, |names| {
                let outermost_first = || found.user.into_iter().chain([found.leaf]);
                outermost_first().for_each(|place| self.place(names, place, symbols));
                names.message(interned::CALLSTACKS, |stack| {
                    stack.number(interned::IID, iid);
                    outermost_first().for_each(|place| stack.number(places::FRAMES, number(place)));
                });
            });
        }
        let spent = self.spent.entry(found.cpu.0).or_default();
        *spent = spent.saturating_add(ns);
        let inside = symbols.get(found.leaf).kind == CodeKind::Kernel;
        packet.message(packet::PERF_SAMPLE, |fields| {
            fields.number(sample::CPU, found.cpu.0.into());
            fields.number(sample::PID, pid.into());
            fields.number(sample::TID, found.tid.0.into());
            if let Some(stack) = stack {
                fields.number(sample::CALLSTACK, stack);
            }
            fields.number(sample::MODE, if inside { KERNEL } else { USER });
            fields.number(sample::COUNT, *spent);
        });
    }

    /// Writes a frame, with its name and module if they are new.
    fn place(&mut self, names: &mut Wire, place: SymbolId, symbols: &Symbols) {
        if !self.frames.insert(place) {
            return;
        }
        let symbol = symbols.get(place);
        let next = self.modules.len() as u64 + 1;
        let module = self.modules.get(&symbol.module).copied().unwrap_or_else(|| {
            self.modules.insert(symbol.module.clone(), next);
            names.message(interned::MAPPING_PATHS, |path| pair(path, next, &symbol.module));
            names.message(interned::MAPPINGS, |mapping| {
                mapping.number(interned::IID, next);
                mapping.number(places::PATHS, next);
            });
            next
        });
        let iid = number(place);
        let name = if symbol.name.is_empty() { "unknown" } else { &symbol.name };
        names.message(interned::FUNCTION_NAMES, |function| pair(function, iid, name));
        names.message(interned::FRAMES, |frame| {
            frame.number(interned::IID, iid);
            frame.number(places::FUNCTION, iid);
            frame.number(places::MAPPING, module);
        });
    }
}

fn number(place: SymbolId) -> u64 {
    u64::from(place.0) + 1
}
