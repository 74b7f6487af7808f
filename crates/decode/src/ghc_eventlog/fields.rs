//! Reads big-endian fields from a payload. Every read is checked; a payload that is too short gives `None`,
//! never a panic.

/// A cursor over one payload.
#[derive(Copy, Clone, Debug)]
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn new(payload: &'a [u8]) -> Self {
        Fields(payload)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    /// Reads a text up to a NUL, and the NUL.
    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(0, self.0)?;
        let (text, rest) = (self.0.get(..end)?, self.0.get(end + 1..)?);
        self.0 = rest;
        Some(text)
    }

    /// Reads a text up to a NUL or the end of the payload.
    pub(super) fn last_text(&mut self) -> &'a [u8] {
        self.text().unwrap_or_else(|| self.rest())
    }

    /// The rest of the payload.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}
