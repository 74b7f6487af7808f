//! Lane lines from scripts of events.

use super::*;
use crate::testing::Script;
use crate::{Analysis, Context};
use rtscope_model::StopReason;

fn context(family: &str) -> Context {
    let mut context = Context { threaded: Some(true), generations: Some(2), ..Context::default() };
    context.runtime.family = Some(family.into());
    context
}

/// The line of each of two lanes, in short words.
fn lines(family: &str, script: Script, end: u64) -> [Vec<(u64, u64, LaneState)>; 2] {
    let lines = reported(lanes(family, LaneDetail::States, end), script);
    for line in &lines {
        assert!(line.windows(2).all(|pair| (pair[0].1, pair[0].2) != (pair[1].0, pair[1].2)), "{line:?}");
    }
    lines
}

fn lanes(family: &str, detail: LaneDetail, end: u64) -> Analysis {
    Analysis::with_lanes(Context { ended: Some(Time(end)), ..context(family) }, detail)
}

fn reported(mut analysis: Analysis, script: Script) -> [Vec<(u64, u64, LaneState)>; 2] {
    let mut lines: [Vec<(u64, u64, LaneState)>; 2] = [Vec::new(), Vec::new()];
    let mut out = |lane: LaneId, segment: &Segment<Doing>| {
        lines[usize::from(lane.0)].push((segment.from.0, segment.to.0, segment.state.state));
    };
    script.events().iter().for_each(|event| analysis.take(event, &mut out));
    analysis.end(&mut out);
    for line in &lines {
        assert!(line.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{line:?}");
    }
    lines
}

use LaneState::{CollectingMinor, Gap, Idle, Program, Release, Slice, WaitingForOthers, WaitingToLead, WaitingToStop};
const MINOR: LaneState = CollectingMinor;

fn created() -> Script {
    Script::default().rt(0, 0, Runtime::LaneCreated).rt(0, 1, Runtime::LaneCreated)
}

#[test]
fn a_collection_of_two_lanes() {
    let script = created().run(0, 0, 1).run(0, 1, 2).stop(119, 1, 2, StopReason::Yielded);
    let script = script.parallel(100, 120, 150, 200).run(210, 1, 2).stop(300, 1, 2, StopReason::Finished);
    let [leader, follower] = lines("ghc", script.run(205, 0, 1), 400);
    assert_eq!(leader.first(), Some(&(0, 100, Program)));
    assert!(leader.contains(&(100, 120, WaitingForOthers)), "{leader:?}");
    assert!(leader.contains(&(120, 150, WaitingToStop)), "the leader is the last to stand still: {leader:?}");
    assert!(leader.contains(&(151, 199, MINOR)), "{leader:?}");
    assert_eq!(leader.last().map(|last| (last.1, last.2)), Some((400, Program)));
    assert!(
        follower.starts_with(&[(0, 100, Program), (100, 120, WaitingToStop), (120, 151, WaitingForOthers)]),
        "{follower:?}"
    );
    assert!(follower.contains(&(151, 199, MINOR)) && follower.contains(&(210, 300, Program)), "{follower:?}");
    assert_eq!(follower.last(), Some(&(300, 400, Idle)));
}

#[test]
fn without_runs_everything_outside_collections_is_the_program() {
    let [leader, follower] = lines("ghc", created().parallel(100, 120, 150, 200), 400);
    assert_eq!((leader.first(), follower.first()), (Some(&(0, 100, Program)), Some(&(0, 100, Program))));
    assert_eq!(leader.last().map(|last| (last.1, last.2)), Some((400, Program)));
    let covered: u64 = follower.iter().map(|(from, to, _)| to - from).sum();
    assert_eq!(covered, 400);
}

#[test]
fn lanes_are_idle_where_runs_are_posted_and_none_runs() {
    let script = created().run(10, 0, 1).stop(30, 0, 1, StopReason::Other).run(40, 0, 3);
    let [first, second] = lines("ghc", script, 50);
    assert_eq!(first, [(0, 30, Program), (30, 40, Idle), (40, 50, Program)]);
    // Until the first run, it is not known that runs are posted.
    assert_eq!(second, [(0, 10, Program), (10, 50, Idle)]);
}

#[test]
fn runs_and_stops_that_were_held_back_reach_the_recogniser() {
    let script = created().run(0, 0, 1).run(0, 1, 2).stop(90, 1, 2, StopReason::Yielded);
    let script = script.parallel(100, 120, 150, 200).run(260, 1, 2).run(205, 0, 1);
    let [_, follower] = lines("ghc", script, 400);
    // It had a thread to resume: it stands still until that runs.
    assert!(
        follower.contains(&(199, 200, WaitingForOthers)) && follower.contains(&(200, 260, Release)),
        "{follower:?}"
    );
}

fn phase(script: Script, lane: u16, phase: Phase, from: u64, to: u64) -> Script {
    script.rt(from, lane, Runtime::PhaseBegin(phase)).rt(to, lane, Runtime::PhaseEnd(phase))
}

#[test]
fn sections_slices_and_waits_to_lead() {
    let script = phase(created(), 1, Phase::Wanted, 50, 240);
    let script = phase(script, 0, Phase::Lead, 100, 200);
    let script = phase(script, 0, Phase::Barrier, 105, 121);
    let script = phase(script, 0, Phase::Minor, 130, 170);
    let script = phase(script, 1, Phase::Follow, 120, 190);
    let script = phase(script, 1, Phase::Minor, 130, 180);
    let script = phase(script, 0, Phase::MajorSlice, 300, 350);
    let script = phase(script, 0, Phase::Condition, 360, 380);
    let [first, second] = lines("ocaml", script, 400);
    assert!(first.contains(&(130, 170, MINOR)) && first.contains(&(300, 350, Slice)), "{first:?}");
    assert!(first.contains(&(360, 380, Idle)), "{first:?}");
    assert!(second.starts_with(&[(0, 50, Program), (50, 100, WaitingToLead), (100, 120, WaitingToStop)]), "{second:?}");
    assert!(second.contains(&(130, 180, MINOR)) && second.contains(&(190, 240, WaitingToLead)), "{second:?}");
}

#[test]
fn lost_events_are_a_gap_and_a_lane_that_ends_leaves_nothing() {
    let script = created().run(0, 0, 1).rt(100, 0, Runtime::Gap).run(150, 0, 1).rt(200, 0, Runtime::LaneDeleted);
    let [first, _] = lines("ghc", script, 400);
    assert_eq!(first, [(0, 150, Gap), (150, 200, Program)]);
}

#[test]
fn a_lane_whose_beginning_is_lost_begins_with_a_gap() {
    let script = Script::default().rt(10, 0, Runtime::LaneCreated).rt(40, 1, Runtime::Gap);
    let [whole, lost] = lines("ocaml", script, 100);
    assert_eq!(whole, [(10, 100, Program)]);
    assert_eq!(lost, [(10, 40, Gap), (40, 100, Program)]);
}

#[test]
fn parts_of_a_collection_hang_together_and_runs_have_their_thread() {
    let mut analysis = lanes("ghc", LaneDetail::Nested, 400);
    let mut out = Vec::new();
    let mut take = |lane: LaneId, segment: &Segment<Doing>| {
        if lane == LaneId(1) {
            out.push((segment.from.0, segment.to.0, segment.state));
        }
    };
    let script = created().run(50, 0, 1).run(0, 1, 2).stop(119, 1, 2, StopReason::Yielded);
    let script = script.parallel(100, 120, 150, 200).run(210, 1, 2).stop(300, 1, 2, StopReason::Finished);
    script.events().iter().for_each(|event| analysis.take(event, &mut take));
    analysis.end(&mut take);
    // It runs until the request.
    let run = Doing { green: Some(GreenThread(2)), ..Doing::outside(Program) };
    assert_eq!(out[..2], [(0, 100, run), (100, 120, Doing::outside(WaitingToStop))]);
    let within = Some(LanePart { leads: false, stopped: Time(150) });
    let parts: Vec<_> = out.iter().filter(|piece| piece.2.part == within).collect();
    assert_eq!((parts.first().map(|piece| piece.0), parts.last().map(|piece| piece.1)), (Some(120), Some(210)));
    assert!(parts.windows(2).all(|pair| pair[0].1 == pair[1].0), "{parts:?}");
    assert!(out.contains(&(210, 300, run)), "{out:?}");
}
