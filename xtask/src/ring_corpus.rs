//! `corpus/ocaml-*`: small rings of real programs for each OCaml version, each with its content. Owns making
//! them (`xtask corpus`); `raw_ring` computes their content.

use crate::corpus::expected;
use crate::raw_ring::Expectation;
use crate::runner::target_folder;
use crate::toolchain::{Spec, Toolchain};
use crate::workload::repository;
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// How a ring is made.
struct Recipe {
    name: &'static str,
    args: [&'static str; 2],
    parameters: &'static str,
}

/// One ring that holds everything, and one that was overwritten many times.
const RECIPES: [Recipe; 2] = [
    Recipe { name: "whole", args: ["2", "60"], parameters: "e=13,d=3,s=16k" },
    Recipe { name: "overwritten", args: ["2", "400"], parameters: "e=12,d=3,s=4k" },
];

const MAX_BYTES: usize = 220 * 1024;
/// Number of names that the program registers, 128 bytes each.
const NAMES: usize = 3;

/// Remakes the rings and expectations for this toolchain's OCaml.
pub fn make(spec: &Spec, toolchain: &Toolchain, print: &mut dyn FnMut(&str)) -> Result<()> {
    let Some(version) = spec.ocaml else { return Ok(()) };
    let short = version.rsplit_once('.').map_or(version, |(short, _)| short);
    let scratch = target_folder().join("ring-corpus").join(short);
    let into = repository().join("corpus").join(format!("ocaml-{short}"));
    fs::create_dir_all(&scratch)?;
    fs::create_dir_all(&into)?;
    fs::copy(repository().join("corpus/ocaml/collect.ml"), scratch.join("collect.ml"))?;
    let mut compile = toolchain.command(OsStr::new("ocamlfind"), &scratch, &[&scratch]);
    compile.args(["ocamlopt", "-package", "runtime_events", "-linkpkg", "collect.ml", "-o", "collect.exe"]);
    let done = compile.output().context("ocamlfind cannot be run")?;
    ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for recipe in &RECIPES {
        let ring = trimmed(&run(toolchain, &scratch, recipe)?)?;
        ensure!(ring.len() < MAX_BYTES, "{} has {} bytes", recipe.name, ring.len());
        let expectation = Expectation::of(&ring)?;
        let target = into.join(recipe.name);
        fs::write(target.with_extension("events"), &ring)?;
        fs::write(target.with_extension("json"), serde_json::to_string_pretty(&expectation)? + "\n")?;
        print(&format!("ocaml-{short}/{}: {} bytes, {} words", recipe.name, ring.len(), expectation.words));
    }
    Ok(())
}

fn run(toolchain: &Toolchain, scratch: &Path, recipe: &Recipe) -> Result<Vec<u8>> {
    let rings = scratch.join(recipe.name);
    let _ = fs::remove_dir_all(&rings);
    fs::create_dir_all(&rings)?;
    let mut command = toolchain.command(scratch.join("collect.exe").as_os_str(), scratch, &[scratch]);
    command.args(recipe.args).env("OCAMLRUNPARAM", recipe.parameters);
    command.env("OCAML_RUNTIME_EVENTS_START", "1").env("OCAML_RUNTIME_EVENTS_PRESERVE", "1");
    let status = command.env("OCAML_RUNTIME_EVENTS_DIR", &rings).status()?;
    ensure!(status.success(), "collect.exe: {status}");
    let left: Vec<PathBuf> = fs::read_dir(&rings)?.flatten().map(|entry| entry.path()).collect();
    let [ring] = &left[..] else { anyhow::bail!("{} rings were left, not one", left.len()) };
    Ok(fs::read(ring)?)
}

/// Removes the empty part of the name table: a megabyte of zeros.
fn trimmed(ring: &[u8]) -> Result<Vec<u8>> {
    let names = usize::try_from(u64::from_le_bytes(ring.get(56..64).context("too short")?.try_into()?))?;
    Ok(ring.get(..names + NAMES * 128).context("too short")?.to_vec())
}

/// Every ring of the corpus with its expectation, named like `ocaml-5.3/whole`.
pub fn all() -> Result<Vec<(String, PathBuf, Expectation)>> {
    expected("events")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rings_match_their_expectations() {
        let all = all().unwrap();
        assert!(all.len() >= 4, "{} rings", all.len());
        for (name, ring, expectation) in all {
            assert_eq!(Expectation::of(&fs::read(ring).unwrap()).unwrap(), expectation, "{name}");
            assert_eq!(name.ends_with("overwritten"), !expectation.lost_words.is_empty(), "{name}");
            assert!(expectation.phase_ns.get(&11).is_some_and(|ns| *ns > 0), "{name}");
        }
    }
}
