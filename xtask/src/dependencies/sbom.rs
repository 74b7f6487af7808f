//! `xtask sbom`: the bill of materials of `rtscope`, as CycloneDX JSON. Owns its content: the program, each
//! package that is linked into it or builds it, with licence and checksum, and their dependencies. The
//! output is reproducible: it contains no time and no random number.

use super::{metadata, text};
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use spdx::Expression;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The package that is released.
const PROGRAM: &str = "rtscope";

/// The document of the repository at `root`.
///
/// # Errors
/// cargo cannot be run, or `Cargo.lock` cannot be read.
pub fn document(root: &Path) -> Result<Value> {
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock")?;
    of(&metadata(root)?, &checksums(&lock)?)
}

/// Checksums by name and version.
type Checksums = BTreeMap<(String, String), String>;

fn checksums(lock: &str) -> Result<Checksums> {
    let lock: toml::Table = lock.parse().context("Cargo.lock")?;
    let packages = lock.get("package").and_then(toml::Value::as_array).context("Cargo.lock has no packages")?;
    let field = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let one = |package| Some(((field(package, "name")?, field(package, "version")?), field(package, "checksum")?));
    Ok(packages.iter().filter_map(one).collect())
}

fn of(metadata: &Value, checksums: &Checksums) -> Result<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|package| (text(&package, "id").to_owned(), package)).collect();
    let takes: BTreeMap<String, BTreeSet<String>> = list(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| (text(node, "id").to_owned(), list(&node["deps"]).iter().filter_map(taken).collect()))
        .collect();
    let program = packages.values().find(|package| text(package, "name") == PROGRAM).context("no rtscope here")?;
    let closed = closure(text(program, "id"), &takes);
    let reference = |id: &String| packages.get(id).map(name_and_version);
    let components: Vec<Value> = closed
        .iter()
        .filter_map(|id| packages.get(id))
        .filter(|package| text(package, "name") != PROGRAM)
        .map(|package| component(package, "library", checksums))
        .collect();
    let dependencies: Vec<Value> = closed
        .iter()
        .filter_map(|id| Some(json!({"ref": reference(id)?, "dependsOn": takes.get(id)?.iter().filter_map(reference).collect::<Vec<_>>()})))
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(program, "application", checksums)},
        "components": components,
        "dependencies": dependencies,
    }))
}

/// The package that an edge leads to, unless only tests use it.
fn taken(edge: &Value) -> Option<String> {
    let kinds = edge["dep_kinds"].as_array()?;
    let shipped = kinds.iter().any(|kind| kind["kind"].is_null() || kind["kind"] == "build");
    shipped.then(|| text(edge, "pkg").to_owned())
}

fn closure(from: &str, takes: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(id) = left.pop() {
        if seen.insert(id.clone()) {
            left.extend(takes.get(&id).into_iter().flatten().cloned());
        }
    }
    seen
}

fn name_and_version(package: &Value) -> String {
    format!("{}@{}", text(package, "name"), text(package, "version"))
}

fn component(package: &Value, kind: &str, checksums: &Checksums) -> Value {
    let mut fields = Map::new();
    let mut set = |key: &str, value: Value| fields.insert(key.into(), value);
    set("type", kind.into());
    set("bom-ref", name_and_version(package).into());
    set("name", text(package, "name").into());
    set("version", text(package, "version").into());
    if let Some(licence) = package["license"].as_str() {
        let canonical = Expression::canonicalize(licence).ok().flatten();
        set("licenses", json!([{"expression": canonical.unwrap_or_else(|| licence.into())}]));
    }
    let key = (text(package, "name").to_owned(), text(package, "version").to_owned());
    if let Some(checksum) = checksums.get(&key) {
        set("hashes", json!([{"alg": "SHA-256", "content": checksum}]));
        set("purl", format!("pkg:cargo/{}", name_and_version(package)).into());
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::repository;

    #[test]
    fn what_is_linked_is_in_it_and_what_only_tests_take_is_not() {
        let root = repository();
        let bom = document(&root).unwrap();
        assert_eq!(bom, document(&root).unwrap());
        let names: Vec<&str> = bom["components"].as_array().unwrap().iter().map(|one| text(one, "name")).collect();
        for there in ["rtscope-host", "serde_json", "rusqlite", "libsqlite3-sys"] {
            assert!(names.contains(&there), "{there}: {names:?}");
        }
        for absent in ["rtscope", "xtask", "proptest", "spdx"] {
            assert!(!names.contains(&absent), "{absent}");
        }
        assert_eq!(bom["metadata"]["component"]["name"], PROGRAM);
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_crate_has_licence_and_checksum() {
        let bom = document(&repository()).unwrap();
        let components = bom["components"].as_array().unwrap();
        let mut known: BTreeSet<&str> = components.iter().map(|one| text(one, "bom-ref")).collect();
        known.insert(text(&bom["metadata"]["component"], "bom-ref"));
        for row in bom["dependencies"].as_array().unwrap() {
            for on in row["dependsOn"].as_array().unwrap() {
                assert!(known.contains(on.as_str().unwrap()), "{row}");
            }
        }
        for one in components {
            let licence = text(&one["licenses"][0], "expression");
            assert!(Expression::parse(licence).is_ok(), "{one}");
            let ours = text(one, "name").starts_with("rtscope-");
            assert_eq!(one["hashes"][0]["content"].as_str().is_none(), ours, "{one}");
        }
    }
}
