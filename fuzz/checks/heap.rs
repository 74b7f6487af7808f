//! Any bytes as a program's memory: each block has one kind, no used part exceeds its block, and a walk
//! reads every word once.

use rtscope_heap::descriptor::{BLOCK, DESCRIPTORS, MEGABLOCK};
use rtscope_heap::ledger::{self, Residency};
use rtscope_heap::{Memory, Scan, ScanInput, Space, Statics, Survey, sampled};
use rtscope_model::chance::Chance;
use std::io;

const HEAP: u64 = 0x42_0000_0000;
const CODE: u64 = 0x40_0000;
const DATA: u64 = 0x50_0000;

/// The bytes repeat through the whole address space.
struct RepeatedBytes<'a>(&'a [u8]);

impl Memory for RepeatedBytes<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let from = (address % DESCRIPTORS as u64) as usize % self.0.len();
        let endless = self.0.iter().cycle().skip(from);
        buffer.iter_mut().zip(endless).for_each(|(into, byte)| *into = *byte);
        Ok(())
    }
}

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    if bytes.len() < 64 {
        return;
    }
    let image = RepeatedBytes(bytes);
    let space = Space { committed: std::iter::once(HEAP..HEAP + 2 * MEGABLOCK).collect() };
    let Ok(survey) = Survey::take(&image, &space, &Statics::default(), true) else { return };
    let totals = &survey.totals;
    assert_eq!(totals.iter().map(|total| total.blocks).sum::<u64>(), 512);
    assert!(totals.iter().all(|total| total.used_bytes <= total.blocks * BLOCK));
    let lines = ledger::lines(&survey, &ledger::resident(&survey, &Residency::default()), None);
    assert_eq!(lines.iter().map(|line| line.bytes).sum::<u64>(), 2 * MEGABLOCK);
    let input = ScanInput {
        threads: 1,
        code: std::iter::once(CODE..CODE + 0x1000).collect(),
        data: std::iter::once(DATA..DATA + 0x1000).collect(),
    };
    let old = sampled::look(&image, &space, &input.code, &mut Chance::new(u64::from(bytes[0])));
    let named: u64 = old.thunks.iter().map(|(_, bytes)| bytes).sum();
    assert!(named <= old.thunk_bytes && old.thunk_bytes <= old.bytes && old.thunks.len() <= 8);
    let scan = Scan::of(&image, &survey, &Statics::default(), &input);
    let met: u64 = scan.census.iter().map(|entry| entry.bytes).sum();
    assert!(met + scan.skipped_bytes <= scan.read_bytes && scan.read_bytes <= 2 * MEGABLOCK);
    let pinned = scan.pinned;
    assert!(pinned.live_objects <= pinned.objects && pinned.live_bytes <= pinned.used_bytes);
}
