//! A study that is spread over machines: what is written for a cluster is valid there, and starts the program
//! with the words that were given.

use rtscope_lab::tune::job::{ClusterJob, Given, kubernetes, slurm};
use std::path::Path;
use std::process::Command;
use testkit::{executable, manifests};

/// Text that takes effect wherever it is not quoted.
const HOSTILE: &str = "it's \"$HOME\" $(date) $$ $(HOME) `x` %h ${A} \\ # : {\n- a";

fn job(program: &str, memory: Option<&str>) -> ClusterJob {
    ClusterJob {
        name: program.to_owned(),
        options: ["--try", "-A64m -n4m", "--try", HOSTILE, "--seed", "7"].map(str::to_owned).into(),
        program: vec![program.to_owned(), HOSTILE.to_owned(), String::new()],
        blocks: 12,
        resources: Some(Given { cpus: 4, memory: memory.map(str::to_owned) }),
    }
}

fn jobs() -> Vec<ClusterJob> {
    vec![
        job("churn", Some("512Mi")),
        job("./My Service\n_1.0", None),
        ClusterJob { resources: None, ..job(&"x".repeat(99), None) },
    ]
}

fn words_of(job: &ClusterJob, index: u32, folder: &str) -> Vec<String> {
    let store = format!("{folder}/shard-{index}.sqlite");
    let fixed =
        ["tune".to_owned(), "--block".to_owned(), index.to_string(), "--blocks".to_owned(), job.blocks.to_string()];
    let mut words: Vec<String> = fixed.into();
    words.extend(job.options.iter().cloned());
    words.extend(["--store".to_owned(), store, "--".to_owned()]);
    words.extend(job.program.iter().cloned());
    words
}

/// The comment on how to merge the shards, as pasted.
fn pasted(text: &str) -> &str {
    let all: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
    assert_eq!(all.len(), 1, "{text}");
    all[0]
}

#[test]
fn blocks_are_taken_together_by_a_line_to_paste() {
    let long: Vec<String> = (0..20).map(|number| format!("--option-{number}=it's $HOME `x` \"# \\")).collect();
    let program = [vec!["./bin/churn".to_owned()], long, vec![String::new()]].concat();
    let mut job = ClusterJob { program: program.clone(), ..job("churn", None) };
    for (text, shards) in [(kubernetes(&job), "tune-churn-shards"), (slurm(&job), "tune-churn")] {
        let folder = tempfile::tempdir().unwrap();
        let words = started(Command::new("sh").args(["-c", pasted(&text)]), folder.path());
        assert_eq!(words[..4], ["tune", "--merge", shards, "--"]);
        assert_eq!(words[4..], program);
    }
    // Nothing escapes from the comment, and what a line cannot hold is not changed.
    job.program.push("a\ntouch b".to_owned());
    assert_eq!(pasted(&slurm(&job)), "rtscope tune --merge tune-churn -- PROG");
    assert_eq!(pasted(&kubernetes(&job)), "rtscope tune --merge tune-churn-shards -- PROG");
}

/// The words that a program called `rtscope` is started with.
fn started(command: &mut Command, folder: &Path) -> Vec<String> {
    let program = folder.join("rtscope");
    executable::write(&program, "#!/bin/sh\nfor word; do printf '%s\\0' \"$word\"; done\n");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let done = command.env("PATH", path).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut words: Vec<String> = String::from_utf8(done.stdout).unwrap().split('\0').map(str::to_owned).collect();
    assert_eq!(words.pop().as_deref(), Some(""));
    words
}

#[test]
fn an_indexed_job_is_one_for_kubernetes() {
    for job in jobs() {
        let text = kubernetes(&job);
        let (claim, batch) = text.split_once("---\n").unwrap();
        let claim = manifests::claim(claim);
        let batch = manifests::job(batch);
        let spec = batch.spec.unwrap();
        assert_eq!(
            (spec.completion_mode.as_deref(), spec.completions, spec.parallelism),
            (Some("Indexed"), Some(12), Some(12))
        );
        let (labels, pod) = (spec.template.metadata.unwrap().labels.unwrap(), spec.template.spec.unwrap());
        let apart = pod.affinity.unwrap().pod_anti_affinity.unwrap();
        let rule = &apart.required_during_scheduling_ignored_during_execution.unwrap()[0];
        assert_eq!(rule.topology_key, "kubernetes.io/hostname");
        assert_eq!(rule.label_selector.as_ref().unwrap().match_labels.as_ref(), Some(&labels));
        assert!(labels.values().all(|label| label.len() < 64));
        let volume = pod.volumes.unwrap()[0].persistent_volume_claim.clone().unwrap();
        assert_eq!(Some(volume.claim_name), claim.metadata.name);
        let container = &pod.containers[0];
        assert_eq!(container.resources.is_some(), job.resources.is_some());
        let command = container.command.as_ref().unwrap();
        assert_eq!(command[..2], ["/bin/sh", "-c"]);
        for index in [0, 11] {
            let folder = tempfile::tempdir().unwrap();
            // What the kubelet makes of it.
            let line = command[2].replace("$$", "$");
            let mut shell = Command::new("sh");
            shell.args(["-c", &line]).env("JOB_COMPLETION_INDEX", index.to_string());
            assert_eq!(started(&mut shell, folder.path()), words_of(&job, index, "/shards"));
        }
    }
}

#[test]
fn an_array_script_starts_each_block() {
    for job in jobs() {
        let text = slurm(&job);
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        for wanted in ["#SBATCH --array=0-11", "#SBATCH --exclusive"] {
            assert!(head.contains(&wanted), "{text}");
        }
        let name = head[1].strip_prefix("#SBATCH --job-name=").unwrap();
        for index in [0, 7] {
            let folder = tempfile::tempdir().unwrap();
            let script = folder.path().join("job.sh");
            std::fs::write(&script, &text).unwrap();
            for shell in ["sh", "bash"] {
                let mut command = Command::new(shell);
                command.arg(&script).env("SLURM_ARRAY_TASK_ID", index.to_string());
                assert_eq!(started(&mut command, folder.path()), words_of(&job, index, name), "{text}");
            }
            assert!(folder.path().join(name).is_dir());
        }
    }
}
