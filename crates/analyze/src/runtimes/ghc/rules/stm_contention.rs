//! `stm-contention`: transactions run repeatedly because others change what they read.
//!
//! Nothing measures how long a lost attempt took: a clock in each would cost more than most transactions. Cost: the
//! CPU time that samples found in the runtime's work for transactions (reading and writing variables, checking,
//! committing), times the share of attempts and of parts of attempts that were lost, divided by the capabilities that
//! run transactions. Shares are taken per capability and weighted by its CPU time: a long transaction that loses to
//! short ones makes few attempts and takes much time. The result is too low if a transaction computes much between
//! its reads and writes, because the program's own code does not show whether it runs inside one; the finding also
//! reports the cost if all of it does. Threshold: a twentieth of the wall clock, and a hundred lost attempts: with
//! fewer the share says little.
//!
//! Many lost attempts alone are no finding: their cost can be negligible.

use crate::findings::needs::log_alone;
use crate::findings::{Cost, Facts, Need, Rule, Verdict, evidence};
use crate::recording::stm::is_runtime_work;
use crate::results::stm::{LaneTransactions, NamedTransactions, Transactions};
use rtscope_model::units::{count, duration, percent, rate};
use rtscope_model::{CodeKind, Confidence, Evidence, Figure, Remedy, Setting, StmCounts};

const LOST_MIN: u64 = 100;
/// Names and capabilities that are listed individually.
const NAMES_LISTED: usize = 3;
const LANES_LISTED: usize = 4;
/// A name is part of the claim from this share of all lost attempts on.
const NAMED_SHARE: f64 = 0.5;
/// A name with fewer lost attempts is not mentioned.
const NAME_LOST_MIN: u64 = 10;

pub static RULE: Rule = Rule {
    id: "stm-contention",
    explains: &["idle"],
    order: 270,
    needs: Some(&Need { name: "counts of transactions, samples of the code", optional: true, missing: no_counts }),
    share_min: 0.05,
    also: ", and 100 lost attempts",
    why: "many lost attempts can cost nothing; of fewer the share says little",
    check,
    ..Rule::BLANK
};

/// Fewer lost attempts alone can be slower: what counts is how much gets done.
const COMMITS: Figure = Figure { path: "transactions.commits_per_second", shows: "commits a second rise" };

/// Wall-clock time that lost attempts took, nanoseconds.
struct Lost {
    about_ns: u64,
    /// The cost if all of the program's own code runs inside transactions.
    at_most_ns: u64,
    /// CPU time of samples in the runtime's work for transactions.
    sampled_ns: u64,
}

fn no_counts(facts: &Facts<'_>) -> Option<String> {
    let Some(found) = facts.transactions else {
        return Some(match facts.context.kernel {
            None => log_alone(facts, "what became of transactions"),
            Some(_) => "no counts of transactions were recorded.".to_owned(),
        });
    };
    if !found.outcomes && found.runtime_attempts != Some(0) {
        let why = found.why.as_deref().unwrap_or("the package rtscope-stm is not linked in");
        return Some(format!("which attempts were thrown away is not counted: {why}."));
    }
    let unsampled = found.outcomes && facts.code.is_none();
    unsampled.then(|| {
        "the program's code was not sampled, so how much of its time goes into transactions is not known: `rtscope \
         doctor` says how to see it."
            .to_owned()
    })
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let found = facts.transactions?;
    let wasted = |counts: &StmCounts| counts.lost().saturating_add(repeated_parts(counts));
    let counts = found.counts.filter(|counts| wasted(counts) >= LOST_MIN)?;
    let lost = lost(facts, found)?;
    let subject = match worst_name(found) {
        Some(worst) => format!("{} of the attempts at the transaction (STM) `{}`", share(worst.lost_share), worst.name),
        None => format!("{} of the attempts at transactions (STM)", share(found.lost_share)),
    };
    let what = format!("{subject} were thrown away because another one had changed what they read: about ");
    let verdict = Verdict::new(Cost::Time(lost.about_ns), Confidence::Medium, what);
    Some(verdict.seen(seen(facts, found, &counts, &lost)).remedies(remedies(facts, found)))
}

/// Time that lost attempts took; `None` where the code was not sampled.
fn lost(facts: &Facts<'_>, found: &Transactions) -> Option<Lost> {
    let code = facts.code?;
    let sampled_ns = code.running_ns(facts.symbols, is_runtime_work);
    let own_ns = code.running_ns(facts.symbols, |symbol| symbol.kind == CodeKind::Program);
    let cpu = |lane: &LaneTransactions| facts.lane_cpu.get(&lane.lane).copied().unwrap_or(0);
    let known = found.lanes.iter().any(|lane| cpu(lane) > 0);
    let weighed = |lane: &LaneTransactions| {
        // Without kernel events the capabilities are assumed to be equally busy.
        let weight = if known { cpu(lane) } else { 1 };
        (weight as f64, weight as f64 * wasted_share(&lane.counts))
    };
    let sum = |one: (f64, f64), other: (f64, f64)| (one.0 + other.0, one.1 + other.1);
    let (all, lost) = found.lanes.iter().map(weighed).fold((0.0, 0.0), sum);
    // Two capabilities that lose a second each at the same time cost one second of wall-clock time.
    let spread = lost / all.max(1.0) / found.lanes.len().max(1) as f64;
    let part = |ns: u64| ((ns as f64 * spread) as u64).min(facts.span_ns);
    Some(Lost { about_ns: part(sampled_ns), at_most_ns: part(sampled_ns.saturating_add(own_ns)), sampled_ns })
}

/// The share of work that was thrown away: attempts, and parts that were refused and repeated by themselves as
/// `catchSTM` does, each counted like an attempt.
fn wasted_share(counts: &StmCounts) -> f64 {
    let parts = repeated_parts(counts);
    counts.lost().saturating_add(parts) as f64 / counts.attempts.saturating_add(parts).max(1) as f64
}

/// Parts that were repeated by themselves. Otherwise a refused part ends its attempt (`orElse`).
fn repeated_parts(counts: &StmCounts) -> u64 {
    counts.nested_conflicts.saturating_sub(counts.restarts)
}

/// The name with at least [`NAMED_SHARE`] of all lost attempts.
fn worst_name(found: &Transactions) -> Option<&NamedTransactions> {
    let all = found.lost? as f64;
    found.names.first().filter(|worst| worst.lost as f64 >= all * NAMED_SHARE)
}

fn seen(facts: &Facts<'_>, found: &Transactions, counts: &StmCounts, lost: &Lost) -> Vec<Evidence> {
    let looked = found.from.zip(found.to);
    let begun = format!(
        "{} attempts were begun ({} a second) and {} took effect; {} were thrown away, {} of them at their end.",
        count(counts.attempts),
        rate(found.attempts_per_second.unwrap_or(0.0)),
        count(counts.commits),
        count(counts.lost()),
        count(counts.conflicts)
    );
    let lanes = found.lanes.len();
    let time = format!(
        "Samples found the runtime at work for transactions for {} of CPU time. The share of attempts that were lost, \
         over {lanes} {}, makes about {}; if all of the program's own code runs inside transactions it is {}.",
        duration(lost.sampled_ns),
        if lanes == 1 { "capability" } else { "capabilities" },
        duration(lost.about_ns),
        duration(lost.at_most_ns)
    );
    let mut seen = vec![evidence(begun, looked), facts.overall(time)];
    let parts = repeated_parts(counts);
    if parts >= LOST_MIN {
        let text = format!(
            "Besides, parts within `catchSTM` were refused and repeated {} times: as long as what is around them is \
             out of date, no repetition helps; it ends when the thread's time slice does.",
            count(parts)
        );
        seen.push(evidence(text, None));
    }
    let names = found.names.iter().filter(|named| named.lost >= NAME_LOST_MIN).take(NAMES_LISTED);
    let names = names.map(|named| {
        let (lost, attempts) = (count(named.lost), count(named.counts.attempts));
        format!("`{}` lost {lost} of {attempts} ({})", named.name, share(named.lost_share))
    });
    let names: Vec<_> = names.collect();
    if !names.is_empty() {
        seen.push(evidence(format!("By name: {}.", names.join(", ")), None));
    }
    if lanes > 1 {
        let lane = |lane: &LaneTransactions| {
            let (lost, commits) = (share(lane.lost_share), share(lane.commit_share));
            format!("capability {} lost {lost} and did {commits} of the commits", lane.lane)
        };
        let shares: Vec<_> = found.lanes.iter().take(LANES_LISTED).map(lane).collect();
        seen.push(evidence(format!("Of each one's attempts {}.", shares.join(", ")), None));
    }
    if counts.backoffs > 0 || counts.limited > 0 {
        let text = format!(
            "The scheduler of rtscope-stm let transactions wait {} after conflicts and held them back for {}.",
            duration(counts.backoff_ns),
            duration(counts.limited_ns)
        );
        seen.push(evidence(text, None));
    }
    seen
}

fn share(share: Option<f64>) -> String {
    percent(share.unwrap_or(f64::NAN))
}

fn remedies(facts: &Facts<'_>, found: &Transactions) -> Vec<Remedy> {
    let mut remedies = vec![
        Remedy::new(
            "Give each thread, or each part of the data, a variable of its own (split the TVar that all write, and sum \
             up where it is read).",
        ),
        Remedy::new(
            "Make the transaction smaller: compute before it and after it, read late what others write often, and walk \
             long structures outside it.",
        ),
    ];
    if matches!(found.scheduler, Some("counting")) {
        let text = "Let the scheduler of the package rtscope-stm choose by what it measures: it waits a little after \
                    conflicts, or lets fewer transactions run, where more get done that way.";
        remedies.push(Remedy::new(text).set(Setting::variables([("RTSCOPE_STM", "adaptive")])));
    }
    if facts.lanes > 1 {
        let text = "Try fewer capabilities: where all transactions write the same variable one of them does more than \
                    several.";
        remedies.push(Remedy::new(text).set(facts.runtime.lanes_flag(1)));
    }
    remedies.into_iter().map(|remedy| remedy.rises(COMMITS)).collect()
}

#[cfg(test)]
#[path = "stm_tests.rs"]
mod tests;
