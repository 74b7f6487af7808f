//! What names of places say about a wait that the runtime itself does not distinguish. In the threaded runtime a
//! delay and a read are library code: a thread asks the event manager, and takes from a new variable
//! that the manager fills. Owns the names of these functions (`GHC.Event.Thread` of base, in
//! `GHC.Internal` since 9.10) and of the manager's own loops; refuses to use anything else.

use crate::runtimes::waiting::{Interpreted, NamedFrame, Role, first_outside};
use rtscope_model::WaitKind;

/// Module and item of a name such as `GHC.Internal.Event.Thread.threadDelay1`, without base's prefix.
fn of_base(name: &str) -> Option<(&str, &str)> {
    let name = name.strip_prefix("GHC.Internal.").or_else(|| name.strip_prefix("GHC."))?;
    name.rsplit_once('.')
}

/// What a thread in that function of the event manager waits for.
fn kind(name: &str) -> Option<WaitKind> {
    let (module, item) = of_base(name)?;
    let item = item.trim_start_matches("$w");
    match module {
        "Event.Thread" if item.starts_with("threadDelay") || item.starts_with("registerDelay") => Some(WaitKind::Time),
        "Event.Thread" if item.starts_with("threadWait") => Some(WaitKind::InputOutput),
        // The manager's threads wait in the kernel, each until a thread makes a request.
        "Event.Thread" | "Event.Manager" | "Event.TimerManager" | "Event.EPoll" | "Event.Poll" | "Event.Control" => {
            Some(WaitKind::NoWork)
        }
        _ => None,
    }
}

/// Whether it is a function of base that runs its caller's action: it waits on behalf of that caller.
fn runs_an_action(name: &str) -> bool {
    let name = name.strip_prefix("GHC.Internal.").or_else(|| name.strip_prefix("GHC.")).unwrap_or(name);
    let module = name.rsplit_once('.').map_or(name, |(module, _)| module);
    matches!(
        module,
        "Control.Exception.Base"
            | "Control.Exception"
            | "Control.Concurrent.MVar"
            | "Foreign.C.Error"
            | "MVar"
            | "IO"
            | "IO.Unsafe"
    )
}

/// What `frames`, innermost first, say about a thread that waits for `found`.
pub fn interpret(found: WaitKind, frames: &[Option<NamedFrame<'_>>]) -> Interpreted {
    // A delay leaves only its exception handler's frame, which cancels the timer.
    let own = |frame: &NamedFrame<'_>| frame.role != Role::Foreign && !frame.runtime;
    let first = frames.iter().flatten().find(|frame| own(frame));
    let by_name = first.and_then(|frame| kind(frame.function()));
    // A thread that only waits has only frames that catch exceptions.
    let of_program =
        |frame: &NamedFrame<'_>| own(frame) && frame.role == Role::Goes && !runs_an_action(frame.function());
    let outside = frames.iter().position(|frame| frame.is_some_and(|frame| of_program(&frame)));
    let outside = outside
        .or_else(|| first_outside(frames))
        .or_else(|| frames.iter().position(|frame| frame.is_some_and(|frame| own(&frame))));
    match (found, by_name) {
        (WaitKind::Lock | WaitKind::Transaction, Some(kind @ (WaitKind::Time | WaitKind::InputOutput))) => {
            Interpreted { kind, place: requesting_code(frames).or(outside), callee: None }
        }
        (WaitKind::ForeignCall | WaitKind::Lock, Some(WaitKind::NoWork)) => {
            Interpreted { kind: WaitKind::NoWork, place: outside, callee: None }
        }
        (WaitKind::ForeignCall, _) => Interpreted { kind: found, place: outside, callee: callee(frames) },
        _ => Interpreted { kind: found, place: outside, callee: None },
    }
}

/// The foreign function that Haskell code called: on the stack of C code, the last named place before the Haskell
/// code, which is on that stack too. Leftovers of the runtime from before are skipped; if no Haskell code is
/// known, the runtime's own code is the end.
fn callee(frames: &[Option<NamedFrame<'_>>]) -> Option<usize> {
    let from = frames.iter().position(|frame| frame.is_some_and(|frame| frame.role == Role::Foreign))?;
    let at = |wanted: &dyn Fn(&NamedFrame<'_>) -> bool| {
        let mut foreign = frames.iter().enumerate().skip(from);
        foreign.find(|(_, frame)| frame.is_some_and(|frame| wanted(&frame))).map(|(index, _)| index)
    };
    // Names of C have no dots; code without a name is local to a Haskell function.
    let end =
        at(&|frame| frame.local_to.is_some() || is_of_a_module(frame.name)).or_else(|| at(&|frame| frame.runtime));
    let called = frames.get(from..end.unwrap_or(frames.len()))?;
    called.iter().rposition(|frame| frame.is_some_and(|frame| !frame.runtime)).map(|index| from + index)
}

fn is_of_a_module(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase()) && name.contains('.')
}

/// The code that asked the event manager: it comes after the manager's own frames.
fn requesting_code(frames: &[Option<NamedFrame<'_>>]) -> Option<usize> {
    let own = |frame: &NamedFrame<'_>| {
        frame.runtime
            || frame.role != Role::Goes
            || kind(frame.function()).is_some()
            || runs_an_action(frame.function())
    };
    frames.iter().position(|frame| frame.is_some_and(|frame| !own(&frame)))
}
