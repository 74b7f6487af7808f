//! `overhead`: on CPUs and outside collections the runtime or the kernel does work for the program that a program can
//! avoid: switching threads, comparing values without their type.
//!
//! Cost: that part of the account, divided by the mean number of lanes with work: if one of eight works, all of it
//! lengthens the run. The basics of the language, such as allocation and arithmetic, are the program's own work, and
//! so is input and output. Refuses to know a runtime: each supplies its list.

use super::collected::{in_program, of_lanes_at_work};
use super::hand_over::broadcast;
use super::{Cost, Facts, Rule, Verdict, needs, sure};
use crate::results::waits::Wait;
use rtscope_model::units::{percent, rate};
use rtscope_model::{CodeKind, Figure, Node, Remedy, Symbol, WaitKind};
use std::collections::BTreeMap;

/// With fewer samples than the first number a share says nothing; from the second on it is good to a few per cent.
const SAMPLES: (u64, u64) = (10, 100);

const COST: Figure =
    Figure { path: "findings.overhead.cost_ns", shows: "this part of the account is smaller, or the finding is gone" };

/// The rule for a runtime without a list; a base for others.
pub const BASE: Rule = Rule {
    id: "overhead",
    order: 184,
    needs: Some(&needs::CODE),
    yields_to: &[
        "stm-contention",
        "blackhole-or-lock",
        "lock-convoy",
        "domain-lock",
        "hand-over",
        "fork-pause",
        "tracer-disturbance",
    ],
    share_min: 0.10,
    also: " for one thing",
    why: "every program asks its runtime and the kernel for something",
    check: |facts| check(facts, &[]),
    ..Rule::BLANK
};

/// Work that is done for a program.
pub struct OverheadWork {
    /// Ids of its parts in the account. Without samples of the first the others do not count: they have other causes, too.
    pub ids: &'static [&'static str],
    /// What causes it, to follow "most often".
    pub cause: &'static str,
    /// What to change.
    pub change: &'static str,
    /// What shows that this is its cause, where there are several.
    caller: Option<Caller>,
}

/// Functions of the program that work is done for, piece after piece.
struct Caller {
    /// Beginning of their names.
    functions: &'static str,
    /// A part of the account that each of their calls has once.
    once: &'static str,
    words: &'static str,
}

impl OverheadWork {
    /// Work of these parts of the account.
    pub const fn of(ids: &'static [&'static str], cause: &'static str, change: &'static str) -> OverheadWork {
        OverheadWork { ids, cause, change, caller: None }
    }

    /// The part of it that functions with this beginning of their names call for many times in each of their calls,
    /// while `once` comes once in each.
    pub const fn called_by(self, functions: &'static str, once: &'static str, words: &'static str) -> OverheadWork {
        OverheadWork { caller: Some(Caller { functions, once, words }), ..self }
    }

    /// Whether it is known that this is what the work is for.
    fn is_signed(&self, facts: &Facts<'_>) -> bool {
        let samples = |id| in_program(facts, id).iter().filter_map(|node| node.samples).sum::<u64>();
        let sign = self.ids.first().filter(|_| self.ids.len() > 1);
        sign.is_none_or(|id| samples(id) >= SIGN_SAMPLES)
            && self.caller.as_ref().is_none_or(|caller| {
                let work = self.ids.iter().map(|id| samples(id)).sum::<u64>();
                caller.calls_often(facts, work, samples(caller.once))
            })
    }
}

/// A loop of calls has at least one part in this many of the time of what it calls, …
const LOOP_PART: u64 = 100;
/// … and where it goes round often for each call, at least one part in this many of the time of what comes once, which
/// takes at most one part in this many of the work.
const ONCE: (u64, u64) = (4, 8);

impl Caller {
    fn calls_often(&self, facts: &Facts<'_>, work: u64, once: u64) -> bool {
        let is = |symbol: &Symbol| symbol.kind == CodeKind::Program && symbol.name.starts_with(self.functions);
        let own = facts.code.map_or(0, |code| code.running_ns(facts.symbols, is) / code.period_ns.max(1));
        goes_round(own, work, once)
    }
}

/// Whether functions with `own` samples call for `work` often in each of their calls, which have `once` once.
fn goes_round(own: u64, work: u64, once: u64) -> bool {
    own >= 2 && own * LOOP_PART >= work && own * ONCE.0 >= once && work >= once * ONCE.1
}

/// The first of several parts has at least so many samples.
const SIGN_SAMPLES: u64 = 3;

/// What the kernel does for programs of any runtime.
static KERNEL: [OverheadWork; 6] = [
    OverheadWork::of(
        &["kernel:lseek", "kernel:read", "kernel:newfstatat", "kernel:fstat"],
        "seeking in a file that is read through a buffer: each seek drops the buffer, and the next read fills it again, however \
                little of it is used",
        "Read in the order in which the data lies, or read single records with calls of their size, without a buffer.",
    ),
    OverheadWork::of(
        &["kernel:futex"],
        "threads that wake each other for each piece of work, and locks that several have to wait for",
        "Hand over more at a time; hold locks for less, or use one for each part of the data.",
    ),
    OverheadWork::of(
        &["kernel:sched_yield"],
        "a loop that waits for another thread",
        "Wait for a condition in place of yielding in a loop.",
    ),
    OverheadWork::of(
        &["kernel:page fault, copy on write"],
        "writes to memory that a child process has a copy of",
        "Write less while a child lives, or let it end sooner.",
    ),
    OverheadWork::of(
        &["kernel:page fault, memory given back"],
        "memory that is given back to the system and taken again",
        "Keep what is needed again: use buffers several times.",
    ),
    OverheadWork::of(
        &["kernel:madvise"],
        "memory that is given back to the system and taken again",
        "Keep what is needed again: use buffers several times.",
    ),
];

/// Calls that ask the kernel for something: about a file, a clock, memory, signals.
const AVOIDABLE: [&str; 30] = [
    "access",
    "brk",
    "clock_gettime",
    "close",
    "epoll_ctl",
    "faccessat",
    "faccessat2",
    "fcntl",
    "fstat",
    "getcpu",
    "getdents64",
    "getpid",
    "getrandom",
    "getrusage",
    "gettimeofday",
    "ioctl",
    "kill",
    "lseek",
    "mmap",
    "mprotect",
    "mremap",
    "munmap",
    "newfstatat",
    "open",
    "openat",
    "rt_sigaction",
    "rt_sigprocmask",
    "stat",
    "statx",
    "times",
];
static CALLS: OverheadWork = OverheadWork::of(
    &[],
    "calls for each small piece of work that could be made once, or for more at a time (`strace -c -f` counts them)",
    "Keep the answer, or ask less often.",
);

/// Reports the work that takes most: of `runtimes`, or of the kernel.
pub fn check(facts: &Facts<'_>, runtimes: &'static [OverheadWork]) -> Option<Verdict> {
    let account = facts.account?;
    let program = account.part("program")?;
    let found = |work: &'static OverheadWork| {
        let of_each = work.ids.iter().map(|id| in_program(facts, id));
        let nodes: Vec<Vec<&Node>> = of_each.filter(|nodes| !nodes.is_empty()).collect();
        let sum = |of: fn(&Node) -> u64| nodes.iter().flatten().map(|node| of(node)).sum::<u64>();
        let names: Vec<&str> = nodes.iter().map(|nodes| &*nodes[0].name).collect();
        (work, names.join(" and "), sum(|node| node.ns), sum(|node| node.samples.unwrap_or(0)))
    };
    let all = runtimes.iter().chain(&KERNEL).filter(|work| work.is_signed(facts)).map(found);
    let all = all.chain(calls(program));
    let (work, names, ns, samples) = all.filter(|found| found.3 >= SAMPLES.0).max_by_key(|found| found.2)?;
    let seen = format!(
        "{samples} samples of the program's time found it there, {} of all. Most often it comes from {}.",
        percent(ns as f64 / program.ns.max(1) as f64),
        work.cause
    );
    let cost = Cost::Time(of_lanes_at_work(account, ns));
    let what = format!(" in {names}{}.", work.caller.as_ref().map_or("", |caller| caller.words));
    let verdict = Verdict::new(cost, sure(samples >= SAMPLES.1), "The program spent ").then(what);
    let herd = HERDS.iter().find(|of| work.ids.contains(&of.id)).and_then(|of| Some((of, herd(facts, of.kind)?)));
    let waited = herd.map(|(of, herd)| {
        let (threads, at) = (herd.threads(), herd.at());
        facts.overall(format!("{threads:.0} threads waited{at} at a look on average for {}.", of.wait_for))
    });
    let made = facts.context.waits.as_ref().and_then(|waits| waits.made_per_second);
    let made = made.filter(|made| *made >= MADE_MIN && work.ids.contains(&SCHEDULING));
    let made = made.map(|made| facts.overall(format!("The program created {} threads a second.", rate(made))));
    let change = herd.and_then(|(of, herd)| (of.change)(herd)).unwrap_or_else(|| work.change.to_owned());
    let remedy = Remedy::new(change).falls(COST);
    Some(verdict.seen([facts.overall(seen)].into_iter().chain(made).chain(waited)).remedies([remedy]))
}

/// What the kernel does in the system calls of which the most is known that a program can avoid: those that move no data,
/// start no program and wait for nothing.
fn calls(program: &Node) -> impl Iterator<Item = (&'static OverheadWork, String, u64, u64)> {
    let mut sums: BTreeMap<&str, (&str, u64, u64)> = BTreeMap::new();
    for node in program.parts.iter().flat_map(|part| std::iter::once(part).chain(&part.parts)) {
        if node.id.strip_prefix("kernel:").is_some_and(|call| AVOIDABLE.contains(&call)) {
            let sum = sums.entry(&node.id).or_insert((&node.name, 0, 0));
            *sum = (sum.0, sum.1 + node.ns, sum.2 + node.samples.unwrap_or(0));
        }
    }
    sums.into_values().map(|(name, ns, samples)| (&CALLS, name.to_owned(), ns, samples))
}

/// Id of scheduler work.
const SCHEDULING: &str = "purpose:scheduling";
/// Creating a thread costs about a microsecond: fewer per second explain nothing.
const MADE_MIN: f64 = 1_000.0;

/// Work that grows with the number of threads that wait for one thing, as whatever brings it wakes them all.
struct Herd {
    /// Id of the work.
    id: &'static str,
    kind: WaitKind,
    wait_for: &'static str,
    change: fn(&Wait) -> Option<String>,
}

static HERDS: [Herd; 2] = [
    Herd {
        id: "purpose:transactions",
        kind: WaitKind::Transaction,
        wait_for: "changes of what their transactions had read",
        change: |_| {
            let change = "Give each thread that waits a variable of its own, or a few threads the waiting: whatever \
                          changes a variable wakes all that wait for it, and all but one wait again.";
            Some(change.to_owned())
        },
    },
    Herd { id: "kernel:futex", kind: WaitKind::Condition, wait_for: "a condition", change: broadcast },
];

/// The place at which most threads wait for something of this kind, if they are a herd.
fn herd<'a>(facts: &Facts<'a>, kind: WaitKind) -> Option<&'a Wait> {
    let waits = facts.context.waits.as_ref()?.by.iter().filter(|wait| wait.kind == kind);
    let herds = waits.filter(|wait| wait.is_herd());
    herds.max_by(|one, other| one.threads_mean.total_cmp(&other.threads_mean))
}

#[cfg(test)]
mod tests {
    use super::goes_round;

    #[test]
    fn a_loop_of_calls_is_distinguished_from_one_call_and_from_calls_of_others() {
        assert!(goes_round(2, 156, 0) && goes_round(6, 337, 13), "one bucket has many keys");
        assert!(!goes_round(5, 30, 60), "each bucket has one key");
        assert!(!goes_round(12, 200, 50), "larger keys");
        assert!(!goes_round(1, 90, 0) && !goes_round(2, 500, 9), "something else compares");
    }
}
