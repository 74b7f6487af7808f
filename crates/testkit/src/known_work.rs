//! Checks programs whose runtime work is known against the samples (`docs/purposes.md`). Owns the number
//! of allowed misses.

use crate::truth::ground;
use xtask::purposes::{Claim, Pair, WITH_MIN, claims};
use xtask::workload::Language;

/// As with workloads of known truth, one run may miss: then this many further runs have to hit.
const NEXT: usize = 2;

/// Asserts that each kind of the language's known work that `judges` selects gets its purpose.
pub fn has_its_purpose(toolchain: &str, language: Language, judges: impl Fn(&str) -> bool) {
    let Some((runner, toolchain)) = ground(toolchain) else { return };
    for claim in claims(language).unwrap().into_iter().filter(|claim| judges(&claim.kind)) {
        // A quarter of the turns measured elsewhere, then more if a fast machine finishes too soon.
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
