//! Memory allocated since the last collection: the nursery blocks up to the one that each capability
//! is filling. Owns finding that block. Later blocks in a nursery's chain hold old content, whatever
//! their descriptors say.

use crate::blocks::BlockGroup;
use crate::descriptor::{self, BLOCK, DESCRIPTORS, Descriptor, MEGABLOCK};
use crate::map::Kind;
use crate::memory::Memory;
use crate::runtime::Statics;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

/// More capabilities than any program has.
const CAPABILITIES_MAX: u32 = 4096;
/// Blocks that are followed in the chains of all nurseries.
const CHAIN_MAX: u64 = 1 << 22;
/// Words of a capability that include its registers.
const REGISTERS: usize = 192;
/// Bytes of `nursery`: a pointer to the first block, and the number of blocks.
const NURSERY: u64 = 16;

/// The used blocks of all nurseries; empty where the runtime's variables are not known.
///
/// # Errors
/// Memory cannot be read.
pub fn nurseries(memory: &impl Memory, statics: &Statics) -> io::Result<Vec<BlockGroup>> {
    let (Some(nurseries), Some(count)) = (statics.nurseries, statics.n_nurseries) else { return Ok(Vec::new()) };
    let (first, count) = (memory.read_u64(nurseries)?, u64::from(memory.read_u32(count)?.min(CAPABILITIES_MAX)));
    let filled = filling(memory, statics, &(first..first.saturating_add(NURSERY * count)))?;
    // Nurseries are assigned in order.
    let Some(last) = filled.keys().next_back() else { return Ok(Vec::new()) };
    let mut chain = Chain { memory, megablock: 0, descriptors: vec![0; DESCRIPTORS], left: CHAIN_MAX };
    let mut groups = Vec::new();
    for number in 0..=*last {
        let at = first.saturating_add(NURSERY * number);
        let (blocks, count) = (memory.read_u64(at)?, memory.read_u64(at.saturating_add(8))?);
        chain.follow(blocks, count, filled.get(&number).copied(), &mut groups)?;
    }
    Ok(groups)
}

/// The nurseries that capabilities are filling, by number, and the descriptor of each one's current
/// block. `capabilities` points to an array in old versions and is the array in newer ones: the right
/// reading is the one that yields a nursery for every capability.
fn filling(memory: &impl Memory, statics: &Statics, nurseries: &Range<u64>) -> io::Result<BTreeMap<u64, u64>> {
    let (Some(array), Some(count)) = (statics.capabilities, statics.n_capabilities) else { return Ok(BTreeMap::new()) };
    let count = u64::from(memory.read_u32(count)?.min(CAPABILITIES_MAX));
    let in_array = |array: u64| -> Option<BTreeMap<u64, u64>> {
        let one = |number: u64| {
            let capability = memory.read_u64(array.checked_add(8 * number)?).ok()?;
            let (nursery, block) = current(memory, capability, nurseries).ok()??;
            Some(((nursery - nurseries.start) / NURSERY, block))
        };
        (0..count).map(one).collect()
    };
    let pointed = memory.read_u64(array)?;
    Ok(in_array(array).or_else(|| in_array(pointed)).unwrap_or_default())
}

/// Address in `nurseries` of a capability's nursery, and the descriptor of its current block: its
/// registers hold both in adjacent words.
fn current(memory: &impl Memory, capability: u64, nurseries: &Range<u64>) -> io::Result<Option<(u64, u64)>> {
    let mut words = vec![0; REGISTERS];
    let range = capability..capability.saturating_add(8 * REGISTERS as u64);
    memory.read_words(std::slice::from_ref(&range), &mut words)?;
    let pairs = words.iter().zip(words.iter().skip(1));
    let found = pairs
        .filter(|(nursery, _)| nurseries.contains(*nursery) && (**nursery - nurseries.start).is_multiple_of(NURSERY));
    Ok(found.map(|(nursery, block)| (*nursery, *block)).next())
}

/// Follows a chain of blocks, whose descriptors mostly lie in one megablock.
struct Chain<'m, M> {
    memory: &'m M,
    megablock: u64,
    descriptors: Vec<u8>,
    left: u64,
}

impl<M: Memory> Chain<'_, M> {
    fn descriptor(&mut self, address: u64) -> io::Result<Option<Descriptor>> {
        let megablock = address & !(MEGABLOCK - 1);
        if megablock != self.megablock {
            self.memory.read(megablock, &mut self.descriptors)?;
            self.megablock = megablock;
        }
        let own = descriptor::block_of(address);
        let index = ((own - megablock) / BLOCK) as usize;
        Ok(descriptor::at(&self.descriptors, index).filter(|found| found.start == own))
    }

    /// Collects the used parts of the `count` blocks from `at` on, up to the current block.
    fn follow(&mut self, mut at: u64, count: u64, last: Option<u64>, groups: &mut Vec<BlockGroup>) -> io::Result<()> {
        for _ in 0..count {
            if at == 0 || self.left == 0 {
                break;
            }
            self.left -= 1;
            let Some(found) = self.descriptor(at)? else { break };
            // Nurseries consist of single blocks.
            if found.used_bytes().is_some_and(|used| (1..=BLOCK).contains(&used)) {
                groups.push(BlockGroup { start: found.start, free: found.free, kind: Kind::Nursery, generation: 0 });
            }
            if last == Some(at) {
                break;
            }
            at = found.link;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, Laid};

    const AT: u64 = 0x42_0010_0000;

    #[test]
    fn blocks_after_the_current_one_are_left_out() {
        let mut laid = Laid::at(AT);
        for used in [4000, 4080, 100, 4096, 4096, 4096] {
            laid = laid.group(1, 0, 0, used);
        }
        let mut bytes = laid.descriptors();
        let descriptor = |index: u64| AT + 64 * index;
        // Each links to the next; the fourth links to the fifth, which belongs to another nursery.
        for index in 4..9 {
            bytes[index * 64 + 16..index * 64 + 24].copy_from_slice(&descriptor(index as u64 + 1).to_ne_bytes());
        }
        let (capabilities, nurseries, capability) = (0x1000, 0x2000, 0x3000);
        let mut registers = vec![0; REGISTERS];
        (registers[100], registers[101]) = (nurseries, descriptor(6));
        // As the array itself, and as a pointer to it.
        let image = Image::default()
            .put(AT, bytes)
            .words(capabilities, &[capability, 0x1180])
            .words(0x1100, &[1, 0])
            .words(0x1180, &[capability])
            .words(0x1200, &[nurseries])
            .words(nurseries, &[descriptor(4), 4, descriptor(8), 2])
            .words(0x1300, &[2])
            .words(capability, &registers);
        let statics = Statics {
            capabilities: Some(capabilities),
            n_capabilities: Some(0x1100),
            nurseries: Some(0x1200),
            n_nurseries: Some(0x1300),
            ..Statics::default()
        };
        let found = |statics| -> Vec<u64> {
            super::nurseries(&image, &statics).unwrap().iter().map(BlockGroup::used_bytes).collect()
        };
        assert_eq!(found(statics), [4000, 4080, 100]);
        assert_eq!(found(Statics { capabilities: Some(capabilities + 8), ..statics }), [4000, 4080, 100]);
        assert_eq!(found(Statics { capabilities: None, ..statics }), []);
        assert!(super::nurseries(&image, &Statics { capabilities: Some(8), ..statics }).is_err());
    }
}
