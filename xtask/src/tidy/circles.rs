//! Checks that no files of a crate use each other in a circle, and that the folders of `crates/analyze` use
//! only those in their table. Owns both checks; `modules` owns what counts as a use.

use super::modules::Uses;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A unit (a folder of a crate, or a file at its top level) and the units that it may use.
pub(super) type AllowedUses = [(&'static str, &'static [&'static str])];

/// Most floors in a table of folders.
const FLOORS_MAX: usize = 7;

/// One sentence for each group of files that use each other in a circle.
pub(super) fn circles(uses: &Uses) -> Vec<String> {
    let mut used: BTreeMap<&Path, Vec<&Path>> = BTreeMap::new();
    for (from, to) in uses.keys() {
        used.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&Path, BTreeSet<&Path>> = used.keys().map(|file| (*file, reached(file, &used))).collect();
    let reaches = |from: &Path, to: &Path| reached.get(from).is_some_and(|all| all.contains(to));
    let mut reported: BTreeSet<&Path> = BTreeSet::new();
    let mut wrong = Vec::new();
    for file in used.keys().filter(|file| reaches(file, file)) {
        if reported.contains(file) {
            continue;
        }
        let group: BTreeSet<&Path> =
            used.keys().copied().filter(|other| reaches(file, other) && reaches(other, file)).collect();
        let inside = uses.iter().filter(|((from, to), _)| group.contains(&**from) && group.contains(&**to));
        let each = inside.map(|((from, to), path)| format!("\n  {} > {} ({path})", from.display(), to.display()));
        wrong.push(format!("{} files use each other in a circle:{}", group.len(), each.collect::<String>()));
        reported.extend(group);
    }
    wrong
}

fn reached<'p>(from: &'p Path, used: &BTreeMap<&'p Path, Vec<&'p Path>>) -> BTreeSet<&'p Path> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        let next = used.get(file).into_iter().flatten().filter(|next| seen.insert(**next));
        open.extend(next);
    }
    seen
}

/// One sentence for each use between units of the crate in `source` that `table` does not permit, and for a
/// table that has a circle or too many floors.
pub(super) fn folders(uses: &Uses, source: &Path, table: &AllowedUses) -> Vec<String> {
    let mut wrong = floors(table);
    let mut reported = BTreeSet::new();
    for ((from, to), path) in uses {
        let (Some(unit), Some(other)) = (unit(from, source), unit(to, source)) else { continue };
        // `lib.rs` declares the units.
        if unit == other || unit == "lib" {
            continue;
        }
        match table.iter().find(|(known, _)| *known == unit) {
            Some((_, allowed)) if allowed.contains(&&*other) => {}
            Some(_) => wrong.push(format!("{unit} must not use {other}: {} does ({path})", from.display())),
            None if reported.insert(unit.clone()) => {
                wrong.push(format!("{unit} is a folder that tidy has no arrows for"))
            }
            None => {}
        }
    }
    wrong
}

/// The folder of a file, or the file's name if it is at the top level.
fn unit(file: &Path, source: &Path) -> Option<String> {
    let inside: PathBuf = file.strip_prefix(source).ok()?.components().take(1).collect();
    Some(inside.with_extension("").display().to_string())
}

/// Removes units that use nothing that remains, floor by floor.
fn floors(table: &AllowedUses) -> Vec<String> {
    let mut left: BTreeSet<&str> = table.iter().map(|(unit, _)| *unit).collect();
    let mut floors = 0;
    while !left.is_empty() {
        let stands = |unit: &&str| {
            let row = table.iter().find(|(known, _)| known == unit);
            row.is_some_and(|(_, allowed)| allowed.iter().any(|other| left.contains(other)))
        };
        let above: BTreeSet<&str> = left.iter().copied().filter(stands).collect();
        if above.len() == left.len() {
            let names: Vec<&str> = above.into_iter().collect();
            return vec![format!("the arrows of {} make a circle", names.join(", "))];
        }
        left = above;
        floors += 1;
    }
    let many = floors > FLOORS_MAX;
    many.then(|| format!("the table of folders has {floors} floors, more than {FLOORS_MAX}")).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::modules::tests::of;
    use super::*;

    #[test]
    fn a_circle_is_reported_with_its_uses() {
        let straight = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "pub struct B;")];
        assert_eq!(circles(&of(&straight).uses()), [""; 0]);
        let child = [("lib.rs", "mod a;"), ("a.rs", "mod b; pub struct A(b::B);"), ("a/b.rs", "use super::A;")];
        let sentences = circles(&of(&child).uses());
        assert!(
            sentences.len() == 1 && sentences[0].starts_with("2 files") && sentences[0].contains("(b::B)"),
            "{sentences:?}"
        );
        let three = [
            ("lib.rs", "mod a; mod b; mod c; mod d; use a::A; use d::D;"),
            ("a.rs", "pub struct A; use crate::b::B;"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "use super::a::A;"),
            ("d.rs", "use super::a::A;"),
        ];
        let sentences = circles(&of(&three).uses());
        assert!(
            sentences.len() == 1 && sentences[0].starts_with("3 files") && !sentences[0].contains("d.rs"),
            "{sentences:?}"
        );
    }

    #[test]
    fn folders_use_what_their_table_names() {
        let files = [
            ("lib.rs", "mod low; mod high; mod bottom;"),
            ("low/mod.rs", "mod one; pub struct L; use crate::bottom::B;"),
            ("low/one.rs", "use crate::high::H;"),
            ("high.rs", "pub struct H; use crate::low::L;"),
            ("bottom.rs", "pub struct B;"),
        ];
        let found = |table: &AllowedUses| folders(&of(&files).uses(), Path::new(""), table);
        let back = found(&[("bottom", &[]), ("low", &["bottom"]), ("high", &["low"])]);
        assert!(back.len() == 1 && back[0].starts_with("low must not use high: "), "{back:?}");
        let circle = found(&[("bottom", &[]), ("low", &["bottom", "high"]), ("high", &["low"])]);
        assert_eq!(circle, ["the arrows of high, low make a circle"]);
        assert_eq!(found(&[("low", &["bottom", "high"])]), ["high is a folder that tidy has no arrows for"]);
    }

    #[test]
    fn tables_have_seven_floors_at_most() {
        let chain: [(&str, &[&str]); 8] = [
            ("a", &[]),
            ("b", &["a"]),
            ("c", &["b"]),
            ("d", &["c"]),
            ("e", &["d"]),
            ("f", &["e"]),
            ("g", &["f"]),
            ("h", &["g", "a"]),
        ];
        assert_eq!(floors(&chain), ["the table of folders has 8 floors, more than 7"]);
        assert_eq!(floors(&chain[..7]), [""; 0]);
    }
}
