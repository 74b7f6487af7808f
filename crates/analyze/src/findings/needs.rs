//! What rules need to see, each with the sentence that says why they are blind without it. Owns the needs that rules
//! of every runtime share; those of a single rule or runtime are defined there.

use super::Facts;
use rtscope_model::units::counted;

/// Something that a recording may or may not hold.
pub struct Need {
    /// Its name, in a few words.
    pub name: &'static str,
    /// Recorded only on request: without it nothing was missed.
    pub optional: bool,
    /// Why it is missing; `None`: it is there.
    pub missing: fn(&Facts<'_>) -> Option<String>,
}

/// What ran instead of the program's threads.
pub static RUNNERS: Need = Need { name: "scheduling events of all threads", optional: false, missing: runners };

/// Where the code was.
pub static CODE: Need = Need { name: "samples of the code", optional: false, missing: code };

const NO_SCHEDULING: &str = "the kernel's scheduling events are missing or could not be used";

/// What threads waited for.
pub static LOOKS: Need = Need { name: "five looks at what threads wait for", optional: false, missing: looks };

/// Results of fewer looks may be chance.
pub const LOOKS_MIN: u64 = 5;

fn runners(facts: &Facts<'_>) -> Option<String> {
    match (&facts.context.kernel, facts.held) {
        (None, _) => Some(log_alone(facts, "what else ran")),
        (Some(_), None) => Some(format!("{NO_SCHEDULING}.")),
        (Some(_), Some(_)) => (!facts.names_next).then(|| {
            "only the program's own threads were seen: `rtscope doctor` says how to see what runs instead.".to_owned()
        }),
    }
}

fn code(facts: &Facts<'_>) -> Option<String> {
    match (&facts.context.kernel, facts.held, facts.code) {
        (None, ..) => Some(log_alone(facts, "where the code was")),
        (Some(_), None, _) => Some(format!("{NO_SCHEDULING}, so no wait could be looked up.")),
        (Some(_), Some(_), None) => {
            Some("the program's code was not sampled: `rtscope doctor` says how to see it.".to_owned())
        }
        (Some(_), Some(_), Some(_)) => None,
    }
}

fn looks(facts: &Facts<'_>) -> Option<String> {
    let Some(waits) = facts.context.waits.as_ref() else { return Some(log_alone(facts, "what threads wait for")) };
    (waits.looks < LOOKS_MIN).then(|| match &waits.why {
        Some(why) => format!("{why}."),
        None => format!("{} at what threads wait for: record for longer.", counted(waits.looks, "look", "looks")),
    })
}

/// The sentence that a log without kernel events does not show `what`.
pub(crate) fn log_alone(facts: &Facts<'_>, what: &str) -> String {
    format!("the {} alone does not show {what}: record with `rtscope record`.", facts.runtime.log)
}
