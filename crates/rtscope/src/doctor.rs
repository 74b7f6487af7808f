//! `rtscope doctor`, shown: what this machine permits, what is missing, and the
//! command that mends it. Owns the form; the checks themselves are the host's.

use crate::style::{Style, Tone, clean, wrap};
use serde::Serialize;
use std::io::{self, Write};

/// How one thing stands.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// As it should be.
    Ok,
    /// Works, but shows less.
    Degraded,
    /// Not there.
    Missing,
}

/// One check, as it is shown.
#[derive(Clone, Debug, Serialize)]
pub struct Row<'c> {
    /// What was checked: "kernel scheduling events".
    pub name: &'c str,
    /// How it stands.
    pub state: State,
    /// What was found, with the figure and where it came from.
    pub found: &'c str,
    /// What that means for a report.
    pub means: &'c str,
    /// The command that mends it, where one does.
    pub mend: Option<&'c str>,
}

impl<'c> From<&'c rtscope_host::doctor::Check> for Row<'c> {
    fn from(check: &'c rtscope_host::doctor::Check) -> Self {
        Row {
            name: check.name,
            state: match check.state {
                rtscope_host::doctor::State::Ok => State::Ok,
                rtscope_host::doctor::State::Degraded => State::Degraded,
                rtscope_host::doctor::State::Missing => State::Missing,
            },
            found: &check.found,
            means: &check.means,
            mend: check.mend.as_deref(),
        }
    }
}

/// The checks as text.
pub fn text(rows: &[Row<'_>], style: &Style) -> String {
    const INDENT: usize = 10;
    let mut out = String::new();
    let width = style.width.saturating_sub(INDENT).max(20);
    let paragraph = |out: &mut String, text: &str, tone: Option<Tone>| {
        for line in wrap(&clean(text), width) {
            let line = tone.map_or_else(|| line.as_str().into(), |tone| style.paint(tone, &line));
            out.push_str(&format!("{}{line}\n", " ".repeat(INDENT)));
        }
    };
    for row in rows {
        let (tone, word) = match row.state {
            State::Ok => (Tone::Good, "ok"),
            State::Degraded => (Tone::Warn, "less"),
            State::Missing => (Tone::Bad, "missing"),
        };
        let pad = " ".repeat(INDENT.saturating_sub(word.len()));
        let name = clean(row.name);
        let head = format!("{}{pad}{}", style.paint(tone, word), style.paint(Tone::Strong, &name));
        out.push_str(&head);
        out.push('\n');
        paragraph(&mut out, row.found, Some(Tone::Faint));
        if row.state == State::Ok {
            continue;
        }
        paragraph(&mut out, row.means, None);
        // To be pasted: neither wrapped nor squeezed.
        for (index, line) in row.mend.iter().flat_map(|mend| mend.lines()).enumerate() {
            let label = if index == 0 { "  mend" } else { "" };
            let line = style.paint(Tone::Strong, &clean(line)).into_owned();
            out.push_str(&format!("{label:INDENT$}{line}\n"));
        }
    }
    let summary = match (count(rows, State::Missing), count(rows, State::Degraded)) {
        (0, 0) => "Everything that rtscope can use is there.".to_string(),
        (0, 1) => "Recording works; one thing shows less than it could.".to_string(),
        (0, less) => format!("Recording works; {less} of {} things show less than they could.", rows.len()),
        (1, _) => "One thing is missing: reports will say what they could not see.".to_string(),
        (missing, _) => {
            format!("{missing} of {} things are missing: reports will say what they could not see.", rows.len())
        }
    };
    out.push_str(&format!("\n{summary}\n"));
    out
}

fn count(rows: &[Row<'_>], state: State) -> usize {
    rows.iter().filter(|row| row.state == state).count()
}

/// `doctor --json`: `{schema, checks[] {name, state, found, means, mend}}`.
pub fn json(rows: &[Row<'_>], pretty: bool, out: &mut dyn Write) -> io::Result<()> {
    let document = serde_json::json!({ "schema": "rtscope/doctor/1", "checks": rows });
    if pretty {
        serde_json::to_writer_pretty(&mut *out, &document)?;
    } else {
        serde_json::to_writer(&mut *out, &document)?;
    }
    out.write_all(b"\n")
}

/// Exit code of `doctor`: 0 where recording works (fully or with less to see),
/// 3 where something is missing and reports will have holes.
pub fn exit_code(rows: &[Row<'_>]) -> u8 {
    if rows.iter().any(|row| row.state == State::Missing) { 3 } else { 0 }
}
