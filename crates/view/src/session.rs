//! What a page reads of a recording before it asks for any tile: tracks, words for kinds and causes, findings, what
//! is missing. Owns the form (`docs/formats/view.md`); refuses to compute any of it.

use rtscope_analyze::results::Results;
use rtscope_model::text::{clean, word};
use rtscope_model::{Cause, ClockMap, ClockMethod, Finding, Loss, LossKind, Node, Remedy, Time, units};
use rtscope_report::kinds::{self, Kind};
use rtscope_report::{EVIDENCE_MAX, REMEDIES_MAX, sections, shows, words};
use serde::{Deserialize, Serialize};

/// Schema of [`Session`].
pub const SCHEMA: &str = "rtscope/view/1";

/// A recording as a timeline. Times are nanoseconds since [`Session::from_ns`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Session {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Name of the recording's file.
    pub title: String,
    /// Its start on the trace clock, nanoseconds.
    pub from_ns: u64,
    /// Its length, nanoseconds.
    pub span_ns: u64,
    /// The clock and its accuracy, in words.
    pub clock: String,
    /// The runtime: "GHC 9.0.2, threaded"; null if none was seen.
    pub runtime: Option<String>,
    /// The runtime's name for a lane: "capability", "domain".
    pub lane: String,
    /// Its plural.
    pub lanes: String,
    /// Kinds of spans.
    pub kinds: Vec<Kind>,
    /// Groups of tracks, from the top.
    pub groups: Vec<TrackGroup>,
    /// Names that spans refer to by index; the first is empty.
    pub details: Vec<String>,
    /// Findings, most severe first.
    pub findings: Vec<ShownFinding>,
    /// What was lost, and when.
    pub gaps: Vec<Gap>,
    /// What the recording does not show, one sentence each.
    pub missing: Vec<String>,
    /// Words for the causes of waits.
    pub causes: Vec<CauseWords>,
    /// The figures of the report: its sections, with the forms of `rtscope_draw::present`.
    #[serde(default)]
    pub sections: Vec<serde_json::Value>,
    /// Where lane time went.
    pub account: AccountTracks,
}

/// A track that is full where a lane's time counts as a top-level part of the account.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AccountTrack {
    /// Its number.
    pub id: u32,
    /// The top-level part, which a rare kind of it counts as.
    pub top: Node,
}

/// Tracks that no page draws: what each lane's time counts as.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AccountTracks {
    /// The tracks: for each lane one for each top-level part.
    pub tracks: Vec<AccountTrack>,
    /// How many lanes there are.
    pub lanes: usize,
    /// What a kind of these tracks stands for, by its number: the nodes of the account from the top.
    pub parts: Vec<Vec<Node>>,
}

/// Tracks that belong together, such as those of a lane.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrackGroup {
    /// The heading: "capability 3".
    pub name: String,
    /// A second name, shown next to the heading.
    pub sub: Option<String>,
    /// Its tracks, the most important first.
    pub tracks: Vec<Track>,
    /// Whether it is closed at first.
    pub folded: bool,
}

/// A line of the timeline.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Track {
    /// The number by which requests name it.
    pub id: u32,
    /// What it shows.
    pub name: String,
    /// What its records are.
    pub form: Form,
    /// The unit of values: "bytes", "bytes/s", "ns", "share", or a word.
    pub unit: Option<String>,
    /// Highest level of detail.
    pub top: u8,
}

/// What the records of a track are.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Spans that fill the track.
    Spans,
    /// Values, each of which holds until the next.
    Values,
    /// Spans that are single events.
    Marks,
}

/// A finding and where it shows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ShownFinding {
    /// Stable name of the finding.
    pub id: String,
    /// "note", "warning", "severe".
    pub severity: String,
    /// The finding in one sentence.
    pub claim: String,
    /// The evidence, one sentence each.
    pub seen: Vec<String>,
    /// What to change, the best first.
    pub changes: Vec<Change>,
    /// Start of where it shows best: its narrowest evidence, else the worst pause; null: nowhere in particular.
    pub at_ns: Option<u64>,
    /// End of where it shows best.
    pub to_ns: Option<u64>,
    /// The track that shows it best.
    pub track: Option<u32>,
}

/// A remedy for a finding.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// The remedy in words.
    pub text: String,
    /// The text to paste; null if there are only words.
    pub paste: Option<String>,
}

/// An interval in which something was lost.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Gap {
    /// Start of the interval, in nanoseconds.
    pub from_ns: u64,
    /// End of the interval, in nanoseconds.
    pub to_ns: u64,
    /// What was lost.
    pub note: String,
    /// The track that it affects; null for all.
    pub track: Option<u32>,
}

/// The wording of a cause.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct CauseWords {
    /// The id of the cause in `report --pauses`.
    pub id: String,
    /// The phrase without a thread's name.
    pub words: String,
    /// The phrase with `{who}` in place of a thread's name.
    pub with_who: String,
    /// The role that it is drawn with.
    pub role: String,
}

impl Session {
    /// The results of an analysis; groups, kinds and details come from the drawing of tracks.
    pub fn of_results(results: &Results, clock: ClockMap) -> Session {
        let (start, end) = (results.started.0, results.started.0.saturating_add(results.span_ns));
        let mut missing = words::limits(results);
        if let Some(why) = words::no_log(results) {
            missing.retain(|text| *text != why);
            missing.insert(0, why);
        } else if missing.is_empty() && !results.kernel.used {
            missing.push(
                "what the machine did to the program: no kernel events are here (`rtscope record -- PROGRAM`, as root, has \
                 them)"
                    .into(),
            );
        }
        missing.extend(words::losses(results));
        Session {
            schema: SCHEMA.into(),
            title: title(results),
            from_ns: start,
            span_ns: results.span_ns,
            clock: clock_words(clock),
            runtime: words::runtime(&results.runtime),
            lane: results.runtime.info().lane.0.into(),
            lanes: results.runtime.info().lane.1.into(),
            findings: results.findings.iter().map(|finding| found(finding, results, (start, end))).collect(),
            gaps: results.losses.iter().filter_map(|loss| gap(loss, start, end)).collect(),
            missing,
            sections: figures(results),
            causes: Session::all_causes(),
            ..Session::default()
        }
    }

    /// Adds what was drawn; `results` are those that the session was made from.
    pub fn with(mut self, results: &Results, parts: SessionParts) -> Session {
        for (found, finding) in self.findings.iter_mut().zip(&results.findings) {
            found.track = parts.shows(finding);
        }
        self.missing.extend(parts.missing);
        let SessionParts { kinds, groups, details, account, .. } = parts;
        Session { kinds, groups, details, account, ..self }
    }

    /// All tracks of all groups.
    pub fn tracks(&self) -> impl Iterator<Item = &Track> {
        self.groups.iter().flat_map(|group| &group.tracks)
    }

    /// The wording of every cause.
    pub fn all_causes() -> Vec<CauseWords> {
        let id = |cause: Cause| serde_json::to_value(cause).ok().and_then(|id| id.as_str().map(String::from));
        let wording = |cause: Cause| CauseWords {
            id: id(cause).unwrap_or_default(),
            words: words::cause(cause, None),
            with_who: words::cause(cause, Some("{who}")),
            role: kinds::role(cause).into(),
        };
        Cause::ALL.map(wording).into()
    }
}

/// The sections of the report except for the verdict.
fn figures(results: &Results) -> Vec<serde_json::Value> {
    let sections = sections::all(results);
    sections.iter().filter(|section| section.id != "verdict").filter_map(|one| serde_json::to_value(one).ok()).collect()
}

/// The file's own name, without its folders.
fn title(results: &Results) -> String {
    let path = results.source.path.trim_end_matches('/');
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path).into()
}

fn clock_words(clock: ClockMap) -> String {
    let name = match clock.method {
        ClockMethod::RuntimeStatic | ClockMethod::Monotonic => "CLOCK_MONOTONIC",
        ClockMethod::WallClockPair => "CLOCK_MONOTONIC, by the wall clock",
        ClockMethod::LogOwn => return "the log's own".into(),
    };
    match clock.error_ns.filter(|error| *error > 0) {
        Some(error) => format!("{name}, within {}", units::duration(error)),
        None => name.into(),
    }
}

fn found(finding: &Finding, results: &Results, (start, end): (u64, u64)) -> ShownFinding {
    let since = |time: Time| time.0.clamp(start, end) - start;
    let shows = shows::best(finding, results);
    let change =
        |remedy: &Remedy| Change { text: clean(&remedy.text.to_string()).into_owned(), paste: remedy.flag.clone() };
    ShownFinding {
        id: finding.id.clone(),
        severity: word(&finding.severity),
        claim: finding.claim.to_string(),
        seen: finding.evidence.iter().take(EVIDENCE_MAX).map(|seen| seen.text.clone()).collect(),
        changes: finding.remedies.iter().take(REMEDIES_MAX).map(change).collect(),
        at_ns: shows.map(|(from, _)| since(from)),
        to_ns: shows.map(|(_, to)| since(to)),
        track: None,
    }
}

/// The gap for a loss of runtime events at a known time. Losses of kernel events are no gaps in the lanes.
fn gap(loss: &Loss, start: u64, end: u64) -> Option<Gap> {
    let events = matches!(
        loss.kind,
        LossKind::Damaged
            | LossKind::Truncated
            | LossKind::Unwritten
            | LossKind::RingWords
            | LossKind::Paused
            | LossKind::DiskFull
    );
    let from = loss.from.filter(|_| events)?.0.clamp(start, end) - start;
    let to = loss.to.map_or(end, |to| to.0).clamp(start, end) - start;
    (to > from).then(|| Gap { from_ns: from, to_ns: to, note: words::loss(loss), track: None })
}

/// Names of groups and tracks that findings refer to.
pub(super) const PAUSES: &str = "Pauses";
pub(super) const MEMORY: &str = "Memory";
pub(super) const WAITED_FOR: &str = "what they waited for";

/// What the drawing of tracks adds to a session.
pub struct SessionParts {
    /// Kinds that were drawn.
    pub kinds: Vec<Kind>,
    /// Groups of tracks, from the top.
    pub groups: Vec<TrackGroup>,
    /// Names that spans refer to by index; the first is empty.
    pub details: Vec<String>,
    /// Where lane time went.
    pub account: AccountTracks,
    /// What tracks do not show, one sentence each.
    pub missing: Vec<String>,
}

impl SessionParts {
    /// The track that shows best what a finding is about: lines of memory, else causes of waits, else pauses.
    pub fn shows(&self, finding: &Finding) -> Option<u32> {
        let name = if finding.cost_bytes.is_some() { MEMORY } else { PAUSES };
        let tracks = &self.groups.iter().find(|group| group.name == name)?.tracks;
        tracks.iter().find(|track| track.name == WAITED_FOR).or(tracks.first()).map(|track| track.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_words() {
        let causes = Session::all_causes();
        assert_eq!(causes.len(), Cause::ALL.len());
        let preempted = causes.iter().find(|cause| cause.id == "preempted").expect("the cause");
        assert_eq!(preempted.with_who, "preempted by {who}");
        assert!(causes.iter().all(|cause| !cause.words.is_empty() && cause.with_who.contains("{who}")));
    }
}
