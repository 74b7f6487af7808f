//! `idle-gc`: major collections that the runtime starts because the program has been idle for a while (`-I`, 0.3 s).
//!
//! Cost: the wall-clock time of these pauses, each from its request until the last lane has resumed. Nothing is lost
//! while the program has nothing to do, but any request that arrives meanwhile waits, and the CPU time is spent again
//! after each burst of work. A hundredth of the wall clock in at least three of them is more than housekeeping.

use super::seen::{ALLOCATION, triggers};
use crate::findings::{Cost, Facts, PAUSED, Rule, Verdict, evidence, sure};
use rtscope_model::units::{bytes, duration};
use rtscope_model::{Evidence, Remedy};

const COUNT_MIN: u64 = 3;

pub static RULE: Rule = Rule {
    id: "idle-gc",
    explains: &["collecting", "standing-still"],
    order: 180,
    needs: Some(&ALLOCATION),
    share_min: 0.01,
    also: ", three of them",
    why: "an idle program that keeps little is collected in no time",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let idle = &triggers(facts).idle;
    if idle.waits.count < COUNT_MIN {
        return None;
    }
    let what = format!(
        "The runtime collected {} times because the program was idle, {} each: ",
        idle.waits.count,
        duration(idle.waits.mean_ns())
    );
    let verdict = Verdict::new(Cost::Time(idle.waits.ns), sure(idle.quiet == idle.waits.count), what);
    Some(verdict.then(", in which work that comes in waits.").seen(seen(facts)).remedies(remedies()))
}

fn seen(facts: &Facts<'_>) -> Vec<Evidence> {
    let idle = &triggers(facts).idle;
    let delay = duration(triggers(facts).idle_delay_ns().unwrap_or_default());
    let mut seen = vec![facts.overall(format!(
        "{} major collections came when no thread of the program had done anything for {delay} (+RTS -I); it had \
         allocated {} since the collection before, on average.",
        idle.waits.count,
        bytes(idle.mean_allocated_bytes())
    ))];
    let through = match triggers(facts).live_bytes_max {
        0 => String::new(),
        live => format!("; each goes through the live data, up to {}", bytes(live)),
    };
    let text = format!(
        "The longest took {}, {} on average{through}.",
        duration(idle.waits.longest_ns()),
        duration(idle.waits.mean_ns())
    );
    seen.push(evidence(text, idle.waits.longest));
    seen.extend(facts.held.map(|_| {
        let text = match idle.arrived {
            0 => format!(
                "Nothing came in during them this time; what does waits up to {}.",
                duration(idle.waits.longest_ns())
            ),
            count => format!(
                "During {count} of them something woke the program and had to wait, up to {}.",
                duration(idle.waited_ns_max)
            ),
        };
        evidence(text, None)
    }));
    seen
}

fn remedies() -> [Remedy; 2] {
    [
        Remedy::new(
            "Switch the idle collection off. Finalizers then run, and memory goes back to the system, at the next \
             major collection that allocation asks for.",
        )
        .option("-I0")
        .falls(PAUSED)
        .shows("the collections after idle times are gone and the sum of pauses falls"),
        Remedy::or("leave at least a minute between two of them.")
            .option("-Iw60")
            .falls(PAUSED)
            .shows("there is at most one a minute"),
    ]
}
