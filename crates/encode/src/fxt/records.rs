//! Encodes records of the format. Owns their layout and the tables of strings and threads. The format bounds these
//! tables: the oldest entry is replaced by a new one.

use rtscope_decode::fxt::shape::{Name, Shape};
use rtscope_decode::fxt::{EventKind, MAGIC, OBJECT_THREAD, Value, kind};
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;
use std::io::{self, Write};

/// Limits of the indices of strings and of threads, which count from 1.
const STRINGS: u16 = 0x7fff;
const THREADS: u16 = 0xff;
/// Limit of a text in bytes, so that a record with many texts does not exceed its size.
const TEXT_MAX: usize = 1_500;
/// Limit of a blob's bytes in one record.
const BLOB_PART: usize = 30_000;

/// Arguments of an event.
pub(super) type Args<'a> = &'a [(&'static str, Value<'a>)];

pub(super) struct Records<W> {
    out: W,
    content: Vec<u8>,
    strings: IndexTable<Box<[u8]>, STRINGS>,
    threads: IndexTable<(u64, u64), THREADS>,
}

/// Entries with an index, from 1 to `MAX`.
struct IndexTable<K, const MAX: u16> {
    places: HashMap<K, u16>,
    keys: Vec<K>,
    last: u16,
}

impl<K: Clone + Eq + Hash, const MAX: u16> IndexTable<K, MAX> {
    fn new() -> Self {
        IndexTable { places: HashMap::new(), keys: Vec::new(), last: 0 }
    }

    /// Adds `key` and returns its index, which may replace the oldest entry.
    fn add(&mut self, key: K) -> u16 {
        self.last = self.last % MAX + 1;
        match self.keys.get_mut(usize::from(self.last) - 1) {
            Some(old) => _ = self.places.remove(&std::mem::replace(old, key.clone())),
            None => self.keys.push(key.clone()),
        }
        self.places.insert(key, self.last);
        self.last
    }
}

impl<W: Write> Records<W> {
    /// Begins a trace: magic number, provider, clock in nanoseconds.
    pub fn new(out: W, provider: &str) -> io::Result<Records<W>> {
        let mut records = Records { out, content: Vec::new(), strings: IndexTable::new(), threads: IndexTable::new() };
        records.out.write_all(&MAGIC.to_le_bytes())?;
        pad(&mut records.content, provider.as_bytes());
        records.put(kind::METADATA | 1 << 16 | 1 << 20 | (provider.len() as u64 & 0xff) << 52)?;
        records.put(kind::METADATA | 2 << 16 | 1 << 20)?;
        records.content.extend(1_000_000_000u64.to_le_bytes());
        records.put(kind::INIT)?;
        Ok(records)
    }

    pub fn event(&mut self, time: u64, thread: (u64, u64), event: &Shape<'_>) -> io::Result<()> {
        let (category, args) = (event.category, event.args());
        let name: Cow<'_, str> = match event.name {
            Name::Text(text) => text.into(),
            Name::Numbered(text, number) => format!("{text}{number}").into(),
        };
        self.know_texts(&[category, &name], args)?;
        let thread = u64::from(self.thread(thread)?);
        self.word(time);
        let category = self.text(category.as_bytes());
        let name = self.text(name.as_bytes());
        self.arguments(args);
        let (number, more) = match event.kind {
            EventKind::Instant | EventKind::Unknown(_) => (0, None),
            EventKind::Counter(id) => (1, Some(id)),
            EventKind::Begin => (2, None),
            EventKind::End => (3, None),
            EventKind::Complete(end) => (4, Some(end)),
            EventKind::AsyncBegin(id) => (5, Some(id)),
            EventKind::AsyncInstant(id) => (6, Some(id)),
            EventKind::AsyncEnd(id) => (7, Some(id)),
            EventKind::FlowBegin(id) => (8, Some(id)),
            EventKind::FlowStep(id) => (9, Some(id)),
            EventKind::FlowEnd(id) => (10, Some(id)),
        };
        if let Some(more) = more {
            self.word(more);
        }
        self.put(kind::EVENT | number << 16 | count(args) << 20 | thread << 24 | category << 32 | name << 48)
    }

    pub fn kernel_object(&mut self, object: u8, id: u64, name: &str, process: Option<u64>) -> io::Result<()> {
        let process = process.filter(|_| object == OBJECT_THREAD).map(|process| ("process", Value::Id(process)));
        let args = process.as_slice();
        self.know_texts(&[name], args)?;
        self.word(id);
        let name = self.text(name.as_bytes());
        self.arguments(args);
        self.put(kind::KERNEL_OBJECT | u64::from(object) << 16 | name << 24 | count(args) << 40)
    }

    pub fn switch(&mut self, time: u64, cpu: u16, state: u8, threads: (u32, u32), args: Args<'_>) -> io::Result<()> {
        self.know_texts(&[], args)?;
        self.words([time, threads.0.into(), threads.1.into()]);
        self.arguments(args);
        let place = u64::from(cpu) << 20 | u64::from(state & 15) << 36;
        self.put(kind::SCHEDULING | count(args) << 16 | place | 1 << 60)
    }

    pub fn wakeup(&mut self, time: u64, cpu: u16, thread: u32, args: Args<'_>) -> io::Result<()> {
        self.know_texts(&[], args)?;
        self.words([time, thread.into()]);
        self.arguments(args);
        self.put(kind::SCHEDULING | count(args) << 16 | u64::from(cpu) << 20 | 2 << 60)
    }

    /// Writes bytes with a name, in as many records as needed.
    pub fn blob(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.know_texts(&[name], &[])?;
        for part in bytes.chunks(BLOB_PART) {
            let name = self.text(name.as_bytes());
            pad(&mut self.content, part);
            self.put(kind::BLOB | name << 16 | (part.len() as u64) << 32 | 1 << 48)?;
        }
        Ok(())
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    pub fn into_inner(self) -> W {
        self.out
    }

    fn word(&mut self, word: u64) {
        self.content.extend_from_slice(&word.to_le_bytes());
    }

    fn words<const N: usize>(&mut self, words: [u64; N]) {
        words.into_iter().for_each(|word| self.word(word));
    }

    /// Writes the record with the content `content`.
    fn put(&mut self, header: u64) -> io::Result<()> {
        let words = 1 + self.content.len() as u64 / 8;
        self.out.write_all(&(header | words << 4).to_le_bytes())?;
        self.out.write_all(&self.content)?;
        self.content.clear();
        Ok(())
    }

    /// Registers the texts of the next record.
    fn know_texts(&mut self, texts: &[&str], args: Args<'_>) -> io::Result<()> {
        for text in texts {
            self.know(text.as_bytes())?;
        }
        for (name, value) in args {
            self.know(name.as_bytes())?;
            if let Value::Text(text) = value {
                self.know(text)?;
            }
        }
        Ok(())
    }

    fn know(&mut self, text: &[u8]) -> io::Result<()> {
        let text = cut(text);
        if text.is_empty() || self.strings.places.contains_key(text) {
            return Ok(());
        }
        let index = self.strings.add(text.into());
        pad(&mut self.content, text);
        self.put(kind::STRING | u64::from(index) << 16 | (text.len() as u64) << 32)
    }

    /// The reference to a text: its index, or an inline text if another text of the same record has just
    /// replaced its entry.
    fn text(&mut self, text: &[u8]) -> u64 {
        let text = cut(text);
        match self.strings.places.get(text) {
            _ if text.is_empty() => 0,
            Some(index) => u64::from(*index),
            None => {
                pad(&mut self.content, text);
                0x8000 | text.len() as u64
            }
        }
    }

    /// The index of a thread, which is registered if it is new.
    fn thread(&mut self, ids: (u64, u64)) -> io::Result<u16> {
        if let Some(index) = self.threads.places.get(&ids) {
            return Ok(*index);
        }
        let index = self.threads.add(ids);
        self.words([ids.0, ids.1]);
        self.put(kind::THREAD | u64::from(index) << 16)?;
        Ok(index)
    }

    fn arguments(&mut self, args: Args<'_>) {
        for (name, value) in args {
            let at = self.content.len();
            self.word(0);
            let name = self.text(name.as_bytes());
            let (number, high, more) = match *value {
                Value::Null | Value::Unknown(_) => (0, 0, None),
                Value::I32(value) => (1, u64::from(value as u32), None),
                Value::U32(value) => (2, u64::from(value), None),
                Value::I64(value) => (3, 0, Some(value as u64)),
                Value::U64(value) => (4, 0, Some(value)),
                Value::F64(value) => (5, 0, Some(value.to_bits())),
                Value::Text(text) => (6, self.text(text), None),
                Value::Pointer(value) => (7, 0, Some(value)),
                Value::Id(value) => (8, 0, Some(value)),
                Value::Bool(value) => (9, u64::from(value), None),
            };
            if let Some(more) = more {
                self.word(more);
            }
            let words = (self.content.len() - at) as u64 / 8;
            let header = number | words << 4 | name << 16 | high << 32;
            if let Some(place) = self.content.get_mut(at..at + 8) {
                place.copy_from_slice(&header.to_le_bytes());
            }
        }
    }
}

fn count(args: Args<'_>) -> u64 {
    args.len() as u64
}

fn pad(content: &mut Vec<u8>, bytes: &[u8]) {
    content.extend_from_slice(bytes);
    content.resize(content.len().next_multiple_of(8), 0);
}

/// The part of a text that is written: whole characters.
fn cut(text: &[u8]) -> &[u8] {
    let inside = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let end = (0..=TEXT_MAX.min(text.len())).rev().find(|at| !inside(at)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}
