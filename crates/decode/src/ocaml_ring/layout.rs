//! The two containers of ring words, and where in them each ring's words lie: the file that an OCaml program shares
//! by mapping, and the stream of frames that a recorder makes of it (`docs/formats/ring-stream.md`).
//!
//! Owns heads, sizes and the index of frames. Refuses to look at an event. No allocation here depends on a number in
//! a head, apart from one word for each frame that exists.

use super::captured::{FRAME_WORDS, HEAD_WORDS, MAGIC, NAME, kind};
use super::error::RingError;
use super::tally::RawLoss;
use super::words::first_words;
use crate::source::ReadAt;
use rtscope_model::LossKind;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// Size of the head of a captured stream, and of a ring file, in bytes.
const HEAD: u64 = 8 * HEAD_WORDS as u64;
/// Size of a frame's head, in bytes.
pub(super) const FRAME: u64 = 8 * FRAME_WORDS as u64;
/// Limit of rings in a runtime.
const RINGS_MAX: u64 = 4096;
/// Limit of the words of one ring: a runtime's file is smaller than 2 GiB.
const WORDS_MAX: u64 = 1 << 32;
/// Number of ids of user events: 13 bits.
const USER_IDS: u64 = 1 << 13;
/// Larger positions of words are damage: at 10 GB a second they take a millennium.
pub(super) const POSITION_MAX: u64 = 1 << 60;

/// How rings are laid out in their container.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Limit of rings in this container.
    pub(super) rings: u16,
    /// Size of one ring in words, a power of two.
    pub(super) words: u64,
    /// The container has names of user events; 5.0 has none.
    pub(super) has_names: bool,
    pub(super) container: Container,
}

#[derive(Clone, Debug)]
pub(super) enum Container {
    /// The file that the program maps.
    File {
        /// Offset of the first ring head, and size of one in bytes.
        heads: u64,
        head_bytes: u64,
        /// Offset of the first ring's words.
        data: u64,
        /// Offset of the names, if there are any.
        names: u64,
    },
    /// A stream of frames.
    Captured(Arc<Frames>),
}

/// The frames of a captured stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames {
    /// Offsets of each ring's frames, in order.
    pub(super) of: BTreeMap<u16, Arc<[u64]>>,
    /// Names of user events by id.
    pub(super) names: BTreeMap<u16, String>,
    /// The process ended normally.
    pub(super) ended: bool,
    /// Offset of the frame in which the stream ends.
    pub(super) cut: Option<u64>,
    pub(super) losses: Vec<RawLoss>,
}

/// Whether a file that starts with `bytes` (64, or all there are) holds rings.
pub(super) fn recognise(bytes: &[u8]) -> bool {
    let head: [u64; 8] = first_words(bytes);
    let [first, ..] = head;
    let ring = |head: [u64; 8]| {
        let [version, rings, head_bytes, bytes, words, ..] = head;
        version <= 1 && plausible(rings, head_bytes, bytes, words)
    };
    bytes.len() >= 8 && first == MAGIC || bytes.len() >= 40 && (ring(head) || ring(head.map(u64::swap_bytes)))
}

fn plausible(rings: u64, head_bytes: u64, bytes: u64, words: u64) -> bool {
    (1..=RINGS_MAX).contains(&rings)
        && (16..=4096).contains(&head_bytes)
        && words.is_power_of_two()
        && words <= WORDS_MAX
        && bytes == 8 * words
}

impl Layout {
    /// Reads the head of either container, and indexes a captured stream.
    ///
    /// # Errors
    /// [`RingError`]: nothing can be read.
    pub(super) fn read(source: &dyn ReadAt) -> Result<Layout, RingError> {
        let failed = |source| RingError::Io { position: 0, source };
        let size = source.size().map_err(failed)?;
        if size == 0 {
            return Err(RingError::Empty);
        }
        let mut bytes = [0; HEAD as usize];
        let count = source.read_full(&mut bytes, 0).map_err(failed)?;
        let bytes = bytes.get(..count).unwrap_or_default();
        let head: [u64; 8] = first_words(bytes);
        let whole = count as u64 == HEAD;
        match head {
            [MAGIC, ..] | [1, ..] if !whole => Err(RingError::HeadCut { position: size, head: HEAD }),
            [MAGIC, ..] => Layout::captured(source, head, size),
            [1, ..] => Layout::file(head, size),
            _ if whole && recognise(bytes) && head.map(u64::swap_bytes).starts_with(&[1]) => Err(RingError::BigEndian),
            _ if head.iter().all(|word| *word == 0) || recognise(bytes) => Err(RingError::NotReady),
            _ => Err(RingError::NotARing),
        }
    }

    fn file(head: [u64; 8], size: u64) -> Result<Layout, RingError> {
        let [_, rings, head_bytes, bytes, words, heads, data, names] = head;
        let damaged = |word: u64, what| Err(RingError::HeadDamaged { position: 8 * word, what });
        if rings == 0 {
            return Err(RingError::NotReady);
        }
        if rings > RINGS_MAX {
            return damaged(1, "more rings than a program can have domains");
        }
        if !plausible(rings, head_bytes, bytes, words) {
            return damaged(2, "impossible sizes of rings");
        }
        if heads < HEAD || heads % 8 != 0 || heads > size.max(HEAD) {
            return damaged(5, "an impossible place of the rings' heads");
        }
        let heads_end = heads + rings * head_bytes;
        if data < heads_end || data % 8 != 0 || data > heads_end + (1 << 20) {
            return damaged(6, "an impossible place of the rings");
        }
        if names != 0 && names != data + rings * bytes {
            return damaged(7, "an impossible place of the names");
        }
        if size < data {
            return Err(RingError::HeadCut { position: size, head: data });
        }
        let container = Container::File { heads, head_bytes, data, names };
        Ok(Layout { rings: rings as u16, words, has_names: names != 0, container })
    }

    fn captured(source: &dyn ReadAt, head: [u64; 8], size: u64) -> Result<Layout, RingError> {
        let [_, rings, words, has_names, ..] = head;
        let damaged = |word: u64, what| Err(RingError::HeadDamaged { position: 8 * word, what });
        if rings == 0 || rings > RINGS_MAX {
            return damaged(1, "an impossible number of rings");
        }
        if !words.is_power_of_two() || words > WORDS_MAX {
            return damaged(2, "an impossible size of rings");
        }
        if has_names > 1 {
            return damaged(3, "neither with names nor without");
        }
        let rings = rings as u16;
        let mut frames = Frames::default();
        frames.index(source, rings, size).map_err(|source| RingError::Io { position: HEAD, source })?;
        Ok(Layout { rings, words, has_names: has_names == 1, container: Container::Captured(Arc::new(frames)) })
    }
}

impl Frames {
    /// Goes from head to head, without reading the words themselves.
    fn index(&mut self, source: &dyn ReadAt, rings: u16, size: u64) -> io::Result<()> {
        let mut of: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
        let mut window = Window::default();
        let mut at = HEAD;
        let mut taken = None;
        while at < size {
            let Some([what, number, count, now]) = window.words(source, at)? else {
                self.lose(LossKind::Truncated, size - at, taken, None, "the stream ends inside a frame's head");
                break;
            };
            let (of_kind, slot) = (what & 0xff, what >> 16 & 0xffff);
            if what & !0xffff_00ff != 0 || count > WORDS_MAX {
                let note = "a damaged frame: what follows it cannot be found";
                self.lose(LossKind::Damaged, size - at, taken, None, note);
                break;
            }
            let end = at + FRAME + 8 * count;
            if end > size {
                self.cut = Some(at);
                self.lose(LossKind::Truncated, end - size, taken, None, "the stream ends inside a frame");
            }
            match of_kind {
                kind::WORDS | kind::PACKED if slot >= u64::from(rings) || number > POSITION_MAX => {
                    let note = "a frame of a ring that does not exist";
                    self.lose(LossKind::Damaged, 8 * count, taken, Some(now), note);
                }
                kind::WORDS | kind::PACKED if count > 0 => of.entry(slot as u16).or_default().push(at),
                kind::NAME if number < USER_IDS => {
                    let mut bytes = [0; NAME];
                    let want = bytes.len().min(8 * count as usize);
                    let got = source.read_full(bytes.get_mut(..want).unwrap_or_default(), at + FRAME)?;
                    self.names.extend(name(bytes.get(..got).unwrap_or_default()).map(|name| (number as u16, name)));
                }
                kind::ENDED => self.ended = true,
                _ => {}
            }
            (at, taken) = (end, Some(now));
        }
        self.of = of.into_iter().map(|(slot, frames)| (slot, frames.into())).collect();
        Ok(())
    }

    /// Words that were written between the reads of two frames.
    fn lose(&mut self, kind: LossKind, count: u64, from: Option<u64>, to: Option<u64>, note: &'static str) {
        let loss = RawLoss { kind, count, from, to, note };
        match self.losses.iter_mut().find(|known| known.kind == kind && known.note == note) {
            Some(known) => *known = known.and(&loss),
            None => self.losses.push(loss),
        }
    }
}

/// A name as the runtime stores it; `None`: none has been stored yet.
pub(super) fn name(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = bytes.get(..end).filter(|text| !text.is_empty())?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Frame heads lie close together where rings are quiet, so many are read at once.
#[derive(Default)]
struct Window {
    bytes: Vec<u8>,
    offset: u64,
}

impl Window {
    const BYTES: usize = 4096;

    fn words(&mut self, source: &dyn ReadAt, at: u64) -> io::Result<Option<[u64; 4]>> {
        let inside = |window: &Window| {
            let from = usize::try_from(at.checked_sub(window.offset)?).ok()?;
            window.bytes.get(from..from.checked_add(FRAME as usize)?).map(first_words)
        };
        if let Some(found) = inside(self) {
            return Ok(Some(found));
        }
        self.bytes.resize(Window::BYTES, 0);
        let count = source.read_full(&mut self.bytes, at)?;
        self.bytes.truncate(count);
        self.offset = at;
        Ok(inside(self))
    }
}
