//! Programs of which it is known what the runtime works for: samples say it (`docs/purposes.md`). Owns how many misses are
//! forgiven.

use crate::truth::ground;
use xtask::purposes::{Claim, KNOWN_MIN_NS, Pair, Scored, WITH_MIN, claims};
use xtask::runner::Runner;
use xtask::toolchain::Toolchain;
use xtask::workload::Language;

/// As with workloads of known truth, one run may miss: so many that follow have to hit then.
const NEXT: usize = 2;

/// Of work in the kernel so much is judged at once: the kernel tells its part of CPU time by its ticks, 250 a second or so,
/// and half a second of it to some per cent only.
const BY_TICKS_MIN_NS: f64 = 1.5e9;

/// How often turns are doubled until the work is long enough to be judged.
const DOUBLED_MAX: u32 = 5;

/// Asserts that each kind of the language's known work has its purpose, of those that `judges` takes.
pub fn has_its_purpose(toolchain: &str, language: Language, judges: impl Fn(&str) -> bool) {
    let Some((runner, toolchain)) = ground(toolchain) else { return };
    for claim in claims(language).unwrap().into_iter().filter(|claim| judges(&claim.kind)) {
        // Half as long as where it is measured, unless the machine is too fast for that.
        let mut claim = Claim { turns: claim.turns.div_ceil(2), ..claim.drawn(1) };
        let mut holds = || {
            let scored = enough(&runner, &toolchain, language, &mut claim);
            println!("{} {}: {:.3} right: {scored:?}", scored.runtime, claim.kind, scored.right());
            scored.right() >= claim.held_to && scored.with_purpose >= WITH_MIN
        };
        let holds = holds() || (0..NEXT).all(|_| holds());
        assert!(holds, "{} on {}", claim.kind, toolchain.name);
    }
}

/// A pair of runs; of work that ticks tell, as many as it takes, added up.
fn enough(runner: &Runner, toolchain: &Toolchain, language: Language, claim: &mut Claim) -> Scored {
    let mut sum = scored(runner, toolchain, language, claim);
    while claim.door.is_some() && sum.known_ns < BY_TICKS_MIN_NS {
        let next = scored(runner, toolchain, language, claim);
        (sum.known_ns, sum.found_ns) = (sum.known_ns + next.known_ns, sum.found_ns + next.found_ns);
        (sum.samples, sum.with_purpose) = (sum.samples + next.samples, sum.with_purpose.min(next.with_purpose));
    }
    sum
}

/// A pair of runs whose work is long enough to be judged.
fn scored(runner: &Runner, toolchain: &Toolchain, language: Language, claim: &mut Claim) -> Scored {
    for _ in 0..DOUBLED_MAX {
        let scored = Pair { runner, toolchain, language, claim }.scored().unwrap();
        if scored.known_ns >= KNOWN_MIN_NS {
            return scored;
        }
        claim.turns *= 2;
    }
    panic!("{} on {} takes no time", claim.kind, toolchain.name);
}
