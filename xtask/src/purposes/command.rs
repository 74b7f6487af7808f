//! `cargo xtask purposes`: its options and the pairs that remain to be run.

use super::claims::{PROGRAM, RIGHT_MIN, claims};
use super::pair::Pair;
use super::row::PurposeRow;
use super::table;
use crate::cache::cache;
use crate::commit::commit;
use crate::rows::Rows;
use crate::runner::{Runner, target_folder};
use crate::toolchain::{ALL, Toolchain};
use crate::workload::Language;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};

/// Share of the runtime's samples that should have a purpose.
pub const WITH_MIN: f64 = 0.98;

/// What to run.
#[derive(Args, Clone, Debug)]
pub struct PurposesArgs {
    /// Seeds, each of which draws its sizes.
    #[arg(long, num_args = 1.., default_values_t = [1, 2, 3])]
    pub seeds: Vec<u64>,
    /// Only these kinds of work.
    #[arg(long, num_args = 1.., value_name = "KIND")]
    pub only: Vec<String>,
    /// Only this toolchain.
    #[arg(long, value_name = "NAME")]
    pub on: Option<String>,
    /// Rows go here; existing ones of this commit are not made again.
    #[arg(long, default_value_os_t = target_folder().join("purposes.jsonl"))]
    pub rows: PathBuf,
    /// Run nothing; print the table of the rows.
    #[arg(long)]
    pub table: bool,
}

/// Runs what is missing and prints the table; returns whether all demands are met.
pub fn run(rtscope: &Path, options: &PurposesArgs, print: &mut dyn FnMut(&str)) -> Result<bool> {
    let mut rows = Rows::open(&options.rows)?;
    if !options.table {
        let there: Vec<Toolchain> = ALL.iter().filter_map(|spec| spec.installed(&cache())).collect();
        let asked = |toolchain: &&Toolchain| options.on.as_ref().is_none_or(|on| on == toolchain.name);
        let toolchains: Vec<&Toolchain> = there.iter().filter(asked).collect();
        ensure!(!toolchains.is_empty(), "no compiler is installed: `cargo xtask toolchains`");
        let (runner, commit) = (Runner::new(rtscope)?, commit(&["crates", "workloads"])?);
        for seed in &options.seeds {
            for toolchain in &toolchains {
                for language in Language::ALL.into_iter().filter(|language| language.compiles_on(toolchain)) {
                    kinds(&runner, (toolchain, language), (*seed, &commit), options, &mut rows, print)?;
                }
            }
        }
    }
    print(table::draw(&rows.all).trim_end());
    Ok(rows.all.iter().all(|row| row.right >= RIGHT_MIN && row.with_purpose >= WITH_MIN))
}

fn kinds(
    runner: &Runner,
    (toolchain, language): (&Toolchain, Language),
    (seed, commit): (u64, &str),
    options: &PurposesArgs,
    rows: &mut Rows<PurposeRow>,
    print: &mut dyn FnMut(&str),
) -> Result<()> {
    let asked = |kind: &str| options.only.is_empty() || options.only.iter().any(|only| only == kind);
    let family = if language == Language::Haskell { "ghc" } else { "ocaml" };
    for claim in claims(language)?.iter().filter(|claim| asked(&claim.kind)) {
        if rows.all.iter().any(|row| row.is_of(seed, commit, (toolchain.name, family), &claim.kind)) {
            continue;
        }
        let claim = claim.drawn(seed);
        let pair = Pair { runner, toolchain, language, claim: &claim };
        let scored = pair.judged().with_context(|| format!("{PROGRAM} {} on {}", claim.kind, toolchain.name))?;
        let row = PurposeRow::of(seed, commit, toolchain.name, (&claim.kind, claim.amount), &scored);
        print(&format!(
            "seed {seed} {} {}: {:.1} % right of {:.0} ms; {} samples, {:.1} % with a purpose; {}",
            row.runtime,
            row.kind,
            100.0 * row.right,
            row.known_ns / 1e6,
            row.samples,
            100.0 * row.with_purpose,
            row.elsewhere
        ));
        rows.add(vec![row])?;
    }
    Ok(())
}
