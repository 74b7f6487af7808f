//! Results full of malicious names.

use super::base::{Fixture, change, seen};
use super::programs::{self, preempted};
use super::{domains, requests, stm};
use rtscope_analyze::results::UserEvents;
use rtscope_analyze::results::waits::{HolderDoes, Old, Thunks, Wait, WaitShare, Waits};
use rtscope_model::{Doing, Node, WaitKind};

/// Strings that try to break out of any context.
pub fn hostile() -> Fixture {
    let mut fixture = preempted();
    fixture.name = "hostile";
    let evil =
        "</script><script>alert(1)</script><img src=http://example.invalid/x onerror=alert(2)>\"'&\x1b[2J\u{202e}";
    let results = &mut fixture.results;
    results.source.path = evil.into();
    results.runtime.version = Some(evil.into());
    results.runtime.args = vec![evil.into(), "]]><!--".into()];
    for lane in &mut results.lanes {
        lane.name = evil.into();
    }
    results.user = vec![UserEvents { marks: 1, cut: 1, ..domains::user(evil) }];
    results.requests = Some(requests::hostile(evil));
    results.transactions = Some(stm::hostile(evil));
    results.waits = Some(waits(evil));
    let mut account = programs::account();
    account.parts.iter_mut().for_each(|part| rename(part, evil));
    results.account = Some(account);
    for sum in &mut results.causes {
        sum.who = Some(evil.into());
    }
    for finding in &mut results.findings {
        finding.id = evil.into();
        finding.claim = evil.into();
        finding.share = 0.0004;
        finding.evidence = vec![seen(evil)];
        finding.remedies = vec![change(evil, Some(evil), evil)];
    }
    for loss in &mut results.losses {
        loss.source = evil.into();
        loss.note = evil.into();
    }
    results.kernel.notes = vec![evil.into()];
    results.kernel.tier = Some(evil.into());
    let name = fixture.names.intern(evil);
    for worst in &mut results.drawing.worst {
        worst.blamed.causes.iter_mut().for_each(|piece| piece.who = Some(name));
        worst.states.iter_mut().flat_map(|lane| &mut lane.spans).for_each(|span| span.who = Some(evil.into()));
    }
    fixture
}

/// A wait with names that a hostile program chose.
fn rename(part: &mut Node, evil: &str) {
    (part.name, part.why) = (evil.into(), Some(evil.into()));
    part.parts.iter_mut().for_each(|part| rename(part, evil));
}

fn waits(evil: &str) -> Waits {
    let text = || Some(evil.to_owned());
    let holder =
        HolderDoes { thread: text(), doing: Doing::Waits(WaitKind::ForeignCall), place: text(), callee: text() };
    let wait = Wait {
        kind: WaitKind::Lock,
        for_each_other: true,
        place: Some(evil.to_owned()),
        callee: text(),
        holder: Some(holder),
        threads_mean: 18.0,
        threads_max: 18,
        objects_mean: Some(1.0),
        queue_mean: Some(18.0),
        looks_share: 1.0,
        share: 1.0,
    };
    let thunks = vec![Thunks { place: evil.to_owned(), bytes: 600 }];
    Waits {
        looks: 12,
        threads_mean: 20.0,
        threads_max: 20,
        why: Some(evil.to_owned()),
        kinds: vec![WaitShare { kind: wait.kind, holder: Some(Doing::Runs), threads_mean: 18.0, looks_share: 1.0 }],
        by: vec![wait],
        made_per_second: Some(9_000.0),
        ended: Some(u64::MAX),
        old: Some(Old { looks: 12, bytes: 1_000, thunk_bytes: 700, thunks }),
        ..Waits::default()
    }
}
