//! Transactions (STM) in words: shared by the report, the page and `rtscope stm`. Owns the wording; the figures come
//! from the fold.

use super::units::{count, counted, duration, percent, rate};
use super::words::all_of;
use rtscope_analyze::recording::stm::StmRates;
use rtscope_analyze::results::stm::Transactions;
use rtscope_model::StmCounts;

/// How to make commits and conflicts visible.
pub const LINK: &str =
    "add the package rtscope-stm to `build-depends` of the executable in the cabal file: no code changes";

/// Whether any attempts were counted.
pub fn any(found: &Transactions) -> bool {
    found.counts.is_some_and(|counts| counts.attempts > 0) || found.runtime_attempts.is_some_and(|some| some > 0)
}

/// The main figures: "4,812,000 attempts (401,000 a second), 3,020,000 took effect (252,000 a second)."
pub fn figures(found: &Transactions) -> String {
    let per_second = |rated: Option<f64>| rated.map_or(String::new(), |rated| format!(" ({} a second)", rate(rated)));
    match (found.counts, found.runtime_attempts) {
        (Some(counts), _) => format!(
            "{}{}, {} took effect{}.",
            counted(counts.attempts, "attempt", "attempts"),
            per_second(found.attempts_per_second),
            count(counts.commits),
            per_second(found.commits_per_second)
        ),
        (None, Some(attempts)) => format!(
            "{}{} as the runtime counts them: nested ones (orElse, catchSTM) too.",
            counted(attempts, "attempt", "attempts"),
            per_second(found.attempts_per_second)
        ),
        (None, None) => "Nothing was counted.".to_owned(),
    }
}

/// The sentences below the main figures.
pub fn details(found: &Transactions) -> [Option<String>; 4] {
    [lost(found), others(found), scheduler(found), missing(found)]
}

/// The rates: "401,000 attempts a second, 252,000 take effect, 37 % are run again".
pub fn rates(found: &StmRates) -> String {
    let lost = found.lost_share.map_or("-".to_owned(), percent);
    let done = found.commits_per_second.map(|done| format!(", {} take effect, {lost} are run again", rate(done)));
    format!("{} attempts a second{}", rate(found.attempts_per_second), done.unwrap_or_default())
}

/// The attempts that were thrown away; `None` if these were not counted.
pub fn lost(found: &Transactions) -> Option<String> {
    let counts = found.counts?;
    if counts.lost() == 0 {
        return Some("No attempt was thrown away.".to_owned());
    }
    let parts = [
        (counts.conflicts, "at their end"),
        (counts.wait_conflicts, "in `retry`"),
        (counts.restarts, "because a part of them was refused"),
        (counts.invalid, "instead of an exception that came of it"),
    ];
    let parts = parts.iter().filter(|part| part.0 > 0).map(|(some, when)| format!("{} {when}", count(*some)));
    Some(format!(
        "{} ({} of the attempts) had to be run again, because another transaction had changed what they read: {}.",
        count(counts.lost()),
        found.lost_share.map_or("-".to_owned(), percent),
        parts.collect::<Vec<_>>().join(", ")
    ))
}

/// Other outcomes of attempts; `None` if there were none.
pub fn others(found: &Transactions) -> Option<String> {
    let StmCounts { waits, wakes, idle_wakes, exceptions, nested_conflicts, .. } = found.counts?;
    let vain = if idle_wakes > 0 { format!(", {} in vain", count(idle_wakes)) } else { String::new() };
    let woken = counted(wakes.saturating_add(idle_wakes), "time", "times");
    let parts = counted(nested_conflicts, "part (orElse, catchSTM) was", "parts (orElse, catchSTM) were");
    let outcomes = [
        (waits, format!("{} waited in `retry`, woken {woken}{vain}", count(waits))),
        (exceptions, format!("{} ended by an exception", count(exceptions))),
        (nested_conflicts, format!("{parts} refused")),
    ];
    Some(all_of(outcomes.into_iter().filter(|(some, _)| *some > 0).map(|(_, words)| words), "; ")? + ".")
}

/// What the package's scheduler did; `None` if it only counts, or is not there.
pub fn scheduler(found: &Transactions) -> Option<String> {
    let mode = found.scheduler.filter(|mode| *mode != "counting")?;
    let counts = found.counts?;
    let mut parts = vec![match mode {
        "adaptive" if counts.decisions == 0 => "has left them alone so far".to_owned(),
        "adaptive" => format!("chose {} by what got done", counted(counts.decisions, "time", "times")),
        mode => format!("always {mode}"),
    }];
    if counts.backoffs > 0 {
        let (some, ns) = (count(counts.backoffs), duration(counts.backoff_ns));
        parts.push(format!("let {some} wait after a conflict, {ns} in all"));
    }
    if counts.limited > 0 {
        parts.push(format!("held {} back, {} in all", count(counts.limited), duration(counts.limited_ns)));
    }
    Some(format!("The scheduler {}.", parts.join(", ")))
}

/// Why outcomes are not known, and what to do; `None` if they are.
pub fn missing(found: &Transactions) -> Option<String> {
    if found.outcomes {
        return None;
    }
    let why = found.why.as_deref().unwrap_or("the package rtscope-stm is not linked in");
    let what = if found.runtime_attempts.is_some() { "What became of them is not known" } else { "Not known" };
    let next = if why.contains("is not linked in") {
        format!(". To see commits and conflicts, {LINK}")
    } else {
        String::new()
    };
    Some(format!("{what}: {why}{next}."))
}

/// What the counts leave out.
pub fn left_out(found: &Transactions) -> Option<String> {
    let before = (!found.whole && found.from.is_some()).then(|| "what was done before the first look".to_owned());
    let after = found.unseen_ns.filter(|ns| *ns > 0);
    let after = after.map(|ns| format!("what was done in the last {}, after the last look", duration(ns)));
    Some(format!("Not counted: {}.", all_of(before.into_iter().chain(after), "; ")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::Time;

    fn found(counts: StmCounts) -> Transactions {
        Transactions {
            outcomes: true,
            whole: true,
            from: Some(Time(1)),
            counts: Some(counts),
            lost_share: Some(0.25),
            attempts_per_second: Some(1_000.0),
            commits_per_second: Some(2.0),
            ..Transactions::default()
        }
    }

    #[test]
    fn nonzero_counts_are_reported() {
        let all = StmCounts {
            attempts: 1_000,
            commits: 700,
            conflicts: 200,
            waits: 50,
            wait_conflicts: 20,
            wakes: 40,
            idle_wakes: 5,
            invalid: 30,
            exceptions: 1,
            nested_conflicts: 7,
            backoffs: 9,
            backoff_ns: 90_000,
            limited: 3,
            limited_ns: 4_000_000,
            decisions: 11,
            restarts: 10,
            ..StmCounts::default()
        };
        let adaptive = Transactions { scheduler: Some("adaptive"), ..found(all) };
        assert_eq!(figures(&adaptive), "1,000 attempts (1,000 a second), 700 took effect (2.0 a second).");
        let said = lost(&adaptive).unwrap();
        assert!(
            said.starts_with("260 (25 % of the attempts)") && said.contains("200 at their end, 20 in `retry`, 10 be"),
            "{said}"
        );
        assert!(said.ends_with("30 instead of an exception that came of it."), "{said}");
        let said = others(&adaptive).unwrap();
        assert!(
            said.contains("50 waited in `retry`, woken 45 times, 5 in vain")
                && said.contains("7 parts (orElse, catchSTM) were refused"),
            "{said}"
        );
        let said = scheduler(&adaptive).unwrap();
        assert!(
            said.contains("chose 11 times") && said.contains("let 9 wait") && said.contains("held 3 back"),
            "{said}"
        );
        assert_eq!((missing(&adaptive), left_out(&adaptive)), (None, None));
        assert_eq!(scheduler(&Transactions { scheduler: Some("counting"), ..found(all) }), None);
        let calm = Transactions { scheduler: Some("adaptive"), ..found(StmCounts::default()) };
        assert_eq!(scheduler(&calm).unwrap(), "The scheduler has left them alone so far.");
    }

    #[test]
    fn a_program_without_conflicts_is_reported_to_have_none() {
        let calm = found(StmCounts { attempts: 1, commits: 1, ..StmCounts::default() });
        assert_eq!(figures(&calm), "1 attempt (1,000 a second), 1 took effect (2.0 a second).");
        assert_eq!((lost(&calm).unwrap().as_str(), others(&calm)), ("No attempt was thrown away.", None));
        assert!(any(&calm) && !any(&Transactions::default()));
    }

    #[test]
    fn what_is_not_known_is_reported_with_what_to_do() {
        let alone = Transactions {
            why: Some("the package rtscope-stm is not linked in".into()),
            runtime_attempts: Some(2_048),
            from: Some(Time(5)),
            unseen_ns: Some(4_000_000),
            ..Transactions::default()
        };
        assert!(figures(&alone).starts_with("2,048 attempts as the runtime counts them: nested ones"));
        assert_eq!(lost(&alone), None);
        let said = missing(&alone).unwrap();
        assert!(said.starts_with("What became of them is not known") && said.contains("build-depends"), "{said}");
        let said = left_out(&alone).unwrap();
        assert!(said.contains("before the first look") && said.contains("the last 4.00 ms"), "{said}");
        let stripped = Transactions { why: Some("its symbols are gone".into()), ..Transactions::default() };
        assert_eq!(missing(&stripped).unwrap(), "Not known: its symbols are gone.");
        assert_eq!(figures(&stripped), "Nothing was counted.");
    }
}
