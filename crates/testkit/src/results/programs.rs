//! Programs with handmade results: one for each situation that any runtime can be in.

use super::base::{Fixture, MS, SECOND, START, change, dist, seen};
use super::{drawing, looks};
use rtscope_analyze::results::*;
use rtscope_model::{
    Account, Cause, CodeKind, Confidence, Finding, LaneAccount, LaneId, Loss, LossKind, Metric, Names, Node, Remedy,
    Severity, Symbol, Trend,
};

fn level(max: u64, last: u64) -> Option<MemoryLevel> {
    Some(MemoryLevel { max, last, mean: (max + last) as f64 / 2.0 })
}

fn lane(id: u16, tids: &[u32], ns: [Option<u64>; 5]) -> Lane {
    let [mutator_ns, collect_ns, stop_wait_ns, release_wait_ns, idle_ns] = ns;
    Lane {
        id,
        name: format!("capability {id}"),
        tids: tids.to_vec(),
        mutator_ns,
        collect_ns,
        stop_wait_ns,
        release_wait_ns,
        idle_ns,
        allocated_bytes: Some(879_000_000 + u64::from(id) * 1_000),
        allocation_bytes_per_second: Some(293_000_000.0),
        nursery_use: Some(NurseryUse { mean: 0.99 - f64::from(id) / 80.0, min: 0.81 / f64::from(id + 1) }),
        ..Lane::default()
    }
}

fn cause(cause: Cause, who: Option<&str>, sum_ns: u64, share: f64) -> CauseSum {
    CauseSum { cause, who: who.map(String::from), code: None, sum_ns, share }
}

fn checked(id: &'static str) -> Checked {
    let outcome = if id == "cpu-throttled" { RuleOutcome::Found } else { RuleOutcome::Clear };
    Checked { id, outcome, needs: None, why: None }
}

/// A sampled program that spends its time in a foreign call.
pub fn foreign() -> Fixture {
    let mut names = Names::default();
    let mut results = unaccounted().results;
    results.source.path = "caller.rtscope".into();
    results.causes = vec![
        CauseSum { code: Some("c_busy".into()), ..cause(Cause::ForeignCall, None, 1_640 * MS, 0.93) },
        CauseSum { code: Some("stg_gc_noregs".into()), ..cause(Cause::Running, None, 120 * MS, 0.07) },
    ];
    results.findings = vec![Finding {
        id: "unsafe-foreign-call".into(),
        severity: Severity::Severe,
        confidence: Confidence::High,
        claim: "`c_busy`, called from Haskell, kept its capability while every other one waited for a collection, for 1.64 s \
                of 3.01 s (54 %)."
            .into(),
        cost_ns: 1_640 * MS,
        cost_bytes: None,
        share: 0.545,
        evidence: vec![seen("Pauses waited 1.71 s for a capability that was on a CPU: 160 of 166 samples in foreign code.")],
        remedies: vec![Remedy {
            metric: Some(Metric { path: "pauses.time_to_stop_ns.sum".to_owned(), should: Trend::Fall }),
            ..change("Import `c_busy` `safe`.", Some("foreign import ccall safe \"c_busy\" …"), "Record again.")
        }],
    }];
    let mut drawing = drawing::of_two_lanes(&mut names, results.span_ns, Cause::ForeignCall, None);
    let busy = Symbol { name: "c_busy".into(), module: "caller".into(), kind: CodeKind::Foreign, ..Symbol::default() };
    let code = drawing.symbols.add(busy);
    let pieces = drawing.worst.iter_mut().flat_map(|worst| &mut worst.blamed.causes);
    pieces.filter(|piece| piece.cause == Cause::ForeignCall).for_each(|piece| piece.code = Some(code));
    results.drawing = drawing;
    let place = |symbol: &str, module: &str, kind, ms: u64, waited: u64| CodePlace {
        symbol: symbol.into(),
        module: module.into(),
        kind,
        source: None,
        running_ns: ms * MS,
        waited_ns: waited * MS,
    };
    results.code = Some(Code {
        period_ns: 10_309_278,
        samples: 480,
        purposes: vec![PurposeTime {
            inside: true,
            kind: CodeKind::Runtime,
            in_kernel: false,
            purpose: rtscope_model::PurposeId::of("copying"),
            ns: 40 * MS,
        }],
        top: vec![
            place("c_busy", "caller", CodeKind::Foreign, 2_330, 1_650),
            place("Data.Map.Internal.$winsert", "caller", CodeKind::Program, 1_900, 0),
            place("evacuate", "caller", CodeKind::Runtime, 510, 10),
            place("<script>", "[kernel]", CodeKind::Kernel, 70, 0),
            place("", "", CodeKind::Unknown, 1, 0),
        ],
    });
    Fixture { name: "foreign", results, names }
}

/// A rule that was checked and found nothing.
fn clear(id: &'static str) -> Checked {
    Checked { id, outcome: RuleOutcome::Clear, needs: None, why: None }
}

/// A rule that could not be checked: the recording lacks what it needs.
fn unchecked(id: &'static str) -> Checked {
    let why = Some("an eventlog alone does not show what else ran.".into());
    Checked { id, outcome: RuleOutcome::CouldNotLook, needs: Some("scheduling events of all threads"), why }
}

const RULES: [&str; 3] = ["cpu-throttled", "preempted", "oversubscribed"];

/// Two workers of a GHC 9.0.2 program under half a CPU.
pub fn throttled() -> Fixture {
    let mut fixture = unaccounted();
    fixture.results.account = Some(account());
    fixture.results.slowest_pauses = Some(slowest());
    fixture
}

/// The time of two lanes that a quota held off their CPUs.
pub(super) fn account() -> Account {
    let ms = |id: &str, name: &str, ms: u64| Node::leaf(id, name, ms * MS);
    let mut program = ms("program", "program", 3_120);
    program.divide(vec![
        (ms("program-code", "program code", 0), 2_900, 290),
        (ms("kernel:page fault", "the kernel: page fault", 0), 220, 22),
    ]);
    let to_stop = Node::sum(
        "to-stop",
        "until all had stopped",
        vec![
            ms("throttled", "a CPU quota held it off", 1_880),
            ms("oversubscribed", "another thread of the program had its CPU", 40),
        ],
    );
    let back = Node::sum("to-get-back", "until back at work", vec![ms("throttled", "a CPU quota held it off", 52)]);
    let parts = vec![
        Node { wall_ns: Some(2_600 * MS), ..program },
        Node {
            wall_ns: Some(400 * MS),
            ..Node::sum("collecting", "collecting", vec![ms("in-pauses", "in pauses", 612)])
        },
        Node::sum("standing-still", "standing still for a pause", vec![to_stop, back]),
        Node::sum("no-cpu", "had work, had no CPU", vec![ms("quota", "a CPU quota was used up", 14_296)]),
    ];
    let parts = Node::sum("", "", parts).parts;
    let lanes_ns = parts.iter().map(|part| part.ns).sum();
    let half = |lane| LaneAccount {
        lane: LaneId(lane),
        ns: lanes_ns / 2,
        parts: vec![Node::leaf("no-cpu", "had work, had no CPU", lanes_ns / 2)],
    };
    let with_work_ns = vec![0, 0, 10_000 * MS];
    Account { lanes_ns, wall_ns: 10_000 * MS, with_work_ns, parts, lanes: vec![half(0), half(1)], ..Account::default() }
}

/// Its slowest pauses: one lane waited for the quota, and the other one for that lane.
fn slowest() -> SlowestPauses {
    let to_stop = vec![Node::leaf("throttled", "a CPU quota held it off", 741 * MS)];
    let to_stop = vec![Node::sum("to-stop", "until all had stopped", to_stop)];
    let parts = vec![
        Node::sum("standing-still", "standing still for a pause", to_stop),
        Node::sum("no-cpu", "had work, had no CPU", vec![Node::leaf("quota", "a CPU quota was used up", 738 * MS)]),
        Node::sum("collecting", "collecting", vec![Node::leaf("in-pauses", "in pauses", 31 * MS)]),
    ];
    let lane = |lane, name: &str, ns| LaneAccount { lane: LaneId(lane), ns, parts: vec![Node::leaf(name, name, ns)] };
    let lanes = vec![lane(0, "standing-still", 755 * MS), lane(1, "no-cpu", 755 * MS)];
    let with_work_ns = vec![0, 0, 755 * MS];
    let account = Account { lanes_ns: 1_510 * MS, wall_ns: 755 * MS, with_work_ns, parts, lanes, ..Account::default() };
    SlowestPauses { count: 10, least_ns: 71_600_000, account }
}

/// The throttled program without an account.
fn unaccounted() -> Fixture {
    let mut names = Names::default();
    let results = Results {
        schema: SCHEMA,
        source: Source {
            kind: "capture",
            path: "mill.rtscope".into(),
            log: Some("eventlog/0.eventlog".into()),
            logs: 1,
            bytes: 18_400_000,
            events: 412_337,
            events_by_type: vec![
                TypeCount { tag: 9, name: "REQUEST_SEQ_GC".into(), count: 9 },
                TypeCount { tag: 53, name: "GC_STATS_GHC".into(), count: 841 },
            ],
        },
        program: Some(Program {
            command: ["./mill", "3"].map(String::from).to_vec(),
            exit_code: Some(0),
            signal: None,
            oom_killed: false,
            notes: Vec::new(),
        }),
        runtime: ProgramRuntime {
            family: Some("ghc".into()),
            version: Some("9.0.2".into()),
            way: Some("thr_l".into()),
            args: ["./mill", "3", "+RTS", "-N2", "-A1m", "-RTS"].map(String::from).to_vec(),
        },
        span_ns: 3 * SECOND,
        started: START,
        lanes: vec![
            lane(0, &[4101, 4107], [Some(302 * MS), Some(171 * MS), Some(1_120 * MS), Some(11 * MS), Some(0)]),
            lane(1, &[4104], [Some(288 * MS), Some(160 * MS), Some(893 * MS), Some(9 * MS), Some(0)]),
        ],
        pauses: Pauses {
            count: 841,
            partial: 0,
            per_second: 280.3,
            total_ns: 2_377 * MS,
            time_to_stop_ns: dist(841, 2_010 * MS, [2_100, 16_000, 41_000, 71_600_000, 77_900_000, 78_800_000]),
            collect_ns: dist(841, 347 * MS, [61_000, 142_000, 390_000, 2_400_000, 52_000_000, 52_600_000]),
            release_ns: dist(841, 20 * MS, [900, 8_200, 22_000, 180_000, 3_100_000, 3_900_000]),
            pause_ns: dist(841, 2_377 * MS, [70_000, 171_000, 520_000, 73_100_000, 86_000_000, 89_200_000]),
            by_generation: vec![
                Generation {
                    generation: 0,
                    count: 832,
                    collect_ns: dist(832, 208 * MS, [61_000, 141_000, 360_000, 1_900_000, 2_500_000, 2_600_000]),
                    copied_bytes: 21 << 20,
                },
                Generation {
                    generation: 1,
                    count: 9,
                    collect_ns: dist(9, 139 * MS, [4 * MS, 11 * MS, 52 * MS, 52 * MS, 52 * MS, 52_600_000]),
                    copied_bytes: 188 << 20,
                },
            ],
        },
        productivity: Productivity { wall: Some(0.112), runtime_view: Some(0.8843) },
        spectrum: drawing::spectrum(78_800_000),
        mmu: vec![
            Mmu { window_ns: MS, utilization: 0.0, bounded: 0.0 },
            Mmu { window_ns: 10 * MS, utilization: 0.012, bounded: 0.0081 },
            Mmu { window_ns: 100 * MS, utilization: 0.0081, bounded: 0.0081 },
            Mmu { window_ns: SECOND, utilization: 0.19, bounded: 0.19 },
        ],
        memory: Memory {
            rss_bytes: level(84 << 20, 81 << 20),
            heap_bytes: level(73 << 20, 73 << 20),
            blocks_bytes: level(61 << 20, 48 << 20),
            live_bytes: level(31 << 20, 29 << 20),
            residency_bytes: level(31 << 20, 31 << 20),
            slop_bytes: level(1_258_291, 940_000),
        },
        heap_profile: None,
        ledger: MemoryLedger::default(),
        heaps: Vec::new(),
        heaps_left_out: 0,
        allocation_bytes_per_second: Some(586_000_000.0),
        promotion: None,
        counters: Vec::new(),
        nursery: Some(Nursery { bytes: 1 << 20, pooled: false, collections: 832, used: Some(0.984) }),
        concurrent: None,
        slices: None,
        sparks: None,
        stragglers: vec![
            Straggler { lane: 1, count: 455, sum_ns: 1_120 * MS },
            Straggler { lane: 0, count: 386, sum_ns: 890 * MS },
        ],
        held_up: vec![
            HeldUpSum { lane: 1, count: 430, sum_ns: 1_100 * MS },
            HeldUpSum { lane: 0, count: 411, sum_ns: 880 * MS },
        ],
        account: None,
        slowest_pauses: None,
        causes: vec![
            cause(Cause::Throttled, None, 1_930 * MS, 0.951),
            cause(Cause::Oversubscribed, None, 52 * MS, 0.0256),
            cause(Cause::WakeLatency, None, 27 * MS, 0.0133),
            cause(Cause::Running, None, 19 * MS, 0.0094),
            cause(Cause::Unknown, None, 2 * MS, 0.001),
        ],
        findings: vec![Finding {
            id: "cpu-throttled".into(),
            severity: Severity::Severe,
            confidence: Confidence::High,
            claim: "The CPU quota stops the program in the middle of stopping: waiting for all to stop cost 2.01 s, \
                    5.8 times the collections themselves (347 ms), because 2 lanes share a quota of 0.5 CPU."
                .into(),
            cost_ns: 1_930 * MS,
            cost_bytes: None,
            share: 0.643,
            evidence: vec![
                seen("29 of 30 quota periods ran out (cpu.stat of /bench: 0.5 CPU in periods of 100 ms)"),
                seen("1.93 s of the 2.01 s waited, the lane waited for was runnable while the quota was used up"),
                seen("27 pauses waited longer than 50 ms; the longest 78.8 ms, at 1.204 s, for capability 1"),
            ],
            remedies: vec![
                change(
                    "Run one lane, so that a lane cannot use up the quota while another one is waited for:",
                    Some("+RTS -N1 -RTS"),
                    "record again: 99 in 100 waits to stop fall below 1 ms, and this finding is gone",
                ),
                Remedy {
                    flag: Some("resources: {limits: {cpu: \"2\"}}".into()),
                    ..Remedy::or("give the container 2 CPUs:").verify("as above")
                },
            ],
        }],
        checked: RULES.map(checked).to_vec(),
        losses: vec![],
        code: None,
        user: Vec::new(),
        transactions: None,
        waits: None,
        requests: None,
        green_threads: None,
        forks: None,
        tracer: Tracer {
            write_ns: Some(9 * MS),
            write_max_ns: Some(3_100_000),
            recorder_cpu_ns: Some(41 * MS),
            recorder_held_ns: None,
        },
        kernel: KernelView {
            tier: Some("tracepoints".into()),
            used: true,
            notes: vec![],
            sanity: Some(0.998),
            others_held_ns: Some(14 * MS),
            clock_method: Some("runtime-static".into()),
            clock_error_ns: Some(400),
        },
        drawing: drawing::of_two_lanes(&mut names, 3 * SECOND, Cause::Throttled, None),
    };
    Fixture { name: "throttled", results, names }
}

/// A neighbour that spins on the same CPUs.
pub fn preempted() -> Fixture {
    let base = unaccounted();
    let mut names = Names::default();
    let mut results = base.results;
    results.source.path = "/var/tmp/captures/nightly/mill-beside-yes.rtscope".into();
    results.runtime.version = Some("9.6.6".into());
    results.spectrum = drawing::spectrum(8_050_000);
    results.pauses.total_ns = 921 * MS;
    results.pauses.time_to_stop_ns = dist(841, 702 * MS, [2_000, 14_000, 3_900_000, 7_900_000, 8_000_000, 8_050_000]);
    results.pauses.collect_ns = dist(841, 198 * MS, [61_000, 140_000, 380_000, 4_400_000, 9_000_000, 9_100_000]);
    results.pauses.release_ns = dist(841, 21 * MS, [900, 8_000, 22_000, 190_000, 3_900_000, 4_000_000]);
    results.pauses.pause_ns = dist(841, 921 * MS, [70_000, 180_000, 4_300_000, 8_400_000, 16_000_000, 17_100_000]);
    results.productivity = Productivity { wall: Some(0.47), runtime_view: Some(0.934) };
    results.causes = vec![
        cause(Cause::Preempted, Some("yes (pid 4242)"), 601 * MS, 0.831),
        cause(Cause::Preempted, Some("kworker/1:2 (pid 77)"), 44 * MS, 0.061),
        cause(Cause::WakeLatency, None, 41 * MS, 0.057),
        cause(Cause::Running, None, 31 * MS, 0.043),
        cause(Cause::HostSteal, None, 4 * MS, 0.0055),
        cause(Cause::BlockedInKernel, None, MS, 0.0014),
        cause(Cause::Unknown, None, MS, 0.0014),
    ];
    results.findings = vec![
        Finding {
            id: "preempted".into(),
            severity: Severity::Warning,
            confidence: Confidence::High,
            claim: "Another process takes the CPUs: yes (pid 4242) ran while a lane was waited for, 601 ms in all."
                .into(),
            cost_ns: 601 * MS,
            cost_bytes: None,
            share: 0.2,
            evidence: vec![seen("in 214 pauses the last lane to stop was runnable while yes (pid 4242) had its CPU")],
            remedies: vec![change(
                "Keep the neighbour off these CPUs, or give the program CPUs of its own:",
                Some("taskset -c 0,1 ./mill  # and the neighbour elsewhere"),
                "record again: no wait names yes",
            )],
        },
        Finding {
            id: "oversubscribed".into(),
            severity: Severity::Note,
            confidence: Confidence::Medium,
            claim: "More lanes than CPUs that it can have: 2 lanes, about 1.2 CPUs left by the neighbour.".into(),
            cost_ns: 12 * MS,
            cost_bytes: None,
            share: 0.004,
            evidence: vec![seen("run queue of CPU 1 held two threads of the program 31 times")],
            remedies: vec![change("Fewer lanes:", Some("+RTS -N1 -RTS"), "the line is gone")],
        },
    ];
    results.losses = vec![Loss {
        source: "samples".into(),
        kind: LossKind::RecorderLate,
        count: 12,
        from: Some(START),
        to: Some(START.plus(SECOND)),
        note: "the memory line has gaps of up to 40 ms".into(),
    }];
    results.green_threads = Some(green_threads());
    results.forks = Some(Forks { count: 3, waited_ns: 41_000_000, copying_ns: Some(52_000_000) });
    results.drawing = drawing::of_two_lanes(&mut names, 3 * SECOND, Cause::Preempted, Some("yes"));
    Fixture { name: "preempted", results, names }
}

/// A summary for a recording of every run of green threads.
fn green_threads() -> GreenSummary {
    let blocked = |reason, count, sum_ns| BlockedSum { reason, count, sum_ns };
    let lane = |lane, run_ns| GreenLane { lane, run_ns, share: run_ns as f64 / (3 * SECOND) as f64 };
    GreenSummary {
        created: 1_204,
        finished: 1_201,
        alive_max: 57,
        slice_ns: dist(18_422, 2_700 * MS, [900, 41_000, 310_000, 4_000_000, 20 * MS, 20_100_000]),
        wake_to_run_ns: dist(9_120, 88 * MS, [700, 4_100, 21_000, 90_000, 1_000_000, 4_200_000]),
        blocked: vec![blocked("lock", 9_120, 3_100 * MS), blocked("foreign-call", 1_180, 240 * MS)],
        lanes: vec![lane(0, 1_400 * MS), lane(1, 1_300 * MS)],
        idle_while_waiting_ns: 12 * MS,
    }
}

/// A program without problems.
pub fn healthy() -> Fixture {
    let mut results = unaccounted().results;
    let mut names = Names::default();
    results.source.path = "healthy.rtscope".into();
    results.checked = RULES.map(clear).to_vec();
    results.runtime.version = Some("9.10.3".into());
    results.span_ns = 200 * SECOND;
    results.spectrum = drawing::spectrum(10_000_000);
    results.pauses = Pauses {
        count: 1_204,
        partial: 0,
        per_second: 6.02,
        total_ns: 1_911 * MS,
        time_to_stop_ns: dist(1_204, 14 * MS, [1_800, 9_000, 19_000, 61_000, 210_000, 260_000]),
        collect_ns: dist(1_204, 1_880 * MS, [400_000, 1_300_000, 2_100_000, 9_000_000, 14 * MS, 14_800_000]),
        release_ns: dist(1_204, 17 * MS, [1_000, 11_000, 20_000, 70_000, 190_000, 230_000]),
        pause_ns: dist(1_204, 1_911 * MS, [410_000, 1_330_000, 2_150_000, 9_100_000, 14 * MS, 15_100_000]),
        by_generation: vec![Generation {
            generation: 0,
            count: 1_204,
            collect_ns: dist(1_204, 1_880 * MS, [400_000, 1_300_000, 2_100_000, 9_000_000, 14 * MS, 14_800_000]),
            copied_bytes: 4 << 30,
        }],
    };
    results.productivity = Productivity { wall: Some(0.983), runtime_view: Some(0.9906) };
    results.causes = vec![cause(Cause::WakeLatency, None, 19 * MS, 0.61), cause(Cause::Running, None, 12 * MS, 0.39)];
    results.findings.clear();
    results.drawing = drawing::of_two_lanes(&mut names, 200 * SECOND, Cause::WakeLatency, None);
    results.drawing.worst.truncate(4);
    Fixture { name: "healthy", results, names }
}

/// A log that ends early: the program was killed.
pub fn cut() -> Fixture {
    let mut fixture = unaccounted();
    fixture.name = "cut";
    fixture.results.pauses.partial = 4;
    fixture.results.pauses.total_ns += 60 * MS;
    fixture.results.losses = vec![
        Loss {
            source: "eventlog/0.eventlog".into(),
            kind: LossKind::Unwritten,
            count: 740 * MS,
            from: Some(START.plus(2_260 * MS)),
            to: Some(START.plus(3_000 * MS)),
            note: "the program was killed (SIGKILL) and has no symbols to find its buffers by; keep symbols (no \
                   strip) and record again"
                .into(),
        },
        Loss {
            source: "eventlog/0.eventlog".into(),
            kind: LossKind::Damaged,
            count: 1,
            from: Some(START.plus(900 * MS)),
            to: Some(START.plus(1_010 * MS)),
            note: "resynchronised at the next block, 131072 bytes on".into(),
        },
        Loss {
            source: "kernel".into(),
            kind: LossKind::KernelRecords,
            count: 18_220,
            from: None,
            to: None,
            note: "larger buffers: rtscope record --sched-buffer 4m".into(),
        },
    ];
    fixture
}

/// A recording without privileges: only an eventlog.
pub fn no_kernel() -> Fixture {
    let mut fixture = unaccounted();
    fixture.name = "no_kernel";
    let results = &mut fixture.results;
    results.source.kind = "eventlog";
    results.checked = RULES.map(unchecked).to_vec();
    results.source.path = "mill.eventlog".into();
    results.productivity.wall = None;
    results.memory.rss_bytes = None;
    let most = "most of it: until all had stopped (not known).";
    let claim = format!(
        "Pauses waited until every capability had stopped, or was back at work, for 2.03 s of 3.00 s (68 %), {most}"
    );
    let next = "Record with `rtscope record`: the eventlog alone does not show why.";
    results.findings = vec![Finding {
        id: "standing-still".into(),
        severity: Severity::Severe,
        confidence: Confidence::Medium,
        claim: claim.as_str().into(),
        cost_ns: 2_030 * MS,
        cost_bytes: None,
        share: 0.677,
        evidence: vec![seen("For the average capability: until all had stopped, 1.01 s.")],
        remedies: vec![change(next, None, "The next report names the cause.")],
    }];
    results.causes = vec![cause(Cause::Unknown, None, 2_030 * MS, 1.0)];
    for lane in &mut results.lanes {
        lane.tids.clear();
        lane.mutator_ns = None;
        lane.idle_ns = None;
    }
    results.tracer.recorder_cpu_ns = None;
    results.kernel = KernelView {
        notes: vec![
            "an eventlog alone does not say what the kernel did: `rtscope record -- ./mill 3 +RTS -N2` shows why \
             lanes were late"
                .into(),
        ],
        ..KernelView::default()
    };
    for worst in &mut results.drawing.worst {
        worst.states.clear();
        worst.blamed.causes.clear();
    }
    results.drawing.memory.retain(|line| line.name != "rss");
    fixture
}

/// A runtime with one lane, which posts no requests.
pub fn non_threaded() -> Fixture {
    let mut fixture = healthy();
    fixture.name = "non_threaded";
    let results = &mut fixture.results;
    results.source.path = "plain.rtscope".into();
    results.runtime.way = Some(String::new());
    results.lanes = vec![lane(0, &[991], [Some(180 * SECOND), Some(1_880 * MS), None, None, Some(18 * SECOND)])];
    results.pauses.time_to_stop_ns = Distribution::default();
    results.pauses.total_ns = 1_897 * MS;
    results.stragglers.clear();
    results.held_up.clear();
    results.causes.clear();
    for worst in &mut results.drawing.worst {
        let pause = &mut worst.blamed.pause;
        pause.requested = None;
        pause.mode = rtscope_model::PauseMode::NonThreaded;
        pause.straggler = None;
        pause.lanes.truncate(1);
        worst.states.truncate(1);
        worst.blamed.causes.clear();
    }
    fixture
}

/// The healthy program with a heap profile.
pub fn profiled() -> Fixture {
    let mut fixture = healthy();
    fixture.name = "profiled";
    fixture.results.source.path = "profiled.rtscope".into();
    let (span_ns, labels) = (fixture.results.span_ns, drawing::LABELS);
    fixture.results.heap_profile = Some(drawing::heap_profile(span_ns, &labels));
    drawing::add_residency(&mut fixture.results.drawing.memory);
    fixture
}

/// The healthy program with a concurrent collector and sparks.
pub fn concurrent() -> Fixture {
    let mut fixture = healthy();
    fixture.name = "concurrent";
    let results = &mut fixture.results;
    results.source.path = "table.rtscope".into();
    results.concurrent = Some(Concurrent {
        mark_ns: dist(41, 2_870 * MS, [50 * MS, 69 * MS, 80 * MS, 91 * MS, 91 * MS, 91 * MS]),
        sync_ns: dist(41, 12 * MS, [40_000, 290_000, 400_000, 700_000, 700_000, 712_000]),
        sweep_ns: dist(40, 310 * MS, [6 * MS, 7 * MS, 9 * MS, 11 * MS, 11 * MS, 11_300_000]),
        in_pauses_ns: 190 * MS,
    });
    let of = |lane: u64| SparkCounts {
        created: 51_200 + lane,
        converted: 38_000,
        overflowed: 1_900 * lane,
        dud: 12,
        collected: 2_000,
        fizzled: 11_000,
        remaining: 200 + lane,
    };
    results.sparks = Some(Sparks {
        all: SparkCounts {
            created: 102_401,
            converted: 76_000,
            overflowed: 1_900,
            dud: 24,
            collected: 4_000,
            fizzled: 22_000,
            remaining: 401,
        },
        lanes: (0..2).map(|lane| LaneSparks { lane, counts: of(u64::from(lane)) }).collect(),
    });
    results.stragglers =
        vec![Straggler { lane: 1, count: 1_204, sum_ns: 9 * MS }, Straggler { lane: 0, count: 0, sum_ns: 5 * MS }];
    results.held_up =
        vec![HeldUpSum { lane: 1, count: 700, sum_ns: 8 * MS }, HeldUpSum { lane: 0, count: 1, sum_ns: MS }];
    fixture
}

/// A program that cannot log.
pub fn kernel_only() -> Fixture {
    let mut fixture = unaccounted();
    fixture.name = "kernel_only";
    let results = &mut fixture.results;
    results.source = Source { kind: "capture", path: "stripped.rtscope".into(), bytes: 3_100_000, ..Source::default() };
    results.runtime = ProgramRuntime::default();
    results.lanes.clear();
    results.pauses = Pauses::default();
    results.productivity = Productivity::default();
    results.mmu.clear();
    results.spectrum.clear();
    results.memory = Memory { rss_bytes: level(84 << 20, 81 << 20), ..Memory::default() };
    results.allocation_bytes_per_second = None;
    results.nursery = None;
    results.stragglers.clear();
    results.held_up.clear();
    results.causes.clear();
    results.tracer.write_ns = None;
    results.tracer.write_max_ns = None;
    results.kernel.sanity = None;
    results.kernel.clock_method = None;
    results.losses = vec![Loss {
        source: "eventlog".into(),
        kind: LossKind::SourceMissing,
        count: 0,
        from: None,
        to: None,
        note: "GHC 9.0 programs can only log when they are linked with -eventlog: link again with `ghc -eventlog`, \
               or build with GHC 9.4 or later"
            .into(),
    }];
    results.findings = vec![Finding {
        id: "cpu-throttled".into(),
        severity: Severity::Warning,
        confidence: Confidence::Low,
        claim: "The CPU quota of 0.5 CPU was used up in 29 of 30 periods.".into(),
        cost_ns: 1_900 * MS,
        cost_bytes: None,
        share: 0.63,
        evidence: vec![seen("cpu.stat of /bench: nr_throttled 29 of nr_periods 30")],
        remedies: vec![change("Raise the quota:", Some("resources.limits.cpu: \"2\""), "nr_throttled stands still")],
    }];
    results.drawing.over_time.clear();
    results.drawing.worst.clear();
    results.drawing.lanes = None;
    results.drawing.memory.retain(|line| line.name == "rss");
    fixture
}

/// Sixty-four lanes, and lists that are too long for a page.
pub fn many_lanes() -> Fixture {
    let mut fixture = unaccounted();
    fixture.name = "many_lanes";
    let results = &mut fixture.results;
    results.source.path = "wide.rtscope".into();
    results.runtime.args = (0..400).map(|n| format!("--shard={n}")).collect();
    results.lanes = (0..64)
        .map(|id| {
            let all = [Some(300 * MS), Some(17 * MS), Some(u64::from(id) * 9 * MS), Some(9 * MS), Some(0)];
            lane(id, &[5000 + u32::from(id)], all)
        })
        .collect();
    results.stragglers =
        (0..64).rev().map(|lane| Straggler { lane, count: 13, sum_ns: u64::from(lane) * 3 * MS }).collect();
    results.held_up =
        (0..64).rev().map(|lane| HeldUpSum { lane, count: 12, sum_ns: u64::from(lane) * 2 * MS }).collect();
    results.losses = (0..300)
        .map(|n| Loss {
            source: format!("eventlog/{n}.eventlog"),
            kind: LossKind::Truncated,
            count: n * 1000,
            from: None,
            to: None,
            note: String::new(),
        })
        .collect();
    results.drawing = drawing::of_many_lanes(&mut fixture.names, 64, 3 * SECOND);
    fixture
}

/// A log that consists of a header.
pub fn empty() -> Fixture {
    let mut fixture = kernel_only();
    fixture.name = "empty";
    let results = &mut fixture.results;
    results.source.kind = "eventlog";
    results.checked = RULES.map(unchecked).to_vec();
    results.source.path = "header-only.eventlog".into();
    results.runtime.family = Some("ghc".into());
    results.span_ns = 0;
    results.memory = Memory::default();
    results.findings.clear();
    results.losses.clear();
    results.tracer = Tracer::default();
    results.kernel = KernelView::default();
    results.drawing = Drawing::default();
    fixture
}

/// A run whose heap was looked at five times; some names in it are hostile.
pub fn heap_map() -> Fixture {
    let mut fixture = healthy();
    fixture.name = "heap_map";
    fixture.results.heaps = looks::heaps(START);
    fixture
}
