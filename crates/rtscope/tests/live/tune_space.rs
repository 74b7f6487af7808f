//! Live: what can be tried on real programs of every GHC and OCaml, what their runtimes say to incompatible
//! flags, and that a configuration reaches the program. The programs of other trees are linked to find their
//! libraries on this machine, so that they are inspected and started as a user's are.

use testkit::ground;

use ground::{at_home, scratch};
use rtscope_host::probe::{Probed, Start, probe};
use rtscope_lab::tune::space::{Gathered, gather, json, text};
use rtscope_terminal::style::Style;
use rtscope_tune::options::{By, refusal};
use rtscope_tune::plan::Goal;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use xtask::cache::cache;
use xtask::missing;
use xtask::toolchain::{Spec, Toolchain};

/// Prints how many workers it has, and its arguments.
const HASKELL: &str = "import Control.Concurrent\nimport System.Environment\nmain :: IO ()\n\
                       main = getNumCapabilities >>= print >> getArgs >>= mapM_ putStrLn\n";

/// Prints the number of domains it was given, and its parameters.
const OCAML: &str =
    "let () = Printf.printf \"%s %d %d\\n\" Sys.argv.(1) (Gc.get ()).minor_heap_size (Gc.get ()).space_overhead\n";

fn toolchain(name: &str) -> Option<Toolchain> {
    let found = Spec::find(name).unwrap().installed(&cache());
    if found.is_none() {
        missing(&format!("{name}: `cargo xtask toolchains --only {name}`"));
    }
    found
}

fn command(program: &Path, words: &[&str]) -> Vec<OsString> {
    std::iter::once(program.into()).chain(words.iter().map(OsString::from)).collect()
}

fn gathered(program: &Path, words: &[&str]) -> Gathered {
    gather(&command(program, words), Goal::Latency, false).unwrap()
}

/// What the runtime says to `flags`; `None`: it takes them.
fn said(program: &Path, flags: &str) -> Option<String> {
    let set = vec![("GHCRTS".to_owned(), flags.to_owned())];
    let start = Start { argv: command(program, &[]), set, cpus: None, patience: Duration::from_secs(60) };
    match probe(&start).unwrap() {
        Probed::Runs => None,
        Probed::Ended { stderr, .. } => Some(refusal::sentence(&stderr).unwrap()),
    }
}

/// What the program prints under a configuration.
fn printed(gathered: &Gathered, configuration: &str) -> String {
    let setup = gathered.frame.setup(configuration);
    let done = Command::new(&setup.argv[0]).args(&setup.argv[1..]).envs(setup.set).output().unwrap();
    assert!(done.status.success(), "{configuration}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn haskell(name: &str) {
    let Some(toolchain) = toolchain(name) else { return };
    let folder = scratch();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("Main.hs"), HASKELL).unwrap();
    let home = at_home(&toolchain).map(|option| format!("-optl{option}"));
    let make = |name: &str, flags: &[&str]| {
        let path = folder.path().join(name);
        let flags: Vec<&str> = flags.iter().copied().chain(home.as_deref()).collect();
        toolchain.compile(&[&source], &flags, &path).unwrap();
        path
    };
    let all = make("all", &["-threaded", "-rtsopts=all"]);
    runtime_agrees_with_the_rules(&all);
    runtime_takes_what_is_offered(&all);
    runtime_is_heard(&all);
    let some = make("some", &["-threaded", "-rtsopts=some"]);
    assert!(said(&some, "-A4m").unwrap().contains("RTS options are disabled"));
    assert!(said(&some, "-N4000").unwrap().contains("Using large values for -N is not allowed"));
    let mut offered = gathered(&some, &[]);
    offered.ask().unwrap();
    assert!(offered.offer.rejected.iter().all(|rejected| rejected.by == By::Rule), "{:?}", offered.offer.rejected);
    assert!(offered.offer.settings.iter().any(|setting| setting.name == "--nonmoving-gc"));
    let plain = make("plain", &["-rtsopts=all"]);
    assert!(said(&plain, "-N2").unwrap().ends_with("requires the program to be built with -threaded"));
    let mut offered = gathered(&plain, &[]);
    offered.ask().unwrap();
    assert!(offered.offer.rejected.iter().all(|rejected| rejected.by == By::Rule), "{:?}", offered.offer.rejected);
    let none = make("none", &["-threaded", "-rtsopts=none"]);
    let mut offered = gathered(&none, &[]);
    offered.ask().unwrap();
    let shown = text(&offered, &Style::plain(100));
    assert!(shown.contains("linked with -rtsopts=none") && shown.contains("relink    -rtsopts=all"), "{shown}");
    assert!(shown.contains("started once") && !shown.contains("vary      -"), "{shown}");
}

/// Rules that quote the runtime agree with it.
fn runtime_agrees_with_the_rules(program: &Path) {
    assert_eq!(
        said(program, "-c --nonmoving-gc").unwrap(),
        "The non-moving collector cannot be used in conjunction with the compacting collector."
    );
    assert_eq!(said(program, "-G1 --nonmoving-gc").unwrap(), "The non-moving collector doesn't support -G1");
    assert!(said(program, "-A1k").unwrap().starts_with("error in RTS option -A1k: size outside allowed range"));
    for fine in ["-G1 -c", "-N1 -qg", "-N2 -qn4", "-A4m -n8m", "--nonmoving-gc -G3"] {
        assert_eq!(said(program, fine), None, "{fine}");
    }
}

fn runtime_takes_what_is_offered(program: &Path) {
    let mut offered = gathered(program, &["a b"]);
    offered.ask().unwrap();
    let offer = &offered.offer;
    assert!(offer.rejected.iter().all(|rejected| rejected.by == By::Rule), "{:?}", offer.rejected);
    assert!(offer.plan.is_some() && offer.space().is_ok() && offered.asked.unwrap() > 20);
    let pair = offer.rejected.iter().find(|rejected| rejected.words == ["--nonmoving-gc", "-c"]).unwrap();
    assert!(pair.why.contains("either compacted or not moved"));
    assert_eq!(printed(&offered, ""), "1\na b\n");
    assert_eq!(printed(&offered, "-N2 -qg -A64m"), "2\na b\n");
    let (shown, document) = (text(&offered, &Style::plain(100)), json(&offered));
    assert!(shown.contains("left out  --nonmoving-gc -G1") && shown.contains("vary      -N"), "{shown}");
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["configurations"].as_array().unwrap().len(), offer.configurations.len());
    assert_eq!(document["schema"], "rtscope/space/1");
}

/// What no rule knows is learnt before the first trial.
fn runtime_is_heard(program: &Path) {
    let mut offered = gathered(program, &[]);
    let nursery = offered.offer.settings.iter_mut().find(|setting| setting.name == "-A").unwrap();
    nursery.levels.push("-A1k".to_owned());
    offered.offer.configurations.push(vec!["-A1k".to_owned(), "-qg".to_owned()]);
    offered.ask().unwrap();
    let learnt: Vec<_> = offered.offer.rejected.iter().filter(|rejected| rejected.by == By::Probe).collect();
    assert_eq!((learnt.len(), learnt[0].words.as_slice()), (1, &["-A1k".to_owned()][..]));
    assert!(offered.offer.configurations.iter().all(|words| !words.contains(&"-A1k".to_owned())));
    let shown = text(&offered, &Style::plain(100));
    assert!(shown.contains("refused   -A1k\n          The runtime said: Error in RTS option -A1k"), "{shown}");
}

#[test]
fn live_space_of_ghc_9_0() {
    haskell("ghc-9.0");
}

#[test]
fn live_space_of_ghc_9_6() {
    haskell("ghc-9.6");
}

#[test]
fn live_space_of_ghc_9_10() {
    haskell("ghc-9.10");
}

fn ocaml(name: &str) {
    let Some(toolchain) = toolchain(name) else { return };
    let folder = scratch();
    fs::write(folder.path().join("main.ml"), OCAML).unwrap();
    let mut make = toolchain.command(OsStr::new("ocamlopt"), folder.path(), &[folder.path()]);
    if let Some(home) = at_home(&toolchain) {
        make.args(["-ccopt", &home]);
    }
    let done = make.args(["main.ml", "-o", "main"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let program = folder.path().join("main");
    let mut offered = gathered(&program, &["{domains:4}"]);
    offered.ask().unwrap();
    assert_eq!(offered.asked, Some(1));
    let domains = offered.offer.settings.iter().find(|setting| setting.name == "domains").unwrap();
    assert_eq!(domains.today.as_deref(), Some("domains=4"));
    assert_eq!(printed(&offered, ""), format!("4 {} 120\n", 256 << 10));
    assert_eq!(printed(&offered, "domains=2 s=8M o=80"), format!("2 {} 80\n", 8 << 20));
    let shown = text(&offered, &Style::plain(100));
    assert!(shown.contains("(today s=256k)") && shown.contains("(today o=120)"), "{shown}");
    // It fails for lack of its argument.
    let error = gathered(&program, &[]).ask().unwrap_err().to_string();
    assert!(error.contains("does not run") && error.contains("index out of bounds"), "{error}");
}

#[test]
fn live_space_of_ocaml_5_3() {
    ocaml("ghc-9.6");
}

#[test]
fn live_space_of_ocaml_5_4() {
    ocaml("ghc-9.10");
}
