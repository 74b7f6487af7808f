//! Builds logs event by event, for tests of this crate and of crates that use it (feature `testing`). Writes what a
//! runtime would, and on request invalid data: wrong sizes, undeclared tags, missing ends.

use super::index::MARKER;
use super::tags::{self, END_OF_DATA, TAGS, VARIABLE};

/// One field of a payload, written big-endian.
#[derive(Copy, Clone, Debug)]
#[allow(missing_docs)]
pub enum Field<'a> {
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    /// A NUL-terminated text.
    Text(&'a str),
    /// Raw bytes.
    Bytes(&'a [u8]),
}

fn put(fields: &[Field<'_>], bytes: &mut Vec<u8>) {
    for field in fields {
        match *field {
            Field::U8(value) => bytes.push(value),
            Field::U16(value) => bytes.extend(value.to_be_bytes()),
            Field::U32(value) => bytes.extend(value.to_be_bytes()),
            Field::U64(value) => bytes.extend(value.to_be_bytes()),
            Field::Text(text) => bytes.extend(text.bytes().chain([0])),
            Field::Bytes(raw) => bytes.extend(raw),
        }
    }
}

/// A log under construction: header, then blocks.
#[derive(Clone, Debug)]
pub struct LogBuilder {
    sizes: Vec<(u16, i32)>,
    bytes: Vec<u8>,
    data: usize,
}

impl Default for LogBuilder {
    fn default() -> Self {
        LogBuilder::with_types(TAGS.iter().map(|info| (info.tag, info.sizes.first().copied().unwrap_or(VARIABLE))))
    }
}

impl LogBuilder {
    /// A log that declares every known type, with its newest size.
    pub fn new() -> LogBuilder {
        LogBuilder::default()
    }

    /// A log that declares these types; size -1: variable.
    pub fn with_types(types: impl IntoIterator<Item = (u16, i32)>) -> LogBuilder {
        let sizes: Vec<(u16, i32)> = types.into_iter().collect();
        let mut bytes = b"hdrbhetb".to_vec();
        for (tag, size) in &sizes {
            bytes.extend(b"etb\0");
            bytes.extend(tag.to_be_bytes());
            bytes.extend((*size as i16).to_be_bytes());
            let name = tags::info(*tag).map_or("some type", |info| info.name);
            bytes.extend((name.len() as u32).to_be_bytes());
            bytes.extend(name.as_bytes());
            bytes.extend(0u32.to_be_bytes());
            bytes.extend(b"ete\0");
        }
        bytes.extend(b"hetehdredatb");
        LogBuilder { sizes, data: bytes.len(), bytes }
    }

    /// Adds a block that was open in `[t_open, t_end]`.
    pub fn block(mut self, cap: u16, t_open: u64, t_end: u64, fill: impl FnOnce(&mut BlockBuilder)) -> LogBuilder {
        let events = self.events(fill);
        let size = (events.len() + MARKER) as u32;
        self.bytes.extend(marker(cap, t_open, size, t_end));
        self.bytes.extend(events);
        self
    }

    /// Adds the first block that a runtime writes for the global buffer.
    pub fn preamble(self, pid: u32) -> LogBuilder {
        self.block(u16::MAX, 10, 20, |block| {
            block
                .event(11, tags::WALL_CLOCK_TIME, &[Field::U32(1), Field::U64(1_700_000_000), Field::U32(5)])
                .event(12, tags::OSPROCESS_PID, &[Field::U32(0), Field::U32(pid)])
                .event(13, tags::RTS_IDENTIFIER, &[Field::U32(0), Field::Bytes(b"GHC-9.6.6 rts_thr")])
                .event(14, tags::PROGRAM_ARGS, &[Field::U32(0), Field::Text("prog"), Field::Text("+RTS")]);
        })
    }

    /// The bytes of an unflushed buffer of this log's program.
    pub fn unflushed(&self, cap: u16, t_open: u64, fill: impl FnOnce(&mut BlockBuilder)) -> Vec<u8> {
        let mut bytes = marker(cap, t_open, 0, 0);
        bytes.extend(self.events(fill));
        bytes
    }

    /// Adds raw bytes.
    pub fn raw(mut self, bytes: &[u8]) -> LogBuilder {
        self.bytes.extend(bytes);
        self
    }

    /// Adds the end-of-data mark and returns the log.
    pub fn end(self) -> Vec<u8> {
        self.raw(&END_OF_DATA.to_be_bytes()).bytes
    }

    /// Returns the log without an end mark, as of a program that was killed.
    pub fn cut(self) -> Vec<u8> {
        self.bytes
    }

    /// Size so far, in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether only the header has been written.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == self.data
    }

    fn events(&self, fill: impl FnOnce(&mut BlockBuilder)) -> Vec<u8> {
        let mut block = BlockBuilder { sizes: self.sizes.clone(), bytes: Vec::new() };
        fill(&mut block);
        block.bytes
    }
}

fn marker(cap: u16, t_open: u64, size: u32, t_end: u64) -> Vec<u8> {
    let mut bytes = tags::BLOCK_MARKER.to_be_bytes().to_vec();
    put(&[Field::U64(t_open), Field::U32(size), Field::U64(t_end), Field::U16(cap)], &mut bytes);
    bytes
}

/// The events of a block.
#[derive(Clone, Debug)]
pub struct BlockBuilder {
    sizes: Vec<(u16, i32)>,
    bytes: Vec<u8>,
}

impl BlockBuilder {
    /// Adds an event. One of a declared fixed size is padded or truncated to it.
    pub fn event(&mut self, time: u64, tag: u16, fields: &[Field<'_>]) -> &mut Self {
        let mut payload = Vec::new();
        put(fields, &mut payload);
        let size = self.sizes.iter().find(|(of, _)| *of == tag).map_or(VARIABLE, |(_, size)| *size);
        let length = payload.len() as u16;
        put(&[Field::U16(tag), Field::U64(time)], &mut self.bytes);
        if size == VARIABLE {
            put(&[Field::U16(length)], &mut self.bytes);
        } else {
            payload.resize(size as usize, 0);
        }
        self.bytes.extend(payload);
        self
    }

    /// Adds raw bytes.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    /// A thread runs.
    pub fn run(&mut self, time: u64, thread: u32) -> &mut Self {
        self.event(time, tags::RUN_THREAD, &[Field::U32(thread)])
    }

    /// The thread stops, with GHC's number for the status.
    pub fn stop(&mut self, time: u64, thread: u32, status: u16) -> &mut Self {
        self.event(time, tags::STOP_THREAD, &[Field::U32(thread), Field::U16(status), Field::U32(0)])
    }

    /// An event without payload.
    pub fn mark(&mut self, time: u64, tag: u16) -> &mut Self {
        self.event(time, tag, &[])
    }

    /// The figures of a collection.
    pub fn gc_stats(&mut self, time: u64, generation: u16, copied: u64, threads: u32) -> &mut Self {
        let fields = [
            Field::U32(0),
            Field::U16(generation),
            Field::U64(copied),
            Field::U64(0),
            Field::U64(0),
            Field::U32(threads),
            Field::U64(copied),
            Field::U64(copied),
            Field::U64(0),
        ];
        self.event(time, tags::GC_STATS_GHC, &fields)
    }

    /// A heap figure (tags 49 to 51 and 91).
    pub fn heap(&mut self, time: u64, tag: u16, bytes: u64) -> &mut Self {
        self.event(time, tag, &[Field::U32(0), Field::U64(bytes)])
    }

    /// A kernel thread serves a capability.
    pub fn task_create(&mut self, time: u64, task: u64, cap: u16, tid: u64) -> &mut Self {
        self.event(time, tags::TASK_CREATE, &[Field::U64(task), Field::U16(cap), Field::U64(tid)])
    }

    /// Size so far, in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are no events yet.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}
