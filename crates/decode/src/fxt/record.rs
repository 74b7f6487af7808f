//! One record in the terms of the format. Owns the layout of every kind; refuses to know what a writer means by it.
//! Times are nanoseconds, converted from ticks.
//!
//! Source: the public description of the format (Fuchsia's `trace-format`, with the
//! scheduling records of 2022).

use super::tables::{Tables, Thread};
use super::words::{Cursor, bits, small};

/// Kinds of records.
#[allow(missing_docs)]
pub mod kind {
    pub const METADATA: u64 = 0;
    pub const INIT: u64 = 1;
    pub const STRING: u64 = 2;
    pub const THREAD: u64 = 3;
    pub const EVENT: u64 = 4;
    pub const BLOB: u64 = 5;
    pub const USER_OBJECT: u64 = 6;
    pub const KERNEL_OBJECT: u64 = 7;
    pub const SCHEDULING: u64 = 8;
    pub const LOG: u64 = 9;
    pub const LARGE: u64 = 15;
}

/// Kind of a kernel object: a process.
pub const OBJECT_PROCESS: u8 = 1;
/// Kind of a kernel object: a thread.
pub const OBJECT_THREAD: u8 = 2;

/// The content of a record. Texts are UTF-8 if the writer kept to the format; times are nanoseconds.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Record<'a> {
    /// The magic number.
    Magic,
    /// A provider and its name; the following records are from it.
    Provider {
        id: u32,
        name: &'a [u8],
    },
    /// The following records are from this provider.
    Section {
        id: u32,
    },
    /// An event about a provider; 0: its buffer was full, records were dropped.
    ProviderEvent {
        id: u32,
        event: u8,
    },
    OtherMetadata {
        kind: u8,
    },
    /// The clock's rate.
    Init {
        ticks_per_second: u64,
    },
    /// A string was registered.
    String {
        index: u16,
        text: &'a [u8],
    },
    /// A thread was registered.
    Thread {
        index: u8,
        thread: Thread,
    },
    Event(EventRecord<'a>),
    /// Bytes with a name; parts with the same name belong together. Kind 1: any data.
    Blob {
        name: &'a [u8],
        kind: u8,
        bytes: &'a [u8],
    },
    /// Names an object of a program.
    UserObject {
        /// Its address, or any number that stands for it.
        pointer: u64,
        /// A thread of its process.
        thread: Thread,
        name: &'a [u8],
        args: Args<'a>,
    },
    /// Names a process or a thread.
    KernelObject {
        id: u64,
        /// [`OBJECT_PROCESS`], [`OBJECT_THREAD`] or another.
        kind: u8,
        name: &'a [u8],
        /// `process` for a thread.
        args: Args<'a>,
    },
    /// A CPU switches from one thread to another.
    Switch(SwitchRecord<'a>),
    /// A thread becomes runnable on this CPU.
    Wakeup {
        time: u64,
        cpu: u16,
        thread: u64,
        /// The argument `waker`.
        args: Args<'a>,
    },
    /// A log message.
    Log {
        time: u64,
        thread: Thread,
        message: &'a [u8],
    },
    /// A record of more than 32 KiB, whose content is skipped: its kind (0: a blob) and its size in bytes.
    Large {
        kind: u8,
        bytes: u64,
    },
    /// An unknown kind.
    Unknown {
        kind: u8,
    },
    /// Its content contradicts its size, or it refers to a string that was never registered. Reading
    /// continues after it.
    Damaged {
        kind: u8,
    },
}

/// An event on a thread.
#[derive(Copy, Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub struct EventRecord<'a> {
    pub time: u64,
    pub thread: Thread,
    pub kind: EventKind,
    /// The category; often empty.
    pub category: &'a [u8],
    pub name: &'a [u8],
    pub args: Args<'a>,
}

/// Kinds of events.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum EventKind {
    /// An event at one moment.
    Instant,
    /// Values of the arguments, for the counter with this id.
    Counter(u64),
    /// A span begins.
    Begin,
    /// A span ends.
    End,
    /// A span that ends at this time.
    Complete(u64),
    /// An operation that may change threads begins; its id.
    AsyncBegin(u64),
    /// A step of such an operation.
    AsyncInstant(u64),
    /// Such an operation ends.
    AsyncEnd(u64),
    /// A flow between spans begins; its id.
    FlowBegin(u64),
    /// A step of a flow.
    FlowStep(u64),
    /// A flow ends.
    FlowEnd(u64),
    /// An unknown kind.
    Unknown(u8),
}

/// A context switch.
#[derive(Copy, Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub struct SwitchRecord<'a> {
    pub time: u64,
    pub cpu: u16,
    /// State of the outgoing thread: 0 new, 1 running, 2 suspended, 3 blocked, 4 dying, 5 dead.
    pub state: u8,
    /// Id of the outgoing thread.
    pub outgoing: u64,
    /// Id of the incoming thread.
    pub incoming: u64,
    pub args: Args<'a>,
}

/// Value of an argument.
#[derive(Copy, Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Value<'a> {
    Null,
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F64(f64),
    Text(&'a [u8]),
    /// A pointer's address.
    Pointer(u64),
    /// Id of a kernel object.
    Id(u64),
    Bool(bool),
    /// An unknown type.
    Unknown(u8),
}

impl Value<'_> {
    /// The value as an unsigned number: any integer that is not negative.
    pub fn number(self) -> Option<u64> {
        match self {
            Value::I32(value) => u64::try_from(value).ok(),
            Value::I64(value) => u64::try_from(value).ok(),
            Value::U32(value) => Some(u64::from(value)),
            Value::U64(value) | Value::Pointer(value) | Value::Id(value) => Some(value),
            _ => None,
        }
    }

    /// The value as a signed number.
    pub fn signed(self) -> Option<i64> {
        match self {
            Value::I32(value) => Some(i64::from(value)),
            Value::I64(value) => Some(value),
            other => other.number().and_then(|value| i64::try_from(value).ok()),
        }
    }
}

/// Arguments of a record, decoded on access. They have been validated.
#[derive(Copy, Clone, Debug)]
pub struct Args<'a> {
    count: u8,
    bytes: &'a [u8],
    tables: Option<&'a Tables>,
}

impl PartialEq for Args<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.iter().eq(other.iter())
    }
}

impl<'a> Args<'a> {
    /// No argument.
    pub const NONE: Args<'static> = Args { count: 0, bytes: &[], tables: None };

    /// All arguments with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], Value<'a>)> + use<'a> {
        let (mut cursor, tables) = (Cursor::new(self.bytes), self.tables);
        (0..self.count).map_while(move |_| argument(&mut cursor, tables?))
    }

    /// The first argument with this name.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        self.iter().find(|(known, _)| *known == name.as_bytes()).map(|(_, value)| value)
    }

    /// The first argument with this name, as a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.number()
    }
}

/// Size in words of the record with this header; 0: it states none.
pub(super) fn words(header: u64) -> u64 {
    match bits(header, 0, 4) {
        kind::LARGE => bits(header, 4, 32),
        _ => bits(header, 4, 12),
    }
}

/// Whether the content of a record with this header is skipped.
pub(super) fn is_large(header: u64) -> bool {
    bits(header, 0, 4) == kind::LARGE
}

/// Processes a record that registers something: a string, a thread, the clock's rate. `false`: it could
/// not be registered.
pub(super) fn register(bytes: &[u8], tables: &mut Tables) -> bool {
    let mut cursor = Cursor::new(bytes);
    let Some(header) = cursor.word() else { return false };
    let done = match bits(header, 0, 4) {
        kind::INIT => cursor.word().map(|rate| {
            tables.ticks_per_second = rate;
            rate > 0
        }),
        kind::STRING => {
            cursor.stream(usize::from(small(header, 32, 15))).map(|text| tables.set_string(small(header, 16, 15), text))
        }
        kind::THREAD => cursor.word().zip(cursor.word()).map(|(process, thread)| {
            tables.set_thread(small(header, 16, 8) as u8, process, thread);
            true
        }),
        _ => Some(true),
    };
    done == Some(true)
}

/// The provider that a record names as the writer of the following records.
pub(super) fn provider(header: u64) -> Option<u32> {
    let metadata = bits(header, 0, 4) == kind::METADATA && matches!(bits(header, 16, 4), 1 | 2);
    metadata.then_some(bits(header, 20, 32) as u32)
}

/// Parses the record in `bytes`, whose length is the record's size.
pub(super) fn parse<'a>(bytes: &'a [u8], tables: &'a Tables) -> Record<'a> {
    let kind = bytes.first().map_or(0, |first| first & 15);
    parsed(bytes, tables).unwrap_or(Record::Damaged { kind })
}

fn parsed<'a>(bytes: &'a [u8], tables: &'a Tables) -> Option<Record<'a>> {
    let mut cursor = Cursor::new(bytes);
    let header = cursor.word()?;
    let number = |from, count| bits(header, from, count);
    Some(match number(0, 4) {
        kind::METADATA => metadata(header, cursor)?,
        kind::INIT => Record::Init { ticks_per_second: cursor.word().filter(|rate| *rate > 0)? },
        kind::STRING => Record::String { index: small(header, 16, 15), text: cursor.stream(number(32, 15) as usize)? },
        kind::THREAD => {
            let (process, thread) = (cursor.word()?, cursor.word()?);
            Record::Thread { index: number(16, 8) as u8, thread: Thread::Known { process, thread } }
        }
        kind::EVENT => Record::Event(event(header, cursor, tables)?),
        kind::BLOB => Record::Blob {
            name: text(number(16, 16), &mut cursor, tables)?,
            kind: number(48, 8) as u8,
            bytes: cursor.stream(number(32, 15) as usize)?,
        },
        kind::USER_OBJECT => Record::UserObject {
            pointer: cursor.word()?,
            thread: owner(number(16, 8), number(24, 16), number(40, 4), &mut cursor, tables)?,
            name: text(number(24, 16), &mut cursor, tables)?,
            args: args(number(40, 4), &mut cursor, tables)?,
        },
        kind::KERNEL_OBJECT => Record::KernelObject {
            id: cursor.word()?,
            kind: number(16, 8) as u8,
            name: text(number(24, 16), &mut cursor, tables)?,
            args: args(number(40, 4), &mut cursor, tables)?,
        },
        kind::SCHEDULING => scheduling(header, cursor, tables)?,
        kind::LOG => Record::Log {
            time: tables.ns(cursor.word()?),
            thread: thread(number(32, 8), &mut cursor, tables)?,
            message: cursor.stream(number(16, 15) as usize)?,
        },
        kind::LARGE => Record::Large { kind: number(36, 4) as u8, bytes: number(4, 32) * 8 },
        kind => Record::Unknown { kind: kind as u8 },
    })
}

fn metadata<'a>(header: u64, mut cursor: Cursor<'a>) -> Option<Record<'a>> {
    let id = bits(header, 20, 32) as u32;
    Some(match bits(header, 16, 4) {
        1 => Record::Provider { id, name: cursor.stream(bits(header, 52, 8) as usize)? },
        2 => Record::Section { id },
        3 => Record::ProviderEvent { id, event: bits(header, 52, 4) as u8 },
        4 if bits(header, 20, 4) == 0 => Record::Magic,
        kind => Record::OtherMetadata { kind: kind as u8 },
    })
}

fn event<'a>(header: u64, mut cursor: Cursor<'a>, tables: &'a Tables) -> Option<EventRecord<'a>> {
    let time = tables.ns(cursor.word()?);
    let thread = thread(bits(header, 24, 8), &mut cursor, tables)?;
    let category = text(bits(header, 32, 16), &mut cursor, tables)?;
    let name = text(bits(header, 48, 16), &mut cursor, tables)?;
    let args = args(bits(header, 20, 4), &mut cursor, tables)?;
    let mut more = || cursor.word();
    let kind = match bits(header, 16, 4) {
        0 => EventKind::Instant,
        1 => EventKind::Counter(more()?),
        2 => EventKind::Begin,
        3 => EventKind::End,
        4 => EventKind::Complete(tables.ns(more()?)),
        5 => EventKind::AsyncBegin(more()?),
        6 => EventKind::AsyncInstant(more()?),
        7 => EventKind::AsyncEnd(more()?),
        8 => EventKind::FlowBegin(more()?),
        9 => EventKind::FlowStep(more()?),
        10 => EventKind::FlowEnd(more()?),
        kind => EventKind::Unknown(kind as u8),
    };
    Some(EventRecord { time, thread, kind, category, name, args })
}

fn scheduling<'a>(header: u64, mut cursor: Cursor<'a>, tables: &'a Tables) -> Option<Record<'a>> {
    let kind = bits(header, 60, 4);
    if !matches!(kind, 0..=2) {
        return Some(Record::Unknown { kind: kind::SCHEDULING as u8 });
    }
    let time = tables.ns(cursor.word()?);
    if kind == 0 {
        let outgoing = thread(bits(header, 28, 8), &mut cursor, tables)?;
        let incoming = thread(bits(header, 36, 8), &mut cursor, tables)?;
        let id = |thread| if let Thread::Known { thread, .. } = thread { Some(thread) } else { None };
        let (cpu, state) = (small(header, 16, 8), bits(header, 24, 4) as u8);
        let (outgoing, incoming) = (id(outgoing)?, id(incoming)?);
        return Some(Record::Switch(SwitchRecord { time, cpu, state, outgoing, incoming, args: Args::NONE }));
    }
    let (cpu, count) = (small(header, 20, 16), bits(header, 16, 4));
    let first = cursor.word()?;
    if kind == 2 {
        return Some(Record::Wakeup { time, cpu, thread: first, args: args(count, &mut cursor, tables)? });
    }
    let incoming = cursor.word()?;
    let (state, args) = (bits(header, 36, 4) as u8, args(count, &mut cursor, tables)?);
    Some(Record::Switch(SwitchRecord { time, cpu, state, outgoing: first, incoming, args }))
}

/// The text of a reference: inline in the record, or registered before.
fn text<'a>(reference: u64, cursor: &mut Cursor<'a>, tables: &'a Tables) -> Option<&'a [u8]> {
    let low = (reference & 0x7fff) as u16;
    if reference & 0x8000 != 0 { cursor.stream(usize::from(low)) } else { tables.string(low) }
}

fn thread(reference: u64, cursor: &mut Cursor<'_>, tables: &Tables) -> Option<Thread> {
    if reference == 0 {
        return Some(Thread::Known { process: cursor.word()?, thread: cursor.word()? });
    }
    Some(tables.thread(reference as u8))
}

/// The process of an object. By the specification it takes one word if it is not registered; eio-trace writes two, as
/// for events. The size shows which.
fn owner(reference: u64, name: u64, args: u64, cursor: &mut Cursor<'_>, tables: &Tables) -> Option<Thread> {
    if reference != 0 {
        return Some(tables.thread(reference as u8));
    }
    let process = cursor.word()?;
    let mut without = *cursor;
    let fits = text(name, &mut without, tables).is_some()
        && self::args(args, &mut without, tables).is_some()
        && without.rest().is_empty();
    let thread = if fits { process } else { cursor.word()? };
    Some(Thread::Known { process, thread })
}

/// The arguments, if they are complete.
fn args<'a>(count: u64, cursor: &mut Cursor<'a>, tables: &'a Tables) -> Option<Args<'a>> {
    let count = count as u8;
    let bytes = cursor.rest();
    for _ in 0..count {
        argument(cursor, tables)?;
    }
    Some(Args { count, bytes, tables: Some(tables) })
}

fn argument<'a>(cursor: &mut Cursor<'a>, tables: &'a Tables) -> Option<(&'a [u8], Value<'a>)> {
    let header = u64::from_le_bytes(*cursor.rest().first_chunk()?);
    let mut part = cursor.part(bits(header, 4, 12) as usize)?;
    part.word()?;
    let name = text(bits(header, 16, 16), &mut part, tables)?;
    let high = bits(header, 32, 32) as u32;
    let value = match bits(header, 0, 4) {
        0 => Value::Null,
        1 => Value::I32(high as i32),
        2 => Value::U32(high),
        3 => Value::I64(part.word()? as i64),
        4 => Value::U64(part.word()?),
        5 => Value::F64(f64::from_bits(part.word()?)),
        6 => Value::Text(text(u64::from(high & 0xffff), &mut part, tables)?),
        7 => Value::Pointer(part.word()?),
        8 => Value::Id(part.word()?),
        9 => Value::Bool(high & 1 != 0),
        kind => Value::Unknown(kind as u8),
    };
    Some((name, value))
}
