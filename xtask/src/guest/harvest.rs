//! Machines for tests: guests of several shapes, and their kernels' /proc and /sys, stored as
//! `fixtures/machines/NAME.tree`. Owns the shapes and what is read.

use super::Guest;
use super::images::Images;
use super::tree::Tree;
use crate::cache::cache;
use crate::fixtures;
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A guest to harvest.
#[derive(Copy, Clone, Debug)]
pub struct Shape {
    /// Name of the fixture.
    pub name: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    processor: &'static [&'static str],
    /// Shell commands that run before the files are read.
    before: &'static str,
    /// Command that the reader is started with.
    with: &'static str,
}

/// `-cpu max` would report wrong siblings.
const ONE_SOCKET: [&str; 4] = ["-cpu", "Skylake-Server", "-smp", "8,sockets=1,cores=4,threads=2"];
const TWO_SOCKETS: [&str; 12] = [
    "-cpu",
    "Skylake-Server",
    "-smp",
    "8,sockets=2,cores=2,threads=2",
    "-object",
    "memory-backend-ram,id=m0,size=256M",
    "-object",
    "memory-backend-ram,id=m1,size=256M",
    "-numa",
    "node,nodeid=0,cpus=0-3,memdev=m0",
    "-numa",
    "node,nodeid=1,cpus=4-7,memdev=m1",
];

/// A group with half a CPU, in it a group without a limit, in that the reader.
const NESTED: &str = "cd /sys/fs/cgroup; echo '+cpu +memory' > cgroup.subtree_control
mkdir outer; echo '+cpu +memory' > outer/cgroup.subtree_control; mkdir outer/inner
echo '50000 100000' > outer/cpu.max; echo 268435456 > outer/memory.max; echo 402653184 > outer/inner/memory.high
echo $$ > outer/inner/cgroup.procs; cd /results
";

/// All guests that are harvested.
pub const SHAPES: [Shape; 9] = [
    Shape {
        name: "cores-4-threads-8",
        about: "1 socket, 4 cores, 8 threads",
        processor: &ONE_SOCKET,
        before: "",
        with: "",
    },
    Shape {
        name: "sibling-pair",
        about: "1 socket, 4 cores, 8 threads; only the two threads of core 1 are allowed",
        processor: &ONE_SOCKET,
        before: "",
        with: "taskset 0xc",
    },
    Shape {
        name: "sockets-2-nodes-2",
        about: "2 sockets with 2 cores of 2 threads each, a NUMA node each",
        processor: &TWO_SOCKETS,
        before: "",
        with: "",
    },
    Shape {
        name: "smt-off",
        about: "1 socket, 4 cores, 8 threads, of which simultaneous multithreading was switched off",
        processor: &ONE_SOCKET,
        before: "echo off > /sys/devices/system/cpu/smt/control",
        with: "",
    },
    Shape {
        name: "cpu-offline",
        about: "1 socket, 4 cores, 8 threads; CPU 3 is offline",
        processor: &ONE_SOCKET,
        before: "echo 0 > /sys/devices/system/cpu/cpu3/online",
        with: "",
    },
    Shape {
        name: "quota-2.5",
        about: "1 socket, 4 cores, 8 threads; the process's own group has a quota of 2.5 CPUs",
        processor: &ONE_SOCKET,
        before: "cd /sys/fs/cgroup; echo +cpu > cgroup.subtree_control; mkdir job; echo '250000 100000' > job/cpu.max
echo $$ > job/cgroup.procs; cd /results",
        with: "",
    },
    Shape {
        name: "nested-limits",
        about: "1 socket, 4 cores, 8 threads; half a CPU and 256 MiB in the parent group, no quota in the process's own",
        processor: &ONE_SOCKET,
        before: NESTED,
        with: "",
    },
    Shape {
        name: "group-namespace",
        about: "as nested-limits, in a cgroup namespace whose root is the unlimited group; the mount is outside of it",
        processor: &ONE_SOCKET,
        before: NESTED,
        with: "/sbin/unshare --cgroup",
    },
    Shape {
        name: "group-namespace-mounted",
        about: "as group-namespace, with the hierarchy mounted anew inside: the parent's quota cannot be seen",
        processor: &ONE_SOCKET,
        before: NESTED,
        with: "/sbin/unshare --cgroup --mount sh -c 'umount /sys/fs/cgroup; mount -t cgroup2 group /sys/fs/cgroup; exec \"$@\"' sh",
    },
];

/// Reads the files in one process that does not change meanwhile: `$$` is the shell.
const READ: &str = r#"#!/bin/sh
file() { [ -r "$1" ] && [ -f "$1" ] || return; echo "== ${2:-${1#/}}"; cat "$1" 2>/dev/null | awk 1; }
for name in status cgroup mountinfo; do file /proc/$$/$name proc/self/$name; done
for name in cpuinfo meminfo mounts version; do file /proc/$name; done
cd /sys/devices/system/cpu
for name in online offline possible present smt/active smt/control; do file $PWD/$name; done
for cpu in cpu[0-9]*; do
  for path in $cpu/online $cpu/cpu_capacity $cpu/topology/*; do file $PWD/$path; done
  for name in level type size id shared_cpu_list shared_cpu_map coherency_line_size ways_of_associativity number_of_sets physical_line_partition; do
    for index in $cpu/cache/index*; do file $PWD/$index/$name; done
  done
done
for path in /sys/devices/system/node/online /sys/devices/system/node/node*; do
  file $path
  for name in cpulist cpumap distance meminfo; do file $path/$name; done
done
find /sys/fs/cgroup -type d | sort | while read -r group; do
  for name in cgroup.type cgroup.procs cgroup.controllers cgroup.subtree_control cgroup.events cpu.max cpu.stat memory.max memory.high memory.current cpuset.cpus cpuset.cpus.effective; do
    file $group/$name
  done
done
"#;

/// Boots `shape`; returns its tree as text. `more` runs in the guest after the reading, in the same
/// surroundings, with `/results` as its working directory.
pub fn boot(shape: &Shape, scratch: &Path, programs: &[&Path], more: &str) -> Result<(String, PathBuf)> {
    let tree = Tree::new(&scratch.join("files"))?;
    let unshare = Path::new("/usr/bin/unshare");
    for program in programs.iter().chain([&unshare]) {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        // Call the program by its path: the shell prefers its own applet, which does not know control groups.
        tree.program(program, ("", &format!("sbin/{name}")), Path::new("/"), |name| Command::new(name))?;
    }
    let script = format!(
        "cat > /read <<'END'\n{READ}END\ncat > /more <<'END'\n{more}\nEND\n{}\n\
         {} sh /read > tree\n{} sh /more > said 2>&1\n",
        shape.before, shape.with, shape.with
    );
    let guest = Guest {
        processor: shape.processor,
        memory_mib: 512,
        virtual_cpus: None,
        script: &script,
        limit: Duration::from_secs(120),
    };
    let results = guest.run(&Images::plain(&cache())?, &tree, &scratch.join("guest"))?;
    Ok((fs::read_to_string(results.join("tree"))?, results))
}

/// Remakes the fixtures.
pub fn all(only: Option<&str>, scratch: &Path, print: &mut dyn FnMut(&str)) -> Result<()> {
    for shape in SHAPES.iter().filter(|shape| only.is_none_or(|name| name == shape.name)) {
        let (text, _) = boot(shape, scratch, &[], "")?;
        let head = format!(
            "# {}.\n# Read in a guest under qemu by `cargo xtask fixtures --only {}`.\n",
            shape.about, shape.name
        );
        let path = fixtures::folder().join(format!("{}.tree", shape.name));
        fs::write(&path, head + &text)?;
        print(&format!("{}: {} files", path.display(), text.lines().filter(|line| line.starts_with("== ")).count()));
    }
    Ok(())
}
