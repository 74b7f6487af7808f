//! `unbuffered-io`: the kernel works for calls that read or write a few bytes each.
//!
//! A call costs a fraction of a microsecond however little it moves; the data cost as much only from some kilobytes
//! on. Cost: the kernel's part of the program's time in such calls, divided by the lanes that had work. Refuses
//! conversations, whose calls are followed by a wait for the answer: they could not be merged.

use super::collected::{SAMPLES_MANY, SAMPLES_MIN, served};
use super::{Cost, Facts, Rule, Verdict, needs, sure};
use rtscope_model::units::{bytes, counted};
use rtscope_model::{Figure, Remedy};

/// Calls that `/proc/PID/io` counts.
const READS: [&str; 5] = ["kernel:read", "kernel:readv", "kernel:pread64", "kernel:preadv", "kernel:preadv2"];
const WRITES: [&str; 5] = ["kernel:write", "kernel:writev", "kernel:pwrite64", "kernel:pwritev", "kernel:pwritev2"];

/// With a smaller mean, nearly all of the cost is the call itself.
const BYTES_MAX: u64 = 512;
/// A thread that converses sleeps at every call or every second one.
const CALLS_PER_SLEEP_MIN: u64 = 4;

const COST: Figure = Figure {
    path: "findings.unbuffered-io.cost_ns",
    shows: "this finding is gone, or the kernel works for less at such calls",
};

pub(super) static RULE: Rule = Rule {
    id: "unbuffered-io",
    order: 185,
    needs: Some(&needs::CODE),
    share_min: 0.10,
    also: ", below 512 bytes a call, four calls for each time that a thread slept",
    why: "every program reads and writes, and a question that waits for its answer cannot wait for a buffer to fill",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let kinds = [(("read", "reads"), &READS), (("write", "writes"), &WRITES)];
    let small = facts.counters.calls()?.into_iter().zip(kinds);
    let small = small.map(|(calls, (names, ids))| (calls, names, served(facts, ids)));
    let small: Vec<_> = small.filter(|(calls, _, took)| calls.mean() < BYTES_MAX && took.samples > 0).collect();
    let calls: u64 = small.iter().fold(0, |sum, (calls, ..)| sum.saturating_add(calls.count));
    let (ns, samples) = small.iter().fold((0, 0), |sum, (.., took)| (sum.0 + took.ns, sum.1 + took.samples));
    if samples < SAMPLES_MIN || calls / CALLS_PER_SLEEP_MIN < facts.counters.slept() {
        return None;
    }
    let kinds = small.iter().map(|(calls, (one, many), _)| {
        format!("{} of {} each on average", counted(calls.count, one, many), bytes(calls.mean()))
    });
    let kinds = kinds.collect::<Vec<_>>().join(" and ");
    let seen = format!("{samples} samples of the program's time found the kernel at them.");
    let verdict = Verdict::new(Cost::Time(ns), sure(samples >= SAMPLES_MANY), "The kernel worked for ")
        .then(format!(" for calls that move a few bytes each: {kinds}."));
    let remedy = format!("Move more with each call, through a buffer. {}", facts.runtime.buffering);
    let remedy = Remedy::new(remedy.trim_end()).falls(COST);
    Some(verdict.seen([facts.overall(seen)]).remedies([remedy]))
}
