//! The accounts of small recordings, checked to the nanosecond.

use crate::results::Results;
use crate::testing::{Places, Script, context, switch, waking};
use crate::{Analysis, Context, Tail};
use rtscope_model::{Account, Event, Loss, LossKind, Names, Node, OffState, Runtime, StopReason, Time};

fn results(context: Context, events: Vec<Event>) -> Results {
    let mut names = Names::default();
    (1..=100).for_each(|tid| _ = names.intern(&format!("task-{tid}")));
    let mut analysis = Analysis::new(context);
    events.iter().for_each(|event| analysis.push(event, &names, &mut |_| {}));
    analysis.finish(&names, Tail::default(), &mut |_| {})
}

fn divide_all(context: Context, events: Vec<Event>) -> Account {
    let account = results(context, events).account.expect("an account");
    assert!(account.sums_up(), "{account:#?}");
    account
}

fn divided(script: Script) -> Account {
    divide_all(context(), script.events())
}

/// The length of the node at this path of ids.
fn ns(account: &Account, path: &[&str]) -> u64 {
    let (first, rest) = path.split_first().unwrap();
    let step = |node: Option<&Node>, id: &&str| node?.parts.iter().find(|part| part.id == *id).cloned();
    let mut node = account.part(first).cloned();
    for id in rest {
        node = step(node.as_ref(), id);
    }
    node.map_or(0, |node| node.ns)
}

/// Two lanes, whose threads 11 and 12 are on CPUs 0 and 1 from the start.
fn two() -> Script {
    Script::default()
        .k(0, switch(0, 0, OffState::Runnable, 11))
        .k(0, switch(1, 0, OffState::Runnable, 12))
        .rt(0, 0, Runtime::LaneCreated)
        .rt(0, 1, Runtime::LaneCreated)
}

/// Adds the last event of both lanes.
fn until(script: Script, end: u64) -> Script {
    script.rt(end, 0, Runtime::LaneDeleted).rt(end, 1, Runtime::LaneDeleted)
}

#[test]
fn what_a_lane_does_follows_from_its_thread() {
    let script = two()
        // Asleep, woken onto an idle CPU, back on it.
        .k(1_000, switch(1, 12, OffState::Sleeping, 0))
        .k(3_000, waking(11, 12, 1))
        .k(3_500, switch(1, 0, OffState::Runnable, 12))
        // Another process takes its CPU.
        .k(5_000, switch(1, 12, OffState::Runnable, 77))
        .k(9_000, switch(1, 77, OffState::Sleeping, 12))
        // The kernel blocks it.
        .k(10_000, switch(1, 12, OffState::Uninterruptible, 0))
        .k(16_000, waking(0, 12, 1))
        .k(16_000, switch(1, 0, OffState::Runnable, 12));
    let account = divided(until(script, 20_000));
    assert_eq!((account.lanes_ns, account.wall_ns), (40_000, 20_000));
    assert_eq!(ns(&account, &["idle"]), 2_000);
    assert_eq!(ns(&account, &["no-cpu", "idle-cpu"]), 500);
    assert_eq!(ns(&account, &["no-cpu", "process:task-77"]), 4_000);
    assert_eq!(ns(&account, &["kept", "blocked"]), 6_000);
    assert_eq!(ns(&account, &["program"]), 27_500);
    assert_eq!(account.part("program").unwrap().wall_ns, Some(20_000));
    assert_eq!(account.part("idle").unwrap().wall_ns, Some(2_000));
    let lane = &account.lanes[0];
    assert_eq!((lane.ns, lane.parts.len(), lane.parts[0].ns), (20_000, 1, 20_000));
}

#[test]
fn a_pause_is_divided_into_its_parts_and_each_wait_has_its_cause() {
    // Lane 0 asks, lane 1 has no CPU for 40 us; both collect for 60 us.
    let script = two()
        .k(99_000, switch(1, 12, OffState::Runnable, 77))
        .k(140_000, switch(1, 77, OffState::Sleeping, 12))
        .parallel(100_000, 150_000, 151_000, 211_000);
    let account = divided(until(script, 300_000));
    assert_eq!(account.lanes_ns, 600_000);
    // Lane 0 waited from its request until lane 1 had stopped, and then until it resumed itself.
    assert_eq!(ns(&account, &["standing-still", "to-stop", "preempted"]), 40_000);
    let to_stop = ns(&account, &["standing-still", "to-stop"]);
    assert!((50_000..=52_000).contains(&to_stop), "{account:#?}");
    let collecting = ns(&account, &["collecting", "in-pauses"]);
    // The leader works alone until lane 1 begins, and again after lane 1 is done.
    assert_eq!(collecting, 60_000 + 59_998, "{account:#?}");
    assert_eq!(ns(&account, &["no-cpu", "process:task-77"]), 41_000, "{account:#?}");
    assert_eq!(ns(&account, &["not-known"]), 0);
}

#[test]
fn what_held_the_slowest_pauses_up_is_not_hidden_by_the_others() {
    // Every fourth of forty pauses takes 50 us until lane 1, whose CPU another process has, has stopped; the others
    // take 1 us.
    let script = (0..40u64).fold(two(), |script, index| {
        let at = 1_000_000 + index * 1_000_000;
        if index % 4 != 3 {
            return script.parallel(at, at + 1_000, at + 2_000, at + 9_000);
        }
        let script = script.k(at - 1_000, switch(1, 12, OffState::Runnable, 77));
        let script = script.k(at + 40_000, switch(1, 77, OffState::Sleeping, 12));
        script.parallel(at, at + 50_000, at + 51_000, at + 59_000)
    });
    let results = results(context(), until(script, 50_000_000).events());
    let slowest = results.slowest_pauses.unwrap();
    assert!(slowest.account.sums_up());
    assert_eq!(results.pauses.count, 40);
    assert_eq!(slowest.count, 10);
    assert_eq!(slowest.account.wall_ns, 10 * slowest.least_ns);
    assert_eq!(slowest.account.lanes_ns, 20 * slowest.least_ns);
    assert_eq!(ns(&slowest.account, &["standing-still", "to-stop", "preempted"]), 10 * 40_000);
    assert_eq!(ns(&slowest.account, &["no-cpu", "process:task-77"]), 10 * 40_000);
    assert_eq!(ns(results.account.as_ref().unwrap(), &["standing-still", "to-stop", "preempted"]), 10 * 40_000);
}

#[test]
fn a_run_without_a_pause_has_no_slowest_ones() {
    assert!(results(context(), until(two(), 1_000).events()).slowest_pauses.is_none());
}

#[test]
fn a_lane_that_runs_no_green_thread_is_idle_and_one_whose_thread_sleeps_is_in_a_call() {
    let script = two()
        .run(0, 0, 1)
        .run(0, 1, 2)
        // Its thread keeps looking for work: still nothing to run.
        .stop(2_000, 1, 2, StopReason::Finished)
        .run(5_000, 1, 3)
        .k(7_000, switch(1, 12, OffState::Sleeping, 0))
        .k(9_000, waking(0, 12, 1))
        .k(9_000, switch(1, 0, OffState::Runnable, 12))
        .stop(10_000, 1, 3, StopReason::Finished);
    let account = divide_all(Context { every_green_event: true, ..context() }, until(script, 10_000).events());
    assert_eq!(ns(&account, &["idle"]), 3_000);
    assert_eq!(ns(&account, &["kept", "call"]), 2_000);
    assert_eq!(ns(&account, &["program"]), 15_000);
}

#[test]
fn where_only_some_runs_are_seen_a_lane_is_idle_while_its_thread_sleeps() {
    let script = two()
        .run(0, 0, 1)
        .run(0, 1, 2)
        .stop(2_000, 1, 2, StopReason::Finished)
        .k(4_000, switch(1, 12, OffState::Sleeping, 0))
        .k(9_000, waking(0, 12, 1))
        .k(9_000, switch(1, 0, OffState::Runnable, 12));
    let account = divided(until(script, 10_000));
    assert_eq!((ns(&account, &["idle"]), ns(&account, &["program"]), ns(&account, &["kept"])), (5_000, 15_000, 0));
}

#[test]
fn a_lane_that_does_one_thing_for_long_counts_all_the_time() {
    // Lane 0 never changes; lane 1 changes often enough for several rounds of counting.
    let script = (0..9_000u64).fold(two(), |script, index| {
        let at = 1_000 + index * 1_000;
        script.k(at, switch(1, 12, OffState::Runnable, 77)).k(at + 500, switch(1, 77, OffState::Sleeping, 12))
    });
    let account = divided(until(script, 10_000_000));
    assert_eq!(account.lanes.iter().map(|lane| lane.ns).collect::<Vec<_>>(), [10_000_000, 10_000_000]);
    assert_eq!(ns(&account, &["program"]), 20_000_000 - 9_000 * 500);
}

#[test]
fn threads_that_are_too_many_take_no_lane_time() {
    // One lane and two threads on CPUs: the second thread is in a call that released its lane.
    let script = Script::default()
        .k(0, switch(0, 0, OffState::Runnable, 11))
        .k(0, switch(1, 0, OffState::Runnable, 12))
        .rt(0, 0, Runtime::LaneCreated)
        .k(4_000, switch(0, 11, OffState::Sleeping, 0))
        .rt(10_000, 0, Runtime::LaneDeleted);
    let account = divided(script);
    assert_eq!((account.lanes_ns, ns(&account, &["program"])), (10_000, 10_000));
}

#[test]
fn without_the_kernels_events_nothing_is_reported_of_cpus() {
    let script = Script::default()
        .rt(0, 0, Runtime::LaneCreated)
        .rt(0, 1, Runtime::LaneCreated)
        .parallel(1_000, 2_000, 3_000, 9_000);
    let account = divide_all(Context { kernel: None, ..context() }, until(script, 20_000).events());
    assert_eq!(ns(&account, &["program", "posted"]), ns(&account, &["program"]));
    assert!(account.part("program").unwrap().parts[0].why.as_ref().unwrap().contains("scheduling events"));
    assert_eq!(account.part("no-cpu"), None);
    assert_eq!(ns(&account, &["collecting"]), 6_000 + 5_998);
}

#[test]
fn what_is_lost_is_not_known() {
    let lost = Loss {
        from: Some(Time(4_000)),
        to: Some(Time(6_000)),
        ..Loss::new("kernel", LossKind::KernelRecords, 1, String::new())
    };
    let context = Context { losses: vec![lost], ..context() };
    let account = divide_all(context, until(two(), 10_000).events());
    assert_eq!(ns(&account, &["not-known", "kernel-lost"]), 4_000);
    let gap = two().rt(5_000, 1, Runtime::User(Default::default(), rtscope_model::UserEvent::Mark)).rt(
        7_000,
        1,
        Runtime::Gap,
    );
    let account = divided(until(gap, 10_000));
    assert!(ns(&account, &["not-known", "events-lost"]) >= 2_000, "{account:#?}");
}

#[test]
fn samples_divide_what_was_on_a_cpu() {
    let account = sampled(5_000);
    let program = account.part("program").unwrap();
    assert_eq!(program.ns, 20_000);
    assert_eq!(ns(&account, &["program", "program-code"]), 15_000);
    assert_eq!(ns(&account, &["program", "kernel:page fault, first touch"]), 5_000);
    assert_eq!(program.parts[0].samples, Some(3));
}

/// The account of two lanes that work for 10 us, with four samples that stand for `each_ns` each.
fn sampled(each_ns: u64) -> Account {
    let places = Places::new();
    let (spin, fault) = (places.spin, places.fault);
    let context = Context { symbols: places.symbols, ..context() };
    let script = (0..4).fold(two(), |script, index| {
        let leaf = if index == 3 { fault } else { spin };
        script.found(1_000 + index * 1_000, 12, leaf, each_ns)
    });
    divide_all(context, until(script, 10_000).events())
}

#[test]
fn what_samples_did_not_meet_is_not_divided() {
    // Twenty were due.
    let account = sampled(1_000);
    assert_eq!(ns(&account, &["program", "program-code"]), 3_000);
    assert_eq!(ns(&account, &["program", "not-sampled"]), 16_000);
    let rest = account.part("program").unwrap().part("not-sampled").unwrap();
    assert!(rest.samples.is_none() && rest.why.is_some());
    // With so few samples the rest may be missing by chance.
    assert_eq!(ns(&sampled(1_100), &["program", "program-code"]), 15_000);
}

#[test]
fn it_sums_up_wherever_it_is_cut() {
    // Enough events for many rounds; the thread on each CPU keeps changing.
    let script = (0..3_000u64).fold(two(), |script, index| {
        let at = 1_000 + index * 10_000;
        let (out, other) = if index % 3 == 0 { (OffState::Sleeping, 0) } else { (OffState::Runnable, 77) };
        let script = script.k(at, switch(1, 12, out, other)).k(at + 4_000, switch(1, other, OffState::Sleeping, 12));
        if index % 10 == 9 { script.parallel(at + 5_000, at + 5_500, at + 6_000, at + 8_000) } else { script }
    });
    let account = divided(until(script, 31_000_000));
    assert_eq!((account.lanes_ns, account.wall_ns), (62_000_000, 31_000_000));
    assert_eq!(ns(&account, &["no-cpu", "process:task-77"]), 2_000 * 4_000);
    assert_eq!(ns(&account, &["idle"]), 1_000 * 4_000);
    assert_eq!(ns(&account, &["not-known"]), 0);
}

#[test]
fn runs_that_are_too_many_to_wait_for_the_kernel_are_merged_and_not_lost() {
    // All of them fall within the time that the analysis waits for counters.
    let script = (0..80_000u64).fold(two().quota(0, 0, 0), |script, index| {
        script.run(1_000 + index * 100, 0, 1).stop(1_050 + index * 100, 0, 1, StopReason::Finished)
    });
    let context = Context { every_green_event: true, ..context() };
    let account = divide_all(context, until(script, 9_000_000).events());
    assert_eq!((account.lanes_ns, ns(&account, &["not-known"])), (18_000_000, 0), "{account:#?}");
    let idle = ns(&account, &["idle"]);
    assert!((1_000_000..12_000_000).contains(&idle), "{account:#?}");
}
