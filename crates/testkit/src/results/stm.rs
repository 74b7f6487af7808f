//! Transactions of two programs: one is linked with the package and loses many attempts; for the other
//! one only attempts are known.

use super::base::{Fixture, MS, START, change, seen};
use super::programs::healthy;
use rtscope_analyze::recording::stm::Stm;
use rtscope_analyze::results::stm::Transactions;
use rtscope_model::{Claim, Confidence, Finding, Metric, Remedy, Severity, StmCounts, StmNamed, StmSeen, Trend};

/// Two capabilities, each of which loses a third of its attempts, most of them under one name.
pub fn contended() -> Fixture {
    let mut fixture = healthy();
    fixture.name = "contended";
    fixture.results.source.path = "bank.rtscope".into();
    fixture.results.transactions = Some(transactions("transfer"));
    fixture.results.findings = vec![Finding {
        id: "stm-contention".into(),
        severity: Severity::Warning,
        confidence: Confidence::Medium,
        claim: Claim::new(
            "36 % of the attempts at the transaction (STM) `transfer` were thrown away because another one had changed what \
             they read: about 24.0 s of 200 s (12 %).",
            true,
        ),
        cost_ns: 24_000 * MS,
        cost_bytes: None,
        share: 0.12,
        evidence: vec![seen("180,000 attempts were begun (1,800 a second) and 117,000 took effect.")],
        remedies: vec![Remedy {
            metric: Some(Metric { path: "transactions.commits_per_second".to_owned(), should: Trend::Rise }),
            ..change("Split the TVar that all write.", None, "Record again: commits a second rise.")
        }],
    }];
    fixture
}

/// The runtime's own count, and why nothing else is known.
pub fn attempts_alone() -> Fixture {
    let mut fixture = healthy();
    fixture.name = "attempts_alone";
    let why = Some("the package rtscope-stm is not linked in".to_owned());
    let mut stm = Stm::new(Some(START));
    stm.push(START.plus(50 * MS), &StmSeen::Source { whole: true, outcomes: false, why });
    for second in 1..=100 {
        stm.push(START.plus(second * 1_000 * MS), &StmSeen::Attempts(second * 512));
    }
    fixture.results.transactions = stm.values(Some(START.plus(100_004 * MS)));
    fixture
}

/// Transactions with an invalid `name`.
pub fn hostile(name: &str) -> Transactions {
    transactions(name)
}

fn transactions(name: &str) -> Transactions {
    let mut stm = Stm::new(Some(START));
    let at = |second: u64| START.plus(second * 1_000 * MS);
    stm.push(at(0), &StmSeen::Source { whole: true, outcomes: true, why: None });
    stm.push(at(0), &StmSeen::Mode(1));
    for second in 1..=100 {
        for lane in 0..2 {
            stm.push(at(second), &StmSeen::Lane(lane, lane_counts(second, u64::from(lane))));
        }
        let named = |attempts, commits| StmNamed { attempts, commits, waits: 0, exceptions: second / 50 };
        stm.push(at(second), &StmSeen::Name(0, "audit".into(), named(second * 90, second * 90)));
        stm.push(at(second), &StmSeen::Name(1, name.into(), named(second * 1_700, second * 1_080)));
        stm.push(at(second), &StmSeen::Attempts(second * 2_000));
    }
    stm.values(Some(at(100).plus(3 * MS))).expect("a look")
}

fn lane_counts(second: u64, lane: u64) -> StmCounts {
    StmCounts {
        attempts: second * 900,
        commits: second * (600 - 30 * lane),
        conflicts: second * (280 + 30 * lane),
        waits: second * 2,
        wait_conflicts: second / 10,
        wakes: second * 2,
        idle_wakes: second / 4,
        invalid: second * 5,
        exceptions: second / 50,
        nested_conflicts: second / 3,
        backoffs: second * 250,
        backoff_ns: second * 2_500_000,
        limited: second / 2,
        limited_ns: second * 40_000,
        decisions: second,
        restarts: second / 5,
        arm: 1,
        limit: 0,
    }
}
