//! A study spread over machines, in a form that a cluster runs: an Indexed Job or an array script, whose unit
//! is a block. Owns the manifests' words and quoting; `rtscope_tune::jobs` defines a block. The image and the
//! volume are the reader's.

use crate::plan::{Planned, k8s, yaml};
use rtscope_model::text;
use rtscope_terminal::style::clean;

/// The study to spread.
#[derive(Clone, Debug)]
pub struct ClusterJob {
    /// A short name: the program's file name.
    pub name: String,
    /// Options of `rtscope tune` that make every block part of the same study, as words; `--block`, `--blocks`
    /// and `--store` are added.
    pub options: Vec<String>,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// Number of blocks.
    pub blocks: u32,
    /// Resources of a container, if a plan states them.
    pub resources: Option<Given>,
}

/// Resources of one container.
#[derive(Clone, Debug)]
pub struct Given {
    /// Number of whole CPUs.
    pub cpus: u32,
    /// Memory limit, in Kubernetes' notation.
    pub memory: Option<String>,
}

impl Given {
    /// The resources that a plan assumes.
    pub fn of(planned: &Planned) -> Given {
        Given { cpus: planned.plan.workers, memory: k8s::memory(&planned.resources) }
    }
}

/// Path of the shards in a container.
const SHARDS: &str = "/shards";

impl ClusterJob {
    /// The comment that says how to merge the shards in `folder`, a shell word: a line that can be pasted. If a
    /// line cannot hold the program, the reader inserts it.
    fn merge(&self, folder: &str) -> String {
        let program = quoted(&self.program);
        let program = if clean(&program) == program { program } else { "PROG".to_owned() };
        format!("#\n#   rtscope tune --merge {folder} -- {program}\n#\n")
    }

    /// The line that runs the block `index`, a shell variable, and stores it in `folder`, a shell word.
    fn line(&self, index: &str, folder: &str) -> String {
        let options = quoted(&self.options);
        let space = if options.is_empty() { "" } else { " " };
        format!(
            "rtscope tune --block \"${index}\" --blocks {}{space}{options} --store {folder}/shard-\"${index}\".sqlite -- {}",
            self.blocks,
            quoted(&self.program)
        )
    }
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|word| text::quoted(word)).collect::<Vec<_>>().join(" ")
}

/// An Indexed Job for Kubernetes, with the claim for the volume of its shards.
pub fn kubernetes(job: &ClusterJob) -> String {
    let name = yaml::name(&format!("tune-{}", job.name));
    let shards = yaml::name(&format!("{}-shards", name.chars().take(56).collect::<String>()));
    let about = format!(
        "A study made by `rtscope tune --export-job k8s`. Each index is one block: all configurations and the default on one node, with nothing else of this job. A pod that was killed goes on where it was. When it is done, copy the \
         volume to a folder {shards}, and then:"
    );
    let mut out = yaml::comment(&about, 0) + &job.merge(&shards);
    out += &format!("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: {}\n", yaml::string(&shards));
    out += "spec:\n  accessModes:\n    - ReadWriteMany # written by pods of several nodes\n";
    out += "  resources:\n    requests:\n      storage: 1Gi\n---\n";
    out += &format!("apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {}\nspec:\n", yaml::string(&name));
    out += "  completionMode: Indexed\n";
    out += &format!("  completions: {0}\n  parallelism: {0}\n  backoffLimitPerIndex: 3\n  template:\n", job.blocks);
    out += &format!("    metadata:\n      labels:\n        rtscope-tune: {}\n    spec:\n", yaml::string(&name));
    out += "      restartPolicy: Never\n";
    out += &yaml::comment("One at a time on a node: two would disturb each other. Those without a node wait.", 6);
    out += "      affinity:\n        podAntiAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n";
    out += "            - topologyKey: kubernetes.io/hostname\n              labelSelector:\n                matchLabels:\n";
    out += &format!("                  rtscope-tune: {}\n      containers:\n", yaml::string(&name));
    out += &format!("        - name: {}\n", yaml::string(&name));
    let image = yaml::string(&format!("{name}:latest"));
    out += &format!("          image: {image} # put your image here, with rtscope in it\n");
    // The kubelet expands $(NAME), and turns two dollars into one.
    let line = job.line("JOB_COMPLETION_INDEX", SHARDS).replace('$', "$$");
    out += "          command:\n            - \"/bin/sh\"\n            - \"-c\"\n";
    out += &format!("            - {}\n", yaml::string(&format!("exec {line}")));
    let given = job.resources.as_ref();
    out += &given.map_or_else(String::new, |given| k8s::resources(given.cpus, given.memory.as_deref(), 10));
    out += &format!("          volumeMounts:\n            - name: shards\n              mountPath: {SHARDS}\n");
    out += "      volumes:\n        - name: shards\n          persistentVolumeClaim:\n";
    out += &format!("            claimName: {}\n", yaml::string(&shards));
    out
}

/// An array script for Slurm; its shards are in a folder below the one it is submitted in.
pub fn slurm(job: &ClusterJob) -> String {
    let name = yaml::name(&format!("tune-{}", job.name));
    let last = job.blocks.saturating_sub(1);
    let mut out = format!(
        "#!/bin/sh\n#SBATCH --job-name={name}\n#SBATCH --array=0-{last}\n#SBATCH --exclusive\n#SBATCH --nodes=1\n"
    );
    out += &format!("#SBATCH --ntasks=1\n#SBATCH --output={name}-%a.log\n");
    let about = format!(
        "A study of {} made by `rtscope tune --export-job slurm`. Each index is one block: all configurations and the default on one node, with nothing else. A task that was killed goes on where it was when the script is \
         submitted again. When it is done:",
        clean(&job.name)
    );
    out += &yaml::comment(&about, 0);
    out += &job.merge(&name);
    out += &format!("set -eu\nmkdir -p {name}\nexec {}\n", job.line("SLURM_ARRAY_TASK_ID", &name));
    out
}
