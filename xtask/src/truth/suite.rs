//! Runs a suite: repeats every place in the order until it has a run on a quiet machine, and tries the remedy
//! after a hit. Owns the next step and what is recorded; `score` judges.

use super::journal::{Attempt, Cure, Journal, Promise, Read};
use super::{journal, off, order, remedy};
use crate::runner::{ReportedRun, Runner, keeps_captures};
use crate::toolchain::Toolchain;
use crate::workload::{NOTHING, Workload};
use anyhow::{Context, Result, ensure};
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Seconds for starting, attaching and reporting, in addition to the workload's own time.
const OVERHEAD_SECONDS: f64 = 1.0;
/// Suites with at most this many places report every attempt; longer ones only failures.
const REPORTED_MAX: usize = 60;
/// Attempts between progress reports.
const PROGRESS_EVERY: usize = 25;

/// A running suite.
pub struct Suite<'a> {
    runner: &'a Runner,
    workloads: Vec<Workload>,
    toolchains: Vec<Toolchain>,
    order: Vec<(usize, usize)>,
    journal: Journal,
    seen: Read,
    print: &'a mut dyn FnMut(&str),
}

/// What a place in the order still needs.
enum Next {
    Run,
    Cure(Promise),
    Nothing,
}

impl<'a> Suite<'a> {
    /// `workloads` and `toolchains` are those of the plan, in its order; `seen` is the content of the journal.
    pub fn new(
        runner: &'a Runner,
        workloads: Vec<Workload>,
        toolchains: Vec<Toolchain>,
        journal: Journal,
        seen: Read,
        print: &'a mut dyn FnMut(&str),
    ) -> Result<Suite<'a>> {
        let plan = &seen.plan;
        ensure!(workloads.iter().map(|it| &it.name).eq(&plan.workloads), "not the workloads of {}", plan.seed);
        ensure!(toolchains.iter().map(|it| it.name).eq(&plan.toolchains), "not the compilers of {}", plan.seed);
        let compile = |workload: &Workload| {
            let on: Vec<usize> =
                (0..toolchains.len()).filter(|on| workload.language.compiles_on(&toolchains[*on])).collect();
            ensure!(!on.is_empty(), "no compiler of the suite compiles {}", workload.name);
            Ok(on)
        };
        let on = workloads.iter().map(compile).collect::<Result<Vec<_>>>()?;
        let order = order::order(&on, plan.runs, plan.seed);
        Ok(Suite { runner, workloads, toolchains, order, journal, seen, print })
    }

    /// Approximate duration if every run is a hit on a quiet machine.
    pub fn estimate(&self) -> Duration {
        let every = self.seen.plan.remedies_every;
        let one = |(number, _): &(usize, usize)| {
            let workload = &self.workloads[*number];
            let seconds = workload.seconds + OVERHEAD_SECONDS;
            let cures = if workload.remedy.is_some() && every > 0 { 1.0 / every as f64 } else { 0.0 };
            seconds * (1.0 + cures)
        };
        Duration::from_secs_f64(self.order.iter().map(one).sum())
    }

    /// Runs everything that is not done yet; returns all results.
    pub fn run(mut self) -> Result<Read> {
        let (runs, time, seed) = (self.order.len(), minutes(self.estimate()), self.seen.plan.seed);
        let (on, kept) = (self.seen.plan.toolchains.join(", "), self.journal.path.display());
        let head = format!(
            "{runs} runs in random order (seed {seed}), in turn on {on}: about {time} on a quiet machine\nkept in {kept}"
        );
        (self.print)(&head);
        let mut queue: VecDeque<usize> =
            (0..self.order.len()).filter(|slot| !matches!(self.next(*slot), Next::Nothing)).collect();
        let (all, began, mut done) = (queue.len(), Instant::now(), 0);
        while let Some(slot) = queue.pop_front() {
            if self.visit(slot)? {
                // A dirty attempt is repeated after everything else is done.
                queue.push_back(slot);
                continue;
            }
            done += 1;
            if done % PROGRESS_EVERY == 0 {
                self.progress(done, all, began);
            }
        }
        Ok(self.seen)
    }

    /// Does what a place needs; returns whether it must be visited again.
    fn visit(&mut self, slot: usize) -> Result<bool> {
        loop {
            let dirty = match self.next(slot) {
                Next::Nothing => return Ok(false),
                Next::Run => self.attempt(slot)?,
                Next::Cure(promise) => self.cure(slot, promise)?,
            };
            if dirty {
                return Ok(!matches!(self.next(slot), Next::Nothing));
            }
        }
    }

    /// Depends only on recorded results, so that a resumed suite does the same.
    fn next(&self, slot: usize) -> Next {
        let plan = &self.seen.plan;
        let runs = || self.seen.runs.iter().filter(|run| run.slot == slot);
        let Some(clean) = runs().find(|run| !run.dirty) else {
            return if runs().count() > plan.repeats { Next::Nothing } else { Next::Run };
        };
        let cures = || self.seen.cures.iter().filter(|cure| cure.slot == slot);
        let over = cures().any(|cure| !cure.dirty) || cures().count() > plan.repeats;
        match &clean.promise {
            Some(promise) if !over && self.turn(clean) => Next::Cure(promise.clone()),
            _ => Next::Nothing,
        }
    }

    /// Whether this hit's remedy is tried: after the first hit, and then every `remedies_every`-th.
    fn turn(&self, hit: &Attempt) -> bool {
        let before = self.seen.runs.iter().take_while(|run| *run != hit);
        let hits = before.filter(|run| run.workload == hit.workload && run.promise.is_some() && !run.dirty);
        self.seen.plan.remedies_every > 0 && hits.count().is_multiple_of(self.seen.plan.remedies_every)
    }

    /// Runs once; returns whether the run was dirty.
    fn attempt(&mut self, slot: usize) -> Result<bool> {
        let (workload, toolchain) = self.place(slot)?;
        let mut run = Attempt {
            slot,
            workload: workload.name.clone(),
            on: workload.language.compiler(toolchain).unwrap_or_default(),
            given: workload.given(),
            expect: workload.expect.clone(),
            second: workload.second.clone(),
            also: workload.also.clone(),
            ..Attempt::default()
        };
        let mut capture = None;
        match self.runner.run(&workload, toolchain) {
            Ok(outcome) => {
                run.found = found(&outcome);
                run.named = workload.names.as_deref().map(|text| outcome.names(text));
                run.dirty = outcome.noise.taken() > self.seen.plan.noise_max;
                run.noise = outcome.noise.clone();
                if let Some(change) = workload.remedy.as_ref().filter(|_| run.hit()) {
                    // A missing remedy is tried, and fails.
                    run.promise = Some(remedy::promise(&outcome.report, change.number).unwrap_or_default());
                }
                if self.seen.plan.rules_off && run.hit() && run.expect != NOTHING {
                    let without = |rule: &str| self.runner.report_without(&outcome.capture, rule);
                    run.named_without = off::named(&outcome.report, without)?;
                }
                capture = Some(outcome.recording.capture);
            }
            Err(error) => run.error = Some(format!("{error:#}")),
        }
        let wrong = !run.hit() || run.named == Some(false) || run.named_without == Some(false);
        if wrong || self.order.len() <= REPORTED_MAX {
            (self.print)(&sentence(&run));
        }
        capture.iter().for_each(|capture| self.put_away(capture, slot, wrong && !run.dirty));
        self.journal.add(&journal::JournalLine::Run(run.clone()))?;
        let dirty = run.dirty;
        self.seen.runs.push(run);
        Ok(dirty)
    }

    /// Runs once with the remedy; returns whether the run was dirty.
    fn cure(&mut self, slot: usize, promise: Promise) -> Result<bool> {
        let (workload, toolchain) = self.place(slot)?;
        let mut cure = Cure {
            slot,
            workload: workload.name.clone(),
            on: workload.language.compiler(toolchain).unwrap_or_default(),
            finding: workload.expect.clone(),
            ..Cure::default()
        };
        let mut capture = None;
        if let Err(error) = self.treat(&workload, toolchain, &promise, &mut cure, &mut capture) {
            cure.error = Some(format!("{error:#}"));
        }
        cure.promise = promise;
        if !cure.improved() || self.order.len() <= REPORTED_MAX {
            (self.print)(&sentence_of(&cure));
        }
        capture.iter().for_each(|capture| self.put_away(capture, slot, !cure.improved() && !cure.dirty));
        self.journal.add(&journal::JournalLine::Cure(cure.clone()))?;
        let dirty = cure.dirty;
        self.seen.cures.push(cure);
        Ok(dirty)
    }

    fn treat(
        &self,
        workload: &Workload,
        on: &Toolchain,
        promise: &Promise,
        cure: &mut Cure,
        capture: &mut Option<PathBuf>,
    ) -> Result<()> {
        let change = workload.remedy.as_ref().context("the workload names no remedy")?;
        let path = promise.path.as_deref().context("the remedy names no figure")?;
        ensure!(promise.before.is_some(), "the report has no figure {path}");
        let (changed, applied) = remedy::apply(workload, change, promise)?;
        cure.applied = applied;
        let outcome = self.runner.run(&changed, on)?;
        *capture = Some(outcome.capture.clone());
        cure.found = found(&outcome);
        cure.dirty = outcome.noise.taken() > self.seen.plan.noise_max;
        cure.noise = outcome.noise.clone();
        cure.after = remedy::figure(&outcome.report, path);
        ensure!(cure.after.is_some(), "the report has no figure {path} afterwards");
        Ok(())
    }

    /// Keeps captures of failures next to the journal, and removes the others.
    fn put_away(&self, capture: &Path, slot: usize, wrong: bool) {
        let name = capture.file_name().unwrap_or_default().to_string_lossy();
        let kept = self.journal.path.with_extension("captures");
        // What cannot be moved stays until the suite ends.
        if wrong {
            let _ = fs::create_dir_all(&kept).and_then(|()| fs::rename(capture, kept.join(format!("{slot}-{name}"))));
        } else if !keeps_captures() {
            let _ = fs::remove_dir_all(capture);
        }
    }

    /// The workload and toolchain of a place, identical on every call: a remedy is tried on what promised it.
    fn place(&self, slot: usize) -> Result<(Workload, &Toolchain)> {
        let place = self
            .order
            .get(slot)
            .and_then(|&(workload, toolchain)| Some((self.workloads.get(workload)?, self.toolchains.get(toolchain)?)));
        let (workload, toolchain) = place.context("no such place in the order")?;
        let seed = self.seen.plan.seed.wrapping_mul(1_000_003).wrapping_add(slot as u64);
        Ok((if self.seen.plan.drawn { workload.drawn(seed)? } else { workload.clone() }, toolchain))
    }

    fn progress(&mut self, done: usize, all: usize, began: Instant) {
        let gone = began.elapsed();
        let left = gone.mul_f64((all - done) as f64 / done.max(1) as f64);
        let dirty = self.seen.runs.iter().filter(|run| run.dirty).count();
        (self.print)(&format!("{done} of {all}: {} gone, about {} left, {dirty} dirty", minutes(gone), minutes(left)));
    }
}

fn found(outcome: &ReportedRun) -> Vec<String> {
    outcome.findings().into_iter().map(str::to_owned).collect()
}

/// A duration as text.
pub fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", (seconds + 30) / 60) }
}

fn sentence(run: &Attempt) -> String {
    let what = match &run.error {
        Some(error) => format!("no report: {error}"),
        None => format!("{}: [{}]", if run.hit() { "hit" } else { "MISS" }, run.found.join(", ")),
    };
    let unnamed = if run.named == Some(false) { ", name MISSING" } else { "" };
    let unnamed = if run.named_without == Some(false) {
        format!("{unnamed}, without its rule NOTHING named")
    } else {
        unnamed.to_owned()
    };
    let given = if run.given.is_empty() { String::new() } else { format!(" ({})", run.given) };
    format!("{}{given} on {}: {what}{unnamed}{}", run.workload, run.on, dirt(run.dirty, run.noise.taken()))
}

fn sentence_of(cure: &Cure) -> String {
    let what = match (&cure.error, cure.promise.path.as_deref(), cure.promise.before, cure.after) {
        (Some(error), ..) => error.clone(),
        (None, Some(path), Some(before), Some(after)) => format!("{path} from {} to {}", plain(before), plain(after)),
        _ => "nothing to compare".to_owned(),
    };
    let helped = if cure.improved() { "helps" } else { "does NOT help" };
    let dirt = dirt(cure.dirty, cure.noise.taken());
    format!("{} on {}: {} {helped}: {what}{dirt}", cure.workload, cure.on, cure.applied)
}

/// Formats nanoseconds without a fraction, and shares in full.
fn plain(figure: f64) -> String {
    if figure.fract() == 0.0 { format!("{figure:.0}") } else { format!("{figure:.4}") }
}

fn dirt(dirty: bool, taken: f64) -> String {
    if dirty { format!("  (dirty: others took {:.0} %)", taken * 100.0) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::super::journal::SuitePlan;
    use super::*;
    use crate::workload::{self, Applied};

    /// Finds `preempted` with a figure of 100, or of 10 if the program was given -N1.
    const RTSCOPE: &str = r#"#!/bin/sh
if [ $1 = record ]; then mkdir "$3"; echo "$*" > "$3/words"; exit; fi
sum=100; ! grep -q -e -N1 "$3/words" || sum=10
echo '{"runtime":{"family":"ghc"},"pauses":{"sum":'$sum'},"findings":[{"id":"preempted","claim":"by `noisy`",
  "remedies":[{"flag":"+RTS -N1","setting":{"options":["-N1"]},"metric":{"path":"pauses.sum","should":"fall"}}]}]}'
"#;

    struct SuiteGround {
        folder: tempfile::TempDir,
        runner: Runner,
        workload: Workload,
        toolchain: Toolchain,
    }

    fn executable(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        testkit::executable::write(path, text);
    }

    /// A workload that is already built, and a fake `rtscope`.
    fn ground() -> SuiteGround {
        let folder = tempfile::tempdir().unwrap();
        let runner = Runner {
            rtscope: folder.path().join("rtscope"),
            builds: folder.path().join("builds"),
            scratch: folder.path().join("captures"),
        };
        fs::create_dir_all(&runner.scratch).unwrap();
        executable(&runner.rtscope, RTSCOPE);
        executable(&runner.builds.join("own/threaded/throttled"), "#!/bin/sh\n");
        let workload = Workload {
            cpus: None,
            neighbours_per_cpu: 0,
            names: Some("`noisy`".into()),
            remedy: Some(Applied::default()),
            ..workload::load("neighbour").unwrap()
        };
        let toolchain = Toolchain { name: "own", version: "9.0.2".into(), root: None };
        SuiteGround { folder, runner, workload, toolchain }
    }

    fn plan(noise_max: f64, remedies_every: usize) -> SuitePlan {
        SuitePlan {
            schema: SuitePlan::schema(),
            seed: 3,
            runs: 4,
            workloads: vec!["neighbour".into()],
            toolchains: vec!["own".into()],
            noise_max,
            repeats: 1,
            remedies_every,
            ..SuitePlan::default()
        }
    }

    fn go(ground: &SuiteGround, journal: Journal, seen: Read) -> Read {
        let (workload, toolchain) = (ground.workload.clone(), ground.toolchain.clone());
        let mut printed = Vec::new();
        let mut print = |line: &str| printed.push(line.to_owned());
        let suite = Suite::new(&ground.runner, vec![workload], vec![toolchain], journal, seen, &mut print).unwrap();
        let already = suite.seen.runs.len();
        let read = suite.run().unwrap();
        assert!(printed.len() > read.runs.len() - already, "a small suite prints each attempt");
        read
    }

    fn fresh(ground: &SuiteGround, plan: &SuitePlan) -> (Journal, Read) {
        let path = ground.folder.path().join("journal");
        let journal = Journal::begin(&path, plan).unwrap();
        (journal, Read { plan: plan.clone(), runs: Vec::new(), cures: Vec::new(), cut: 0 })
    }

    #[test]
    fn after_a_hit_the_printed_remedy_is_applied_and_judged() {
        let ground = ground();
        let (journal, seen) = fresh(&ground, &plan(f64::MAX, 1));
        let read = go(&ground, journal, seen);
        assert_eq!((read.runs.len(), read.cures.len()), (4, 4));
        assert!(read.runs.iter().all(|run| run.hit() && run.named == Some(true) && run.error.is_none()));
        for cure in &read.cures {
            assert_eq!((cure.applied.as_str(), cure.ratio(), cure.improved()), ("+RTS -A4m -N1", Some(0.1), true));
        }
        assert_eq!(journal::read(&ground.folder.path().join("journal")).unwrap(), read);
        assert_eq!(fs::read_dir(&ground.runner.scratch).unwrap().count(), 0, "captures of hits are not kept");
        assert!(!ground.folder.path().join("journal.captures").exists());
    }

    #[test]
    fn captures_of_failed_runs_are_kept() {
        let mut ground = ground();
        ground.workload.expect = "late-safepoint".into();
        let (journal, seen) = fresh(&ground, &plan(f64::MAX, 1));
        assert!(go(&ground, journal, seen).runs.iter().all(|run| !run.hit()));
        for slot in 0..4 {
            let kept = ground.folder.path().join(format!("journal.captures/{slot}-neighbour-own.rtscope/words"));
            assert!(kept.exists(), "{}", kept.display());
        }
    }

    #[test]
    fn a_dirty_run_is_repeated_so_often_and_treated_never() {
        let ground = ground();
        let (journal, seen) = fresh(&ground, &plan(-1.0, 1));
        let read = go(&ground, journal, seen);
        assert_eq!((read.runs.len(), read.cures.len()), (8, 0));
        assert!((0..4).all(|slot| read.runs.iter().filter(|run| run.slot == slot && run.dirty).count() == 2));
        // It is repeated after everything else is done.
        assert!(read.runs[..4].iter().zip(&read.runs[4..]).all(|(first, again)| first.slot == again.slot));
    }

    #[test]
    fn a_killed_suite_goes_on_where_it_was() {
        let ground = ground();
        let (journal, seen) = fresh(&ground, &plan(f64::MAX, 2));
        let whole = go(&ground, journal, seen);
        assert_eq!((whole.runs.len(), whole.cures.len()), (4, 2), "each second hit");
        let path = ground.folder.path().join("journal");
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        // The plan, two runs, one remedy; then a kill within a line.
        assert!(lines[2].starts_with("{\"cure\"") && lines[3].starts_with("{\"run\""));
        fs::write(&path, format!("{}\n{}", lines[..4].join("\n"), &lines[4][..9])).unwrap();
        let journal = Journal::resume(&path).unwrap();
        let seen = journal::read(&path).unwrap();
        assert_eq!((seen.runs.len(), seen.cures.len(), seen.cut), (2, 1, 1));
        let again = go(&ground, journal, seen);
        let places = |read: &Read| read.runs.iter().map(|run| run.slot).collect::<Vec<_>>();
        assert_eq!((places(&again), again.cures.len()), (places(&whole), 2));
    }

    #[test]
    fn what_does_not_run_is_a_failure_and_not_the_end() {
        let ground = ground();
        executable(&ground.runner.rtscope, "#!/bin/sh\necho no room >&2; exit 1\n");
        let (journal, seen) = fresh(&ground, &plan(f64::MAX, 1));
        let read = go(&ground, journal, seen);
        assert!(read.runs.len() == 4 && read.runs.iter().all(|run| !run.hit()));
        assert!(read.runs[0].error.as_ref().unwrap().contains("no room"), "{:?}", read.runs[0].error);
    }

    #[test]
    fn the_estimate_counts_remedies() {
        let ground = ground();
        let of = |every, number: &str| {
            let path = ground.folder.path().join(number);
            let plan = plan(1.0, every);
            let journal = Journal::begin(&path, &plan).unwrap();
            let seen = Read { plan, runs: Vec::new(), cures: Vec::new(), cut: 0 };
            let (workload, toolchain) = (ground.workload.clone(), ground.toolchain.clone());
            let print = &mut |_: &str| ();
            Suite::new(&ground.runner, vec![workload], vec![toolchain], journal, seen, print)
                .unwrap()
                .estimate()
                .as_secs_f64()
        };
        let runs = 4.0 * (ground.workload.seconds + OVERHEAD_SECONDS);
        assert_eq!((of(0, "0"), of(1, "1"), of(2, "2")), (runs, 2.0 * runs, 1.5 * runs));
        assert_eq!(
            (minutes(Duration::from_secs(119)), minutes(Duration::from_secs(150))),
            ("119 s".into(), "3 min".into())
        );
    }
}
