//! What threads wait for, in words, shared by all outputs. Owns the wording; the figures come from the fold.

use super::units::counted;
use rtscope_analyze::results::waits::{HolderDoes, Wait, Waits};
use rtscope_model::{Doing, RuntimeInfo, WaitKind};

/// Maximum waits listed.
const WAITS_MAX: usize = 6;
/// Waits of a smaller share of the waiting threads are left out.
const SHARE_MIN: f64 = 0.01;

/// One sentence for each wait, most threads first; empty if nothing was looked at.
pub fn sentences(found: &Waits, runtime: &RuntimeInfo) -> Vec<String> {
    let shown = found.by.iter().filter(|wait| wait.share >= SHARE_MIN);
    shown.take(WAITS_MAX).map(|wait| sentence(wait, runtime)).collect()
}

/// One wait: "18 threads wait for one MVar in `Desk.withDesk`; its holder (thread 6) is in a foreign call (`usleep`)
/// in `Desk.call`".
fn sentence(wait: &Wait, runtime: &RuntimeInfo) -> String {
    let threads = wait.threads_mean.round().max(1.0);
    let does = match wait.kind {
        WaitKind::NoWork => "of the runtime without work".to_owned(),
        kind => waits(kind, threads > 1.0, wait.objects_mean, runtime),
    };
    let mut text = format!("{} {does}", counted(threads as u64, "thread", "threads"));
    text += &at(wait.place.as_deref(), wait.callee.as_deref());
    if let Some(holder) = &wait.holder {
        text += &format!("; {}", holds(wait.kind, holder, runtime));
    }
    if wait.looks_share < 0.995 {
        text += &format!(" (at {:.0} % of looks)", 100.0 * wait.looks_share);
    }
    text
}

/// What one waiting thread does, or several do.
fn waits(kind: WaitKind, several: bool, objects: Option<f64>, runtime: &RuntimeInfo) -> String {
    let s = if several { "" } else { "s" };
    match kind {
        WaitKind::ForeignCall if several => "are in foreign calls".to_owned(),
        WaitKind::ForeignCall => "is in a foreign call".to_owned(),
        WaitKind::Time => format!("sleep{s}"),
        WaitKind::Unknown => format!("wait{s}, and it is not known for what"),
        kind => format!("wait{s} for {}", object(kind, objects, runtime)),
    }
}

/// The foreign function and the place that called it.
fn at(place: Option<&str>, callee: Option<&str>) -> String {
    let callee = callee.map_or(String::new(), |callee| format!(" (`{callee}`)"));
    let place = place.map_or(String::new(), |place| format!(" in `{place}`"));
    callee + &place
}

/// What threads wait for, in the runtime's own nouns.
fn object(kind: WaitKind, objects: Option<f64>, runtime: &RuntimeInfo) -> String {
    let several = |one: &str, many: &str| match objects.map(f64::round) {
        Some(count) if count > 1.0 => format!("{count} {many}"),
        Some(_) => format!("one {one}"),
        None => many.to_owned(),
    };
    let (lock, locks) = runtime.lock;
    match kind {
        WaitKind::Lock => several(lock, locks),
        WaitKind::Value => several("value that another thread computes", "values that other threads compute"),
        WaitKind::Transaction => "changes of what their transactions have read".to_owned(),
        WaitKind::InputOutput => "input or output".to_owned(),
        WaitKind::Message => "another thread to take an exception".to_owned(),
        WaitKind::Moved => format!("their turn on another {}", runtime.lane.0),
        WaitKind::Child => "the end of another thread".to_owned(),
        WaitKind::Condition => several("condition", "conditions"),
        WaitKind::RuntimeLock => "the runtime's lock".to_owned(),
        WaitKind::Time | WaitKind::ForeignCall | WaitKind::NoWork | WaitKind::Unknown => String::new(),
    }
}

fn holds(kind: WaitKind, holder: &HolderDoes, runtime: &RuntimeInfo) -> String {
    let subject = match kind {
        WaitKind::Lock => "its holder",
        WaitKind::Child => "that one",
        _ => "its owner",
    };
    let subject = holder.thread.as_ref().map_or(subject.to_owned(), |thread| format!("{subject} (thread {thread})"));
    let does = match holder.doing {
        Doing::Runs => "runs".to_owned(),
        Doing::Ready => format!("could run and has no {}", runtime.lane.0),
        Doing::Waits(kind) => waits(kind, false, None, runtime),
        Doing::Unknown => "does something that is not known".to_owned(),
    };
    format!("{subject} {does}{}", at(holder.place.as_deref(), holder.callee.as_deref()))
}

/// The basis of the figures: "mean of 12 looks".
pub fn basis(found: &Waits) -> String {
    let looks = counted(found.looks, "look", "looks");
    let missed = format!("; {} more came to nothing, because a collection came between", found.missed);
    format!("mean of {looks}{}", if found.missed > 0 { &missed } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::runtimes::GHC;

    #[test]
    fn a_sentence_gives_the_waiters_their_wait_and_its_holder() {
        let holder = HolderDoes {
            thread: Some("6".into()),
            doing: Doing::Waits(WaitKind::ForeignCall),
            place: Some("Desk.call".into()),
            callee: Some("usleep".into()),
        };
        let lock = Wait {
            kind: WaitKind::Lock,
            for_each_other: true,
            place: Some("Desk.withDesk".into()),
            holder: Some(holder),
            threads_mean: 17.8,
            objects_mean: Some(1.0),
            looks_share: 1.0,
            share: 0.9,
            ..Wait::default()
        };
        let time = Wait { kind: WaitKind::Time, threads_mean: 0.5, looks_share: 0.5, share: 0.1, ..Wait::default() };
        let found = Waits { looks: 12, missed: 1, by: vec![lock, time], ..Waits::default() };
        assert_eq!(
            sentences(&found, &GHC),
            [
                "18 threads wait for one MVar in `Desk.withDesk`; its holder (thread 6) is in a foreign call (`usleep`) in `Desk.call`",
                "1 thread sleeps (at 50 % of looks)",
            ]
        );
        assert!(basis(&found).starts_with("mean of 12 looks; 1 more"));
    }
}
