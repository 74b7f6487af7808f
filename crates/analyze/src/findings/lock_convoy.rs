//! `lock-convoy`: lanes have nothing to run because threads queue for what one of them holds.
//!
//! Cost: idle time of the average lane, in proportion to looks that saw two or more threads wait for the same thing,
//! held by a thread at work; and the same share of the time in which threads were on their way to an idle CPU, since
//! a holder that lets go wakes the next one. One waiter is no queue: a main thread that waits for its workers loses
//! nothing. A holder that itself waits for something from outside makes no queue either: a pool without work looks
//! like that. A holder that waits for time does, if threads hold the thing in turn: they could wait without it. If it
//! is always the same thread, it may be a clock that wakes the others. What few looks hit by chance is subtracted
//! where the rule decides whether there is a finding. The holder of a thing that a running thread took is not always
//! known: those waits count like the others at their place. For runtimes with looks at any time the result is too
//! low, since a lane is not idle at every look.

use super::collected::mean;
use super::hand_over::waking;
use super::looks::at_least;
use super::with_work::MENTIONED_MIN;
use super::{Cost, Facts, IDLE, Need, Rule, Verdict, needs};
use crate::results::waits::{HolderDoes, Wait};
use rtscope_model::units::counted;
use rtscope_model::{Confidence, Doing, Evidence, Remedy, WaitKind};
use std::collections::BTreeMap;

/// Mean number of threads that wait for one thing, weighted by threads: from here on there is a queue.
const QUEUE_MIN: f64 = 1.5;
/// From this share of idle lane time on, the rule needs to see what threads wait for.
const SHARE_MIN: f64 = 0.10;
/// Foreign functions that wait for something from outside: a thread in one has no work, nor have those that wait
/// for it.
const FROM_OUTSIDE: [&str; 22] = [
    "accept",
    "accept4",
    "poll",
    "ppoll",
    "__poll",
    "select",
    "pselect",
    "epoll_wait",
    "epoll_pwait",
    "read",
    "__read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "wait4",
    "waitpid",
    "sigwait",
    "sigtimedwait",
    "fgets",
    "fread",
    "getline",
];

pub(super) static RULE: Rule = Rule {
    id: "lock-convoy",
    explains: &["idle", "no-cpu"],
    order: 265,
    needs: Some(&LOOKS),
    yields_to: &["blackhole-or-lock", "stm-contention"],
    share_min: SHARE_MIN,
    also: " at least, as few looks show, and two threads that wait for one thing",
    why: "threads wait for each other now and then in every program",
    check,
    ..Rule::BLANK
};

static LOOKS: Need = Need { missing, ..needs::LOOKS };

fn missing(facts: &Facts<'_>) -> Option<String> {
    // Where lanes have work there is nothing to look at.
    let idle = facts.account.map(|account| (account.part("idle").map_or(0, |idle| idle.ns), account.lanes_ns));
    let busy = idle.is_some_and(|(idle_ns, lanes_ns)| (idle_ns as f64) < SHARE_MIN * lanes_ns as f64);
    (needs::LOOKS.missing)(facts).filter(|_| !busy || facts.context.waits.is_none())
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let waits = facts.context.waits.as_ref()?;
    let account = facts.account?;
    let idle = account.part("idle")?;
    // Mean number of idle lanes while any is idle.
    let lanes = idle.ns as f64 / idle.wall_ns.filter(|ns| *ns > 0)? as f64;
    let mut queues = queues(&waits.by, lanes);
    queues.sort_by(|one, other| other.share.total_cmp(&one.share));
    let share = queues.iter().map(|queue| queue.share).sum::<f64>().min(1.0);
    let largest = queues.first()?;
    let waking = waking(account).map_or(0, |waking| waking.ns);
    let [idle_ns, waking_ns] = [idle.ns, waking].map(|ns| mean(account, (ns as f64 * share) as u64));
    let least = at_least(share, waits.looks) / share.max(f64::EPSILON);
    if facts.share((idle_ns.saturating_add(waking_ns) as f64 * least) as u64) < SHARE_MIN {
        return None;
    }
    let lane = facts.runtime.lane.0;
    let what = match facts.share(waking_ns) >= MENTIONED_MIN {
        true => format!("The average {lane} had nothing to run, or its thread was on its way to an idle CPU, for "),
        false => format!("The average {lane} had nothing to run for "),
    };
    let verdict = Verdict::new(Cost::Time(idle_ns.saturating_add(waking_ns)), Confidence::Medium, what);
    let verdict = verdict.explaining("idle", idle_ns).explaining("no-cpu", waking_ns);
    let seen = largest.seen(facts, waits.looks);
    Some(verdict.then(largest.because(facts)).seen(seen).remedies(largest.remedies(facts)))
}

/// Threads that queue at one place.
struct Queue<'w> {
    /// The wait that most looks saw, of those whose holder is known and at work.
    wait: &'w Wait,
    holder: &'w HolderDoes,
    /// Share of the time in which lanes had nothing to run.
    share: f64,
    /// Looks at which threads queued there, and looks that saw the holder, as shares of all.
    looks: [f64; 2],
}

/// Queues for what a thread at work holds, where `lanes` are idle at once.
fn queues(by: &[Wait], lanes: f64) -> Vec<Queue<'_>> {
    let mut places: BTreeMap<(WaitKind, Option<&str>), Vec<&Wait>> = BTreeMap::new();
    for wait in by.iter().filter(|wait| matches!(wait.kind, WaitKind::Lock | WaitKind::Value)) {
        places.entry((wait.kind, wait.place.as_deref())).or_default().push(wait);
    }
    places.values().filter_map(|waits| Queue::of(waits, lanes)).collect()
}

fn queued(wait: &Wait) -> bool {
    wait.queue_mean.unwrap_or_else(|| wait.threads()) >= QUEUE_MIN
}

/// Whether the queued threads wait for the holder's work or sleep, and not for something from outside.
fn works(holder: &HolderDoes) -> bool {
    match holder.doing {
        Doing::Runs | Doing::Ready => true,
        // A thread that always holds it may be a clock.
        Doing::Waits(WaitKind::Time) => holder.thread.is_none(),
        Doing::Waits(WaitKind::ForeignCall) => {
            holder.callee.as_deref().is_some_and(|callee| !FROM_OUTSIDE.contains(&callee))
        }
        Doing::Waits(_) | Doing::Unknown => false,
    }
}

impl<'w> Queue<'w> {
    /// The queue of waits of one kind at one place; `None`: they form none.
    fn of(waits: &[&'w Wait], lanes: f64) -> Option<Queue<'w>> {
        let share = |wait: &Wait| wait.looks_share * (wait.threads() / lanes.max(1.0)).min(1.0);
        let sum =
            |is: &dyn Fn(&Wait) -> bool| waits.iter().filter(|wait| is(wait)).map(|wait| share(wait)).sum::<f64>();
        let at_work = |wait: &Wait| queued(wait) && wait.holder.as_ref().is_some_and(works);
        let (known, found) = (sum(&|wait| queued(wait) && wait.holder.is_some()), sum(&at_work));
        // If it is mostly held by a thread that waits for something else, that is what they queue for: the last
        // holder had just come back from it.
        if found * 2.0 < known {
            return None;
        }
        let unknown = sum(&|wait| queued(wait) && wait.holder.is_none());
        let seen = waits.iter().copied().filter(|wait| at_work(wait));
        let wait = seen.max_by(|one, other| share(one).total_cmp(&share(other)))?;
        let looks = |is: &dyn Fn(&Wait) -> bool| {
            waits.iter().filter(|wait| is(wait)).map(|wait| wait.looks_share).sum::<f64>().min(1.0)
        };
        let share = (found + unknown * found / known).min(1.0);
        let looks = [looks(&|wait| queued(wait)), looks(&at_work)];
        Some(Queue { wait, holder: wait.holder.as_ref()?, share, looks })
    }

    /// The end of the claim.
    fn because(&self, facts: &Facts<'_>) -> String {
        let at = self.wait.at();
        let within = self.holder.place.as_ref().map_or(String::new(), |place| format!(" `{place}`"));
        let did = match (self.holder.doing, &self.holder.callee) {
            (Doing::Waits(_), Some(callee)) if self.holder.place.as_ref() != Some(callee) => {
                format!("was in the foreign call `{callee}`")
            }
            (Doing::Waits(WaitKind::Time), _) if within.is_empty() => "slept".to_owned(),
            (Doing::Waits(WaitKind::Time), _) => format!("slept in{within}"),
            (Doing::Waits(_), _) => "was in a foreign call".to_owned(),
            _ if within.is_empty() => "was at work".to_owned(),
            _ => format!("was at work in{within}"),
        };
        let thing = match self.wait.kind {
            WaitKind::Value => "value, and the one that computed it".to_owned(),
            _ => format!("{}, and the one that had it", facts.runtime.lock.0),
        };
        format!(": threads waited{at} for the same {thing} {did}.")
    }

    fn seen(&self, facts: &Facts<'_>, looks: u64) -> [Evidence; 2] {
        let [at, known] = self.looks.map(|share| (looks as f64 * share).round() as u64);
        let many = format!(
            "At {at} of {} at threads while a {} had nothing to run, {:.1} waited there on average.",
            counted(looks, "look", "looks"),
            facts.runtime.lane.0,
            self.wait.threads()
        );
        let holder = match &self.holder.thread {
            _ if known < at => format!("Who had it was seen at {known} of them."),
            Some(thread) => format!("Thread {thread} had it each time."),
            None => "Threads had it in turn.".to_owned(),
        };
        [facts.overall(many), facts.overall(holder)]
    }

    fn remedies(&self, facts: &Facts<'_>) -> Vec<Remedy> {
        let noun = facts.runtime.lane.1;
        let shows = format!("threads no longer queue there while {noun} have nothing to run");
        let place = self.wait.place.as_deref().unwrap_or_default();
        let library = facts.runtime.of_library(place);
        let texts: &[&str] = match (self.wait.kind, self.holder.doing) {
            _ if let Some(text) = library => &[text],
            (WaitKind::Value, _) => &[
                "Evaluate shared values before they are shared (deepseq, strict fields), or let each thread compute its \
                 own part.",
            ],
            (_, Doing::Waits(WaitKind::Time)) => {
                &["Sleep before the lock is taken, or after it is released: all that need it wait as long."]
            }
            (_, Doing::Waits(_)) => &["Make the call before the lock is taken, or after it is released."],
            _ => &[
                "Hold it for less: compute before taking it, and force the result before it is put back; or use one for \
                 each part of the data (striping).",
                "If it is a channel, let several threads fill it.",
            ],
        };
        texts.iter().map(|text| Remedy::new(*text).falls(IDLE).shows(&shows)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(threads: f64, looks_share: f64, holder: Option<Doing>) -> Wait {
        let holder = holder.map(|doing| HolderDoes { doing, ..HolderDoes::default() });
        Wait {
            kind: WaitKind::Lock,
            holder,
            threads_mean: threads * looks_share,
            queue_mean: Some(threads),
            looks_share,
            ..Wait::default()
        }
    }

    fn share(by: &[Wait]) -> f64 {
        queues(by, 3.0).iter().map(|queue| queue.share).sum()
    }

    #[test]
    fn a_queue_for_what_a_thread_at_work_has_counts_as_far_as_it_fills_the_lanes() {
        assert_eq!(share(&[wait(3.0, 0.5, Some(Doing::Runs))]), 0.5);
        assert_eq!(share(&[wait(9.0, 1.0, Some(Doing::Ready))]), 1.0);
        assert_eq!(share(&[wait(1.5, 1.0, Some(Doing::Runs))]), 0.5, "of three idle lanes");
    }

    #[test]
    fn one_waiter_two_things_and_a_holder_without_work_are_no_queue() {
        assert_eq!(share(&[wait(1.0, 1.0, Some(Doing::Runs))]), 0.0, "a main thread waits for its workers");
        assert_eq!(share(&[Wait { queue_mean: Some(1.0), ..wait(3.0, 1.0, Some(Doing::Runs)) }]), 0.0);
        for kind in [WaitKind::InputOutput, WaitKind::Lock, WaitKind::Condition] {
            assert_eq!(share(&[wait(3.0, 1.0, Some(Doing::Waits(kind)))]), 0.0, "a pool at rest");
        }
        let mut clock = wait(3.0, 1.0, Some(Doing::Waits(WaitKind::Time)));
        clock.holder.as_mut().unwrap().thread = Some("7".to_owned());
        assert_eq!(share(&[clock]), 0.0, "one thread wakes the others by the clock");
        assert_eq!(share(&[wait(3.0, 1.0, None)]), 0.0, "a queue of work");
        let transaction = Wait { kind: WaitKind::Transaction, ..wait(3.0, 1.0, Some(Doing::Runs)) };
        assert_eq!(share(&[transaction]), 0.0);
    }

    #[test]
    fn threads_that_sleep_in_turn_while_they_have_it_are_a_queue() {
        assert_eq!(share(&[wait(3.0, 1.0, Some(Doing::Waits(WaitKind::Time)))]), 1.0);
    }

    #[test]
    fn threads_queue_for_one_thing_at_several_places() {
        let place = |name: &str| Wait {
            place: Some(name.to_owned()),
            queue_mean: Some(3.0),
            ..wait(1.0, 0.5, Some(Doing::Runs))
        };
        assert_eq!(share(&[place("put"), place("get"), place("size")]), 0.5, "each a third of the lanes");
    }

    #[test]
    fn an_unknown_holder_counts_as_the_others_at_its_place() {
        let runs = wait(3.0, 0.25, Some(Doing::Runs));
        let rests = wait(3.0, 0.25, Some(Doing::Waits(WaitKind::InputOutput)));
        assert_eq!(share(&[runs.clone(), wait(3.0, 0.5, None)]), 0.75);
        assert_eq!(share(&[runs.clone(), rests.clone(), wait(3.0, 0.5, None)]), 0.5);
        let mostly = Wait { looks_share: 0.5, threads_mean: 1.5, ..rests };
        assert_eq!(share(&[runs.clone(), mostly]), 0.0, "they wait for input, in turn");
        let elsewhere = Wait { place: Some("elsewhere".into()), ..wait(3.0, 0.5, None) };
        assert_eq!(share(&[runs, elsewhere]), 0.25);
    }

    #[test]
    fn a_foreign_call_is_work_unless_it_waits_for_what_comes_from_outside() {
        let within = |callee: Option<&str>| {
            let mut wait = wait(3.0, 1.0, Some(Doing::Waits(WaitKind::ForeignCall)));
            wait.holder.as_mut().unwrap().callee = callee.map(str::to_owned);
            share(&[wait])
        };
        assert_eq!([Some("compress"), Some("accept"), None].map(within), [1.0, 0.0, 0.0]);
    }
}
