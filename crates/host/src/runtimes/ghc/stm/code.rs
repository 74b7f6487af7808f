//! Finds where a capability keeps its tokens for attempts, in the machine code that takes one
//! (`stmStartTransaction` on x86-64). Owns the expected form of that code; refuses to guess at
//! any other form.
//!
//! A capability without tokens is given 1024, under a lock, and the total is counted. So on
//! GHC 9.0 to 9.10 that code
//!
//! - takes the lock: `lock cmpxchg` of `token_locked`;
//! - loads `max_commits` and stores it again;
//! - stores the number 1024 into 32 bits of the capability, at the offset that is searched for;
//! - loads these 32 bits and stores them again, one less.
//!
//! All of it has to be there, with the addresses of the symbols and one offset throughout.

/// Tokens that a capability is given at a time.
pub(super) const TOKENS: u64 = 1024;
/// A capability begins with its registers, and is no longer than this.
const OFFSETS: std::ops::Range<u32> = 0x100..0x4000;
/// Addressing modes in an operand's byte: a 32-bit offset from a register, and from the next instruction.
const FROM_REGISTER: u8 = 0b10;
const STACK: u8 = 0b100;
const FROM_HERE: u8 = 0b101;

/// The offset of the tokens, from the `code` at `address`; `None` if the code is not as expected.
pub(super) fn tokens_at(code: &[u8], address: u64, max_commits: u64, token_locked: u64) -> Option<u32> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let at = |opcode: &'static [u8]| Operands { code, address, opcode, next: 0 };
    let given = at(&[0xc7]).filter(|operand| u64::from(operand.immediate) == TOKENS && !operand.wide);
    // The distance to `max_commits`, followed by the addition of 1024, can look like such an instruction.
    let mut given = given.filter_map(|operand| operand.offset).filter(|offset| OFFSETS.contains(offset));
    let offset = given.next()?;
    let only = given.all(|other| other == offset);
    let uses = |opcode| at(opcode).any(|operand| !operand.wide && operand.offset == Some(offset));
    let names = |opcode, symbol: u64| at(opcode).any(|operand| operand.wide && operand.target == Some(symbol));
    let known = only
        && offset.is_multiple_of(4)
        && uses(&[0x8b])
        && uses(&[0x89])
        && names(&[0x8b], max_commits)
        && names(&[0x89], max_commits)
        && names(&[0x0f, 0xb1], token_locked);
    known.then_some(offset)
}

/// A possible memory operand of an instruction.
struct Operand {
    /// The operand has 64 bits.
    wide: bool,
    /// Offset from a register.
    offset: Option<u32>,
    /// Address of a variable.
    target: Option<u64>,
    /// The 32 bits after an offset from a register.
    immediate: u32,
}

/// Places that decode as an instruction with this opcode. Where instructions begin is not known:
/// some of these are not instructions, so one such place alone proves nothing.
struct Operands<'c> {
    code: &'c [u8],
    address: u64,
    opcode: &'static [u8],
    next: usize,
}

impl Operands<'_> {
    fn operand(&self, at: usize) -> Option<Operand> {
        let rest = self.code.get(at..)?.strip_prefix(self.opcode)?;
        let (mode, rest) = rest.split_first()?;
        let (bytes, rest) = rest.split_first_chunk::<4>()?;
        let wide = at.checked_sub(1).and_then(|before| self.code.get(before)).is_some_and(|rex| rex & 0xf8 == 0x48);
        let (form, register) = (mode >> 6, mode & 0b111);
        let offset = (form == FROM_REGISTER && register != STACK).then(|| u32::from_le_bytes(*bytes));
        let end = at.checked_add(self.opcode.len())?.checked_add(1 + 4)?;
        let target = (form == 0 && register == FROM_HERE).then(|| {
            let distance = i64::from(i32::from_le_bytes(*bytes));
            self.address.wrapping_add(end as u64).wrapping_add_signed(distance)
        });
        let immediate = rest.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        (offset.is_some() || target.is_some()).then_some(Operand { wide, offset, target, immediate })
    }
}

impl Iterator for Operands<'_> {
    type Item = Operand;

    fn next(&mut self) -> Option<Operand> {
        while self.next < self.code.len() {
            let at = self.next;
            self.next += 1;
            if let Some(operand) = self.operand(at) {
                return Some(operand);
            }
        }
        None
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::*;

    const ADDRESS: u64 = 0x40_1000;
    const GIVEN: u64 = 0x60_2008;
    const LOCKED: u64 = 0x60_2000;

    /// Machine code under construction.
    #[derive(Default)]
    struct Code(Vec<u8>);

    impl Code {
        fn bytes(mut self, bytes: &[u8]) -> Code {
            self.0.extend(bytes);
            self
        }

        fn of_variable(self, opcode: &[u8], variable: u64) -> Code {
            let code = self.bytes(opcode).bytes(&[0x05]);
            let end = ADDRESS + code.0.len() as u64 + 4;
            code.bytes(&(variable.wrapping_sub(end) as u32).to_le_bytes())
        }

        fn of_capability(self, opcode: &[u8], offset: u32) -> Code {
            self.bytes(opcode).bytes(&[0x87]).bytes(&offset.to_le_bytes())
        }
    }

    /// A function that takes a token, from parts that a test can change.
    fn takes(offset: u32, stored: u32, given: u32, variable: u64, lock: u64) -> Vec<u8> {
        Code::default()
            .bytes(&[0x55])
            .of_capability(&[0x8b], offset)
            .bytes(&[0x85, 0xc0, 0x74, 0x10])
            .of_capability(&[0x89], stored)
            .of_capability(&[0x48, 0x8b], 0x558)
            .of_variable(&[0xf0, 0x48, 0x0f, 0xb1], lock)
            .of_variable(&[0x48, 0x8b], variable)
            .bytes(&[0x48, 0x05, 0, 4, 0, 0])
            .of_variable(&[0x48, 0x89], variable)
            .of_capability(&[0xc7], offset)
            .bytes(&given.to_le_bytes())
            .bytes(&[0xc3; 8])
            .0
    }

    fn found(code: &[u8]) -> Option<u32> {
        tokens_at(code, ADDRESS, GIVEN, LOCKED)
    }

    #[test]
    fn the_offset_is_where_tokens_are_put_and_taken() {
        assert_eq!(found(&takes(0x560, 0x560, 1024, GIVEN, LOCKED)), Some(0x560));
        assert_eq!(found(&takes(0x570, 0x570, 1024, GIVEN, LOCKED)), Some(0x570));
    }

    /// As GHC 9.0 compiled one program: 0x882c7 is the distance from there to the variable.
    #[test]
    fn a_distance_that_reads_as_an_instruction_is_none() {
        let load = |lock| takes(0x560, 0x560, 1024, GIVEN, lock).windows(4).position(|four| four == [0x48, 0x05, 0, 4]);
        let end = ADDRESS + load(LOCKED).unwrap() as u64;
        let variable = end + 0x8_82c7;
        let code = takes(0x560, 0x560, 1024, variable, LOCKED);
        assert!(code.windows(6).any(|six| six == [0xc7, 0x82, 0x08, 0, 0x48, 0x05]));
        assert_eq!(tokens_at(&code, ADDRESS, variable, LOCKED), Some(0x560));
    }

    #[test]
    fn code_that_lacks_any_part_is_not_guessed_at() {
        for (what, code) in [
            ("another store", takes(0x560, 0x564, 1024, GIVEN, LOCKED)),
            ("another number", takes(0x560, 0x560, 512, GIVEN, LOCKED)),
            ("another variable", takes(0x560, 0x560, 1024, GIVEN + 8, LOCKED)),
            ("another lock", takes(0x560, 0x560, 1024, GIVEN, LOCKED + 16)),
            ("an offset that is none", takes(0x20, 0x20, 1024, GIVEN, LOCKED)),
            ("an odd offset", takes(0x561, 0x561, 1024, GIVEN, LOCKED)),
            ("nothing", Vec::new()),
        ] {
            assert_eq!(found(&code), None, "{what}");
        }
        let whole = takes(0x560, 0x560, 1024, GIVEN, LOCKED);
        for end in 0..whole.len() - 8 {
            assert_eq!(found(&whole[..end]), None, "{end}");
        }
        // Two places that are given as many tokens, or one of 64 bits.
        let twice = Code(whole.clone()).of_capability(&[0xc7], 0x600).bytes(&1024_u32.to_le_bytes()).0;
        assert_eq!(found(&twice), None);
        let wide: Vec<u8> = Code::default().of_capability(&[0x48, 0xc7], 0x560).bytes(&1024_u32.to_le_bytes()).0;
        assert_eq!(found(&wide), None);
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        let mut state = 1_u32;
        for length in 0..600 {
            let mut byte = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                [0x8b, 0x89, 0xc7, 0x48, 0x87, 0x05, 0x0f, 0xb1][(state >> 24) as usize % 8]
            };
            let bytes: Vec<u8> = (0..length).map(|_| byte()).collect();
            assert_eq!(found(&bytes), None);
        }
    }
}
