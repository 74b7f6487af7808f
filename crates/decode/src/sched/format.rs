//! The kernel's description of a tracepoint in its `format` file: the offset of each field (which differs between
//! kernels) and the letters of a task's state. Owns parsing that text and reading fields by it; refuses to know the
//! meaning of tracepoints.

use rtscope_model::OffState;

#[derive(Clone, Eq, PartialEq, Debug)]
struct Field {
    name: String,
    place: Text,
}

/// A parsed `format` file.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct TracepointFormat {
    fields: Vec<Field>,
    states: Vec<(u64, char)>,
}

impl TracepointFormat {
    /// Parses the known lines and ignores the others.
    pub fn parse(text: &str) -> TracepointFormat {
        let states = text.find("print fmt:").map_or_else(Vec::new, |at| states(&text[at..]));
        TracepointFormat { fields: text.lines().filter_map(field).collect(), states }
    }

    /// The location of an integer of at most eight bytes.
    pub fn integer(&self, name: &str) -> Option<Integer> {
        let Text { offset, size, data_loc } = self.text(name)?;
        (!data_loc && matches!(size, 1 | 2 | 4 | 8)).then_some(Integer { offset, size })
    }

    /// The location of a text.
    pub fn text(&self, name: &str) -> Option<Text> {
        self.fields.iter().find(|field| field.name == name).map(|field| field.place)
    }

    /// The meaning of a `prev_state` of this kernel.
    pub fn off_state(&self, state: u64) -> OffState {
        // The lowest bit that has a letter. The bit for "was preempted" has none.
        let letter = self.states.iter().filter(|(bit, _)| state & bit != 0).min_by_key(|(bit, _)| *bit);
        match letter.map(|(_, letter)| *letter) {
            None => OffState::Runnable,
            // An idle kernel worker sleeps; it is only not counted as load.
            Some('S' | 'I') => OffState::Sleeping,
            Some('D') => OffState::Uninterruptible,
            Some('X' | 'x' | 'Z') => OffState::Dead,
            Some(_) => OffState::Other,
        }
    }

    /// Whether the text lists the letters of states.
    pub fn has_states(&self) -> bool {
        !self.states.is_empty()
    }
}

/// The location of an integer in a record.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Integer {
    offset: usize,
    size: usize,
}

impl Integer {
    /// Its value, zero-extended; `None`: past the end of the record.
    pub fn read(self, raw: &[u8]) -> Option<u64> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.size)?)?;
        let mut word = [0; 8];
        word.get_mut(..self.size)?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(word))
    }

    /// Its value as a pid (pids of the kernel are never negative).
    pub fn read_u32(self, raw: &[u8]) -> Option<u32> {
        self.read(raw).map(|value| value as u32)
    }
}

/// The location of a text in a record.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Text {
    offset: usize,
    size: usize,
    /// The location holds offset and length of the data, not the data.
    data_loc: bool,
}

impl Text {
    /// Its bytes up to the first NUL; `None`: past the end of the record.
    pub fn read(self, raw: &[u8]) -> Option<&[u8]> {
        let (offset, size) = match self.data_loc {
            false => (self.offset, self.size),
            true => {
                let place = Integer { offset: self.offset, size: 4 }.read_u32(raw)?;
                ((place & 0xffff) as usize, (place >> 16) as usize)
            }
        };
        let bytes = raw.get(offset..offset.checked_add(size)?)?;
        bytes.split(|byte| *byte == 0).next()
    }
}

/// `field:char prev_comm[16]; offset:8; size:16; signed:0;`, with tabs.
fn field(line: &str) -> Option<Field> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declaration = parts.next()?;
    let mut offset = None;
    let mut size = None;
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.parse().ok(),
            Some(("size", value)) => size = value.parse().ok(),
            _ => {}
        }
    }
    let name = declaration.rsplit([' ', '*']).next()?;
    let name = name.split('[').next().unwrap_or(name);
    let place = Text { offset: offset?, size: size?, data_loc: declaration.starts_with("__data_loc") };
    Some(Field { name: name.to_owned(), place })
}

/// All `{ 0x00000001, "S" }` of the print format.
fn states(print: &str) -> Vec<(u64, char)> {
    let mut found = Vec::new();
    for piece in print.split('{').skip(1) {
        let Some((value, rest)) = piece.split_once(',') else { continue };
        let value = value.trim();
        let value = match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => value.parse(),
        };
        let letter = rest.trim_start().strip_prefix('"').and_then(|text| text.chars().next());
        if let (Ok(value), Some(letter)) = (value, letter) {
            found.push((value, letter));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = include_str!("fixtures/sched_switch.6.18.format");
    const SWITCH_OLD: &str = include_str!("fixtures/sched_switch.3.10.format");
    const MIGRATE: &str = include_str!("fixtures/sched_migrate_task.6.18.format");
    const WAKING: &str = include_str!("fixtures/sched_waking.6.18.format");

    #[test]
    fn offsets_come_from_the_text() {
        let format = TracepointFormat::parse(SWITCH);
        assert_eq!(format.integer("prev_state"), Some(Integer { offset: 32, size: 8 }));
        assert_eq!(format.integer("next_pid"), Some(Integer { offset: 56, size: 4 }));
        assert_eq!(format.text("next_comm"), Some(Text { offset: 40, size: 16, data_loc: false }));
        assert_eq!(format.integer("next_comm"), None);
        let format = TracepointFormat::parse(MIGRATE);
        assert_eq!(format.text("comm"), Some(Text { offset: 8, size: 4, data_loc: true }));
        assert_eq!(format.integer("comm"), None);
        assert_eq!(format.integer("dest_cpu"), Some(Integer { offset: 24, size: 4 }));
        assert_eq!(TracepointFormat::parse(WAKING).integer("target_cpu"), Some(Integer { offset: 32, size: 4 }));
    }

    #[test]
    fn states_of_a_new_kernel() {
        let format = TracepointFormat::parse(SWITCH);
        assert!(format.has_states());
        for (state, expected) in [
            (0, OffState::Runnable),
            (0x100, OffState::Runnable),
            (1, OffState::Sleeping),
            (0x80, OffState::Sleeping),
            (2, OffState::Uninterruptible),
            (4, OffState::Other),
            (8, OffState::Other),
            (0x10, OffState::Dead),
            (0x20, OffState::Dead),
            (0x40, OffState::Other),
        ] {
            assert_eq!(format.off_state(state), expected, "{state:#x}");
        }
    }

    #[test]
    fn states_of_an_old_kernel_have_other_bits() {
        let format = TracepointFormat::parse(SWITCH_OLD);
        assert_eq!(format.off_state(1024), OffState::Runnable, "preempted");
        assert_eq!(format.off_state(16), OffState::Dead, "Z");
        assert_eq!(format.off_state(2 | 128), OffState::Uninterruptible, "D and killable");
    }

    #[test]
    fn texts_in_place_and_elsewhere() {
        let raw = [&12u32.to_le_bytes()[..], &(5u32 << 16 | 8).to_le_bytes(), b"ab\0cd"].concat();
        assert_eq!(Text { offset: 4, size: 4, data_loc: true }.read(&raw), Some(&b"ab"[..]));
        assert_eq!(Text { offset: 8, size: 2, data_loc: false }.read(&raw), Some(&b"ab"[..]));
        assert_eq!(Text { offset: 8, size: 16, data_loc: false }.read(&raw), None);
        assert_eq!(Text { offset: 12, size: 4, data_loc: true }.read(&raw), None);
        assert_eq!(Integer { offset: usize::MAX, size: 8 }.read(&raw), None);
    }

    #[test]
    fn nonsense_gives_an_empty_format() {
        for text in ["", "field:;offset:x;size:1;", "print fmt: { { 0x, \"", "field:int a;\toffset:8;"] {
            assert_eq!(TracepointFormat::parse(text), TracepointFormat::default(), "{text}");
        }
    }
}
