//! `xtask accounts`: how much of the workloads' time the account cannot explain, by the recorder's
//! privileges. Owns the recorder's identities, the file of rows that a later call continues, and the
//! table; the runner does the recording.

use crate::cache::cache;
use crate::commit::commit;
use crate::rows::Rows;
use crate::runner::{Runner, target_folder};
use crate::statistics::median;
use crate::toolchain::{ALL, Spec, Toolchain};
use crate::workload::{self, Workload};
use anyhow::{Context, Result};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What to record, and where the rows are.
#[derive(Args, Debug)]
pub struct AccountsArgs {
    /// Rows are appended here; existing ones are not recorded again.
    #[arg(long, value_name = "FILE.jsonl", default_value_os_t = target_folder().join("accounts.jsonl"))]
    rows: PathBuf,
    /// Run nothing; print the table of the rows.
    #[arg(long)]
    table: bool,
    /// Only these workloads.
    #[arg(long, num_args = 1.., value_name = "NAME")]
    only: Vec<String>,
    /// With these toolchains (default: all that are installed).
    #[arg(long, num_args = 1.., value_name = "NAME")]
    on: Vec<String>,
    /// Runs of each workload.
    #[arg(long, default_value_t = 1)]
    runs: u32,
}

/// Identities of the recorder, and the command that takes each on.
const AS: [(&str, &[&str]); 3] = [
    ("root", &[]),
    ("a user", &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--no-new-privs"]),
    (
        "a user with CAP_PERFMON",
        &[
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all,+perfmon",
            "--ambient-caps=-all,+perfmon",
        ],
    ),
];

/// One recording.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct AccountRow {
    commit: String,
    workload: String,
    on: String,
    recorder: String,
    run: u32,
    /// Lane time, nanoseconds; `None`: there is no account.
    lanes_ns: Option<u64>,
    /// Unknown part of the lane time.
    not_known: Option<f64>,
    /// Whether the parts sum up on every level.
    sums_up: bool,
    /// Reasons for unknown time, largest part first.
    why: Vec<String>,
    /// Why there is no report.
    error: Option<String>,
}

/// Records whatever has no row yet, then prints the table of all rows.
///
/// # Errors
/// The rows cannot be read or written, or a program cannot be built.
pub fn run(options: &AccountsArgs, rtscope: &Path, print: &mut dyn FnMut(&str)) -> Result<()> {
    let mut rows = Rows::open(&options.rows)?;
    if !options.table {
        suite(options, rtscope, &mut rows, print)?;
    }
    table(&rows.all).iter().for_each(|line| print(line));
    Ok(())
}

fn suite(
    options: &AccountsArgs,
    rtscope: &Path,
    rows: &mut Rows<AccountRow>,
    print: &mut dyn FnMut(&str),
) -> Result<()> {
    let runner = open_to_all(Runner::new(rtscope)?)?;
    let commit = commit(&["crates", "workloads"])?;
    let asked = |spec: &&Spec| options.on.is_empty() || options.on.iter().any(|name| name == spec.name);
    let toolchains: Vec<Toolchain> = ALL.iter().filter(asked).filter_map(|spec| spec.installed(&cache())).collect();
    let wanted = |workload: &Workload| {
        let asked = options.only.is_empty() && workload.judged || options.only.contains(&workload.name);
        asked && workload.host.is_none()
    };
    for workload in workload::all()?.into_iter().filter(wanted) {
        let on: Vec<&Toolchain> = toolchains.iter().filter(|on| workload.compiles_on(on)).collect();
        for (toolchain, run) in on.iter().flat_map(|on| (0..options.runs).map(move |run| (on, run))) {
            for (recorder, becoming) in AS {
                let on = workload.language.compiler(toolchain).unwrap_or_default();
                let same = |row: &AccountRow| {
                    (&*row.workload, &*row.on, &*row.recorder, row.run) == (&*workload.name, &*on, recorder, run)
                };
                if rows.all.iter().any(same) {
                    continue;
                }
                let row = AccountRow {
                    commit: commit.clone(),
                    workload: workload.name.clone(),
                    on,
                    recorder: recorder.into(),
                    run,
                    ..row(runner.recorded_by(becoming, &workload, toolchain))
                };
                print(&sentence(&row));
                rows.add(vec![row])?;
            }
        }
    }
    Ok(())
}

/// Another user's recorder must write captures and start programs that are in folders of root.
fn open_to_all(mut runner: Runner) -> Result<Runner> {
    let folder = std::env::temp_dir().join(format!("rtscope-accounts-{}", std::process::id()));
    let own = fs::canonicalize(&runner.rtscope)?;
    fs::remove_dir_all(&runner.scratch)?;
    (runner.builds, runner.scratch) = (folder.join("builds"), folder.join("captures"));
    fs::create_dir_all(&runner.builds)?;
    fs::create_dir_all(&runner.scratch)?;
    // There, a toolchain's tree contains it, too.
    runner.rtscope = runner.builds.join("rtscope");
    fs::copy(own, &runner.rtscope)?;
    fs::set_permissions(&runner.scratch, Permissions::from_mode(0o1777))?;
    Ok(runner)
}

fn row(report: Result<Value>) -> AccountRow {
    let mut row = AccountRow {
        commit: String::new(),
        workload: String::new(),
        on: String::new(),
        recorder: String::new(),
        run: 0,
        lanes_ns: None,
        not_known: None,
        sums_up: false,
        why: Vec::new(),
        error: None,
    };
    match report.and_then(|report| account(&report, &mut row).context("the report has no account")) {
        Ok(()) => {}
        Err(error) => row.error = Some(format!("{error:#}")),
    }
    row
}

fn account(report: &Value, row: &mut AccountRow) -> Option<()> {
    let account = &report["account"];
    let lanes = account["lanes_ns"].as_u64()?;
    let parts = account["parts"].as_array()?;
    row.lanes_ns = Some(lanes);
    row.sums_up = sums_up(parts, lanes);
    let not_known = parts.iter().find(|part| part["id"] == "not-known");
    let ns = not_known.map_or(0, |part| part["ns"].as_u64().unwrap_or(0));
    row.not_known = Some(ns as f64 / lanes.max(1) as f64);
    let whys =
        not_known.iter().flat_map(|part| [*part].into_iter().chain(part["parts"].as_array().into_iter().flatten()));
    row.why = whys.filter_map(|part| part["why"].as_str().or(part["name"].as_str()).map(str::to_owned)).collect();
    Some(())
}

fn sums_up(parts: &[Value], whole: u64) -> bool {
    let of = |part: &Value| part["ns"].as_u64().unwrap_or(0);
    let below =
        |part: &Value| part["parts"].as_array().is_none_or(|parts| parts.is_empty() || sums_up(parts, of(part)));
    parts.iter().map(of).sum::<u64>() == whole && parts.iter().all(below)
}

fn sentence(row: &AccountRow) -> String {
    let what = match (row.not_known, &row.error) {
        (Some(share), _) => {
            format!("{:.2} % not known{}", 100.0 * share, if row.sums_up { "" } else { ", DOES NOT SUM UP" })
        }
        (None, error) => format!("no account: {}", error.as_deref().unwrap_or_default()),
    };
    format!("{} on {} as {}: {what}", row.workload, row.on, row.recorder)
}

/// By recorder and runtime: number of recordings, median and largest unknown share, and the number of
/// recordings with more than 5 %.
fn table(rows: &[AccountRow]) -> Vec<String> {
    let mut groups: BTreeMap<(&str, &str), Vec<&AccountRow>> = BTreeMap::new();
    rows.iter().for_each(|row| groups.entry((&row.recorder, &row.on)).or_default().push(row));
    let head = [
        "| recorder | runtime | recordings | sum up | median | largest | above 5 % |",
        "|---|---|---|---|---|---|---|",
    ];
    let line = |((recorder, on), rows): ((&str, &str), Vec<&AccountRow>)| {
        let shares: Vec<f64> = rows.iter().filter_map(|row| row.not_known).collect();
        let (middle, most) = if shares.is_empty() {
            (f64::NAN, f64::NAN)
        } else {
            (median(&shares), shares.iter().copied().fold(0.0, f64::max))
        };
        let sound = rows.iter().filter(|row| row.sums_up).count();
        let above = shares.iter().filter(|share| **share > 0.05).count();
        format!(
            "| {recorder} | {on} | {} | {sound} | {:.2} % | {:.1} % | {above} |",
            rows.len(),
            100.0 * middle,
            100.0 * most
        )
    };
    head.map(str::to_owned).into_iter().chain(groups.into_iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_shows_what_is_not_known_and_whether_it_sums_up() {
        let part =
            |id: &str, ns: u64, parts: Value| json!({"id": id, "name": id, "ns": ns, "why": null, "parts": parts});
        let inner = json!([part("a", 1, json!([])), part("b", 2, json!([]))]);
        let report = |first: u64| {
            let parts = [part("program", first, json!([])), part("not-known", 3, inner.clone())];
            json!({"account": {"lanes_ns": 10, "parts": parts}})
        };
        let sound = row(Ok(report(7)));
        assert_eq!((sound.not_known, sound.sums_up, sound.why.len()), (Some(0.3), true, 3));
        assert!(!row(Ok(report(8))).sums_up);
        let none = row(Ok(json!({"account": null})));
        assert!(none.error.is_some() && none.not_known.is_none());
        assert_eq!(table(&[sound, none]).len(), 3);
    }
}
