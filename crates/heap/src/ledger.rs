//! Where the memory of a process is, line by line. Owns that the lines do not overlap: each
//! resident page of the heap is in exactly one of them. What lies outside the heap is the
//! caller's to add.

use crate::descriptor::BLOCK;
use crate::map::Kind;
use crate::survey::Survey;
use std::collections::HashSet;

/// One line.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Line {
    /// What it is.
    pub line: String,
    /// How much of it is in memory.
    pub bytes: u64,
    /// How that is known.
    pub how: &'static str,
}

/// Which blocks are in memory.
#[derive(Clone, Debug, Default)]
pub struct Residency {
    /// Addresses of blocks that are not.
    absent: HashSet<u64>,
}

impl Residency {
    /// All blocks are, but those.
    pub fn without(absent: impl IntoIterator<Item = u64>) -> Residency {
        Residency { absent: absent.into_iter().collect() }
    }

    /// Whether the block at `address` is.
    pub fn has(&self, address: u64) -> bool {
        !self.absent.contains(&address)
    }
}

/// Resident bytes of blocks of each kind and generation, in the order of kinds.
fn resident(survey: &Survey, residency: &Residency) -> Vec<(Kind, u8, u64)> {
    let mut sums: Vec<(Kind, u8, u64)> = Vec::new();
    for megablock in &survey.megablocks {
        for (address, cell) in megablock.blocks() {
            if !residency.has(address) {
                continue;
            }
            match sums.iter_mut().find(|sum| (sum.0, sum.1) == (cell.kind, cell.generation)) {
                Some(sum) => sum.2 += BLOCK,
                None => sums.push((cell.kind, cell.generation, BLOCK)),
            }
        }
    }
    let place = |kind| Kind::ALL.iter().position(|known| *known == kind);
    sums.sort_by_key(|(kind, generation, _)| (place(*kind), *generation));
    sums
}

/// The heap's lines.
pub fn lines(survey: &Survey, residency: &Residency) -> Vec<Line> {
    let totals = survey.totals();
    let used = |kind: Kind, generation: u8| {
        let alike = |total: &&crate::Total| total.kind == kind && total.generation.unwrap_or(0) == generation;
        totals.iter().filter(alike).map(|total| total.used_bytes).sum::<u64>()
    };
    let mut lines = Vec::new();
    let mut slop = 0;
    for (kind, generation, bytes) in resident(survey, residency) {
        let line = |line: String, bytes: u64| Line { line, bytes, how: how(kind) };
        let of = format!("of generation {generation}");
        match kind {
            Kind::Small | Kind::Large | Kind::Pinned | Kind::Compact => {
                // What is not in memory was not used, or swapped out.
                let used = used(kind, generation).min(bytes);
                slop += bytes - used;
                lines.push(line(format!("{} {of}", words(kind)), used));
            }
            Kind::NonMoving => lines.push(line(format!("{} {of}", words(kind)), bytes)),
            _ => lines.push(line(words(kind).to_owned(), bytes)),
        }
    }
    if slop > 0 {
        let how = "blocks of the lines above, less what is used of them";
        lines.push(Line { line: "unused ends of used blocks (slop)".into(), bytes: slop, how });
    }
    lines
}

fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::Nursery => "allocation areas (nurseries)",
        Kind::Small => "objects that collections move",
        Kind::Large => "large objects",
        Kind::Pinned => "pinned objects, dead ones between them included",
        Kind::Compact => "compact regions",
        Kind::NonMoving => "segments of the non-moving collector",
        Kind::Executable => "machine code made by the runtime",
        Kind::Other => "blocks of the runtime itself",
        Kind::Descriptors => "block descriptors",
        Kind::Free => "free blocks in megablocks that hold something",
        Kind::FreeMegablock => "free megablocks that the runtime keeps",
        Kind::Returned => "megablocks given back and still in memory",
    }
}

fn how(kind: Kind) -> &'static str {
    match kind {
        Kind::Small | Kind::Large | Kind::Pinned | Kind::Compact => "where each block says that it is used up to",
        Kind::Nursery => "blocks of generation 0 without a flag, resident pages",
        _ => "block descriptors, resident pages",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::Flags;
    use crate::memory::Space;
    use crate::runtime::Statics;
    use crate::testing::{Image, Laid};

    #[test]
    fn every_resident_page_is_in_one_line() {
        const AT: u64 = 0x42_0010_0000;
        let laid = Laid::at(AT)
            .group(1, 0, 0, 100)
            .group(2, 1, Flags::EVACUATED, 5000)
            .group(1, 1, Flags::PINNED | Flags::LARGE, 4000)
            .free(248);
        let image = Image::default().put(AT, laid.descriptors());
        let space = Space { committed: vec![AT..AT + (1 << 20)] };
        let survey = Survey::take(&image, &space, &Statics::default(), true).unwrap();
        let absent = (8..256).map(|block| AT + block * 4096);
        let lines = lines(&survey, &Residency::without(absent));
        let found: Vec<_> = lines.iter().map(|line| line.bytes).collect();
        assert_eq!(found, [4096, 5000, 4000, 4 * 4096, 2 * 4096 - 5000 + 96]);
        assert_eq!(found.iter().sum::<u64>(), 8 * 4096);
        assert!(lines[1].line.ends_with("of generation 1"));
    }
}
