//! One thread of the profile: columns of samples and markers, and the tables that they refer to. Owns their layout
//! (version 48 of the processed format) and their limits.

use super::spool::Spool;
use crate::timeline::fact::Fact;
use rtscope_model::Time;
use std::collections::HashMap;
use std::io::{self, Write};

/// Limit of distinct stacks and texts in one thread; a later stack becomes its caller's, a later text [`NO_NAME`].
const KEPT_MAX: usize = 1 << 16;
const NO_NAME: &str = "(others)";

/// Indices of a thread's streams in [`ProfileThread::columns`].
const STACK: usize = 0;
const TIME: usize = 1;
const WEIGHT: usize = 2;
const NAME: usize = 3;
const FROM: usize = 4;
const TO: usize = 5;
const PHASE: usize = 6;
const CATEGORY: usize = 7;
const DATA: usize = 8;
/// The samples in rows, for speedscope.
const ROWS: usize = 9;
const COLUMNS: usize = 10;

/// Texts by number.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    known: HashMap<String, usize>,
}

impl Texts {
    fn get(&mut self, text: &str) -> usize {
        if let Some(number) = self.known.get(text) {
            return *number;
        }
        let text = if self.all.len() >= KEPT_MAX { NO_NAME } else { text };
        *self.known.entry(text.to_owned()).or_insert_with(|| {
            self.all.push(text.to_owned());
            self.all.len() - 1
        })
    }
}

/// A function: its text and its category.
#[derive(Copy, Clone, Eq, PartialEq, Hash)]
struct Function {
    name: usize,
    category: usize,
}

#[derive(Default)]
pub(super) struct ProfileThread {
    pub name: String,
    pub pid: String,
    pub tid: u64,
    /// Whether it stands for its process.
    pub main: bool,
    columns: [usize; COLUMNS],
    /// Samples are also written in rows.
    rows: bool,
    texts: Texts,
    functions: Vec<Function>,
    of_function: HashMap<Function, usize>,
    /// Each stack: the enclosing stack and its innermost function.
    stacks: Vec<(Option<usize>, usize)>,
    of_stack: HashMap<(Option<usize>, usize), usize>,
    open: Vec<Option<usize>>,
    last: Option<(Option<usize>, Time)>,
    samples: u64,
    markers: u64,
}

impl ProfileThread {
    pub fn new(spool: &mut Spool, name: String, pid: String, tid: u64, main: bool) -> ProfileThread {
        let columns = std::array::from_fn(|_| spool.stream());
        ProfileThread { name, pid, tid, main, columns, rows: main, ..ProfileThread::default() }
    }

    fn stack(&mut self, name: &str, category: usize) -> Option<usize> {
        let around = self.open.last().copied().flatten();
        let function = Function { name: self.texts.get(name), category };
        let functions = &mut self.functions;
        let function = *self.of_function.entry(function).or_insert_with(|| {
            functions.push(function);
            functions.len() - 1
        });
        if let Some(stack) = self.of_stack.get(&(around, function)) {
            return Some(*stack);
        }
        if self.stacks.len() >= KEPT_MAX {
            return around;
        }
        self.stacks.push((around, function));
        self.of_stack.insert((around, function), self.stacks.len() - 1);
        Some(self.stacks.len() - 1)
    }

    /// Begins a span inside the open ones.
    pub fn begin(&mut self, spool: &mut Spool, at: Ms, name: &str, category: usize) -> io::Result<()> {
        let stack = self.stack(name, category);
        self.open.push(stack);
        self.change(spool, at)
    }

    /// Ends the innermost span.
    pub fn end(&mut self, spool: &mut Spool, at: Ms) -> io::Result<()> {
        self.open.pop();
        self.change(spool, at)
    }

    /// Switches to the current stack: the previous one becomes a sample weighted with its duration.
    fn change(&mut self, spool: &mut Spool, at: Ms) -> io::Result<()> {
        let stack = self.open.last().copied().flatten();
        let Some((before, since)) = self.last.filter(|(_, since)| at.time > *since) else {
            // The previous stack had no duration.
            self.last = Some((stack, self.last.map_or(at.time, |(_, since)| since)));
            return Ok(());
        };
        self.last = Some((stack, at.time));
        let comma = if self.samples == 0 { "" } else { "," };
        self.samples += 1;
        let stack = or_null(before);
        let (time, weight) = (at.of(since), Millis(at.time.since(since) as i64));
        self.put(spool, STACK, format_args!("{comma}{stack}"))?;
        self.put(spool, TIME, format_args!("{comma}{time}"))?;
        self.put(spool, WEIGHT, format_args!("{comma}{weight}"))?;
        if self.rows {
            self.put(spool, ROWS, format_args!("{comma}[{stack},{time}]"))?;
        }
        Ok(())
    }

    /// Ends the last sample at `at`.
    pub fn finish(&mut self, spool: &mut Spool, at: Ms) -> io::Result<()> {
        self.open.clear();
        self.change(spool, at)?;
        if self.rows && self.samples > 0 {
            self.put(spool, ROWS, format_args!(",[null,{}]", at.of(at.time)))?;
        }
        Ok(())
    }

    /// Adds a marker: an instant, or an interval.
    pub fn marker(
        &mut self,
        spool: &mut Spool,
        (from, to): (Time, Option<Time>),
        origin: Ms,
        (name, category): (&str, usize),
        (kind, facts): (&str, &[(&'static str, Fact<'_>)]),
    ) -> io::Result<()> {
        let comma = if self.markers == 0 { "" } else { "," };
        self.markers += 1;
        let name = self.texts.get(name);
        let (from, phase, to) = (origin.of(from), u8::from(to.is_some()), or_null(to.map(|to| origin.of(to))));
        let mut data = format!("{{\"type\":\"{kind}\"");
        for (name, fact) in facts {
            data.push_str(&match fact {
                Fact::Number(number) => format!(",\"{name}\":{number}"),
                Fact::Text(text) => format!(",\"{name}\":{}", quoted(text)),
            });
        }
        self.put(spool, NAME, format_args!("{comma}{name}"))?;
        self.put(spool, FROM, format_args!("{comma}{from}"))?;
        self.put(spool, TO, format_args!("{comma}{to}"))?;
        self.put(spool, PHASE, format_args!("{comma}{phase}"))?;
        self.put(spool, CATEGORY, format_args!("{comma}{category}"))?;
        self.put(spool, DATA, format_args!("{comma}{data}}}"))
    }

    fn put(&self, spool: &mut Spool, column: usize, text: std::fmt::Arguments<'_>) -> io::Result<()> {
        let Some(stream) = self.columns.get(column) else { return Ok(()) };
        spool.push(*stream, text.to_string().as_bytes())
    }

    /// Writes the object of this thread.
    pub fn write(&self, spool: &mut Spool, out: &mut impl Write) -> io::Result<()> {
        let (name, pid, tid, main) = (quoted(&self.name), quoted(&self.pid), self.tid, self.main);
        write!(
            out,
            "{{\"name\":{name},\"pid\":{pid},\"tid\":{tid},\"isMainThread\":{main},\"processType\":\"default\""
        )?;
        write!(out, ",\"processName\":{name},\"processStartupTime\":0,\"processShutdownTime\":null")?;
        write!(
            out,
            ",\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\"samples\":{{\"length\":{}",
            self.samples
        )?;
        write!(out, ",\"weightType\":\"tracing-ms\"")?;
        for (key, column) in [("stack", STACK), ("time", TIME), ("weight", WEIGHT)] {
            self.column(spool, key, column, out)?;
        }
        write!(out, "}},\"markers\":{{\"length\":{}", self.markers)?;
        let markers = [
            ("name", NAME),
            ("startTime", FROM),
            ("endTime", TO),
            ("phase", PHASE),
            ("category", CATEGORY),
            ("data", DATA),
        ];
        for (key, column) in markers {
            self.column(spool, key, column, out)?;
        }
        write!(out, "}}")?;
        self.tables(out)
    }

    fn column(&self, spool: &mut Spool, key: &str, column: usize, out: &mut impl Write) -> io::Result<()> {
        write!(out, ",\"{key}\":[")?;
        if let Some(stream) = self.columns.get(column) {
            spool.copy(*stream, out)?;
        }
        out.write_all(b"]")
    }

    /// Writes stacks, functions (each with one frame) and texts.
    fn tables(&self, out: &mut impl Write) -> io::Result<()> {
        let (stacks, functions) = (&self.stacks, &self.functions);
        let category = |function: usize| functions.get(function).map_or(0, |function| function.category);
        write!(out, ",\"stackTable\":{{\"length\":{}", stacks.len())?;
        list(out, "frame", stacks.iter().map(|stack| stack.1))?;
        list(out, "prefix", stacks.iter().map(|stack| or_null(stack.0)))?;
        list(out, "category", stacks.iter().map(|stack| category(stack.1)))?;
        list(out, "subcategory", stacks.iter().map(|_| 0))?;
        write!(out, "}},\"frameTable\":{{\"length\":{}", functions.len())?;
        let all = |value: &'static str| functions.iter().map(move |_| value);
        list(out, "address", all("-1"))?;
        list(out, "inlineDepth", all("0"))?;
        list(out, "category", functions.iter().map(|function| function.category))?;
        list(out, "subcategory", all("0"))?;
        list(out, "func", 0..functions.len())?;
        for key in ["nativeSymbol", "innerWindowID", "implementation", "line", "column"] {
            list(out, key, all("null"))?;
        }
        write!(out, "}},\"funcTable\":{{\"length\":{}", functions.len())?;
        list(out, "name", functions.iter().map(|function| function.name))?;
        list(out, "isJS", all("false"))?;
        list(out, "relevantForJS", all("false"))?;
        list(out, "resource", all("-1"))?;
        for key in ["fileName", "lineNumber", "columnNumber"] {
            list(out, key, all("null"))?;
        }
        write!(out, "}},\"resourceTable\":{{\"length\":0,\"lib\":[],\"name\":[],\"host\":[],\"type\":[]}}")?;
        write!(
            out,
            ",\"nativeSymbols\":{{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[]}}"
        )?;
        list(out, "stringArray", self.texts.all.iter().map(|text| quoted(text)))?;
        out.write_all(b"}")
    }

    /// Writes the thread in the older, row-wise form of the format, which speedscope reads.
    pub fn write_rows(&self, spool: &mut Spool, out: &mut impl Write) -> io::Result<()> {
        write!(out, "{{\"name\":\"GeckoMain\",\"samples\":{{\"data\":[")?;
        if let Some(stream) = self.columns.get(ROWS) {
            spool.copy(*stream, out)?;
        }
        out.write_all(b"]},\"stackTable\":{\"data\":[")?;
        for (number, (prefix, function)) in self.stacks.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(out, "{comma}[{},{function}]", or_null(*prefix))?;
        }
        out.write_all(b"]},\"frameTable\":{\"data\":[")?;
        for number in 0..self.functions.len() {
            write!(out, "{}[{number}]", if number == 0 { "" } else { "," })?;
        }
        out.write_all(b"]}")?;
        // There a file follows the name; names without one are left out.
        let text = |function: &Function| self.texts.all.get(function.name).map_or("", |text| text);
        let place = |function| quoted(&format!("{} ({})", text(function), self.name));
        list(out, "stringTable", self.functions.iter().map(place))?;
        out.write_all(b"}")
    }
}

/// A time, and the origin of times.
#[derive(Copy, Clone)]
pub(super) struct Ms {
    pub time: Time,
    pub origin: Time,
}

impl Ms {
    pub fn of(self, at: Time) -> Millis {
        Millis(at.0.wrapping_sub(self.origin.0) as i64)
    }
}

/// Nanoseconds that are displayed as milliseconds, exactly.
pub(super) struct Millis(pub i64);

impl std::fmt::Display for Millis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (sign, ns) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        write!(f, "{sign}{}.{:06}", ns / 1_000_000, ns % 1_000_000)
    }
}

fn or_null<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or("null".to_owned(), |value| value.to_string())
}

fn list<T: std::fmt::Display>(out: &mut impl Write, key: &str, values: impl Iterator<Item = T>) -> io::Result<()> {
    write!(out, ",\"{key}\":[")?;
    for (number, value) in values.enumerate() {
        write!(out, "{}{value}", if number == 0 { "" } else { "," })?;
    }
    out.write_all(b"]")
}

pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
