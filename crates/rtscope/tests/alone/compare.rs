//! Live: `report --compare` on real programs. Runs of the same program are reported as alike, a throttled and
//! an unthrottled one are not, and CI gets its exit code.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::recordings;
use xtask::cache::cache;
use xtask::runner::Runner;
use xtask::toolchain::{Spec, Toolchain, is_root};
use xtask::{missing, workload};

struct ComparisonGround {
    runner: Runner,
    toolchain: Toolchain,
    kept: tempfile::TempDir,
}

impl ComparisonGround {
    fn new() -> Option<ComparisonGround> {
        let Some(toolchain) = Spec::find("ghc-9.0").unwrap().installed(&cache()) else {
            missing("ghc-9.0: `cargo xtask toolchains --only ghc-9.0`");
            return None;
        };
        let runner = Runner::new(Path::new(testkit::rtscope())).unwrap();
        let kept = tempfile::tempdir_in(&runner.scratch).unwrap();
        Some(ComparisonGround { runner, toolchain, kept })
    }

    /// The recording of the workload `name` that other tests judge too.
    fn first(&self, name: &str) -> PathBuf {
        recordings::first(&workload::load(name).unwrap(), &self.toolchain, |outcome| outcome.capture.clone())
    }

    /// A capture of the workload `name` that the next run does not overwrite.
    fn record(&self, name: &str) -> PathBuf {
        recordings::another(&self.runner, &workload::load(name).unwrap(), &self.toolchain, |outcome| {
            let kept = (0..).map(|number| self.kept.path().join(format!("{name}-{number}.rtscope")));
            let kept = kept.into_iter().find(|path| !path.exists()).unwrap();
            fs::rename(&outcome.capture, &kept).unwrap();
            kept
        })
    }

    fn compare(&self, a: &Path, b: &Path, fail_if: &[&str]) -> (Option<i32>, Value) {
        let conditions = fail_if.iter().flat_map(|condition| ["--fail-if", condition]);
        let mut command = Command::new(&self.runner.rtscope);
        command.arg("report").arg(a).arg("--compare").arg(b).arg("--json").args(conditions);
        let done = recordings::shared(|| command.output().unwrap());
        let document = serde_json::from_slice(&done.stdout);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        (done.status.code(), document.unwrap_or_else(|error| panic!("{error}: {said}")))
    }

    /// Status of comparisons of `captures` if no condition holds: that of the worst report on them. A machine
    /// that lost records says so in both places.
    fn quiet_code(&self, captures: &[&Path]) -> Option<i32> {
        let code = |path: &&Path| {
            let mut command = Command::new(&self.runner.rtscope);
            let done = recordings::shared(|| command.args(["report", "-v"]).arg(path).output().unwrap());
            let code = done.status.code();
            assert!(matches!(code, Some(0 | 3)), "{}", String::from_utf8_lossy(&done.stderr));
            code
        };
        captures.iter().map(code).max().flatten()
    }

    /// Whether two runs of `name` are reported as alike. What other processes took of the machine meanwhile is
    /// no difference of the program.
    fn alike(&self, name: &str, a: &Path, b: &Path) -> bool {
        let (_, document) = self.compare(a, b, &[]);
        let alike = document["verdict"] == "no-difference" || document["verdict"] == "others-differ";
        if !alike {
            eprintln!("{name}: {}", document["headline"]);
        }
        alike
    }
}

/// Nineteen in twenty are alike, so one pair may not be: then the next two must be.
fn pairs_are_alike(name: &str) {
    let Some(ground) = ComparisonGround::new() else { return };
    if workload::load(name).unwrap().quota_cpus.is_some() && !is_root() {
        return missing("root, for a control group with a quota");
    }
    let anew = || ground.alike(name, &ground.record(name), &ground.record(name));
    let [one, two, three] = [ground.first(name), ground.record(name), ground.record(name)];
    let pairs = [(&one, &two), (&two, &three)].map(|(a, b)| ground.alike(name, a, b) || (anew() && anew()));
    assert_eq!(pairs, [true; 2], "{name} differs from itself");
}

#[test]
fn live_two_healthy_runs_are_alike() {
    pairs_are_alike("healthy");
}

#[test]
fn live_two_throttled_runs_are_alike() {
    pairs_are_alike("throttled");
}

#[test]
fn live_a_quota_is_named_first_and_fails_the_job() {
    let Some(ground) = ComparisonGround::new() else { return };
    if !is_root() {
        return missing("root, for a control group with a quota");
    }
    let (free, throttled) = (ground.first("healthy"), ground.first("throttled"));
    let asked = ["pauses.time_to_stop_ns.p99 > +20%", "finding cpu-throttled"];
    let (code, document) = ground.compare(&free, &throttled, &asked);
    assert_eq!(code, Some(4), "{}", document["conditions"]);
    assert_eq!(document["verdict"], "different");
    assert_eq!(document["findings"][0]["id"], "cpu-throttled");
    assert_eq!(document["findings"][0]["change"], "came");
    let headline = document["headline"].as_str().unwrap();
    // On a quiet machine it says first that lanes are waited for; a busy one hides that.
    assert!(headline.contains("cpu-throttled came"), "{headline}");
    assert!(document["settings"].as_array().unwrap().iter().any(|setting| setting["what"] == "CPU quota"));

    let (code, document) = ground.compare(&throttled, &free, &["finding cpu-throttled"]);
    assert_eq!(code, ground.quiet_code(&[&throttled, &free]), "{document}");
    assert_eq!(document["conditions"][0]["outcome"], "does-not-hold");
    assert!(document["headline"].as_str().unwrap().contains("cpu-throttled is gone"), "{}", document["headline"]);
    let (code, document) = ground.compare(&throttled, &throttled, &["pauses.time_to_stop_ns.p99 > +0%"]);
    assert_eq!(code, ground.quiet_code(&[&throttled]), "a file does not differ from itself: {document}");
    assert_eq!(document["verdict"], "no-difference");
}
