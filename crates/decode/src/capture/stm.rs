//! `stm.jsonl`: counts of the program's transactions, one JSON object per line. Written and read here, so that the
//! format is defined once. `t` is nanoseconds of `CLOCK_MONOTONIC`, `p` the process; one more key says what was found:
//!
//! | key | value |
//! |---|---|
//! | `src` | `[whole, outcomes, why]`: counted since the program's start, commits and conflicts are counted, why not (or null) |
//! | `m` | what the scheduler may do: 0 nothing, 1 what it measures to be best, 2 and 3 always the same |
//! | `l` | `[lane, attempts, commits, conflicts, waits, wait_conflicts, wakes, idle_wakes, invalid, exceptions, nested_conflicts, backoffs, backoff_ns, limited, limited_ns, decisions, restarts, arm, limit]` |
//! | `n` | `[number, name, attempts, commits, waits, exceptions]` |
//! | `a` | attempts as the runtime counts them, including nested ones |
//! | `last` | true: the last look, which found no change |
//! | `gone` | true: the process had ended since the look before |
//!
//! Counts are cumulative and written when they have changed. Unknown keys are skipped. The file is append-only and
//! may be truncated anywhere.

use super::lines::{self, Damaged, JsonLines, OfLine};
use rtscope_model::{STM_COUNTS, StmCounts, StmLine, StmNamed, StmSeen, Time};
use serde::{Deserialize, Serialize};

/// Number of values in a lane's line.
const LANE_NUMBERS: usize = 1 + STM_COUNTS + 2;

/// Appends one line.
pub fn write_line(out: &mut Vec<u8>, line: &StmLine) {
    let StmLine { time: Time(t), pid: p, seen } = line;
    let (t, p) = (*t, *p);
    let mut written = WrittenStm { t, p, ..WrittenStm::default() };
    match seen {
        StmSeen::Source { whole, outcomes, why } => written.src = Some((*whole, *outcomes, why.clone())),
        StmSeen::Mode(mode) => written.m = Some(*mode),
        StmSeen::Lane(lane, counts) => {
            let now = [u64::from(counts.arm), u64::from(counts.limit)];
            written.l = Some([u64::from(*lane)].into_iter().chain(counts.counts()).chain(now).collect());
        }
        StmSeen::Name(number, name, counts) => {
            let [attempts, commits, waits, exceptions] = counts.counts();
            written.n = Some((*number, name.clone(), attempts, commits, waits, exceptions));
        }
        StmSeen::Attempts(attempts) => written.a = Some(*attempts),
        StmSeen::Last => written.last = Some(true),
        StmSeen::Gone => written.gone = Some(true),
    }
    lines::write(out, &written);
}

#[derive(Default, Serialize, Deserialize)]
struct WrittenStm {
    t: u64,
    p: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    src: Option<(bool, bool, Option<String>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    m: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    l: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<(u16, String, u64, u64, u64, u64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<bool>,
}

impl WrittenStm {
    /// The content of the line; `None`: something that a later recorder writes.
    fn seen(self) -> Result<Option<StmSeen>, Damaged> {
        if let Some((whole, outcomes, why)) = self.src {
            return Ok(Some(StmSeen::Source { whole, outcomes, why }));
        }
        if let Some((number, name, attempts, commits, waits, exceptions)) = self.n {
            return Ok(Some(StmSeen::Name(number, name, StmNamed::of([attempts, commits, waits, exceptions]))));
        }
        if let Some(numbers) = self.l {
            return lane(&numbers).ok_or(Damaged).map(Some);
        }
        let mode = self.m.map(StmSeen::Mode);
        let end = self.last.map(|_| StmSeen::Last).or(self.gone.map(|_| StmSeen::Gone));
        Ok(mode.or(self.a.map(StmSeen::Attempts)).or(end))
    }
}

fn lane(numbers: &[u64]) -> Option<StmSeen> {
    let numbers: &[u64; LANE_NUMBERS] = numbers.try_into().ok()?;
    let [lane, counts @ .., arm, limit] = *numbers;
    let (arm, limit) = (u32::try_from(arm).ok()?, u32::try_from(limit).ok()?);
    Some(StmSeen::Lane(u16::try_from(lane).ok()?, StmCounts::of(counts, arm, limit)))
}

/// The lines of `stm.jsonl`.
pub type StmStream<R> = JsonLines<R, StmLine>;

impl OfLine for StmLine {
    const FILE: &'static str = "stm";
    const BYTES_MAX: u64 = 4096;

    fn of_line(line: &[u8]) -> Result<Option<Self>, Damaged> {
        let line: WrittenStm = serde_json::from_slice(line)?;
        let (time, pid) = (Time(line.t), line.p);
        Ok(line.seen()?.map(|seen| StmLine { time, pid, seen }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<StmLine> {
        let counts = StmCounts::of(std::array::from_fn(|index| index as u64 * 1_000_003), 1, 4);
        let named = StmNamed { attempts: 9, commits: 4, waits: 2, exceptions: 1 };
        let seen = [
            StmSeen::Source { whole: true, outcomes: false, why: Some("a \"word\"".into()) },
            StmSeen::Source { whole: false, outcomes: true, why: None },
            StmSeen::Mode(1),
            StmSeen::Lane(3, counts),
            StmSeen::Name(0, "trans\nfer ü".into(), named),
            StmSeen::Attempts(u64::MAX),
            StmSeen::Last,
            StmSeen::Gone,
        ];
        let line = |(index, seen)| StmLine { time: Time(index as u64), pid: 12, seen };
        seen.into_iter().enumerate().map(line).collect()
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        all().iter().for_each(|line| write_line(&mut bytes, line));
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = written();
        let mut stream = StmStream::new(&bytes[..]);
        assert_eq!(stream.by_ref().collect::<Vec<_>>(), all());
        assert!(stream.losses().is_empty());
        assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), all().len());
    }

    #[test]
    fn a_cut_at_every_byte_gives_the_lines_before_it() {
        let bytes = written();
        for end in 0..bytes.len() {
            let mut stream = StmStream::new(&bytes[..end]);
            let whole = bytes[..end].iter().filter(|byte| **byte == b'\n').count();
            let read = stream.by_ref().count();
            assert!(read == whole || (read == whole + 1 && bytes[end] == b'\n'), "{end}");
            assert!(stream.losses().is_empty());
        }
    }

    #[test]
    fn damage_is_counted_and_what_is_new_is_skipped() {
        let mut bytes = b"{\"t\":1,\"p\":2,\"a\":3}\n\xff\n{\"t\":1,\"p\":2,\"new\":[]}\n\n".to_vec();
        bytes.extend(b"{\"t\":1,\"p\":2,\"l\":[0,1]}\n{\"t\":1,\"p\":2,\"l\":[99999999,");
        bytes.extend(b"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,0,0]}\n{\"t\":5,\"p\":2,\"a\":9}\n");
        let mut stream = StmStream::new(&bytes[..]);
        let read: Vec<_> = stream.by_ref().map(|line| line.seen).collect();
        assert_eq!(read, [StmSeen::Attempts(3), StmSeen::Attempts(9)]);
        assert_eq!(stream.losses().first().map(|loss| loss.count), Some(3));
    }
}
