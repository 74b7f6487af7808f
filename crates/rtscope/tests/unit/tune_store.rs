//! A study in a file: killed in the middle and called again, it ends as if nothing had happened; the file of
//! another study is refused.

use rtscope_model::chance::Chance;
use rtscope_store::study;
use rtscope_tune::study::clean;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn tune(store: &Path, words: &[&str]) -> Command {
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tables/ghc-flag-sweep.jsonl");
    let mut command = Command::new(testkit::rtscope());
    command.args(["tune", "--replay", table, "--store"]).arg(store).args(words);
    if !words.contains(&"--studies") {
        command.args(["--studies", "1"]);
    }
    command
}

fn done(store: &Path, words: &[&str]) -> Output {
    tune(store, words).output().unwrap()
}

#[test]
fn a_study_that_is_killed_again_and_again_ends_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let whole = done(&at("whole"), &["--json"]);
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    let document: serde_json::Value = serde_json::from_slice(&whole.stdout).unwrap();
    assert_eq!((&document["schema"], &document["verdict"]), (&"rtscope/tune/1".into(), &"better".into()));
    let mut chance = Chance::new(8);
    let (mut kills, mut counts) = (0, vec![0]);
    let last = loop {
        // The first is slow enough to be killed for certain.
        let pace = if kills == 0 { "200" } else { "20" };
        let mut command = tune(&at("killed"), &["--json", "--pace", pace]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(30 + chance.below(300)));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            break output;
        }
        kills += 1;
        // Killed before the file existed, at the very first.
        if let Ok((_, rows)) = study::read(&at("killed")) {
            counts.push(rows.len());
        }
        assert!(counts.is_sorted() && kills < 1_000, "{counts:?}");
        if kills == 12 {
            break done(&at("killed"), &["--json"]);
        }
    };
    assert!(kills > 0 && last.status.success(), "{}", String::from_utf8_lossy(&last.stderr));
    assert_eq!(String::from_utf8(last.stdout).unwrap(), String::from_utf8(whole.stdout.clone()).unwrap());
    let rows = |name: &str| clean(&study::read(&at(name)).unwrap().1);
    assert_eq!(rows("killed"), rows("whole"));
    // A study that is over is only printed again.
    assert_eq!(done(&at("whole"), &["--json"]).stdout, whole.stdout);
}

#[test]
fn a_result_is_text_with_the_recommendation_first() {
    let folder = tempfile::tempdir().unwrap();
    let found = done(&folder.path().join("study.sqlite"), &[]);
    let text = String::from_utf8(found.stdout).unwrap();
    assert!(text.starts_with("Use -N") && text.contains(" times as fast as the default, -N1 -A1m (95 %: "), "{text}");
    assert!(text.contains("What each flag does by itself") && text.contains("seed 1"), "{text}");
}

#[test]
fn a_file_that_is_another_study_or_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(done(&at("study"), &["--trials", "30"]).status.success());
    std::fs::write(at("garbage"), "no study\n".repeat(200)).unwrap();
    for (name, words, status, said) in [
        ("study", &["--trials", "31"][..], 1, "it holds another study: not the same budget, seed or intervals"),
        ("study", &["--trials", "30", "--same"], 1, "it holds another study: not the same arguments"),
        ("garbage", &[], 1, "it is no study of rtscope"),
        ("no/where", &[], 1, "No such file or directory"),
        ("study", &["--trials", "23"], 2, "23 trials are too few"),
        ("study", &["--studies", "2"], 2, "only one study is kept in a file"),
    ] {
        let found = done(&at(name), words);
        let error = String::from_utf8_lossy(&found.stderr).into_owned();
        assert!(found.status.code() == Some(status) && error.contains(said), "{name} {words:?}: {error}");
    }
}
