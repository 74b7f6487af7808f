//! Where one perf record ends and the next begins. Owns that; refuses to look into one.

/// The record that `bytes` begin with, if it is whole, and what lies behind it.
pub fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, size) = header(bytes)?;
    bytes.split_at_checked(size)
}

/// Kind and size of the record that `bytes` begin with, where they can be one's.
pub fn header(bytes: &[u8]) -> Option<(u32, usize)> {
    let (kind, rest) = bytes.split_first_chunk::<4>()?;
    let (_misc, rest) = rest.split_first_chunk::<2>()?;
    let (size, _) = rest.split_first_chunk::<2>()?;
    let size = usize::from(u16::from_ne_bytes(*size));
    (size >= 8).then_some((u32::from_ne_bytes(*kind), size))
}
