//! A small snapshot of the machine for the manifest. Its resources in detail
//! are in [`crate::machine::resources`].

pub mod cgroup;
pub mod cpu_list;
pub mod doctor;
pub(crate) mod reading;
pub mod resources;
pub mod taken;

use crate::system::procfs::{self, Host, ProcName};
use rtscope_model::manifest::Machine;

/// The machine as process `pid` sees it.
pub fn snapshot(host: &Host, pid: u32) -> Machine {
    let system = rustix::system::uname();
    let word = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let cpus = host.text("/proc/cpuinfo").unwrap_or_default();
    let model = ["model name", "Processor", "cpu model"].iter().find_map(|key| {
        cpus.lines().find_map(|line| line.strip_prefix(key)?.split_once(':').map(|(_, name)| name.trim().to_owned()))
    });
    let (allowed, online) = resources::cpus(host, ProcName::Pid(pid));
    let memory = host.text("/proc/meminfo").and_then(|text| procfs::number(&text, "MemTotal"));
    Machine {
        kernel: word(system.release()),
        architecture: word(system.machine()),
        model: model.unwrap_or_default(),
        cpus_online: u32::try_from(online.len()).unwrap_or(u32::MAX),
        cpus_allowed: allowed.into_iter().filter_map(|cpu| u16::try_from(cpu).ok()).collect(),
        quota_cpus: None,
        memory_bytes: memory.unwrap_or(0).saturating_mul(1024),
        host: Some(word(system.nodename())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_from_the_tree() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Wonder CPU\n"),
            ("proc/meminfo", "MemTotal:       2048 kB\n"),
            ("proc/7/status", "Name:\tx\nCpus_allowed_list:\t0,2-3\n"),
            ("sys/devices/system/cpu/online", "0-3\n"),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let machine = snapshot(&Host::at(root.path()), 7);
        assert_eq!(machine.model, "Wonder CPU");
        assert_eq!((machine.cpus_online, machine.memory_bytes), (4, 2 << 20));
        assert_eq!(machine.cpus_allowed, [0, 2, 3]);
    }
}
