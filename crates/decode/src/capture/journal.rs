//! `journal.jsonl`: what a recorder has learnt since it last wrote the manifest, so that every log is listed even if
//! the recorder is killed. Owns the format of its lines and merging them into a manifest. A finished recording has no
//! journal: its manifest is complete.
//!
//! A line is `{"log":LOG}`, where the last line for a path counts, or `{"loss":[N,LOSS]}`, loss number N (from 0) of
//! the manifest. The file is append-only and may be truncated anywhere.

use super::lines::{self, Lines};
use rtscope_model::Loss;
use rtscope_model::manifest::{Log, Manifest};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::BufRead;

/// File name in a capture.
pub const NAME: &str = "journal.jsonl";
/// Limit of a line in bytes; longer lines are damage.
const LINE_MAX: u64 = 64 << 10;
/// No recorder writes more lines.
const LINES_MAX: usize = 1 << 20;

/// A line of the journal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournalLine {
    /// A log was found, or more is known about it.
    Log(Log),
    /// The manifest's loss with this number.
    Loss(usize, Loss),
}

/// Appends one line.
pub fn write_line(out: &mut Vec<u8>, line: &JournalLine) {
    lines::write(out, line);
}

/// Adds the content of the lines to a manifest. Unreadable lines are skipped.
pub(super) fn apply(manifest: &mut Manifest, input: impl BufRead) {
    let mut places: HashMap<String, usize> =
        manifest.logs.iter().enumerate().map(|(place, log)| (log.path.clone(), place)).collect();
    let mut lines = Lines::new(input, LINE_MAX);
    for _ in 0..LINES_MAX {
        if !lines.advance() {
            break;
        }
        match serde_json::from_slice(lines.line()) {
            Ok(JournalLine::Log(log)) => match places.get(&log.path).and_then(|place| manifest.logs.get_mut(*place)) {
                Some(known) => *known = log,
                None => {
                    places.insert(log.path.clone(), manifest.logs.len());
                    manifest.logs.push(log);
                }
            },
            Ok(JournalLine::Loss(number, loss)) if number >= manifest.losses.len() => manifest.losses.push(loss),
            Ok(JournalLine::Loss(..)) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::empty_manifest;
    use super::*;
    use rtscope_model::{ClockMap, LossKind};

    fn log(path: &str, pid: u32) -> Log {
        Log { path: path.into(), pid, clock: ClockMap::LOG_OWN, classes: "-l-ag".into(), version: None }
    }

    fn loss(source: &str) -> Loss {
        let (source, note) = (source.to_owned(), "a note".to_owned());
        Loss { source, kind: LossKind::DiskFull, count: 0, from: None, to: None, note }
    }

    #[test]
    fn a_cut_at_every_byte_gives_the_lines_before_it() {
        let mut bytes = Vec::new();
        let lines = [
            JournalLine::Log(log("eventlog/0.eventlog", 0)),
            JournalLine::Loss(0, loss("known")),
            JournalLine::Log(log("eventlog/1.eventlog", 8)),
            JournalLine::Loss(1, loss("fresh")),
            JournalLine::Log(log("eventlog/0.eventlog", 7)),
        ];
        lines.iter().for_each(|line| write_line(&mut bytes, line));
        for end in 0..=bytes.len() {
            let mut manifest = empty_manifest();
            manifest.losses = vec![loss("known")];
            apply(&mut manifest, &bytes[..end]);
            assert!(manifest.logs.len() <= 2 && manifest.losses.len() <= 2, "{end}");
            if end == bytes.len() {
                assert_eq!(manifest.logs, [log("eventlog/0.eventlog", 7), log("eventlog/1.eventlog", 8)]);
                assert_eq!(manifest.losses, [loss("known"), loss("fresh")]);
            }
        }
    }

    #[test]
    fn damage_is_skipped() {
        let mut bytes = b"\xff\n{\"log\":3}\n{\"new\":[]}\n\n".to_vec();
        bytes.extend(vec![b'['; 100_000]);
        bytes.push(b'\n');
        write_line(&mut bytes, &JournalLine::Log(log("eventlog/0.eventlog", 7)));
        let mut manifest = empty_manifest();
        apply(&mut manifest, &bytes[..]);
        assert_eq!(manifest.logs.len(), 1);
    }
}
