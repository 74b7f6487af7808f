//! Samples old objects of a live process, a few at a time. Owns where its heap is now; refuses to stop anything.

use super::found::{HeapTarget, space};
use crate::target::memory::LiveProcess;
use rtscope_heap::sampled::look;
use rtscope_heap::{Runtime, Space, Statics};
use rtscope_model::OldObjects;
use rtscope_model::chance::Chance;
use std::io;
use std::ops::Range;

/// Samples one process repeatedly.
#[derive(Debug)]
pub struct Sampled {
    memory: LiveProcess,
    statics: Statics,
    reserved: Range<u64>,
    /// File mappings, which contain the info tables.
    code: Vec<Range<u64>>,
    space: Space,
    /// Number of megablocks when `space` was found.
    megablocks: u64,
    chance: Chance,
}

impl Sampled {
    pub fn of(target: &HeapTarget, memory: LiveProcess) -> Sampled {
        let code = target.of_files().map(|mapping| mapping.range.clone()).collect();
        let (statics, reserved, space) = (target.statics, target.reserved.clone(), target.space.clone());
        Sampled { memory, statics, reserved, code, space, megablocks: 0, chance: Chance::new(1) }
    }

    /// Takes one sample.
    ///
    /// # Errors
    /// The process has ended, or its memory may not be read.
    pub fn look(&mut self) -> io::Result<OldObjects<u64>> {
        let megablocks = Runtime::read(&self.memory, &self.statics)?.megablocks;
        // Reading the mappings takes longer than all else; if the heap grew a little, a little of it is not sampled.
        let is_near = |now: u64| now.abs_diff(self.megablocks).saturating_mul(8) <= self.megablocks;
        if !megablocks.is_some_and(is_near) {
            self.space = space(&self.memory.process.mappings()?, &self.reserved);
            self.megablocks = megablocks.unwrap_or(0);
        }
        Ok(look(&self.memory, &self.space, &self.code, &mut self.chance))
    }
}
