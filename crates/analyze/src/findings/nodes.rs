//! Findings that are parts of the account. Owns kinds of collection work as data, and the plain cases: the collector,
//! pauses, a lack of CPUs, or calls take much of the run and no rule explains it. Refuses to know a runtime's
//! purposes and flags.

use super::collected::{Collecting, SAMPLES_MANY, SAMPLES_MIN, mean, served};
use super::{Cost, Facts, Rule, Verdict, needs, oversubscribed, sure};
use rtscope_model::units::{bytes, counted, duration, percent, rate};
use rtscope_model::{Evidence, Node, Remedy, Setting};

/// Parts of collections that a claim names.
const NAMED: usize = 2;

/// The collector works, and no rule explains it. A base for runtimes, whose own lists name flags.
pub const COLLECTING: Rule = Rule {
    id: "collecting",
    order: 175,
    why: "a tenth of the run is what allocation costs",
    check: |facts| collecting(facts, Vec::new()),
    ..NODE
};

/// Lanes stand still until others have stopped or resumed, and no rule explains it. A base for runtimes, too.
pub const STANDING_STILL: Rule = Rule {
    id: "standing-still",
    order: 181,
    why: "stopping and starting again costs every program some",
    check: |facts| standing_still(facts, Vec::new()),
    ..NODE
};

/// Lanes have work and no CPU, and no rule explains it.
pub static NO_CPU: Rule = Rule {
    id: "no-cpu",
    order: 182,
    why: "on a machine with other work a thread waits now and then",
    // A CPU held by a sibling does the program's work.
    check: |facts| {
        let part = Unexplained {
            id: "no-cpu",
            but: "siblings",
            what: "The average {} had work and no CPU for ",
            ns: |_, mean| mean,
        };
        let waking = part.parts(facts).first().is_some_and(|largest| largest.id == "idle-cpu");
        part.verdict(facts, None, waking.then(|| fewer_wakings(facts)).into_iter().collect())
    },
    ..NODE
};

/// A thread woken on an idle CPU has work from then on, and runs once that CPU is awake.
fn fewer_wakings(facts: &Facts<'_>) -> Remedy {
    let text = format!(
        "Let threads wake each other less often: hand over more at a time, or keep threads that wait for each other on one {}. \
         Each waking of an idle CPU takes its time.",
        facts.runtime.lane.0
    );
    Remedy::new(text).verify("Record again: threads wait less for idle CPUs.")
}

/// Calls or faults of their threads hold lanes, and no rule explains it.
pub static KEPT: Rule = Rule {
    id: "kept",
    order: 183,
    why: "every program reads files and touches new memory",
    check: |facts| {
        Unexplained {
            id: "kept",
            but: "",
            what: "The average {} was kept by its thread in a call or a fault for ",
            ns: |_, mean| mean,
        }
        .verdict(facts, None, Vec::new())
    },
    ..NODE
};

/// What findings that are parts of the account share.
const NODE: Rule = Rule { rest: true, share_min: 0.10, also: " beyond what other rules explain", ..Rule::BLANK };

/// A part of the account, except one of its own parts, that no rule explains.
struct Unexplained {
    id: &'static str,
    but: &'static str,
    /// What lanes did; `{}` stands for a lane.
    what: &'static str,
    /// Wall-clock time, given the mean over lanes.
    ns: fn(&Facts<'_>, u64) -> u64,
}

impl Unexplained {
    /// The parts of it that count, longest first.
    fn parts<'a>(&self, facts: &Facts<'a>) -> Vec<&'a Node> {
        let whole = facts.account.and_then(|account| account.part(self.id));
        whole.map_or(Vec::new(), |whole| whole.parts.iter().filter(|part| part.id != self.but).collect())
    }

    /// The verdict with `more` evidence, and what to change whatever the cause.
    fn verdict(&self, facts: &Facts<'_>, more: Option<Evidence>, remedies: Vec<Remedy>) -> Option<Verdict> {
        let (account, parts) = (facts.account?, self.parts(facts));
        let largest = parts.first()?;
        let ns = mean(account, parts.iter().map(|part| part.ns).sum());
        // A further division by samples or causes says more.
        let inner = largest.parts.first().filter(|inner| inner.ns.saturating_mul(2) > largest.ns);
        let most = inner.map_or(largest.name.clone(), |inner| format!("{} ({})", largest.name, inner.name));
        let what = self.what.replace("{}", facts.runtime.lane.0);
        let verdict = Verdict::new(Cost::Time((self.ns)(facts, ns)), facts.sure_with_kernel(), what);
        let text =
            parts.iter().take(NAMED + 1).map(|part| format!("{}, {}", part.name, duration(mean(account, part.ns))));
        let seen = facts.overall(format!(
            "For the average {}: {}.",
            facts.runtime.lane.0,
            text.collect::<Vec<_>>().join("; ")
        ));
        let log = facts.runtime.log;
        let alone = format!("Record with `rtscope record`: the {log} alone does not show why.");
        let unseen = match facts.context.kernel {
            None => Some(alone),
            Some(_) => {
                let why = inner.and_then(|inner| inner.why.as_ref()).or(largest.why.as_ref());
                why.map(|why| format!("See who: {why}."))
            }
        };
        let unseen = unseen.map(|text| Remedy::new(text).verify("The next report names the cause."));
        let verdict = verdict.then(format!(", most of it: {most}.")).seen([seen].into_iter().chain(more));
        Some(verdict.remedies(remedies.into_iter().chain(unseen)))
    }
}

/// The verdict that pauses waited this long until every lane had stopped, or had resumed. Every pause waits, so
/// `fewer` pauses wait less, whichever lane is late; and lanes without a CPU of their own are late in each.
pub fn standing_still(facts: &Facts<'_>, fewer: Vec<Remedy>) -> Option<Verdict> {
    // While others work, the world stands still for the collector. Each wait is for one lane.
    let (but, ns) = ("others-work", |facts: &Facts<'_>, _| facts.sums.waited_ns);
    let what = "Pauses waited until every {} had stopped, or was back at work, for ";
    let each = (facts.sums.count > 0).then(|| {
        let (count, waited_ns) = (facts.sums.count, facts.sums.waited_ns);
        facts.overall(format!(
            "{}, {} a second, waited {} each on average.",
            counted(count, "pause", "pauses"),
            rate(count as f64 * 1e9 / facts.span_ns.max(1) as f64),
            duration(waited_ns / count)
        ))
    });
    // Where the kernel was seen, such waits have a rule of their own.
    let crowd = oversubscribed::more_lanes_than_cpus(facts).filter(|_| facts.held.is_none());
    let crowd = crowd.map(|cpus| oversubscribed::one_for_each_cpu(facts, cpus));
    let remedies = crowd.into_iter().chain(fewer).collect();
    Unexplained { id: "standing-still", but, what, ns }.verdict(facts, each, remedies)
}

/// What rules about one kind of collection work share.
pub const WORK: Rule = Rule {
    explains: &["collecting"],
    needs: Some(&needs::CODE),
    yields_to: &["explicit-gc", "idle-gc"],
    share_min: 0.05,
    ..Rule::BLANK
};

/// Collections scan stacks. Lacks its `check`.
pub const STACKS: Rule =
    Rule { id: "stacks", order: 141, why: "every program has stacks, which take next to nothing", ..WORK };

/// Minor collections copy what is alive. Lacks its `check`. It yields to what makes them come too early, or in quick
/// succession, since that changes how much is alive in each; and to threads that hinder each other while they copy.
pub const SURVIVORS: Rule = Rule {
    id: "survivors",
    order: 143,
    yields_to: &[
        "explicit-gc",
        "idle-gc",
        "oversubscribed",
        "small-minor-heap",
        "parallel-gc-not-paying",
        "thunk-leak",
    ],
    share_min: 0.10,
    why: "copying what is alive is the work of a collector",
    ..WORK
};

/// With fewer explicit calls of the collector nothing is reported.
pub const EXPLICIT_MIN: u64 = 3;

/// The program asks for collections itself. Lacks its `check`: each runtime knows how a call shows in its log.
pub const EXPLICIT_GC: Rule = Rule {
    id: "explicit-gc",
    explains: &["collecting", "standing-still"],
    order: 190,
    share_min: 0.02,
    also: ", three of them",
    why: "a call after a large phase costs little",
    ..Rule::BLANK
};

/// One kind of collection work.
pub struct CollectionWork {
    /// Ids of its purposes.
    pub purposes: &'static [&'static str],
    /// What a claim begins with, up to the cost.
    pub what: &'static str,
    /// What follows the cost in a claim.
    pub because: fn(&Facts<'_>) -> String,
    /// What to change, best first.
    pub remedies: fn(&Facts<'_>) -> Vec<Remedy>,
}

impl CollectionWork {
    /// The verdict that collections took this long for it, including the program's own time for such work.
    pub fn verdict(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let (took, own) = (Collecting::of(facts)?.summed(self.purposes), served(facts, self.purposes));
        let samples = took.samples + own.samples;
        if samples < SAMPLES_MIN {
            return None;
        }
        let cost = Cost::Time(took.ns.saturating_add(own.ns));
        let verdict = Verdict::new(cost, sure(samples.max(took.of) >= SAMPLES_MANY), self.what);
        let own = match own.samples {
            0 => String::new(),
            samples => format!(", and so did {samples} of the program's own time"),
        };
        let text = format!("{} of {} samples of collections found the runtime at it{own}.", took.samples, took.of);
        let seen = [facts.overall(text), collections(facts)];
        let verdict = verdict.then((self.because)(facts)).explaining("collecting", took.ns);
        Some(verdict.seen(seen).remedies((self.remedies)(facts)))
    }
}

/// The verdict that the collector took this long, with its main purposes.
pub fn collecting(facts: &Facts<'_>, remedies: Vec<Remedy>) -> Option<Verdict> {
    let collecting = Collecting::of(facts)?;
    let largest: Vec<String> =
        collecting.largest().take(NAMED).map(|(name, share)| format!("{name} ({})", percent(share))).collect();
    let largest = (!largest.is_empty()).then(|| largest.join(" and "));
    let most = largest.as_ref().map_or(".".to_owned(), |largest| format!(", most of it for {largest}."));
    let work = largest.map(|largest| facts.overall(format!("Most of all its work: {largest}.")));
    let verdict = Verdict::new(Cost::Time(collecting.ns()), facts.sure_with_kernel(), "The collector worked for ");
    Some(verdict.then(most).seen([collections(facts)].into_iter().chain(work)).remedies(remedies))
}

/// Evidence of how many there were, and how much they copied.
fn collections(facts: &Facts<'_>) -> Evidence {
    let (minor, major) = (&facts.collections.minor, &facts.collections.major);
    facts.overall(format!(
        "{} of the young, {} a second, copied {} in all; {} of the old copied {}.",
        counted(minor.count, "collection", "collections"),
        rate(facts.minors_per_second()),
        bytes(minor.copied_bytes),
        counted(major.count, "collection", "collections"),
        bytes(major.copied_bytes)
    ))
}

/// The share of allocated bytes that outlives its `area`: the end of a claim.
pub fn outlives(facts: &Facts<'_>, area: &str) -> String {
    let copied = facts.collections.minor.copied_bytes as f64;
    match facts.allocated_bytes() {
        Some(allocated) if allocated >= copied && allocated > 0.0 => {
            format!(": {} of what the program allocates outlives its {area}.", percent(copied / allocated))
        }
        // With many collector threads some releases of GHC count copied bytes several times.
        _ => ".".to_owned(),
    }
}

/// The remedy to measure with `rtscope tune` what settings gain, for the program as it was started.
pub fn tune() -> Remedy {
    let text = "Measure what other settings of the collector gain: `rtscope tune` runs the program with each in turn.";
    Remedy::new(text).falls(super::PAUSED).set(Setting::rtscope(["tune"]))
}
