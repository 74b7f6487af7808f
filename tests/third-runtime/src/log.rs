//! Pebble's log: text with one event per line. The first line gives the version and the number of hollows:
//!
//! ```text
//! pebble 0.3 hollows=2
//! NANOSECONDS HOLLOW asks|stopped|gathers|gathered|resumed
//! NANOSECONDS HOLLOW live BYTES
//! ```
//!
//! Unreadable lines count as losses; nothing panics.

use crate::PEBBLE;
use rtscope_decode::formats::{BATCH, Counted, Events, Log, LogError, LogFacts, LogFormat, Opening};
use rtscope_model::{
    Body, Class, Classes, ClockMap, Counter, Event, LaneId, LogTime, Loss, LossKind, Names, Runtime, TypeCount,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest log that is read, bytes: test logs are short.
const BYTES_MAX: u64 = 16 << 20;

/// The format of pebble's log.
pub struct Format;

impl LogFormat for Format {
    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(b"pebble ")
    }

    fn open(&self, log: Opening<'_>) -> Result<Box<dyn Log>, LogError> {
        let size = usize::try_from(log.source.size()?.min(BYTES_MAX))?;
        let mut bytes = vec![0; size];
        let got = log.source.read_full(&mut bytes, 0)?;
        bytes.truncate(got);
        let text: Arc<str> = String::from_utf8(bytes)?.into();
        let mut words = text.lines().next().unwrap_or_default().split(' ').skip(1);
        let version = words.next().ok_or("it names no version")?.to_owned();
        let hollows = words.next().and_then(|word| word.strip_prefix("hollows=")?.parse().ok());
        let hollows: u16 = hollows.ok_or("it does not say how many hollows there are")?;
        Ok(Box::new(Pebbles { name: log.name.to_owned(), text, version, hollows: hollows.min(1_024) }))
    }
}

/// An opened log.
struct Pebbles {
    name: String,
    text: Arc<str>,
    version: String,
    hollows: u16,
}

impl Log for Pebbles {
    fn kind(&self) -> &'static str {
        "pebble-log"
    }

    fn facts(&self) -> LogFacts {
        LogFacts {
            family: Some(PEBBLE.id.to_owned()),
            version: Some(self.version.clone()),
            threaded: Some(true),
            ..LogFacts::default()
        }
    }

    fn events(&self, classes: Classes, clock: ClockMap, _threads: usize) -> Box<dyn Events> {
        let mut read = Lines { next: 0, ..Lines::default() };
        let made = (0..self.hollows).map(|hollow| (0, hollow, Runtime::LaneCreated));
        for (number, line) in self.text.lines().enumerate().skip(1) {
            match event(line) {
                Some((at, hollow, body)) => {
                    *read.by_type.entry(name(&body)).or_default() += 1;
                    read.push(at, hollow, body, classes, clock);
                }
                None => read.losses.push(Loss {
                    source: self.name.clone(),
                    kind: LossKind::UnknownRecord,
                    count: 1,
                    from: None,
                    to: None,
                    note: format!("line {} cannot be read", number + 1),
                }),
            }
        }
        let first = read.events.first().map_or(0, |event| event.time.0);
        let mut all = Lines::default();
        made.for_each(|(_, hollow, body)| all.push(first, hollow, body, classes, ClockMap::LOG_OWN));
        all.events.append(&mut read.events);
        read.events = all.events;
        read.bytes = self.text.len() as u64;
        Box::new(read)
    }
}

fn event(line: &str) -> Option<(u64, u16, Runtime)> {
    let mut words = line.split(' ');
    let (at, hollow) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let body = match words.next()? {
        "asks" => Runtime::StopRequested { parallel: true },
        "stopped" => Runtime::Stopped,
        "gathers" => Runtime::WorkBegin,
        "gathered" => Runtime::WorkEnd,
        "resumed" => Runtime::Resumed,
        "live" => Runtime::Count(Counter::LiveBytes, words.next()?.parse().ok()?),
        _ => return None,
    };
    Some((at, hollow, body))
}

/// The event's word in the log.
fn name(body: &Runtime) -> &'static str {
    match body {
        Runtime::StopRequested { .. } => "asks",
        Runtime::Stopped => "stopped",
        Runtime::WorkBegin => "gathers",
        Runtime::WorkEnd => "gathered",
        Runtime::Resumed => "resumed",
        _ => "live",
    }
}

/// All events of a log, already read.
#[derive(Default)]
struct Lines {
    events: Vec<Event>,
    next: usize,
    bytes: u64,
    by_type: BTreeMap<&'static str, u64>,
    losses: Vec<Loss>,
    names: Names,
}

impl Lines {
    fn push(&mut self, at: u64, hollow: u16, body: Runtime, classes: Classes, clock: ClockMap) {
        if classes.has(body.class()) || body.class() == Class::Lanes {
            let (time, lane) = (clock.convert(LogTime(at)), LaneId(hollow));
            self.events.push(Event { time, lane, body: Body::Runtime(body) });
        }
    }
}

impl Events for Lines {
    fn fill(&mut self, batch: &mut Vec<Event>) {
        let to = (self.next + BATCH).min(self.events.len());
        batch.extend(self.events.get(self.next..to).unwrap_or_default());
        self.next = to;
    }

    fn names(&self) -> &Names {
        &self.names
    }

    fn counted(&self) -> Counted {
        let by_type = (1..).zip(&self.by_type);
        let by_type = by_type.map(|(tag, (name, count))| TypeCount { tag, name: (*name).to_owned(), count: *count });
        Counted { bytes: self.bytes, by_type: by_type.collect(), losses: self.losses.clone() }
    }
}
