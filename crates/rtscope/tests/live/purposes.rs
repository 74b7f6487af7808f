//! Live: what every function of each tested runtime is for is known, and on programs whose runtime's work is known the
//! difference that this work makes has the purpose that it has to have.

use rtscope_host::symbols;
use testkit::truth::ground;
use xtask::cache::cache;
use xtask::missing;
use xtask::purposes::{Pair, RIGHT_MIN, WITH_MIN, claims};
use xtask::toolchain::{Spec, Toolchain};
use xtask::workload::Language;

/// As with workloads of known truth, one run may miss, beside others that take turns on its CPUs: so many that follow
/// have to hit then.
const NEXT: usize = 2;

fn installed(toolchain: &str) -> Option<Toolchain> {
    let found = Spec::find(toolchain).unwrap().installed(&cache());
    if found.is_none() {
        missing(&format!("a compiler: `cargo xtask toolchains --only {toolchain}`"));
    }
    found
}

/// Text symbols of the runtime's libraries, all ways.
fn functions(toolchain: &Toolchain, libraries: &str) -> Vec<String> {
    let list = format!("find /usr/lib \\( {libraries} \\) -exec nm --defined-only -f posix {{}} + 2>/dev/null");
    let output = toolchain.command("sh".as_ref(), "/".as_ref(), &[]).args(["-c", &list]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let function = |line: &str| {
        let mut fields = line.split(' ');
        let (name, kind) = (fields.next()?, fields.next()?);
        matches!(kind, "T" | "t" | "W" | "w" | "i").then(|| name.to_owned())
    };
    let mut functions: Vec<String> = text.lines().filter_map(function).collect();
    functions.sort();
    functions.dedup();
    functions
}

fn all_have_a_purpose(toolchain: &str, runtime: &str, libraries: &str) {
    let Some(toolchain) = installed(toolchain) else { return };
    let functions = functions(&toolchain, libraries);
    assert!(functions.len() > 1_000, "{} functions", functions.len());
    let without: Vec<_> = functions.iter().filter(|name| symbols::purpose(runtime, name).is_none()).collect();
    assert!(without.is_empty(), "{} of {}: {without:?}", without.len(), functions.len());
}

const GHC: &str = "-name 'libHSrts.a' -o -name 'libHSrts_*.a' -o -name 'libHSrts-*.a'";
const OCAML: &str = "-name 'libasmrun*.a' -o -name 'libcamlrun*.a' -o -name 'libunix*.a' -o -name 'libthreads*.a' \
                     -o -name 'libcamlstr*.a' -o -name 'libcamlruntime_events*.a'";

#[test]
fn live_each_function_of_ghc_9_0_has_a_purpose() {
    all_have_a_purpose("ghc-9.0", "ghc", GHC);
}

#[test]
fn live_each_function_of_ghc_9_6_has_a_purpose() {
    all_have_a_purpose("ghc-9.6", "ghc", GHC);
}

#[test]
fn live_each_function_of_ghc_9_10_has_a_purpose() {
    all_have_a_purpose("ghc-9.10", "ghc", GHC);
}

#[test]
fn live_each_function_of_ocaml_5_3_has_a_purpose() {
    all_have_a_purpose("ghc-9.6", "ocaml", OCAML);
}

#[test]
fn live_each_function_of_ocaml_5_4_has_a_purpose() {
    all_have_a_purpose("ghc-9.10", "ocaml", OCAML);
}

/// Whether each kind of the language's known work has its purpose.
fn known_work(toolchain: &str, language: Language) {
    let Some((runner, toolchain)) = ground(toolchain) else { return };
    for claim in claims(language).unwrap() {
        let claim = claim.drawn(1);
        let pair = Pair { runner: &runner, toolchain: &toolchain, language, claim: &claim };
        let holds = || {
            let scored = pair.scored().unwrap();
            println!("{} {}: {:.3} right: {scored:?}", scored.runtime, claim.kind, scored.right());
            scored.right() >= RIGHT_MIN && scored.with_purpose >= WITH_MIN
        };
        let holds = holds() || (0..NEXT).all(|_| holds());
        assert!(holds, "{} on {}", claim.kind, toolchain.name);
    }
}

#[test]
fn live_what_ghc_9_0_does_is_known() {
    known_work("ghc-9.0", Language::Haskell);
}

#[test]
fn live_what_ghc_9_6_does_is_known() {
    known_work("ghc-9.6", Language::Haskell);
}

#[test]
fn live_what_ghc_9_10_does_is_known() {
    known_work("ghc-9.10", Language::Haskell);
}

#[test]
fn live_what_ocaml_5_3_does_is_known() {
    known_work("ghc-9.6", Language::Ocaml);
}

#[test]
fn live_what_ocaml_5_4_does_is_known() {
    known_work("ghc-9.10", Language::Ocaml);
}
