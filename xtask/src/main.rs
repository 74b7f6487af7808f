//! `cargo xtask`: what developers and CI run in addition to `cargo build` and `cargo test`. Owns the
//! command line; every job is a module of the library.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use xtask::cache::cache;
use xtask::runner::{Runner, target_folder};
use xtask::toolchain::{ALL, Spec, Toolchain};
use xtask::{
    accounts, bench, corpus, demo, dependencies, effects, guest, overhead, purposes, ring_corpus, starts, stm_suite,
    tidy, truth, verify, waits, workload,
};

#[derive(Parser)]
#[command(about = "Toolchains, corpus, tidy checks, truth suite, benchmarks.")]
struct Arguments {
    #[command(subcommand)]
    job: Job,
    /// The rtscope to use.
    #[arg(long, global = true, default_value_os_t = target_folder().join("release/rtscope"))]
    rtscope: PathBuf,
}

#[derive(Subcommand)]
enum Job {
    /// Install the compilers that rtscope is tested with into the cache.
    Toolchains {
        /// Only this one.
        #[arg(long)]
        only: Option<String>,
        /// Install nothing, print what is installed.
        #[arg(long)]
        print: bool,
    },
    /// Compile a program of workloads/ and print its path.
    Build {
        /// Its folder in workloads/haskell or workloads/ocaml.
        program: String,
        /// With this toolchain (default: the first installed one).
        #[arg(long, value_name = "NAME")]
        on: Option<String>,
        /// GHC: without -threaded.
        #[arg(long)]
        plain: bool,
        /// GHC: two binaries, the second with rtscope-stm, the first with the same code but without its effect:
        /// all code lies at the same addresses, so that their times can be compared.
        #[arg(long, conflicts_with = "plain")]
        stm: bool,
    },
    /// Check what the compiler does not.
    Tidy {
        /// Only list the files of crates that name a runtime outside its own folders.
        #[arg(long)]
        runtimes: bool,
    },
    /// Print the table of thresholds for docs/findings/README.md from the rules.
    Findings,
    /// Write the bill of materials of rtscope as CycloneDX JSON.
    Sbom {
        /// The file to write.
        #[arg(long, short)]
        out: PathBuf,
    },
    /// Record a workload and print its report.
    Demo,
    /// Record workloads in the surroundings that they ask for: WORKLOAD.rtscope in a folder.
    Record {
        /// Their folders in workloads/haskell or workloads/ocaml.
        #[arg(required = true, value_name = "WORKLOAD")]
        workloads: Vec<String>,
        /// With this toolchain (default: the first one that compiles them).
        #[arg(long, value_name = "NAME")]
        on: Option<String>,
        /// Folder for the recordings; an existing one of the same name is replaced.
        #[arg(long, short)]
        out: PathBuf,
    },
    /// Run the workloads with known truth and count hits, misses, false alarms.
    Truth(truth::command::TruthArgs),
    /// Run programs with and without one kind of runtime work, and report how much of it gets the right purpose.
    Purposes(purposes::command::PurposesArgs),
    /// Record programs whose waits are known and count how many looks are right.
    Waits(waits::WaitsArgs),
    /// Measure reading speed, memory and the recorder's overhead.
    Bench {
        /// Pairs of runs for the overhead; 0 leaves it out.
        #[arg(long, default_value_t = 20)]
        pairs: usize,
    },
    /// Measure what recording costs a program, with few threads and with thousands.
    Overhead {
        /// Rounds of runs.
        #[arg(long, default_value_t = 20)]
        pairs: usize,
    },
    /// Record workloads as root, as another user and with `CAP_PERFMON`, and report the unknown part of their time.
    Accounts(accounts::AccountsArgs),
    /// Measure what a planned start changes, and how much time `rtscope run` adds.
    Starts {
        /// Pairs of runs.
        #[arg(long, default_value_t = 20)]
        pairs: usize,
    },
    /// Time workloads with and without their remedies, without a recorder.
    Effects {
        /// Only these workloads (default: those for OCaml).
        #[arg(long, num_args = 1.., value_name = "NAME")]
        only: Vec<String>,
        /// Runs of each workload.
        #[arg(long, default_value_t = 5)]
        repeats: usize,
    },
    /// Run thousands of short runs of the transaction scheduler's suite, and store the evidence of each fault.
    StmSuite(stm_suite::SuiteArgs),
    /// Compare `report --pauses` of a log with an independent computation.
    VerifyPauses {
        /// Eventlogs to compare.
        logs: Vec<PathBuf>,
    },
    /// Print what the independent computation finds in logs, as in corpus/.
    Raw {
        /// Eventlogs to read.
        logs: Vec<PathBuf>,
    },
    /// Remake the logs and expectations of corpus/.
    Corpus {
        /// Only OCaml's rings.
        #[arg(long)]
        rings: bool,
        /// Only the log of this name.
        #[arg(long, conflicts_with = "rings")]
        log: Option<String>,
    },
    /// Boot guests and store their kernels' files: fixtures/machines.
    Fixtures {
        /// Only this one.
        #[arg(long)]
        only: Option<String>,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether everything succeeded.
fn run(arguments: Arguments) -> Result<bool> {
    let mut print = |line: &str| println!("{line}");
    let rtscope = arguments.rtscope;
    match arguments.job {
        Job::Toolchains { only, print } => toolchains(only.as_deref(), print),
        Job::Build { program, on, plain, stm } => {
            let toolchain = on.as_deref().map_or_else(first_toolchain, installed)?;
            let language = workload::find(&program)?;
            let built = if stm {
                let both = [false, true].map(|lead| workload::build_with_stm(&program, lead, &toolchain, &builds()?));
                both.into_iter().collect::<Result<Vec<_>>>()?
            } else {
                vec![workload::build(language, &program, !plain, &toolchain, &builds()?)?]
            };
            built.iter().for_each(|built| println!("{}", built.display()));
            Ok(true)
        }
        Job::Findings => {
            print!("{}", tidy::thresholds(&workload::repository())?);
            Ok(true)
        }
        Job::Tidy { runtimes: true } => {
            tidy::runtimes(&workload::repository())?.iter().for_each(|file| println!("{}", file.display()));
            Ok(true)
        }
        Job::Tidy { runtimes: false } => {
            let wrong = tidy::check(&workload::repository())?;
            wrong.iter().for_each(|line| println!("{line}"));
            println!(
                "tidy: {}",
                if wrong.is_empty() { "nothing to mend".into() } else { format!("{} to mend", wrong.len()) }
            );
            Ok(wrong.is_empty())
        }
        Job::Sbom { out } => {
            let bom = dependencies::sbom::document(&workload::repository())?;
            fs::write(&out, serde_json::to_string_pretty(&bom)? + "\n")?;
            println!("{}: {} components", out.display(), bom["components"].as_array().map_or(0, Vec::len));
            Ok(true)
        }
        Job::Demo => demo::run(&Runner::new(&rtscope)?, &mut print).map(|()| true),
        Job::Record { workloads, on, out } => record(&rtscope, &workloads, on.as_deref(), &out).map(|()| true),
        Job::Truth(options) => truth::command::run(&rtscope, &options, &mut print),
        Job::Purposes(options) => purposes::command::run(&rtscope, &options, &mut print),
        Job::Waits(options) => waits::run(&rtscope, &options, &mut print),
        Job::Starts { pairs } => {
            starts::run(&Runner::new(&rtscope)?, &first_toolchain()?, pairs, &mut print).map(|()| true)
        }
        Job::StmSuite(options) => stm_suite::run(&options, &|line| println!("{line}")),
        Job::Bench { pairs } => {
            let (runner, toolchain) = (Runner::new(&rtscope)?, first_toolchain()?);
            let wrong = bench::reading(&runner, &toolchain, &mut print)?;
            if pairs > 0 {
                overhead::run(&runner, &toolchain, pairs, &mut print)?;
            }
            wrong.iter().for_each(|line| println!("NOT MET: {line}"));
            Ok(wrong.is_empty())
        }
        Job::Overhead { pairs } => {
            overhead::run(&Runner::new(&rtscope)?, &first_toolchain()?, pairs, &mut print).map(|()| true)
        }
        Job::Accounts(options) => accounts::run(&options, &rtscope, &mut print).map(|()| true),
        Job::Effects { only, repeats } => {
            let there: Vec<Toolchain> = ALL.iter().filter_map(|spec| spec.installed(&cache())).collect();
            effects::run(&Runner::new(&rtscope)?, &there, &only, repeats, &mut print).map(|()| true)
        }
        Job::VerifyPauses { logs } => verify_all(&rtscope, &logs),
        Job::Raw { logs } => {
            for log in logs {
                let found = corpus::Expectation::of(&std::fs::read(log)?)?;
                println!("{}", serde_json::to_string(&found)?);
            }
            Ok(true)
        }
        Job::Fixtures { only } => {
            let scratch = target_folder().join("guests");
            guest::harvest::all(only.as_deref(), &scratch, &mut print).map(|()| true)
        }
        Job::Corpus { rings, log } => {
            for spec in ALL.iter().filter(|spec| !rings || spec.ocaml.is_some()) {
                let toolchain = spec.install(&cache(), &mut print)?;
                if !rings {
                    corpus::make(&toolchain, log.as_deref(), &mut print)?;
                }
                if log.is_none() {
                    ring_corpus::make(spec, &toolchain, &mut print)?;
                }
            }
            Ok(true)
        }
    }
}

fn record(rtscope: &Path, workloads: &[String], on: Option<&str>, out: &Path) -> Result<()> {
    let runner = Runner::new(rtscope)?;
    fs::create_dir_all(out)?;
    for name in workloads {
        let workload = workload::load(name)?;
        let mut there = ALL.iter().filter_map(|spec| spec.installed(&cache()));
        let toolchain = match on {
            Some(on) => installed(on)?,
            None => there
                .find(|toolchain| workload.compiles_on(toolchain))
                .with_context(|| format!("no compiler for {name} is installed: `cargo xtask toolchains`"))?,
        };
        let outcome = runner.run(&workload, &toolchain)?;
        let capture = out.join(format!("{name}.rtscope"));
        if capture.exists() {
            fs::remove_dir_all(&capture)?;
        }
        fs::rename(&outcome.capture, &capture)?;
        println!("{}: {}", capture.display(), outcome.findings().join(", "));
    }
    Ok(())
}

fn installed(name: &str) -> Result<Toolchain> {
    let there = Spec::find(name)?.installed(&cache());
    there.with_context(|| format!("{name} is not installed: `cargo xtask toolchains --only {name}`"))
}

/// Folder of compiled programs.
fn builds() -> Result<PathBuf> {
    let folder = target_folder().join("workloads");
    fs::create_dir_all(&folder)?;
    Ok(fs::canonicalize(folder)?)
}

fn first_toolchain() -> Result<Toolchain> {
    match ALL.iter().find_map(|spec| spec.installed(&cache())) {
        Some(toolchain) => Ok(toolchain),
        None => bail!("no compiler is installed: `cargo xtask toolchains`"),
    }
}

fn toolchains(only: Option<&str>, print: bool) -> Result<bool> {
    let specs: Vec<&Spec> = match only {
        Some(name) => vec![Spec::find(name)?],
        None => ALL.iter().collect(),
    };
    let mut all = true;
    for spec in specs {
        let there = if print {
            spec.installed(&cache())
        } else {
            Some(spec.install(&cache(), &mut |line| println!("{line}"))?)
        };
        let ocaml = spec.ocaml.map_or_else(String::new, |version| format!(", OCaml {version}"));
        match there {
            Some(Toolchain { root: None, .. }) => println!("{}: GHC {}, this machine's own", spec.name, spec.ghc),
            Some(Toolchain { root: Some(root), .. }) => {
                println!("{}: GHC {}{ocaml} in {}", spec.name, spec.ghc, root.display());
            }
            None => {
                all = false;
                println!("{}: not installed; as root: `cargo xtask toolchains --only {}`", spec.name, spec.name);
            }
        }
    }
    Ok(all)
}

fn verify_all(rtscope: &Path, logs: &[PathBuf]) -> Result<bool> {
    let mut same = true;
    for log in logs {
        let verdict = verify::verify(rtscope, log)?;
        verdict.differences.iter().take(10).for_each(|line| println!("  {line}"));
        println!("{}: {} pauses, {} differences", log.display(), verdict.pauses, verdict.differences.len());
        same &= verdict.differences.is_empty();
    }
    Ok(same)
}
