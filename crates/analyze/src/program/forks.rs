//! Copies that the program makes of its process, and what collections waited for a lane that was
//! making one. Owns these sums; refuses to name remedies.

use crate::basis::lately;
use crate::basis::sum::Sum;
use crate::folds::{End, Fold, Past};
use crate::kernel::code::CodeSamples;
use crate::results::{self, BlamedPause, Results};
use rtscope_model::{Cause, CausePiece, CodeKind, PauseQuality, Symbol, Symbols, Tid, Time};
use std::collections::VecDeque;

/// Copies of the process that are remembered.
const FORKS_MAX: usize = 1_024;
/// The wait of others may be over so much before the kernel says so, at most.
const FORK_POSTED_NS: u64 = 1_000_000;

#[derive(Default)]
pub struct Forks {
    forks: VecDeque<(Tid, Time)>,
    /// Copies of the process.
    pub count: u64,
    /// Waits for a lane that made one.
    pub waits: Sum,
}

/// CPU time in the kernel's copying of a process.
pub fn copying_ns(code: &CodeSamples, symbols: &Symbols) -> u64 {
    let door = |symbol: &Symbol| matches!(symbol.source.as_deref(), Some("fork" | "vfork" | "clone" | "clone3"));
    code.running_ns(symbols, |symbol| symbol.kind == CodeKind::Kernel && door(symbol))
}

impl Fold for Forks {
    fn forked(&mut self, by: Tid, at: Time) {
        self.count += 1;
        lately::push(&mut self.forks, (by, at), FORKS_MAX);
    }

    /// The thread that was waited for was making a copy of the process: what it was waited
    /// for until the kernel said that this is nearly done. While samples find it in code of the
    /// program's own, or the host has its CPU, it makes none, whatever it does after that.
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
