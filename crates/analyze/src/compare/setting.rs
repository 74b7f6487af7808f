//! What differs between two recordings before any figure is compared: program, flags, runtime, machine, quota, and
//! recording method. Owns the list of settings; refuses to guess which of them causes a difference.

use super::sample::Side;
use crate::results::Results;
use rtscope_model::manifest::{Machine, Manifest};
use serde::Serialize;

/// A larger ratio of spans than this is reported.
const SPANS_APART: f64 = 1.5;

/// What kind of thing differs.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingKind {
    /// The program itself: different programs make figures incomparable.
    Program,
    /// How it was set up: arguments, flags, quota.
    Setup,
    /// Where it ran.
    Machine,
    /// How it was recorded.
    Recording,
}

/// One thing that differs.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// The kind of setting.
    pub kind: SettingKind,
    /// The setting: "runtime flags".
    pub what: &'static str,
    /// Before, in words.
    pub a: String,
    /// After, in words.
    pub b: String,
}

/// Everything that differs, the program first.
pub(super) fn differences(a: &Side<'_>, b: &Side<'_>) -> Vec<Difference> {
    let mut list = Vec::new();
    let mut differ = |kind: SettingKind, what: &'static str, a: Option<String>, b: Option<String>| {
        // A setting that one recording lacks cannot be said to differ.
        if let (Some(a), Some(b)) = (a, b)
            && a != b
        {
            list.push(Difference { kind, what, a, b });
        }
    };
    let (x, y) = (a.results, b.results);
    differ(SettingKind::Program, "program", program(x), program(y));
    differ(SettingKind::Program, "runtime", runtime(x), runtime(y));
    let (flags, arguments) = (apart(&flags(x), &flags(y)), apart(&arguments(x), &arguments(y)));
    differ(SettingKind::Setup, "runtime flags", Some(flags.0), Some(flags.1));
    differ(SettingKind::Setup, "arguments", Some(arguments.0), Some(arguments.1));
    differ(SettingKind::Setup, "lanes", lanes(x), lanes(y));
    differ(SettingKind::Setup, "CPU quota", a.manifest.map(quota), b.manifest.map(quota));
    differ(SettingKind::Setup, "CPUs allowed", machine(a, cpus), machine(b, cpus));
    differ(SettingKind::Setup, "end", a.manifest.and(ending(x)), b.manifest.and(ending(y)));
    differ(SettingKind::Machine, "machine", machine(a, hardware), machine(b, hardware));
    differ(
        SettingKind::Machine,
        "kernel",
        machine(a, |machine| machine.kernel.clone()),
        machine(b, |m| m.kernel.clone()),
    );
    differ(SettingKind::Machine, "host", host(a), host(b));
    differ(SettingKind::Recording, "source", Some(x.source.kind.into()), Some(y.source.kind.into()));
    differ(SettingKind::Recording, "log classes", classes(a), classes(b));
    differ(SettingKind::Recording, "kernel events", x.kernel.tier.clone(), y.kernel.tier.clone());
    differ(SettingKind::Recording, "code sampling", sampling(a), sampling(b));
    if apart_in_length(x.span_ns, y.span_ns) {
        let seconds = |ns: u64| format!("{:.1} s", ns as f64 / 1e9);
        differ(SettingKind::Recording, "length", Some(seconds(x.span_ns)), Some(seconds(y.span_ns)));
    }
    list
}

fn apart_in_length(a: u64, b: u64) -> bool {
    a.max(b) as f64 > a.min(b) as f64 * SPANS_APART
}

/// The file that was run, without its folder: a program is often rebuilt elsewhere.
fn program(results: &Results) -> Option<String> {
    let command = results.program.as_ref().and_then(|program| program.command.first());
    let path = results.runtime.args.first().or(command)?;
    path.rsplit('/').next().map(str::to_owned)
}

fn runtime(results: &Results) -> Option<String> {
    let runtime = &results.runtime;
    let parts = [runtime.family.clone(), runtime.version.clone(), runtime.way.clone()];
    runtime.family.as_ref()?;
    Some(parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "))
}

fn flags(results: &Results) -> Vec<String> {
    results.runtime.own_args().into_iter().map(str::to_owned).collect()
}

fn arguments(results: &Results) -> Vec<String> {
    results.runtime.attributed_args().filter(|(own, _)| !own).map(|(_, arg)| arg.to_owned()).collect()
}

/// What each has and the other lacks, in words; equal where both have the same.
fn apart(a: &[String], b: &[String]) -> (String, String) {
    let lacks = |own: &[String], other: &[String]| {
        let only: Vec<&str> = own.iter().filter(|word| !other.contains(word)).map(String::as_str).collect();
        if only.is_empty() { "none".to_owned() } else { only.join(" ") }
    };
    let (only_a, only_b) = (lacks(a, b), lacks(b, a));
    if only_a == only_b && a != b {
        return (a.join(" "), b.join(" "));
    }
    (only_a, only_b)
}

fn lanes(results: &Results) -> Option<String> {
    (!results.lanes.is_empty()).then(|| results.lanes.len().to_string())
}

fn quota(manifest: &Manifest) -> String {
    let groups = manifest.groups.iter().filter_map(|group| group.quota_cpus);
    let least = groups.chain(manifest.machine.quota_cpus).fold(f64::INFINITY, f64::min);
    if least.is_finite() { format!("{least} CPUs") } else { "none".into() }
}

fn machine(side: &Side<'_>, of: impl Fn(&Machine) -> String) -> Option<String> {
    side.manifest.map(|manifest| of(&manifest.machine)).filter(|text| !text.is_empty())
}

fn cpus(machine: &Machine) -> String {
    if machine.cpus_allowed.is_empty() { String::new() } else { machine.cpus_allowed.len().to_string() }
}

fn hardware(machine: &Machine) -> String {
    let gib = machine.memory_bytes as f64 / f64::from(1 << 30);
    format!("{} {}, {} CPUs, {gib:.0} GiB", machine.architecture, machine.model, machine.cpus_online)
}

fn host(side: &Side<'_>) -> Option<String> {
    side.manifest.and_then(|manifest| manifest.machine.host.clone())
}

fn classes(side: &Side<'_>) -> Option<String> {
    let log = side.results.source.log.as_ref()?;
    side.manifest?.logs.iter().find(|entry| entry.path == *log).map(|entry| entry.classes.clone())
}

fn sampling(side: &Side<'_>) -> Option<String> {
    let code = side.manifest?.code.as_ref();
    Some(code.map_or_else(|| "off".into(), |code| format!("every {} us", code.period_ns / 1_000)))
}

fn ending(results: &Results) -> Option<String> {
    let program = results.program.as_ref()?;
    Some(match (program.signal, program.exit_code) {
        (Some(signal), _) => format!("killed by signal {signal}"),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => "recording ended first".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn only_what_differs_is_reported() {
        assert_eq!(apart(&words("-N2 -A1m"), &words("-N2 -A16m")), ("-A1m".into(), "-A16m".into()));
        assert_eq!(apart(&words("-N2"), &words("-N2 -qg")), ("none".into(), "-qg".into()));
        let same = apart(&words("-N2"), &words("-N2"));
        assert_eq!(same.0, same.1);
        assert_ne!(apart(&words("a b"), &words("b a")).0, apart(&words("a b"), &words("b a")).1, "order counts");
    }

    #[test]
    fn lengths_are_reported_when_far_apart() {
        assert!(!apart_in_length(10, 14));
        assert!(apart_in_length(10, 16) && apart_in_length(16, 10) && apart_in_length(0, 1));
    }
}
