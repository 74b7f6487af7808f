//! `custom-memory`: memory outside the heap, held by blocks such as bigarrays, drives the major heap's collector.
//!
//! The runtime cannot free such memory before it has found the block dead, so it works faster on the major heap the
//! more of it the program requests. Cost: the time of marking and sweeping, times the share of work that such
//! memory caused.

use crate::findings::collected::found;
use crate::findings::{Cost, Facts, Need, PAUSED, Rule, Verdict, needs, scaled};
use crate::runtimes::ocaml::drive::Drive;
use rtscope_model::units::{bytes, count, percent};
use rtscope_model::{Confidence, Remedy};

/// With a smaller share, allocation drives it.
const SHARE_MIN: f64 = 0.5;
/// What the collector does at that speed.
const DRIVEN: [&str; 5] = ["marking", "sweeping", "custom-memory", "ephemerons", "finalisers"];

pub static RULE: Rule = Rule {
    id: "custom-memory",
    explains: &["collecting"],
    order: 146,
    needs: Some(&Need { name: "samples of the code, OCaml 5.3", optional: false, missing }),
    yields_to: &["explicit-gc"],
    share_min: 0.05,
    also: ", where it asks for half of the work",
    why: "memory outside the heap has to be freed some time",
    check,
    ..Rule::BLANK
};

fn missing(facts: &Facts<'_>) -> Option<String> {
    let share = facts.fold::<Drive>().and_then(Drive::outside_share);
    let unreported = || "the runtime does not say what asks for its work (OCaml 5.3 and later do).".to_owned();
    share.map_or_else(|| Some(unreported()), |_| (needs::CODE.missing)(facts))
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let drive = facts.fold::<Drive>()?;
    let share = drive.outside_share().filter(|share| *share >= SHARE_MIN)?;
    let took = found(facts, &DRIVEN)?;
    let ns = scaled(took, drive.outside, drive.allocated.saturating_add(drive.outside));
    let what = "Memory outside the heap, such as that of bigarrays, made the major collector work for ";
    let verdict = Verdict::new(Cost::Time(ns), Confidence::Medium, what);
    let rest =
        format!(": it asked for {} of that collector's work, allocation in the heap for the rest.", percent(share));
    let live = facts.lines.levels(facts.end).live_bytes;
    let live = live.map_or(String::new(), |live| {
        format!(" Each cycle marks what is alive: {} on average.", bytes(live.mean as u64))
    });
    let [outside, allocated] = [drive.outside, drive.allocated].map(count);
    let seen = format!("Slices were to do {outside} words of work for it, {allocated} for allocation.{live}");
    Some(verdict.then(rest).covering(&["major-work"]).seen([facts.overall(seen)]).remedies(remedies()))
}

fn remedies() -> [Remedy; 2] {
    let verify = "the account's parts for marking and sweeping fall";
    [
        Remedy::new(
            "Use such blocks again: keep buffers and bigarrays of a size in a pool, in place of one for each use.",
        )
        .falls(PAUSED)
        .shows(verify),
        Remedy::or(
            "let the collector fall further back, which takes more memory: a ratio of 200 in place of the usual 44 \
             per cent of the heap.",
        )
        .option("M=200")
        .falls(PAUSED)
        .shows(verify),
    ]
}
