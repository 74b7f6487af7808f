//! Events of a runtime, on the timeline of a lane.

use super::super::record::{EventKind, EventRecord, Value};
use super::super::runtimes::phases;
use super::super::shape::{FxtTrack, Name, Shape};
use super::fields::{GAP, GC, HEAP_PROFILE, OWN, fitting, is_instant, text};
use super::heap_profile;
use rtscope_model::{BlockedOn, Counter, GreenThread, Names, Phase, Pid, Runtime, StopReason, Tid, UserEvent};

/// Category of green threads.
const THREAD: &str = "thread";
/// Category of the creation and deletion of lanes.
const LANE: &str = "lane";
/// Category of events that the program posts.
const USER: &str = "user";

/// Spans of runtimes that are not phases: begin and end.
const SPANS: [(&str, Runtime, Runtime); 5] = [
    ("collect", Runtime::Stopped, Runtime::Resumed),
    // A collector's span ends when it runs out of work; its completion is an instant.
    ("work", Runtime::WorkBegin, Runtime::WorkIdle),
    ("concurrent-mark", Runtime::ConcurrentMarkBegin, Runtime::ConcurrentMarkEnd),
    ("concurrent-sync", Runtime::ConcurrentSyncBegin, Runtime::ConcurrentSyncEnd),
    ("concurrent-sweep", Runtime::ConcurrentSweepBegin, Runtime::ConcurrentSweepEnd),
];

/// Instants without arguments: categories and names.
const MOMENTS: [(&str, &str, Runtime); 7] = [
    (LANE, "created", Runtime::LaneCreated),
    (LANE, "deleted", Runtime::LaneDeleted),
    (LANE, "disabled", Runtime::LaneDisabled),
    (LANE, "enabled", Runtime::LaneEnabled),
    (OWN, "work-end", Runtime::WorkEnd),
    (OWN, "global-sync", Runtime::GlobalSync),
    (OWN, GAP, Runtime::Gap),
];

/// The record that carries `body`.
pub(super) fn shape<'a>(track: FxtTrack, body: Runtime, user: &'a Names) -> Shape<'a> {
    let of = |kind, category, name| Shape::new(kind, track, category, name);
    let instant = |category, name| of(EventKind::Instant, category, name);
    let green = |kind, name, thread: GreenThread| of(kind, THREAD, name).with("thread", Value::U32(thread.0));
    if let Some((name, begin, _)) = SPANS.iter().find(|(_, begin, end)| *begin == body || *end == body) {
        return of(if *begin == body { EventKind::Begin } else { EventKind::End }, GC, name);
    }
    if let Some((category, name, _)) = MOMENTS.iter().find(|(.., moment)| *moment == body) {
        return instant(category, name);
    }
    match body {
        Runtime::StopRequested { parallel } => instant(OWN, "stop-requested").with("parallel", Value::Bool(parallel)),
        Runtime::Count(counter, value) => {
            let id = if let FxtTrack::Lane(lane) = track { u64::from(lane.0) } else { 0 };
            of(EventKind::Counter(id), GC, counter.key()).with("v", Value::U64(value))
        }
        Runtime::ThreadRun(thread) => green(EventKind::Begin, "run", thread),
        Runtime::ThreadStop(thread, reason) => stop(green(EventKind::End, "run", thread), reason),
        Runtime::ThreadMoved(thread) => green(EventKind::Instant, "moved", thread),
        Runtime::ThreadCreated(thread) => green(EventKind::Instant, "created", thread),
        Runtime::ThreadWoken(thread) => green(EventKind::Instant, "woken", thread),
        Runtime::TaskCreated(tid) => instant(LANE, "task").with("tid", Value::Id(u64::from(tid.0))),
        Runtime::TracerWrote { ns } => instant(OWN, "tracer-wrote").with("ns", Value::U64(ns)),
        Runtime::PhaseBegin(phase) => phase_shape(EventKind::Begin, track, phase),
        Runtime::PhaseEnd(phase) => phase_shape(EventKind::End, track, phase),
        Runtime::Forked { child } => instant(OWN, "forked").with("child", Value::Id(u64::from(child.0))),
        Runtime::User(name, event) => posted(track, user.get(name), event),
        Runtime::HeapProfile(profile) => heap_profile::shape(track, profile, user),
        // The rest was found in the tables above.
        _ => instant(OWN, ""),
    }
}

fn phase_shape<'a>(kind: EventKind, track: FxtTrack, phase: Phase) -> Shape<'a> {
    let mut shape = Shape::new(kind, track, GC, phases::name(phase).unwrap_or_default());
    if let (Phase::Detail(number), Name::Text("")) = (phase, shape.name) {
        shape.name = Name::Numbered(phases::UNNAMED, u64::from(number));
    }
    shape
}

fn posted(track: FxtTrack, name: &str, event: UserEvent) -> Shape<'_> {
    let of = |kind| Shape::new(kind, track, USER, name);
    match event {
        UserEvent::Mark => of(EventKind::Instant),
        UserEvent::Begin => of(EventKind::Begin),
        UserEvent::End => of(EventKind::End),
        UserEvent::Value(value) => of(EventKind::Counter(0)).with("v", Value::I64(value)),
    }
}

const REASONS: [(&str, StopReason); 9] = [
    ("yielded", StopReason::Yielded),
    ("finished", StopReason::Finished),
    ("foreign-call", StopReason::ForeignCall),
    ("lock", StopReason::Blocked(BlockedOn::Lock)),
    ("black-hole", StopReason::Blocked(BlockedOn::BlackHole(None))),
    ("transaction", StopReason::Blocked(BlockedOn::Transaction)),
    ("io", StopReason::Blocked(BlockedOn::Io)),
    ("blocked", StopReason::Blocked(BlockedOn::Other)),
    ("other", StopReason::Other),
];

fn stop<'a>(shape: Shape<'a>, reason: StopReason) -> Shape<'a> {
    let (plain, owner) = match reason {
        StopReason::Blocked(BlockedOn::BlackHole(owner)) => (StopReason::Blocked(BlockedOn::BlackHole(None)), owner),
        reason => (reason, None),
    };
    let name = REASONS.iter().find(|(_, known)| *known == plain).map_or("other", |(name, _)| name);
    let shape = shape.with("reason", Value::Text(name.as_bytes()));
    owner.map_or(shape, |owner| shape.with("owner", Value::U32(owner.0)))
}

/// The event that a record on a lane's timeline carries.
pub(super) fn read(record: &EventRecord<'_>, names: &mut Names) -> Option<Runtime> {
    match record.category {
        category if category == GC.as_bytes() => of_collector(record),
        category if category == OWN.as_bytes() && is_instant(record) => own(record),
        category if category == LANE.as_bytes() && is_instant(record) => life(record),
        category if category == THREAD.as_bytes() => green(record),
        category if category == USER.as_bytes() => Some(Runtime::User(names.intern(&text(record.name)), user(record)?)),
        category if category == HEAP_PROFILE.as_bytes() => heap_profile::read(record, names).map(Runtime::HeapProfile),
        _ => None,
    }
}

/// Phases, figures and spans that are not phases.
pub(in crate::fxt) fn of_collector(record: &EventRecord<'_>) -> Option<Runtime> {
    let begins = match record.kind {
        EventKind::Counter(_) => {
            let counter = Counter::ALL.into_iter().find(|known| known.key().as_bytes() == record.name)?;
            return Some(Runtime::Count(counter, record.args.number("v")?));
        }
        EventKind::Begin => true,
        EventKind::End => false,
        _ => return None,
    };
    if let Some((_, begin, end)) = SPANS.iter().find(|(name, ..)| name.as_bytes() == record.name) {
        return Some(if begins { *begin } else { *end });
    }
    let phase = phases::of_name(record.name)?;
    Some(if begins { Runtime::PhaseBegin(phase) } else { Runtime::PhaseEnd(phase) })
}

fn own(record: &EventRecord<'_>) -> Option<Runtime> {
    Some(match record.name {
        b"stop-requested" => Runtime::StopRequested { parallel: record.args.get("parallel")? == Value::Bool(true) },
        b"tracer-wrote" => Runtime::TracerWrote { ns: record.args.number("ns")? },
        b"forked" => Runtime::Forked { child: Pid(fitting(&record.args, "child")?) },
        _ => return moment(record),
    })
}

fn life(record: &EventRecord<'_>) -> Option<Runtime> {
    if record.name == b"task" {
        return Some(Runtime::TaskCreated(Tid(fitting(&record.args, "tid")?)));
    }
    moment(record)
}

fn moment(record: &EventRecord<'_>) -> Option<Runtime> {
    let found = MOMENTS
        .iter()
        .find(|(category, name, _)| category.as_bytes() == record.category && name.as_bytes() == record.name);
    found.map(|(.., moment)| *moment)
}

fn green(record: &EventRecord<'_>) -> Option<Runtime> {
    let thread = GreenThread(fitting(&record.args, "thread")?);
    Some(match (record.kind, record.name) {
        (EventKind::Begin, b"run") => Runtime::ThreadRun(thread),
        (EventKind::End, b"run") => Runtime::ThreadStop(thread, reason(record)?),
        (EventKind::Instant, b"moved") => Runtime::ThreadMoved(thread),
        (EventKind::Instant, b"created") => Runtime::ThreadCreated(thread),
        (EventKind::Instant, b"woken") => Runtime::ThreadWoken(thread),
        _ => return None,
    })
}

fn reason(record: &EventRecord<'_>) -> Option<StopReason> {
    let Value::Text(name) = record.args.get("reason")? else { return None };
    let reason = REASONS.iter().find(|(known, _)| known.as_bytes() == name)?.1;
    Some(match fitting(&record.args, "owner") {
        Some(owner) => StopReason::Blocked(BlockedOn::BlackHole(Some(GreenThread(owner)))),
        None => reason,
    })
}

/// An event that a program posts; its kinds are the same for every writer.
pub(in crate::fxt) fn user(record: &EventRecord<'_>) -> Option<UserEvent> {
    Some(match record.kind {
        EventKind::Instant => UserEvent::Mark,
        EventKind::Begin => UserEvent::Begin,
        EventKind::End => UserEvent::End,
        EventKind::Counter(_) => UserEvent::Value(record.args.iter().find_map(|(_, value)| value.signed())?),
        _ => return None,
    })
}
