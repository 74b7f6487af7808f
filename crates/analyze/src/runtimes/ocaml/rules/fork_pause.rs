//! `fork-pause`: a lane makes a copy of the process, and the others wait for it to stop.
//!
//! The kernel copies the page tables of the whole process meanwhile, so the wait grows with
//! its memory: tens of milliseconds for a gigabyte. Cost: what collections waited for the
//! lane that copied; in a program with one domain, what the copying took by itself, as
//! samples of its code tell. A fiftieth of the wall clock, or one of twenty milliseconds: a
//! client notices that, however seldom it comes.

use super::seen::forks;
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

const WAITED: Figure = Figure { path: "forks.waited_ns", shows: "no collection waits for a copy of the process" };
/// With one domain nothing waits for it to stop: its own time is what is lost.
const COPYING: Figure = Figure { path: "forks.copying_ns", shows: "the copying takes no time any more" };

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let waits = &forks(facts).waits;
    if forks(facts).count == 0 {
        return None;
    }
    let (cost_ns, who, figure) = if facts.lanes > 1 {
        (waits.ns, "Collections waited for a domain that was", WAITED)
    } else {
        (
            facts.code.map_or(0, |code| copying_ns(code, facts.symbols)),
            "The program stood still while the kernel was",
            COPYING,
        )
    };
    let what = format!("{who} copying the process (fork), for ");
    let verdict = Verdict::new(Cost::Time(cost_ns), Confidence::High, what).seen([seen(facts, cost_ns)]).remedies([
        Remedy::new("Start processes early, before the heap has grown, and let them wait for work.").falls(figure),
        Remedy::or("start programs with `Unix.create_process`, which copies no page tables.").falls(figure),
    ]);
    Some(verdict.longest(waits.longest_ns()))
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
