//! `fork-pause`: a lane forks the process, and the others wait for it to stop.
//!
//! Meanwhile the kernel copies the page tables of the whole process, so the wait grows with its memory: tens of
//! milliseconds for a gigabyte. Cost: the time that collections waited for the forking lane; in a program with one
//! domain, the time of the copying itself, according to samples of its code; and in both cases the time of copying
//! single pages that the program wrote to afterwards. Threshold: a fiftieth of the wall clock, or one wait of twenty
//! milliseconds: a client notices that, however seldom it comes.

use super::seen::forks;
use crate::findings::collected::{Collecting, SAMPLES_MIN, served};
use crate::findings::{Cost, Facts, Rule, Verdict, evidence, needs};
use crate::program::forks::copying_ns;
use rtscope_model::units::{bytes, counted, duration};
use rtscope_model::{Confidence, Evidence, Figure, Remedy};

pub static RULE: Rule = Rule {
    id: "fork-pause",
    explains: &["standing-still", "kept"],
    order: 50,
    needs: Some(&needs::RUNNERS),
    share_min: 0.02,
    long_ns: Some(20_000_000),
    why: "a client notices a wait of twenty milliseconds, however seldom it comes",
    check,
    ..Rule::BLANK
};

/// Ids of parts of the account.
const FORKS: [&str; 4] = ["kernel:clone", "kernel:clone3", "kernel:fork", "kernel:vfork"];
const COPIED_PAGE: &str = "kernel:page fault, copy on write";
const WAITED: Figure = Figure { path: "forks.waited_ns", shows: "no collection waits for a copy of the process" };
/// With one domain nothing waits for it to stop: only its own time is lost.
const COPYING: Figure = Figure { path: "forks.copying_ns", shows: "the copying takes no time any more" };

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let waits = &forks(facts).waits;
    if forks(facts).count == 0 {
        return None;
    }
    let (cost_ns, waited, figure) = if facts.lanes > 1 {
        (waits.ns, "Collections waited for a domain that was", WAITED)
    } else {
        // Samples are too few where the kernel lets none come: the account knows all of the time on CPUs.
        let sampled_ns = facts.code.map_or(0, |code| copying_ns(code, facts.symbols));
        let copying_ns = sampled_ns.max(served(facts, &FORKS).ns);
        (copying_ns, "The program stood still while the kernel was", COPYING)
    };
    let pages = pages_ns(facts);
    let what = match pages {
        0 => format!("{waited} copying the process (fork), for "),
        _ => "Copying the process (fork), and its pages as they change afterwards, took ".to_owned(),
    };
    let afterwards = (pages > 0).then(|| {
        facts.overall(format!("Copying pages that were written to afterwards took {} of it.", duration(pages)))
    });
    let less = (pages > cost_ns).then(|| {
        Remedy::new(
            "Write less while a child lives, or let it end sooner: each page that the program or its collector writes to \
             meanwhile is copied. A journal that is appended to needs no child.",
        )
        .falls(figure)
    });
    let verdict = Verdict::new(Cost::Time(cost_ns.saturating_add(pages)), Confidence::High, what);
    let verdict = verdict.explaining("standing-still", cost_ns).explaining("kept", cost_ns);
    let remedies = [
        Remedy::new("Start processes early, before the heap has grown, and let them wait for work.").falls(figure),
        Remedy::or("start programs with `Unix.create_process`, which copies no page tables.").falls(figure),
    ];
    let seen = [seen(facts, cost_ns)].into_iter().chain(afterwards);
    Some(verdict.seen(seen).remedies(less.into_iter().chain(remedies)).longest(waits.longest_ns()))
}

/// Wall-clock time in which the kernel copied pages that the program shared with a child.
fn pages_ns(facts: &Facts<'_>) -> u64 {
    let id = [COPIED_PAGE];
    let collecting = Collecting::of(facts).map(|collecting| collecting.summed(&id));
    let all = [Some(served(facts, &id)), collecting];
    let (ns, samples) = all.iter().flatten().fold((0, 0), |sum, took| (sum.0 + took.ns, sum.1 + took.samples));
    if samples >= SAMPLES_MIN { ns } else { 0 }
}

fn seen(facts: &Facts<'_>, cost_ns: u64) -> Evidence {
    let (waits, forked) = (&forks(facts).waits, forks(facts).count);
    let memory = facts.lines.levels(facts.end).rss_bytes;
    let memory = memory.map_or(String::new(), |rss| format!(" of up to {}", bytes(rss.max)));
    let copied = format!("The program copied its process{memory} {}", counted(forked, "time", "times"));
    let text = if facts.lanes > 1 {
        let longest = duration(waits.longest_ns());
        let times = counted(waits.count, "time", "times");
        format!("{copied}; collections waited for that {times}, {longest} at the longest.")
    } else {
        let each = duration(cost_ns / forked.max(1));
        format!("{copied}, {each} each in the kernel; it has one domain, which did nothing else meanwhile.")
    };
    evidence(text, waits.longest)
}
