//! Applies a finding's remedy and judges it by the figure that the remedy names. Owns runtime flags (which
//! replaces which), the path to a figure, and what counts as better; refuses to run anything.

use super::journal::{Cure, Promise};
use crate::workload::{Applied, Workload};
use anyhow::{Result, ensure};
use serde_json::Value;

/// Least relative improvement of a figure: less may be chance.
const BETTER_BY: f64 = 0.05;

/// What the first finding's remedy `number` promises; `None`: it does not exist.
pub fn promise(report: &Value, number: usize) -> Option<Promise> {
    let remedy = report.pointer(&format!("/findings/0/remedies/{number}"))?;
    let path = remedy["metric"]["path"].as_str();
    Some(Promise {
        flag: remedy["flag"].as_str().map(str::to_owned),
        options: options(&remedy["setting"]),
        path: path.map(str::to_owned),
        rises: remedy["metric"]["should"] == "rise",
        before: path.and_then(|path| figure(report, path)),
    })
}

fn options(setting: &Value) -> Vec<String> {
    let words = setting["options"].as_array().map_or(&[][..], Vec::as_slice);
    words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

/// The figure of a report at `path`: keys separated by dots. In a list, a part is an index or the wanted
/// element's `id`, `cause` or `name`; a missing element counts as 0, and so does an empty distribution.
pub fn figure(report: &Value, path: &str) -> Option<f64> {
    let mut at = report;
    let mut empty = false;
    for part in path.split('.') {
        empty = at["count"] == 0;
        at = match at {
            Value::Array(list) => match part.parse::<usize>() {
                Ok(number) => list.get(number)?,
                Err(_) => {
                    let called = |item: &&Value| ["id", "cause", "name"].iter().any(|key| item[*key] == part);
                    let Some(item) = list.iter().find(called) else { return Some(0.0) };
                    item
                }
            },
            other => other.get(part)?,
        };
    }
    if at.is_null() && empty { Some(0.0) } else { at.as_f64() }
}

/// The workload with the remedy, and a description of the change. What the workload leaves open is taken from
/// what rtscope printed.
pub fn apply(workload: &Workload, change: &Applied, promise: &Promise) -> Result<(Workload, String)> {
    let mut changed = workload.with(change);
    // A GHC flag begins with a dash, an OCaml parameter with its letter.
    let (flags, parameters): (Vec<&str>, Vec<&str>) =
        promise.options.iter().map(String::as_str).partition(|word| word.starts_with('-'));
    if !flags.is_empty() && change.rts.is_none() {
        changed.rts = merged(&workload.rts, &flags);
    }
    if !parameters.is_empty() && change.runparam.is_none() {
        changed.runparam =
            Some(merged_runparam(workload.runparam.as_deref().unwrap_or_default(), &parameters.join(",")));
    }
    let what = differences(workload, &changed);
    ensure!(!what.is_empty(), "the remedy changes nothing: {:?}", promise.flag);
    Ok((changed, what))
}

fn differences(from: &Workload, to: &Workload) -> String {
    let text = |option: Option<f64>| option.map_or("none".to_owned(), |value| value.to_string());
    let words = |list: &[String]| if list.is_empty() { "none".to_owned() } else { list.join(" ") };
    let mut what = Vec::new();
    let mut note = |differ: bool, now: String| what.extend(differ.then_some(now));
    note(from.rts != to.rts, format!("+RTS {}", words(&to.rts)));
    note(from.runparam != to.runparam, format!("OCAMLRUNPARAM={}", to.runparam.as_deref().unwrap_or_default()));
    note(from.args != to.args, format!("arguments {}", words(&to.args)));
    note(from.quota_cpus != to.quota_cpus, format!("quota {}", text(to.quota_cpus)));
    note(from.neighbours_per_cpu != to.neighbours_per_cpu, format!("neighbours {}", to.neighbours_per_cpu));
    note(from.cpus != to.cpus, format!("CPUs {}", text(to.cpus.map(|cpus| cpus as f64))));
    let host = to.host.map_or_else(|| "none".to_owned(), |host| format!("of {} CPUs", host.cpus));
    note(from.host != to.host, format!("host {host}"));
    note(from.record != to.record, format!("record options {}", words(&to.record)));
    note(from.program() != to.program(), format!("program {}", to.program()));
    what.join(", ")
}

/// `OCAMLRUNPARAM` with additions; a letter replaces the same letter.
fn merged_runparam(text: &str, more: &str) -> String {
    let letter = |setting: &str| setting.split('=').next().unwrap_or_default().to_owned();
    let replaced = |setting: &&str| more.split(',').any(|new| letter(new) == letter(setting));
    let kept = text.split(',').filter(|setting| !setting.is_empty() && !replaced(setting));
    kept.chain(more.split(',')).collect::<Vec<_>>().join(",")
}

/// Flags with additions; a flag replaces one of the same kind.
fn merged(flags: &[String], more: &[&str]) -> Vec<String> {
    let replaced = |flag: &String| more.iter().any(|new| kind(new) == kind(flag));
    let kept = flags.iter().filter(|flag| !replaced(flag)).cloned();
    kept.chain(more.iter().map(|flag| (*flag).to_owned())).collect()
}

/// What a runtime flag sets: its name without its value.
fn kind(flag: &str) -> &str {
    // Flags of two letters whose second letter is not a value.
    const LONGER: [&str; 5] = ["-AL", "-Iw", "-Mgrace", "-hT", "-ol"];
    if flag.starts_with("--nonmoving-gc") {
        return "-xn";
    }
    if flag.starts_with("-maxN") {
        return "-N";
    }
    if flag.starts_with("--") {
        return flag.split('=').next().unwrap_or(flag);
    }
    let letters = if flag.starts_with("-q") || flag.starts_with("-x") || flag.starts_with("-k") { 3 } else { 2 };
    let long = LONGER.iter().find(|long| flag.starts_with(**long)).map_or(letters, |long| long.len());
    flag.get(..long).unwrap_or(flag)
}

impl Cure {
    /// The figure after over that before; `None`: nothing to compare, or no value before.
    pub fn ratio(&self) -> Option<f64> {
        let (before, after) = self.promise.before.zip(self.after)?;
        (self.error.is_none() && before > 0.0).then(|| after / before)
    }

    /// Whether the figure changed in the right direction, and by enough.
    pub fn improved(&self) -> bool {
        let better = |ratio: f64| if self.promise.rises { ratio > 1.0 + BETTER_BY } else { ratio < 1.0 - BETTER_BY };
        self.ratio().is_some_and(better)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;
    use serde_json::json;

    #[test]
    fn a_flag_replaces_its_own_kind() {
        let flags = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        for (before, more, after) in [
            ("-N8 -A1m", "-N2", "-A1m -N2"),
            ("-N2 -A1m", "-A64m -n4m", "-N2 -A64m -n4m"),
            ("-A1m -AL2m", "-A64m", "-AL2m -A64m"),
            ("-I0.1 -Iw1", "-I0", "-Iw1 -I0"),
            ("-N2 -qn2", "-qg", "-N2 -qn2 -qg"),
            ("--nonmoving-gc", "-xn", "-xn"),
            ("-maxN4", "-N2", "-N2"),
            ("-F2 --disable-delayed-os-memory-return", "-F4", "--disable-delayed-os-memory-return -F4"),
        ] {
            assert_eq!(
                merged(&flags(before), &more.split(' ').collect::<Vec<_>>()),
                flags(after),
                "{before} with {more}"
            );
        }
        assert_eq!((kind("-"), kind("")), ("-", ""));
    }

    #[test]
    fn a_letter_of_ocamlrunparam_replaces_itself() {
        for (before, more, after) in [
            ("", "s=8M", "s=8M"),
            ("s=4k", "s=8M", "s=8M"),
            ("v=0x400,s=4k,b", "s=8M,o=200", "v=0x400,b,s=8M,o=200"),
            ("b", "b", "b"),
        ] {
            assert_eq!(merged_runparam(before, more), after, "{before} with {more}");
        }
        let promise = Promise { options: vec!["s=8M".into()], ..Promise::default() };
        let ill = workload::load("leadership-contention").unwrap();
        assert_eq!(apply(&ill, &Applied::default(), &promise).unwrap().1, "OCAMLRUNPARAM=s=8M");
        let stated = Applied { runparam: Some("s=1M".into()), ..Applied::default() };
        assert_eq!(apply(&ill, &stated, &promise).unwrap().0.runparam.as_deref(), Some("s=1M"));
    }

    #[test]
    fn figures_are_found_by_keys_numbers_and_names() {
        let report = json!({
            "pauses": {"time_to_stop_ns": {"count": 0, "sum": 0, "p99": null}, "per_second": 2.5},
            "causes": [{"cause": "throttled", "sum_ns": 7}],
            "findings": [{"id": "x", "cost_ns": 9}],
            "productivity": {"wall": null},
        });
        for (path, found) in [
            ("pauses.time_to_stop_ns.sum", Some(0.0)),
            ("pauses.time_to_stop_ns.p99", Some(0.0)),
            ("pauses.per_second", Some(2.5)),
            ("causes.throttled.sum_ns", Some(7.0)),
            ("causes.late-safepoint.sum_ns", Some(0.0)),
            ("findings.0.cost_ns", Some(9.0)),
            ("findings.1.cost_ns", None),
            ("productivity.wall", None),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(figure(&report, path), found, "{path}");
        }
    }

    #[test]
    fn what_rtscope_prints_is_applied_unless_the_workload_overrides_it() {
        let report = json!({"a": 5, "findings": [{"remedies": [
            {"flag": "ghc-options: \"-with-rtsopts=-N1\"", "setting": {"options": ["-N1"]}, "metric": {"path": "a", "should": "fall"}},
            {"flag": "docker update --cpus 2 0123", "setting": {"cpu-limit": {"cpus": 2}}, "metric": {"path": "a", "should": "rise"}},
            {"flag": null},
        ]}]});
        let ill = workload::load("throttled").unwrap();
        let first = promise(&report, 0).unwrap();
        assert_eq!((first.before, first.rises), (Some(5.0), false));
        let (healed, what) = apply(&ill, &Applied::default(), &first).unwrap();
        assert_eq!((healed.rts, what), (vec!["-A4m".to_owned(), "-N1".into()], "+RTS -A4m -N1".to_owned()));
        let stated = Applied { rts: Some(vec!["-N3".into()]), ..Applied::default() };
        assert_eq!(apply(&ill, &stated, &first).unwrap().1, "+RTS -N3");

        let second = promise(&report, 1).unwrap();
        assert!(second.rises && apply(&ill, &Applied::default(), &second).is_err(), "nothing to change");
        let off = Applied { quota_cpus: Some(0.0), program: Some("healthy".into()), ..Applied::default() };
        assert_eq!(apply(&ill, &off, &second).unwrap().1, "quota none, program healthy");
        let louder = Workload { record: vec!["--detail".into(), "full".into()], ..ill };
        let plain = Applied { record: Some(Vec::new()), ..Applied::default() };
        assert_eq!(apply(&louder, &plain, &second).unwrap().1, "record options none");
        assert_eq!(promise(&report, 2).unwrap(), Promise::default());
        assert_eq!(promise(&report, 3), None);
    }

    #[test]
    fn better_is_more_than_noise_and_the_right_way() {
        let cure = |before, after, rises| Cure {
            promise: Promise { before, rises, ..Promise::default() },
            after,
            ..Cure::default()
        };
        assert!(cure(Some(100.0), Some(94.0), false).improved());
        assert!(!cure(Some(100.0), Some(96.0), false).improved());
        assert!(!cure(Some(100.0), Some(94.0), true).improved());
        assert!(cure(Some(0.5), Some(0.6), true).improved());
        for (before, after) in [(None, Some(1.0)), (Some(1.0), None), (Some(0.0), Some(0.0))] {
            assert!(!cure(before, after, false).improved());
        }
        assert!(!Cure { error: Some("no report".into()), ..cure(Some(2.0), Some(1.0), false) }.improved());
    }
}
