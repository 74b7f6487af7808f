//! Unwind rules of one file: its `.eh_frame`, evaluated once, in the sandbox. Owns which of these rules are used;
//! refuses those that have to be computed (expressions), so that following a rule costs the same whatever a file holds.

use super::walk::Rule;
use crate::binary::Bounded;
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EndianSlice, LittleEndian, RegisterRule, UnwindContext, UnwindSection,
    X86_64,
};
use object::read::elf::ElfFile64;
use object::{Architecture, Endianness, Object, ObjectSection, ObjectSegment, ReadRef};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Cursor;

/// Rows of one file, 16 bytes each. No known program has a tenth of it.
const ROWS_MAX: usize = 1 << 21;

/// A rule from an offset in the file on: its kind, and the two figures of [`Rule::Frame`].
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
struct UnwindRow(u32, How, i32, i32);

#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
enum How {
    /// No rule is known.
    N,
    /// The outermost frame: it has no caller.
    E,
    /// From the stack pointer; `Sb` also has the place of the saved base.
    S,
    Sb,
    /// From the frame base; `Bb` also has the place of the caller's base.
    B,
    Bb,
}

/// The rules of one file, by offset.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct UnwindTable {
    rows: Vec<UnwindRow>,
}

impl UnwindTable {
    /// Reads the rules of another user's file: call it in the sandbox. The error says why there are none.
    pub fn read(file: File) -> Result<UnwindTable, String> {
        UnwindTable::read_in(&Bounded::new(file))
    }

    pub fn read_image(image: &[u8]) -> Result<UnwindTable, String> {
        UnwindTable::read_in(&Bounded::new(Cursor::new(image)))
    }

    fn read_in<'data, R: ReadRef<'data>>(data: R) -> Result<UnwindTable, String> {
        let elf = ElfFile64::<Endianness, R>::parse(data).map_err(|_| "is no 64-bit ELF file".to_owned())?;
        if elf.architecture() != Architecture::X86_64 {
            return Err("is for another architecture than x86-64".to_owned());
        }
        let section = elf.section_by_name(".eh_frame").ok_or("has no .eh_frame")?;
        let bytes = section.data().map_err(|_| "has an .eh_frame that cannot be read")?;
        let loads: Vec<Load> = elf
            .segments()
            .map(|segment| Load {
                address: segment.address(),
                offset: segment.file_range().0,
                size: segment.file_range().1,
            })
            .collect();
        let text = elf.section_by_name(".text").map_or(0, |text| text.address());
        let bases = BaseAddresses::default().set_eh_frame(section.address()).set_text(text);
        let mut frames = EhFrame::new(bytes, LittleEndian);
        frames.set_address_size(8);
        UnwindTable::of(&frames, &bases, &loads)
    }

    fn of(
        frames: &EhFrame<EndianSlice<'_, LittleEndian>>,
        bases: &BaseAddresses,
        loads: &[Load],
    ) -> Result<UnwindTable, String> {
        let (mut rows, mut context) = (Vec::new(), UnwindContext::new());
        let mut entries = frames.entries(bases);
        // Reading ends at damage: the rules before it are still good.
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(entry) = entry else { continue };
            let Ok(function) = entry.parse(|frames, bases, at| frames.cie_from_offset(bases, at)) else { continue };
            let Ok(mut table) = function.rows(frames, bases, &mut context) else { continue };
            let mut end = None;
            while let Ok(Some(row)) = table.next_row() {
                let Some(from) = loads.iter().find_map(|load| load.offset(row.start_address())) else { continue };
                let (how, size, base) = how(row);
                rows.push(UnwindRow(from, how, size, base));
                end = loads.iter().find_map(|load| load.offset(row.end_address()));
            }
            rows.extend(end.map(|end| UnwindRow(end, How::N, 0, 0)));
            if rows.len() > ROWS_MAX {
                return Err(format!("has more than {ROWS_MAX} rules"));
            }
        }
        // Where one function begins at another's end, its own rule comes last and wins.
        rows.sort_by_key(|row| (row.0, row.1 != How::N));
        rows.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                *earlier = *later;
            }
            same || (later.1, later.2, later.3) == (earlier.1, earlier.2, earlier.3)
        });
        rows.shrink_to_fit();
        Ok(UnwindTable { rows })
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn rule(&self, offset: u64) -> Option<Rule> {
        let offset = u32::try_from(offset).ok()?;
        let UnwindRow(_, how, size, base) =
            *self.rows.get(self.rows.partition_point(|row| row.0 <= offset).checked_sub(1)?)?;
        let frame = |from_base, base_at| Some(Rule::Frame { from_base, size, base_at });
        match how {
            How::N => None,
            How::E => Some(Rule::End),
            How::S => frame(false, None),
            How::Sb => frame(false, Some(base)),
            How::B => frame(true, None),
            How::Bb => frame(true, Some(base)),
        }
    }
}

struct Load {
    address: u64,
    offset: u64,
    size: u64,
}

impl Load {
    /// Converts a link-time address to an offset in the file.
    fn offset(&self, address: u64) -> Option<u32> {
        let inside = address.checked_sub(self.address).filter(|inside| *inside <= self.size)?;
        u32::try_from(self.offset.checked_add(inside)?).ok()
    }
}

fn how(row: &gimli::UnwindTableRow<usize>) -> (How, i32, i32) {
    const NOTHING: (How, i32, i32) = (How::N, 0, 0);
    match row.register(X86_64::RA) {
        RegisterRule::Offset(-8) => {}
        RegisterRule::Undefined => return (How::E, 0, 0),
        _ => return NOTHING,
    }
    let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return NOTHING };
    let Ok(size) = i32::try_from(offset) else { return NOTHING };
    let base = match row.register(X86_64::RBP) {
        RegisterRule::Offset(at) => match i32::try_from(at) {
            Ok(at) => Some(at),
            Err(_) => return NOTHING,
        },
        _ => None,
    };
    match (register, base) {
        (X86_64::RSP, None) => (How::S, size, 0),
        (X86_64::RSP, Some(base)) => (How::Sb, size, base),
        (X86_64::RBP, None) => (How::B, size, 0),
        (X86_64::RBP, Some(base)) => (How::Bb, size, base),
        _ => NOTHING,
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_this_very_file_and_of_the_kernels_code() {
        let table = UnwindTable::read(File::open(std::env::current_exe().unwrap()).unwrap()).unwrap();
        assert!(table.len() > 1000, "{}", table.len());
        let frames = table.rows.iter().filter(|row| !matches!(row.1, How::N | How::E)).count();
        assert!(frames > table.len() / 2, "{frames} of {}", table.len());
        assert!(table.rows.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(table.rule(0), None);
        if let Ok(image) = crate::symbols::vdso() {
            assert!(UnwindTable::read_image(&image).unwrap().len() > 4);
        }
    }

    #[test]
    fn a_wrong_file_is_refused_with_a_reason() {
        assert!(UnwindTable::read_image(b"nothing").unwrap_err().contains("ELF"));
        assert!(UnwindTable::read(File::open("/dev/null").unwrap()).is_err());
    }

    #[test]
    fn damage_costs_rules_and_nothing_else() {
        let mut image = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let elf = ElfFile64::<Endianness, &[u8]>::parse(&image[..]).unwrap();
        let (from, size) = elf.section_by_name(".eh_frame").unwrap().file_range().unwrap();
        let middle = (from + size / 2) as usize;
        image[middle..middle + 4096].fill(0xff);
        let whole = UnwindTable::read(File::open(std::env::current_exe().unwrap()).unwrap()).unwrap();
        let left = UnwindTable::read_image(&image).unwrap();
        assert!(left.len() < whole.len() && left.len() > 100, "{} of {}", left.len(), whole.len());
    }
}
