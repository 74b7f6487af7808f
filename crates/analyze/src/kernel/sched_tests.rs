//! Thread states and membership, from constructed kernel events.

use super::*;
use crate::testing::{Kernel, switch, waking};

#[test]
fn a_wait_is_cut_where_the_cpu_changes_hands() {
    let mut kernel = Kernel::new(&[11, 12]);
    kernel
        .on(0, 0, 11)
        .event(100, switch(0, 11, OffState::Runnable, 77))
        .event(150, switch(0, 77, OffState::Sleeping, 12))
        .event(180, switch(0, 12, OffState::Sleeping, 0))
        .event(200, switch(0, 0, OffState::Runnable, 11));
    let cut: Vec<_> =
        kernel.tracks.stretches(Tid(11), Time(50), Time(250)).iter().map(|s| (s.from.0, s.to.0, s.runner)).collect();
    let foreign = Runner::Foreign { tid: Tid(77), name: NameId(77) };
    assert_eq!(
        cut,
        [
            (50, 100, Runner::Unknown),
            (100, 150, foreign),
            (150, 180, Runner::Own(Tid(12))),
            (180, 200, Runner::Idle),
            (200, 250, Runner::Unknown)
        ]
    );
}

#[test]
fn a_wait_for_a_sibling_is_cut_where_another_cpu_goes_idle() {
    let waits = |cpus: &[u16]| {
        let mut kernel = Kernel { tracks: Tracks::new(None, &[Tid(11), Tid(12)], cpus) };
        kernel
            .on(0, 0, 11)
            .on(0, 1, 78)
            .event(100, switch(0, 11, OffState::Runnable, 12))
            .off(120, 1, 78)
            .event(140, switch(2, 79, OffState::Sleeping, 0))
            .on(150, 1, 78)
            .event(170, switch(2, 0, OffState::Runnable, 79))
            .event(200, switch(0, 12, OffState::Sleeping, 11));
        let stretches = kernel.tracks.stretches(Tid(11), Time(100), Time(200));
        assert!(stretches.iter().all(|s| s.runner == Runner::Own(Tid(12))));
        kernel.tracks.prune(Time(160));
        let later: Vec<_> =
            kernel.tracks.stretches(Tid(11), Time(160), Time(200)).iter().map(|s| s.other_cpu_idle).collect();
        assert_eq!(later, stretches.iter().filter(|s| s.to.0 > 160).map(|s| s.other_cpu_idle).collect::<Vec<_>>());
        stretches.iter().map(|s| (s.from.0, s.to.0, s.other_cpu_idle)).collect::<Vec<_>>()
    };
    assert_eq!(waits(&[]), [(100, 120, false), (120, 170, true), (170, 200, false)]);
    assert_eq!(waits(&[0, 1]), [(100, 120, false), (120, 150, true), (150, 200, false)]);
    assert_eq!(waits(&[0]), [(100, 200, false)], "no CPU that the program may use");
}

#[test]
fn stretches_cover_the_interval_also_before_the_first_event() {
    let mut kernel = Kernel::new(&[11]);
    kernel.on(100, 0, 11);
    let states: Vec<_> =
        kernel.tracks.stretches(Tid(11), Time(50), Time(150)).iter().map(|s| (s.from.0, s.to.0, s.state)).collect();
    assert_eq!(states, [(50, 100, SchedState::Unknown), (100, 150, SchedState::Running)]);
    assert_eq!(kernel.tracks.stretches(Tid(99), Time(0), Time(5)).len(), 1);
}

#[test]
fn a_migration_moves_the_queue_that_a_thread_waits_in() {
    let mut kernel = Kernel::new(&[11]);
    kernel
        .on(0, 0, 11)
        .on(0, 1, 78)
        .event(100, switch(0, 11, OffState::Runnable, 77))
        .event(150, Sched::Migrate { tid: Tid(11), to: Cpu(1) });
    let runners: Vec<_> =
        kernel.tracks.stretches(Tid(11), Time(100), Time(200)).iter().map(|s| (s.cpu, s.runner)).collect();
    let foreign = |tid| Runner::Foreign { tid: Tid(tid), name: NameId(tid) };
    assert_eq!(runners, [(Some(Cpu(0)), foreign(77)), (Some(Cpu(1)), foreign(78))]);
}

#[test]
fn threads_that_the_program_makes_belong_to_it_and_processes_do_not() {
    let mut tracks = Tracks::new(Some(Pid(10)), &[], &[]);
    let fork = |child, pid| Sched::Fork { parent: Tid(10), child: Tid(child), child_pid: Pid(pid) };
    tracks.push(Time(1), &fork(11, 10));
    tracks.push(Time(2), &fork(12, 12));
    tracks.push(Time(3), &fork(13, 0));
    assert_eq!(tracks.own().collect::<Vec<_>>(), [Tid(10), Tid(11), Tid(13)]);
    let leaves = |tid, pid| Sched::Switch {
        cpu: Cpu(0),
        prev: Tid(tid),
        prev_pid: Pid(pid),
        prev_state: OffState::Sleeping,
        next: Tid(0),
        next_name: NameId(0),
    };
    let second = 1_000_000_000;
    assert_eq!(tracks.own_since(Time(second)).collect::<Vec<_>>(), [Tid(10), Tid(11), Tid(13)]);
    let mut later = Tracks::new(Some(Pid(10)), &[Tid(12)], &[]);
    later.push(Time(3), &Sched::Exit { tid: Tid(12) });
    assert_eq!(later.own_since(Time(4)).collect::<Vec<_>>(), [Tid(10), Tid(12)], "just ended");
    assert_eq!(later.own_since(Time(second)).collect::<Vec<_>>(), [Tid(10)]);
    later.push(Time(second), &fork(12, 10));
    assert_eq!(later.own_since(Time(second)).collect::<Vec<_>>(), [Tid(10), Tid(12)], "its number is used again");
    tracks.push(Time(4), &leaves(13, 13));
    tracks.push(Time(5), &leaves(14, 10));
    assert_eq!(tracks.own().collect::<Vec<_>>(), [Tid(10), Tid(11), Tid(14)]);
}

#[test]
fn the_cheap_tier_shows_no_taker() {
    let mut kernel = Kernel::new(&[11]);
    kernel
        .event(0, Sched::SwitchIn { cpu: Cpu(0), tid: Tid(11) })
        .event(50, Sched::SwitchOut { cpu: Cpu(0), tid: Tid(11), preempted: true })
        .event(90, Sched::SwitchIn { cpu: Cpu(0), tid: Tid(11) })
        .event(95, Sched::SwitchOut { cpu: Cpu(0), tid: Tid(11), preempted: false });
    let cut: Vec<_> =
        kernel.tracks.stretches(Tid(11), Time(0), Time(99)).iter().map(|s| (s.from.0, s.state, s.runner)).collect();
    let unknown = Runner::Unknown;
    assert_eq!(
        cut,
        [
            (0, SchedState::Running, unknown),
            (50, SchedState::Runnable, unknown),
            (90, SchedState::Running, unknown),
            (95, SchedState::Sleeping, unknown)
        ]
    );
    assert!(!kernel.tracks.names_next);
}

#[test]
fn history_is_bounded_and_pruned_and_what_was_dropped_is_unknown() {
    let mut kernel = Kernel::new(&[11]);
    for at in 0..HISTORY_MAX as u64 {
        kernel.on(at * 10, 0, 11).off(at * 10 + 5, 0, 11);
    }
    assert!(kernel.tracks.forgotten() > 0);
    assert_eq!(kernel.tracks.stretches(Tid(11), Time(0), Time(5)).first().map(|s| s.state), Some(SchedState::Unknown));
    let now = HISTORY_MAX as u64 * 10;
    kernel.tracks.prune(Time(now - 100));
    assert!(kernel.tracks.threads.values().all(|track| track.spans.len() < 25));
    assert_eq!(kernel.tracks.totals(Time(now)).0, HISTORY_MAX as u64 * 5, "sums survive");
}

/// Like two capabilities that spin for each other on one CPU, for 400 ms.
#[test]
fn threads_that_yield_to_each_other_are_remembered() {
    let mut kernel = Kernel::new(&[11, 12]);
    for at in 0..2 * HISTORY_LEAST as u64 {
        kernel
            .event(at * 10, switch(0, 11, OffState::Runnable, 12))
            .event(at * 10 + 5, switch(0, 12, OffState::Runnable, 11));
    }
    assert_eq!(kernel.tracks.forgotten(), 0);
    let states: Vec<_> =
        kernel.tracks.stretches(Tid(11), Time(10), Time(20)).iter().map(|s| (s.from.0, s.state)).collect();
    assert_eq!(states, [(10, SchedState::Runnable), (15, SchedState::Running)]);
}

#[test]
fn an_ended_thread_is_dropped_and_its_sums_stay() {
    let mut kernel = Kernel::new(&[11]);
    kernel.on(0, 0, 11).event(40, switch(0, 11, OffState::Dead, 0)).event(41, Sched::Exit { tid: Tid(11) });
    kernel.tracks.prune(Time(100));
    assert_eq!((kernel.tracks.own().count(), kernel.tracks.totals(Time(100)).0), (0, 40));
}

/// Seen on a 6.18 guest: one CPU reported no switch away from its idle task.
#[test]
fn an_unreported_switch_is_repaired_where_it_is_certain() {
    let mut kernel = Kernel::new(&[11]);
    kernel.on(0, 1, 11).off(50, 1, 11).event(100, waking(5, 11, 1)).event(200, switch(1, 11, OffState::Sleeping, 0));
    let states: Vec<_> =
        kernel.tracks.stretches(Tid(11), Time(60), Time(210)).iter().map(|s| (s.from.0, s.state)).collect();
    assert_eq!(states, [(60, SchedState::Sleeping), (100, SchedState::Running), (200, SchedState::Sleeping)]);
    assert_eq!(kernel.tracks.unreported, 1);
}

#[test]
fn an_unreported_end_of_throttling_is_taken_from_a_sibling_or_unknown() {
    let mut kernel = Kernel::new(&[11, 12]);
    kernel
        .on(0, 0, 12)
        .on(0, 1, 11)
        .event(50, switch(1, 11, OffState::Runnable, 0))
        .event(60, switch(0, 12, OffState::Runnable, 0))
        .event(100, switch(0, 0, OffState::Runnable, 12))
        .event(130, switch(1, 11, OffState::Runnable, 0))
        .event(200, switch(1, 11, OffState::Runnable, 0));
    let states: Vec<_> =
        kernel.tracks.stretches(Tid(11), Time(50), Time(210)).iter().map(|s| (s.from.0, s.state)).collect();
    assert_eq!(
        states,
        [
            (50, SchedState::Runnable),
            (100, SchedState::Running),
            (130, SchedState::Unknown),
            (200, SchedState::Runnable)
        ]
    );
}
