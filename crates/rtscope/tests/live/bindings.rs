//! Live: programs linked with the libraries, by the compilers that rtscope is tested with. They start with the
//! plan, under a quota too, and whatever their user says wins.

use testkit::bindings;

use bindings::Bench;
use serde_json::{Value, json};
use xtask::missing;
use xtask::surroundings::QuotaGroup;

/// What the runtime was started with. Imports nothing of the package.
const FLAGS: &str = testkit::source!("haskell/own-flags/Main.hs");

/// What the package says.
const ASKS: &str =
    "import RtScope.Start\nmain :: IO ()\nmain = plan >>= \\p -> print (state p, workers p) >> print p\n";

/// What OCaml's runtime was started with, in the main domain and in another.
const ML: &str = testkit::source!("ocaml/own-parameters/main.ml");

const ML_ASKS: &str =
    "let () = Printf.printf \"%d\\n%s\" (Rtscope_start.domain_count ()) (Rtscope_start.plan ()).reasons";

fn half_a_cpu() -> Option<QuotaGroup> {
    QuotaGroup::new(0.5).map_err(|error| missing(&format!("a quota group: {error}"))).ok()
}

#[track_caller]
fn has(shown: &Value, wanted: Value) {
    for (key, value) in wanted.as_object().unwrap() {
        assert_eq!(&shown[key], value, "{key} in {shown}");
    }
}

fn haskell(name: &str, default_mib: f64) {
    let Some(bench) = Bench::of(name) else { return };
    bench.write("Flags.hs", FLAGS);
    bench.write("Asks.hs", ASKS);
    bench.build_haskell();
    for (program, flags) in [
        ("some", &["-threaded"][..]),
        ("none", &["-threaded", "-rtsopts=none"]),
        ("all", &["-threaded", "-rtsopts"]),
        ("with", &["-threaded", "-with-rtsopts=-N3 -A2m -qg"]),
        ("single", &["-rtsopts"]),
        ("dynamic", &["-threaded", "-dynamic"]),
    ] {
        bench.link_haskell("Flags.hs", flags, program);
    }
    bench.link_haskell("Asks.hs", &["-threaded", "-rtsopts"], "asks");
    follows_a_quota(&bench);
    follows_cores(&bench);
    user_wins(&bench, default_mib);
    says_what_it_does(&bench, default_mib);
}

fn follows_a_quota(bench: &Bench) {
    let Some(group) = half_a_cpu() else { return };
    for program in ["some", "none", "all"] {
        let shown = bench.figures(Some(&group), &[], &[program]);
        has(&shown, json!({"capabilities": 1, "nursery_mib": 16.0, "chunk_mib": 4.0}));
    }
    // Three capabilities are the user's choice; that one thread collects follows from them.
    let three = json!({"capabilities": 3, "parallel": false, "nursery_mib": 16.0});
    has(&bench.figures(Some(&group), &[], &["all", "+RTS", "-N3"]), three.clone());
    has(&bench.figures(Some(&group), &[("GHCRTS", "-N3")], &["all"]), three);
    has(&bench.figures(Some(&group), &[], &["with"]), json!({"capabilities": 3, "nursery_mib": 2.0, "chunk_mib": 0.0}));
    let shown = bench.figures(Some(&group), &[], &["all", "+RTS", "-N3", "-qn2"]);
    has(&shown, json!({"capabilities": 3, "parallel": true, "collectors": 2}));
    let done = bench.run(Some(&group), &[], &["asks"]);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.starts_with("(Started,1)\n") && text.contains("a quota of 0.5 CPUs in /sys/fs/cgroup"), "{text}");
}

fn follows_cores(bench: &Bench) {
    let processors = std::thread::available_parallelism().unwrap().get();
    let pair = bench.machine(1, 2);
    let on = |machine: &str, more: &[(&str, &str)], words: &[&str]| {
        bench.figures(None, &[&[("RTSCOPE_ROOT", machine)], more].concat(), words)
    };
    for program in ["some", "none"] {
        has(&on(&pair, &[], &[program]), json!({"capabilities": 1, "processors": processors}));
    }
    for flag in ["-N", "-maxN2"] {
        has(&on(&pair, &[], &["some", "+RTS", flag]), json!({"capabilities": 1, "processors": processors}));
    }
    has(&on(&pair, &[("GHCRTS", "-N")], &["some"]), json!({"capabilities": 1}));
    // As many as the kernel allows were accepted without the library, and still are.
    let largest = format!("-N{processors}");
    has(&on(&pair, &[], &["some", "+RTS", &largest]), json!({"capabilities": processors}));
    let throughput = [("RTSCOPE_GOAL", "throughput")];
    has(&on(&pair, &throughput, &["none"]), json!({"capabilities": 2, "parallel": false}));
    let four = bench.machine(4, 2);
    has(&on(&four, &[], &["none"]), json!({"capabilities": 4, "parallel": true, "collectors": 0, "balance_from": 1}));
    let eight = json!({"capabilities": 8, "parallel": true, "collectors": 4, "nursery_mib": 64.0, "balance_from": 0});
    has(&on(&four, &throughput, &["none"]), eight);
    has(&on(&four, &throughput, &["all", "+RTS", "-qn3"]), json!({"capabilities": 8, "collectors": 3}));
    has(&on(&four, &[], &["all", "+RTS", "-N"]), json!({"capabilities": 4}));
}

fn user_wins(bench: &Bench, default_mib: f64) {
    let with = |variables: &[(&str, &str)], words: &[&str]| bench.figures(None, variables, words);
    let flags = ["all", "+RTS", "-N1", "-A3m", "-n1m", "-qg"];
    has(&with(&[], &flags), json!({"capabilities": 1, "nursery_mib": 3.0, "chunk_mib": 1.0, "parallel": false}));
    // The runtime would take 4 MiB for -n with a nursery as large as the plan's.
    has(&with(&[], &["all", "+RTS", "-n1m"]), json!({"nursery_mib": default_mib, "chunk_mib": 1.0}));
    has(&with(&[], &["all", "+RTS", "-H64m"]), json!({"nursery_mib": default_mib}));
    // A fifth of the heap that the user allows bounds the nurseries.
    let bounded = with(&[], &["all", "+RTS", "-N2", "-M64m"]);
    has(&bounded, json!({"capabilities": 2, "nursery_mib": 4.0, "chunk_mib": 0.0}));
    has(&with(&[], &["all", "+RTS", "-N2", "-M8m", "-A2m"]), json!({"nursery_mib": 2.0}));
    has(&with(&[], &["all", "+RTS", "-N2", "-M8m"]), json!({"nursery_mib": 1.0}));
    has(&with(&[("RTSCOPE_GOAL", "memory")], &["none"]), json!({"nursery_mib": default_mib}));
    let untouched = json!({"capabilities": 1, "nursery_mib": default_mib, "chunk_mib": 0.0});
    has(&with(&[("RTSCOPE_PLAN", "off")], &["none"]), untouched);
}

fn says_what_it_does(bench: &Bench, default_mib: f64) {
    has(&bench.figures(None, &[], &["single"]), json!({"capabilities": 1, "nursery_mib": 16.0}));
    // Shared libraries keep the runtime's own hook to themselves.
    has(&bench.figures(None, &[], &["dynamic"]), json!({"capabilities": 1, "nursery_mib": default_mib}));
    let pair = bench.machine(1, 2);
    let said = |variables: &[(&str, &str)], words: &[&str]| {
        let variables = [&[("RTSCOPE_ROOT", pair.as_str())], variables].concat();
        String::from_utf8(bench.run(None, &variables, words).stdout).unwrap()
    };
    let text = said(&[], &["asks", "+RTS", "-A8m"]);
    for words in ["(Started,1)", "2 allowed CPUs on 1 physical core", "-N1", "-A16m", "given: -A8m, which stays"] {
        assert!(text.contains(words), "no `{words}` in {text}");
    }
    assert!(said(&[("RTSCOPE_PLAN", "off")], &["asks"]).contains("RTSCOPE_PLAN=off: the plan is not followed"));
    assert!(said(&[("RTSCOPE_GOAL", "speed")], &["asks"]).contains("RTSCOPE_GOAL is none of"));
    assert!(said(&[("RTSCOPE_GOAL", "throughput")], &["asks"]).contains("one thread collects"));
}

#[test]
fn live_haskell_programs_of_9_0_start_by_the_plan() {
    haskell("ghc-9.0", 1.0);
}

#[test]
fn live_haskell_programs_of_9_6_start_by_the_plan() {
    haskell("ghc-9.6", 4.0);
}

#[test]
fn live_haskell_programs_of_9_10_start_by_the_plan() {
    haskell("ghc-9.10", 4.0);
}

fn ocaml(name: &str) {
    let Some(bench) = Bench::of(name) else { return };
    bench.write("flags.ml", ML);
    bench.write("asks.ml", ML_ASKS);
    bench.build_ocaml();
    bench.link_ocaml("ocamlopt", "flags.ml", "flags");
    bench.link_ocaml("ocamlopt", "asks.ml", "asks");
    bench.link_ocaml("ocamlc", "flags.ml", "bytes");
    if let Some(group) = half_a_cpu() {
        has(
            &bench.figures(Some(&group), &[], &["flags"]),
            json!({"recommended": 1, "main": 1 << 20, "other": 1 << 20}),
        );
        let done = bench.run(Some(&group), &[], &["asks"]);
        let text = String::from_utf8(done.stdout).unwrap();
        assert!(text.starts_with("1\n") && text.contains("a quota of 0.5 CPUs in /sys/fs/cgroup"), "{text}");
        let off = bench.figures(Some(&group), &[("RTSCOPE_PLAN", "off")], &["flags"]);
        let processors = std::thread::available_parallelism().unwrap().get();
        has(&off, json!({"recommended": processors, "main": 256 << 10, "other": 256 << 10}));
    }
    let with = |variables: &[(&str, &str)]| bench.figures(None, variables, &["flags"]);
    let pair = bench.machine(1, 2);
    has(&with(&[("RTSCOPE_ROOT", &pair)]), json!({"recommended": 1, "main": 1 << 20, "o": 120, "environment": ""}));
    let users = with(&[("OCAMLRUNPARAM", "b,s=64k,o=77")]);
    has(&users, json!({"main": 64 << 10, "other": 64 << 10, "o": 77, "environment": "b,s=64k,o=77"}));
    has(&with(&[("CAMLRUNPARAM", "s=64k")]), json!({"main": 64 << 10, "environment": "s=64k"}));
    let memory = with(&[("RTSCOPE_GOAL", "memory"), ("OCAMLRUNPARAM", "s=32k")]);
    has(&memory, json!({"main": 32 << 10, "o": 80, "environment": "s=32k"}));
    // With `d` the user limits what is possible: the second domain fails, and one is recommended.
    has(&with(&[("OCAMLRUNPARAM", "d=1")]), json!({"recommended": 1, "other": 0}));
    let tight = bench.run(None, &[], &["/bin/sh", "-c", "ulimit -v 1000000 && exec ./flags"]);
    let shown: Value = serde_json::from_slice(&tight.stdout).unwrap();
    has(&shown, json!({"main": 256 << 10, "other": 256 << 10}));
    let library = bench.path("").into_os_string().into_string().unwrap();
    let bytes = bench.figures(None, &[("CAML_LD_LIBRARY_PATH", &library)], &["bytes"]);
    has(&bytes, json!({"main": 1 << 20, "environment": ""}));
}

#[test]
fn live_ocaml_programs_of_5_3_start_by_the_plan() {
    ocaml("ghc-9.6");
}

#[test]
fn live_ocaml_programs_of_5_4_start_by_the_plan() {
    ocaml("ghc-9.10");
}
