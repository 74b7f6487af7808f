//! How the work of lanes overlapped: the common part of rules about too little parallel work. Owns what lanes without
//! work could have done, what shows that work was meant to be shared, and its wording; refuses to say why they had none.

use super::Facts;
use super::looks::at_least;
use crate::results::waits::{WaitShare, Waits};
use rtscope_model::units::{counted, duration, percent};
use rtscope_model::{Account, Doing, Evidence, LaneAccount, WaitKind};

/// Share of the wall clock: less is not mentioned.
pub(crate) const MENTIONED_MIN: f64 = 0.01;

/// Share of its time that a lane works if it was made for work.
const WORKED_MIN: f64 = 0.5;
/// Share of the wall clock outside pauses: if no lane had work for longer, the program waits for some.
const NONE_MAX: f64 = 0.05;
/// Share of the wall clock outside pauses in which two lanes have work, if the program is meant to be parallel.
const TWO_MIN: f64 = 0.05;
/// Share of looks while a lane is idle: from here on a thread mostly waits for the working one to end.
const WAITED_MIN: f64 = 0.5;

/// How the work of lanes overlapped.
#[derive(Debug)]
pub(crate) struct WithWork {
    /// Share of the wall clock outside pauses in which no lane had work.
    pub none: f64,
    /// Share in which at least two lanes had work.
    pub two: f64,
    /// Mean number of lanes with work while any had some.
    pub mean: f64,
    /// Number of lanes that could have had work: the lanes or the CPUs, whichever are fewer.
    pub could: f64,
    /// Mean number of such lanes without work while some had work and fewer than could.
    pub without: f64,
    /// Wall-clock time that an even division of the work would save.
    pub lost_ns: u64,
    /// Whether most of that was lost while one lane alone had work.
    pub alone: bool,
}

impl WithWork {
    /// `None`: the account lacks it, or the number of CPUs is not known.
    pub fn of(facts: &Facts<'_>) -> Option<WithWork> {
        let account = facts.account?;
        let could = facts.context.cpus_available()?.min(account.lanes.len() as f64);
        WithWork::divided(&account.with_work_ns, could)
    }

    fn divided(with_work_ns: &[u64], could: f64) -> Option<WithWork> {
        let none = *with_work_ns.first()?;
        let all: u64 = with_work_ns.iter().sum();
        let one = with_work_ns.get(1).copied().unwrap_or(0);
        let share = |ns: u64| ns as f64 / all.max(1) as f64;
        let while_alone = one as f64 * (could - 1.0).max(0.0);
        let (mut some, mut without) = (0, 0.0);
        for (lanes, ns) in with_work_ns.iter().enumerate().skip(1).filter(|(lanes, _)| (*lanes as f64) < could) {
            some += *ns;
            without += *ns as f64 * (could - lanes as f64);
        }
        Some(WithWork {
            none: share(none),
            two: share(all.saturating_sub(none.saturating_add(one))),
            mean: at_work(with_work_ns)?,
            could,
            without: without / some.max(1) as f64,
            lost_ns: (without / could) as u64,
            alone: while_alone * 2.0 >= without,
        })
    }
}

/// Mean number of lanes with work while any had some: what one lane spends costs the run that fraction of it. `None`:
/// none had work, or the account lacks it.
pub(crate) fn at_work(with_work_ns: &[u64]) -> Option<f64> {
    let any = with_work_ns.iter().enumerate().skip(1);
    let (lanes, all) = any.fold((0.0, 0), |sum, (lanes, ns)| (sum.0 + lanes as f64 * *ns as f64, sum.1 + *ns));
    (all > 0).then(|| lanes / all as f64)
}

impl WithWork {
    /// Whether some lane always had work, so that the program waits for nothing.
    pub fn is_never_without(&self) -> bool {
        self.none <= NONE_MAX
    }

    /// Wall-clock time that an even division would save, without what threads that wait for time, for input or for a
    /// call explain: each of them is the reason for one lane without work.
    pub fn lost_to_waits_ns(&self, waits: &Waits) -> u64 {
        let explained = outside(waits) / self.without.max(f64::EPSILON);
        (self.lost_ns as f64 * (1.0 - explained).max(0.0)) as u64
    }
}

/// Threads per look that wait for something no other thread could bring.
fn outside(waits: &Waits) -> f64 {
    waits.kinds.iter().filter(|kind| kind.kind.is_for_outside()).map(|kind| kind.threads_mean).sum()
}

/// What shows that the work was meant to be shared among lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shared {
    /// Several lanes had work at once.
    AtOnce,
    /// A thread waited for the working one to end, at this share of looks.
    Waited(f64),
    /// This number of threads has ended, as many as there are lanes, and none is left that waits for another, while one
    /// always had work: it does what they were made for. Where none has work at times, threads may have served requests.
    Left(u64),
    /// Lanes each worked for most of their own time, and one lived for much longer. A lane that has ended has no idle
    /// time.
    Lives,
}

impl Shared {
    /// `None`: the program may be sequential on purpose.
    pub fn of(facts: &Facts<'_>, waits: &Waits, with_work: &WithWork) -> Option<Shared> {
        let waited = waited_for_work(waits);
        if with_work.two >= TWO_MIN {
            return Some(Shared::AtOnce);
        }
        if at_least(waited, waits.looks) >= WAITED_MIN {
            return Some(Shared::Waited(waited));
        }
        let left = left_one(waits, facts.lanes).filter(|_| with_work.is_never_without());
        left.map(Shared::Left).or_else(|| made_for_work(facts.account?).then_some(Shared::Lives))
    }
}

/// The number of threads that have ended, if there were as many as lanes, and no thread is left that waits for another.
fn left_one(waits: &Waits, lanes: usize) -> Option<u64> {
    let waits_for_another = waits.kinds.iter().any(|kind| kind.kind.is_for_each_other() && kind.looks_share > 0.0);
    waits.ended.filter(|ended| *ended >= lanes as u64 && !waits_for_another)
}

/// Looks at which a thread waited for a running or runnable one to end, as a share of all. A thread that waits for a
/// lock may have nothing else to do, such as a main thread whose only worker does everything.
fn waited_for_work(waits: &Waits) -> f64 {
    let for_work =
        |kind: &&WaitShare| kind.kind == WaitKind::Child && matches!(kind.holder, Some(Doing::Runs | Doing::Ready));
    waits.kinds.iter().filter(for_work).map(|kind| kind.looks_share).sum::<f64>().min(1.0)
}

/// Whether several lanes each worked for most of their own time.
fn made_for_work(account: &Account) -> bool {
    let counts = |lane: &&LaneAccount| lane.ns as f64 >= MENTIONED_MIN * account.wall_ns as f64;
    let worked = |lane: &LaneAccount| {
        let program = lane.parts.iter().find(|part| part.id == "program").map_or(0, |program| program.ns);
        program as f64 >= WORKED_MIN * lane.ns as f64
    };
    let lanes: Vec<&LaneAccount> = account.lanes.iter().filter(counts).collect();
    lanes.len() > 1 && lanes.into_iter().all(worked)
}

/// How long how many lanes had work, and which lane had most of it.
pub(crate) fn seen(facts: &Facts<'_>) -> Vec<Evidence> {
    let Some(account) = facts.account else { return Vec::new() };
    let (one, many) = facts.runtime.lane;
    let times = account.with_work_ns.iter().enumerate().filter(|(_, ns)| facts.share(**ns) >= MENTIONED_MIN);
    let times = times.map(|(lanes, ns)| match lanes {
        0 => format!("none for {}", duration(*ns)),
        lanes => format!("{} for {}", counted(lanes as u64, one, many), duration(*ns)),
    });
    let mut seen = vec![facts.overall(format!("With work: {}.", times.collect::<Vec<_>>().join("; ")))];
    let worked = |lane: &LaneAccount| {
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
    use rtscope_model::{LaneId, Node};

    const S: u64 = 1_000_000_000;

    #[test]
    fn what_could_have_worked_while_any_did_is_lost() {
        let lost = |with_work_ns: &[u64], could| {
            let found = WithWork::divided(with_work_ns, could).unwrap();
            (found.lost_ns, found.without)
        };
        assert_eq!(lost(&[S, 4 * S, 2 * S], 2.0), (2 * S, 1.0), "nothing while none had work");
        assert_eq!(lost(&[0, 3 * S, 0, S], 3.0), (2 * S, 2.0));
        assert_eq!(lost(&[0, 2 * S, 2 * S], 4.0), (2 * S + S / 2, 2.5));
        assert_eq!(lost(&[0, 3 * S], 1.5), (S, 0.5), "a quota");
        assert_eq!(lost(&[0, 0, 2 * S, S], 2.0), (0, 0.0), "more lanes than CPUs");
        let found = WithWork::divided(&[S, S, 2 * S], 2.0).unwrap();
        assert_eq!((found.none, found.two), (0.25, 0.5));
        assert!((found.mean - 5.0 / 3.0).abs() < 1e-9);
        assert!(WithWork::divided(&[], 2.0).is_none() && WithWork::divided(&[S], 2.0).is_none());
    }

    #[test]
    fn what_comes_from_outside_cannot_be_divided() {
        let waits = |kinds: &[(WaitKind, f64)]| {
            let of = |(kind, threads_mean): &(WaitKind, f64)| WaitShare {
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

    #[test]
    fn lanes_that_worked_for_most_of_their_own_time_were_made_for_work() {
        let lane = |&(number, ns, program): &(u16, u64, u64)| LaneAccount {
            lane: LaneId(number),
            ns,
            parts: vec![Node::leaf("program", "", program), Node::leaf("idle", "", ns - program)],
        };
        let made = |lanes: &[(u16, u64, u64)]| {
            let lanes = lanes.iter().map(lane).collect();
            made_for_work(&Account { wall_ns: 1000, lanes, ..Account::default() })
        };
        assert!(made(&[(0, 1000, 990), (1, 40, 38)]), "one ended long before the other");
        assert!(!made(&[(0, 1000, 990), (1, 1000, 30)]), "one was there all the time, without work");
        assert!(!made(&[(0, 1000, 990), (1, 9, 9)]), "too short to mean anything");
        assert!(!made(&[(0, 1000, 990)]), "sequential");
    }
}
