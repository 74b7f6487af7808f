//! `thunk-leak`: collections copy expressions that nothing has asked for yet, and all that they hold, again and again.
//!
//! Laziness keeps an expression until its value is asked for: a sum or a table that is added to and not looked at grows by
//! one for each addition. Cost: what collections took to copy and mark. How much of that ends with the leak nothing tells:
//! expressions hold other objects, which may be held by others too.

use crate::findings::collected::measured;
use crate::findings::{COLLECT, Cost, Facts, LOOKS_MIN, Rule, Verdict, needs, sure};
use crate::results::waits::Old;
use rtscope_model::Remedy;
use rtscope_model::units::{bytes, percent};

/// What collections do with what is alive.
const COPYING: [&str; 4] = ["copying-young", "copying-old", "marking", "compacting"];
/// Lazy structures that are fine hold some: from so many it is what the heap is made of.
const SHARE_MIN: f64 = 1.0 / 3.0;
/// Places that a claim names.
const PLACES_MAX: usize = 2;
/// A look meets half a dozen blocks: enough looks to be sure.
const LOOKS_SURE: u64 = 10;

pub static RULE: Rule = Rule {
    id: "thunk-leak",
    explains: &["collecting"],
    order: 118,
    needs: Some(&needs::LOOKS),
    yields_to: &["explicit-gc", "idle-gc"],
    share_min: 0.05,
    also: ", a third of the old generation",
    why: "lazy structures hold expressions that are asked for later, which is what they are for",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let old: &Old = facts.context.waits.as_ref()?.old.as_ref().filter(|old| old.looks >= LOOKS_MIN)?;
    let share = old.delayed_share();
    if share < SHARE_MIN {
        return None;
    }
    // Without samples, what bytes of old collections cost.
    let copying = measured(facts, &COPYING).unwrap_or(facts.collections.major.copying_ns);
    let what = "Collections copied what is alive for ";
    let verdict = Verdict::new(Cost::Time(copying), sure(old.looks >= LOOKS_SURE), what);
    let most = old.delayed.iter().take(PLACES_MAX).filter(|place| place.bytes * 4 >= old.delayed_bytes);
    let most: Vec<String> = most.map(|place| format!("`{}`", place.place)).collect();
    let made = if most.is_empty() { String::new() } else { format!(", most of them made in {}", most.join(" and ")) };
    let rest =
        format!(": {} of the old generation are expressions that nothing has asked for yet{made}.", percent(share));
    let seen = format!(
        "{} looks at some of its blocks met {}, and {} of such expressions.",
        old.looks,
        bytes(old.bytes),
        bytes(old.delayed_bytes)
    );
    let remedies = [
        "Evaluate what is kept when it is made: `foldl'`, `modifyIORef'`, `Data.Map.Strict`, strict fields (`!`), `evaluate` or \
         `force` before a value goes into a variable.",
        "See what they are and what holds them: `rtscope heap` counts the objects of the running program by their code.",
    ]
    .map(|text| Remedy::new(text).falls(COLLECT));
    Some(verdict.then(rest).seen([facts.overall(seen)]).remedies(remedies))
}
