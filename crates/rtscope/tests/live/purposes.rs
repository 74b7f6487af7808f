//! Live: the purpose of every function of each tested runtime is known.

use rtscope_host::symbols;
use xtask::cache::cache;
use xtask::missing;
use xtask::toolchain::{Spec, Toolchain};

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
