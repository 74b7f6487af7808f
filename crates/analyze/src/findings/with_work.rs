//! How lanes' work fell together: what rules about too little of it have in common. Owns what lanes without work could
//! have done, and how that is said; refuses to say why they had none.

use super::Facts;
use crate::results::waits::Waits;
use rtscope_model::units::{counted, duration, percent};
use rtscope_model::{Account, Evidence, WaitKind};

/// Of the wall clock: less is not mentioned.
const MENTIONED_MIN: f64 = 0.01;

/// How lanes' work fell together, as shares of the wall clock outside pauses.
pub(crate) struct WithWork {
    /// No lane had any,
    pub none: f64,
    /// two at least had.
    pub two: f64,
    /// So many had, on average where any had.
    pub mean: f64,
}

impl WithWork {
    /// `None`: the account does not have it.
    pub fn of(account: &Account) -> Option<WithWork> {
        let all: u64 = account.with_work_ns.iter().sum();
        let none = *account.with_work_ns.first()?;
        let one = account.with_work_ns.get(1).copied().unwrap_or(0);
        let lanes: f64 = account.with_work_ns.iter().enumerate().map(|(lanes, ns)| lanes as f64 * *ns as f64).sum();
        let share = |ns: u64| ns as f64 / all.max(1) as f64;
        let two = share(all.saturating_sub(none.saturating_add(one)));
        Some(WithWork { none: share(none), two, mean: lanes / all.saturating_sub(none).max(1) as f64 })
    }
}

/// What lanes without work could have done while any had some.
#[derive(Debug, PartialEq)]
pub(crate) struct Lost {
    /// Wall clock that even division would save.
    pub ns: u64,
    /// Lanes without work, on average where there were both kinds.
    pub lanes: f64,
}

/// Where `could` lanes are as many as could work.
pub(crate) fn lost(account: &Account, could: f64) -> Lost {
    let some = account.with_work_ns.iter().enumerate().skip(1).filter(|(lanes, _)| (*lanes as f64) < could);
    let (mut all, mut without) = (0, 0.0);
    for (lanes, ns) in some {
        all += *ns;
        without += *ns as f64 * (could - lanes as f64);
    }
    Lost { ns: (without / could) as u64, lanes: without / all.max(1) as f64 }
}

/// Threads at a look that wait for what no other thread could bring.
pub(crate) fn outside(waits: &Waits) -> f64 {
    let is_outside = |kind: WaitKind| matches!(kind, WaitKind::Time | WaitKind::InputOutput | WaitKind::ForeignCall);
    waits.kinds.iter().filter(|kind| is_outside(kind.kind)).map(|kind| kind.threads_mean).sum()
}

/// For how long how many had work, and which lane had most of it.
pub(crate) fn seen(facts: &Facts<'_>, account: &Account) -> Vec<Evidence> {
    let (one, many) = facts.runtime.lane;
    let times = account.with_work_ns.iter().enumerate().filter(|(_, ns)| facts.share(**ns) >= MENTIONED_MIN);
    let times = times.map(|(lanes, ns)| match lanes {
        0 => format!("none for {}", duration(*ns)),
        lanes => format!("{} for {}", counted(lanes as u64, one, many), duration(*ns)),
    });
    let mut seen = vec![facts.overall(format!("With work: {}.", times.collect::<Vec<_>>().join("; ")))];
    let worked = |lane: &rtscope_model::LaneAccount| {
        let idle = lane.parts.iter().find(|part| part.id == "idle").map_or(0, |idle| idle.ns);
        lane.ns.saturating_sub(idle)
    };
    let all: u64 = account.lanes.iter().map(worked).sum();
    if let Some(most) = account.lanes.iter().max_by_key(|lane| worked(lane)) {
        let share = percent(worked(most) as f64 / all.max(1) as f64);
        seen.push(facts.overall(format!("{share} of the work was on {one} {}.", most.lane.0)));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::waits::Kind;

    const S: u64 = 1_000_000_000;

    fn account(with_work_ns: Vec<u64>) -> Account {
        Account { with_work_ns, ..Account::default() }
    }

    #[test]
    fn what_could_have_worked_while_any_did_is_lost() {
        let lost = |with_work_ns, could| lost(&account(with_work_ns), could);
        assert_eq!(lost(vec![S, 4 * S, 2 * S], 2.0), Lost { ns: 2 * S, lanes: 1.0 }, "nothing while none had work");
        assert_eq!(lost(vec![0, 3 * S, 0, S], 3.0), Lost { ns: 2 * S, lanes: 2.0 });
        assert_eq!(lost(vec![0, 2 * S, 2 * S], 4.0), Lost { ns: 2 * S + S / 2, lanes: 2.5 });
        assert_eq!(lost(vec![0, 3 * S], 1.5), Lost { ns: S, lanes: 0.5 }, "a quota");
        assert_eq!(lost(vec![0, 0, 2 * S, S], 2.0), Lost { ns: 0, lanes: 0.0 }, "more lanes than CPUs");
        let found = WithWork::of(&account(vec![S, S, 2 * S])).unwrap();
        assert_eq!((found.none, found.two), (0.25, 0.5));
        assert!((found.mean - 5.0 / 3.0).abs() < 1e-9);
        assert!(WithWork::of(&account(Vec::new())).is_none());
    }

    #[test]
    fn what_comes_from_outside_cannot_be_divided() {
        let waits = |kinds: &[(WaitKind, f64)]| {
            let of = |(kind, threads_mean): &(WaitKind, f64)| Kind {
                kind: *kind,
                holder: None,
                threads_mean: *threads_mean,
                looks_share: 1.0,
            };
            outside(&Waits { kinds: kinds.iter().map(of).collect(), ..Waits::default() })
        };
        assert_eq!((waits(&[(WaitKind::Lock, 2.0), (WaitKind::NoWork, 3.0)]), waits(&[])), (0.0, 0.0));
        assert_eq!(waits(&[(WaitKind::Time, 1.0), (WaitKind::Lock, 1.0)]), 1.0);
        assert_eq!(waits(&[(WaitKind::InputOutput, 8.0), (WaitKind::ForeignCall, 0.5)]), 8.5);
    }
}
