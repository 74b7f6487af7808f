//! Programs of which it is known what the runtime works for: samples say it (`docs/purposes.md`). Owns how many misses are
//! forgiven.

use crate::truth::ground;
use xtask::purposes::{Claim, Pair, WITH_MIN, claims};
use xtask::workload::Language;

/// As with workloads of known truth, one run may miss: so many that follow have to hit then.
const NEXT: usize = 2;

/// Asserts that each kind of the language's known work has its purpose, of those that `judges` takes.
pub fn has_its_purpose(toolchain: &str, language: Language, judges: impl Fn(&str) -> bool) {
    let Some((runner, toolchain)) = ground(toolchain) else { return };
    for claim in claims(language).unwrap().into_iter().filter(|claim| judges(&claim.kind)) {
        // A quarter of what is measured elsewhere, and then what that lacks on a machine that is fast.
        let claim = Claim { turns: claim.turns.div_ceil(4), ..claim.drawn(1) };
        let holds = || {
            let pair = Pair { runner: &runner, toolchain: &toolchain, language, claim: &claim };
            let scored = pair.judged().unwrap();
            println!("{} {}: {:.3} right: {scored:?}", scored.runtime, claim.kind, scored.right());
            scored.right() >= claim.held_to && scored.with_purpose >= WITH_MIN
        };
        let holds = holds() || (0..NEXT).all(|_| holds());
        assert!(holds, "{} on {}", claim.kind, toolchain.name);
    }
}
