//! `oversubscribed`: more lanes than CPUs, so that the program's threads queue for CPUs when the world has to stop.
//!
//! Cost: wall-clock time inside pauses in which a thread of the program waited for a CPU on which another thread of
//! the program ran, and no CPU was idle; each moment once. With more lanes than CPUs also:
//!
//! - time that pauses waited for a lane on its way to a CPU, and for one that samples found in the runtime's code (it
//!   spins for a lane without a CPU);
//! - time that they waited, when the work was done, for a lane that still slept, moved to another OS thread or had no known
//!   thread: the thread that wakes it had to wait for a CPU, and so has it. A lane that does so before all have
//!   stopped may be in a call or in a loop: other rules report that;
//! - time in which collectors wait for each other: at least one of them has no CPU.
//!
//! Outside pauses sharing a CPU loses nothing: the CPU does the program's work either way. With more lanes than CPUs
//! a fiftieth of the wall clock is enough; otherwise (threads of foreign calls) it has to be a tenth. The CPUs are
//! those of the affinity mask: `cpu-throttled` reports what a quota takes.

use super::collected::measured;
use super::{Cost, Facts, PAUSED, Rule, Verdict, evidence, longest, needs, scaled, sure};
use rtscope_model::units::duration;
use rtscope_model::{Cause, CodeKind, Remedy, Setting};

const SHARE_MIN_OTHERS: f64 = 0.10;
/// Causes of a lane that is late because other threads of the program have the CPUs.
const FOR_EACH_OTHER: [Cause; 2] = [Cause::Oversubscribed, Cause::WakeLatency];
/// Causes that mean so only when the work is done, with their parts in the account: before, such a lane may be in
/// a call.
const AFTER_THE_WORK: [(Cause, &str); 3] =
    [(Cause::Asleep, "asleep"), (Cause::HandedOver, "handed-over"), (Cause::Unknown, "unknown")];
/// What collectors do while they wait for each other.
const SPINNING: [&str; 2] = ["waiting-for-collectors", "kernel:sched_yield"];

/// A base for runtimes, which may know better when it holds. It yields where a leader spins and so holds up the very
/// lane that it waits for: that loses nothing.
pub(crate) const BASE: Rule = Rule {
    id: "oversubscribed",
    explains: &["collecting", "standing-still", "no-cpu"],
    order: 60,
    needs: Some(&needs::RUNNERS),
    yields_to: &["late-safepoint", "unsafe-foreign-call", "blocked-in-kernel"],
    share_min: 0.02,
    also: " with more lanes than CPUs, else 10 %",
    why: "two threads meet on one CPU now and then also where there are enough",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let held = facts.held?;
    let too_many = more_lanes_than_cpus(facts);
    let cost_ns = held.sibling.in_pauses_ns.max(too_many.map_or(0, |_| waited_ns(facts)));
    if too_many.is_none() && facts.share(cost_ns) < SHARE_MIN_OTHERS {
        return None;
    }
    let noun = facts.runtime.lane.1;
    let text = format!(
        "Inside pauses a thread of the program waited for a CPU that a sibling had during {}, over the whole recording \
         during {}.",
        duration(held.sibling.in_pauses_ns),
        duration(held.sibling.ns())
    );
    let sibling_wait = evidence(text, held.sibling.pieces.longest);
    let longest = longest(facts, Cause::Oversubscribed, " for a CPU that the program's own threads had");
    let opening = match too_many {
        Some(cpus) => format!("{} {noun} share {cpus} CPUs: during", facts.lanes),
        None => "During".to_owned(),
    };
    let what = format!("{opening} pauses the program's threads waited for each other's CPUs for ");
    let verdict = Verdict::new(Cost::Time(cost_ns), sure(too_many.is_some()), what);
    Some(verdict.seen(longest.into_iter().chain([sibling_wait])).remedies(remedies(facts, too_many)))
}

/// Wall-clock time that pauses waited for surplus lanes.
fn waited_ns(facts: &Facts<'_>) -> u64 {
    let queued: u64 = FOR_EACH_OTHER.map(|cause| facts.paused_ns(cause)).iter().sum();
    // Samples hit few of the waits; those that were hit stand for all.
    let on_a_cpu = Cause::ALL.into_iter().filter(|cause| cause.on_a_cpu());
    let all: u64 = on_a_cpu.map(|cause| hit_ns(facts, cause, |_| true)).sum();
    let spinning = hit_ns(facts, Cause::Running, |kind| kind == CodeKind::Runtime);
    let spun = scaled(facts.paused_ns(Cause::Running), spinning, all);
    let after: u64 = AFTER_THE_WORK.map(|(cause, part)| after_ns(facts, cause, part)).iter().sum();
    let collectors = measured(facts, &SPINNING).unwrap_or(0);
    queued.saturating_add(spun).saturating_add(after).saturating_add(collectors)
}

/// Waits for a lane with this cause in which a sample found code of a kind that `is` accepts.
fn hit_ns(facts: &Facts<'_>, cause: Cause, is: impl Fn(CodeKind) -> bool) -> u64 {
    let Some(total) = facts.sums.cause_total(cause) else { return 0 };
    let found = total.codes.iter().filter(|(id, _)| is(facts.symbols.get(**id).kind));
    found.map(|(_, ns)| ns).sum()
}

/// The part of the waits for this cause that came after the work, by its share in the account.
fn after_ns(facts: &Facts<'_>, cause: Cause, part: &str) -> u64 {
    let pauses = facts.account.and_then(|account| account.part("standing-still"));
    let of = |when| pauses.and_then(|pauses| pauses.part(when)?.part(part)).map_or(0, |node| node.ns);
    let [before, after] = ["to-stop", "to-get-back"].map(of);
    scaled(facts.paused_ns(cause), after, before.saturating_add(after))
}

/// The number of CPUs that the program may use, if it has more lanes.
pub(crate) fn more_lanes_than_cpus(facts: &Facts<'_>) -> Option<usize> {
    facts.context.cpus().filter(|cpus| facts.lanes > *cpus)
}

/// They shorten pauses, not the time to stop: fewer lanes have less young memory and collect more often.
fn remedies(facts: &Facts<'_>, too_many: Option<usize>) -> Vec<Remedy> {
    let noun = facts.runtime.lane.1;
    let fewer = match too_many {
        Some(cpus) => one_for_each_cpu(facts, cpus),
        None => shorter(
            format!("Use fewer {noun}: threads of foreign calls or of other parts of the program need CPUs, too."),
            facts.runtime.lanes_flag(facts.lanes.saturating_sub(1).max(1)),
        ),
    };
    let sequential = facts.runtime.sequential_flag().filter(|_| facts.lanes > 1).map(|flag| {
        let text = format!(
            "If the {noun} must stay, collect with fewer threads, so that collector threads do not spin for a CPU that \
             a sibling needs."
        );
        shorter(text, Some(flag))
    });
    [fewer].into_iter().chain(sequential).collect()
}

/// As many lanes as there are CPUs.
pub(crate) fn one_for_each_cpu(facts: &Facts<'_>, cpus: usize) -> Remedy {
    let noun = facts.runtime.lane.1;
    shorter(format!("Use as many {noun} as there are CPUs ({cpus})."), facts.runtime.lanes_flag(cpus))
}

fn shorter(text: String, sets: Option<Setting>) -> Remedy {
    let remedy = Remedy::new(text).set(sets).falls(PAUSED);
    remedy.shows("waits for a CPU that the program's own threads had are gone and pauses are shorter")
}
