//! The machines of `fixtures/machines`, read and planned for by the C code that the link-in libraries share:
//! with the same vectors as `rtscope machine` and `rtscope plan`.

use rtscope_host::procfs::Host;
use rtscope_host::resources;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::fixtures::{self, Flags};
use xtask::missing;

/// `show`, compiled into `folder`; `None`, after reporting it, if nothing compiles it.
fn show(folder: &Path) -> Option<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings/c");
    let library = fs::read_dir(&sources).unwrap().map(|entry| entry.unwrap().path());
    let library = library.filter(|path| path.extension().is_some_and(|ending| ending == "c"));
    let program = folder.join("show");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-O1", "-o"]).arg(&program).arg(sources.join("tests/show.c")).args(library);
    let Ok(done) = cc.output() else {
        missing("cc (package gcc)");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(program)
}

/// How many CPUs `0-2,4` names.
fn count(list: &str) -> u64 {
    let number = |text: &str| text.parse::<u64>().unwrap();
    let range = |part: &str| part.split_once('-').map_or(1, |(first, last)| number(last) - number(first) + 1);
    list.split(',').map(range).sum()
}

/// `16m` and `256k` as numbers.
fn size(text: &str) -> u64 {
    let (number, unit) = text.split_at(text.len() - 1);
    number.parse::<u64>().unwrap() << if unit.eq_ignore_ascii_case("k") { 10 } else { 20 }
}

/// Checks the flags of an environment; what they leave out is the default.
fn check_plan(name: &str, shown: &Value, flags: &Flags, cpus: u64) {
    let flag = |letter: &str| flags.ghc.split(' ').find_map(|word| word.strip_prefix(letter));
    let workers: u64 = flag("-N").unwrap().parse().unwrap();
    let sequential = flags.ghc.split(' ').any(|word| word == "-qg");
    let collectors = flag("-qn").map_or(if sequential { 1 } else { workers }, |text| text.parse().unwrap());
    assert_eq!(shown["workers"], workers, "{name}: {shown}");
    assert_eq!(shown["gc_threads"], collectors, "{name}: {shown}");
    assert_eq!(shown["nursery_bytes"], size(flag("-A").unwrap()), "{name}: {shown}");
    let parameter = |letter: &str| flags.ocaml.split(',').find_map(|word| word.strip_prefix(letter));
    // Left out if the runtime determines it by itself: all CPUs of the mask.
    assert_eq!(shown["domains"], parameter("d=").map_or(cpus, |text| text.parse().unwrap()), "{name}: {shown}");
    assert_eq!(shown["minor_words"], parameter("s=").map_or(256 << 10, size), "{name}: {shown}");
    assert_eq!(shown["space_overhead"], parameter("o=").map_or(120, |text| text.parse().unwrap()), "{name}: {shown}");
}

#[test]
fn every_machine_is_read_and_planned_for_as_the_commands_do() {
    let folder = tempfile::tempdir().unwrap();
    let Some(show) = show(folder.path()) else { return };
    for (name, expected) in fixtures::expected().unwrap() {
        let root = tempfile::tempdir().unwrap();
        fixtures::unpack(&name, root.path()).unwrap();
        for (goal, flags) in
            [("latency", &expected.latency), ("throughput", &expected.throughput), ("memory", &expected.memory)]
        {
            let done = Command::new(&show).arg(root.path()).arg(goal).output().unwrap();
            let shown: Value = serde_json::from_slice(&done.stdout).unwrap();
            let cpus = count(&expected.cpus_allowed);
            assert_eq!(shown["cpus_allowed"], cpus, "{name}: {shown}");
            assert_eq!(shown["cores"], expected.siblings.len(), "{name}: {shown}");
            assert_eq!(shown["packages"], expected.packages, "{name}: {shown}");
            assert_eq!(shown["numa_nodes"], expected.numa_nodes, "{name}: {shown}");
            assert_eq!(shown["quota_cpus"].as_f64(), expected.quota_cpus, "{name}: {shown}");
            assert_eq!(shown["ancestors_hidden"], expected.ancestors_hidden, "{name}: {shown}");
            assert_eq!(shown["memory_limit_bytes"], expected.memory_limit_bytes, "{name}: {shown}");
            assert_eq!(shown["memory_limited"], expected.memory_limited, "{name}: {shown}");
            check_plan(&name, &shown, flags, cpus);
        }
    }
}

/// Mutations of each machine.
const ROUNDS: usize = 25;

/// A machine with one to four broken files at a time, always the same ones.
struct Broken {
    state: u64,
    files: Vec<PathBuf>,
    /// Previous contents, the oldest first.
    before: Vec<(PathBuf, Vec<u8>)>,
}

impl Broken {
    fn new(root: &Path) -> Broken {
        let mut files = Vec::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() { folders.push(entry) } else { files.push(entry) }
            }
        }
        // The libraries read no caches. Many files describe one processor each; single ones are broken as often
        // as all of those.
        files.retain(|path| !path.to_string_lossy().contains("/cache/"));
        files.sort();
        let (each, once): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| {
            path.to_string_lossy().contains("/cpu/cpu") && !path.to_string_lossy().contains("core_cpus_list")
        });
        let files = each.into_iter().step_by(7).chain(once).collect();
        Broken { state: 0x9e37_79b9_7f4a_7c15, files, before: Vec::new() }
    }

    fn next(&mut self, below: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % below as u64) as usize
    }

    /// Restores everything.
    fn restore(&mut self) {
        for (path, text) in self.before.drain(..).rev() {
            fs::write(path, text).unwrap();
        }
    }

    /// Breaks one file; gives which and how.
    fn step(&mut self) -> String {
        let number = self.next(self.files.len());
        let path = self.files[number].clone();
        let old = fs::read(&path).unwrap_or_default();
        self.before.push((path.clone(), old.clone()));
        let digit = |byte: &u8| if byte.is_ascii_digit() { b'1' + byte % 5 } else { *byte };
        let texts: [&[u8]; 6] = [b"", b"-1\n", b"0 100000\n", b"18446744073709551616\n", b"\xff\xfe\0x\n", b"3-1,5\n"];
        let new = match self.next(9) {
            0 => {
                let _ = fs::remove_file(&path);
                return format!("{} removed", path.display());
            }
            1 => old[..old.len() / 2].to_vec(),
            2 => old.iter().map(digit).collect(),
            number => texts[number - 3].to_vec(),
        };
        fs::write(&path, &new).unwrap();
        format!("{} now {:?}", path.display(), String::from_utf8_lossy(&new[..new.len().min(60)]))
    }
}

#[test]
fn broken_machines_are_read_alike() {
    let folder = tempfile::tempdir().unwrap();
    let Some(show) = show(folder.path()) else { return };
    for name in fixtures::names().unwrap() {
        let root = tempfile::tempdir().unwrap();
        fixtures::unpack(&name, root.path()).unwrap();
        let mut broken = Broken::new(root.path());
        for round in 0..ROUNDS {
            let steps: Vec<_> = (0..=broken.next(4)).map(|_| broken.step()).collect();
            let done = Command::new(&show).arg(root.path()).arg("latency").output().unwrap();
            let shown: Value = serde_json::from_slice(&done.stdout).unwrap();
            let found = resources::of(&Host::at(root.path()), None);
            let ours = serde_json::json!({
                "cpus_allowed": found.cpus_allowed.len(), "cores": found.cores, "numa_nodes": found.numa_nodes,
                "quota_cpus": found.quota_cpus, "ancestors_hidden": found.ancestors_hidden,
                "memory_limit_bytes": found.memory_limit_bytes, "memory_limited": found.memory_limited,
            });
            for (key, value) in ours.as_object().unwrap() {
                let same = &shown[key] == value || shown[key].is_number() && shown[key].as_f64() == value.as_f64();
                assert!(
                    same,
                    "C {}, Rust {value}: {name}, round {round}, {key}: {steps:#?}\n{:#?}",
                    shown[key], found.notes
                );
            }
            broken.restore();
        }
    }
}
