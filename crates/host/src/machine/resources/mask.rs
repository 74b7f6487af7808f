//! Which CPUs a process may run on, and which are online. Refuses to believe an
//! empty answer: a process runs somewhere.

use crate::machine::cpu_list;
use crate::machine::reading::{Reading, quoted};
use crate::system::procfs::{self, Host, ProcName};

const CPUS: &str = "/sys/devices/system/cpu";

/// CPUs by number, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct Mask {
    /// Those that the process may use and that are online.
    pub(super) allowed: Vec<u32>,
    /// All that are online; empty if unknown.
    pub(super) online: Vec<u32>,
}

/// The CPUs that a process may run on, and the CPUs that are online.
pub fn cpus(host: &Host, process: ProcName) -> (Vec<u32>, Vec<u32>) {
    let mask = read(&mut Reading::new(host), process);
    (mask.allowed, mask.online)
}

/// The affinity mask of a process, reduced to the online CPUs.
pub(super) fn read(reading: &mut Reading<'_>, process: ProcName) -> Mask {
    let online = online(reading);
    let given = given(reading, process);
    let Some(given) = given else {
        let (cpus, words) = if online.is_empty() {
            (reading.host.numbered(CPUS, "cpu"), "every CPU that has a folder in /sys is taken as allowed")
        } else {
            (online.clone(), "every CPU that is online is taken as allowed")
        };
        reading.note(format!("/proc/{process}/status shows no affinity mask: {words}"));
        if cpus.is_empty() {
            reading.note("no CPU is known: neither a mask nor /sys/devices/system/cpu can be read".into());
        }
        return Mask { allowed: cpus, online };
    };
    if online.is_empty() {
        return Mask { allowed: given, online };
    }
    let (allowed, offline): (Vec<u32>, Vec<u32>) = given.iter().partition(|cpu| online.binary_search(cpu).is_ok());
    if allowed.is_empty() {
        reading.note(format!(
            "the mask of /proc/{process}/status ({}) and {CPUS}/online ({}) have no CPU in common: the mask is taken",
            cpu_list::show(&given),
            cpu_list::show(&online)
        ));
        return Mask { allowed: given, online };
    }
    if !offline.is_empty() {
        let offline = cpu_list::show(&offline);
        reading.note(format!("the mask holds CPUs that are not online ({offline}): they are not counted"));
    }
    Mask { allowed, online }
}

fn online(reading: &mut Reading<'_>) -> Vec<u32> {
    let path = format!("{CPUS}/online");
    let Some(text) = reading.source("cpus_online", &path) else {
        reading.note(format!("{path} cannot be read: which CPUs are online is unknown"));
        return Vec::new();
    };
    let cpus = cpu_list::parse(&text);
    let why = match &cpus {
        Ok(cpus) if !cpus.is_empty() => None,
        Ok(_) => Some("it is empty".to_owned()),
        Err(bad) => Some(bad.to_string()),
    };
    if let Some(why) = why {
        reading.note(format!("{path} says {}: {why}; which CPUs are online is unknown", quoted(&text)));
    }
    cpus.unwrap_or_default()
}

/// The affinity mask as the kernel shows it; `None` if it is empty or broken.
fn given(reading: &mut Reading<'_>, process: ProcName) -> Option<Vec<u32>> {
    let path = format!("/proc/{process}/status");
    let status = reading.text(&path)?;
    for key in ["Cpus_allowed_list", "Cpus_allowed"] {
        let Some(text) = procfs::field(&status, key) else { continue };
        match if key.ends_with("list") { cpu_list::parse(text) } else { cpu_list::parse_mask(text) } {
            Ok(cpus) if !cpus.is_empty() => {
                reading.add_source("cpus_allowed", &path, &format!("{key}: {text}"));
                return Some(cpus);
            }
            Ok(_) => reading.note(format!("{key} in {path} is empty: not believed, a process runs somewhere")),
            Err(bad) => reading.note(format!("{key} in {path} says {}: {bad}", quoted(text))),
        }
    }
    None
}
