//! `rtscope bench scaling` with programs that a shell can imitate: what is printed, written and refused. Owns
//! nothing about speed.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const SOLVER: &str = "sh -c 'echo $1 >> order; echo begin; echo solves $((10 * $1))' solver {workers}";

fn bench(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(testkit::rtscope());
    command.args(["bench", "scaling"]).args(words).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn text_json_and_drawing_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let series = [format!("one={SOLVER}"), format!("the other={SOLVER}")];
    let words = ["--series", &series[0], "--series", &series[1], "--workers", "2,1", "--repeats", "6", "--seed", "9"];
    let done = bench(folder.path(), &[&words[..], &["--output", "out/deeper", "--json"]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(done.stderr.is_empty(), "no progress in a pipe: {}", text(&done.stderr));

    let printed: Value = serde_json::from_slice(&done.stdout).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out/deeper").join(name)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read("scaling.json")).unwrap(), printed);
    assert_eq!((&printed["schema"], &printed["seed"]), (&"rtscope/scaling/1".into(), &9.into()));
    let points = printed["series"][1]["points"].as_array().unwrap();
    assert_eq!((&points[0]["workers"], &points[1]["workers"]), (&1.into(), &2.into()));
    for (point, work) in points.iter().zip([10, 20]) {
        let runs = point["runs"].as_array().unwrap();
        assert!(runs.len() == 6 && runs.iter().all(|run| run["work"] == work), "{point}");
        let mut rates: Vec<f64> =
            runs.iter().map(|run| f64::from(work) * 1e9 / run["wall_ns"].as_f64().unwrap()).collect();
        rates.sort_by(f64::total_cmp);
        let median = point["rate"]["median"].as_f64().unwrap();
        assert!((median - (rates[2] + rates[3]) / 2.0).abs() < 1e-6 * median, "{point}");
        let [low, high] = [0, 1].map(|end| point["rate"]["interval"][end].as_f64().unwrap());
        assert!(rates[0] <= low && low <= median && median <= high && high <= rates[5], "{point}");
        assert!(point["of_first"]["median"].as_f64().unwrap() > 0.0);
    }
    assert!(printed["series"][0]["points"][0]["of_first"].is_null());

    // Four configurations, once discarded and six times in blocks.
    let order = std::fs::read_to_string(folder.path().join("order")).unwrap();
    assert_eq!((order.lines().count(), order.lines().filter(|line| *line == "2").count()), (28, 14));
    let (drawn, said) = (read("scaling.svg"), read("scaling.txt"));
    assert!(drawn.contains(">the other</text>") && drawn.contains("medians of 6 runs"), "{drawn}");
    assert!(said.contains("6 runs of each") && said.contains("the other"), "{said}");
}

#[test]
fn a_command_after_dashes_with_given_work() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--work", "5", "--workers", "3", "--repeats", "2", "--", "sh", "-c", "exit 0", "{workers}"];
    let done = bench(folder.path(), &words);
    let said = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(said.contains("sh") && said.contains("An interval takes at least 6 runs"), "{said}");
}

#[test]
fn what_does_not_work_is_reported_on_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (status, template, expected) in [
        (1, "a=sh -c 'exit 7' {workers}", "did not end well"),
        (1, "a=true {workers}", "does not say how much it did"),
        (1, "a=./not-there {workers}", "cannot run ./not-there 1"),
        (2, "a=true 4", "no place for the number of workers"),
    ] {
        let done = bench(folder.path(), &["--series", template, "--workers", "1", "--repeats", "1"]);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(status), "{template}: {said}");
        assert!(said.contains(expected) && said.lines().count() == 1 && done.stdout.is_empty(), "{template}: {said}");
    }
    std::fs::write(folder.path().join("file"), "").unwrap();
    let done = bench(
        folder.path(),
        &["--work", "1", "--repeats", "1", "--workers", "1", "-o", "file/in", "--", "true", "{workers}"],
    );
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("cannot write file/in/scaling.txt"), "{}", text(&done.stderr));
}
