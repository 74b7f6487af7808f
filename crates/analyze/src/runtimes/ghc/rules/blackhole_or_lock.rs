//! `blackhole-or-lock`: lanes were idle because green threads waited for each other.
//!
//! Cost: wall-clock time in which at least one lane ran nothing while a green thread waited for a lock, a transaction
//! or another thread's value, and the thread that later released it was at work. Each moment counts once, and no more
//! than the account's time of lanes with nothing to run. See `green` for what counts. A sequential program shows a
//! little of this: the threshold is a tenth of the wall clock and ten waits. Medium confidence: only the program
//! knows whether the threads could have done something else.

use crate::findings::{Cost, Facts, Need, Rule, Verdict, evidence};
use crate::program::green::Contention;
use rtscope_model::units::{duration, percent};
use rtscope_model::{Confidence, Evidence, Figure, GreenThread, Remedy};

const COUNT_MIN: u64 = 10;
/// The thread that others waited for most is named from this share on.
const NAMED_SHARE: f64 = 0.8;

pub static RULE: Rule = Rule {
    id: "blackhole-or-lock",
    explains: &["idle"],
    order: 260,
    needs: Some(&Need { name: "runs of green threads (`--detail full`)", optional: true, missing: no_runs }),
    share_min: 0.10,
    also: ", ten waits",
    why: "threads wait for each other now and then in every program",
    check,
    ..Rule::BLANK
};

fn no_runs(facts: &Facts<'_>) -> Option<String> {
    (!facts.green.known()).then(|| {
        "the log does not have the runs of green threads: record with `rtscope record --detail full`.".to_owned()
    })
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let contention = &facts.green.contention;
    if !facts.green.known() || contention.waits() < COUNT_MIN {
        return None;
    }
    // Between two runs of threads the scheduler may work on the next run or on the log: that does not count as idle.
    let idle_ns = contention.idle.ns();
    let cost = Cost::Time(facts.idle_wall_ns().map_or(idle_ns, |known| idle_ns.min(known)));
    let verdict = Verdict::new(cost, Confidence::Medium, "Capabilities stood idle for ")
        .then(format!(" while threads waited for each other: {}.", waited_for(contention)));
    Some(verdict.seen(seen(facts, contention)).remedies(remedies(contention)))
}

/// "for locks (MVar)", the largest first.
fn waited_for(contention: &Contention) -> String {
    let kinds = [
        (contention.locks.ns, "for locks (MVar)"),
        (contention.black_holes.ns, "for values that another thread computed (black holes)"),
        (contention.transactions.ns, "for transactions (STM)"),
    ];
    let worst = kinds.iter().map(|kind| kind.0).max().unwrap_or(0);
    let mut big: Vec<_> = kinds.iter().filter(|kind| kind.0 > 0 && kind.0.saturating_mul(10) >= worst).collect();
    big.sort_by_key(|kind| std::cmp::Reverse(kind.0));
    big.iter().map(|kind| kind.1).collect::<Vec<_>>().join(" and ")
}

fn seen(facts: &Facts<'_>, contention: &Contention) -> Vec<Evidence> {
    let kinds = [
        (contention.locks, "for a lock"),
        (contention.black_holes, "for a value that another thread was computing"),
        (contention.transactions, "for a transaction"),
    ];
    let by_kind: Vec<_> = kinds
        .iter()
        .filter(|kind| kind.0.count > 0)
        .map(|(waits, what)| format!("{} waits {what}, {} in all", waits.count, duration(waits.ns)))
        .collect();
    let mut seen =
        vec![facts.overall(format!("While a capability had nothing to run there were {}.", by_kind.join("; ")))];
    if let Some((waiter, holder, from, to)) = contention.longest {
        let text = format!("In the longest thread {waiter} waited {} for thread {holder}.", duration(to.since(from)));
        seen.push(evidence(text, Some((from, to))));
    }
    let worst: Option<(&GreenThread, &u64)> = contention.holders.iter().max_by_key(|holder| *holder.1);
    if let Some((holder, ns)) = worst {
        let share = *ns as f64 / contention.waits_ns().max(1) as f64;
        let text = match share {
            share if share >= NAMED_SHARE => {
                format!("Thread {holder} is the one that others waited for: {} of it.", percent(share))
            }
            _ => format!("{} threads let others wait in turn.", contention.holders.len()),
        };
        seen.push(evidence(text, None));
    }
    seen
}

fn remedies(contention: &Contention) -> [Remedy; 2] {
    let locks = contention.locks.ns.saturating_add(contention.transactions.ns);
    let idle = Figure { path: "green_threads.idle_while_waiting_ns", shows: "capabilities stand idle for less" };
    let mut remedies = [
        "Hold the lock for less: compute before taking it, and force the result before it is put back; or use one \
         lock for each part of the data (striping).",
        "Evaluate shared values before they are shared (deepseq, strict fields), or let each thread compute its own \
         part.",
    ]
    .map(|text| {
        let verify = "Record again with `--detail full`: capabilities no longer stand idle while threads wait.";
        Remedy::new(text).falls(idle).verify(verify)
    });
    if contention.black_holes.ns > locks {
        remedies.reverse();
    }
    remedies
}
