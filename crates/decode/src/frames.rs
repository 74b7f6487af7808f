//! Streams in frames: content compressed with zstd in pieces of at most 1 MiB, each readable without the others.
//! A skippable frame before each gives both of its sizes, so that the whole is an ordinary `.zst` file. Owns
//! writing, finding and decoding frames. In place of damage the stream's own reader gets zeros, which are valid
//! in no format here.

use crate::ReadAt;
use memchr::memmem;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zstd::bulk::{Compressor, Decompressor};

/// Limit of the content of a frame, in bytes.
pub const CONTENT_MAX: usize = 1 << 20;
/// First bytes of every stream in frames: a skippable frame of eight bytes.
pub const MAGIC: [u8; 8] = [0x5e, 0x2a, 0x4d, 0x18, 8, 0, 0, 0];
/// Skippable frame: [`MAGIC`], then the sizes of the content and of the frame.
const HEAD: usize = 16;
/// The limit of the compression ratio. A recorder's streams stay below it; a hostile file of a few bytes could
/// otherwise keep a reader busy for days.
const RATIO_MAX: u64 = 4096;
/// Content per frame, in bytes: a reader of a capture holds one frame of each of its streams.
const PIECE: usize = 256 << 10;
/// Piece size for content so regular that it exceeds [`RATIO_MAX`]; smaller pieces do not.
const REGULAR_PIECE: usize = 64 << 10;
/// Window in which the next frame is searched after damage, in bytes.
const SEARCHED: usize = 64 << 10;
/// Limit of remembered places; at first there is one per [`MARK_EVERY`] bytes of content.
const MARKS_MAX: usize = 4096;
const MARK_EVERY: u64 = 16 << 20;

/// Compresses content into frames.
pub struct Packer {
    compressor: Compressor<'static>,
    frame: Vec<u8>,
    frames: Vec<u8>,
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Packer")
    }
}

impl Packer {
    /// A packer with the given zstd level.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(level: i32) -> io::Result<Packer> {
        let mut compressor = Compressor::new(level)?;
        compressor.include_checksum(true)?;
        Ok(Packer { compressor, frame: Vec::new(), frames: Vec::new() })
    }

    /// Returns frames that hold `content`, to be appended to a stream.
    ///
    /// # Errors
    /// Out of memory.
    pub fn pack(&mut self, content: &[u8]) -> io::Result<&[u8]> {
        self.frames.clear();
        for piece in content.chunks(PIECE) {
            if self.compress(piece)? {
                self.add(piece.len());
                continue;
            }
            for piece in piece.chunks(REGULAR_PIECE) {
                self.compress(piece)?;
                self.add(piece.len());
            }
        }
        Ok(&self.frames)
    }

    /// Compresses one frame. False: its ratio is above what a reader accepts.
    fn compress(&mut self, piece: &[u8]) -> io::Result<bool> {
        self.frame.clear();
        self.frame.reserve(zstd::zstd_safe::compress_bound(piece.len()));
        self.compressor.compress_to_buffer(piece, &mut self.frame)?;
        Ok(piece.len() as u64 <= RATIO_MAX * self.frame.len() as u64)
    }

    fn add(&mut self, content: usize) {
        self.frames.extend(MAGIC);
        // Both are at most slightly above `CONTENT_MAX`.
        self.frames.extend((content as u32).to_le_bytes());
        self.frames.extend((self.frame.len() as u32).to_le_bytes());
        self.frames.append(&mut self.frame);
    }
}

/// Where a piece begins: in the content and in the stream.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
struct FramePlace {
    content: u64,
    at: u64,
}

/// The piece at a place.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
struct Piece {
    begin: FramePlace,
    end: FramePlace,
    /// Size of the compressed frame; `None`: damage, which counts as content of its own length.
    packed: Option<usize>,
}

impl Piece {
    fn holds(&self, offset: u64) -> bool {
        (self.begin.content..self.end.content).contains(&offset)
    }
}

/// The content of a stream in frames, which may still be growing.
pub struct Frames {
    source: Arc<dyn ReadAt>,
    state: Mutex<FramesState>,
}

struct FramesState {
    decompressor: Decompressor<'static>,
    /// The end of the last whole frame found.
    end: FramePlace,
    /// Places before that, in order.
    marks: Vec<FramePlace>,
    mark_every: u64,
    /// The piece that was read last, and its content; empty for damage.
    held: Option<Piece>,
    content: Vec<u8>,
    packed: Vec<u8>,
}

impl Frames {
    /// The content of `source`.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(source: Arc<dyn ReadAt>) -> io::Result<Frames> {
        let state = FramesState {
            decompressor: Decompressor::new()?,
            end: FramePlace::default(),
            marks: vec![FramePlace::default()],
            mark_every: MARK_EVERY,
            held: None,
            content: Vec::new(),
            packed: Vec::new(),
        };
        Ok(Frames { source, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, FramesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The piece at `begin` in a stream of `size` bytes; `None`: there is no whole one.
    fn piece(&self, begin: FramePlace, size: u64) -> io::Result<Option<Piece>> {
        let mut head = [0; HEAD];
        if self.source.read_full(&mut head, begin.at)? < HEAD {
            return Ok(None);
        }
        if let Some((content, packed)) = sizes(&head) {
            let at = begin.at.saturating_add((HEAD + packed) as u64);
            if at > size {
                return Ok(None);
            }
            // Sizes that point elsewhere count as damage if they point past the next frame.
            let follows = self.source.read_full(&mut head, at)? < HEAD || head.starts_with(&MAGIC);
            if follows || self.next_head(begin.at + 1, at)?.is_none() {
                let end = FramePlace { content: begin.content.saturating_add(content), at };
                return Ok(Some(Piece { begin, end, packed: Some(packed) }));
            }
        }
        let next = self.next_head(begin.at + 1, size)?;
        Ok(next.map(|at| {
            let end = FramePlace { content: begin.content.saturating_add(at - begin.at), at };
            Piece { begin, end, packed: None }
        }))
    }

    /// Where the first frame between `from` and `size` begins.
    fn next_head(&self, mut from: u64, size: u64) -> io::Result<Option<u64>> {
        let mut window = vec![0; SEARCHED];
        while from < size {
            let most = usize::try_from(size - from).unwrap_or(SEARCHED).min(SEARCHED);
            let count = self.source.read_full(window.get_mut(..most).unwrap_or_default(), from)?;
            let seen = window.get(..count).unwrap_or_default();
            for found in memmem::find_iter(seen, &MAGIC) {
                let head = seen.get(found..found + HEAD).and_then(|head| <[u8; HEAD]>::try_from(head).ok());
                if head.is_some_and(|head| sizes(&head).is_some()) {
                    return Ok(Some(from + found as u64));
                }
            }
            if count < SEARCHED {
                return Ok(None);
            }
            from += (SEARCHED - HEAD + 1) as u64;
        }
        Ok(None)
    }

    /// The piece that holds `offset`, if it has been written.
    fn find(&self, state: &mut FramesState, offset: u64) -> io::Result<Option<Piece>> {
        let size = self.source.size()?;
        let mark = state.marks.partition_point(|mark| mark.content <= offset).saturating_sub(1);
        let mark = state.marks.get(mark).copied().unwrap_or_default();
        let mut begin = match state.held.map(|held| held.end) {
            Some(held) if held.content <= offset && held.content > mark.content => held,
            _ => mark,
        };
        while let Some(piece) = self.piece(begin, size)? {
            state.pass(piece.end);
            if piece.holds(offset) {
                return Ok(Some(piece));
            }
            begin = piece.end;
        }
        Ok(None)
    }

    /// Decodes `piece` and holds its content.
    fn hold(&self, state: &mut FramesState, piece: Piece) -> io::Result<()> {
        state.held = Some(piece);
        state.content.clear();
        let Some(packed) = piece.packed else { return Ok(()) };
        let FramesState { decompressor, content, packed: bytes, .. } = state;
        bytes.resize(packed, 0);
        let whole = self.source.read_full(bytes, piece.begin.at + HEAD as u64)? == packed;
        let size = usize::try_from(piece.end.content - piece.begin.content).unwrap_or(0).min(CONTENT_MAX);
        content.reserve_exact(size);
        let sound = whole && decompressor.decompress_to_buffer(bytes, content).is_ok_and(|count| count == size);
        if !sound {
            content.clear();
        }
        Ok(())
    }
}

impl FramesState {
    /// Remembers the end of a piece.
    fn pass(&mut self, place: FramePlace) {
        if place.content > self.end.content {
            self.end = place;
        }
        let last = self.marks.last().map_or(0, |mark| mark.content);
        if place.content.saturating_sub(last) < self.mark_every {
            return;
        }
        self.marks.push(place);
        if self.marks.len() > MARKS_MAX {
            let mut index = 0;
            self.marks.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.mark_every = self.mark_every.saturating_mul(2);
        }
    }
}

impl ReadAt for Frames {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.state();
        if !state.held.is_some_and(|held| held.holds(offset)) {
            let Some(piece) = self.find(&mut state, offset)? else { return Ok(0) };
            self.hold(&mut state, piece)?;
        }
        let Some(held) = state.held else { return Ok(0) };
        let rest = usize::try_from(held.end.content - offset).unwrap_or(usize::MAX);
        let count = rest.min(buffer.len());
        let from = usize::try_from(offset - held.begin.content).unwrap_or(usize::MAX);
        let buffer = buffer.get_mut(..count).unwrap_or_default();
        match state.content.get(from..).and_then(|content| content.get(..count)) {
            Some(content) => buffer.copy_from_slice(content),
            None => buffer.fill(0),
        }
        Ok(count)
    }

    fn size(&self) -> io::Result<u64> {
        let mut state = self.state();
        let size = self.source.size()?;
        while let Some(piece) = self.piece(state.end, size)? {
            state.pass(piece.end);
        }
        Ok(state.end.content)
    }

    fn left_over(&self) -> io::Result<u64> {
        self.size()?;
        Ok(self.source.size()?.saturating_sub(self.state().end.at))
    }
}

/// The sizes in a head: of the content and of the frame.
fn sizes(head: &[u8; HEAD]) -> Option<(u64, usize)> {
    let (magic, sizes) = head.split_at(MAGIC.len());
    let (content, packed) = sizes.split_at(4);
    let content = u64::from(u32::from_le_bytes(content.try_into().ok()?));
    let packed = u32::from_le_bytes(packed.try_into().ok()?);
    let packed_max = zstd::zstd_safe::compress_bound(CONTENT_MAX) as u64;
    let sound = magic == MAGIC
        && (1..=CONTENT_MAX as u64).contains(&content)
        && (1..=packed_max).contains(&u64::from(packed))
        && content <= RATIO_MAX * u64::from(packed);
    Some((content, usize::try_from(packed).ok()?)).filter(|_| sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Content in which each offset can be recognised.
    fn content(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|index| (index / 7 + index / 1013) as u8).collect()
    }

    fn packed(pieces: &[&[u8]]) -> Vec<u8> {
        let mut packer = Packer::new(1).unwrap();
        pieces.iter().flat_map(|piece| packer.pack(piece).unwrap().to_vec()).collect()
    }

    fn all(stream: Vec<u8>) -> (Vec<u8>, u64) {
        let frames = Frames::new(Arc::new(stream)).unwrap();
        let size = frames.size().unwrap();
        let mut bytes = vec![1; usize::try_from(size).unwrap() + 9];
        let count = frames.read_full(&mut bytes, 0).unwrap();
        assert_eq!(count as u64, size);
        bytes.truncate(count);
        (bytes, frames.left_over().unwrap())
    }

    #[test]
    fn what_was_packed_is_read_at_any_offset() {
        let whole = content(3 * CONTENT_MAX + 77);
        let stream = packed(&[&whole[..10], &whole[10..11], &[], &whole[11..]]);
        assert!(stream.len() < whole.len() / 2);
        assert!(all(stream.clone()) == (whole.clone(), 0));
        let frames = Frames::new(Arc::new(stream)).unwrap();
        for offset in [2 * CONTENT_MAX + 5, 0, 10, CONTENT_MAX, 11, 3 * CONTENT_MAX + 76, 9] {
            let mut bytes = [0; 100];
            let count = frames.read_full(&mut bytes, offset as u64).unwrap();
            assert_eq!(bytes[..count], whole[offset..whole.len().min(offset + 100)], "{offset}");
        }
        assert_eq!(frames.read_at(&mut [0; 9], whole.len() as u64).unwrap(), 0);
        assert_eq!(frames.read_at(&mut [0; 9], u64::MAX).unwrap(), 0);
    }

    #[test]
    fn a_stream_in_frames_is_a_file_of_zstd() {
        let whole = content(CONTENT_MAX + 1000);
        assert!(zstd::stream::decode_all(&packed(&[&whole])[..]).unwrap() == whole);
    }

    #[test]
    fn content_that_is_all_alike_is_packed_and_read() {
        let whole = vec![0; 2 * CONTENT_MAX + 1];
        assert!(all(packed(&[&whole])) == (whole, 0));
    }

    #[test]
    fn a_stream_that_grows_is_read_on() {
        let (whole, file) = (content(3000), tempfile::tempfile().unwrap());
        let write = |bytes: &[u8]| std::io::Write::write_all(&mut &file, bytes).unwrap();
        let frames = Frames::new(Arc::new(file.try_clone().unwrap())).unwrap();
        let (first, second) = (packed(&[&whole[..1000]]), packed(&[&whole[1000..]]));
        assert_eq!(frames.size().unwrap(), 0);
        write(&first);
        write(&second[..20]);
        assert_eq!((frames.size().unwrap(), frames.left_over().unwrap()), (1000, 20));
        assert_eq!(frames.read_at(&mut [0; 9], 1000).unwrap(), 0);
        write(&second[20..]);
        let mut bytes = vec![0; 2000];
        assert_eq!((frames.read_full(&mut bytes, 1000).unwrap(), &bytes[..]), (2000, &whole[1000..]));
    }

    #[test]
    fn damage_costs_its_own_frame_alone() {
        let whole = content(3000);
        let frames: Vec<_> = whole.chunks(1000).map(|piece| packed(&[piece])).collect();
        let stream = frames.concat();
        let second = frames[0].len()..frames[0].len() + frames[1].len();
        for at in second.clone() {
            let mut damaged = stream.clone();
            damaged[at] ^= 0x55;
            let (bytes, _) = all(damaged);
            assert!(bytes[..1000] == whole[..1000], "{at}");
            // If its sizes point past the end of the stream, the rest may still arrive.
            let Some(between) = bytes[1000..].strip_suffix(&whole[2000..]) else {
                assert!((12..16).contains(&(at - second.start)) && bytes.len() == 1000, "{at}");
                continue;
            };
            assert!(between.iter().all(|byte| *byte == 0) || *between == whole[1000..2000], "{at}");
        }
        for end in 0..stream.len() {
            let (bytes, left_over) = all(stream[..end].to_vec());
            assert!(whole.starts_with(&bytes) && bytes.len() % 1000 == 0 && left_over <= end as u64);
        }
    }

    #[test]
    fn no_frame_claims_more_than_frames_hold() {
        let head =
            |content: u32, packed: u32| [&MAGIC[..], &content.to_le_bytes(), &packed.to_le_bytes(), &[7; 40]].concat();
        for (content, packed) in [(0, 9), (9, 0), (CONTENT_MAX as u32 + 1, 40), (u32::MAX, u32::MAX), (1 << 20, 40)] {
            assert_eq!(all(head(content, packed)).0, [0; 0], "{content} {packed}");
        }
        // Valid sizes, but no frame.
        assert_eq!(all(head(9, 40)).0, [0; 9]);
    }

    #[test]
    fn places_are_remembered_in_bounded_number() {
        let mut state = Frames::new(Arc::new(Vec::new())).unwrap().state.into_inner().unwrap();
        for step in 1..100_000 {
            state.pass(FramePlace { content: step * MARK_EVERY, at: step });
        }
        assert!(state.marks.len() <= MARKS_MAX && state.marks.is_sorted_by_key(|mark| mark.content));
        assert_eq!((state.marks[0], state.end.at), (FramePlace::default(), 99_999));
    }
}
