//! Live: the memory of running Haskell programs, read by the real program from outside, on
//! every GHC. Owns the article's program in its two forms, of which it is known what lives.

#![forbid(unsafe_code)]

use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use xtask::missing;
use xtask::toolchain::{Spec, Toolchain, cache};

/// A list of byte strings, then a tenth of it: every tenth, or the first. It says when it
/// has collected, and waits for a line.
const PINNED: &str = r#"{-# LANGUAGE BangPatterns #-}
module Main (main) where

import qualified Data.ByteString as BS
import System.Environment (getArgs)
import System.IO
import System.Mem (performGC)

main :: IO ()
main = do
  hSetBuffering stdout LineBuffering
  (way : count : _) <- getArgs
  let n = read count :: Int
      !superset = forced (take n [BS.replicate 8 x | x <- cycle [minBound .. maxBound]])
  settle "all"
  let !subset = forced (if way == "take" then take (n `div` 10) superset
                        else [x | (x, 1) <- zip superset (cycle [1 .. 10 :: Int])])
  settle "some"
  print (sum (map BS.length subset))

forced :: [BS.ByteString] -> [BS.ByteString]
forced list = foldr seq list list

settle :: String -> IO ()
settle name = do
  mapM_ (const performGC) [1 .. 3 :: Int]
  putStrLn name
  _ <- getLine
  return ()
"#;

const COUNT: u64 = 200_000;

struct Ground {
    toolchain: Toolchain,
    folder: tempfile::TempDir,
}

impl Ground {
    fn of(name: &str) -> Option<Ground> {
        let Some(toolchain) = Spec::find(name).unwrap().installed(&cache()) else {
            missing(&format!("{name}: `cargo xtask toolchains --only {name}`"));
            return None;
        };
        Some(Ground { toolchain, folder: tempfile::tempdir().unwrap() })
    }

    fn build(&self, name: &str, flags: &[&str]) -> PathBuf {
        std::fs::write(self.folder.path().join("Main.hs"), PINNED).unwrap();
        let output = self.folder.path().join(name);
        self.toolchain.compile(&[self.folder.path()], flags, &output).unwrap();
        output
    }

    fn start(&self, program: &OsStr, arguments: &[&str]) -> Running {
        let mut command = self.toolchain.command(program, self.folder.path(), &[self.folder.path()]);
        let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Running { child, input, output }
    }
}

struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn go_on(&mut self) {
        self.input.write_all(b"\n").unwrap();
    }

    fn heap(&self, options: &[&str]) -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_rtscope"))
            .args(["heap", "--json", &self.child.id().to_string()])
            .args(options)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn ends(mut self, with: &str) {
        assert_eq!(self.line(), with);
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn figure(of: &Value, key: &str) -> f64 {
    of.pointer(key).and_then(Value::as_f64).unwrap_or_else(|| panic!("{key} in {of:#}"))
}

/// What has to be true of any heap.
fn adds_up(heap: &Value) {
    let (rss, unexplained) = (figure(heap, "/rss_bytes"), figure(heap, "/unexplained_bytes"));
    assert!(unexplained.abs() <= 0.03 * rss, "{unexplained} of {rss} are not explained");
    assert_eq!(heap["contradictions"], 0);
    // The runtime's own counts: megablocks, and blocks that are not on a free list.
    assert_eq!(figure(heap, "/heap_bytes"), figure(heap, "/runtime/megablocks") * 1_048_576.0);
    let kinds = heap["kinds"].as_array().unwrap();
    let used = kinds.iter().filter(|kind| {
        !["free", "free megablock", "descriptors", "returned"].contains(&kind["kind"].as_str().unwrap())
    });
    let used: f64 = used.map(|kind| figure(kind, "/blocks")).sum();
    let counted = figure(heap, "/runtime/allocated_blocks");
    assert!((used - counted).abs() <= 0.01 * counted + 16.0, "{used} blocks, the runtime says {counted}");
    let nursery: f64 = kinds.iter().filter(|kind| kind["kind"] == "nursery").map(|kind| figure(kind, "/blocks")).sum();
    let said = figure(heap, "/runtime/nursery_blocks");
    // Blocks that a capability keeps for pinned objects look the same.
    assert!(nursery >= said && nursery - said <= 64.0 * 8.0, "{nursery} blocks of nurseries, the runtime says {said}");
}

fn live_objects(heap: &Value, expected: u64) {
    let (live, expected) = (figure(heap, "/pinned/live_objects"), expected as f64);
    // Some dozens are the runtime's own: buffers of handles, tables of the event manager.
    assert!((0.0..=0.001 * expected + 80.0).contains(&(live - expected)), "{live} alive, {expected} expected");
}

fn what_lives_is_told(name: &str) {
    let Some(ground) = Ground::of(name) else { return };
    for (program, flags) in [("plain", &[][..]), ("threaded", &["-threaded"])] {
        let program = ground.build(program, flags);
        let mut shares = Vec::new();
        for way in ["strip", "take"] {
            let count = COUNT.to_string();
            let more = if flags.is_empty() { &[][..] } else { &["+RTS", "-N4"] };
            let mut running = ground.start(program.as_os_str(), &[&[way, &count], more].concat());
            assert_eq!(running.line(), "all");
            let heap = running.heap(&[]);
            adds_up(&heap);
            live_objects(&heap, COUNT);
            running.go_on();
            assert_eq!(running.line(), "some");
            for options in [&[][..], &["--stop", "--max-stop", "10s"]] {
                let heap = running.heap(options);
                adds_up(&heap);
                live_objects(&heap, COUNT / 10);
                assert_eq!(figure(&heap, "/stop_ns") > 0.0, !options.is_empty());
                let names: Vec<_> =
                    heap["holders"].as_array().unwrap().iter().map(|holder| holder["name"].to_string()).collect();
                assert!(names.iter().any(|name| name.contains("PlainPtr")), "{names:?}");
                shares.push(figure(&heap, "/pinned/live_bytes") / figure(&heap, "/pinned/used_bytes"));
            }
            running.go_on();
            running.ends(&(COUNT / 10 * 8).to_string());
        }
        // Every tenth keeps nearly all blocks, the first tenth only its own.
        assert!(shares[..2].iter().all(|share| (0.08..0.14).contains(share)), "{shares:?}");
        assert!(shares[2..].iter().all(|share| *share > 0.8), "{shares:?}");
    }
}

#[test]
fn live_9_0_what_lives_is_told() {
    what_lives_is_told("ghc-9.0");
}

#[test]
fn live_9_6_what_lives_is_told() {
    what_lives_is_told("ghc-9.6");
}

#[test]
fn live_9_10_what_lives_is_told() {
    what_lives_is_told("ghc-9.10");
}
