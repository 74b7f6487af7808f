//! What collections of OCaml's runtime take, by the purpose of the work: `survivors`, `stacks`, `remembered-set`,
//! `ephemerons`, `major-work`; and `collecting` and `standing-still`, where no rule explains it.
//!
//! Cost: the account's part of it, as wall-clock time; what a domain does between pauses counts by its share of all
//! domains' time. Samples divide it, so these rules need them, except `collecting`, which always says how long the
//! collector worked.

use super::small_minor_heap::{Larger, larger, saves};
use crate::findings::collected::{Collecting, SAMPLES_MIN};
use crate::findings::nodes::{self, CollectionWork, collecting, outlives, standing_still, tune};
use crate::findings::{COLLECT, Facts, Rule};
use rtscope_model::Remedy;

pub static SURVIVORS: Rule = Rule { check: |facts| PROMOTED.verdict(facts), ..nodes::SURVIVORS };

static PROMOTED: CollectionWork = CollectionWork {
    purposes: &["promotion"],
    what: "Minor collections promoted objects that were still alive for ",
    because: |facts| outlives(facts, "minor heap"),
    remedies: |facts| less_often(facts).into_iter().chain([tune()]).collect(),
};

pub static STACKS: Rule = Rule { check: |facts| SCANNED.verdict(facts), ..nodes::STACKS };

static SCANNED: CollectionWork = CollectionWork {
    purposes: &["stacks"],
    what: "Collections scanned stacks for ",
    because: |_| {
        ": each scans the whole stack of every thread, and of every fiber that has run since the one before.".to_owned()
    },
    remedies: |facts| {
        let shallow = Remedy::new(
            "Keep stacks shallow: recursion in tail position (`[@tail_mod_cons]`, `List.rev_map`, an accumulator), and no \
             deep calls around what waits in an effect handler.",
        );
        let shallow = shallow.falls(COLLECT).shows("the account's part `scanning threads' stacks` falls");
        [shallow].into_iter().chain(larger(facts).map(Larger::or_less_often)).collect()
    },
};

pub static REMEMBERED_SET: Rule = Rule {
    id: "remembered-set",
    order: 140,
    why: "every program writes to old objects now and then",
    check: |facts| LOOKED_THROUGH.verdict(facts).filter(|_| into_old(facts)),
    ..nodes::WORK
};

static LOOKED_THROUGH: CollectionWork = CollectionWork {
    purposes: &["remembered-set", "write-barrier"],
    what: "Writes of pointers into objects took ",
    because: |_| {
        ": each goes through `caml_modify`, which notes young values in old objects; minor collections look through the \
         notes, and promote what was written."
            .to_owned()
    },
    remedies: |facts| {
        let flat = Remedy::new(
            "Keep in old objects what is no pointer: `int`, records of floats only, `Bigarray`; or collect what changes and \
             write it once.",
        );
        let flat = flat.falls(COLLECT).shows("the account's part `scanning the remembered set` falls");
        [flat].into_iter().chain(larger(facts).map(Larger::or_less_often)).collect()
    },
};

/// Writes into young objects are not recorded anywhere.
fn into_old(facts: &Facts<'_>) -> bool {
    let found = Collecting::of(facts).map(|collecting| collecting.summed(&["remembered-set"]).samples);
    found.is_some_and(|samples| samples >= SAMPLES_MIN)
}

pub static EPHEMERONS: Rule = Rule {
    id: "ephemerons",
    order: 144,
    why: "a program with a few thousand of them does not notice",
    check: |facts| LOOKED_AFTER.verdict(facts),
    ..nodes::WORK
};

static LOOKED_AFTER: CollectionWork = CollectionWork {
    purposes: &["ephemerons", "finalisers"],
    what: "Weak pointers, ephemerons and finalisers took ",
    because: |_| ": every cycle of the major collector visits all of them.".to_owned(),
    remedies: |facts| {
        let fewer = Remedy::new(
            "Make fewer: keep a weak table only where nothing else can say when an entry ends, and release with \
             `Fun.protect` what has a clear end.",
        );
        let fewer = fewer.falls(COLLECT).shows("the account's parts for ephemerons and finalisers fall");
        [fewer].into_iter().chain(rarer_cycles(facts)).collect()
    },
};

pub static MAJOR_WORK: Rule = Rule {
    id: "major-work",
    order: 145,
    yields_to: &["explicit-gc", "long-major-gc", "small-minor-heap"],
    share_min: 0.10,
    why: "marking what is alive is the work of a collector",
    check: |facts| MARKED.verdict(facts),
    ..nodes::WORK
};

static MARKED: CollectionWork = CollectionWork {
    purposes: &["marking", "sweeping"],
    what: "The major collector marked and swept for ",
    because: |_| ", while domains allocated.".to_owned(),
    remedies: |facts| rarer_cycles(facts).chain([tune()]).collect(),
};

/// One domain that collects for 11 % of the time is 6 % slower with a minor heap four times as large as the default.
pub static COLLECTING: Rule = Rule {
    check: |facts| {
        let fewer = less_often(facts).filter(|_| saves(facts, facts.collections.minor.collect_ns));
        collecting(facts, fewer.into_iter().chain([tune()]).collect())
    },
    ..nodes::COLLECTING
};

/// Two domains that allocate all the time wait for 11 % of it, and take 1.4 times as long with a minor heap four
/// times as large as the default, which fits in no cache.
pub static STANDING_STILL: Rule = Rule {
    check: |facts| {
        let fewer = less_often(facts).filter(|_| saves(facts, facts.sums.waited_ns));
        standing_still(facts, fewer.into_iter().chain([tune()]).collect())
    },
    ..nodes::STANDING_STILL
};

fn less_often(facts: &Facts<'_>) -> Option<Remedy> {
    larger(facts).map(Larger::less_often)
}

fn rarer_cycles(facts: &Facts<'_>) -> impl Iterator<Item = Remedy> {
    facts.runtime.knobs.old_heap.iter().map(|change| change.remedy("", false))
}
