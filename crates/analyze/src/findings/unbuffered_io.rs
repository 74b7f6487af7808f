//! `unbuffered-io`: the kernel works for calls that read or write a few bytes each.
//!
//! A call costs a fraction of a microsecond however little it moves; what it moves costs as much from some kilobytes on.
//! Cost: the kernel's part of the program's time in such calls, over the lanes that had work. Refuses conversations, whose
//! calls are followed by waiting for the answer: they could not be put together.

use super::collected::{SAMPLES_MANY, SAMPLES_MIN, served};
use super::{Cost, Facts, Rule, Verdict, needs, sure};
use rtscope_model::Remedy;
use rtscope_model::units::{bytes, counted, percent};

/// Calls that `/proc/PID/io` counts.
const READS: [&str; 5] = ["kernel:read", "kernel:readv", "kernel:pread64", "kernel:preadv", "kernel:preadv2"];
const WRITES: [&str; 5] = ["kernel:write", "kernel:writev", "kernel:pwrite64", "kernel:pwritev", "kernel:pwritev2"];

/// With fewer bytes on average nearly all of a call is the call itself.
const BYTES_MAX: u64 = 512;
/// A thread that converses sleeps at each call or at every other.
const CALLS_PER_SLEEP_MIN: u64 = 4;

pub(super) static RULE: Rule = Rule {
    id: "unbuffered-io",
    order: 185,
    needs: Some(&needs::CODE),
    share_min: 0.10,
    also: ", below 512 bytes a call, four calls for each time that a thread slept",
    why: "every program reads and writes, and who waits for an answer has to send what it asks",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let kinds = facts.counters.calls()?.into_iter().zip([("reads", &READS), ("writes", &WRITES)]);
    let small = kinds.filter(|(of, (_, ids))| of.mean() < BYTES_MAX && served(facts, *ids).samples > 0);
    let small: Vec<_> = small.collect();
    let calls: u64 = small.iter().fold(0, |sum, (of, _)| sum.saturating_add(of.count));
    if calls / CALLS_PER_SLEEP_MIN < facts.counters.slept() {
        return None;
    }
    let ids: Vec<&str> = small.iter().flat_map(|(_, (_, ids))| **ids).collect();
    let took = served(facts, &ids);
    if took.samples < SAMPLES_MIN {
        return None;
    }
    let kinds = small.iter().map(|(of, (kind, _))| {
        format!("{} of {} each on average", counted(of.count, kind.trim_end_matches('s'), kind), bytes(of.mean()))
    });
    let kinds = kinds.collect::<Vec<_>>().join(" and ");
    let program = facts.account?.part("program")?;
    let share = percent(took.ns as f64 / program.ns.max(1) as f64);
    let seen = format!("{} samples found the kernel at them, {share} of the program's time.", took.samples);
    let verdict = Verdict::new(Cost::Time(took.ns), sure(took.samples >= SAMPLES_MANY), "The kernel worked for ")
        .then(format!(" for calls that move a few bytes each: {kinds}."));
    let remedy = format!("Move more with each call, through a buffer. {}", facts.runtime.buffering);
    Some(
        verdict
            .seen([facts.overall(seen)])
            .remedies([Remedy::new(remedy.trim_end()).verify("Record again: this part of the account is smaller.")]),
    )
}
