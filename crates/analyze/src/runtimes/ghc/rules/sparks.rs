//! `sparks`: the program offers work to run in parallel, yet capabilities have nothing to run.
//!
//! Cost: what capabilities without work could have done while any had some, calculated as in
//! `too-little-parallelism`. Sparks show that a program is meant to be parallel, and their fates show why it is not.

use crate::findings::with_work::{WithWork, seen};
use crate::findings::{Cost, Facts, IDLE, Need, Rule, Verdict};
use crate::results::SparkCounts;
use crate::runtimes::ghc::sparks::Sparks;
use rtscope_model::units::{self, counted, percent_of};
use rtscope_model::{Confidence, Remedy};

/// Fewer are no way to use several capabilities.
const OFFERED_MIN: u64 = 10;

pub static RULE: Rule = Rule {
    id: "sparks",
    explains: &["idle"],
    order: 266,
    needs: Some(&Need { name: "counts of sparks", optional: true, missing: not_counted }),
    share_min: 0.20,
    also: ", ten sparks",
    why: "it is what even division would save, at most, and no work divides evenly",
    check,
    ..Rule::BLANK
};

fn not_counted(facts: &Facts<'_>) -> Option<String> {
    let counted = facts.fold::<Sparks>().and_then(Sparks::values).is_some();
    (!counted).then(|| "the log has no counts of sparks: record with `rtscope record`.".to_owned())
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let sparks = facts.fold::<Sparks>()?.values()?.all;
    let offered = sparks.offered();
    let with_work = WithWork::of(facts).filter(|_| offered >= OFFERED_MIN)?;
    let fate = FATES.iter().max_by_key(|fate| (fate.count)(&sparks))?;
    // What is lacking where sparks ran is not visible: another part of the program may offer none.
    let confidence = if fate.ran { Confidence::Low } else { Confidence::Medium };
    let what = "Capabilities had nothing to run although the program offers sparks, which cost up to ";
    let rest = format!(
        ": {} of {} {}, and {:.1} capabilities had work on average.",
        percent_of((fate.count)(&sparks).min(offered), offered),
        counted(offered, "spark", "sparks"),
        fate.what,
        with_work.mean
    );
    let seen = [facts.overall(fates(&sparks))].into_iter().chain(seen(facts));
    Some(Verdict::new(Cost::Time(with_work.lost_ns), confidence, what).then(rest).seen(seen).remedies([remedy(fate)]))
}

/// A possible fate of a spark.
struct Fate {
    count: fn(&SparkCounts) -> u64,
    /// Continues the sentence after "of 12,000 sparks".
    what: &'static str,
    word: &'static str,
    change: &'static str,
    ran: bool,
}

static FATES: [Fate; 6] = [
    Fate {
        count: |sparks| sparks.fizzled,
        what: "fizzled, since the program itself evaluated them first",
        word: "fizzled",
        change: "Offer larger pieces (`parListChunk`), and all of them before the first value is needed: a thread that asks \
                 for a value right after it was offered computes it itself.",
        ran: false,
    },
    Fate {
        count: |sparks| sparks.dud,
        what: "were duds, evaluated before they were offered",
        word: "duds",
        change: "Offer what is not evaluated yet: the expression, not a value that a strict field, a bang or `seq` has \
                 computed before.",
        ran: false,
    },
    Fate {
        count: |sparks| sparks.overflowed,
        what: "found a capability's pool of 4,096 full",
        word: "overflowed",
        change: "Offer fewer and larger pieces (`parListChunk`), or some at a time (`parBuffer`).",
        ran: false,
    },
    Fate {
        count: |sparks| sparks.collected,
        what: "were dropped by a collection, since nothing refers to them",
        word: "collected",
        change: "Use the value that was offered (in `Eval` the one that `rpar` gives): a spark that nothing else refers to is \
                 garbage.",
        ran: false,
    },
    Fate {
        count: |sparks| sparks.remaining,
        what: "were never run",
        word: "left",
        change: "Ask for the values: a program that ends does not wait for sparks.",
        ran: false,
    },
    Fate {
        count: |sparks| sparks.converted,
        what: "ran, but had little of the work or were of very different size",
        word: "ran",
        change: "Let a spark do all of its work (`rdeepseq`): `rseq` and `rpar` stop at the outermost constructor, and the \
                 thread that asks for the rest computes it. Pieces of very different size are better cut smaller.",
        ran: true,
    },
];

fn fates(sparks: &SparkCounts) -> String {
    let met = FATES.iter().map(|fate| ((fate.count)(sparks), fate.word)).filter(|(count, _)| *count > 0);
    let met: Vec<String> = met.map(|(count, word)| format!("{} {word}", units::count(count))).collect();
    format!("Sparks: {}.", met.join(", "))
}

/// Larger sparks are fewer, so their number does not show it.
fn remedy(fate: &Fate) -> Remedy {
    Remedy::new(fate.change).falls(IDLE).shows("more capabilities have work at once")
}
