//! Pauses from a raw log, by direct search: for each request the leader's next start and end, then the
//! events of every other capability in between. Quadratic time is fine here, code shared with `analyze` is
//! not: it must be able to disagree.
//!
//! Figures are the log's own nanoseconds: stop = leader's GC_START - REQUEST; collect = leader's GC_END -
//! GC_START; the straggler is the other capability with the latest GC_START. A capability has resumed at its
//! next RUN_THREAD if it had left a thread that would continue there (and was not given away), else at its
//! own GC_END (a lower bound). The pause ends when the last capability has resumed, or at the next request.

use crate::raw_log::{NO_CAP, RawEvent, RawLog, u16_at};
use std::collections::BTreeMap;

const RUN_THREAD: u16 = 1;
const STOP_THREAD: u16 = 2;
const MIGRATE_THREAD: u16 = 4;
const GC_START: u16 = 9;
const GC_END: u16 = 10;
const REQUEST_SEQ: u16 = 11;
const REQUEST_PAR: u16 = 12;
const GC_STATS: u16 = 53;

/// One pause.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RawPause {
    /// When it was requested.
    pub requested: Option<u64>,
    /// When all capabilities had stopped.
    pub stopped: u64,
    /// When the collection was done.
    pub collected: u64,
    /// When the last capability had resumed.
    pub released: u64,
    /// The capability that requested it.
    pub leader: u16,
    /// The last capability to stop, in a parallel collection.
    pub straggler: Option<u16>,
    /// Oldest generation collected.
    pub generation: Option<u16>,
}

/// Events of one capability, in the order in which it posted them.
#[derive(Default)]
struct CapabilityEvents<'log> {
    /// Events of collections.
    gc: Vec<RawEvent<'log>>,
    /// Events of green threads, ascending in time.
    threads: Vec<RawEvent<'log>>,
}

/// Every complete pause of `log`, in the order in which the world stopped.
pub fn pauses(log: &RawLog<'_>) -> Vec<RawPause> {
    let mut lanes: BTreeMap<u16, CapabilityEvents<'_>> = BTreeMap::new();
    for event in log.events.iter().filter(|event| event.cap != NO_CAP) {
        match event.tag {
            RUN_THREAD | STOP_THREAD | MIGRATE_THREAD => lanes.entry(event.cap).or_default().threads.push(*event),
            GC_START | GC_END | REQUEST_SEQ | REQUEST_PAR | GC_STATS => {
                lanes.entry(event.cap).or_default().gc.push(*event);
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (cap, lane) in &lanes {
        for (at, event) in lane.gc.iter().enumerate() {
            // Only a leader posts figures: go back from them to its start and request.
            if event.tag == GC_STATS {
                found.extend(around_stats(*cap, &lane.gc, at, &lanes));
            }
        }
    }
    found.sort_by_key(|pause: &RawPause| pause.stopped);
    for at in 1..found.len() {
        let next = found[at].requested.unwrap_or(found[at].stopped);
        found[at - 1].released = found[at - 1].released.min(next.max(found[at - 1].collected));
    }
    found
}

fn around_stats(
    cap: u16,
    gc: &[RawEvent<'_>],
    stats: usize,
    lanes: &BTreeMap<u16, CapabilityEvents<'_>>,
) -> Option<RawPause> {
    let start = gc[..stats].iter().rposition(|event| event.tag == GC_START)?;
    // GC_END comes right after the figures in 9.x, with an earlier time stamp.
    let end = gc.iter().skip(start).find(|event| event.tag == GC_END)?;
    let mut before = gc[..start].iter().rev().take_while(|event| event.tag != GC_END);
    let request = before.find(|event| [REQUEST_SEQ, REQUEST_PAR].contains(&event.tag));
    let (stopped, collected) = (gc[start].time, end.time);
    let requested = request.map(|event| event.time);
    let mut straggler = None;
    let mut released = collected;
    for (other, lane) in lanes {
        let arrival = arrival(&lane.gc, stopped, collected).filter(|_| *other != cap);
        let mut left = collected;
        if let Some(arrival) = arrival {
            straggler = straggler.max(Some((lane.gc[arrival].time, *other)));
            let end = lane.gc.iter().skip(arrival).find(|event| event.tag == GC_END);
            left = end.map_or(collected, |event| event.time);
        }
        released = released.max(back(&lane.threads, collected).unwrap_or(left));
    }
    let straggler = straggler.map(|(_, other)| other);
    Some(RawPause {
        requested,
        stopped,
        collected,
        released,
        leader: cap,
        straggler,
        generation: u16_at(gc[stats].payload, 4),
    })
}

/// Index of another capability's arrival at a pause: its last GC_START up to `collected` whose own GC_END is
/// not before `stopped`. It may be a few nanoseconds older than the request, which the leader only posts
/// after making it. Time stamps run back by less than a microsecond at ends, hence the additional events.
fn arrival(gc: &[RawEvent<'_>], stopped: u64, collected: u64) -> Option<usize> {
    let after = gc.partition_point(|event| event.time <= collected);
    let after = (after + 8).min(gc.len());
    let at = gc[..after].iter().rposition(|event| event.tag == GC_START && event.time <= collected)?;
    let end = gc.iter().skip(at).find(|event| event.tag == GC_END);
    end.is_none_or(|end| end.time >= stopped).then_some(at)
}

/// When a capability resumed the thread that it had left; `None` if it had none or the log does not say.
fn back(threads: &[RawEvent<'_>], collected: u64) -> Option<u64> {
    let after = threads.partition_point(|event| event.time <= collected);
    let before = threads[..after].iter().rfind(|event| event.tag != MIGRATE_THREAD)?;
    let status = if before.tag == STOP_THREAD { u16_at(before.payload, 4)? } else { return None };
    if !(1..=3).contains(&status) {
        return None;
    }
    let next = threads[after..].iter().find(|event| event.tag == RUN_THREAD || gives_away(event, before))?;
    (next.tag == RUN_THREAD).then_some(next.time)
}

/// Whether `event` sends the thread that `stop` stopped to another capability.
fn gives_away(event: &RawEvent<'_>, stop: &RawEvent<'_>) -> bool {
    event.tag == MIGRATE_THREAD && event.payload.get(..4) == stop.payload.get(..4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(cap: u16, time: u64, tag: u16, payload: &[u8]) -> RawEvent<'_> {
        RawEvent { time, cap, tag, payload }
    }

    #[test]
    fn an_arrival_may_be_older_than_the_request() {
        let stats = [0; 6];
        let events = vec![
            event(0, 100, REQUEST_PAR, &[]),
            event(0, 110, GC_START, &[]),
            event(0, 155, GC_STATS, &stats),
            event(0, 150, GC_END, &[]),
            event(1, 10, GC_START, &[]),
            event(1, 20, GC_END, &[]),
            event(1, 99, GC_START, &[]),
            event(1, 151, GC_END, &[]),
            event(2, 10, GC_START, &[]),
            event(2, 20, GC_END, &[]),
        ];
        let log = RawLog { names: BTreeMap::new(), events };
        let found = pauses(&log);
        assert_eq!((found.len(), found[0].straggler, found[0].released), (1, Some(1), 151));
    }

    #[test]
    fn one_parallel_pause() {
        let stats = [0, 0, 0, 0, 0, 1];
        let yielded = [0, 0, 0, 7, 0, 3, 0, 0, 0, 0];
        let events = vec![
            event(0, 10, REQUEST_PAR, &[]),
            event(0, 30, GC_START, &[]),
            event(0, 55, GC_STATS, &stats),
            event(0, 50, GC_END, &[]),
            event(1, 19, STOP_THREAD, &yielded),
            event(1, 20, GC_START, &[]),
            event(1, 53, GC_END, &[]),
            event(1, 60, RUN_THREAD, &[0, 0, 0, 7]),
            event(2, 25, GC_START, &[]),
            event(2, 52, GC_END, &[]),
        ];
        let log = RawLog { names: BTreeMap::new(), events };
        let expected = RawPause {
            requested: Some(10),
            stopped: 30,
            collected: 50,
            released: 60,
            leader: 0,
            straggler: Some(2),
            generation: Some(1),
        };
        assert_eq!(pauses(&log), [expected]);
    }
}
