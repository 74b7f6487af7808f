//! Small numbers of one CPU below `/sys/devices/system/cpu/cpuN`: ids of its core,
//! die and package, its capacity. Refuses to combine them.

use crate::machine::reading::Reading;

pub(super) fn path(cpu: u32, name: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/{name}")
}

/// The integer in a file of `cpu`; the error says why there is none.
pub(super) fn number(reading: &mut Reading<'_>, cpu: u32, name: &str) -> Result<i64, String> {
    let path = path(cpu, name);
    let Some(text) = reading.text(&path) else { return Err(format!("{path} is not there")) };
    text.trim().parse().map_err(|_| format!("{path} says {}", crate::machine::reading::quoted(&text)))
}
