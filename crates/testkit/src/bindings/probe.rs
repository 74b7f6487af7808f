//! The commits and conflicts of a program as the kernel sees them: a return probe on the runtime's
//! `stmCommitTransaction`. Owns the probe, and that the package counts the same in the same run.

use super::Bench;
use object::{Object, ObjectSegment, ObjectSymbol};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use xtask::missing;

/// Operations of each of 8 workers; five of six commit.
const OPERATIONS: &str = "6000";

/// Runs the command in its arguments from the fourth on with a return probe set, in its own mount
/// namespace; prints the program's output, then how often the function returned yes and no, and how
/// many returns were not recorded. Mounts tracefs only if it is not mounted: the kernel refuses to
/// mount it over itself. Removes the probe and the instance at every exit.
const PROBED: &str = r#"
    set -eu
    name=$1 binary=$2 offset=$3 instance=/sys/kernel/tracing/instances/$1
    shift 3
    [ -e /sys/kernel/tracing/uprobe_events ] || mount -t tracefs nodev /sys/kernel/tracing
    cd /sys/kernel/tracing
    clean() {
        { echo 0 > "$instance/events/$name/enable"; rmdir "$instance"; echo "-:$name/commit" >> uprobe_events; } 2> /dev/null || true
    }
    trap clean EXIT INT TERM
    mkdir "$instance"
    echo 16384 > "$instance/buffer_size_kb"
    echo "r:$name/commit $binary:$offset said=\$retval" >> uprobe_events
    echo 1 > "$instance/events/$name/enable"
    "$@"
    echo 0 > "$instance/events/$name/enable"
    grep -c 'said=0x1$' "$instance/trace" || true
    grep -c 'said=0x0$' "$instance/trace" || true
    awk '/^(overrun|dropped events): / { lost += $NF } END { print lost + 0 }' "$instance"/per_cpu/cpu*/stats
"#;

/// File offset of a symbol's code.
fn offset_in_file(program: &Path, name: &str) -> u64 {
    let bytes = fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let at = file.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap().address();
    let segment = file.segments().find(|one| (one.address()..one.address() + one.size()).contains(&at)).unwrap();
    at - segment.address() + segment.file_range().0
}

fn probed(program: &Path, line: &[OsString]) -> Output {
    // Probes belong to the whole machine, and the suites of several compilers may run in parallel.
    static PROBES: AtomicU32 = AtomicU32::new(0);
    let name = format!("rtscope_test_{}_{}", std::process::id(), PROBES.fetch_add(1, Ordering::Relaxed));
    let offset = format!("{:#x}", offset_in_file(program, "stmCommitTransaction"));
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", PROBED, "probed", &name]).arg(program).arg(offset).args(line);
    command.output().unwrap()
}

/// Compares the counts of the suite's `exact-threaded` with the probe's.
pub fn counts_are_those_of_a_probe(bench: &Bench) {
    for mode in ["count", "adaptive"] {
        let program = bench.path("exact-threaded");
        let (path, mode) = (program.to_string_lossy(), format!("RTSCOPE_STM={mode}"));
        let line = bench.line(&["/usr/bin/env", &mode, &path, OPERATIONS, "+RTS", "-N2"]);
        let done = probed(&program, &line);
        let error = String::from_utf8_lossy(&done.stderr).into_owned();
        let stdout = String::from_utf8_lossy(&done.stdout).into_owned();
        let mut lines = stdout.lines();
        let (Some(shown), true) = (lines.next(), done.status.success()) else {
            return missing(&format!("return probes of the kernel: {error}"));
        };
        let counts = &serde_json::from_str::<Value>(shown).unwrap()["counts"];
        let probed: Vec<u64> = lines.map(|line| line.parse().unwrap()).collect();
        let counted = ["commits", "conflicts"].map(|key| counts[key].as_u64().unwrap());
        assert!(counted[0] >= 40_000, "{mode}: {shown}");
        assert_eq!(probed, [counted[0], counted[1], 0], "{mode}: {shown} {error}");
    }
}
