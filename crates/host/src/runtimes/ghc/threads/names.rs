//! What names of places tell of a wait that the runtime itself does not distinguish. In the threaded runtime a
//! delay and a read are code of a library: a thread asks the event manager, and takes from a new variable
//! that the manager fills. Owns the names of these functions (`GHC.Event.Thread` of base, in
//! `GHC.Internal` since 9.10) and of the manager's own loops; refuses to go by anything else.

use crate::runtimes::waiting::{Frame, Told, first_outside};
use rtscope_model::WaitKind;

/// Module and item of a name such as `GHC.Internal.Event.Thread.threadDelay1`, without where base keeps it.
fn of_base(name: &str) -> Option<(&str, &str)> {
    let name = name.strip_prefix("GHC.Internal.").or_else(|| name.strip_prefix("GHC."))?;
    name.rsplit_once('.')
}

/// What a thread in that function of the event manager's waits for.
fn kind(name: &str) -> Option<WaitKind> {
    let (module, item) = of_base(name)?;
    let item = item.trim_start_matches("$w");
    match module {
        "Event.Thread" if item.starts_with("threadDelay") || item.starts_with("registerDelay") => Some(WaitKind::Time),
        "Event.Thread" if item.starts_with("threadWait") => Some(WaitKind::InputOutput),
        // The threads of the manager wait for the kernel, each until somebody asks for something.
        "Event.Thread" | "Event.Manager" | "Event.TimerManager" | "Event.EPoll" | "Event.Poll" | "Event.Control" => {
            Some(WaitKind::NoWork)
        }
        _ => None,
    }
}

/// What `frames`, from the top on, say of a thread that waits for `found`.
pub fn told(found: WaitKind, frames: &[Option<Frame<'_>>]) -> Told {
    // A delay leaves no frame of its own but what is called on an exception: that forgets the timer.
    let first = frames.iter().flatten().find(|frame| !frame.runtime);
    let by_name = first.and_then(|frame| kind(frame.function()));
    // A thread that only waits has nothing else than what its end is caught by.
    let outside =
        first_outside(frames).or_else(|| frames.iter().position(|frame| frame.is_some_and(|frame| !frame.runtime)));
    match (found, by_name) {
        (WaitKind::Lock | WaitKind::Transaction, Some(kind @ (WaitKind::Time | WaitKind::InputOutput))) => {
            Told { kind, place: asks(frames).or(outside) }
        }
        (WaitKind::ForeignCall | WaitKind::Lock, Some(WaitKind::NoWork)) => {
            Told { kind: WaitKind::NoWork, place: outside }
        }
        _ => Told { kind: found, place: outside },
    }
}

/// Who asked the event manager comes after the manager's own frames.
fn asks(frames: &[Option<Frame<'_>>]) -> Option<usize> {
    let own = |frame: &Frame<'_>| frame.runtime || frame.handler || kind(frame.function()).is_some();
    frames.iter().position(|frame| frame.is_some_and(|frame| !own(&frame)))
}
