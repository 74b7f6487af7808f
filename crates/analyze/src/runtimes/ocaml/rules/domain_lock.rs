//! `domain-lock`: threads of one domain, which run one at a time, wait for each other's turns while CPUs are free.
//!
//! Cost: the share of looks at which threads waited for a domain's lock while another of its threads held it and ran,
//! times the gain of more domains. The domains with work keep their number; there could be as many as these and the
//! waiting threads together, or as many as there are CPUs.

use crate::findings::{Cost, Facts, LOOKS_MIN, Rule, Verdict, needs};
use crate::results::waits::Wait;
use rtscope_model::units::counted;
use rtscope_model::{Confidence, Doing, Evidence, Remedy, Setting, WaitKind};

pub static RULE: Rule = Rule {
    id: "domain-lock",
    explains: &["idle"],
    order: 45,
    needs: Some(&needs::LOOKS),
    share_min: 0.10,
    also: ", five looks",
    why: "threads of a domain wait for their turn now and then",
    check,
    ..Rule::BLANK
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let (account, waits) = (facts.account?, facts.context.waits.as_ref()?);
    if waits.looks < LOOKS_MIN {
        return None;
    }
    let (kind, runs) = (WaitKind::RuntimeLock, Some(Doing::Runs));
    let taken = waits.kinds.iter().find(|of| of.kind == kind && of.holder == runs)?;
    let (share, threads) = (taken.looks_share, taken.threads_mean / taken.looks_share.max(f64::MIN_POSITIVE));
    let idle_ns = account.part("idle").map_or(0, |idle| idle.ns);
    let busy = (account.lanes_ns.saturating_sub(idle_ns) as f64 / account.wall_ns.max(1) as f64).max(1.0);
    let could = (busy + threads).min(facts.context.cpus_available()?);
    let cost = account.wall_ns as f64 * share * (1.0 - busy / could).max(0.0);
    let what = "Threads of one domain ran one at a time while CPUs were free, which cost ";
    let rest = format!(
        ": at {:.0} % of looks {threads:.1} waited for their turn, and {busy:.1} of {} had work.",
        100.0 * share,
        counted(facts.lanes as u64, "domain", "domains")
    );
    let verdict = Verdict::new(Cost::Time(cost as u64), Confidence::Medium, what).then(rest);
    let at = waits.by.iter().find(|wait| wait.kind == kind && wait.holder.as_ref().map(|holder| holder.doing) == runs);
    Some(verdict.seen(at.map(|wait| seen(facts, wait, waits.looks))).remedies([remedy()]))
}

fn seen(facts: &Facts<'_>, wait: &Wait, looks: u64) -> Evidence {
    let holder = wait.holder.as_ref().and_then(|holder| holder.thread.as_ref());
    let held_by = holder.map_or("threads had in turn".to_owned(), |thread| format!("thread {thread} had"));
    let at = wait.at();
    facts.overall(format!(
        "At {:.0} of {} threads waited{at} for the lock of a domain that {held_by}.",
        looks as f64 * wait.looks_share,
        counted(looks, "look", "looks")
    ))
}

fn remedy() -> Remedy {
    Remedy::new("Run what computes in domains of its own, as many as there are CPUs; threads are for waiting.")
        .set(Setting::Code("Domain.spawn (fun () -> …)".to_owned()))
        .verify("Record again: threads no longer wait for a domain's lock.")
}
