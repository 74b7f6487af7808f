//! Forks of the program's process, and the time that collections waited for a lane during one. Owns these sums;
//! refuses to name remedies.

use crate::basis::lately;
use crate::basis::sum::Sum;
use crate::folds::{End, Fold, Past};
use crate::kernel::code::CodeSamples;
use crate::results::{self, BlamedPause, Results};
use rtscope_model::{Cause, CausePiece, CodeKind, PauseQuality, Symbol, Symbols, Tid, Time};
use std::collections::VecDeque;

/// Forks that are remembered.
const FORKS_MAX: usize = 1_024;
/// The kernel reports a fork at most this long after the other lanes' wait is over.
const FORK_POSTED_NS: u64 = 1_000_000;

#[derive(Default)]
pub struct Forks {
    forks: VecDeque<(Tid, Time)>,
    /// Number of forks.
    pub count: u64,
    /// Waits for a lane during its fork.
    pub waits: Sum,
}

/// CPU time that the kernel spent on copying the process, nanoseconds.
pub fn copying_ns(code: &CodeSamples, symbols: &Symbols) -> u64 {
    let is_fork = |symbol: &Symbol| matches!(symbol.source.as_deref(), Some("fork" | "vfork" | "clone" | "clone3"));
    code.running_ns(symbols, |symbol| symbol.kind == CodeKind::Kernel && is_fork(symbol))
}

impl Fold for Forks {
    fn forked(&mut self, by: Tid, at: Time) {
        self.count += 1;
        lately::push(&mut self.forks, (by, at), FORKS_MAX);
    }

    /// If the awaited thread was forking the process, counts the wait until the kernel reported the fork, which is
    /// then nearly done. While samples find the thread in the program's own code, or the host has its CPU, it does
    /// not fork, whatever it does later.
    fn pause(&mut self, blamed: &BlamedPause, _: &Past<'_>) {
        if blamed.pause.quality == PauseQuality::Partial {
            return;
        }
        let pause = &blamed.pause;
        let Some(requested) = pause.requested else { return };
        let until = pause.stopped.plus(FORK_POSTED_NS);
        let copying = |piece: &&CausePiece| {
            let by = |fork: &(Tid, Time)| {
                Some(fork.0) == piece.tid && fork.1 >= piece.from && (requested..=until).contains(&fork.1)
            };
            !matches!(piece.cause, Cause::LateSafepoint | Cause::HostSteal)
                && piece.to <= pause.stopped
                && self.forks.iter().any(by)
        };
        let ns: u64 = blamed.causes.iter().filter(copying).map(CausePiece::ns).sum();
        if ns > 0 {
            self.waits.add((requested, pause.stopped), ns);
        }
    }

    fn result(&mut self, end: &End<'_>, results: &mut Results) {
        results.forks = end.kernel.then(|| results::Forks {
            count: self.count,
            waited_ns: self.waits.ns,
            copying_ns: end.code.map(|code| copying_ns(code, &end.context.symbols)),
        });
    }
}
