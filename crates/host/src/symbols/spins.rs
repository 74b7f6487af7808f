//! Where a runtime function spins: the loops around the instruction that hints this to a processor. Compilers inline
//! such a loop into any function that waits, so its name alone does not distinguish waiting from work. Owns finding
//! the loops in x86-64 code; refuses to decode any more of it.

use std::ops::Range;

/// Encoding of the instruction `pause`.
const PAUSE: [u8; 2] = [0xf3, 0x90];
/// Most bytes from `pause` to the ends of its loop: a load, a comparison, a count and a jump.
const REACH: usize = 64;

/// The loops in `code`, in order and disjoint.
pub fn loops(code: &[u8]) -> Vec<Range<usize>> {
    let mut loops: Vec<Range<usize>> = Vec::new();
    for at in memchr::memmem::find_iter(code, &PAUSE) {
        let Some(found) = around(code, at) else { continue };
        match loops.last_mut().filter(|last| last.end >= found.start) {
            Some(last) => last.end = last.end.max(found.end),
            None => loops.push(found),
        }
    }
    loops
}

/// The loop around the `pause` at `at`: up to the jump that leads back to it, or over it.
fn around(code: &[u8], at: usize) -> Option<Range<usize>> {
    let jumps = || (at + 2..(at + 2 + REACH).min(code.len())).filter_map(|from| jump(code, from));
    let back = |(target, end): (usize, usize)| target..end;
    let to_it = jumps().find(|(target, _)| *target == at);
    to_it.or_else(|| jumps().find(|(target, _)| *target < at && *target + REACH >= at)).map(back)
}

/// The target of a backward jump, if there is one at `from`, and where the jump ends.
fn jump(code: &[u8], from: usize) -> Option<(usize, usize)> {
    let (distance, end) = match *code.get(from..)? {
        [0x70..=0x7f | 0xeb, distance, ..] => (i64::from(distance as i8), from + 2),
        [0x0f, 0x80..=0x8f, a, b, c, d, ..] => (i64::from(i32::from_le_bytes([a, b, c, d])), from + 6),
        [0xe9, a, b, c, d, ..] => (i64::from(i32::from_le_bytes([a, b, c, d])), from + 5),
        _ => return None,
    };
    let target = usize::try_from(i64::try_from(end).ok()?.checked_add(distance)?).ok()?;
    (target < from).then_some((target, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &[u8]) -> Vec<(usize, usize)> {
        loops(code).into_iter().map(|found| (found.start, found.end)).collect()
    }

    #[test]
    fn loops_around_a_pause_are_found() {
        // pause; mov; cmp $3, %rax; jne back to pause
        let by_jump_to_it = [0x90, 0xf3, 0x90, 0x48, 0x8b, 0x40, 0x40, 0x48, 0x83, 0xf8, 0x03, 0x75, 0xf4, 0xc3];
        assert_eq!(found(&by_jump_to_it), [(1, 13)]);
        // mov (%rdi), %eax; test; je out; pause; jmp to the load
        let by_jump_over_it = [0xc3, 0x8b, 0x07, 0x85, 0xc0, 0x74, 0x04, 0xf3, 0x90, 0xeb, 0xf6, 0xc3];
        assert_eq!(found(&by_jump_over_it), [(1, 11)]);
        // pause; far jump back, with a condition and without
        assert_eq!(found(&[0xf3, 0x90, 0x0f, 0x85, 0xf8, 0xff, 0xff, 0xff]), [(0, 8)]);
        assert_eq!(found(&[0xf3, 0x90, 0xe9, 0xf9, 0xff, 0xff, 0xff]), [(0, 7)]);
    }

    #[test]
    fn what_jumps_on_or_far_away_is_no_loop() {
        assert!(loops(&[0xf3, 0x90, 0x75, 0x10, 0xc3]).is_empty());
        assert!(loops(&[0xf3, 0x90]).is_empty());
        assert!(loops(&[0x75, 0xfe, 0x90]).is_empty());
        let mut far = vec![0x90; 200];
        far.extend([0xf3, 0x90, 0xe9, 0x40, 0xff, 0xff, 0xff]);
        assert!(loops(&far).is_empty());
    }
}
