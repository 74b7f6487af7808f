//! The workspace's dependencies as cargo lists them: checks licences and sources against `deny.toml`, and
//! makes a release's bill of materials. Owns reading both; cargo-deny checks advisories.

pub mod sbom;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The source that crates may come from.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The part of `deny.toml` that is read.
#[derive(Debug, Deserialize)]
struct Deny {
    licenses: Licences,
}

#[derive(Debug, Deserialize)]
struct Licences {
    allow: Vec<String>,
    #[serde(default)]
    exceptions: Vec<Exception>,
}

#[derive(Debug, Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

impl Licences {
    /// Whether the package `name` may have this licence.
    fn permit(&self, name: &str, licence: &str) -> Result<bool> {
        let own = self.exceptions.iter().filter(|exception| exception.name == name).flat_map(|one| &one.allow);
        let allowed = self.allow.iter().chain(own).map(|text| Licensee::parse(text).with_context(|| text.clone()));
        let allowed = allowed.collect::<Result<Vec<_>>>()?;
        let asked = Expression::parse_mode(licence, ParseMode::LAX).with_context(|| format!("{name}: {licence}"))?;
        Ok(asked.evaluate(|one| allowed.iter().any(|licence| licence.satisfies(one))))
    }
}

/// One sentence for each dependency whose licence or source `deny.toml` does not permit. Needs no network
/// once the crates are downloaded; checks this machine's platform only.
///
/// # Errors
/// cargo cannot be run, or `deny.toml` cannot be read.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join("deny.toml")).context("deny.toml")?;
    let deny: Deny = toml::from_str(&text).context("deny.toml")?;
    wrong(&deny.licenses, &metadata(root)?)
}

fn wrong(licences: &Licences, metadata: &Value) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for package in metadata["packages"].as_array().context("cargo names no packages")? {
        let (name, version) = (text(package, "name"), text(package, "version"));
        // A package without a source belongs to this workspace.
        let Some(source) = package["source"].as_str() else { continue };
        if source != CRATES_IO {
            wrong.push(format!("{name} {version} comes from {source}, which deny.toml does not permit"));
        }
        match package["license"].as_str() {
            Some(licence) if licences.permit(name, licence)? => {}
            Some(licence) => {
                wrong.push(format!("{name} {version} has the licence {licence}: deny.toml permits it not"))
            }
            None => wrong.push(format!("{name} {version} says no licence that can be read")),
        }
    }
    Ok(wrong)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// Cargo's metadata of the workspace and all its dependencies on this platform.
fn metadata(root: &Path) -> Result<Value> {
    let host = output(Command::new("rustc").arg("-vV"))?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--locked", "--format-version", "1", "--filter-platform", host]).current_dir(root);
    Ok(serde_json::from_str(&output(&mut cargo)?)?)
}

/// The output of a command.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_owned();
    let done = command.output().with_context(|| format!("{} cannot be run", program.display()))?;
    ensure!(done.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8(done.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::repository;
    use serde_json::json;

    fn licences() -> Licences {
        let own = Exception { name: "own".into(), allow: vec!["MPL-2.0".into()] };
        Licences { allow: vec!["MIT".into(), "Apache-2.0".into(), "Unicode-3.0".into()], exceptions: vec![own] }
    }

    #[test]
    fn a_licence_is_read_as_an_expression() {
        let permitted = |name: &str, licence: &str| licences().permit(name, licence).unwrap();
        for licence in ["MIT", "MIT/GPL-3.0", "(MIT OR GPL-3.0-only) AND Unicode-3.0", "GPL-2.0-only OR MIT"] {
            assert!(permitted("any", licence), "{licence}");
        }
        for licence in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "MPL-2.0", "Apache-2.0 WITH LLVM-exception"] {
            assert!(!permitted("any", licence), "{licence}");
        }
        assert!(permitted("own", "MPL-2.0") && !permitted("own", "GPL-3.0-only"));
        assert!(licences().permit("any", "as you like").is_err());
    }

    #[test]
    fn what_is_not_permitted_is_named() {
        let package = |name: &str, source: Value, licence: Value| json!({"name": name, "version": "1.0.0", "source": source, "license": licence});
        let metadata = json!({"packages": [
            package("good", CRATES_IO.into(), "MIT".into()),
            package("ours", Value::Null, Value::Null),
            package("bad", CRATES_IO.into(), "GPL-3.0-only".into()),
            package("silent", CRATES_IO.into(), Value::Null),
            package("elsewhere", "git+https://example.org/elsewhere".into(), "MIT".into()),
        ]});
        let found = wrong(&licences(), &metadata).unwrap();
        let names: Vec<&str> = found.iter().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(names, ["bad", "silent", "elsewhere"], "{found:?}");
    }

    #[test]
    fn this_workspace_has_what_it_may_have() {
        assert_eq!(check(&repository()).unwrap(), [""; 0]);
    }
}
