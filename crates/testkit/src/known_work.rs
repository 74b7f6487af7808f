//! Programs of which it is known what the runtime works for: samples say it (`docs/purposes.md`). Owns how many misses are
//! forgiven.

use crate::truth::ground;
use xtask::purposes::{Claim, Pair, Scored, WITH_MIN, claims};
use xtask::runner::Runner;
use xtask::toolchain::Toolchain;
use xtask::workload::Language;

/// As with workloads of known truth, one run may miss: so many that follow have to hit then.
const NEXT: usize = 2;

/// So much work is judged. A pause is hit by a sample or not, so a second of work in pauses of a millisecond is known to 2 or
/// 3 %, and a third of that to 5 % only, which is the bound; the kernel tells its part of CPU time by some 250 ticks a second.
const WORK_MIN_NS: f64 = 1.5e9;

/// In so many pairs of runs it has to be there.
const PAIRS_MAX: usize = 8;

/// The turns of a pair against those of the one before it, at least and at most.
const GROWS: (f64, f64) = (0.5, 8.0);

/// Asserts that each kind of the language's known work has its purpose, of those that `judges` takes.
pub fn has_its_purpose(toolchain: &str, language: Language, judges: impl Fn(&str) -> bool) {
    let Some((runner, toolchain)) = ground(toolchain) else { return };
    for claim in claims(language).unwrap().into_iter().filter(|claim| judges(&claim.kind)) {
        // A quarter of what is measured elsewhere, and then what that lacks on a machine that is fast.
        let mut claim = Claim { turns: claim.turns.div_ceil(4), ..claim.drawn(1) };
        let mut holds = || {
            let scored = enough(&runner, &toolchain, language, &mut claim);
            println!("{} {}: {:.3} right: {scored:?}", scored.runtime, claim.kind, scored.right());
            scored.right() >= claim.held_to && scored.with_purpose >= WITH_MIN
        };
        let holds = holds() || (0..NEXT).all(|_| holds());
        assert!(holds, "{} on {}", claim.kind, toolchain.name);
    }
}

/// Pairs of runs, added up until their work is enough to be judged. The turns follow what is missing.
fn enough(runner: &Runner, toolchain: &Toolchain, language: Language, claim: &mut Claim) -> Scored {
    let mut sum: Option<Scored> = None;
    for _ in 0..PAIRS_MAX {
        let next = Pair { runner, toolchain, language, claim }.scored().unwrap();
        let work_ns = next.known_ns;
        let so_far = match sum {
            Some(sum) => sum.and(next),
            None => next,
        };
        let missing_ns = WORK_MIN_NS - so_far.known_ns;
        if missing_ns <= 0.0 {
            return so_far;
        }
        // A short pair may take no longer than the one without the work.
        let grows = (missing_ns / work_ns.max(1.0)).clamp(GROWS.0, GROWS.1);
        claim.turns = (claim.turns as f64 * grows).ceil() as u64;
        sum = Some(so_far);
    }
    panic!("{} on {} takes no time", claim.kind, toolchain.name);
}
