//! Locations of the blocks of one track and level: an index in blocks of its own, as high as needed, written after
//! what it points to. So writing holds one open block per height, and reading a tile touches few blocks.
//!
//! Owns blocks and the index; refuses to know what records mean.

use crate::LevelsError;
use crate::bytes::{Cursor, Short, put};
use crate::record::{RECORD_MAX, Record};
use rtscope_decode::ReadAt;
use std::io::{self, Write};

/// Limit of a block in bytes.
pub const BLOCK_MAX: u64 = 16 * 1024;
/// Size at which a block is written if there are very many tracks, in bytes.
const BLOCK_MIN: usize = 256;
/// Approximate limit of the open blocks of all tracks, in bytes; with their index it is twice that.
const OPEN_MAX: usize = 16 << 20;
/// Number of a track's levels that fill blocks at all.
const BUSY_LEVELS: usize = 16;
/// Limit of the height of an index.
const HEIGHT_MAX: u8 = 12;

/// The output, and the size of blocks.
pub struct Out<W> {
    out: W,
    at: u64,
    /// Size at which a block is full, in bytes.
    pub limit: usize,
}

impl<W: Write> Out<W> {
    pub fn new(out: W) -> Self {
        Out { out, at: 0, limit: BLOCK_MAX as usize }
    }

    /// Appends `bytes`; returns their offset.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<u64> {
        self.out.write_all(bytes)?;
        let at = self.at;
        self.at += bytes.len() as u64;
        Ok(at)
    }

    pub fn into_inner(self) -> W {
        self.out
    }
}

/// Size at which a block is full if there are `tracks` tracks, in bytes.
pub fn limit(tracks: usize) -> usize {
    let share = OPEN_MAX / (tracks.next_power_of_two().max(1) * BUSY_LEVELS);
    share.clamp(BLOCK_MIN, BLOCK_MAX as usize)
}

/// A written block and what it covers; the default precedes the first child of a block.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Child {
    pub offset: u64,
    pub length: u64,
    /// Start of the first record.
    pub from: u64,
    /// Latest end of a record.
    pub to: u64,
}

/// The top of a finished index.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Root {
    pub child: Child,
    /// 0: the block has records; else it has blocks of the height below.
    pub height: u8,
}

/// Blocks of one height whose parent has not been written yet.
#[derive(Default)]
struct Node {
    bytes: Vec<u8>,
    from: u64,
    to: u64,
    before: Child,
    count: u64,
}

impl Node {
    fn add(&mut self, child: Child) {
        if self.count == 0 {
            (self.from, self.to, self.before) = (child.from, child.to, Child::default());
        }
        put(&mut self.bytes, child.offset - (self.before.offset + self.before.length));
        put(&mut self.bytes, child.length);
        put(&mut self.bytes, child.from - self.before.from);
        put(&mut self.bytes, child.to - child.from);
        (self.to, self.before, self.count) = (self.to.max(child.to), child, self.count + 1);
    }

    fn write<W: Write>(&mut self, out: &mut Out<W>) -> io::Result<Child> {
        let (length, offset) = (self.bytes.len() as u64, out.write(&self.bytes)?);
        self.bytes.clear();
        self.count = 0;
        Ok(Child { offset, length, from: self.from, to: self.to })
    }
}

/// Records of one track and level while they are written.
pub struct Store<R: Record> {
    /// Buffer, of which `used` bytes are written.
    room: Vec<u8>,
    used: usize,
    before: R::Before,
    from: u64,
    to: u64,
    nodes: Vec<Node>,
}

impl<R: Record> Default for Store<R> {
    fn default() -> Self {
        Store { room: Vec::new(), used: 0, before: R::Before::default(), from: 0, to: 0, nodes: Vec::new() }
    }
}

impl<R: Record> Store<R> {
    /// Adds the next record.
    #[inline]
    pub fn put<W: Write>(&mut self, record: &R, out: &mut Out<W>) -> io::Result<()> {
        let (from, to) = record.span();
        if self.used == 0 {
            (self.before, self.from, self.to) = (R::Before::default(), from, to);
        }
        if self.used + RECORD_MAX > self.room.len() {
            let larger = (self.room.len() * 2).clamp(2 * RECORD_MAX, BLOCK_MAX as usize);
            self.room.resize(larger.max(self.used + RECORD_MAX), 0);
        }
        if let Some(room) = self.room.get_mut(self.used..).and_then(|room| room.first_chunk_mut()) {
            let mut short = Short::new(room);
            record.encode(&mut self.before, &mut short);
            self.used += short.length();
        }
        self.to = self.to.max(to);
        if self.used + RECORD_MAX > out.limit { self.flush(out) } else { Ok(()) }
    }

    #[cold]
    fn flush<W: Write>(&mut self, out: &mut Out<W>) -> io::Result<()> {
        let Some(bytes) = self.room.get(..self.used).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        let (length, offset) = (bytes.len() as u64, out.write(bytes)?);
        let child = Child { offset, length, from: self.from, to: self.to };
        self.used = 0;
        add(&mut self.nodes, child, out)
    }

    /// Writes blocks that exceed the limit, which has fallen.
    pub fn shrink<W: Write>(&mut self, out: &mut Out<W>) -> io::Result<()> {
        if self.used + RECORD_MAX > out.limit {
            self.flush(out)?;
        }
        self.room.truncate(out.limit.max(self.used));
        self.room.shrink_to(out.limit);
        self.nodes.iter_mut().filter(|node| node.count == 0).for_each(|node| node.bytes.shrink_to(out.limit));
        Ok(())
    }

    /// Writes what is open; `None`: there never was a record.
    pub fn finish<W: Write>(&mut self, out: &mut Out<W>) -> io::Result<Option<Root>> {
        self.flush(out)?;
        let mut height = 0;
        loop {
            let Some((node, above)) = self.nodes.split_first_mut() else { return Ok(None) };
            if node.count == 1 && above.iter().all(|node| node.count == 0) {
                return Ok(Some(Root { child: node.before, height }));
            }
            let mut above: Vec<Node> = self.nodes.drain(1..).collect();
            if let Some(node) = self.nodes.first_mut().filter(|node| node.count > 0) {
                let child = node.write(out)?;
                add(&mut above, child, out)?;
            }
            (self.nodes, height) = (above, height + 1);
        }
    }

    /// Memory used, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let nodes = self.nodes.iter().map(|node| node.bytes.capacity() + size_of::<Node>());
        self.room.capacity() + nodes.sum::<usize>()
    }
}

/// Adds a block to the lowest of `nodes`; full nodes are written and added to the next.
fn add<W: Write>(nodes: &mut Vec<Node>, child: Child, out: &mut Out<W>) -> io::Result<()> {
    let mut child = child;
    for node in nodes.iter_mut() {
        node.add(child);
        if node.bytes.len() + RECORD_MAX <= out.limit {
            return Ok(());
        }
        child = node.write(out)?;
    }
    let mut node = Node::default();
    node.add(child);
    nodes.push(node);
    Ok(())
}

/// The range of a walk.
#[derive(Copy, Clone)]
pub struct Window {
    pub first: u64,
    pub last: u64,
    /// Include the last record that begins before `first`.
    pub and_before: bool,
}

/// Receives blocks of records, each with its offset in the file.
pub type Take<'a> = &'a mut dyn FnMut(&[u8], u64) -> Result<(), LevelsError>;

/// Passes the blocks of records of `source` below `root` that overlap the window to `take`, in order, with their
/// offsets. Every block is read at most once, so a walk never reads more than the file has.
///
/// # Errors
/// Errors of `take`, and damage.
pub fn walk(source: &dyn ReadAt, root: &Root, window: Window, floor: u64, take: Take<'_>) -> Result<(), LevelsError> {
    let Child { offset: at, length, .. } = root.child;
    if root.height > HEIGHT_MAX {
        return Err(LevelsError::Damaged { at, what: "an index is too high" });
    }
    if length == 0 || length > BLOCK_MAX {
        return Err(LevelsError::Damaged { at, what: "a block has an impossible length" });
    }
    let bytes = read(source, at, length)?;
    if root.height == 0 {
        return take(&bytes, at);
    }
    for (floor, child) in children(&bytes, at, floor, window)? {
        walk(source, &Root { child, height: root.height - 1 }, window, floor, take)?;
    }
    Ok(())
}

/// Reads bytes of `source`; the caller has checked `length`.
pub fn read(source: &dyn ReadAt, at: u64, length: u64) -> Result<Vec<u8>, LevelsError> {
    let mut bytes = vec![0; length as usize];
    let count = source.read_full(&mut bytes, at).map_err(|error| LevelsError::Io(error.to_string()))?;
    if count < bytes.len() {
        return Err(LevelsError::Damaged { at: at + count as u64, what: "it ends too early" });
    }
    Ok(bytes)
}

/// The children of an index block at `at` that overlap the window, each with the offset after which it and everything
/// below it must lie.
fn children(bytes: &[u8], at: u64, floor: u64, window: Window) -> Result<Vec<(u64, Child)>, LevelsError> {
    let (mut cursor, mut before, mut floor) = (Cursor::new(bytes, at), Child::default(), floor);
    let (mut earlier, mut wanted) = (None, Vec::new());
    while !cursor.is_empty() {
        let wrong = cursor.damaged("an index points where it cannot");
        let sum = |a: u64, b: u64| a.checked_add(b).ok_or(wrong.clone());
        let offset = sum(before.offset + before.length, cursor.number()?)?;
        let length = cursor.number()?;
        let from = sum(before.from, cursor.number()?)?;
        let to = sum(from, cursor.number()?)?;
        // Everything below a block was written before it and after its neighbour.
        if offset < floor || sum(offset, length)? > at || length == 0 {
            return Err(wrong);
        }
        before = Child { offset, length, from, to };
        if from > window.last {
            break;
        }
        if to >= window.first {
            wanted.push((floor, before));
        } else {
            earlier = Some((floor, before));
        }
        floor = offset + length;
    }
    let covered = wanted.first().is_some_and(|(_, child)| child.from < window.first);
    if let Some(earlier) = earlier.filter(|_| window.and_before && !covered) {
        wanted.insert(0, earlier);
    }
    Ok(wanted)
}
