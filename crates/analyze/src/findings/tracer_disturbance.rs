//! `tracer-disturbance`: the recording itself slows the program down: lanes write
//! log buffers, the runtime's tracing code runs, the recorder's threads take CPUs.
//!
//! Cost: wall-clock time in which a lane wrote its log; CPU time that samples found in
//! the runtime's functions that post events, shared out over the lanes; time in which
//! the recorder ran on a CPU that the program wanted. Where other
//! processes want the CPUs, too, the recorder alone takes up to a twentieth: a twelfth of the
//! wall clock is more than any recording should; then its other figures are to be taken with care.

use super::{Cost, Facts, Rule, Runtimes, Verdict, evidence, preempted};
use crate::results::BlamedPause;
use rtscope_model::runtimes::GHC;
use rtscope_model::units::{duration, percent};
use rtscope_model::{CodeKind, Confidence, Evidence, Metric, Names, Remedy, Symbol};

const SHARE_MIN: f64 = 0.08;
/// Where the time that lanes wrote stands in `report --json`.
const WRITE: &str = "tracer.write_ns";

pub(super) struct TracerDisturbance;

/// The parts of the cost, nanoseconds.
struct Parts {
    writes: u64,
    posts: u64,
    recorder: u64,
}

impl Parts {
    fn of(facts: &Facts<'_>) -> Parts {
        let posts = facts.code.map_or(0, |code| code.running_ns(facts.symbols, posts_events));
        let own = facts.context.own_cost.as_ref().map_or(u64::MAX, |cost| cost.cpu_ns);
        Parts {
            writes: facts.disturbance.wall_ns(),
            posts: posts / facts.lanes.max(1) as u64,
            // Names may be shared with another recorder: not more than this one ran.
            recorder: facts.held.map_or(0, |held| preempted::recorder_ns(held, &facts.recorder)).min(own),
        }
    }

    fn sum(&self) -> u64 {
        self.writes + self.posts + self.recorder
    }
}

/// GHC's functions that put an event into a buffer: `postSchedEvent`, `traceCapEvent_`.
fn posts_events(symbol: &Symbol) -> bool {
    let upper = |rest: &str| rest.starts_with(|next: char| next.is_ascii_uppercase() || next == '_');
    let posts = |prefix| symbol.name.strip_prefix(prefix).is_some_and(upper);
    symbol.kind == CodeKind::Runtime && (posts("post") || posts("trace"))
}

impl Rule for TracerDisturbance {
    fn id(&self) -> &'static str {
        "tracer-disturbance"
    }

    fn runtimes(&self) -> Runtimes {
        Runtimes::Only(&GHC)
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        let why = "no log of a runtime was recorded, so what writing it cost is not known.";
        (!facts.runtime.is_known()).then(|| why.to_owned())
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let parts = Parts::of(facts);
        if facts.share(parts.sum()) < SHARE_MIN {
            return None;
        }
        Some(Verdict {
            confidence: if parts.writes * 2 >= parts.sum() { Confidence::High } else { Confidence::Medium },
            cost: Cost::Time(parts.sum().min(facts.span_ns)),
            evidence: seen(facts, &parts),
            remedies: remedies(),
        })
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let parts = Parts::of(facts);
        let most = match parts.writes.max(parts.posts).max(parts.recorder) {
            most if most == parts.writes => "capabilities wrote their event logs",
            most if most == parts.posts => "the runtime posted events",
            _ => "the recorder ran on its CPUs",
        };
        format!(
            "Recording slows the program down: {most}, at a cost of {} of {} ({}).",
            duration(verdict.cost_ns()),
            duration(facts.span_ns),
            percent(facts.share(verdict.cost_ns()))
        )
    }

    fn instance(&self, _: &BlamedPause, _: &Names) -> Option<String> {
        // The log does not tell what of one wait was a write.
        None
    }
}

fn seen(facts: &Facts<'_>, parts: &Parts) -> Vec<Evidence> {
    let (writes, longest) = facts.disturbance.writes();
    let mut seen = Vec::new();
    if writes > 0 {
        let ns = longest.map_or(0, |(from, to)| to.since(from));
        let text = format!(
            "Capabilities wrote log buffers {writes} times, during {} of the run; the longest write took {}.",
            duration(parts.writes),
            duration(ns)
        );
        seen.push(evidence(text, longest));
    }
    if parts.posts > 0 {
        let text = format!(
            "Samples found {} of each capability's time in the runtime's functions that post events.",
            duration(parts.posts)
        );
        seen.push(evidence(text, Some((facts.started, facts.end))));
    }
    if parts.recorder > 0 {
        let text =
            format!("The recorder ran on a CPU that the program waited for during {}.", duration(parts.recorder));
        seen.push(evidence(text, Some((facts.started, facts.end))));
    }
    seen
}

fn remedies() -> Vec<Remedy> {
    let verify = "Record again: the time spent writing the log falls (see `tracer` in --json).".to_owned();
    vec![
        Remedy {
            text: "Record fewer classes of events: without `--detail full`, and without an `-l` of the program's own that asks \
                   for the scheduler's events."
                .into(),
            flag: Some("rtscope record --detail cheap".into()),
            verify: verify.clone(),
            metric: Metric::falls(WRITE),
        },
        Remedy {
            text: "Or put the recording on a faster disk, or in memory.".into(),
            flag: Some("rtscope record -o /dev/shm/NAME".into()),
            verify,
            metric: Metric::falls(WRITE),
        },
    ]
}
