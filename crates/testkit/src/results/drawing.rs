//! Handmade input for the fixtures' pictures.

use super::base::{MS, START};
use rtscope_analyze::results::LanesOverTime;
use rtscope_analyze::results::heap_profile;
use rtscope_analyze::results::*;
use rtscope_model::{
    Cause, CausePiece, Confidence, LaneId, LanePause, Names, Pause, PauseKind, PauseMode, PauseQuality, ReleaseBasis,
    Tid, Time,
};

/// Small deterministic noise.
struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }
}

/// Pictures of a program with two lanes whose waits have one main cause.
pub fn of_two_lanes(names: &mut Names, span_ns: u64, main: Cause, taker: Option<&str>) -> Drawing {
    of_lanes(names, 2, span_ns, main, taker)
}

/// Pictures of a throttled program with many lanes.
pub fn of_many_lanes(names: &mut Names, lanes: u16, span_ns: u64) -> Drawing {
    of_lanes(names, lanes, span_ns, Cause::Throttled, None)
}

fn of_lanes(names: &mut Names, lanes: u16, span_ns: u64, main: Cause, taker: Option<&str>) -> Drawing {
    let mut noise = Noise(7);
    let stop_max = match main {
        Cause::Throttled => 78_800_000,
        Cause::Preempted => 8_050_000,
        _ => 260_000,
    };
    let worst = (0..10).map(|rank| worst(names, &mut noise, lanes, span_ns, stop_max, rank, main, taker)).collect();
    Drawing {
        over_time: over_time(&mut noise, span_ns, stop_max),
        worst,
        memory: memory(&mut noise, span_ns),
        symbols: Default::default(),
        lanes: Some(lanes_over_time(&mut noise, lanes, span_ns)),
    }
}

fn over_time(noise: &mut Noise, span_ns: u64, stop_max: u64) -> Vec<PauseSlice> {
    let slice = span_ns / 150;
    (0..150u64)
        .map(|n| {
            let stalled = n % 5 > 1 || stop_max < MS;
            let stop_ns = if stalled { noise.below(stop_max.min(slice * 9 / 10)) } else { noise.below(MS) };
            PauseSlice {
                from: START.plus(n * slice),
                to: START.plus((n + 1) * slice),
                count: 5 + noise.below(3),
                max_ns: stop_ns + 150_000,
                stop_ns,
                collect_ns: (slice / 9).min(2 * MS) + noise.below(MS),
                release_ns: noise.below(200_000),
            }
        })
        .collect()
}

/// Lanes that mostly run the program, with some pauses.
fn lanes_over_time(noise: &mut Noise, lanes: u16, span_ns: u64) -> LanesOverTime {
    let column_ns = span_ns / 120;
    let mut column = |_| {
        let (stop, collect) = (noise.below(column_ns / 2), noise.below(column_ns / 4));
        [column_ns - stop - collect, collect, stop / 2, 0, stop - stop / 2, 0, 0, 0, 0, 0]
    };
    let all = (0..lanes.min(16)).map(|lane| (LaneId(lane), (0..120).map(&mut column).collect()));
    LanesOverTime { from: START, column_ns, lanes: all.collect(), left_out: u64::from(lanes.saturating_sub(16)) }
}

fn memory(noise: &mut Noise, span_ns: u64) -> Vec<MemoryLine> {
    let mut line = |name, base: u64, swing: u64, points: u64| MemoryLine {
        name,
        points: (0..points)
            .map(|n| (START.plus(span_ns * n / points), (base << 20) * (n + 8).min(40) / 40 + noise.below(swing << 20)))
            .collect(),
    };
    vec![line("rss", 80, 2, 300), line("heap", 72, 1, 60), line("blocks", 50, 9, 200), line("live", 28, 3, 9)]
}

/// Labels as GHC writes them, and some that no closure has.
pub const LABELS: [&str; 17] = [
    "ARR_WORDS",
    "containers-0.6.7:Data.Map.Internal.Bin",
    "ghc-prim:GHC.Types.I#",
    "ghc-prim:GHC.Types.:",
    "main:Main.Leaf",
    "main:Main.Twig",
    "<svg onload=alert(1)>\u{1b}[2J",
    "thunk forall a1. Int -> a1 -> Map Int a1 -> Map Int a1, Main.step (Grow.hs:(13,1)-(17,42))",
    "THUNK_0_1",
    "STACK",
    "TSO",
    "WEAK",
    "MVAR_CLEAN",
    "MUT_VAR_DIRTY",
    "FUN_1_0",
    "PAP",
    "BLACKHOLE",
];

/// A heap profile that grows, falls and grows; each label has less than the previous one.
pub fn heap_profile(span_ns: u64, labels: &[&str]) -> heap_profile::ProfileSummary {
    let mut noise = Noise(5);
    let mut points = |rank: u64| -> Vec<(Time, u64)> {
        let most = (12 << 20) / (rank + 1);
        let bytes = |n: u64| most * (if n < 60 { n } else { n - 45 }) / 60;
        (0..100).map(|n| (START.plus(span_ns * n / 100), bytes(n) + noise.below(most / 20))).collect()
    };
    let most = |points: &[(Time, u64)]| points.iter().map(|(_, bytes)| *bytes).max().unwrap();
    let last = |points: &[(Time, u64)]| points.last().unwrap().1;
    let (shown, rest) = labels.split_at(labels.len().min(15));
    let band = |(label, rank): (&&str, u64)| {
        let points = points(rank);
        let (max_bytes, last_bytes) = (most(&points), last(&points));
        heap_profile::Band { label: label.to_string(), max_bytes, last_bytes, points }
    };
    let bands: Vec<_> = shown.iter().zip(0..).map(band).collect();
    let points = points(19);
    let (labels, max_bytes, last_bytes) = (rest.len() as u64, most(&points), last(&points));
    let other = heap_profile::Rest { labels, max_bytes, last_bytes, points };
    let sum = |of: fn(&heap_profile::Band) -> u64| bands.iter().map(of).sum::<u64>();
    heap_profile::ProfileSummary {
        breakdown: "closure type",
        samples: 2_000,
        cut: 1,
        max_bytes: sum(|band| band.max_bytes) + max_bytes,
        last_bytes: sum(|band| band.last_bytes) + last_bytes,
        bands,
        other: Some(other),
    }
}

/// Adds the line of the largest live heap so far.
pub fn add_residency(memory: &mut Vec<MemoryLine>) {
    let Some(at) = memory.iter().position(|line| line.name == "live") else { return };
    let mut most = 0;
    let so_far = |(at, bytes): &(Time, u64)| {
        most = most.max(*bytes);
        (*at, most)
    };
    let points = memory[at].points.iter().map(so_far).collect();
    memory.insert(at, MemoryLine { name: "residency", points });
}

/// Many short pauses, some that waited for up to `stop_max`, hardly any in between.
pub fn spectrum(stop_max: u64) -> Vec<Column> {
    let mut noise = Noise(11);
    let edges: Vec<u64> = (0..40).map(|half| (65_536.0 * 2f64.powf(f64::from(half) / 2.0)) as u64).collect();
    let column = |pair: &[u64]| {
        let (from_ns, to_ns) = (pair[0], pair[1]);
        let near = if from_ns < 500_000 { 110 + noise.below(90) } else { noise.below(2) };
        let stalls = if from_ns > stop_max / 3 { 3 + noise.below(9) } else { 0 };
        let count = near + stalls;
        Column { from_ns, to_ns, count, sum_ns: count * (from_ns + to_ns) / 2 }
    };
    edges.windows(2).take_while(|pair| pair[0] < stop_max * 5 / 4).map(column).collect()
}

#[allow(clippy::too_many_arguments)]
fn worst(
    names: &mut Names,
    noise: &mut Noise,
    lanes: u16,
    span_ns: u64,
    stop_max: u64,
    rank: u64,
    main: Cause,
    taker: Option<&str>,
) -> WorstPause {
    let requested = START.plus(span_ns / 11 * (rank * 7 % 10) + 1_204_881);
    let stop_ns = stop_max - stop_max / 30 * rank;
    let stopped = requested.plus(stop_ns);
    let collected = stopped.plus(if rank == 2 { 52_600_000.min(stop_max) } else { stop_max / 14 });
    let released = collected.plus(9_000 + stop_max / 40);
    let straggler = LaneId((rank as u16 + 1) % lanes);
    let part = |lane: u16| {
        let last = LaneId(lane) == straggler;
        let arrived = if last { stopped } else { requested.plus(4_000 + u64::from(lane) * 900) };
        LanePause {
            lane: LaneId(lane),
            tid: Some(Tid(4101 + u32::from(lane) * 3)),
            arrived: Some(arrived),
            work_begin: Some(stopped.plus(2_000)),
            work_end: Some(collected.minus(if last { 0 } else { stop_max / 90 })),
            work_ns: collected.since(stopped) * 9 / 10,
            left: Some(if lane == 0 { released } else { collected.plus(7_000) }),
        }
    };
    let pause = Pause {
        id: 40 + rank * 71,
        kind: if rank == 2 { PauseKind::Major } else { PauseKind::Minor },
        mode: PauseMode::Parallel,
        generation: Some(u16::from(rank == 2)),
        leader: Some(LaneId(rank as u16 % lanes)),
        requested: Some(requested),
        stopped,
        collected,
        released,
        release_basis: ReleaseBasis::BackAtWork,
        straggler: Some(straggler),
        lanes: (0..lanes).map(part).collect(),
        copied_bytes: Some(2_096_128 + noise.below(90_000)),
        gc_threads: Some(u32::from(lanes)),
        quality: PauseQuality::Whole,
    };
    let ran = requested.plus(stop_ns / 40);
    let woken = stopped.minus(stop_ns / 90);
    let piece = |cause, from: Time, to: Time, confidence| CausePiece {
        cause,
        lane: Some(straggler),
        tid: Some(Tid(4101 + u32::from(straggler.0) * 3)),
        who: None,
        who_pid: None,
        code: None,
        neighbour: false,
        from,
        to,
        confidence,
    };
    let mut causes = vec![
        piece(Cause::Running, requested, ran, Confidence::High),
        piece(main, ran, woken, Confidence::High),
        piece(Cause::WakeLatency, woken, stopped, Confidence::Medium),
    ];
    if let (Some(taker), Some(piece)) = (taker, causes.get_mut(1)) {
        piece.who = Some(names.intern(taker));
        piece.who_pid = Some(4242);
    }
    let states = pause.lanes.iter().map(|part| states(part, &pause, [ran, woken], taker)).collect();
    WorstPause { blamed: BlamedPause { pause, causes, kept_ns: None }, states }
}

fn states(part: &LanePause, pause: &Pause, [ran, woken]: [Time; 2], taker: Option<&str>) -> LaneStates {
    let begin = pause.begin();
    let span = |from, to, state, taker: Option<&str>| StateSpan { from, to, state, who: taker.map(String::from) };
    let spans = if Some(part.lane) == pause.straggler {
        let taker = taker.map(|taker| format!("{taker} (pid 4242)"));
        vec![
            span(begin, ran, ThreadState::Running, None),
            span(ran, woken, ThreadState::Runnable, taker.as_deref()),
            span(woken, pause.stopped, ThreadState::Runnable, None),
            span(pause.stopped, pause.released, ThreadState::Running, None),
        ]
    } else {
        let arrived = part.arrived.unwrap_or(begin);
        vec![
            span(begin, arrived.plus(2_000), ThreadState::Running, None),
            span(arrived.plus(2_000), pause.stopped, ThreadState::Sleeping, None),
            span(pause.stopped, pause.released, ThreadState::Running, None),
        ]
    };
    LaneStates { lane: part.lane.0, tid: part.tid.map_or(0, |tid| tid.0), spans }
}
