//! Records one kind of work with and without it, and computes how much of it the samples attribute to its
//! purpose. Owns how that is scored.

use super::claims::{Claim, PROGRAM};
use crate::runner::Runner;
use crate::toolchain::Toolchain;
use crate::workload::{self, Language};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::process::Command;

/// Samples per second of each thread. Taking a sample costs CPU time, too, which the program measures and no
/// sample sees: a higher rate gives worse results.
const RATE: &str = "997";
/// Least work that is judged. A sample hits a pause or misses it, so a second of work in pauses of a
/// millisecond is known to 2 or 3 %, and a third of that only to 5 %.
const WORK_MIN_NS: f64 = 1.5e9;
/// Least work in the kernel. The program measures it by some 250 ticks per second: half as accurately.
const BY_TICKS_MIN_NS: f64 = 3e9;
/// Most pairs of runs to collect that much work.
const PAIRS_MAX: usize = 8;
/// Least and largest factor of a pair's turns over those of the previous pair.
const GROWS: (f64, f64) = (0.5, 8.0);

/// What is recorded.
#[derive(Debug)]
pub struct Pair<'a> {
    /// Records and reports.
    pub runner: &'a Runner,
    /// The compiler to use.
    pub toolchain: &'a Toolchain,
    /// The program's language.
    pub language: Language,
    /// The claim, in the size that is run.
    pub claim: &'a Claim,
}

/// The result; CPU times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scored {
    /// The runtime and its version.
    pub runtime: String,
    /// Samples in the runtime's code, in the run with the work.
    pub samples: u64,
    /// Share of the runtime's time that has a purpose.
    pub with_purpose: f64,
    /// The work: the difference of the collection times that the program measured.
    pub known_ns: f64,
    /// The difference of the sampled times with the expected purposes.
    pub found_ns: f64,
    /// The largest differences elsewhere, by name.
    pub elsewhere: Vec<(String, f64)>,
}

impl Scored {
    /// Share of the work that was attributed to its purpose. Time attributed in excess of the work is wrong,
    /// and counts as much as missing time.
    pub fn right(&self) -> f64 {
        (1.0 - (self.known_ns - self.found_ns).abs() / self.known_ns).max(0.0)
    }

    /// Adds the work of another pair. Differences elsewhere are those of the pair with most work.
    fn and(self, other: Scored) -> Scored {
        let (more, less) = if self.known_ns >= other.known_ns { (&self, &other) } else { (&other, &self) };
        Scored {
            samples: more.samples + less.samples,
            with_purpose: more.with_purpose.min(less.with_purpose),
            known_ns: more.known_ns + less.known_ns,
            found_ns: more.found_ns + less.found_ns,
            ..more.clone()
        }
    }
}

/// One run.
struct PairRun {
    /// CPU time that the program printed.
    cpu_ns: f64,
    runtime: String,
    period_ns: f64,
    /// CPU time of the runtime's code, and its part with a purpose.
    runtime_ns: f64,
    with_purpose_ns: f64,
    /// By purpose; other code by its owner.
    by_purpose: BTreeMap<String, f64>,
    /// By door of the kernel.
    by_door: BTreeMap<String, f64>,
}

impl Pair<'_> {
    /// Records pairs until their total work is enough to judge. The number of turns follows what is missing.
    pub fn judged(&self) -> Result<Scored> {
        let least_ns = if self.claim.door.is_some() { BY_TICKS_MIN_NS } else { WORK_MIN_NS };
        let mut claim = self.claim.clone();
        let mut sum = Scored::default();
        for _ in 0..PAIRS_MAX {
            let next = Pair { claim: &claim, ..*self }.scored()?;
            // A short pair may take no longer than the run without the work.
            let work_ns = next.known_ns.max(1.0);
            sum = if sum.runtime.is_empty() { next } else { sum.and(next) };
            let missing_ns = least_ns - sum.known_ns;
            if missing_ns <= 0.0 {
                return Ok(sum);
            }
            claim.turns = (claim.turns as f64 * (missing_ns / work_ns).clamp(GROWS.0, GROWS.1)).ceil() as u64;
        }
        bail!("{}: only {} ns of work in {PAIRS_MAX} pairs of runs", claim.kind, sum.known_ns)
    }

    /// Records a pair and compares its runs.
    fn scored(&self) -> Result<Scored> {
        let (with, without) = (self.run("with")?, self.run("without")?);
        let known_ns = with.cpu_ns - without.cpu_ns;
        let by = |run: &PairRun| if self.claim.door.is_some() { run.by_door.clone() } else { run.by_purpose.clone() };
        let is_expected = |key: &str| match &self.claim.door {
            Some(door) => key.starts_with(door),
            None => self.claim.expect.iter().any(|id| id == key),
        };
        let (mut found_ns, mut elsewhere, (more, less)) = (0.0, Vec::new(), (by(&with), by(&without)));
        let mut keys: Vec<&String> = more.keys().chain(less.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let difference = more.get(key).unwrap_or(&0.0) - less.get(key).unwrap_or(&0.0);
            match is_expected(key) {
                true => found_ns += difference,
                false => elsewhere.push((key.clone(), difference)),
            }
        }
        elsewhere.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        elsewhere.truncate(4);
        Ok(Scored {
            samples: (with.runtime_ns / with.period_ns) as u64,
            with_purpose: with.with_purpose_ns / with.runtime_ns,
            runtime: with.runtime,
            known_ns,
            found_ns,
            elsewhere,
        })
    }

    fn run(&self, which: &str) -> Result<PairRun> {
        let Pair { runner, toolchain, language, claim } = self;
        let program = workload::build(*language, PROGRAM, true, toolchain, &runner.builds)?;
        let capture = runner.scratch.join(format!("{}-{which}-{}.rtscope", claim.kind, toolchain.name));
        if capture.exists() {
            fs::remove_dir_all(&capture)?;
        }
        let mut words = toolchain.enter(&[&runner.scratch, &runner.builds]);
        words.push(program.into());
        words.extend([&claim.kind, which, &claim.amount.to_string(), &claim.turns.to_string()].map(OsString::from));
        if !claim.rts.is_empty() {
            words.push("+RTS".into());
            words.extend(claim.rts.iter().map(OsString::from));
        }
        let mut recorder = Command::new(&runner.rtscope);
        recorder.args(["record", "--sample-code", RATE, "-o"]).arg(&capture).arg("--").args(&words);
        if let Some(runparam) = &claim.runparam {
            recorder.env("OCAMLRUNPARAM", runparam);
        }
        let done = recorder.current_dir(&runner.scratch).output()?;
        let (stdout, wrong) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        ensure!(done.status.success(), "{} {which} ended with {}: {wrong}", claim.kind, done.status);
        let cpu_ns = stdout.lines().find_map(|line| line.trim().parse().ok());
        let cpu_ns = cpu_ns.with_context(|| format!("{} {which} printed no time: {stdout}", claim.kind))?;
        PairRun::of(cpu_ns, &runner.report(&capture)?)
    }
}

impl PairRun {
    fn of(cpu_ns: f64, report: &Value) -> Result<PairRun> {
        let code = &report["code"];
        let purposes = code["purposes"].as_array().context("nothing was sampled")?;
        let ns = |value: &Value, key: &str| value[key].as_f64().unwrap_or(0.0);
        let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
        let mut run = PairRun {
            cpu_ns,
            runtime: format!("{} {}", text(&report["runtime"]["family"]), text(&report["runtime"]["version"])),
            period_ns: ns(code, "period_ns"),
            runtime_ns: 0.0,
            with_purpose_ns: 0.0,
            by_purpose: BTreeMap::new(),
            by_door: BTreeMap::new(),
        };
        for time in purposes {
            let named = time["purpose"].as_str().map(str::to_owned);
            if time["kind"] == "runtime" {
                run.runtime_ns += ns(time, "ns");
                run.with_purpose_ns += if named.is_some() { ns(time, "ns") } else { 0.0 };
            }
            let key = named.unwrap_or_else(|| format!("code of kind {}", text(&time["kind"])));
            *run.by_purpose.entry(key).or_default() += ns(time, "ns");
        }
        doors(&report["account"]["parts"], &mut run.by_door);
        Ok(run)
    }
}

/// The kernel's part of an account, by the door through which it was reached.
fn doors(parts: &Value, by: &mut BTreeMap<String, f64>) {
    for part in parts.as_array().into_iter().flatten() {
        if let Some(door) = part["id"].as_str().and_then(|id| id.strip_prefix("kernel:")) {
            *by.entry(door.to_owned()).or_default() += part["ns"].as_f64().unwrap_or(0.0);
        }
        doors(&part["parts"], by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ascribed_beyond_the_work_is_as_wrong_as_what_is_missing() {
        let scored = |found_ns| Scored { known_ns: 100.0, found_ns, ..Scored::default() };
        assert_eq!([100.0, 90.0, 110.0, 0.0, -5.0, 300.0].map(|ns| scored(ns).right()), [1.0, 0.9, 0.9, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn pairs_add_up() {
        let scored = |samples, with_purpose, known_ns, found_ns, elsewhere| {
            let elsewhere = vec![("stacks".to_owned(), elsewhere)];
            Scored { samples, with_purpose, known_ns, found_ns, elsewhere, ..Scored::default() }
        };
        let (one, two) = (scored(9, 1.0, 100.0, 90.0, 1.0), scored(20, 0.9, 200.0, 210.0, 2.0));
        let sum = scored(29, 0.9, 300.0, 300.0, 2.0);
        assert_eq!([one.clone().and(two.clone()), two.and(one)], [sum.clone(), sum]);
    }

    #[test]
    fn a_report_is_summed_up_by_purpose_and_door() {
        let report = serde_json::json!({"runtime": {"family": "ghc", "version": "9.0.2"}, "code": {
            "period_ns": 10, "samples": 9,
            "purposes": [
                {"kind": "runtime", "purpose": "stacks", "in_kernel": false, "ns": 50},
                {"kind": "runtime", "purpose": "stacks", "in_kernel": true, "ns": 10},
                {"kind": "runtime", "purpose": null, "ns": 20},
                {"kind": "program", "purpose": null, "ns": 10},
            ],
        }, "account": {"parts": [{"id": "collecting", "ns": 90, "parts": [
            {"id": "in-pauses", "ns": 90, "parts": [
                {"id": "kernel:page fault, swap", "ns": 10, "parts": []}, {"id": "purpose:stacks", "ns": 80, "parts": []},
            ]},
        ]}]}});
        let run = PairRun::of(7.0, &report).unwrap();
        assert_eq!((run.runtime.as_str(), run.runtime_ns, run.with_purpose_ns), ("ghc 9.0.2", 80.0, 60.0));
        assert_eq!(run.by_purpose["stacks"], 60.0);
        assert_eq!(run.by_door["page fault, swap"], 10.0);
        assert!(PairRun::of(7.0, &serde_json::json!({"code": null})).is_err());
    }
}
