//! Workloads with known truth: `workloads/LANGUAGE/NAME/workload.toml` says how one
//! is built and run and which finding is true of it. Owns that file's shape and
//! the build; running is `runner`'s.

use crate::draw::{Draw, Drawing};
use crate::ocaml;
use crate::package::Packages;
use crate::toolchain::Toolchain;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// `expect` of a workload of which nothing is to be found.
pub const NOTHING: &str = "nothing";

/// What a workload is written in: the folder says it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// For GHC.
    #[default]
    Haskell,
    /// For OCaml 5.
    Ocaml,
}

impl Language {
    /// Both.
    pub const ALL: [Language; 2] = [Language::Haskell, Language::Ocaml];

    /// `workloads/LANGUAGE` of this repository.
    pub fn folder(self) -> PathBuf {
        let name = match self {
            Language::Haskell => "haskell",
            Language::Ocaml => "ocaml",
        };
        repository().join("workloads").join(name)
    }

    /// The file that makes a folder a program.
    fn main(self) -> &'static str {
        match self {
            Language::Haskell => "Main.hs",
            Language::Ocaml => "main.ml",
        }
    }

    /// Whether `toolchain` compiles it.
    pub fn compiles_on(self, toolchain: &Toolchain) -> bool {
        self.compiler(toolchain).is_some()
    }

    /// What the compiler is called in tables: `ghc-9.6`, `ocaml-5.3.0`.
    pub fn compiler(self, toolchain: &Toolchain) -> Option<String> {
        match self {
            Language::Haskell => Some(toolchain.name.to_owned()),
            Language::Ocaml => toolchain.ocaml().map(|version| format!("ocaml-{version}")),
        }
    }
}

/// `workload.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Folder name.
    #[serde(skip)]
    pub name: String,
    /// What it is written in.
    #[serde(skip)]
    pub language: Language,
    /// One sentence: what it does and why the truth is the truth.
    pub about: String,
    /// Folder whose program it runs, where that is not its own.
    pub program: Option<String>,
    /// GHC: linked with `-threaded`.
    #[serde(default = "yes")]
    pub threaded: bool,
    /// The program's own arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// GHC: runtime flags.
    #[serde(default)]
    pub rts: Vec<String>,
    /// OCaml: what `OCAMLRUNPARAM` is set to: `s=4k`.
    pub runparam: Option<String>,
    /// What starts the program: a command with its arguments.
    #[serde(skip)]
    pub launcher: Vec<String>,
    /// Eventlog classes, where the log is made without a recorder.
    pub classes: Option<String>,
    /// Pinned to so many CPUs, from 0; absent: all.
    pub cpus: Option<usize>,
    /// Quota of its control group, in CPUs.
    pub quota_cpus: Option<f64>,
    /// Runs in a virtual machine whose host gives CPUs that it has not got.
    pub host: Option<SharedHost>,
    /// Spinning processes outside its group, pinned to each of its CPUs.
    #[serde(default)]
    pub neighbours_per_cpu: usize,
    /// About how long it runs; a server: how long until it listens.
    pub seconds: f64,
    /// Id of the finding that has to be first, or [`NOTHING`].
    pub expect: String,
    /// Id of a second finding that has to be there: what it takes is known to be less.
    pub second: Option<String>,
    /// Ids of findings that are true as well: no false alarms behind the first.
    #[serde(default)]
    pub also: Vec<String>,
    /// The workload of which this is the healthy twin.
    pub twin_of: Option<String>,
    /// Options for `rtscope record`: `--detail full`.
    #[serde(default)]
    pub record: Vec<String>,
    /// Environment of the program.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Text that the first finding's claim or evidence has to hold: a symbol.
    pub names: Option<String>,
    /// The finding's remedy as it is applied here.
    pub remedy: Option<Applied>,
    /// What of it is drawn at random for each run of the truth suite: it is a family then.
    pub draw: Option<Draw>,
    /// Whether the truth suite runs it (the churner only measures, servers do not end).
    #[serde(default = "yes")]
    pub judged: bool,
    /// GHC: packages that do not come with it; a toolchain may lack them.
    #[serde(default)]
    pub packages: Vec<String>,
    /// It answers requests until it is told to end: `serving`.
    pub server: Option<Server>,
}

/// How a server is asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// What of the URL follows host and port: `/quiz`.
    pub path: String,
}

/// What of a server's arguments the port stands for.
pub const PORT: &str = "{port}";

/// A host and the virtual machine on it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedHost {
    /// CPUs that the host has.
    pub cpus: usize,
    /// CPUs that the virtual machine has.
    pub virtual_cpus: usize,
}

/// What changes when a remedy is applied. What is absent stays as it is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// Which of the finding's remedies, from 0: its `metric` is what has to improve.
    #[serde(default)]
    pub number: usize,
    /// The program's own arguments.
    pub args: Option<Vec<String>>,
    /// GHC: runtime flags.
    pub rts: Option<Vec<String>>,
    /// OCaml: `OCAMLRUNPARAM`.
    pub runparam: Option<String>,
    /// Quota, in CPUs; 0: none.
    pub quota_cpus: Option<f64>,
    /// Neighbours.
    pub neighbours_per_cpu: Option<usize>,
    /// CPUs that it is pinned to.
    pub cpus: Option<usize>,
    /// Another host.
    pub host: Option<SharedHost>,
    /// Options for `rtscope record`.
    pub record: Option<Vec<String>>,
    /// The folder whose program is run instead: a change of code.
    pub program: Option<String>,
}

fn yes() -> bool {
    true
}

/// The root of this repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| ".".into(), Path::to_owned)
}

/// Every workload, by name.
pub fn all() -> Result<Vec<Workload>> {
    let mut names = Vec::new();
    for language in Language::ALL {
        for entry in fs::read_dir(language.folder())? {
            let path = entry?.path();
            if path.join("workload.toml").exists() {
                names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
            }
        }
    }
    names.sort();
    names.iter().map(|name| load(name)).collect()
}

/// The workload called `name`; no two have one name, whatever they are written in.
pub fn load(name: &str) -> Result<Workload> {
    let file = |language: &Language| language.folder().join(name).join("workload.toml");
    let mut there = Language::ALL.into_iter().filter(|language| file(language).exists());
    let language = there.next().with_context(|| format!("no workload {name}: no workloads/LANGUAGE/{name}"))?;
    ensure!(there.next().is_none(), "two workloads are called {name}");
    let path = file(&language);
    let mut workload: Workload =
        toml::from_str(&fs::read_to_string(&path)?).with_context(|| path.display().to_string())?;
    name.clone_into(&mut workload.name);
    workload.language = language;
    workload.check()?;
    Ok(workload)
}

impl Workload {
    /// Its programs are there, and nothing is said that its runtime would not hear.
    fn check(&self) -> Result<()> {
        let changed = self.remedy.as_ref().and_then(|remedy| remedy.program.as_deref());
        for program in [Some(self.program()), changed].into_iter().flatten() {
            let main = self.language.main();
            let there = self.language.folder().join(program).join(main).exists();
            ensure!(there, "{}: {program} has no {main}", self.name);
        }
        let alone = self.cpus.is_none() && self.quota_cpus.is_none() && self.neighbours_per_cpu == 0;
        ensure!(
            self.host.is_none() || alone && self.environment.is_empty(),
            "{}: [host] leaves no place for cpus, quota_cpus, neighbours_per_cpu and environment: the guest would ignore them",
            self.name
        );
        let port = self.args.iter().any(|word| word.contains(PORT));
        ensure!(
            self.server.is_some() == port && !(port && self.judged),
            "{}: a server, and only a server, has {PORT} among its arguments, and it is not judged",
            self.name
        );
        // Every template can be drawn.
        let one = self.drawn(1).with_context(|| format!("{}: [draw]", self.name))?;
        ensure!(
            self.draw.as_ref().is_none_or(|draw| draw.remedy_args.is_none() || self.remedy.is_some()),
            "{}: remedy_args of no remedy",
            self.name
        );
        let remedy = self.remedy.clone().unwrap_or_default();
        match self.language {
            Language::Haskell => {
                ensure!(one.runparam.is_none() && remedy.runparam.is_none(), "{}: GHC has no runparam", self.name);
            }
            Language::Ocaml => {
                ensure!(one.rts.is_empty() && remedy.rts.is_none(), "{}: OCaml has no rts", self.name);
                ensure!(self.packages.is_empty(), "{}: packages are GHC's", self.name);
                ensure!(self.host.is_none(), "{}: guests run programs of GHC only", self.name);
            }
        }
        Ok(())
    }

    /// The folder of its program.
    pub fn program(&self) -> &str {
        self.program.as_deref().unwrap_or(&self.name)
    }

    /// Whether `toolchain` compiles it and has the packages that it takes.
    pub fn compiles_on(&self, toolchain: &Toolchain) -> bool {
        self.language.compiles_on(toolchain) && self.packages.iter().all(|package| toolchain.has_package(package))
    }

    /// Compiles it below `into` unless that is newer than its sources; gives the binary.
    pub fn build(&self, toolchain: &Toolchain, into: &Path) -> Result<PathBuf> {
        build(self.language, self.program(), self.threaded, toolchain, into)
    }

    /// One of its family; itself where it is none.
    pub fn drawn(&self, seed: u64) -> Result<Workload> {
        let Some(draw) = &self.draw else { return Ok(self.clone()) };
        let mut one = self.clone();
        let mut drawing = Drawing::new(seed);
        if let Some(args) = &draw.args {
            one.args = drawing.words(args)?;
        }
        if let Some(rts) = &draw.rts {
            one.rts = drawing.words(rts)?;
        }
        if let Some(runparam) = &draw.runparam {
            one.runparam = Some(drawing.word(runparam)?);
        }
        if let Some(percent) = &draw.quota_percent {
            one.quota_cpus = Some(drawing.word(percent)?.parse::<f64>()? / 100.0);
        }
        if let Some(remedy) = &mut one.remedy {
            remedy.args = draw.remedy_args.as_ref().map(|args| drawing.words(args)).transpose()?.or(remedy.args.take());
            // Where settings are drawn, the one to change is what the report prints.
            remedy.rts = remedy.rts.take().filter(|_| draw.rts.is_none());
            remedy.runparam = remedy.runparam.take().filter(|_| draw.runparam.is_none());
        }
        Ok(one)
    }

    /// How it is run, for people: its arguments and what its runtime is given.
    pub fn given(&self) -> String {
        let mut words = self.args.clone();
        if !self.rts.is_empty() {
            words.push("+RTS".to_owned());
            words.extend(self.rts.iter().cloned());
        }
        words.extend(self.runparam.iter().map(|text| format!("OCAMLRUNPARAM={text}")));
        words.extend(self.quota_cpus.iter().map(|quota| format!("of {quota} CPUs")));
        words.join(" ")
    }

    /// The same with a remedy applied: what `change` leaves open stays.
    pub fn with(&self, change: &Applied) -> Workload {
        Workload {
            name: format!("{}-remedied", self.name),
            program: Some(change.program.clone().unwrap_or_else(|| self.program().to_owned())),
            args: change.args.clone().unwrap_or_else(|| self.args.clone()),
            rts: change.rts.clone().unwrap_or_else(|| self.rts.clone()),
            runparam: change.runparam.clone().or_else(|| self.runparam.clone()),
            record: change.record.clone().unwrap_or_else(|| self.record.clone()),
            quota_cpus: change.quota_cpus.map_or(self.quota_cpus, |quota| (quota > 0.0).then_some(quota)),
            cpus: change.cpus.or(self.cpus),
            host: change.host.or(self.host),
            neighbours_per_cpu: change.neighbours_per_cpu.unwrap_or(self.neighbours_per_cpu),
            ..self.clone()
        }
    }
}

/// What the program of this name is written in; whether a claim is made about it or not.
pub fn find(program: &str) -> Result<Language> {
    let has = |language: &Language| language.folder().join(program).join(language.main()).exists();
    Language::ALL
        .into_iter()
        .find(has)
        .with_context(|| format!("no program {program}: no workloads/LANGUAGE/{program}"))
}

/// Compiles the program of a folder of `language` below `into`, unless that is newer than its
/// sources; gives the binary. `threaded` is for GHC.
pub fn build(language: Language, program: &str, threaded: bool, toolchain: &Toolchain, into: &Path) -> Result<PathBuf> {
    let way = match language {
        Language::Haskell if threaded => "threaded",
        Language::Haskell => "plain",
        Language::Ocaml => "ocaml",
    };
    let folder = language.folder();
    let output = into.join(toolchain.name).join(way).join(program);
    let (own, common) = (folder.join(program), folder.join("common"));
    fs::create_dir_all(output.parent().context("an output without a folder")?)?;
    // Whoever else wants it at the same time, in this process or another, waits for it.
    let lock = fs::File::create(output.with_extension("lock"))?;
    lock.lock()?;
    let built = modified(&output);
    if built.is_none() || built < newest(&own).max(newest(&common)) {
        let flags: &[&str] = if threaded { &["-threaded"] } else { &[] };
        match language {
            Language::Haskell => toolchain.compile(&[&own, &common], flags, &output)?,
            Language::Ocaml => ocaml::compile(toolchain, &[&own, &common], &output)?,
        }
    }
    Ok(output)
}

/// Compiles a Haskell program with the package that counts and schedules its transactions;
/// where `lead` is not set, with all of its code and without its effect. Gives the binary.
///
/// Where in a program the runtime's code lies changes how long transactions take, by a fifth
/// of a linked list's time: whoever compares times compares these two.
pub fn build_with_stm(program: &str, lead: bool, toolchain: &Toolchain, into: &Path) -> Result<PathBuf> {
    let way = if lead { "stm" } else { "stm-not-led" };
    let folder = into.join(toolchain.name).join(way);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let packages = Packages { toolchain, folder: &folder };
    packages.build("haskell-stm", if lead { &[] } else { &["-lead"] })?;
    let (own, common) = (Language::Haskell.folder().join(program), Language::Haskell.folder().join("common"));
    let database = packages.database();
    let flags = ["-threaded", "-package-db", &database.to_string_lossy(), "-package", "rtscope-stm"];
    let output = folder.join(program);
    toolchain.compile(&[&own, &common], &flags, &output)?;
    Ok(output)
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

fn newest(folder: &Path) -> Option<SystemTime> {
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let source = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ["hs", "ml", "mli", "c", "h"].iter().any(|of| ending == *of))
    };
    files.filter(source).filter_map(|path| modified(&path)).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_of_the_repository_reads() {
        let all = all().unwrap();
        let truths: Vec<_> = all.iter().map(|workload| workload.expect.as_str()).collect();
        for id in ["cpu-throttled", "preempted", "oversubscribed", NOTHING] {
            for language in Language::ALL {
                let known = |workload: &Workload| workload.language == language && workload.expect == id;
                assert!(all.iter().any(known), "no workload for {id} in {language:?}");
            }
        }
        for id in ["idle-domain", "leadership-contention", "fork-pause", "small-minor-heap"] {
            assert!(truths.contains(&id), "no workload for {id}");
        }
        let memory =
            ["pinned-retention", "block-fragmentation", "memory-not-returned", "copy-reserve", "not-the-haskell-heap"];
        for id in memory.into_iter().chain(["large-objects"]) {
            let ill =
                all.iter().find(|workload| workload.expect == id).unwrap_or_else(|| panic!("no workload for {id}"));
            let twin = |other: &Workload| other.twin_of.as_ref() == Some(&ill.name);
            assert!(all.iter().any(twin), "{} has no healthy twin", ill.name);
            assert!(
                ill.record.iter().any(|option| option.starts_with("--heap-")),
                "{}: nobody looks at its heap",
                ill.name
            );
        }
        assert!(all.iter().all(|workload| workload.seconds > 0.0 && !workload.about.is_empty()));
        for workload in &all {
            let twin_of = workload.twin_of.as_deref();
            assert!(
                twin_of
                    .is_none_or(|of| all.iter().any(|other| other.name == of && other.language == workload.language)),
                "{}: {twin_of:?}",
                workload.name
            );
            assert!(twin_of.is_none() || workload.expect == NOTHING, "{} is no healthy twin", workload.name);
            assert!(workload.remedy.is_none() || workload.expect != NOTHING, "{}: a remedy of nothing", workload.name);
        }
    }

    #[test]
    fn a_workload_says_nothing_that_its_runtime_would_not_hear() {
        let haskell = load("healthy").unwrap();
        assert!(Workload { runparam: Some("s=4k".into()), ..haskell.clone() }.check().is_err());
        assert!(Workload { program: Some("nowhere".into()), ..haskell.clone() }.check().is_err());
        let ocaml = load("idle-domain").unwrap();
        assert!(Workload { packages: vec!["warp".into()], ..ocaml.clone() }.check().is_err());
        assert_eq!(ocaml.language, Language::Ocaml);
        assert!(Workload { rts: vec!["-N2".into()], ..ocaml.clone() }.check().is_err());
        let changed = Applied { rts: Some(Vec::new()), ..Applied::default() };
        assert!(Workload { remedy: Some(changed), ..ocaml.clone() }.check().is_err());
        assert!(Workload { host: Some(SharedHost { cpus: 1, virtual_cpus: 2 }), ..ocaml }.check().is_err());
        assert!(load("common").is_err() && load("allocator").is_err(), "programs without a claim");
        assert_eq!((find("allocator").ok(), find("stm-bench").ok()), (Some(Language::Ocaml), Some(Language::Haskell)));
        assert!(find("common").is_err() && find("nowhere").is_err());
    }

    #[test]
    fn ocaml_is_compiled_where_there_is_a_compiler() {
        let tree = |name| Toolchain { name, version: String::new(), root: Some("/tree".into()) };
        let compiler = |toolchain: &Toolchain| Language::Ocaml.compiler(toolchain);
        assert_eq!(compiler(&tree("ghc-9.6")).as_deref(), Some("ocaml-5.3.0"));
        assert_eq!(compiler(&tree("ghc-9.0")), None);
        // The machine's own GHC says nothing of an OCaml beside it.
        assert_eq!(compiler(&Toolchain { root: None, ..tree("ghc-9.6") }), None);
        assert!(Language::Haskell.compiles_on(&tree("ghc-9.0")));
    }

    #[test]
    fn a_remedy_changes_what_it_names() {
        let ill = Workload { quota_cpus: Some(0.5), cpus: Some(2), ..load("neighbour").unwrap() };
        let healed = ill.with(&Applied {
            quota_cpus: Some(0.0),
            neighbours_per_cpu: Some(0),
            args: Some(vec!["7".into()]),
            ..Applied::default()
        });
        assert_eq!((healed.quota_cpus, healed.neighbours_per_cpu, healed.cpus), (None, 0, Some(2)));
        assert_eq!((healed.program.as_deref(), healed.rts), (Some("throttled"), ill.rts.clone()));
        assert_eq!((healed.args, healed.name), (vec!["7".to_owned()], "neighbour-remedied".to_owned()));
        let own = Workload { program: None, ..ill };
        assert_eq!(own.with(&Applied::default()).program.as_deref(), Some("neighbour"));
    }
}
