//! What a log says about the whole program. Read from the global buffer's blocks before the stream, so that it is
//! known before the first event.

use super::frame::{Next, RecordReader};
use super::header::Header;
use super::index::{Block, GLOBAL, MARKER};
use super::record::{HeapInfo, Record};
use crate::code::Ipe;
use crate::source::ReadAt;
use rtscope_model::runtimes::GHC;
use rtscope_model::{Exported, LogTime};
use std::sync::Arc;

/// A pairing of the log's clock with `CLOCK_REALTIME`, made by the runtime.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct WallClock {
    /// Time on the log's clock.
    pub log: LogTime,
    /// Nanoseconds since 1970 (the runtime's own resolution is 1 us up to 9.x).
    pub realtime_ns: u64,
}

/// What a log says about the whole program. Fields that the log does not contain are `None` or empty.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Info {
    /// "GHC-9.10.3 rts_thr", as written.
    pub rts_identifier: Option<String>,
    /// "9.10.3".
    pub version: Option<String>,
    /// "thr", "thr_l", or "" for the vanilla way.
    pub way: Option<String>,
    /// Program name and arguments, including the runtime's flags.
    pub args: Vec<String>,
    /// Every pid that wrote into this log, each in the program's own namespace; more than one: mixed processes.
    pub pids: Vec<u32>,
    /// First pairing of the clocks.
    pub wall_clock: Option<WallClock>,
    /// Heap parameters.
    pub heap: Option<HeapInfo>,
    /// The log says which code came from where (info provenance).
    pub has_ipe: bool,
}

const IPE_MAX: usize = 1 << 16;
/// The log has the address of the info table; its code follows after 16 bytes, as far as logs of 9.6 to 9.10 were
/// compared with symbols (a profiled runtime's tables are larger).
const INFO_TABLE: u64 = 16;
const WINDOW: usize = 64 << 10;

impl Info {
    /// These facts in the form that all logs share.
    pub(super) fn facts(&self) -> Exported {
        Exported {
            family: Some(GHC.id.to_owned()),
            version: self.version.clone(),
            way: self.way.clone(),
            args: self.args.clone(),
            threaded: self.way.as_ref().map(|way| way.split('_').any(|part| part == "thr")),
            generations: self.heap.as_ref().map(|heap| heap.generations),
            nursery_bytes: self.heap.as_ref().map(|heap| heap.nursery_bytes),
            ..Exported::default()
        }
    }

    /// Reads the global blocks among `blocks`; `also` gets their records too. Also returns whether the last of them
    /// holds the end-of-data mark, as in logs of 9.2 and later.
    pub(super) fn scan(
        header: &Header,
        blocks: &[Block],
        sources: &[Arc<dyn ReadAt>],
        mut also: impl FnMut(&Record<'_>),
    ) -> (Info, bool) {
        let mut info = Info::default();
        let ended = each_global(header, blocks, sources, &mut |time, record| {
            info.record(time, record);
            also(record);
        });
        (info, ended)
    }

    /// The log's names for code in the sorted ranges `wanted`.
    pub(super) fn ipe(
        header: &Header,
        blocks: &[Block],
        sources: &[Arc<dyn ReadAt>],
        wanted: &[(u64, u64)],
    ) -> Vec<Ipe> {
        let mut found = Vec::new();
        let mut take = |_: LogTime, record: &Record<'_>| {
            if let Record::Ipe { info, label, module, place, .. } = *record
                && let Some(address) = info.checked_add(INFO_TABLE)
                && within(wanted, address)
                && found.len() < IPE_MAX
            {
                let name = if label.is_empty() { String::new() } else { format!("{}.{}", lossy(module), lossy(label)) };
                found.push(Ipe { address, name, source: lossy(place) });
            }
        };
        each_global(header, blocks, sources, &mut take);
        found
    }

    fn record(&mut self, time: LogTime, record: &Record<'_>) {
        match *record {
            Record::RtsIdentifier { text, .. } if self.rts_identifier.is_none() => self.identify(text),
            Record::ProgramArgs { args, .. } if self.args.is_empty() => self.args = args.iter().map(lossy).collect(),
            Record::OsProcessPid { pid, .. } if !self.pids.contains(&pid) && self.pids.len() < 64 => {
                self.pids.push(pid);
            }
            Record::WallClockTime { unix_seconds, nanoseconds, .. } => {
                let seconds_ns = unix_seconds.saturating_mul(1_000_000_000);
                let realtime_ns = seconds_ns.saturating_add(u64::from(nanoseconds));
                self.wall_clock.get_or_insert(WallClock { log: time, realtime_ns });
            }
            Record::HeapInfo(heap) => _ = self.heap.get_or_insert(heap),
            Record::Ipe { .. } => self.has_ipe = true,
            _ => {}
        }
    }

    fn identify(&mut self, text: &[u8]) {
        let text = lossy(text);
        let mut words = text.split_whitespace();
        self.version = words.next().and_then(|word| word.strip_prefix("GHC-")).map(str::to_string);
        let way = words.next().and_then(|word| word.strip_prefix("rts"));
        self.way = way.map(|way| way.trim_start_matches('_').to_string());
        self.rts_identifier = Some(text);
    }
}

/// Passes on the records of all blocks of the global buffer. Returns whether the last of them ended with
/// an end-of-data mark.
pub(super) fn each_global(
    header: &Header,
    blocks: &[Block],
    sources: &[Arc<dyn ReadAt>],
    take: &mut dyn FnMut(LogTime, &Record<'_>),
) -> bool {
    let mut ended = false;
    let mut window = vec![0; WINDOW];
    for block in blocks.iter().filter(|block| block.cap == GLOBAL) {
        if let Some(source) = sources.get(usize::from(block.source)) {
            ended = global(header, block, source.as_ref(), &mut window, take);
        }
    }
    ended
}

/// Passes on the records of a block of the global buffer, up to damage inside the block; the stream reports that.
/// Returns whether the block ended with an end-of-data mark.
fn global(
    header: &Header,
    block: &Block,
    source: &dyn ReadAt,
    window: &mut [u8],
    take: &mut dyn FnMut(LogTime, &Record<'_>),
) -> bool {
    let mut reader = RecordReader::new(header);
    let end = block.offset + u64::from(block.len);
    let mut at = block.offset + MARKER as u64;
    loop {
        match reader.next() {
            Next::Record(time, record) => take(time, &record),
            Next::End => return true,
            Next::Undeclared => return false,
            Next::NeedMore if at >= end => return false,
            Next::NeedMore => {
                let want = usize::try_from(end - at).unwrap_or(usize::MAX).min(window.len());
                let buffer = window.get_mut(..want).unwrap_or_default();
                let Ok(got) = source.read_full(buffer, at) else { return false };
                reader.push(buffer.get(..got).unwrap_or_default());
                at += got as u64;
                if got < want || at >= end {
                    reader.finish();
                    at = end;
                }
            }
        }
    }
}

/// Whether one of these sorted ranges holds `address`.
fn within(ranges: &[(u64, u64)], address: u64) -> bool {
    let after = ranges.partition_point(|(from, _)| *from <= address);
    after.checked_sub(1).and_then(|last| ranges.get(last)).is_some_and(|(_, to)| address < *to)
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
