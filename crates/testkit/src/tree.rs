//! Builds trees of `/proc` and `/sys` for tests: processors, groups, limits, in the kernel's format.
//! Refuses to judge what is read from them.
use rtscope_host::procfs::Host;
use rtscope_host::resources;
use rtscope_model::resources::Resources;
use std::fs;
use std::path::{Path, PathBuf};

/// The `mountinfo` line of a v2 hierarchy that is mounted as a whole.
pub const V2: &str = "30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";

/// A core: its package, its id there, its CPUs.
pub type Core<'c> = (u32, u32, &'c [u32]);

/// A tree that is removed when it is dropped.
pub struct Tree(tempfile::TempDir);

impl Tree {
    /// A tree with a process that may use all of `cores`, in no control group.
    pub fn of(cores: &[Core<'_>]) -> Tree {
        let tree = Tree(tempfile::tempdir().expect("a folder for a tree"));
        let mut online: Vec<u32> = cores.iter().flat_map(|core| core.2.iter().copied()).collect();
        online.sort_unstable();
        let online = list(&online);
        tree.write("sys/devices/system/cpu/online", &online);
        tree.write("proc/meminfo", "MemTotal:        8388608 kB\nMemFree:         1 kB\n");
        tree.allow(&online);
        for (package, core, cpus) in cores {
            for cpu in *cpus {
                let siblings = list(cpus);
                tree.cpu(*cpu, "topology/core_cpus_list", &siblings);
                tree.cpu(*cpu, "topology/thread_siblings_list", &siblings);
                tree.cpu(*cpu, "topology/core_id", &core.to_string());
                tree.cpu(*cpu, "topology/die_id", "0");
                tree.cpu(*cpu, "topology/physical_package_id", &package.to_string());
            }
        }
        tree
    }

    /// One socket of 4 cores with two threads each, siblings adjacent: 0-1, 2-3, 4-5, 6-7.
    pub fn four_cores() -> Tree {
        Tree::of(&[(0, 0, &[0, 1]), (0, 1, &[2, 3]), (0, 2, &[4, 5]), (0, 3, &[6, 7])])
    }

    /// Two CPUs on two cores, without hardware threads.
    pub fn small() -> Tree {
        Tree::of(&[(0, 0, &[0]), (0, 1, &[1])])
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Writes a file like the kernel: with a final newline.
    pub fn write(&self, path: &str, text: &str) -> &Tree {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file in a tree")).expect("folders of a tree");
        fs::write(path, format!("{text}\n")).expect("a file of a tree");
        self
    }

    pub fn remove(&self, path: &str) -> &Tree {
        let path = self.path(path);
        let gone = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        gone.expect("something to remove");
        self
    }

    /// Writes a file of one processor.
    pub fn cpu(&self, cpu: u32, name: &str, text: &str) -> &Tree {
        self.write(&format!("sys/devices/system/cpu/cpu{cpu}/{name}"), text)
    }

    /// Adds a cache of a processor: index, level, type, size, which CPUs share it.
    pub fn cache(&self, cpu: u32, index: u32, (level, kind, size, shared): (u32, &str, &str, &str)) -> &Tree {
        let write = |name: &str, text: &str| self.cpu(cpu, &format!("cache/index{index}/{name}"), text);
        write("level", &level.to_string());
        write("type", kind);
        write("size", size);
        write("shared_cpu_list", shared)
    }

    /// Sets the affinity mask of the process.
    pub fn allow(&self, list: &str) -> &Tree {
        self.write("proc/self/status", &format!("Name:\tcat\nPid:\t77\nCpus_allowed_list:\t{list}"))
    }

    /// Sets the groups of the process and the mounts.
    pub fn groups(&self, cgroup: &str, mountinfo: &str) -> &Tree {
        self.write("proc/self/cgroup", cgroup.trim_end()).write("proc/self/mountinfo", mountinfo.trim_end())
    }

    /// Writes a file in `/sys/fs/cgroup`.
    pub fn group(&self, path: &str, text: &str) -> &Tree {
        self.write(&format!("sys/fs/cgroup/{path}"), text)
    }

    pub fn resources(&self) -> Resources {
        resources::of(&Host::at(self.root()), None)
    }
}

/// A kernel list that names each CPU.
pub fn list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Whether some note contains all of `words`.
pub fn noted(resources: &Resources, words: &[&str]) -> bool {
    resources.notes.iter().any(|note| words.iter().all(|word| note.contains(word)))
}

/// The value and file of a source.
pub fn source<'r>(resources: &'r Resources, what: &str) -> Option<(&'r str, &'r str)> {
    let found = resources.sources.iter().find(|source| source.what == what)?;
    Some((found.path.as_str(), found.text.as_str()))
}
