//! `thunk-leak`: most of what collections copy repeatedly is unevaluated.
//!
//! A lazy sum or table that is updated and never read keeps a thunk for each update. Cost: the time that collections
//! took to copy and mark. How much of that would end with the leak is not known: thunks hold other objects, which
//! other objects may hold, too.

use crate::findings::collected::measured;
use crate::findings::{COLLECT, Cost, Facts, LOOKS_MIN, Rule, Verdict, needs, sure};
use crate::results::waits::Old;
use rtscope_model::Remedy;
use rtscope_model::units::{bytes, percent};

/// Work of collections on live data.
const COPYING: [&str; 4] = ["copying-young", "copying-old", "marking", "compacting"];
/// Healthy lazy structures hold some thunks; from this share on the heap consists of them.
const SHARE_MIN: f64 = 1.0 / 3.0;
/// Number of places that a claim names.
const PLACES_MAX: usize = 2;
/// A look reads six blocks: with this many looks the share is good to a few per cent.
const LOOKS_SURE: u64 = 10;

pub static RULE: Rule = Rule {
    id: "thunk-leak",
    explains: &["collecting"],
    order: 118,
    needs: Some(&needs::LOOKS),
    yields_to: &["explicit-gc", "idle-gc"],
    share_min: 0.05,
    also: ", a third of the sampled old objects",
    why: "lazy structures hold thunks, which is what they are for",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let old: &Old = facts.context.waits.as_ref()?.old.as_ref().filter(|old| old.looks >= LOOKS_MIN)?;
    let share = old.thunk_share();
    if share < SHARE_MIN {
        return None;
    }
    // Without samples, the time that major collections take for their bytes.
    let copying = measured(facts, &COPYING).unwrap_or(facts.collections.major.copying_ns);
    let what = "Collections copied live data for ";
    let verdict = Verdict::new(Cost::Time(copying), sure(old.looks >= LOOKS_SURE), what);
    let most = old.thunks.iter().take(PLACES_MAX).filter(|place| place.bytes * 4 >= old.thunk_bytes);
    let most: Vec<String> = most.map(|place| format!("`{}`", place.place)).collect();
    let made =
        if most.is_empty() { String::new() } else { format!(", most of them created in {}", most.join(" and ")) };
    let rest = format!(": {} of the old objects that they copy are unevaluated thunks{made}.", percent(share));
    let seen = format!(
        "{} looks sampled {} of old objects while the program ran; {} were thunks.",
        old.looks,
        bytes(old.bytes),
        bytes(old.thunk_bytes)
    );
    let remedies = [
        "Evaluate what is kept at once: `foldl'`, `modifyIORef'`, `Data.Map.Strict`, strict fields (`!`), `evaluate` or \
         `force` before a value goes into a variable.",
        "See what they are and what holds them: `rtscope heap` counts the objects of the running program by their code.",
    ]
    .map(|text| Remedy::new(text).falls(COLLECT));
    Some(verdict.then(rest).seen([facts.overall(seen)]).remedies(remedies))
}
