//! `late-safepoint`: the program's own code ran on while the world waited for it. A GHC thread stops where it
//! allocates; a loop that does not allocate has no such place unless it is compiled with yields.
//!
//! Cost: time that the world waited for a lane that was on a CPU in the program's code, in waits too long for code
//! that allocates. Each moment is a wait for one lane, so nothing counts twice. The length of these waits is exact;
//! which part of them was the program's code comes from samples. A twentieth of the wall clock is noticeable.

use crate::findings::{
    Cost, Facts, Rule, SAMPLES_SURE, STOP, Verdict, listed_code, longest, needs, stopped_late, sure,
};
use rtscope_model::{Cause, CodeKind, Remedy, Setting, Symbol};

pub static RULE: Rule = Rule {
    id: "late-safepoint",
    explains: &["standing-still"],
    order: 80,
    needs: Some(&needs::CODE),
    share_min: 0.05,
    also: ", of waits in which the capability had a CPU for 1.5 ms and more",
    why: "code that allocates stops within microseconds, or where it missed the request within a millisecond",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let stops = &facts.code?.stops;
    let top = stops.top(CodeKind::Program);
    let late = stopped_late(facts, stops, CodeKind::Program, "the program's own code");
    let longest = longest(facts, Cause::LateSafepoint, " for the program's own code to come to a safepoint");
    let place = listed_code(facts.symbols, &top, "The program's own code");
    let what =
        format!("{place} ran on without a place to stop while every other capability waited for a collection, for ");
    let cost = Cost::Time(stops.part_ns(CodeKind::Program));
    let verdict = Verdict::new(cost, sure(stops.samples >= SAMPLES_SURE), what);
    // The compiler's own packages are already compiled.
    let mut modules = top.iter().filter_map(|(symbol, _)| module(facts.symbols.get(*symbol)));
    let module = modules.find(|module| !module.starts_with("GHC."));
    Some(verdict.seen([late].into_iter().chain(longest)).remedies(remedies(module)))
}

/// `Main` for `Main.$wspin`, and for `Main: code without a name`.
fn module(symbol: &Symbol) -> Option<&str> {
    let name = &symbol.name;
    let (module, _) = name.split_once(".$").or_else(|| name.split_once(": ")).or_else(|| name.rsplit_once('.'))?;
    module.starts_with(char::is_uppercase).then_some(module)
}

fn remedies(module: Option<&str>) -> [Remedy; 2] {
    let at = module.map_or("the module of that code".to_owned(), |module| format!("the module {module}"));
    [
        Remedy::new(format!("Compile {at} so that loops which do not allocate can be stopped, too."))
            .set(Setting::Code("{-# OPTIONS_GHC -fno-omit-yields #-}".to_owned()))
            .falls(STOP),
        Remedy::or("cut the work into chunks of less than a millisecond and call `yield` between them.").falls(STOP),
    ]
}
