//! `xtask tidy`: what the compiler and clippy do not check. Dependencies between crates and between folders,
//! circles of files, places that name a runtime, names in documents, unwanted words, thresholds in the
//! documentation, licences, file sizes, places of `unsafe`, and that every module says what it owns. Reads
//! the tracked files; refuses to change them.

mod circles;
mod modules;
mod runtimes;
mod words;

use crate::dependencies::{self, output};
use crate::runner::target_folder;
use anyhow::{Context, Result, ensure};
use modules::Crate;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates that a crate may use: there are no cycles.
const ARROWS: [(&str, &[&str]); 20] = [
    ("model", &[]),
    ("decode", &["model"]),
    ("analyze", &["model"]),
    ("heap", &["model"]),
    ("tune", &["model"]),
    ("store", &["tune", "table"]),
    ("table", &[]),
    ("load", &["model"]),
    ("encode", &["model", "decode", "analyze", "table"]),
    ("levels", &["decode"]),
    ("host", &["model", "decode", "heap"]),
    ("terminal", &["model", "draw"]),
    ("draw", &["model"]),
    ("read", &["model", "decode", "analyze", "encode", "host", "terminal"]),
    ("report", &["model", "analyze", "terminal", "draw"]),
    ("view", &["model", "decode", "analyze", "draw", "encode", "levels", "terminal", "read", "report"]),
    ("lab", &["model", "decode", "analyze", "host", "load", "store", "tune", "terminal", "draw", "read", "report"]),
    ("rtscope", &["model", "decode", "analyze", "encode", "host", "terminal", "draw", "read", "report", "view", "lab"]),
    ("testkit", &["model", "decode", "analyze", "store", "tune", "host", "xtask"]),
    ("xtask", &[]),
];

/// What a folder of `crates/analyze`, or a file at its top level, may use: seven floors, no cycles.
const FOLDERS: [(&str, &[&str]); 17] = [
    ("results", &[]),
    ("basis", &[]),
    ("kernel", &["basis", "results"]),
    ("recording", &["basis", "results"]),
    ("folds", &["kernel", "recording", "results"]),
    ("pauses", &["basis", "kernel", "results"]),
    ("memory", &["folds", "results"]),
    ("blame", &["basis", "kernel", "pauses", "recording", "results"]),
    ("collector", &["basis", "folds", "kernel", "results"]),
    ("lanes", &["basis", "folds", "kernel", "pauses", "results"]),
    ("program", &["basis", "folds", "kernel", "recording", "results"]),
    ("compare", &["results"]),
    ("account", &["basis", "blame", "kernel", "lanes", "recording", "results"]),
    ("window", &["account", "lanes", "pauses", "recording", "results"]),
    ("findings", &["blame", "collector", "folds", "kernel", "memory", "pauses", "program", "recording", "results"]),
    ("runtimes", &["basis", "collector", "findings", "folds", "kernel", "pauses", "program", "recording", "results"]),
    (
        "analysis",
        &[
            "account",
            "basis",
            "blame",
            "collector",
            "findings",
            "folds",
            "kernel",
            "lanes",
            "memory",
            "pauses",
            "program",
            "recording",
            "results",
            "runtimes",
            "window",
        ],
    ),
];

/// Where `crates/host` may open files, and why it is safe there: another user's program may name
/// everything else that it opens.
const OPENS: [(&str, &str); 22] = [
    ("target/", "the one way to open what a process names"),
    ("capture/folder.rs", "the capture's own files, by their folder"),
    ("capture/store.rs", "the capture's own files"),
    ("system/procfs.rs", "the kernel's files in /proc and /sys"),
    ("machine/cgroup/", "the kernel's files in its control groups"),
    ("machine/doctor/", "the machine's own /proc and /sys"),
    ("kernel/", "the machine's own /proc, /sys and tracefs, and streams of the capture"),
    ("recording/sampler.rs", "the kernel's files in /proc and control groups, kept open"),
    ("symbols/kernel.rs", "the machine's own /proc"),
    ("symbols/vdso.rs", "the recorder's own memory"),
    ("programs/trial/", "control groups of its own, output of its own programs"),
    ("programs/probe.rs", "a program of the user's own"),
    ("programs/spawn.rs", "the program that the user starts"),
    ("programs/launch.rs", "the program that the user starts"),
    ("runtimes/link.rs", "the program that the user names"),
    ("runtimes/ghc/handover.rs", "folders of its own"),
    ("runtimes/ocaml/rings/place.rs", "a folder of its own"),
    ("runtimes/ocaml/rings/stream.rs", "streams of the capture"),
    ("runtimes/ocaml/rings/reader.rs", "room for rings in a folder of its own"),
    ("runtimes/ghc/logs.rs", "copies in the capture"),
    ("privileges/", "the names of the kernel's functions"),
    ("sandbox/", "the recorder's own /proc"),
];

const MAX_LINES: usize = 800;
const MAX_GOLDEN_LINES: usize = 200;
const MAX_BYTES: u64 = 256 * 1024;

/// One sentence for each fault in the repository at `root`.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let files = tracked(root)?;
    let mut wrong = Vec::new();
    for path in &files {
        let full = root.join(path);
        let Ok(metadata) = fs::metadata(&full) else { continue };
        if metadata.len() > MAX_BYTES {
            wrong.push(format!("{} has {} KiB, more than 256", path.display(), metadata.len() / 1024));
        }
        // A file that is not text has no lines to check.
        let Ok(text) = fs::read_to_string(&full) else { continue };
        wrong.extend(sizes(path, &text));
        if is_document(path) || is_source(path) {
            wrong.extend(words::lines(path, &text));
        }
        if path.extension().is_some_and(|ending| ending == "rs") {
            wrong.extend(source(path, &text));
            wrong.extend(words::comments(path, &text));
        }
        if path.ends_with("Cargo.toml") {
            wrong.extend(arrows(path, &text)?);
        }
    }
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/inside.md", "docs/tests.md"] {
        let text = fs::read_to_string(root.join(document)).context(document)?;
        let missing = named_paths(&text).into_iter().filter(|name| !root.join(name).exists());
        wrong.extend(missing.map(|name| format!("{document} names {name}, which does not exist")));
    }
    let analyze = Path::new("crates/analyze/src");
    for one in crates(root)? {
        let uses = one.uses();
        if one.files().any(|file| file.starts_with(analyze)) {
            wrong.extend(circles::folders(&uses, analyze, &FOLDERS));
        }
        wrong.extend(circles::circles(&uses));
    }
    let architecture = fs::read_to_string(root.join("ARCHITECTURE.md")).context("ARCHITECTURE.md")?;
    wrong.extend(runtimes::check(&runtimes(root)?, &architecture));
    wrong.extend(dependencies::check(root)?);
    let findings = fs::read_to_string(root.join("docs/findings/README.md")).context("docs/findings/README.md")?;
    if !findings.contains(&thresholds(root)?) {
        wrong.push("docs/findings/README.md has other thresholds than the rules: see `cargo xtask findings`".into());
    }
    Ok(wrong)
}

/// Whether users read it; the changelog stays as it was written.
fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md") && path != Path::new("CHANGELOG.md")
}

/// A file of code, but for the list of words itself.
fn is_source(path: &Path) -> bool {
    let code = path.extension().is_some_and(|ending| ["rs", "js", "mjs", "html"].iter().any(|code| ending == *code));
    code && !path.ends_with("tidy/words.rs")
}

/// The table of thresholds, as the rules in `crates/analyze` print it. Uses the build that all test tiers
/// share, so that nothing is compiled twice.
pub fn thresholds(root: &Path) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["build", "--quiet", "--profile", "tests", "--workspace", "--example", "thresholds"];
    output(Command::new(cargo).args(build).current_dir(root))?;
    output(&mut Command::new(target_folder().join("tests/examples/thresholds")))
}

/// Files of `crates` outside a runtime's own folders whose code names a runtime.
///
/// # Errors
/// A file cannot be read.
pub fn runtimes(root: &Path) -> Result<BTreeSet<PathBuf>> {
    Ok(runtimes::files(&crates(root)?))
}

/// Every library and program of `crates`, without tests.
fn crates(root: &Path) -> Result<Vec<Crate>> {
    let folder = root.join("crates");
    let mut crates = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let source = entry?.path().join("src");
        let roots = ["lib.rs", "main.rs"].map(|name| source.join(name)).into_iter().filter(|path| path.exists());
        crates.extend(roots.map(|path| Crate::read(root, &path)).collect::<Result<Vec<_>>>()?);
    }
    Ok(crates)
}

/// Another user may own the checkout: git must accept that.
fn tracked(root: &Path) -> Result<Vec<PathBuf>> {
    let done = Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("git cannot be run")?;
    ensure!(done.status.success(), "git ls-files: {}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).context("a file name that is not UTF-8")?;
    let files: Vec<_> = text.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    ensure!(!files.is_empty(), "git knows no file in {}", root.display());
    Ok(files)
}

fn sizes(path: &Path, text: &str) -> Option<String> {
    let golden = path.components().any(|part| part.as_os_str() == "golden");
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let code = ["rs", "hs", "ml", "c", "ts", "js", "mjs", "css", "sh"].contains(&&*ending);
    let limit = match (golden, code) {
        (true, _) => MAX_GOLDEN_LINES,
        (_, true) => MAX_LINES,
        _ => return None,
    };
    let lines = text.lines().count();
    (lines > limit).then(|| format!("{} has {lines} lines, more than {limit}", path.display()))
}

fn source(path: &Path, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if !text.trim_start().starts_with("//!") {
        wrong.push(format!("{} does not open with `//!`: what it owns and refuses", path.display()));
    }
    let host = path.starts_with("crates/host");
    let uses_unsafe = text.lines().any(|line| {
        let code = line.split("//").next().unwrap_or_default();
        // Split in two parts so that this line does not match.
        [concat!("unsafe", " {"), concat!("unsafe", " fn"), concat!("unsafe", " impl")]
            .iter()
            .any(|word| code.contains(word))
    });
    if uses_unsafe && !host {
        wrong.push(format!("{} has unsafe code; only crates/host may", path.display()));
    }
    if let Some(line) = opens(path, text) {
        wrong.push(format!("{}:{line} opens a file by itself: crates/host/src/target opens it safely", path.display()));
    }
    if text.lines().any(|line| line.trim_start().starts_with("#[ignore")) {
        wrong.push(format!("{} has a test that never runs: give its file a tier instead", path.display()));
    }
    if (path.ends_with("src/lib.rs") || path.ends_with("src/main.rs"))
        && !host
        && !text.contains("#![forbid(unsafe_code)]")
    {
        wrong.push(format!("{} lacks #![forbid(unsafe_code)]", path.display()));
    }
    wrong
}

/// The first line outside tests that opens a file where only the target module may.
fn opens(path: &Path, text: &str) -> Option<usize> {
    let inside = path.strip_prefix("crates/host/src").ok()?.to_str()?;
    let test = inside.ends_with("tests.rs");
    if test || OPENS.iter().any(|(place, _)| inside == *place || (place.ends_with('/') && inside.starts_with(place))) {
        return None;
    }
    const WAYS: [&str; 7] = [
        " File::open(",
        "(File::open(",
        "fs::File::open(",
        "OpenOptions",
        "fs::read(",
        "fs::read_to_string(",
        "fs::copy(",
    ];
    let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    let opens = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        WAYS.iter().any(|way| code.contains(way))
    };
    code.enumerate().find(|(_, line)| opens(line)).map(|(index, _)| index + 1)
}

/// Normal and build dependencies only: tests may use any crate.
fn arrows(path: &Path, text: &str) -> Result<Vec<String>> {
    let manifest: toml::Table = text.parse().with_context(|| path.display().to_string())?;
    let Some(name) = manifest.get("package").and_then(|package| package["name"].as_str()) else {
        return Ok(Vec::new());
    };
    let room = room(name);
    let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == room) else {
        let inside = path.starts_with("crates");
        return Ok(inside.then(|| format!("{name} is a room that tidy has no arrows for")).into_iter().collect());
    };
    let tables = ["dependencies", "build-dependencies"].map(|key| manifest.get(key).and_then(toml::Value::as_table));
    let names = tables.into_iter().flatten().flat_map(|table| table.keys());
    let ours = names.filter(|name| name.starts_with("rtscope") || *name == "xtask");
    let back = ours.map(|name| self::room(name)).filter(|used| !allowed.contains(used));
    Ok(back.map(|used| format!("{room} must not depend on {used}")).collect())
}

fn room(package: &str) -> &str {
    package.strip_prefix("rtscope-").unwrap_or(package)
}

/// Words in backquotes that look like paths in the repository.
fn named_paths(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let looks = |word: &&str| {
        let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        plain && word.contains('/') && !word.starts_with('/') && !word.starts_with('.')
    };
    quoted.filter(looks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_that_point_back_are_found() {
        let manifest = "[package]\nname = \"rtscope-decode\"\n[dependencies]\nrtscope-model = \"1\"\nrtscope-host.workspace = true\n\
                        [dev-dependencies]\nrtscope-analyze = \"1\"\n";
        assert_eq!(
            arrows(Path::new("crates/decode/Cargo.toml"), manifest).unwrap(),
            ["decode must not depend on host"]
        );
        let stranger = "[package]\nname = \"rtscope-new\"\n";
        assert_eq!(arrows(Path::new("crates/new/Cargo.toml"), stranger).unwrap().len(), 1);
    }

    #[test]
    fn modules_state_what_they_own_and_unsafe_stays_in_host() {
        let code = concat!("//! Owns.\nfn f() { unsafe", " { g() } }\n");
        assert!(source(Path::new("crates/host/src/a.rs"), code).is_empty());
        assert_eq!(source(Path::new("crates/decode/src/a.rs"), code).len(), 1);
        assert_eq!(source(Path::new("crates/host/src/a.rs"), "fn f() {}").len(), 1);
        assert_eq!(source(Path::new("crates/model/src/lib.rs"), "//! Owns.\n").len(), 1);
    }

    #[test]
    fn in_host_the_target_module_opens_files() {
        let found = |path: &str, text: &str| opens(Path::new(path), text);
        for line in
            ["let file = File::open(path)?;", "fs::read(path)", "x(File::open(a))", "std::fs::read_to_string(p)"]
        {
            assert_eq!(
                found("crates/host/src/runtimes/ocaml/rings/found.rs", &format!("//! x\n{line}")),
                Some(2),
                "{line}"
            );
            assert_eq!(found("crates/host/src/target/open.rs", line), None);
            assert_eq!(found("crates/rtscope/src/a.rs", line), None);
        }
        assert_eq!(found("crates/host/src/a.rs", "#[cfg(test)]\nmod tests { fn f() { fs::read(a) } }"), None);
        assert_eq!(found("crates/host/src/a.rs", "CoreFile::open(path)\n// fs::read(path)\nfs::read_link(path)"), None);
    }

    #[test]
    fn sizes_have_bounds() {
        let long = "x\n".repeat(900);
        assert!(sizes(Path::new("a/b.rs"), &long).is_some());
        assert!(sizes(Path::new("a/b.md"), &long).is_none());
        assert!(sizes(Path::new("tests/golden/b.txt"), &"x\n".repeat(201)).is_some());
    }

    #[test]
    fn paths_in_backquotes() {
        let text = "The `crates/model` room, `Event` and `GC/work` … `/proc/stat`, `a b/c`.";
        assert_eq!(named_paths(text), ["crates/model", "GC/work"]);
    }
}
