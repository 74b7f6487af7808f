//! Groups the threads of one sample that wait for one thing at one place. Owns what is one group and
//! how many are stored; refuses to read a process.

use super::places::{PlaceName, PlaceNames};
use crate::runtimes::recorded::HostRuntime;
use crate::runtimes::waiting::{NamedFrame, Thread};
use rtscope_decode::capture::waits::GROUPS_MAX;
use rtscope_model::{Doing, Holder, OldObjects, TextId, WaitGroup, WaitKind, WaitLook, WaitSeen, text};
use std::collections::HashMap;

/// Texts of one process; no real program has more.
const TEXTS_MAX: usize = 1 << 14;
/// Longest thread name in letters.
const NAME_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Texts {
    known: HashMap<String, TextId>,
    new: Vec<WaitSeen>,
}

impl Texts {
    fn number(&mut self, text: &str) -> Option<TextId> {
        if let Some(number) = self.known.get(text) {
            return Some(*number);
        }
        let number = TextId::try_from(self.known.len()).ok().filter(|_| self.known.len() < TEXTS_MAX)?;
        self.known.insert(text.to_owned(), number);
        self.new.push(WaitSeen::Text(number, text.to_owned()));
        Some(number)
    }

    /// Lines that are new since the last call.
    pub fn take(&mut self) -> Vec<WaitSeen> {
        std::mem::take(&mut self.new)
    }
}

/// What is known about a thread, with names of places.
#[derive(Copy, Clone, Debug)]
struct Named<'n> {
    doing: Doing,
    place: Option<&'n str>,
    callee: Option<&'n str>,
}

fn named<'n>(thread: &Thread, places: &'n PlaceNames, runtime: &dyn HostRuntime) -> Named<'n> {
    let frames: Vec<Option<NamedFrame<'n>>> = thread
        .frames
        .iter()
        .map(|code| {
            let PlaceName { name, local_to, runtime } = places.name(code.address)?;
            Some(NamedFrame { name, local_to: local_to.as_deref(), runtime: *runtime, role: code.role })
        })
        .collect();
    let kind = if let Doing::Waits(kind) = thread.doing { kind } else { WaitKind::Unknown };
    let interpreted = runtime.interpret(kind, &frames);
    let name = |index: usize| frames.get(index).copied().flatten().map(|frame| frame.name);
    let (place, callee) = (interpreted.place.and_then(name), interpreted.callee.and_then(name));
    let doing = if matches!(thread.doing, Doing::Waits(_)) { Doing::Waits(interpreted.kind) } else { thread.doing };
    Named { doing, place, callee }
}

pub(super) fn group(
    threads: &[Thread],
    places: &PlaceNames,
    runtime: &dyn HostRuntime,
    redact: bool,
    texts: &mut Texts,
) -> WaitLook {
    let named: Vec<Named<'_>> = threads.iter().map(|thread| named(thread, places, runtime)).collect();
    let by_id: HashMap<u64, usize> = threads.iter().enumerate().map(|(index, thread)| (thread.id, index)).collect();
    let mut waiters: HashMap<u64, u32> = HashMap::new();
    let objects = threads.iter().filter_map(|thread| Some((thread.object?, thread.stands_for)));
    objects.for_each(|(object, count)| *waiters.entry(object).or_default() += count);
    let mut groups: HashMap<WaitGroup, u32> = HashMap::new();
    let mut awake = 0;
    for (thread, own) in threads.iter().zip(&named) {
        let Doing::Waits(kind) = own.doing else {
            awake += thread.stands_for;
            continue;
        };
        let each_other = kind.is_for_each_other();
        let has = if kind == WaitKind::RuntimeLock { thread.lane_holder } else { thread.holder };
        let holder = has.filter(|_| each_other).and_then(|id| {
            let index = *by_id.get(&id)?;
            let (holder, doing) = (threads.get(index)?, named.get(index)?);
            let place = doing.place.and_then(|place| texts.number(place));
            let callee = doing.callee.and_then(|callee| texts.number(callee));
            Some(Holder { thread: texts.number(&label(holder, redact))?, doing: doing.doing, place, callee })
        });
        // An object that only one thread waits for, and no thread holds, says nothing.
        let shared = |object: &u64| holder.is_some() || waiters.get(object).is_some_and(|count| *count > 1);
        let object = thread.object.filter(|_| each_other).filter(shared);
        let place = own.place.and_then(|place| texts.number(place));
        let callee = own.callee.and_then(|callee| texts.number(callee));
        *groups.entry(WaitGroup { kind, object, holder, place, callee, count: 0 }).or_default() += thread.stands_for;
    }
    groups.retain(|_, count| *count > 0);
    let mut groups: Vec<WaitGroup> = groups.into_iter().map(|(group, count)| WaitGroup { count, ..group }).collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.count), group.kind, group.object, group.place));
    let left_out = groups.iter().skip(GROUPS_MAX).map(|group| group.count).sum();
    groups.truncate(GROUPS_MAX);
    let threads = threads.iter().fold(0_u32, |sum, thread| sum.saturating_add(thread.stands_for));
    WaitLook { groups, threads, awake, left_out }
}

/// Old objects with names of places, except those of the runtime's own code, which any place may have requested.
pub(super) fn old(old: &OldObjects<u64>, places: &PlaceNames, texts: &mut Texts) -> OldObjects<TextId> {
    let of_program = |code: &u64| places.name(*code).filter(|place| !place.runtime);
    let mut thunks: Vec<(TextId, u64)> = Vec::new();
    for (code, bytes) in &old.thunks {
        let Some(number) = of_program(code).and_then(|place| texts.number(&place.name)) else { continue };
        match thunks.iter_mut().find(|(known, _)| *known == number) {
            Some((_, all)) => *all += bytes,
            None => thunks.push((number, *bytes)),
        }
    }
    OldObjects { bytes: old.bytes, thunk_bytes: old.thunk_bytes, thunks }
}

/// `33 "evaluator"`: the thread's number, and the name that the program gave it.
fn label(thread: &Thread, redact: bool) -> String {
    match thread.name.as_ref().filter(|_| !redact) {
        Some(name) => {
            let name: String = text::clean(name).chars().take(NAME_MAX).collect();
            format!("{} \"{name}\"", thread.id)
        }
        None => thread.id.to_string(),
    }
}
