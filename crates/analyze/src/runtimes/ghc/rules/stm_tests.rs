//! What the rule about transactions reports for whole recordings, and when it is silent.

use crate::analysis::Analysis;
use crate::recording::stm::Stm;
use crate::recording::{Context, Tail};
use crate::results::{Checked, Results, RuleOutcome};
use crate::testing::{self, Script, switch};
use rtscope_model::{
    CodeKind, Confidence, Finding, Names, OffState, Severity, StmCounts, StmNamed, StmSeen, Symbol, Symbols, Time,
    Trend,
};

const MS: u64 = 1_000_000;

/// One second of two threads on two CPUs. Of 100 samples of each, `in_runtime` found it at work for transactions; the
/// others found the program's own code.
fn analyse(stm: Option<Stm>, in_runtime: u64, sampled: bool) -> Results {
    let mut symbols = Symbols::default();
    let mut add =
        |name: &str, kind| symbols.add(Symbol { name: name.into(), module: "prog".into(), kind, ..Symbol::default() });
    let commit = add("stmCommitTransaction", CodeKind::Runtime);
    let own = add("Main.loop", CodeKind::Program);
    let (started, ended) = (Some(Time(0)), Some(Time(1_000 * MS)));
    let context = Context { started, ended, symbols, stm, ..testing::context() };
    let script = Script::default()
        .k(0, switch(0, 0, OffState::Runnable, 11))
        .k(0, switch(1, 0, OffState::Runnable, 12))
        .rt(1, 0, rtscope_model::Runtime::LaneCreated)
        .rt(1, 1, rtscope_model::Runtime::LaneCreated);
    let script = (0..if sampled { 100 } else { 0 }).fold(script, |script, n| {
        let place = if n < in_runtime { commit } else { own };
        [11, 12].iter().fold(script, |script, tid| script.found(n * 10 * MS + 5, *tid, place, 10 * MS))
    });
    let names = Names::default();
    let mut analysis = Analysis::new(context);
    script.events().iter().for_each(|event| analysis.push(event, &names, &mut |_| ()));
    analysis.finish(&names, Tail::default(), &mut |_| ())
}

fn lane(attempts: u64, lost: u64) -> StmCounts {
    StmCounts { attempts, commits: attempts - lost, conflicts: lost, ..StmCounts::default() }
}

fn stm(seen: &[StmSeen]) -> Option<Stm> {
    let mut stm = Stm::new(Some(Time(0)));
    stm.push(Time(MS), &StmSeen::Source { whole: true, outcomes: true, why: None });
    seen.iter().for_each(|seen| stm.push(Time(1_000 * MS), seen));
    Some(stm)
}

fn lanes(first: StmCounts, second: StmCounts) -> Vec<StmSeen> {
    vec![StmSeen::Mode(0), StmSeen::Lane(0, first), StmSeen::Lane(1, second)]
}

fn found(results: &Results) -> Option<&Finding> {
    results.findings.iter().find(|finding| finding.id == "stm-contention")
}

fn checked(results: &Results) -> &Checked {
    results.checked.iter().find(|checked| checked.id == "stm-contention").unwrap()
}

#[test]
fn lost_attempts_cost_their_share_of_the_time_in_transactions() {
    let mut seen = lanes(lane(100_000, 30_000), lane(100_000, 50_000));
    let named = |attempts, commits| StmNamed { attempts, commits, ..StmNamed::default() };
    seen.push(StmSeen::Name(0, "transfer".into(), named(150_000, 75_000)));
    seen.push(StmSeen::Name(1, "audit".into(), named(50_000, 49_995)));
    let results = analyse(stm(&seen), 80, true);
    let finding = found(&results).unwrap();
    // 0.8 s of two CPUs, 40 % of the attempts, on two capabilities.
    assert_eq!(
        (finding.cost_ns, finding.severity, finding.confidence),
        (320 * MS, Severity::Severe, Confidence::Medium)
    );
    assert!(finding.claim.starts_with("50 % of the attempts at the transaction (STM) `transfer`"), "{}", finding.claim);
    let evidence: Vec<&str> = finding.evidence.iter().map(|seen| seen.text.as_str()).collect();
    assert!(
        evidence[0].contains("200,000 attempts were begun")
            && evidence[0].contains("80,000 were thrown away, 80,000 of them at"),
        "{evidence:?}"
    );
    assert!(evidence[1].contains("about 320 ms") && evidence[1].contains("it is 400 ms"), "{evidence:?}");
    assert!(
        evidence[2].contains("`transfer` lost 75,000 of 150,000 (50 %)") && !evidence[2].contains("audit"),
        "{evidence:?}"
    );
    assert!(evidence[3].contains("capability 1 lost 50 %"), "{evidence:?}");
    assert_eq!(finding.remedies.len(), 4);
    for remedy in &finding.remedies {
        let metric = remedy.metric.as_ref().unwrap();
        assert_eq!((metric.path.as_str(), metric.should), ("transactions.commits_per_second", Trend::Rise));
    }
    assert_eq!(finding.remedies[3].flag.as_deref(), Some("+RTS -N1"));
    assert_eq!(results.transactions.unwrap().lost_share, Some(0.4));
}

#[test]
fn what_costs_little_is_no_finding() {
    let many = || stm(&lanes(lane(100_000, 30_000), lane(100_000, 50_000)));
    // 12 of 100 samples: 0.12 s of each CPU, 40 %.
    let results = analyse(many(), 12, true);
    assert!(found(&results).is_none() && checked(&results).outcome == RuleOutcome::Clear);
    assert!(found(&analyse(many(), 13, true)).is_some());
    let few = stm(&lanes(lane(1_000, 49), lane(100, 50)));
    assert!(found(&analyse(few, 100, true)).is_none());
    // Waits and exceptions do not throw any work away.
    let waits = StmCounts { waits: 90_000, exceptions: 9_000, ..lane(100_000, 100) };
    assert!(found(&analyse(stm(&lanes(waits, waits)), 100, true)).is_none());
}

#[test]
fn parts_that_are_repeated_are_lost_work_too() {
    let repeating = StmCounts { nested_conflicts: 300_000, restarts: 50, ..lane(100_000, 50) };
    let results = analyse(stm(&lanes(repeating, repeating)), 80, true);
    let finding = found(&results).unwrap();
    // 0.8 s of two CPUs; three of four attempts and parts, on two capabilities.
    assert!(finding.cost_ns.abs_diff(600 * MS) < MS, "{}", finding.cost_ns);
    let parts = finding.evidence.iter().find(|seen| seen.text.contains("`catchSTM`")).unwrap();
    assert!(parts.text.contains("repeated 599,900 times"), "{}", parts.text);
}

#[test]
fn what_it_cannot_see_is_reported() {
    let of = |results: &Results| (checked(results).outcome, checked(results).why.clone().unwrap_or_default());
    let (outcome, why) = of(&analyse(None, 50, true));
    assert!(outcome == RuleOutcome::NotAsked && why.contains("no counts"), "{why}");
    let (outcome, why) = of(&analyse(stm(&lanes(lane(9_000, 5_000), lane(9, 0))), 50, false));
    assert!(outcome == RuleOutcome::NotAsked && why.contains("not sampled"), "{why}");
    let alone = |attempts| {
        let mut stm = Stm::new(Some(Time(0)));
        let why = Some("the package rtscope-stm is not linked in".to_owned());
        stm.push(Time(MS), &StmSeen::Source { whole: true, outcomes: false, why });
        stm.push(Time(900 * MS), &StmSeen::Attempts(attempts));
        analyse(Some(stm), 50, true)
    };
    let (outcome, why) = of(&alone(1 << 20));
    assert!(outcome == RuleOutcome::NotAsked && why.contains("not linked in"), "{why}");
    assert_eq!(of(&alone(0)), (RuleOutcome::Clear, String::new()));
}
