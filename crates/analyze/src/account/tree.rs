//! The tree of an account: named sums, longest first.
//!
//! Owns the words for parts, and which parts samples divide further. Refuses to measure.

use super::faults::{self, Groups, kernel};
use super::part::{AccountPart, Keeper, Still, Why};
use super::sums::AccountSums;
use crate::results::waits::Waits;
use rtscope_model::account::Basis;
use rtscope_model::{
    Account, Cause, CodeKind, LaneAccount, NameId, Names, Node, PurposeId, SymbolId, Symbols, WaitKind,
};
use std::collections::BTreeMap;

/// Sources of the names of parts.
pub struct Words<'a> {
    /// Names of processes.
    pub names: &'a Names,
    pub symbols: &'a Symbols,
    /// What threads were seen waiting for while lanes had nothing to run.
    pub waits: Option<&'a Waits>,
    /// Of page faults on first-touched memory, the share on memory that the program had had before.
    pub given_back: f64,
}

/// The tops of the tree, by [`AccountPart::top`].
const TOPS: [(&str, &str); AccountPart::TOPS] = [
    ("program", "program"),
    ("collecting", "collecting"),
    ("standing-still", "standing still for a pause"),
    ("no-cpu", "had work, had no CPU"),
    ("kept", "kept in a call or a fault"),
    ("idle", "nothing to run"),
    ("not-known", "not known"),
];

pub fn account(sums: &AccountSums, words: &Words<'_>) -> Account {
    let mut parts = tops_of(&sums.parts(), words.names);
    for part in &mut parts {
        let top = TOPS.iter().position(|top| top.0 == part.id);
        part.wall_ns = top.and_then(|top| sums.tops_ns.get(top)).copied();
        sampled(part, sums, words);
    }
    let lane = |(lane, parts): (&rtscope_model::LaneId, &BTreeMap<AccountPart, u64>)| LaneAccount {
        lane: *lane,
        ns: parts.values().sum(),
        parts: tops_of(parts, words.names),
    };
    Account {
        lanes_ns: sums.ns(),
        wall_ns: sums.wall_ns,
        with_work_ns: sums.with_work_ns.clone(),
        no_work_briefly_ns: sums.no_work_briefly_ns,
        lanes: sums.lanes.iter().map(lane).collect(),
        parts,
    }
}

/// The nodes that a part belongs to, from the top. `names` has the names of processes.
pub fn path_of(part: AccountPart, names: &Names) -> Vec<Node> {
    let mut next = tops_of(&BTreeMap::from([(part, 1)]), names).pop();
    let mut path = Vec::new();
    while let Some(mut node) = next {
        next = node.parts.pop();
        path.push(Node { ns: 0, parts: Vec::new(), ..node });
    }
    path
}

/// The top-level parts with a length, longest first.
pub fn tops_of(parts: &BTreeMap<AccountPart, u64>, names: &Names) -> Vec<Node> {
    let top = |(index, (id, name)): (usize, &(&str, &str))| {
        let own: Vec<(AccountPart, u64)> =
            parts.iter().filter(|(part, _)| part.top() == index).map(|(part, ns)| (*part, *ns)).collect();
        match &own[..] {
            [(AccountPart::Program | AccountPart::Idle, ns)] => Node::leaf(*id, *name, *ns),
            _ if index == 2 => Node::sum(*id, *name, standing(&own)),
            _ => Node::sum(*id, *name, own.iter().map(|(part, ns)| named(*part, *ns, names)).collect()),
        }
    };
    let all: Vec<Node> = TOPS.iter().enumerate().map(top).collect();
    Node::sum("", "", all).parts
}

/// What shows who had a CPU.
const WHO_HAD_IT: &str = "that takes scheduling events of all processes: CAP_PERFMON, or root";

/// Divides standing still by its purpose, and by what the awaited lane did.
fn standing(parts: &[(AccountPart, u64)]) -> Vec<Node> {
    let kinds = [
        (Still::ToStop, "to-stop", "until all had stopped"),
        (Still::Work, "others-work", "for others' work"),
        (Still::Back, "to-get-back", "until back at work"),
        (Still::Lead, "to-lead", "to start a collection"),
    ];
    let of = |(still, id, name): &(Still, &str, &str)| {
        let causes = parts.iter().filter_map(|(part, ns)| match part {
            AccountPart::Still(own, cause) if own == still => {
                let (id, name) = cause.map_or(("at-work", "the other one is at work"), doing);
                let why = (*cause == Some(Cause::NotScheduled)).then(|| WHO_HAD_IT.to_owned());
                Some(Node { why, ..Node::leaf(id, name, *ns) })
            }
            _ => None,
        });
        Node::sum(*id, *name, causes.collect())
    };
    kinds.iter().map(of).collect()
}

/// What the awaited lane does.
fn doing(cause: Cause) -> (&'static str, &'static str) {
    match cause {
        Cause::HostSteal => ("host-steal", "the host had its CPU"),
        Cause::Running => ("running", "it was still running"),
        Cause::LateSafepoint => ("late-safepoint", "it ran program code without a safepoint"),
        Cause::ForeignCall => ("foreign-call", "it was in a foreign call"),
        Cause::InKernel => ("in-kernel", "it ran in the kernel"),
        Cause::Throttled => ("throttled", "a CPU quota held it off"),
        Cause::Preempted => ("preempted", "another process had its CPU"),
        Cause::Oversubscribed => ("oversubscribed", "another thread of the program had its CPU"),
        Cause::IdleCpu => ("idle-cpu", "a CPU was idle"),
        Cause::NotScheduled => ("not-scheduled", "it had no CPU; who had it was not seen"),
        Cause::WakeLatency => ("wake-latency", "it was woken and had no CPU yet"),
        Cause::Asleep => ("asleep", "it slept"),
        Cause::BlockedInKernel => ("blocked-in-kernel", "the kernel blocked it"),
        Cause::HandedOver => ("handed-over", "it was passed to another thread"),
        Cause::Unknown => ("unknown", "not known"),
    }
}

fn named(part: AccountPart, ns: u64, names: &Names) -> Node {
    let plain = |id: &str, name: &str| Node::leaf(id, name, ns);
    let missing = |id: &str, name: &str, why: &str| Node { why: Some(why.to_owned()), ..plain(id, name) };
    match part {
        AccountPart::Program => plain("on-a-cpu", "on a CPU"),
        AccountPart::Posted => missing(
            "posted",
            "as far as the log shows",
            "without the kernel's scheduling events, time off the CPU and time without work count as the program",
        ),
        AccountPart::Collecting => plain("in-pauses", "in pauses"),
        AccountPart::Slice => plain("slices", "between pauses"),
        AccountPart::NoCpu(Keeper::Quota) => plain("quota", "a CPU quota was used up"),
        AccountPart::NoCpu(Keeper::Other(name)) => other(name, ns, names),
        AccountPart::NoCpu(Keeper::Sibling) => plain("siblings", "own threads had the CPU"),
        AccountPart::NoCpu(Keeper::IdleCpu) => plain("idle-cpu", "a CPU was idle"),
        AccountPart::NoCpu(Keeper::Unknown) => missing("taker-unknown", "who had the CPU was not seen", WHO_HAD_IT),
        AccountPart::Blocked => {
            plain("blocked", "blocked in the kernel: a page fault, or input and output that cannot be interrupted")
        }
        AccountPart::Call => plain("call", "asleep in a call"),
        AccountPart::Idle => plain("idle", "nothing to run"),
        AccountPart::Unknown(why) => unknown(why, ns),
        AccountPart::Still(..) => plain("standing-still", "standing still"),
    }
}

/// Time in which another process had the CPU.
fn other(name: NameId, ns: u64, names: &Names) -> Node {
    match names.get(name) {
        "" => Node::leaf("others", "other processes", ns),
        called => Node::leaf(format!("process:{called}"), called, ns),
    }
}

fn unknown(why: Why, ns: u64) -> Node {
    let (id, name, reason) = match why {
        Why::EventsLost => ("events-lost", "events of the runtime were lost", "see the losses"),
        Why::KernelLost => ("kernel-lost", "events of the kernel were lost", "see the losses"),
        Why::NoKernel => ("no-kernel", "no events of the kernel", "record with `rtscope record`"),
        Why::Thread => ("thread", "which OS thread did the work", "several threads of the program could have"),
        Why::State => ("state", "what the thread did", "no event had shown its state yet"),
    };
    Node { why: Some(reason.to_owned()), ..Node::leaf(id, name, ns) }
}

/// Divides CPU time by what samples found there.
fn sampled(node: &mut Node, sums: &AccountSums, words: &Words<'_>) {
    let part = match node.id.as_str() {
        "program" if node.parts.is_empty() => Some(AccountPart::Program),
        "on-a-cpu" => Some(AccountPart::Program),
        "in-pauses" => Some(AccountPart::Collecting),
        "slices" => Some(AccountPart::Slice),
        "idle" => return waited(node, words),
        _ => None,
    };
    match part {
        Some(part) => divide(node, part, sums, words),
        None => node.parts.iter_mut().for_each(|part| sampled(part, sums, words)),
    }
}

/// Divides idle lane time by what threads waited for meanwhile. Every waiting thread counts as an equal reason.
fn waited(node: &mut Node, words: &Words<'_>) {
    let Some(waits) = words.waits else { return };
    // Waits that differ only in what the holder did count as one.
    let mut alike: BTreeMap<(WaitKind, Option<&str>), (f64, f64)> = BTreeMap::new();
    for wait in waits.by.iter().filter(|wait| wait.share > 0.0) {
        let sum = alike.entry((wait.kind, wait.place.as_deref())).or_default();
        (sum.0, sum.1) = (sum.0 + wait.share, (sum.1 + wait.looks_share).min(1.0));
    }
    let weights = alike.into_iter().map(|((kind, place), (share, looks_share))| {
        let place = place.map(|place| format!(" in {place}")).unwrap_or_default();
        let name = format!("{}{place}", waited_for(kind));
        let looks = (waits.looks as f64 * looks_share).round() as u64;
        (Node::leaf(format!("{}{place}", kind.word()), name, 0), (share * 1e9) as u64, looks)
    });
    node.divide(weights.collect());
    node.parts.iter_mut().for_each(|part| part.basis = Basis::Looks);
}

/// What threads wait for, in a few words.
fn waited_for(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Lock => "threads wait for a lock",
        WaitKind::Value => "threads wait for a value",
        WaitKind::Transaction => "threads wait in a transaction",
        WaitKind::Time => "threads sleep",
        WaitKind::InputOutput => "threads wait for input or output",
        WaitKind::ForeignCall => "threads are in foreign calls",
        WaitKind::Message => "threads wait for an exception to be taken",
        WaitKind::Moved => "threads wait for their turn elsewhere",
        WaitKind::Child => "threads wait for another one to end",
        WaitKind::Condition => "threads wait for a condition",
        WaitKind::RuntimeLock => "threads wait for the runtime's lock",
        WaitKind::NoWork => "no work is left",
        WaitKind::Unknown => "threads wait, not known for what",
    }
}

fn divide(node: &mut Node, part: AccountPart, sums: &AccountSums, words: &Words<'_>) {
    let mut groups = Groups::new();
    for ((_, leaf, user, purpose), (ns, samples)) in sums.samples.iter().filter(|((found, ..), _)| *found == part) {
        let sum = groups.entry(group(*leaf, *user, *purpose, words)).or_default();
        (sum.0, sum.1) = (sum.0 + ns, sum.1 + samples);
    }
    faults::settle(&mut groups, words.given_back);
    let (met_ns, samples) = groups.values().fold((0, 0), |all, (ns, samples)| (all.0 + ns, all.1 + samples));
    let mut weights: Vec<_> =
        groups.into_iter().map(|((id, name), (ns, samples))| (Node::leaf(id, name, 0), ns, samples)).collect();
    // A thread that ends before a sample is due is never sampled, and samples of others say nothing of it.
    let each_ns = met_ns.checked_div(samples).unwrap_or(0);
    if samples > 0 && node.ns >= each_ns.saturating_mul(SAMPLES_DUE_MIN) && node.ns / 2 > met_ns {
        weights.push((Node::leaf(NOT_SAMPLED, "not sampled", 0), node.ns - met_ns, 0));
    }
    node.divide(weights);
    if let Some(rest) = node.parts.iter_mut().find(|part| part.id == NOT_SAMPLED) {
        let why = "threads ended sooner than a sample of their code came, or samples were lost";
        (rest.basis, rest.samples, rest.why) = (Basis::Events, None, Some(why.to_owned()));
    }
}

/// Id of the time without samples.
const NOT_SAMPLED: &str = "not-sampled";
/// With fewer samples due, half of them may be missing by chance.
const SAMPLES_DUE_MIN: u64 = 20;

/// The id and name that a sample counts as: its purpose in the runtime, its entry path in the kernel, else the owner
/// of the code.
fn group(leaf: SymbolId, user: Option<SymbolId>, purpose: Option<PurposeId>, words: &Words<'_>) -> (String, String) {
    let symbol = words.symbols.get(leaf);
    if symbol.kind == CodeKind::Kernel {
        let entry = symbol.source.as_deref().unwrap_or("not known how it came there");
        return kernel(entry);
    }
    match (symbol.kind, purpose.map(PurposeId::get)) {
        (CodeKind::Program, _) | (_, None) => {
            let (id, name) = owner(user.map_or(symbol.kind, |user| words.symbols.get(user).kind));
            (id.to_owned(), name.to_owned())
        }
        (_, Some(purpose)) => (format!("purpose:{}", purpose.id), format!("the runtime: {}", purpose.words)),
    }
}

fn owner(kind: CodeKind) -> (&'static str, &'static str) {
    match kind {
        CodeKind::Program => ("program-code", "program code"),
        CodeKind::Runtime => ("runtime", "the runtime"),
        CodeKind::Foreign => ("foreign", "foreign code"),
        CodeKind::Kernel => ("kernel", "the kernel"),
        CodeKind::Unknown => ("unnamed", "code without names"),
    }
}
