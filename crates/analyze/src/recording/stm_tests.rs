//! Sums of looks at counts.

use super::*;

const MS: u64 = 1_000_000;

fn source(whole: bool, outcomes: bool) -> StmSeen {
    let why = (!outcomes).then(|| "not linked".to_owned());
    StmSeen::Source { whole, outcomes, why }
}

fn lane(attempts: u64, commits: u64, conflicts: u64) -> StmCounts {
    StmCounts { attempts, commits, conflicts, ..StmCounts::default() }
}

fn fold(seen: &[(u64, StmSeen)]) -> Stm {
    let mut stm = Stm::new(Some(Time(0)));
    seen.iter().for_each(|(ms, seen)| stm.push(Time(ms * MS), seen));
    stm
}

#[test]
fn lanes_names_and_time_add_up() {
    let named = |attempts, commits| StmNamed { attempts, commits, waits: 1, exceptions: 1 };
    let stm = fold(&[
        (10, source(true, true)),
        (10, StmSeen::Mode(1)),
        (10, StmSeen::Lane(0, lane(10, 9, 1))),
        (110, StmSeen::Lane(0, lane(100, 80, 20))),
        (110, StmSeen::Lane(1, StmCounts { invalid: 4, restarts: 1, wait_conflicts: 2, waits: 3, ..lane(50, 30, 10) })),
        (110, StmSeen::Name(0, "quiet".into(), named(40, 38))),
        (110, StmSeen::Name(1, "busy".into(), named(90, 60))),
        (110, StmSeen::Attempts(170)),
        (500, StmSeen::Last),
    ]);
    let found = stm.values(Some(Time(520 * MS))).unwrap();
    assert!(found.outcomes && found.whole && found.why.is_none());
    let all = found.counts.unwrap();
    assert_eq!((all.attempts, all.commits, all.conflicts, found.lost), (150, 110, 30, Some(37)));
    assert_eq!(found.lost_share, Some(37.0 / 150.0));
    assert_eq!((found.runtime_attempts, found.scheduler), (Some(170), Some("adaptive")));
    assert_eq!((found.span_ns, found.unseen_ns), (500 * MS, Some(20 * MS)));
    assert_eq!((found.attempts_per_second, found.commits_per_second), (Some(300.0), Some(220.0)));
    let lanes: Vec<_> = found.lanes.iter().map(|lane| (lane.lane, lane.counts.attempts, lane.lost_share)).collect();
    assert_eq!(lanes, [(0, 100, Some(0.2)), (1, 50, Some(17.0 / 50.0))]);
    let names: Vec<_> = found.names.iter().map(|named| (named.name.as_str(), named.lost)).collect();
    assert_eq!(names, [("busy", 28), ("quiet", 0)]);
    let slices = found.over_time.iter().map(|slice| (slice.attempts, slice.commits, slice.lost, slice.waits));
    // The growth from 10 to 110 ms is spread over both.
    assert_eq!(slices.collect::<Vec<_>>(), [(136, 99, 33, 2), (14, 11, 4, 1)]);
}

#[test]
fn what_a_program_did_before_the_first_look_is_left_out() {
    let stm = fold(&[
        (1_000, source(false, true)),
        (1_000, StmSeen::Lane(0, lane(1_000, 900, 100))),
        (1_000, StmSeen::Name(0, "a".into(), StmNamed { attempts: 7, ..StmNamed::default() })),
        (1_000, StmSeen::Attempts(2_000)),
        (1_500, StmSeen::Lane(0, lane(1_200, 1_000, 200))),
        // A capability without any transactions before.
        (2_000, StmSeen::Lane(1, lane(60, 60, 0))),
        (2_000, StmSeen::Attempts(2_300)),
    ]);
    let found = stm.values(None).unwrap();
    let all = found.counts.unwrap();
    assert_eq!((all.attempts, all.commits, all.conflicts), (260, 160, 100));
    assert_eq!((found.runtime_attempts, found.span_ns, found.unseen_ns), (Some(300), 1_000 * MS, None));
    assert!(found.names.is_empty());
    assert_eq!(found.over_time.iter().map(|slice| slice.attempts).sum::<u64>(), 260);
}

#[test]
fn attempts_alone_are_no_outcomes() {
    let stm = fold(&[(10, source(true, false)), (100, StmSeen::Attempts(5_000)), (200, StmSeen::Attempts(9_000))]);
    let found = stm.values(Some(Time(200 * MS))).unwrap();
    assert_eq!((found.outcomes, found.why.as_deref(), found.counts), (false, Some("not linked"), None));
    assert_eq!((found.lost, found.lost_share, found.commits_per_second), (None, None, None));
    assert_eq!((found.runtime_attempts, found.attempts_per_second), (Some(9_000), Some(45_000.0)));
    assert_eq!(found.over_time.iter().map(|slice| slice.attempts).sum::<u64>(), 9_000);
}

#[test]
fn no_look_and_nothing_that_could_be_read_are_two_things() {
    assert_eq!(Stm::new(None).values(None), None);
    let found = fold(&[(10, source(true, false))]).values(Some(Time(MS))).unwrap();
    assert_eq!((found.from, found.runtime_attempts, found.unseen_ns, found.span_ns), (None, None, None, 0));
}

#[test]
fn what_grew_between_two_looks_is_spread_over_that_time() {
    let (attempts, source) = (|ms, count| (ms, StmSeen::Attempts(count)), source(true, false));
    // Looks that come slightly later each time leave no slice empty.
    let mut looks = vec![(100, source)];
    looks.extend((1..=30).map(|n| attempts(n * 103, n * 1_030)));
    let slices = fold(&looks).values(None).unwrap().over_time;
    assert!(
        slices.iter().all(|slice| slice.to > Time(3_000 * MS) || slice.attempts.abs_diff(1_000) <= 1),
        "{slices:?}"
    );
    // A count that was constant for long has grown at the end.
    looks.push(attempts(10_000, 31_400));
    let slices = fold(&looks).values(None).unwrap().over_time;
    let late: Vec<u64> = slices.iter().skip(40).map(|slice| slice.attempts).collect();
    assert_eq!((late.iter().sum::<u64>(), late.last()), (500, Some(&500)));
}

#[test]
fn what_was_missed_ends_with_the_program() {
    let looks = [(10, source(true, false)), (100, StmSeen::Attempts(9)), (110, StmSeen::Last), (117, StmSeen::Gone)];
    let found = fold(&looks).values(Some(Time(500 * MS))).unwrap();
    assert_eq!((found.to, found.unseen_ns), (Some(Time(110 * MS)), Some(7 * MS)));
}

#[test]
fn counts_that_begin_anew_are_another_program_s() {
    let stm = fold(&[
        (10, source(true, true)),
        (100, StmSeen::Lane(0, lane(100, 100, 0))),
        (100, StmSeen::Attempts(100)),
        (100, StmSeen::Name(0, "before".into(), StmNamed { attempts: 90, commits: 90, ..StmNamed::default() })),
        (200, StmSeen::Lane(0, lane(30, 20, 10))),
        (200, StmSeen::Attempts(30)),
        (200, StmSeen::Name(0, "after".into(), StmNamed { attempts: 20, commits: 15, ..StmNamed::default() })),
        (300, StmSeen::Lane(0, lane(40, 25, 15))),
    ]);
    let found = stm.values(None).unwrap();
    let all = found.counts.unwrap();
    assert_eq!((all.attempts, all.commits, all.conflicts, found.runtime_attempts), (140, 125, 15, Some(130)));
    assert_eq!(stm.busy(), 140);
    let names: Vec<_> =
        found.names.iter().map(|named| (named.name.as_str(), named.counts.attempts, named.lost)).collect();
    assert_eq!(names, [("after", 20, 5)]);
}

#[test]
fn slices_double_and_lose_nothing() {
    let mut stm = Stm::new(Some(Time(0)));
    stm.push(Time(0), &source(true, true));
    for n in 1..=2_000 {
        stm.push(Time(n * 100 * MS), &StmSeen::Lane(0, lane(n * 10, n * 8, n * 2)));
    }
    let found = stm.values(None).unwrap();
    assert!(found.over_time.len() <= SLICES_MAX);
    assert_eq!(found.over_time.iter().map(|slice| slice.attempts).sum::<u64>(), 20_000);
    assert!(found.over_time.windows(2).all(|pair| pair[0].to == pair[1].from));
    assert!(found.over_time.last().unwrap().to >= Time(200_000 * MS));
}

#[test]
fn the_runtime_s_work_for_transactions_is_known_by_name() {
    let is = |name: &str, kind| {
        is_runtime_work(&Symbol { name: name.into(), module: "prog".into(), kind, ..Symbol::default() })
    };
    let yes =
        ["stmCommitTransaction", "stg_atomically_frame_info", "stg_readTVarzh", "lock_tvar", "get_entry_for.isra.0"];
    assert!(yes.iter().all(|name| is(name, CodeKind::Runtime)));
    assert!(is("__wrap_stmCommitTransaction", CodeKind::Foreign) && is("rtscope_names_end", CodeKind::Foreign));
    let no = ["stmt", "stm_lock", "scavenge_block", "stg_ap_pp_fast", "evacuate"];
    assert!(!no.iter().any(|name| is(name, CodeKind::Runtime)));
    assert!(!is("stmCommitTransaction", CodeKind::Program) && !is("stg_readTVarzh", CodeKind::Foreign));
}

#[test]
fn a_fold_is_written_down_and_resumes() {
    let stm =
        fold(&[(10, source(true, true)), (100, StmSeen::Lane(0, lane(100, 90, 10))), (200, StmSeen::Attempts(120))]);
    let text = serde_json::to_string(&stm).unwrap();
    let read: Stm = serde_json::from_str(&text).unwrap();
    assert!(read.is_sound() && read.values(None).unwrap().counts.is_some());
    assert_eq!(read.values(None), stm.values(None));
    for wrong in [
        text.replace("\"width_ns\":100000000", "\"width_ns\":0"),
        text.replace(
            "\"slices\":[",
            "\"slices\":[{\"from\":9,\"to\":1,\"attempts\":0,\"commits\":0,\"lost\":0,\"waits\":0},",
        ),
    ] {
        assert_ne!(wrong, text);
        assert!(!serde_json::from_str::<Stm>(&wrong).unwrap().is_sound(), "{wrong}");
    }
}
