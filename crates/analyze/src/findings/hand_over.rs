//! `hand-over`: threads wait only for each other, and no lane works from when one lets go until the next is awake.
//!
//! Cost: wall-clock time outside pauses in which no lane had work, counting only spells no longer than waking a
//! thread may take (in longer ones the program rests, perhaps until a signal or a callback); plus, of the average
//! lane, time in which it had work and its thread was on its way to an idle CPU. What threads that wait for time,
//! for input, for a call, or for something unknown explain is left out: the next work may come from there. Looks
//! come while any lane is idle, so the share of looks with such a thread is larger than its share of the time that
//! counts here. Looks are few: what they may have missed by chance is subtracted where the rule decides whether
//! there is a finding, unless nearly all wake-ups came from the program's own threads.

use super::collected::mean;
use super::looks::at_most;
use super::with_work::{MENTIONED_MIN, seen};
use super::{Cost, Facts, Rule, Verdict, needs};
use crate::kernel::sched::Wakes;
use crate::results::waits::{Wait, Waits};
use rtscope_model::units::{duration, percent};
use rtscope_model::{Account, Confidence, Evidence, Figure, Node, Remedy, Tid, WaitKind};

const SHARE_MIN: f64 = 0.10;
/// With fewer wake-ups their share says little.
const WAKES_MIN: u64 = 1_000;
/// The first thread takes part if it has at least one in this many of all sleeps, and so many a second.
const FIRST_PART: u64 = 4;
const FIRST_SLEEPS_MIN: f64 = 200.0;
/// One lane takes at least as long as all were on CPUs: it is suggested only if it gains this share.
const GAIN_MIN: f64 = 0.2;

const COST: Figure =
    Figure { path: "findings.hand-over.cost_ns", shows: "handing over takes less of the run, or the finding is gone" };

pub(super) static RULE: Rule = Rule {
    id: "hand-over",
    order: 268,
    explains: &["idle", "no-cpu"],
    needs: Some(&needs::LOOKS),
    yields_to: &["lock-convoy", "blackhole-or-lock", "domain-lock", "stm-contention"],
    share_min: SHARE_MIN,
    also: " at least, as few looks show, while threads wait for each other only",
    why: "threads wait for each other now and then in every program",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let waits = facts.context.waits.as_ref()?;
    let most = waits.by.iter().find(|wait| among_threads(wait.kind))?;
    let LostTime { least_ns, ns, waking_ns } = lost_time(facts, waits)?;
    if facts.share(least_ns) < SHARE_MIN {
        return None;
    }
    let verdict = Verdict::new(Cost::Time(ns), Confidence::Medium, "Handing over from thread to thread took ");
    let rest = format!(": no {} worked until the next thread was awake.", facts.runtime.lane.0);
    let seen = seen(facts).into_iter().chain(woken(facts, waking_ns)).chain([waited(facts, most)]);
    Some(verdict.then(rest).explaining("no-cpu", waking_ns).seen(seen).remedies(remedies(facts, most)))
}

/// Wall-clock time in which threads waited only for each other, and for an idle CPU.
pub(super) struct LostTime {
    /// Lower bound that so few looks support.
    pub least_ns: u64,
    /// Most likely value.
    pub ns: u64,
    /// The part of `ns` on the way to a CPU.
    waking_ns: u64,
}

pub(super) fn lost_time(facts: &Facts<'_>, waits: &Waits) -> Option<LostTime> {
    let account = facts.account?;
    let waking_ns = waking(account).map_or(0, |waking| mean(account, waking.ns));
    let lost_time = account.no_work_briefly_ns.saturating_add(waking_ns);
    let looked = account.part("idle")?.wall_ns? as f64 / lost_time.max(1) as f64;
    let without = |share: f64| (lost_time as f64 * (1.0 - share).max(0.0)) as u64;
    let seen = from_elsewhere(waits);
    let most = elsewhere_at_most(seen * looked, at_most(seen, waits.looks) * looked, facts.wakes);
    Some(LostTime { least_ns: without(most), ns: without(seen * looked), waking_ns })
}

/// Upper bound of the share of the time that what comes from elsewhere explains: few looks do not exclude much, but
/// what comes from elsewhere wakes a thread, and not from a thread of the program.
fn elsewhere_at_most(seen: f64, most: f64, wakes: Option<Wakes>) -> f64 {
    let wakes = wakes.filter(|wakes| wakes.all >= WAKES_MIN);
    let woken = wakes.map_or(most, |wakes| 1.0 - wakes.by_own as f64 / wakes.all as f64);
    most.min(woken).max(seen)
}

/// Lane time in which a thread had work and an idle CPU.
pub(super) fn waking(account: &Account) -> Option<&Node> {
    account.part("no-cpu")?.parts.iter().find(|part| part.id == "idle-cpu")
}

fn woken(facts: &Facts<'_>, ns: u64) -> Option<Evidence> {
    let lane = facts.runtime.lane.0;
    let text = || format!("The average {lane}'s thread was on its way to an idle CPU for {}.", duration(ns));
    (facts.share(ns) >= MENTIONED_MIN).then(|| facts.overall(text()))
}

/// Whether another thread has to do something before this one can work. The end of a thread is no hand-over.
pub(super) fn among_threads(kind: WaitKind) -> bool {
    kind.is_for_each_other() && kind != WaitKind::Child
}

/// Share of looks at which work may have come from elsewhere for some thread; an upper bound, since one look may see
/// several kinds of waits.
fn from_elsewhere(waits: &Waits) -> f64 {
    let is = |kind: WaitKind| kind.is_for_outside() || kind == WaitKind::Unknown;
    waits.kinds.iter().filter(|kind| is(kind.kind)).map(|kind| kind.looks_share).sum::<f64>().min(1.0)
}

pub(super) fn waited(facts: &Facts<'_>, most: &Wait) -> Evidence {
    let at = most.at();
    let looks = percent(most.looks_share);
    facts.overall(format!("Most waits at looks: for a {}{at}, at {looks} of them.", most.kind.word()))
}

/// Threads may wait for a lock, or for something that another thread brings.
fn remedies(facts: &Facts<'_>, most: &Wait) -> Vec<Remedy> {
    let lane = facts.runtime.lane.0;
    let library = most.place.as_deref().and_then(|place| facts.runtime.of_library(place));
    let first = library.or((most.kind == WaitKind::Lock).then_some(
        "If what they wait for is a lock, hold it for less: compute before taking it; or use one for each part of the data.",
    ));
    let words = [
        "Hand over many items at a time, through a queue with room for several: then both sides work at once."
            .to_owned(),
        format!("Where one side always waits for the other's answer, let one thread do both, or both on one {lane}."),
    ];
    let herd = broadcast(most);
    let bound = first_thread(facts).map(str::to_owned);
    let words = herd.into_iter().chain(bound).chain(first.map(str::to_owned)).chain(words);
    let words = words.map(|text| Remedy::new(text).falls(COST));
    words.chain(one_lane(facts).map(|one| one.falls(COST))).collect()
}

/// Advice where a herd of threads waits for a condition.
pub(super) fn broadcast(wait: &Wait) -> Option<String> {
    (wait.kind == WaitKind::Condition && wait.is_herd()).then(|| {
        format!(
            "If each change wakes all {:.0} threads that wait for it (`broadcast`), wake one (`signal`), or give each a condition \
             of its own: the others wake up only to wait again.",
            wait.threads()
        )
    })
}

/// Advice where the program's first thread is one of those that hand over.
fn first_thread(facts: &Facts<'_>) -> Option<&'static str> {
    let slept = facts.counters.slept_by(Tid(facts.context.program_pid?.0));
    let takes_part = takes_part(slept, facts.counters.slept(), facts.per_second(slept));
    Some(facts.runtime.first_thread).filter(|advice| takes_part && !advice.is_empty())
}

fn takes_part(slept: u64, all: u64, per_second: f64) -> bool {
    slept.saturating_mul(FIRST_PART) >= all && per_second >= FIRST_SLEEPS_MIN
}

/// One lane for all, if their work fits into it: threads of one lane hand over without waking a CPU.
fn one_lane(facts: &Facts<'_>) -> Option<Remedy> {
    let (account, flag) = (facts.account?, facts.runtime.knobs.lanes?);
    let on_cpus_ns: u64 = ["program", "collecting"].iter().filter_map(|id| account.part(id)).map(|part| part.ns).sum();
    let fits = facts.lanes > 1 && on_cpus_ns as f64 <= account.wall_ns as f64 * (1.0 - GAIN_MIN);
    let (one, many) = facts.runtime.lane;
    let text = format!(
        "run on one {one}: what all {many} did on CPUs, {}, fits into one, whose threads hand over without waking another \
         CPU. A thread that is bound to a kernel thread is switched to all the same: measure.",
        duration(on_cpus_ns)
    );
    fits.then(|| Remedy::or(text).option(format!("{flag}1")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::waits::WaitShare;

    #[test]
    fn a_first_thread_that_rests_takes_no_part() {
        assert!(takes_part(40_000, 120_000, 3_500.0));
        assert!(!takes_part(900, 120_000, 300.0), "others hand over");
        assert!(!takes_part(9, 12, 2.0), "a program at rest");
    }

    #[test]
    fn wake_ups_bound_what_few_looks_may_have_missed() {
        let wakes = |all, by_own| Some(Wakes { all, by_own });
        assert!((elsewhere_at_most(0.0, 0.9, wakes(100_000, 98_000)) - 0.02).abs() < 1e-9);
        assert_eq!(elsewhere_at_most(0.0, 0.9, wakes(100, 100)), 0.9, "too few");
        assert_eq!(elsewhere_at_most(0.0, 0.9, None), 0.9);
        assert_eq!(elsewhere_at_most(0.5, 0.9, wakes(100_000, 98_000)), 0.5, "looks saw a thread that waits for time");
        assert_eq!(elsewhere_at_most(0.0, 0.2, wakes(100_000, 0)), 0.2);
    }

    #[test]
    fn only_a_herd_at_a_condition_can_be_woken_in_vain() {
        let at = |kind, threads| Wait { kind, threads_mean: threads * 0.5, looks_share: 0.5, ..Wait::default() };
        assert!(broadcast(&at(WaitKind::Condition, 136.0)).unwrap().contains("all 136 threads"));
        assert_eq!(broadcast(&at(WaitKind::Condition, 2.0)), None);
        assert_eq!(broadcast(&at(WaitKind::Lock, 136.0)), None);
    }

    #[test]
    fn one_thread_that_work_may_come_to_is_enough() {
        let waits = |kinds: &[(WaitKind, f64)]| {
            let of = |(kind, looks_share): &(WaitKind, f64)| WaitShare {
                kind: *kind,
                holder: None,
                threads_mean: 3.0,
                looks_share: *looks_share,
            };
            from_elsewhere(&Waits { kinds: kinds.iter().map(of).collect(), ..Waits::default() })
        };
        assert_eq!(waits(&[(WaitKind::Condition, 1.0), (WaitKind::NoWork, 1.0), (WaitKind::Moved, 0.5)]), 0.0);
        assert_eq!(waits(&[(WaitKind::Time, 0.25), (WaitKind::Lock, 1.0)]), 0.25);
        assert_eq!(waits(&[(WaitKind::InputOutput, 0.75), (WaitKind::Unknown, 0.5)]), 1.0);
    }
}
