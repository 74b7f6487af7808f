//! Live: a fixed list in blocks, here and spread over machines: `--try`, `--block`, `--merge` and the jobs that
//! are printed. Owns nothing about speed or about which configuration wins.

use testkit::output::stderr;
use testkit::tuning;

use rtscope_tune::study::StudyKind;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};
use tuning::{StudyFolder, command, is_loud, place, rows, sleeper, trial};

/// Whether it succeeded; a machine that is never quiet is no reason to fail.
fn did(done: &Output) -> bool {
    assert!(done.status.success() || is_loud(done), "{:?}: {}", done.status, stderr(done));
    done.status.success()
}

#[test]
fn live_a_fixed_list_in_blocks() {
    let Some(program) = trial() else { return };
    let place = place();
    let churn = command(program, &["churn", "100000"]);
    let options = ["--minimize", "heap", "--try=-c", "--try", " -A4m  -c", "--try=", "--blocks", "6"];
    let Some(found) = place.study(&options, &churn) else { return };
    assert_eq!(found.document["kind"], serde_json::json!({"merged": {"of": 6}}));
    if !found.answered() {
        return;
    }
    assert_eq!((found.trials("clean"), found.trials("budget")), (24, 24));
    let names: Vec<&Value> = found.document["candidates"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert!(names.len() == 2 && names.contains(&&"-A4m -c".into()), "{names:?}");
    // Called again, it has nothing to do.
    let again = place.study(&options, &churn).unwrap();
    assert!(!again.stderr.contains("one run as it is") && again.document == found.document, "{}", again.stderr);
}

/// Runs block `index` of 6 into `shards`.
fn block(place: &StudyFolder, index: u32, program: &[OsString]) -> Output {
    let (index, store) = (index.to_string(), format!("shards/shard-{index}.sqlite"));
    let options = ["--minimize", "wall", "--try=class=batch", "--blocks", "6", "--block", &index, "--store", &store];
    place.tune(&options, program).output().unwrap()
}

#[test]
fn live_blocks_of_several_machines_are_merged() {
    let place = place();
    let program = sleeper("0.2");
    let merge = || {
        let mut merge = Command::new(testkit::rtscope());
        merge.args(["tune", "--json", "--merge"]).arg(place.path("shards")).output().unwrap()
    };
    for index in [4, 0] {
        let done = block(&place, index, &program);
        if !did(&done) {
            return;
        }
        // Printed once, and counted in this block.
        assert!(stderr(&done).contains("trial 1 of 3, blocks of a fixed list\n"), "{}", stderr(&done));
    }
    let left: Vec<_> = fs::read_dir(place.path("shards")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let done = merge();
    assert!(
        done.status.code() == Some(3) && stderr(&done).contains("blocks that are missing: 1, 2, 3, 5"),
        "{}",
        stderr(&done)
    );
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&document["verdict"], &document["trials"]["clean"]), (&"stopped".into(), &6.into()));
    for index in [1, 2, 3, 5] {
        if !did(&block(&place, index, &program)) {
            return;
        }
    }
    let done = merge();
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((done.status.code(), document["over_default"]["pairs"].as_u64()), (Some(0), Some(6)), "{document}");
    assert_eq!(document["trials"]["budget"], 18);
    for name in ["merged.sqlite", "result.json", "pareto.svg", "trials.parquet"] {
        assert!(place.path("shards").join(name).exists(), "{name}");
    }
    // Again, with its own files in the folder.
    assert_eq!(merge().stdout, done.stdout);
}

#[test]
fn live_an_array_script_runs_its_blocks() {
    let Some(program) = trial() else { return };
    let place = place();
    let bin = place.path("bin");
    fs::create_dir(&bin).unwrap();
    symlink(testkit::rtscope(), bin.join("rtscope")).unwrap();
    let churn = command(program, &["churn", "100000"]);
    let options =
        ["--export-job", "slurm", "--blocks", "6", "--configurations", "3", "--minimize", "heap", "--limit", "rss=1G"];
    let done = place.tune(&options, &churn).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let script = place.path("job.sh");
    fs::write(&script, &done.stdout).unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    let name = text.lines().find_map(|line| line.strip_prefix("#SBATCH --job-name=")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let task = |index: &str| {
        let mut task = Command::new("sh");
        task.arg(&script).env("SLURM_ARRAY_TASK_ID", index).env("PATH", &path).env_remove("GHCRTS");
        did(&task.current_dir(place.folder.path()).output().unwrap())
    };
    for index in ["1", "5"] {
        if !task(index) {
            return;
        }
        let store = place.path(name).join(format!("shard-{index}.sqlite"));
        let (description, rows) = rtscope_store::study::read(&store).unwrap();
        assert_eq!(description.kind, StudyKind::Block { index: index.parse().unwrap(), of: 6 });
        assert_eq!((description.names.len(), rows.iter().filter(|row| !row.dirty).count()), (3, 4));
    }
    let mut merge = Command::new(testkit::rtscope());
    let done = merge.args(["tune", "--quiet", "--merge"]).arg(place.path(name)).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.code() == Some(3) && text.starts_with("Stopped early: "), "{text}");
    assert_eq!(rows(&place.path(name).join("merged.sqlite")).iter().filter(|row| !row.dirty).count(), 8);
    // All of them, with the program: what is recommended can be pasted.
    if !["0", "2", "3", "4"].into_iter().all(task) {
        return;
    }
    let mut merge = Command::new(testkit::rtscope());
    merge.args(["tune", "--json", "--merge"]).arg(place.path(name)).arg("--").args(&churn).env_remove("GHCRTS");
    let done = merge.output().unwrap();
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    if let Some(words) = document["recommended"]["name"].as_str().filter(|words| !words.is_empty()) {
        let shell = document["paste"][0]["line"].as_str().unwrap();
        assert!(shell.starts_with("GHCRTS=") && words.split(' ').all(|word| shell.contains(word)), "{shell}: {words}");
    }
    // The same list for Kubernetes.
    let options = ["--export-job", "k8s", "--blocks", "6", "--configurations", "3", "--minimize", "heap"];
    let done = place.tune(&options, &churn).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    for part in text.split("---\n") {
        let read = testkit::manifests::read(part);
        assert!(["PersistentVolumeClaim", "Job"].contains(&read["kind"].as_str().unwrap()), "{part}");
    }
}
