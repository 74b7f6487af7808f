//! Workloads with known truth: `workloads/LANGUAGE/NAME/workload.toml` says how a workload is built and run,
//! and which finding is true of it. Owns the file's format and the build; `runner` runs workloads.

use crate::draw::{Draw, TemplateFiller};
use crate::ocaml;
use crate::package::Packages;
use crate::toolchain::Toolchain;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Value of `expect` for a workload in which nothing is to be found.
pub const NOTHING: &str = "nothing";

/// The language of a workload, given by its folder.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// Haskell, compiled with GHC.
    #[default]
    Haskell,
    /// OCaml 5.
    Ocaml,
}

impl Language {
    /// All languages.
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

    /// The compiler's name in tables: `ghc-9.6`, `ocaml-5.3.0`.
    pub fn compiler(self, toolchain: &Toolchain) -> Option<String> {
        match self {
            Language::Haskell => Some(toolchain.name.to_owned()),
            Language::Ocaml => toolchain.ocaml().map(|version| format!("ocaml-{version}")),
        }
    }
}

/// The content of a `workload.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Name of its folder.
    #[serde(skip)]
    pub name: String,
    /// Language of its program.
    #[serde(skip)]
    pub language: Language,
    /// One sentence: what it does, and why its truth holds.
    pub about: String,
    /// Folder of its program, if that is not its own.
    pub program: Option<String>,
    /// GHC: whether it is linked with `-threaded`.
    #[serde(default = "yes")]
    pub threaded: bool,
    /// The program's own arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// GHC: runtime flags.
    #[serde(default)]
    pub rts: Vec<String>,
    /// OCaml: the value of `OCAMLRUNPARAM`, such as `s=4k`.
    pub runparam: Option<String>,
    /// The command that starts the program, with its arguments.
    #[serde(skip)]
    pub launcher: Vec<String>,
    /// Eventlog classes, if the log is made without a recorder.
    pub classes: Option<String>,
    /// Number of CPUs that it is pinned to, from 0; absent: all.
    pub cpus: Option<usize>,
    /// Quota of its control group, in CPUs.
    pub quota_cpus: Option<f64>,
    /// Runs it in a virtual machine whose host has fewer CPUs than it promises.
    pub host: Option<SharedHost>,
    /// Number of spinning processes outside its group, pinned to each of its CPUs.
    #[serde(default)]
    pub neighbours_per_cpu: usize,
    /// Approximate run time; for a server: time until it listens.
    pub seconds: f64,
    /// Id of the finding that must come first, or [`NOTHING`].
    pub expect: String,
    /// Id of a second finding that must be present; it is known to cost less.
    pub second: Option<String>,
    /// Ids of other true findings, which are no false alarms after the first.
    #[serde(default)]
    pub also: Vec<String>,
    /// The workload whose healthy twin this is.
    pub twin_of: Option<String>,
    /// Options for `rtscope record`: `--detail full`.
    #[serde(default)]
    pub record: Vec<String>,
    /// Environment variables of the program.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Text that the first finding's claim or evidence must contain, such as a symbol.
    pub names: Option<String>,
    /// The finding's remedy as it is applied here.
    pub remedy: Option<Applied>,
    /// Settings to draw at random for each run of the truth suite: they make it a family.
    pub draw: Option<Draw>,
    /// Whether the truth suite runs it (the churner only measures, servers do not end).
    #[serde(default = "yes")]
    pub judged: bool,
    /// GHC: packages that do not come with it; a toolchain may lack them.
    #[serde(default)]
    pub packages: Vec<String>,
    /// For a program that answers requests until it is stopped: see `serving`.
    pub server: Option<Server>,
}

/// How to send requests to a server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// The part of the URL after host and port: `/quiz`.
    pub path: String,
}

/// The placeholder for the port in a server's arguments.
pub const PORT: &str = "{port}";

/// A host and the virtual machine on it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedHost {
    /// Number of CPUs of the host.
    pub cpus: usize,
    /// Number of CPUs of the virtual machine.
    pub virtual_cpus: usize,
}

/// What a remedy changes. Absent settings stay as they are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// Index of the remedy in the finding: its `metric` must improve.
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
    /// Number of neighbours per CPU.
    pub neighbours_per_cpu: Option<usize>,
    /// Number of CPUs that it is pinned to.
    pub cpus: Option<usize>,
    /// Another host and virtual machine.
    pub host: Option<SharedHost>,
    /// Options for `rtscope record`.
    pub record: Option<Vec<String>>,
    /// The folder of the program to run instead: a change of code.
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

/// The workload called `name`; names are unique across languages.
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
    /// Checks that its programs exist, and that it sets nothing that its runtime would ignore.
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

    /// Whether `toolchain` compiles it and has the packages that it needs.
    pub fn compiles_on(&self, toolchain: &Toolchain) -> bool {
        self.language.compiles_on(toolchain) && self.packages.iter().all(|package| toolchain.has_package(package))
    }

    /// Compiles it into the folder `into` unless the binary is newer than its sources; returns the binary.
    pub fn build(&self, toolchain: &Toolchain, into: &Path) -> Result<PathBuf> {
        build(self.language, self.program(), self.threaded, toolchain, into)
    }

    /// A member of its family; the workload itself if there is none.
    pub fn drawn(&self, seed: u64) -> Result<Workload> {
        let Some(draw) = &self.draw else { return Ok(self.clone()) };
        let mut one = self.clone();
        let mut drawing = TemplateFiller::new(seed);
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
            // If settings are drawn, take the change from what the report prints.
            remedy.rts = remedy.rts.take().filter(|_| draw.rts.is_none());
            remedy.runparam = remedy.runparam.take().filter(|_| draw.runparam.is_none());
        }
        Ok(one)
    }

    /// How it is run, as text: its arguments and its runtime's options.
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

    /// The workload with a remedy applied: what `change` leaves open stays.
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

/// The language of the program with this name, judged or not.
pub fn find(program: &str) -> Result<Language> {
    let has = |language: &Language| language.folder().join(program).join(language.main()).exists();
    Language::ALL
        .into_iter()
        .find(has)
        .with_context(|| format!("no program {program}: no workloads/LANGUAGE/{program}"))
}

/// Compiles the program in a folder of `language` into the folder `into`, unless the binary is newer than the
/// sources; returns the binary. `threaded` is for GHC.
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
    // Others that want it now, in this process or another, wait for the lock.
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

/// Compiles a Haskell program with the package that counts and schedules its transactions; without `lead`,
/// with all of the package's code but without its effect. Returns the binary.
///
/// The position of the runtime's code in a program changes how long transactions take, by a fifth for a linked
/// list: compare times of these two binaries only.
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
                "{}: its heap is not looked at",
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
    fn a_workload_sets_nothing_that_its_runtime_ignores() {
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
        // The machine's own GHC implies nothing about an OCaml installed with it.
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
