//! What `rtscope top` draws, against golden files: from values to lines.
//! `RTSCOPE_BLESS=1 cargo test -p rtscope` rewrites them.

use testkit::blessed;

use rtscope::top::{Shown, View, frame, line};
use rtscope_analyze::recording::stm::StmRates;
use rtscope_analyze::results::{Distribution, Pauses};
use rtscope_analyze::window::{KeptOff, LaneShares, Levels, Throttled, WindowFigures, WorstWait};
use rtscope_model::manifest::Tier;
use rtscope_model::{Cause, Loss, LossKind, Node, Time};
use rtscope_terminal::style::{Style, screen};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

fn dist(count: u64, [p50, p99, max]: [u64; 3]) -> Distribution {
    Distribution { count, p50: Some(p50), p99: Some(p99), max: Some(max), ..Distribution::default() }
}

fn lane(id: u16, shares: [Option<f64>; 4], straggler: u64) -> LaneShares {
    let [program, collect, wait, idle] = shares;
    LaneShares { id, name: format!("capability {id}"), program, collect, wait, idle, straggler }
}

/// A GHC program under a quota, with a neighbour.
fn throttled() -> (View, Shown) {
    let view = View {
        of: "process 4242".into(),
        command: "./mill --port 8080 +RTS -N2 -l".into(),
        runtime: Some("GHC 9.6.6 (threaded)".into()),
        kernel: Some(Tier::Tracepoints),
        cpus_available: Some(0.5),
        quotas: vec![Some(0.5), None],
        log: true,
    };
    let figures = WindowFigures {
        at: Time(100 * SECOND),
        span_ns: 10 * SECOND,
        pauses: Pauses {
            count: 412,
            partial: 3,
            per_second: 41.2,
            total_ns: 6_100 * MS,
            time_to_stop_ns: dist(409, [18 * US, 52 * MS, 61 * MS]),
            collect_ns: dist(409, [900 * US, 4 * MS, 9 * MS]),
            pause_ns: dist(409, [1_100 * US, 55 * MS, 64 * MS]),
            ..Pauses::default()
        },
        productivity_wall: Some(0.214),
        productivity_runtime: Some(0.93),
        cpus_used: Some(0.499),
        cpus_missed: Some(1.31),
        account: vec![
            Node::sum(
                "no-cpu",
                "had work, had no CPU",
                vec![Node::leaf("quota", "a CPU quota was used up", 12_800 * MS)],
            ),
            Node::leaf("program", "program", 4_200 * MS),
            Node::leaf("standing-still", "standing still for a pause", 2_600 * MS),
            Node::leaf("collecting", "collecting", 400 * MS),
        ],
        lanes: vec![
            lane(0, [Some(0.21), Some(0.02), Some(0.61), Some(0.01)], 77),
            lane(1, [None, Some(0.02), Some(0.55), None], 335),
        ],
        transactions: Some(StmRates {
            attempts_per_second: 401_234.0,
            commits_per_second: Some(252_100.0),
            lost_share: Some(0.371),
        }),
        worst: Some(WorstWait {
            cause: Cause::Throttled,
            who: Some("stress\x1b[2J".into()),
            sum_ns: 5_600 * MS,
            share: 0.92,
            longest_ns: 60 * MS,
        }),
        kept: Some(KeptOff { quota: 0.88, others: 0.031, who: Some("stress".into()), own: 0.0 }),
        throttled: Some(Throttled { group: 0, periods: 100, throttled: 98, throttled_ns: 11_400 * MS }),
        memory: Levels {
            rss_bytes: Some(212 << 20),
            heap_bytes: Some(180 << 20),
            live_bytes: Some(60 << 20),
            live_at: Some(Time(88 * SECOND)),
        },
    };
    let mut shown = Shown { figures, seconds: 73.0, keys: true, own_cpu: Some(0.012), ..Shown::default() };
    let loss =
        |kind| Loss { source: "sched/cpu0.perf".into(), kind, count: 1, from: None, to: None, note: String::new() };
    [LossKind::Unwritten, LossKind::KernelRecords, LossKind::KernelRecords, LossKind::OutOfOrder]
        .map(loss)
        .iter()
        .for_each(|loss| shown.lost(loss));
    (view, shown)
}

/// An unknown runtime: counters only.
fn unknown() -> (View, Shown) {
    let view =
        View { of: "process 7".into(), command: "sleep 1000".into(), kernel: Some(Tier::Polling), ..View::default() };
    let figures = WindowFigures {
        span_ns: 10 * SECOND,
        cpus_used: Some(0.0),
        cpus_missed: Some(0.0),
        memory: Levels { rss_bytes: Some(3 << 20), ..Levels::default() },
        ..WindowFigures::default()
    };
    let notes = vec![
        "No pauses: by its file it is not a program of GHC or OCaml 5; what the kernel and /proc say is shown.".into(),
    ];
    (view, Shown { figures, notes, seconds: 12.0, own_cpu: Some(0.0004), ..Shown::default() })
}

/// An OCaml program that has ended.
fn ended() -> (View, Shown) {
    let view = View {
        of: "process 99".into(),
        command: "./solver".into(),
        runtime: Some("OCaml 5.4".into()),
        kernel: Some(Tier::OwnSwitches),
        cpus_available: Some(2.0),
        log: true,
        ..View::default()
    };
    let domain = |id: u16| LaneShares {
        name: format!("domain {id}"),
        ..lane(id, [Some(0.97), Some(0.01), Some(0.0), Some(0.02)], 5)
    };
    let figures = WindowFigures {
        span_ns: 4 * SECOND,
        pauses: Pauses {
            count: 10,
            per_second: 2.5,
            total_ns: 3 * MS,
            time_to_stop_ns: dist(10, [2 * US, 9 * US, 9 * US]),
            pause_ns: dist(10, [200 * US, 500 * US, 500 * US]),
            ..Pauses::default()
        },
        productivity_wall: Some(0.99),
        lanes: (0..3).map(domain).collect(),
        kept: Some(KeptOff::default()),
        throttled: Some(Throttled { group: 9, periods: 0, throttled: 0, throttled_ns: 0 }),
        ..WindowFigures::default()
    };
    (view, Shown { figures, over: Some("process 99 has ended".into()), seconds: 4.2, ..Shown::default() })
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[test]
fn every_situation_is_drawn_as_agreed() {
    let wide = Style::plain(100);
    for (name, (view, shown)) in [("throttled", throttled()), ("unknown", unknown()), ("ended", ended())] {
        let drawn = format!("{}\n{}\n", text(&frame(&view, &shown, &wide)), line(&view, &shown));
        blessed::check(&format!("top_{name}.txt"), &drawn);
        assert!(!drawn.contains('\x1b'), "{drawn}");
    }
}

#[test]
fn a_narrow_terminal_is_not_overrun() {
    for width in [32, 40, 60, 72, 80, 110] {
        for (view, shown) in [throttled(), unknown(), ended()] {
            for line in frame(&view, &shown, &Style::plain(width)) {
                assert!(line.trim_end().chars().count() <= width, "{width}: {line}");
            }
        }
    }
    let (view, shown) = throttled();
    blessed::check("top_throttled-60.txt", &text(&frame(&view, &shown, &Style { unicode: true, ..Style::plain(60) })));
}

#[test]
fn colour_changes_nothing_but_colour() {
    let (view, shown) = throttled();
    let plain = frame(&view, &shown, &Style::plain(90));
    let painted = frame(&view, &shown, &Style { colour: true, ..Style::plain(90) });
    assert!(painted.iter().any(|line| line.contains("\x1b[1;31m")));
    let strip = |line: &String| {
        let mut out = String::new();
        let mut rest = line.as_str();
        while let Some((before, after)) = rest.split_once("\x1b[") {
            out += before;
            rest = after.split_once('m').map_or("", |(_, after)| after);
        }
        out + rest
    };
    assert_eq!(painted.iter().map(strip).collect::<Vec<_>>(), plain);
}

#[test]
fn a_short_terminal_gets_the_first_lines_and_never_scrolls() {
    let lines: Vec<String> = (0..30).map(|number| format!("line {number}")).collect();
    for rows in [0, 1, 2, 24, 30, 31] {
        let drawn = screen(&lines, rows);
        let newlines = drawn.matches("\r\n").count();
        assert!(newlines < rows.max(1), "{rows}: {newlines}");
        assert_eq!(drawn.contains("..."), rows < 30, "{rows}");
        assert!(drawn.starts_with("\x1b[H") && drawn.ends_with("\x1b[J"), "{drawn:?}");
    }
}

#[test]
fn many_lanes_are_cut_and_counted() {
    let (view, mut shown) = throttled();
    shown.figures.lanes = (0..200).map(|id| lane(id, [Some(0.5), None, None, None], 0)).collect();
    let lines = frame(&view, &shown, &Style::plain(100));
    assert!(lines.len() < 100 && lines.iter().any(|line| line == "and 136 more"), "{}", lines.len());
}
