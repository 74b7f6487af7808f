//! Serves a made-up recording to the browser test: situations with a known truth, some of which no short log
//! has (512 lanes, three days, gaps, a program without a runtime). Owns generating them; asserts nothing.
//!
//!   made_view SITUATION      prints the page's address, ends with its standard input
//!
//! Its output depends on the situation alone.

use rtscope_analyze::results::BlamedPause;
use rtscope_levels::{Point, Reader, Span, Writer};
use rtscope_model::{
    Cause, CausePiece, Confidence, LaneId, LanePause, Names, Pause, PauseKind, PauseMode, PauseQuality, ReleaseBasis,
    Symbols, Tid, Time,
};
use rtscope_report::kinds::{SpanKind, described};
use rtscope_view::api::View;
use rtscope_view::pauses::BookWriter;
use rtscope_view::server::Server;
use rtscope_view::session::{Change, Form, Gap, SCHEMA, Session, ShownFinding, Track, TrackGroup};
use std::io::{self, Read};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const START: u64 = 81_234 * SECOND;

/// Why lanes come late.
#[derive(Copy, Clone, Eq, PartialEq)]
enum Delay {
    Nothing,
    Throttled,
    Preempted,
    Oversubscribed,
}

struct Situation {
    lanes: u32,
    span_ns: u64,
    /// Time between two collections.
    every_ns: u64,
    delay: Delay,
    kernel: bool,
    gaps: bool,
    hostile: bool,
    /// Millions of spans.
    dense: bool,
}

const USUAL: Situation = Situation {
    lanes: 4,
    span_ns: 3_200 * MS,
    every_ns: 9 * MS,
    delay: Delay::Nothing,
    kernel: true,
    gaps: false,
    hostile: false,
    dense: false,
};

fn situation(name: &str) -> Option<Situation> {
    Some(match name {
        "usual" => USUAL,
        "throttled" => Situation { lanes: 2, delay: Delay::Throttled, ..USUAL },
        "preempted" => Situation { delay: Delay::Preempted, ..USUAL },
        "oversubscribed" => Situation { lanes: 6, delay: Delay::Oversubscribed, ..USUAL },
        "gaps" => Situation { gaps: true, ..USUAL },
        "one_lane" => Situation { lanes: 1, ..USUAL },
        "many_lanes" => Situation { lanes: 512, span_ns: 400 * MS, ..USUAL },
        "short" => Situation { span_ns: 50 * MS, every_ns: 3 * MS, ..USUAL },
        "three_days" => Situation { span_ns: 3 * 86_400 * SECOND, every_ns: 40 * SECOND, ..USUAL },
        "no_kernel" => Situation { kernel: false, ..USUAL },
        "no_runtime" => Situation { lanes: 0, ..USUAL },
        // Ten million spans: measured by hand, with an optimised build.
        "large" => Situation { lanes: 16, span_ns: 64 * SECOND, dense: true, delay: Delay::Preempted, ..USUAL },
        "hostile" => Situation { hostile: true, ..USUAL },
        _ => return None,
    })
}

fn main() -> io::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let situation = situation(&name).ok_or_else(|| io::Error::other("no such situation"))?;
    let server = Server::bind(0)?;
    println!("{}", server.url()?);
    let view = Made::new(&name, &situation).make()?;
    let end = async {
        drop(tokio::task::spawn_blocking(|| io::stdin().read_to_end(&mut Vec::new())).await);
    };
    server.run(view, end, || ())
}

/// A deterministic generator of random numbers.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

struct Made<'s> {
    name: &'s str,
    of: &'s Situation,
    chance: Chance,
    levels: Writer<Vec<u8>>,
    names: Names,
    details: Vec<String>,
    /// Time up to which each lane and its thread are drawn.
    at: Vec<u64>,
    kernel_at: Vec<u64>,
    pauses: Vec<BlamedPause>,
}

const TAKERS: [&str; 3] = ["rustc", "ffmpeg", "kworker/u8:2"];
const PAUSES: u32 = 0;
const RSS: u32 = 1;
const HEAP: u32 = 2;
const LIVE: u32 = 3;
const RATE: u32 = 4;

fn lane_track(lane: u32) -> u32 {
    100 + lane * 4
}

impl<'s> Made<'s> {
    fn new(name: &'s str, of: &'s Situation) -> Self {
        let mut details = vec![String::new()];
        details.extend(TAKERS.map(String::from));
        details.extend((0..of.lanes).map(|lane| format!("CPU {}", lane % 8)));
        Made {
            name,
            of,
            chance: Chance(0x9e37_79b9_7f4a_7c15),
            levels: Writer::new(Vec::new()).expect("memory takes what is written"),
            names: Names::default(),
            details,
            at: vec![0; of.lanes as usize],
            kernel_at: vec![0; of.lanes as usize],
            pauses: Vec::new(),
        }
    }

    fn span(&mut self, track: u32, from: u64, to: u64, kind: SpanKind, detail: u32) {
        self.levels.spans(track, Span { from, to, kind: kind.id(), detail }).expect("memory takes what is written");
    }

    fn point(&mut self, track: u32, at: u64, value: i64) {
        self.levels.point(track, Point { at, value }).expect("memory takes what is written");
    }

    fn make(mut self) -> io::Result<View> {
        let mut at = self.of.every_ns / 2;
        while self.of.lanes > 0 && at + 200 * MS.min(self.of.every_ns) < self.of.span_ns {
            let end = self.pause(at);
            at = end + self.of.every_ns / 2 + self.chance.below(self.of.every_ns);
        }
        for lane in 0..self.of.lanes {
            self.lane_to(lane, self.of.span_ns, SpanKind::Program);
            self.thread_to(lane, self.of.span_ns, SpanKind::Running, 0);
        }
        self.values();
        let mut session = self.session();
        self.groups(&mut session);
        session.details = std::mem::take(&mut self.details);
        let mut book = BookWriter::new(tempfile::tempfile()?, tempfile::tempfile()?);
        let symbols = Symbols::default();
        for pause in &self.pauses {
            book.add(pause, &self.names, &symbols)?;
        }
        let report = self.report();
        let bytes = self.levels.finish(b"")?;
        let length = bytes.len() as u64;
        let levels = Reader::open(std::sync::Arc::new(bytes), length).map_err(io::Error::other)?;
        Ok(View::new(session, report, levels, book.finish()?))
    }

    fn lane_to(&mut self, lane: u32, to: u64, kind: SpanKind) {
        let mut from = std::mem::replace(&mut self.at[lane as usize], to);
        while self.of.dense && kind == SpanKind::Program && to.saturating_sub(from) > 200_000 {
            let (works, rests) = (from + 20_000 + self.chance.below(120_000), 2_000 + self.chance.below(50_000));
            self.span(lane_track(lane), from, works, SpanKind::Program, 0);
            self.span(lane_track(lane), works, works + rests, SpanKind::Idle, 0);
            from = works + rests;
        }
        if to > from {
            self.span(lane_track(lane), from, to, kind, 0);
        }
    }

    fn thread_to(&mut self, lane: u32, to: u64, kind: SpanKind, detail: u32) {
        let from = std::mem::replace(&mut self.kernel_at[lane as usize], to);
        if to > from && self.of.kernel {
            self.span(lane_track(lane) + 1, from, to, kind, detail);
            let cpu = 1 + TAKERS.len() as u32 + lane;
            if kind == SpanKind::Running {
                self.span(lane_track(lane) + 2, from, to, SpanKind::Running, cpu);
            }
        }
    }

    /// One collection, requested at `at`; gives the time when the last lane resumes.
    fn pause(&mut self, at: u64) -> u64 {
        let lanes = self.of.lanes;
        let major = self.pauses.len() % 12 == 11;
        let bad = self.pauses.len() % 7 == 3 && self.of.delay != Delay::Nothing;
        let unit = (self.of.every_ns / 400).max(2_000);
        let late = self.chance.below(u64::from(lanes)) as u32;
        let long = 4 * self.of.every_ns + self.chance.below(3 * self.of.every_ns);
        let arrivals: Vec<u64> =
            (0..lanes).map(|lane| at + self.chance.below(unit) + if bad && lane == late { long } else { 0 }).collect();
        let stopped = arrivals.iter().copied().max().unwrap_or(at) + 300;
        let work = unit * if major { 30 } else { 6 } + self.chance.below(unit * 4);
        let collected = stopped + work;
        let released = collected + 400 * u64::from(lanes.min(8));
        let straggler =
            arrivals.iter().enumerate().max_by_key(|(_, arrived)| **arrived).map_or(0, |(lane, _)| lane as u32);
        let kind = if major { SpanKind::CollectingMajor } else { SpanKind::Collecting };
        let mut parts = Vec::new();
        for (lane, arrived) in (0..lanes).zip(arrivals) {
            self.lane_to(lane, at, SpanKind::Program);
            self.lane_to(lane, arrived, if lane == straggler { SpanKind::WaitingToStop } else { SpanKind::Request });
            self.lane_to(lane, stopped, SpanKind::WaitingForOthers);
            let done = collected - self.chance.below(work / 3);
            self.lane_to(lane, done, kind);
            self.lane_to(lane, collected, SpanKind::WaitingForOthers);
            let left = collected + 400 * u64::from(lane.min(7) + 1);
            self.lane_to(lane, left, SpanKind::Release);
            self.thread(lane, at, arrived, bad && lane == straggler, (stopped, collected, left));
            parts.push(LanePause {
                lane: LaneId(lane as u16),
                tid: self.of.kernel.then_some(Tid(4100 + lane)),
                arrived: Some(Time(START + arrived)),
                work_begin: Some(Time(START + stopped)),
                work_end: Some(Time(START + done)),
                work_ns: done - stopped,
                left: Some(Time(START + left)),
            });
        }
        for (from, to, kind) in [
            (at, stopped, SpanKind::WaitingToStop),
            (stopped, collected, kind),
            (collected, released, SpanKind::Release),
        ] {
            self.span(PAUSES, from, to, kind, 0);
        }
        let causes = self.causes(at, stopped, straggler, bad);
        let pause = Pause {
            id: self.pauses.len() as u64,
            kind: if major { PauseKind::Major } else { PauseKind::Minor },
            mode: PauseMode::Parallel,
            generation: Some(u16::from(major)),
            leader: Some(LaneId(((straggler + 1) % lanes) as u16)),
            requested: Some(Time(START + at)),
            stopped: Time(START + stopped),
            collected: Time(START + collected),
            released: Time(START + released),
            release_basis: ReleaseBasis::BackAtWork,
            straggler: Some(LaneId(straggler as u16)),
            lanes: parts,
            copied_bytes: Some(work * 3),
            gc_threads: Some(lanes),
            quality: PauseQuality::Whole,
        };
        self.pauses.push(BlamedPause { pause, causes, kept_ns: None });
        released
    }

    /// What the kernel did with a lane's thread around a collection.
    fn thread(&mut self, lane: u32, at: u64, arrived: u64, late: bool, (stopped, collected, left): (u64, u64, u64)) {
        self.thread_to(lane, at, SpanKind::Running, 0);
        if late {
            let (kind, detail) = match self.of.delay {
                Delay::Throttled => (SpanKind::Throttled, 0),
                Delay::Preempted => (SpanKind::WaitsForCpu, 1 + (lane % TAKERS.len() as u32)),
                Delay::Oversubscribed | Delay::Nothing => (SpanKind::Queued, 0),
            };
            self.thread_to(lane, arrived - 1_500, kind, detail);
        }
        self.thread_to(lane, arrived, SpanKind::Running, 0);
        self.thread_to(lane, stopped.saturating_sub(500).max(arrived), SpanKind::Asleep, 0);
        self.thread_to(lane, collected, SpanKind::Running, 0);
        self.thread_to(lane, left, SpanKind::Running, 0);
    }

    fn causes(&mut self, at: u64, stopped: u64, straggler: u32, bad: bool) -> Vec<CausePiece> {
        if !self.of.kernel {
            return Vec::new();
        }
        let piece = |cause, thread, from: u64, to: u64| CausePiece {
            cause,
            lane: Some(LaneId(straggler as u16)),
            tid: Some(Tid(4100 + straggler)),
            who: thread,
            who_pid: None,
            code: None,
            neighbour: false,
            from: Time(START + from),
            to: Time(START + to),
            confidence: Confidence::High,
        };
        if !bad {
            return vec![piece(Cause::Running, None, at, stopped)];
        }
        let (cause, thread) = match self.of.delay {
            Delay::Throttled => (Cause::Throttled, None),
            Delay::Preempted => {
                let taker = TAKERS.get(straggler as usize % TAKERS.len()).copied().unwrap_or_default();
                (Cause::Preempted, Some(self.names.intern(taker)))
            }
            Delay::Oversubscribed | Delay::Nothing => (Cause::Oversubscribed, None),
        };
        vec![piece(cause, thread, at, stopped - 1_800), piece(Cause::Running, None, stopped - 1_800, stopped)]
    }

    fn values(&mut self) {
        let step = (self.of.span_ns / 4_000).max(1);
        let (mut heap, mut live) = (60i64 << 20, 18i64 << 20);
        for (number, at) in (0..self.of.span_ns).step_by(step as usize).enumerate() {
            live += (1 << 14) + (self.chance.below(1 << 15) as i64);
            if number % 180 == 179 {
                live = (18 << 20) + (self.chance.below(6 << 20) as i64);
            }
            if live * 3 > heap {
                heap += 8 << 20;
            }
            self.point(LIVE, at, live);
            if number % 20 == 0 {
                self.point(HEAP, at, heap);
                let more = self.chance.below(1 << 20) as i64;
                self.point(RSS, at, heap + (14 << 20) + more);
            }
            let rate = 2_000_000_000 + self.chance.below(900_000_000) as i64;
            self.point(RATE, at, rate);
        }
    }

    fn session(&self) -> Session {
        let span = self.of.span_ns;
        let hostile = "</script><img src=x onerror=alert(1)>\u{202e}\u{1b}[31m";
        let mut session = Session {
            schema: SCHEMA.into(),
            title: if self.of.hostile { format!("{hostile}.rtscope") } else { format!("{}.rtscope", self.name) },
            from_ns: START,
            span_ns: span,
            clock: "CLOCK_MONOTONIC, within 800 ns".into(),
            runtime: (self.of.lanes > 0).then(|| "GHC 9.6.6, threaded".into()),
            lane: "capability".into(),
            kinds: SpanKind::ALL.iter().map(|kind| described(kind.id())).collect(),
            causes: Session::all_causes(),
            ..Session::default()
        };
        if self.of.hostile {
            session.kinds.iter_mut().for_each(|kind| kind.name = format!("{}{hostile}", kind.name));
        }
        let claim = match self.of.delay {
            Delay::Nothing => None,
            Delay::Throttled => Some((
                "cpu-throttled",
                "severe",
                "The CPU quota of 0.5 CPUs held the program off its CPUs for 2.22 s of 3.16 s (70 %).",
            )),
            Delay::Preempted => Some((
                "preempted",
                "warning",
                "Other processes (rustc, ffmpeg) took CPUs from lanes that the others waited for: 1.10 s of 3.20 s.",
            )),
            Delay::Oversubscribed => Some((
                "oversubscribed",
                "warning",
                "6 capabilities share 2 CPUs: lanes queued behind their own siblings for 1.40 s of 3.20 s.",
            )),
        };
        let found = |id: &str, severity: &str, claim: &str, at, to| ShownFinding {
            id: id.into(),
            severity: severity.into(),
            claim: claim.into(),
            seen: vec!["The quota of /bench ran out in 29 of 30 periods.".into(), hostile_if(self.of.hostile, hostile)],
            changes: vec![
                Change {
                    text: "Use fewer capabilities.".into(),
                    paste: Some(format!("+RTS -N1{}", hostile_if(self.of.hostile, hostile))),
                },
                Change { text: "or keep less alive.".into(), paste: None },
            ],
            at_ns: at,
            to_ns: to,
            track: None,
        };
        session
            .findings
            .extend(claim.map(|(id, severity, claim)| found(id, severity, claim, Some(span / 20), Some(span / 2))));
        if self.of.lanes > 0 {
            session.findings.push(found(
                "small-nursery",
                "note",
                "Collections come every 9 ms; a larger allocation area would make them rarer.",
                Some(span / 3),
                Some(span / 3),
            ));
        }
        if self.of.gaps {
            let note = "eventlog/0.eventlog: 1 damaged place skipped";
            session.gaps.push(Gap { from_ns: span / 4, to_ns: span / 4 + span / 12, note: note.into(), track: None });
            session.gaps.push(Gap {
                from_ns: span / 2,
                to_ns: span / 2 + span / 900,
                note: note.into(),
                track: Some(lane_track(1)),
            });
            session.missing.push(note.into());
        }
        if !self.of.kernel {
            session.missing.push("what the machine did to the program: a log on its own does not hold it".into());
        }
        if self.of.lanes == 0 {
            session.missing.push("no runtime's log is here: there are no lanes and no pauses to show".into());
        }
        session
    }

    fn groups(&mut self, session: &mut Session) {
        let track = |id: u32, name: &str, form: Form, unit: Option<&str>| Track {
            id,
            name: name.into(),
            form,
            unit: unit.map(String::from),
            top: 0,
        };
        let mut above = Vec::new();
        if self.of.lanes > 0 {
            above.push(track(PAUSES, "pauses", Form::Spans, None));
        }
        for (id, name) in [(RSS, "RSS"), (HEAP, "heap held"), (LIVE, "live")] {
            above.push(track(id, name, Form::Values, Some("bytes")));
        }
        above.push(track(RATE, "allocation", Form::Values, Some("bytes/s")));
        session.groups.push(TrackGroup {
            name: if self.of.lanes > 0 { "Pauses" } else { "Memory" }.into(),
            sub: None,
            tracks: above,
            folded: false,
        });
        for lane in 0..self.of.lanes {
            let mut tracks = vec![track(lane_track(lane), "lane", Form::Spans, None)];
            if self.of.kernel {
                tracks.push(track(lane_track(lane) + 1, &format!("thread {}", 4100 + lane), Form::Spans, None));
                tracks.push(track(lane_track(lane) + 2, "CPU", Form::Spans, None));
            }
            session.groups.push(TrackGroup { name: format!("capability {lane}"), sub: None, tracks, folded: false });
        }
    }

    fn report(&self) -> Vec<u8> {
        let mut lengths: Vec<u64> =
            self.pauses.iter().map(|blamed| blamed.pause.released.since(blamed.pause.begin())).collect();
        lengths.sort_unstable();
        let at = |share: f64| lengths.get(((lengths.len().max(1) - 1) as f64 * share) as usize).copied();
        serde_json::json!({
            "schema": "rtscope/report/1", "span_ns": self.of.span_ns,
            "pauses": {"count": lengths.len(), "total_ns": lengths.iter().sum::<u64>(),
                "pause_ns": {"p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "p999": at(0.999)}},
        })
        .to_string()
        .into_bytes()
    }
}

fn hostile_if(is: bool, text: &str) -> String {
    if is { text.into() } else { String::new() }
}
