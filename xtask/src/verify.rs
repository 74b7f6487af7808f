//! `xtask verify-pauses LOG`: compares the pauses of `rtscope report --pauses` with those of `raw_pauses`, to
//! the nanosecond. Owns only the comparison.

use crate::raw_log::RawLog;
use crate::raw_pauses::{RawPause, pauses};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Number of pauses in the raw log.
    pub pauses: usize,
    /// One line for each figure that differs.
    pub differences: Vec<String>,
}

/// The compared part of a line of `report --pauses`; concurrent stops have no request and no figures of their
/// own, so only stop-the-world collections are compared.
#[derive(Debug, Deserialize)]
struct ReportedPause {
    kind: String,
    leader: Option<u16>,
    requested_ns: Option<u64>,
    stopped_ns: u64,
    collected_ns: u64,
    released_ns: u64,
    straggler: Option<u16>,
}

/// Compares rtscope's pauses of `log` with the raw computation.
pub fn verify(rtscope: &Path, log: &Path) -> Result<Verdict> {
    let bytes = fs::read(log).with_context(|| log.display().to_string())?;
    let raw = RawLog::read(&bytes).with_context(|| log.display().to_string())?;
    let expected = pauses(&raw);
    let done = Command::new(rtscope).args(["report", "--pauses"]).arg(log).output()?;
    let stderr = String::from_utf8_lossy(&done.stderr);
    // 3: there were losses that may change the answer; the comparison shows whether they do.
    ensure!(matches!(done.status.code(), Some(0 | 3)), "report --pauses ended with {}: {stderr}", done.status);
    let mut reported = Vec::new();
    for line in String::from_utf8(done.stdout)?.lines() {
        let line: ReportedPause = serde_json::from_str(line).with_context(|| line.to_owned())?;
        if line.kind != "concurrent-sync" {
            reported.push(line);
        }
    }
    reported.sort_by_key(|line| line.stopped_ns);
    Ok(compare(&expected, &reported))
}

fn compare(expected: &[RawPause], reported: &[ReportedPause]) -> Verdict {
    let mut verdict = Verdict { pauses: expected.len(), differences: Vec::new() };
    if expected.len() != reported.len() {
        verdict.differences.push(format!("{} pauses in the raw log, {} said", expected.len(), reported.len()));
    }
    for (number, (raw, line)) in expected.iter().zip(reported).enumerate() {
        let figures = [
            ("requested", raw.requested, line.requested_ns),
            ("stopped", Some(raw.stopped), Some(line.stopped_ns)),
            ("collected", Some(raw.collected), Some(line.collected_ns)),
            ("released", Some(raw.released), Some(line.released_ns)),
            ("leader", Some(raw.leader.into()), line.leader.map(u64::from)),
            ("straggler", raw.straggler.map(u64::from), line.straggler.map(u64::from)),
        ];
        for (what, raw, reported) in figures {
            if raw != reported {
                verdict
                    .differences
                    .push(format!("pause {number}: {what} is {raw:?} in the raw log, said {reported:?}"));
            }
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nanosecond_is_a_difference() {
        let raw = RawPause {
            requested: Some(1),
            stopped: 2,
            collected: 3,
            released: 4,
            leader: 0,
            straggler: None,
            generation: Some(0),
        };
        let line = |stopped_ns| ReportedPause {
            kind: "minor".into(),
            leader: Some(0),
            requested_ns: Some(1),
            stopped_ns,
            collected_ns: 3,
            released_ns: 4,
            straggler: None,
        };
        assert!(compare(std::slice::from_ref(&raw), &[line(2)]).differences.is_empty());
        assert_eq!(compare(&[raw], &[line(3)]).differences.len(), 1);
    }
}
