//! Walks from registers and a copy of the stack's top to return addresses. Owns the walk and its bounds: whatever the
//! copy holds, each frame moves one step up the stack, and the walk ends. Refuses to know where a rule comes from.

use crate::kernel::records::long;

/// Frames per walk: from a leaf function of a collector to its collection there are fewer than ten.
pub const FRAMES_MAX: usize = 32;

/// A thread's user-space registers, as far as a walk needs them.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Registers {
    /// Instruction pointer: the next instruction.
    pub ip: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer, if the code keeps one.
    pub bp: u64,
}

/// How a frame's caller is found from one place in the code.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Rule {
    /// The outermost frame: it has no caller.
    End,
    /// The return address lies in the word below the frame's end.
    Frame {
        /// Whether the frame's end is counted from the frame base, else from the stack pointer.
        from_base: bool,
        /// Bytes from there to the frame's end.
        size: i32,
        /// Where the caller's base was saved, in bytes from the frame's end; `None`: it is still in the register.
        base_at: Option<i32>,
    },
}

/// Return addresses, innermost first. `stack` is memory from `registers.sp` on; `rule` gives the rule of an address.
pub fn walk(registers: Registers, stack: &[u8], mut rule: impl FnMut(u64) -> Option<Rule>) -> Vec<u64> {
    let word = |address: u64| {
        let at = usize::try_from(address.checked_sub(registers.sp)?).ok()?;
        long(stack, at)
    };
    let (mut now, mut callers) = (registers, Vec::new());
    while callers.len() < FRAMES_MAX {
        // A return address may lie past the end of a function that calls one that never returns.
        let at = if callers.is_empty() { now.ip } else { now.ip.saturating_sub(1) };
        let Some(Rule::Frame { from_base, size, base_at }) = rule(at) else { break };
        let end = if from_base { now.bp } else { now.sp }.checked_add_signed(i64::from(size));
        // The stack pointer rises with every frame: no walk is longer than the copy.
        let Some(end) = end.filter(|end| *end > now.sp) else { break };
        let Some(ip) = end.checked_sub(8).and_then(word).filter(|ip| *ip != 0) else { break };
        let kept = base_at.map(|at| end.checked_add_signed(i64::from(at)).and_then(word));
        now = Registers { ip, sp: end, bp: kept.unwrap_or(Some(now.bp)).unwrap_or(0) };
        callers.push(ip);
    }
    callers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn frame(from_base: bool, size: i32, base_at: Option<i32>) -> Option<Rule> {
        Some(Rule::Frame { from_base, size, base_at })
    }

    #[test]
    fn callers_are_found_over_the_stacks_end_and_the_frames_base() {
        // leaf: return address at sp. b: saves the base, has two words. c: by the base.
        let words = stack(&[0xb1, 7, 0x7fff_0038, 0xc1, 1, 2, 3, 0xd1, 0xe1]);
        let registers = Registers { ip: 0xa0, sp: 0x7fff_0000, bp: 99 };
        let rule = |ip| match ip {
            0xa0 => frame(false, 8, None),
            0xb0 => frame(false, 24, Some(-16)),
            0xc0 => frame(true, 8, None),
            0xd0 => frame(false, 8, None),
            _ => Some(Rule::End),
        };
        assert_eq!(walk(registers, &words, rule), [0xb1, 0xc1, 0xd1, 0xe1]);
        assert_eq!(walk(registers, &words[..8], rule), [0xb1], "behind the copy nothing is known");
        assert!(walk(registers, &[], rule).is_empty());
        assert!(walk(registers, &words, |_| None).is_empty());
    }

    #[test]
    fn a_walk_never_stands_still_and_ends() {
        let words = stack(&vec![0x10; 1000]);
        let registers = Registers { ip: 1, sp: 0x1000, bp: 0x1000 };
        for size in [0, -8, i32::MIN] {
            assert!(walk(registers, &words, |_| frame(false, size, None)).is_empty());
        }
        assert_eq!(walk(registers, &words, |_| frame(false, 8, None)).len(), FRAMES_MAX);
        assert_eq!(walk(registers, &words, |_| frame(true, 16, Some(i32::MIN))), [0x10]);
        let top = Registers { ip: 1, sp: u64::MAX - 3, bp: u64::MAX };
        assert!(walk(top, &words, |_| frame(true, i32::MAX, None)).is_empty());
    }
}
