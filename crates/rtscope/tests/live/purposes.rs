//! Live: what every function of each tested runtime is for is known, and on programs whose collector's work is known
//! samples say it.

use testkit::ground;

use ground::{recorder, reported, said, scratch};
use rtscope_host::symbols;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs;
use xtask::cache::cache;
use xtask::missing;
use xtask::toolchain::{Spec, Toolchain};

/// Collections that scan a deep stack: with one generation each of them scans all of it.
const STACKS: &str = "module Main where
import qualified Data.Map.Strict as M
deep :: Int -> Int -> Int
deep 0 k = length (show (M.size (M.fromList [(i `mod` 1000, i) | i <- [1 .. k]])))
deep n k = 1 + deep (n - 1) k
{-# NOINLINE deep #-}
main :: IO ()
main = print (sum [deep 1000000 (2000000 + i) | i <- [1 .. 2]])
";

/// Arrays of an old generation that are changed between collections.
const ARRAYS: &str = "module Main where
import Control.Monad
import Data.Array.IO
main :: IO ()
main = do
  arrays <- forM [1 .. 2000 :: Int] (\\_ -> newArray (0, 1999) []) :: IO [IOArray Int [Int]]
  forM_ [1 .. 60 :: Int] $ \\j -> forM_ arrays $ \\a -> forM_ [0, 64 .. 1999] $ \\i -> writeArray a i [i + j]
";

/// Weak pointers whose keys stay alive: each collection goes over all of them.
const WEAK: &str = "module Main where
import Control.Monad
import Data.IORef
import System.Mem
import System.Mem.Weak
main :: IO ()
main = do
  keys <- forM [1 .. 200000 :: Int] newIORef
  weak <- forM keys (\\k -> mkWeakIORef k (return ()))
  forM_ [1 .. 40 :: Int] (\\_ -> performMinorGC >> performMajorGC)
  alive <- length <$> mapM deRefWeak weak
  total <- sum <$> mapM readIORef keys
  print (alive + total)
";

const TRANSACTIONS: &str = "module Main where
import Control.Monad
import GHC.Conc
main :: IO ()
main = do
  vars <- forM [1 .. 300 :: Int] newTVarIO
  forM_ [1 .. 8000 :: Int] $ \\_ -> atomically (forM_ vars (\\v -> readTVar v >>= \\x -> writeTVar v $! x + 1))
  mapM readTVarIO vars >>= print . sum
";

/// An old array of which each slot points to a young list.
const REMEMBERED: &str = "let () =
  let a = Array.make 1_000_000 [] in
  for j = 1 to 30 do
    for i = 0 to 999_999 do a.((i * 7919) mod 1_000_000) <- [i + j] done
  done;
  print_int (Array.length a)
";

const EPHEMERONS: &str = "let () =
  let keys = Array.init 200_000 (fun i -> ref i) in
  let all = Array.map (fun k -> Ephemeron.K1.make k (ref !k)) keys in
  for j = 1 to 25 do Gc.full_major (); ignore (Sys.opaque_identity (j, all)) done;
  print_int (Array.length keys)
";

const MARSHALLING: &str = "let () =
  let l = List.init 200_000 (fun i -> (i, string_of_int i)) in
  for _ = 1 to 25 do
    let s = Marshal.to_string l [] in
    ignore (Sys.opaque_identity (Marshal.from_string s 0 : (int * string) list))
  done
";

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

/// Sampled CPU time of the runtime's code: all of it, of it with a purpose, and of it with one of `purposes`.
fn sampled(capture: &Value, purposes: &[&str]) -> (f64, f64, f64) {
    let times = capture["code"]["purposes"].as_array().unwrap_or_else(|| panic!("no samples: {capture}"));
    let of = |is: &dyn Fn(&Value) -> bool| {
        let runtime = times.iter().filter(|time| time["kind"] == "runtime" && is(time));
        runtime.map(|time| time["ns"].as_f64().unwrap()).sum::<f64>()
    };
    let known = |time: &Value| time["purpose"].as_str().is_some_and(|id| purposes.contains(&id));
    (of(&|_| true), of(&|time| !time["purpose"].is_null()), of(&known))
}

/// Records `program`; at least `share` of its runtime's time is for one of `purposes`.
fn is_for(toolchain: &Toolchain, program: &OsStr, arguments: &[&str], purposes: &[&str], share: f64) {
    // Inside, the program writes its log at the same path.
    let own = std::path::Path::new(program).parent().unwrap();
    let capture = own.join("c");
    let mut words: Vec<OsString> = toolchain.enter(&[own]);
    words.push(program.to_owned());
    words.extend(arguments.iter().map(OsString::from));
    let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
    let output = recorder(&capture, &["--sample-code", "499"], &words).current_dir(own).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let report = reported(&capture);
    let (all, with, of_it) = sampled(&report, purposes);
    assert!(all >= 40.0 * 2e6, "too few samples: {}", report["code"]);
    let what = format!("{} on {}: {:#}", purposes.join("/"), toolchain.version, report["code"]["purposes"]);
    assert!(with >= 0.98 * all, "{with} of {all} has a purpose, {what}");
    assert!(of_it >= share * all, "{of_it} of {all}, {what}");
}

fn haskell(toolchain: &str) {
    let Some(toolchain) = installed(toolchain) else { return };
    for (name, source, arguments, purposes, share) in [
        ("stacks", STACKS, &["+RTS", "-G1", "-A1m"][..], &["stacks"][..], 0.8),
        ("arrays", ARRAYS, &["+RTS", "-A256k"], &["mutable-objects"], 0.8),
        // Beside them the keys are copied, and pointers to old ones remembered.
        ("weak", WEAK, &[], &["weak-pointers", "copying-old", "mutable-objects", "block-allocation"], 0.8),
        ("transactions", TRANSACTIONS, &[], &["transactions"], 0.8),
    ] {
        let folder = scratch();
        let (own, program) = (folder.path().join(name), folder.path().join("program"));
        fs::create_dir(&own).unwrap();
        fs::write(own.join("Main.hs"), source).unwrap();
        toolchain.compile(&[&own], &["-threaded"], &program).unwrap();
        is_for(&toolchain, program.as_os_str(), arguments, purposes, share);
    }
}

fn ocaml(toolchain: &str) {
    let Some(toolchain) = installed(toolchain) else { return };
    for (source, purposes, share) in [
        // The barrier and what is promoted go with it.
        (REMEMBERED, &["remembered-set", "write-barrier", "promotion", "marking", "sweeping"][..], 0.9),
        (EPHEMERONS, &["ephemerons", "marking", "sweeping"], 0.9),
        (MARSHALLING, &["marshalling"], 0.5),
    ] {
        let folder = scratch();
        let program = folder.path().join("program");
        fs::write(folder.path().join("main.ml"), source).unwrap();
        let mut compiler = toolchain.command("ocamlfind".as_ref(), folder.path(), &[folder.path()]);
        let compiled = compiler.args(["ocamlopt", "main.ml", "-o", "program"]).status().unwrap();
        assert!(compiled.success());
        is_for(&toolchain, program.as_os_str(), &[], purposes, share);
    }
}

#[test]
fn live_what_ghc_9_0_does_is_known() {
    haskell("ghc-9.0");
}

#[test]
fn live_what_ghc_9_6_does_is_known() {
    haskell("ghc-9.6");
}

#[test]
fn live_what_ghc_9_10_does_is_known() {
    haskell("ghc-9.10");
}

#[test]
fn live_what_ocaml_5_3_does_is_known() {
    ocaml("ghc-9.6");
}

#[test]
fn live_what_ocaml_5_4_does_is_known() {
    ocaml("ghc-9.10");
}
