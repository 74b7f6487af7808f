//! Small numbers of one CPU below `/sys/devices/system/cpu/cpuN`: ids of its core,
//! die and package, its capacity. Refuses to say what they mean together.

use crate::machine::reading::Reading;

pub(super) fn path(cpu: u32, name: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/{name}")
}

/// A whole number in a file of `cpu`; where it has none, why.
pub(super) fn number(reading: &mut Reading<'_>, cpu: u32, name: &str) -> Result<i64, String> {
    let path = path(cpu, name);
    let Some(text) = reading.text(&path) else { return Err(format!("{path} is not there")) };
    text.trim().parse().map_err(|_| format!("{path} says {}", crate::machine::reading::quoted(&text)))
}
