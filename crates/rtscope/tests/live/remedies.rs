//! Live: what remedies print is pasted: the program starts with it, relinked if it says so, and does what it did.
//! What a link is said to let through is checked with programs. Owns programs that have something to remedy.

use testkit::ground;

use ground::{at_home, scratch, stderr};
use rtscope_model::options::AtLink;
use rtscope_model::runtimes::GHC;
use rtscope_model::{Link, Rtsopts};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use xtask::cache::cache;
use xtask::missing;
use xtask::toolchain::{ALL, Spec, Toolchain};

/// Collects all the time, as its allocation area is too small, and keeps much of what it makes.
const HASKELL: &str = r#"module Main (main) where
import Control.Concurrent
import Control.Monad
import Data.IORef
import Data.Maybe (listToMaybe)
import System.Environment (getArgs)

work :: Int -> Int -> IO Int
work rounds from = do
  kept <- newIORef []
  sums <- forM [from .. from + rounds] $ \at -> do
    let made = reverse [at .. at + 200]
    when (at `mod` 4 == 0) (modifyIORef' kept (take 500 . (made :)))
    pure $! sum made
  held <- readIORef kept
  pure $! sum sums + sum (map length held)

main :: IO ()
main = do
  rounds <- maybe 20000 read . listToMaybe <$> getArgs
  done <- forM [0, 10000] $ \from -> do
    box <- newEmptyMVar
    _ <- forkIO (work rounds from >>= putMVar box)
    pure box
  mapM takeMVar done >>= print . sum
"#;

/// One domain: others on its CPU cannot delay it by keeping it from stopping another domain.
const OCAML: &str = r#"let work from =
  let kept = ref [] and sum = ref 0 in
  for at = from to from + 80000 do
    let made = List.init 200 (fun more -> at + more) in
    if at mod 20 = 0 then kept := made :: !kept;
    sum := !sum + List.hd made
  done;
  !sum + List.length !kept

let () = Printf.printf "%d\n" (work 0)
"#;

/// What the program with remedies was linked with.
const LINKED_IN: &str = "-N2 -A64k -T";

/// Every option that a rule recommends.
const OPTIONS: [&str; 14] = [
    "-N1",
    "-A64m",
    "-H64m",
    "-M512m",
    "-qg",
    "-qg1",
    "-qn2",
    "-I0",
    "-Iw60",
    "-F1.2",
    "-F4",
    "-c",
    "--nonmoving-gc",
    "--disable-delayed-os-memory-return",
];

/// Options that some compiler lets through by default, and that are not in the list of what all of them let through.
const LATER: [&str; 7] = [
    "-xns",
    "--copying-gc",
    "--no-automatic-heap-samples",
    "--no-automatic-time-samples",
    "--eventlog-flush-interval=1",
    "--nonmoving-dense-allocator-count=4",
    "--info",
];

/// A program's source, compiled in whatever way.
struct Made {
    toolchain: Toolchain,
    folder: TempDir,
    home: Option<String>,
}

impl Made {
    fn haskell(toolchain: Toolchain) -> Made {
        let folder = scratch();
        let home = at_home(&toolchain).map(|option| format!("-optl{option}"));
        fs::create_dir(folder.path().join("source")).unwrap();
        fs::write(folder.path().join("source/Main.hs"), HASKELL).unwrap();
        Made { toolchain, folder, home }
    }

    fn link(&self, name: &str, flags: &[&str]) -> PathBuf {
        let program = self.folder.path().join(name);
        let flags: Vec<&str> = flags.iter().copied().chain(self.home.as_deref()).collect();
        self.toolchain.compile(&[&self.folder.path().join("source")], &flags, &program).unwrap();
        program
    }
}

fn toolchain(name: &str) -> Option<Toolchain> {
    let found = Spec::find(name).unwrap().installed(&cache());
    if found.is_none() {
        missing(&format!("{name}: `cargo xtask toolchains --only {name}`"));
    }
    found
}

/// A command without runtime options from this test's environment.
fn clean(program: &Path) -> Command {
    let mut command = Command::new(program);
    for name in ["GHCRTS", "OCAMLRUNPARAM", "CAMLRUNPARAM"] {
        command.env_remove(name);
    }
    command
}

fn shell(line: &str) -> Output {
    clean(Path::new("sh")).args(["-c", line]).output().unwrap()
}

/// The lines to paste from a report, over all findings, on the program recorded with `variables`.
fn printed(program: &Path, variables: &[(&str, &str)]) -> Vec<String> {
    let capture = program.with_extension("rtscope");
    let mut command = clean(Path::new(testkit::rtscope()));
    command.envs(variables.iter().copied()).arg("record").arg("-o").arg(&capture).arg("--").arg(program);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let report = ground::reported(&capture);
    let findings = report["findings"].as_array().unwrap();
    let remedies = findings.iter().flat_map(|finding| finding["remedies"].as_array().unwrap());
    remedies.filter_map(|remedy| remedy["flag"].as_str().map(str::to_owned)).collect()
}

/// Words as in a package's description: those in quotes are one.
fn words(field: &str) -> Vec<&str> {
    let pieces = field.split('"').enumerate();
    let words = pieces.flat_map(|(at, piece)| match at % 2 {
        0 => piece.split_ascii_whitespace().collect(),
        _ => vec![piece],
    });
    words.collect()
}

/// Starts the program with a line that a report printed; `None`: the line is not for the runtime.
fn pasted(made: &Made, program: &Path, link: &[&str], line: &str) -> Option<Output> {
    if let Some(field) = line.strip_prefix("ghc-options: ") {
        let anew = made.link("anew", &[link, &words(field)].concat());
        return Some(clean(&anew).output().unwrap());
    }
    if line.starts_with("GHCRTS=") {
        return Some(shell(&format!("{line} {}", program.display())));
    }
    let words = line.strip_prefix("+RTS ")?;
    Some(clean(program).arg("+RTS").args(words.split(' ')).output().unwrap())
}

/// Every line that is printed for the program with that link starts it. Lines for the runtime begin with
/// `begin`, unless the link lets them through.
fn starts_with_all_that_is_printed(made: &Made, rtsopts: &str, begin: &str) {
    let link = ["-threaded", &format!("-rtsopts={rtsopts}"), &format!("-with-rtsopts={LINKED_IN}")];
    let program = made.link(rtsopts, &link);
    let expected = clean(&program).output().unwrap();
    assert!(expected.status.success(), "{}", stderr(&expected));
    let lines = printed(&program, &[]);
    assert!(lines.iter().any(|line| line.starts_with(begin)), "-rtsopts={rtsopts}: {lines:?}");
    for line in &lines {
        let Some(done) = pasted(made, &program, &link, line) else { continue };
        let on = format!("{line} on {}, -rtsopts={rtsopts}: {}", made.toolchain.name, stderr(&done));
        assert!(done.status.success() && done.stderr.is_empty(), "{on}");
        assert_eq!(done.stdout, expected.stdout, "{on}");
        let kept = LINKED_IN.split(' ').filter(|word| line.contains(word)).count();
        assert!(!line.starts_with("ghc-options: ") || kept >= 2, "what is linked in stays: {line}");
    }
}

fn a_haskell_program_starts_with_what_is_printed(ghc: &str) {
    let Some(toolchain) = toolchain(ghc) else { return };
    let made = Made::haskell(toolchain);
    starts_with_all_that_is_printed(&made, "some", "ghc-options: ");
    starts_with_all_that_is_printed(&made, "all", "+RTS ");
    starts_with_all_that_is_printed(&made, "ignore", "GHCRTS=");
}

fn a_link_lets_through_what_is_described(ghc: &str) {
    let Some(toolchain) = toolchain(ghc) else { return };
    let at: AtLink = GHC.spelling.link.unwrap();
    let made = Made::haskell(toolchain);
    for (threaded, way) in [(true, &["-threaded"][..]), (false, &[])] {
        for rtsopts in [Rtsopts::Some, Rtsopts::All] {
            let name = format!("{}-{threaded}", rtsopts.name());
            let program = made.link(&name, &[way, &[&format!("-rtsopts={}", rtsopts.name())]].concat());
            let link = Link { version: None, threaded: Some(threaded), rtsopts: Some(rtsopts) };
            for word in OPTIONS {
                let done = clean(&program).args(["1", "+RTS", word]).output().unwrap();
                let refused = (at.refusal)(&link, word).is_some();
                assert_eq!(refused, !done.status.success(), "{word}: {name} on {ghc}");
            }
            for word in OPTIONS.into_iter().chain(LATER).filter(|_| rtsopts == Rtsopts::Some) {
                let starts = clean(&program).args(["1", "+RTS", word]).output().unwrap().status.success();
                assert!(!(starts && (at.proven)(&[word])), "{word} starts {name} on {ghc}: it proves nothing");
            }
        }
    }
}

#[test]
fn live_a_program_of_9_0_starts_with_what_is_printed() {
    a_haskell_program_starts_with_what_is_printed("ghc-9.0");
    a_link_lets_through_what_is_described("ghc-9.0");
}

#[test]
fn live_a_program_of_9_6_starts_with_what_is_printed() {
    a_haskell_program_starts_with_what_is_printed("ghc-9.6");
    a_link_lets_through_what_is_described("ghc-9.6");
}

#[test]
fn live_a_program_of_9_10_starts_with_what_is_printed() {
    a_haskell_program_starts_with_what_is_printed("ghc-9.10");
    a_link_lets_through_what_is_described("ghc-9.10");
}

#[test]
fn live_an_ocaml_program_starts_with_what_is_printed() {
    let mut there = ALL.iter().filter(|spec| spec.ocaml.is_some()).filter_map(|spec| spec.installed(&cache()));
    let Some(toolchain) = there.next() else { return missing("OCaml: `cargo xtask toolchains`") };
    let folder = scratch();
    fs::write(folder.path().join("main.ml"), OCAML).unwrap();
    let program = folder.path().join("program");
    let mut compiler = toolchain.command(OsStr::new("ocamlopt"), folder.path(), &[folder.path()]);
    compiler.args(["main.ml", "-o", "program"]);
    if let Some(home) = at_home(&toolchain) {
        compiler.args(["-ccopt", &home]);
    }
    let done = compiler.output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let expected = clean(&program).output().unwrap();
    let lines = printed(&program, &[("OCAMLRUNPARAM", "b,s=4k")]);
    let ours: Vec<_> = lines.iter().filter(|line| line.starts_with("OCAMLRUNPARAM=")).collect();
    assert!(!ours.is_empty(), "{lines:?}");
    for line in ours {
        let letters = line.trim_start_matches("OCAMLRUNPARAM=");
        assert!(letters.split(',').any(|letter| letter == "b"), "what was given stays: {line}");
        assert!(!letters.contains("e="), "what the recorder added is not said: {line}");
        let done = shell(&format!("{line} {}", program.display()));
        assert!(done.status.success() && done.stderr.is_empty(), "{line}: {}", stderr(&done));
        assert_eq!(done.stdout, expected.stdout, "{line}");
    }
}
