//! Builds traces for tests, record by record. Shares no code with the writer, so that the two can disagree.

use super::record::Value;

/// A text: inline, or by its index.
#[derive(Copy, Clone, Debug)]
pub enum Text<'a> {
    /// In the record itself.
    Inline(&'a str),
    /// Index of a string registered before.
    Index(u16),
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text::Inline(text)
    }
}

/// A thread: inline ids, or an index.
#[derive(Copy, Clone, Debug)]
pub enum ThreadRef {
    /// Process and thread id in the record itself.
    Inline(u64, u64),
    /// Index of a thread, registered before or never.
    Index(u8),
}

/// The fields that every event has in addition to its kind.
#[derive(Copy, Clone, Debug)]
pub struct At<'a> {
    /// Time stamp in ticks.
    pub time: u64,
    /// Thread of the event.
    pub thread: ThreadRef,
    /// Category, often empty.
    pub category: Text<'a>,
    /// Name of the event.
    pub name: Text<'a>,
}

/// A trace under construction.
#[derive(Clone, Debug)]
pub struct TraceBuilder {
    bytes: Vec<u8>,
}

impl Default for TraceBuilder {
    fn default() -> Self {
        TraceBuilder { bytes: super::MAGIC.to_le_bytes().to_vec() }
    }
}

impl TraceBuilder {
    /// The bytes so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    /// A record with any content; its size is filled in.
    pub fn record(&mut self, header: u64, content: &[u8]) -> &mut Self {
        let words = 1 + content.len().div_ceil(8) as u64;
        self.bytes.extend((header | words << 4).to_le_bytes());
        self.bytes.extend(content);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self
    }

    /// Raw bytes.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    /// The clock's rate.
    pub fn init(&mut self, ticks_per_second: u64) -> &mut Self {
        self.record(1, &ticks_per_second.to_le_bytes())
    }

    /// A provider's name.
    pub fn provider(&mut self, id: u32, name: &str) -> &mut Self {
        self.record(1 << 16 | u64::from(id) << 20 | (name.len() as u64) << 52, name.as_bytes())
    }

    /// The following records belong to this provider.
    pub fn section(&mut self, id: u32) -> &mut Self {
        self.record(2 << 16 | u64::from(id) << 20, &[])
    }

    /// Registers a string.
    pub fn string(&mut self, index: u16, text: &str) -> &mut Self {
        self.record(2 | u64::from(index) << 16 | (text.len() as u64) << 32, text.as_bytes())
    }

    /// Registers a thread.
    pub fn thread(&mut self, index: u8, process: u64, thread: u64) -> &mut Self {
        self.record(3 | u64::from(index) << 16, &[process.to_le_bytes(), thread.to_le_bytes()].concat())
    }

    /// An event of this kind; `more` is the word after its arguments.
    pub fn event(&mut self, kind: u8, at: At<'_>, args: &[(&str, Value<'_>)], more: Option<u64>) -> &mut Self {
        let mut content = at.time.to_le_bytes().to_vec();
        let thread = thread_ref(&mut content, at.thread);
        let category = text_ref(&mut content, at.category);
        let name = text_ref(&mut content, at.name);
        args.iter().for_each(|arg| argument(&mut content, arg));
        content.extend(more.into_iter().flat_map(u64::to_le_bytes));
        let counts = u64::from(kind) << 16 | (args.len() as u64) << 20;
        self.record(4 | counts | thread << 24 | category << 32 | name << 48, &content)
    }

    /// Names a process or a thread.
    pub fn kernel_object(&mut self, kind: u8, id: u64, name: Text<'_>, args: &[(&str, Value<'_>)]) -> &mut Self {
        let mut content = id.to_le_bytes().to_vec();
        let name = text_ref(&mut content, name);
        args.iter().for_each(|arg| argument(&mut content, arg));
        self.record(7 | u64::from(kind) << 16 | name << 24 | (args.len() as u64) << 40, &content)
    }

    /// Names an object of a program.
    pub fn user_object(&mut self, pointer: u64, thread: ThreadRef, name: Text<'_>) -> &mut Self {
        let mut content = pointer.to_le_bytes().to_vec();
        let thread = thread_ref(&mut content, thread);
        let name = text_ref(&mut content, name);
        self.record(6 | thread << 16 | name << 24, &content)
    }

    /// A context switch.
    pub fn switch(
        &mut self,
        time: u64,
        cpu: u16,
        state: u8,
        threads: (u64, u64),
        args: &[(&str, Value<'_>)],
    ) -> &mut Self {
        let mut content = [time, threads.0, threads.1].map(u64::to_le_bytes).concat();
        args.iter().for_each(|arg| argument(&mut content, arg));
        let header = 8 | (args.len() as u64) << 16 | u64::from(cpu) << 20 | u64::from(state) << 36 | 1 << 60;
        self.record(header, &content)
    }

    /// A thread becomes runnable.
    pub fn wakeup(&mut self, time: u64, cpu: u16, thread: u64, args: &[(&str, Value<'_>)]) -> &mut Self {
        let mut content = [time, thread].map(u64::to_le_bytes).concat();
        args.iter().for_each(|arg| argument(&mut content, arg));
        self.record(8 | (args.len() as u64) << 16 | u64::from(cpu) << 20 | 2 << 60, &content)
    }

    /// A blob with a name.
    pub fn blob(&mut self, name: Text<'_>, bytes: &[u8]) -> &mut Self {
        let mut content = Vec::new();
        let name = text_ref(&mut content, name);
        content.extend(bytes);
        self.record(5 | name << 16 | (bytes.len() as u64) << 32 | 1 << 48, &content)
    }

    /// A log message.
    pub fn log(&mut self, time: u64, thread: ThreadRef, message: &str) -> &mut Self {
        let mut content = time.to_le_bytes().to_vec();
        let thread = thread_ref(&mut content, thread);
        content.extend(message.as_bytes());
        self.record(9 | (message.len() as u64) << 16 | thread << 32, &content)
    }

    /// A large record with `bytes` bytes of content.
    pub fn large(&mut self, bytes: usize) -> &mut Self {
        let words = 1 + bytes.div_ceil(8) as u64;
        self.bytes.extend((15 | words << 4).to_le_bytes());
        self.bytes.resize(self.bytes.len() + bytes.next_multiple_of(8), 0xee);
        self
    }
}

fn pad(content: &mut Vec<u8>, bytes: &[u8]) {
    content.extend(bytes);
    content.resize(content.len().next_multiple_of(8), 0);
}

fn text_ref(content: &mut Vec<u8>, text: Text<'_>) -> u64 {
    match text {
        Text::Index(index) => u64::from(index),
        Text::Inline("") => 0,
        Text::Inline(text) => {
            pad(content, text.as_bytes());
            0x8000 | text.len() as u64
        }
    }
}

fn thread_ref(content: &mut Vec<u8>, thread: ThreadRef) -> u64 {
    match thread {
        ThreadRef::Index(index) => u64::from(index),
        ThreadRef::Inline(process, thread) => {
            content.extend(process.to_le_bytes());
            content.extend(thread.to_le_bytes());
            0
        }
    }
}

fn argument(content: &mut Vec<u8>, (name, value): &(&str, Value<'_>)) {
    let mut text = Vec::new();
    let name = text_ref(&mut text, Text::Inline(name));
    let word = |kind: u64, word: u64| (kind, 0, word.to_le_bytes().to_vec());
    let (kind, high, more) = match *value {
        Value::Null => (0, 0, Vec::new()),
        Value::I32(value) => (1, u64::from(value as u32), Vec::new()),
        Value::U32(value) => (2, u64::from(value), Vec::new()),
        Value::I64(value) => word(3, value as u64),
        Value::U64(value) => word(4, value),
        Value::F64(value) => word(5, value.to_bits()),
        Value::Text(value) => {
            let mut more = Vec::new();
            pad(&mut more, value);
            (6, 0x8000 | value.len() as u64, more)
        }
        Value::Pointer(value) => word(7, value),
        Value::Id(value) => word(8, value),
        Value::Bool(value) => (9, u64::from(value), Vec::new()),
        Value::Unknown(kind) => (u64::from(kind), 0, Vec::new()),
    };
    let words = 1 + (text.len() + more.len()) as u64 / 8;
    content.extend((kind | words << 4 | name << 16 | high << 32).to_le_bytes());
    content.extend(text);
    content.extend(more);
}
