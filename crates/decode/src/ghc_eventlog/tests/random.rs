//! Random logs compared with a plain sequential decoder, and random damage.

use super::super::builder::{Field, LogBuilder};
use super::super::import;
use super::super::index::GLOBAL;
use super::super::tags::*;
use super::super::{Header, Next, Record, RecordReader};
use super::{REPORT, brief, classes, open};
use rtscope_model::event::Runtime;
use rtscope_model::{Body, Class, Classes, ClockMap, Event, GreenThread, LaneId, Time};

/// xorshift64*: small, seeded, good enough to vary tests.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % below.max(1)
    }
}

/// A block of a random log: capability, opening, closing, events.
type RandomBlock = (u16, u64, u64, Vec<(u64, u16)>);

/// Blocks of `caps` capabilities and the global buffer, in the order of their ends.
fn blocks(random: &mut Random, caps: u64, per_cap: u64, events: u64) -> Vec<RandomBlock> {
    let tags = [
        RUN_THREAD,
        STOP_THREAD,
        RUN_THREAD,
        STOP_THREAD,
        THREAD_WAKEUP,
        GC_START,
        GC_WORK,
        GC_DONE,
        REQUEST_PAR_GC,
        HEAP_ALLOCATED,
        GC_STATS_GHC,
        GC_END,
        HEAP_SIZE,
        USER_MSG,
    ];
    let mut blocks = Vec::new();
    for cap in (0..caps as u16).chain([GLOBAL]) {
        let mut time = random.next(50);
        for _ in 0..random.next(per_cap + 1) {
            let open = time;
            let inside = (0..random.next(events + 1)).map(|_| {
                time += random.next(30);
                // Some stamps are slightly earlier.
                let stamp = if random.next(20) == 0 { time.saturating_sub(random.next(8)).max(open) } else { time };
                let tag = if cap == GLOBAL { CAP_DISABLE } else { tags[random.next(tags.len() as u64) as usize] };
                (stamp, tag)
            });
            let inside = inside.collect();
            blocks.push((cap, open, time + 1, inside));
            time += random.next(20) + 1;
        }
    }
    blocks.sort_by_key(|block| block.2);
    blocks
}

fn build(blocks: &[RandomBlock]) -> Vec<u8> {
    let mut log = LogBuilder::new();
    for (cap, open, end, events) in blocks {
        log = log.block(*cap, *open, *end, |block| {
            for (index, (time, tag)) in events.iter().enumerate() {
                let thread = index as u32;
                match *tag {
                    STOP_THREAD => block.stop(*time, thread, (index % 8) as u16),
                    USER_MSG => block.event(*time, USER_MSG, &[Field::Bytes(&vec![b'm'; index % 40])]),
                    CAP_DISABLE => block.event(*time, CAP_DISABLE, &[Field::U16(1)]),
                    tag => block.event(*time, tag, &[Field::U32(thread), Field::U64(*time)]),
                };
            }
        });
    }
    log.end()
}

/// The expected stream, by decoding lane after lane and sorting.
fn reference(bytes: &[u8], blocks: &[RandomBlock], list: Classes) -> Vec<Event> {
    let header = Header::parse(bytes).expect("parses");
    let mut found: Vec<(u64, u16, Event)> = Vec::new();
    let mut lanes: Vec<u16> = blocks.iter().map(|block| block.0).collect();
    lanes.sort_unstable();
    lanes.dedup();
    for cap in lanes {
        let mut lane = Lane { cap, list, armed: false, pending: None, found: Vec::new() };
        let mut before: Option<u64> = None;
        for block in blocks.iter().filter(|block| block.0 == cap) {
            if let Some(end) = before
                && list.has(Class::Tracer)
            {
                lane.push(block.1, LaneId(cap), Runtime::TracerWrote { ns: block.1 - end });
            }
            before = Some(block.2);
            let one = build(std::slice::from_ref(block));
            let mut reader = RecordReader::new(&header);
            reader.push(&one[LogBuilder::new().len()..]);
            while let Next::Record(time, record) = reader.next() {
                lane.record(time.0, &record);
            }
        }
        found.extend(lane.found);
    }
    found.sort_by_key(|(time, cap, _)| (*time, *cap));
    found.into_iter().map(|(_, _, event)| event).collect()
}

struct Lane {
    cap: u16,
    list: Classes,
    armed: bool,
    pending: Option<(u64, Runtime)>,
    found: Vec<(u64, u16, Event)>,
}

impl Lane {
    fn push(&mut self, time: u64, lane: LaneId, what: Runtime) {
        self.found.push((time, self.cap, Event { time: Time(time), lane, body: Body::Runtime(what) }));
    }

    fn record(&mut self, time: u64, record: &Record<'_>) {
        let lane = LaneId(self.cap);
        let (all, edges) = (self.list.has(Class::Green), self.list.has(Class::GreenEdges));
        match *record {
            Record::BlockMarker { .. } | Record::UserMsg { .. } => {}
            Record::ThreadWakeup { .. } if all => self.import(time, record),
            Record::ThreadWakeup { .. } => {}
            Record::RunThread { thread } => {
                if all || edges && std::mem::take(&mut self.armed) {
                    self.push(time, lane, Runtime::ThreadRun(GreenThread(thread)));
                }
            }
            Record::StopThread { thread, status, info } => {
                let what = import::stopped(thread, status, info.unwrap_or(0));
                if all {
                    self.push(time, lane, what);
                } else if edges {
                    self.pending = Some((time, what));
                }
            }
            Record::GcStart | Record::GcEnd | Record::GcDone | Record::HeapAllocated { .. } => {
                self.armed = true;
                self.collection(time, record);
            }
            Record::CapDisable { .. } => self.import(time, record),
            _ => self.collection(time, record),
        }
    }

    fn collection(&mut self, time: u64, record: &Record<'_>) {
        if let Some((time, what)) = self.pending.take() {
            self.push(time, LaneId(self.cap), what);
        }
        self.import(time, record);
    }

    fn import(&mut self, time: u64, record: &Record<'_>) {
        let list = self.list;
        let mut found = Vec::new();
        import::import(record, LaneId(self.cap), |lane, what| found.push((lane, what)));
        let wanted = |what: &Runtime| match what {
            Runtime::Count(counter, _) => {
                use rtscope_model::Counter::*;
                list.has(if matches!(counter, AllocatedBytes | HeapBytes) { Class::Heap } else { Class::Figures })
            }
            Runtime::LaneDisabled => list.has(Class::Lanes),
            Runtime::ThreadWoken(_) => list.has(Class::Green),
            _ => list.has(Class::Collection),
        };
        for (lane, what) in found.into_iter().filter(|(_, what)| wanted(what)) {
            self.push(time, lane, what);
        }
    }
}

#[test]
fn a_random_log_streams_as_a_plain_decoding_sorted() {
    let lists =
        [classes(&REPORT), Classes::ALL, classes(&[Class::GreenEdges]), classes(&[Class::Collection, Class::Figures])];
    for seed in 1..120u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (caps, per_cap, events) = (1 + random.next(5), 1 + random.next(6), 1 + random.next(200));
        let blocks = blocks(&mut random, caps, per_cap, events);
        if blocks.is_empty() {
            continue;
        }
        let bytes = build(&blocks);
        let log = open(bytes.clone()).expect("opens");
        for list in lists {
            let expected = reference(&bytes, &blocks, list);
            for (threads, budget) in [(1, 1 << 20), (1, 1), (3, 1), (2, 500)] {
                let mut stream = log.stream_within(list, ClockMap::LOG_OWN, threads, budget);
                let found: Vec<Event> = stream.by_ref().collect();
                let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
                let around = differs.map(|at| (at.saturating_sub(3), (at + 4).min(found.len())));
                let part = around.map(|(from, to)| (brief(&found[from..to]), brief(&expected[from..to])));
                assert_eq!(differs, None, "seed {seed}, {threads} threads, budget {budget}: {part:?}");
                assert_eq!(found.len(), expected.len(), "seed {seed}");
                assert_eq!(stream.tally().losses, [], "seed {seed}");
            }
        }
    }
}

#[test]
fn random_damage_never_panics_and_ends() {
    for seed in 1..400u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let blocks = blocks(&mut random, 3, 4, 40);
        let mut bytes = build(&blocks);
        let data = LogBuilder::new().len() as u64;
        for _ in 0..1 + random.next(12) {
            let at = (data + random.next(bytes.len() as u64 - data)) as usize;
            match random.next(4) {
                0 => bytes[at] = random.next(256) as u8,
                1 => bytes[at] ^= 1 << random.next(8),
                2 => drop(bytes.drain(at..(at + random.next(60) as usize).min(bytes.len()))),
                _ => bytes.splice(at..at, [0, 18, 0, 0, 255, 255]).for_each(drop),
            }
            if bytes.len() as u64 <= data + 1 {
                break;
            }
        }
        if let Ok(log) = open(bytes) {
            let mut stream = log.stream_within(classes(&REPORT), ClockMap::LOG_OWN, 1 + (seed % 3) as usize, 100);
            let events = stream.by_ref().count();
            assert!(events < 100_000);
            assert!(stream.tally().events() > 0 || !stream.tally().losses.is_empty());
        }
    }
}
