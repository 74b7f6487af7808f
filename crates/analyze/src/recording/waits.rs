//! Sums looks at what threads wait for. Owns what counts as the same wait in different looks: kind, place, and
//! what its holder does where. Objects are compared within one look only, since collections move them. Refuses to
//! draw conclusions.

use crate::results::waits::{HolderDoes, Old, Thunks, WAITS_MAX as LISTED_MAX, Wait, WaitShare, Waits};
use rtscope_model::{Doing, OldObjects, TextId, Time, WaitGroup, WaitKind, WaitLook, WaitSeen};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Texts, and waits that are summed separately.
const TEXTS_MAX: usize = 1 << 15;
const WAITS_MAX: usize = 4096;

/// What stays the same from look to look.
type Key = (WaitKind, At, Option<(Doing, At)>);

/// A place, and the foreign function called there.
type At = (Option<TextId>, Option<TextId>);

/// Sums of one wait.
#[derive(Clone, Debug, Default)]
struct WaitSum {
    threads: u64,
    threads_max: u32,
    looks: u64,
    objects: u64,
    /// Number of threads that wait for a thing, and the number of threads that each of them met there,
    /// including itself.
    of_things: u64,
    met: u64,
    share: f64,
    /// Threads that hold it: one, or several in turn.
    holders: BTreeSet<TextId>,
}

/// One wait in one look.
#[derive(Default)]
struct Met {
    threads: u32,
    objects: BTreeSet<u64>,
    of_things: u64,
    met: u64,
}

/// Looks at one process.
#[derive(Clone, Debug, Default)]
pub struct WaitLooks {
    texts: HashMap<TextId, String>,
    sums: BTreeMap<Key, WaitSum>,
    /// Threads, and looks that saw any, wherever they waited.
    kinds: BTreeMap<(WaitKind, Option<Doing>), (u64, u64)>,
    looks: u64,
    missed: u64,
    span: Option<(Time, Time)>,
    threads: u64,
    threads_max: u32,
    awake: u64,
    left_out: u64,
    /// Looks at which any thread waited.
    waiting_looks: u64,
    why: Option<String>,
    old: Option<(Old, BTreeMap<TextId, u64>)>,
    /// Threads created: the first count and the last.
    made: Option<[(Time, u64); 2]>,
    /// Threads at the last look.
    threads_last: u32,
}

impl WaitLooks {
    /// Takes one line; lines come in file order.
    pub fn push(&mut self, time: Time, seen: WaitSeen) {
        match seen {
            WaitSeen::Text(number, text) if self.texts.len() < TEXTS_MAX || self.texts.contains_key(&number) => {
                self.texts.insert(number, text);
            }
            WaitSeen::Text(..) => {}
            WaitSeen::Not(why) => self.why = Some(why),
            WaitSeen::Missed(count) => self.missed += u64::from(count),
            WaitSeen::Look(look) => self.look(time, &look),
            WaitSeen::Old(old) => self.old(&old),
            WaitSeen::Made(made) => self.made.get_or_insert([(time, made); 2])[1] = (time, made),
        }
    }

    /// Number of looks so far.
    pub fn looks(&self) -> u64 {
        self.looks
    }

    fn look(&mut self, time: Time, look: &WaitLook) {
        self.why = None;
        self.looks += 1;
        self.span = Some(self.span.map_or((time, time), |(from, to)| (from.min(time), to.max(time))));
        self.threads += u64::from(look.threads);
        self.threads_max = self.threads_max.max(look.threads);
        self.threads_last = look.threads;
        self.awake += u64::from(look.awake);
        self.left_out += u64::from(look.left_out);
        let of_work = |group: &&WaitGroup| group.kind != WaitKind::NoWork;
        let waiting: u64 = look.groups.iter().filter(of_work).map(|group| u64::from(group.count)).sum();
        self.waiting_looks += u64::from(waiting > 0);
        self.of_kinds(look);
        let mut queues: BTreeMap<(WaitKind, u64), u64> = BTreeMap::new();
        for (group, object) in look.groups.iter().filter_map(|group| Some((group, group.object?))) {
            *queues.entry((group.kind, object)).or_default() += u64::from(group.count);
        }
        let mut met: BTreeMap<Key, Met> = BTreeMap::new();
        for group in &look.groups {
            let holder = group.holder.map(|holder| (holder.doing, (holder.place, holder.callee)));
            let key = (group.kind, (group.place, group.callee), holder);
            if self.sums.len() >= WAITS_MAX && !self.sums.contains_key(&key) {
                self.left_out += u64::from(group.count);
                continue;
            }
            let of_look = met.entry(key).or_default();
            of_look.threads = of_look.threads.saturating_add(group.count);
            if let Some(object) = group.object {
                of_look.objects.insert(object);
                of_look.of_things += u64::from(group.count);
                let queue = queues.get(&(group.kind, object)).copied().unwrap_or(0);
                of_look.met = of_look.met.saturating_add(u64::from(group.count).saturating_mul(queue));
            }
            let sum = self.sums.entry(key).or_default();
            if let Some(holder) = group.holder.filter(|_| sum.holders.len() < 2) {
                sum.holders.insert(holder.thread);
            }
        }
        for (key, of_look) in met {
            let sum = self.sums.entry(key).or_default();
            sum.threads += u64::from(of_look.threads);
            sum.threads_max = sum.threads_max.max(of_look.threads);
            sum.looks += 1;
            sum.objects += of_look.objects.len() as u64;
            sum.of_things += of_look.of_things;
            sum.met = sum.met.saturating_add(of_look.met);
            if key.0 != WaitKind::NoWork && waiting > 0 {
                sum.share += f64::from(of_look.threads) / waiting as f64;
            }
        }
    }

    fn old(&mut self, met: &OldObjects<TextId>) {
        let (old, thunks) = self.old.get_or_insert_default();
        old.looks += 1;
        old.bytes = old.bytes.saturating_add(met.bytes);
        old.thunk_bytes = old.thunk_bytes.saturating_add(met.thunk_bytes.min(met.bytes));
        for (place, bytes) in &met.thunks {
            if thunks.len() < TEXTS_MAX || thunks.contains_key(place) {
                let sum = thunks.entry(*place).or_default();
                *sum = sum.saturating_add(*bytes);
            }
        }
    }

    fn old_values(&self) -> Option<Old> {
        let (old, thunks) = self.old.as_ref()?;
        let named =
            |(place, bytes): (&TextId, &u64)| Some(Thunks { place: self.texts.get(place)?.clone(), bytes: *bytes });
        let mut thunks: Vec<Thunks> = thunks.iter().filter_map(named).collect();
        thunks.sort_by_key(|place| std::cmp::Reverse(place.bytes));
        thunks.truncate(LISTED_MAX);
        Some(Old { thunks, ..old.clone() })
    }

    fn of_kinds(&mut self, look: &WaitLook) {
        let mut kinds: BTreeMap<(WaitKind, Option<Doing>), u64> = BTreeMap::new();
        for group in &look.groups {
            let kind = (group.kind, group.holder.map(|holder| holder.doing));
            *kinds.entry(kind).or_default() += u64::from(group.count);
        }
        for (kind, threads) in kinds {
            let sum = self.kinds.entry(kind).or_default();
            *sum = (sum.0 + threads, sum.1 + 1);
        }
    }

    /// The sums over all looks.
    pub fn values(&self) -> Waits {
        let mean = |sum: u64| sum as f64 / self.looks.max(1) as f64;
        let kind = |(of, sum): (&(WaitKind, Option<Doing>), &(u64, u64))| WaitShare {
            kind: of.0,
            holder: of.1,
            threads_mean: mean(sum.0),
            looks_share: mean(sum.1),
        };
        let mut by: Vec<Wait> = self.sums.iter().map(|(key, sum)| self.wait(key, sum)).collect();
        by.sort_by(|a, b| b.share.total_cmp(&a.share).then(b.threads_mean.total_cmp(&a.threads_mean)));
        by.truncate(LISTED_MAX);
        Waits {
            looks: self.looks,
            missed: self.missed,
            from: self.span.map(|span| span.0),
            to: self.span.map(|span| span.1),
            threads_mean: mean(self.threads),
            threads_max: self.threads_max,
            awake_mean: mean(self.awake),
            left_out_mean: mean(self.left_out),
            why: self.why.clone(),
            kinds: self.kinds.iter().map(kind).collect(),
            by,
            made_per_second: self.made.and_then(|[(from, first), (to, last)]| {
                let seconds = to.since(from) as f64 / 1e9;
                (seconds > 0.0).then(|| last.saturating_sub(first) as f64 / seconds)
            }),
            ended: self.made.map(|[_, (_, made)]| made.saturating_sub(self.threads_last.into())),
            old: self.old_values(),
        }
    }

    fn wait(&self, (kind, place, holder): &Key, sum: &WaitSum) -> Wait {
        let text = |number: &TextId| self.texts.get(number).cloned();
        let only = || sum.holders.first().filter(|_| sum.holders.len() == 1).and_then(text);
        Wait {
            kind: *kind,
            for_each_other: kind.is_for_each_other(),
            place: place.0.as_ref().and_then(text),
            callee: place.1.as_ref().and_then(text),
            holder: holder.map(|(doing, at)| HolderDoes {
                thread: only(),
                doing,
                place: at.0.as_ref().and_then(text),
                callee: at.1.as_ref().and_then(text),
            }),
            threads_mean: sum.threads as f64 / self.looks.max(1) as f64,
            threads_max: sum.threads_max,
            objects_mean: (sum.objects > 0).then(|| sum.objects as f64 / sum.looks.max(1) as f64),
            queue_mean: (sum.of_things > 0).then(|| sum.met as f64 / sum.of_things as f64),
            looks_share: sum.looks as f64 / self.looks.max(1) as f64,
            share: sum.share / self.waiting_looks.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::Holder;

    fn group(kind: WaitKind, object: Option<u64>, holder: Option<(TextId, Doing)>, count: u32) -> WaitGroup {
        let holder = holder.map(|(thread, doing)| Holder { thread, doing, place: Some(1), callee: Some(3) });
        WaitGroup { kind, object, holder, place: Some(0), callee: None, count }
    }

    fn look(groups: Vec<WaitGroup>) -> WaitSeen {
        WaitSeen::Look(WaitLook { groups, threads: 30, awake: 1, left_out: 0 })
    }

    #[test]
    fn things_that_moved_between_looks_are_one_wait_and_shares_sum_to_one() {
        let mut waits = WaitLooks::default();
        waits.push(Time(1), WaitSeen::Text(0, "Desk.with".into()));
        waits.push(Time(1), WaitSeen::Text(1, "Desk.call".into()));
        waits.push(Time(1), WaitSeen::Text(2, "7".into()));
        waits.push(Time(1), WaitSeen::Text(3, "usleep".into()));
        let call = Doing::Waits(WaitKind::ForeignCall);
        let idle = group(WaitKind::NoWork, None, None, 3);
        let delay = group(WaitKind::Time, None, None, 6);
        waits.push(Time(5), look(vec![group(WaitKind::Lock, Some(64), Some((2, call)), 18), delay, idle]));
        waits.push(Time(9), look(vec![group(WaitKind::Lock, Some(128), Some((2, call)), 18), idle]));
        waits.push(Time(9), WaitSeen::Missed(2));
        for (at, made) in [(5, 100), (7, 300), (9, 900)] {
            waits.push(Time(at), WaitSeen::Made(made));
        }
        for thunks in [vec![(1, 40), (9, 30)], vec![(0, 50), (1, 20)]] {
            waits.push(Time(9), WaitSeen::Old(OldObjects { bytes: 100, thunk_bytes: 70, thunks }));
        }
        let found = waits.values();
        assert_eq!((found.looks, found.missed, found.from, found.to), (2, 2, Some(Time(5)), Some(Time(9))));
        assert_eq!(found.made_per_second, Some(1e9 * 800.0 / 4.0));
        let old = found.old.as_ref().unwrap();
        assert_eq!((old.looks, old.bytes, old.thunk_bytes), (2, 200, 140));
        let thunks: Vec<(&str, u64)> = old.thunks.iter().map(|place| (&*place.place, place.bytes)).collect();
        assert_eq!(thunks, [("Desk.call", 60), ("Desk.with", 50)], "one has no name");
        assert_eq!((found.threads_mean, found.awake_mean, found.by.len()), (30.0, 1.0, 3));
        let lock = &found.by[0];
        assert_eq!((lock.kind, lock.for_each_other, lock.place.as_deref()), (WaitKind::Lock, true, Some("Desk.with")));
        assert_eq!((lock.threads_mean, lock.threads_max, lock.objects_mean), (18.0, 18, Some(1.0)));
        assert_eq!((lock.queue_mean, found.by[1].queue_mean), (Some(18.0), None));
        let holder = lock.holder.as_ref().unwrap();
        assert_eq!(
            (holder.thread.as_deref(), holder.doing, holder.place.as_deref()),
            (Some("7"), call, Some("Desk.call"))
        );
        assert_eq!((holder.callee.as_deref(), lock.callee.as_deref()), (Some("usleep"), None));
        assert_eq!((found.by[1].kind, found.by[1].threads_mean, found.by[1].looks_share), (WaitKind::Time, 3.0, 0.5));
        assert_eq!((found.by[2].kind, found.by[2].share), (WaitKind::NoWork, 0.0));
        assert!((found.by.iter().map(|wait| wait.share).sum::<f64>() - 1.0).abs() < 1e-9);
        // A trace carries the values unchanged, and rejects those that no looks can produce.
        let carried = serde_json::from_str::<Waits>(&serde_json::to_string(&found).unwrap()).unwrap();
        assert!(carried == found && carried.is_sound());
        let doubled = Waits { by: [found.by.clone(), found.by].concat(), ..Waits::default() };
        assert!(!doubled.is_sound());
    }

    #[test]
    fn several_locks_and_holders_in_turn_are_reported_and_nothing_is_no_look() {
        let mut waits = WaitLooks::default();
        waits.push(Time(1), WaitSeen::Not("it ended".into()));
        assert_eq!((waits.values().looks, waits.values().why.as_deref()), (0, Some("it ended")));
        let runs = |thread, object| group(WaitKind::Lock, Some(object), Some((thread, Doing::Runs)), 2);
        waits.push(Time(2), look(vec![runs(1, 8), runs(2, 16)]));
        let found = waits.values();
        let lock = &found.by[0];
        assert_eq!((lock.threads_mean, lock.objects_mean, found.why), (4.0, Some(2.0), None));
        assert_eq!(lock.holder.as_ref().unwrap().thread, None);
    }

    #[test]
    fn one_thing_is_waited_for_at_several_places_and_a_kind_at_several_looks() {
        let mut waits = WaitLooks::default();
        let at = |place, object, count| WaitGroup {
            kind: WaitKind::Lock,
            object: Some(object),
            holder: Some(Holder { thread: 9, doing: Doing::Runs, place: None, callee: None }),
            place: Some(place),
            callee: None,
            count,
        };
        waits.push(Time(1), look(vec![at(0, 8, 1), at(1, 8, 1), at(2, 8, 1), at(3, 16, 1)]));
        waits.push(Time(2), look(vec![at(1, 32, 1)]));
        waits.push(Time(3), look(vec![group(WaitKind::Time, None, None, 1)]));
        let found = waits.values();
        let place = |number: usize| found.by.iter().filter(|wait| wait.queue_mean == Some(number as f64)).count();
        assert_eq!((place(3), place(2), place(1)), (2, 1, 1), "{:#?}", found.by);
        let lock = WaitShare {
            kind: WaitKind::Lock,
            holder: Some(Doing::Runs),
            threads_mean: 5.0 / 3.0,
            looks_share: 2.0 / 3.0,
        };
        assert_eq!((found.kinds.len(), found.kinds.contains(&lock), found.is_sound()), (2, true, true));
        // Half of the threads here wait alone, half in a group of five.
        let mut waits = WaitLooks::default();
        waits.push(Time(1), look((0..5).map(|object| at(0, object, 1)).chain([at(0, 9, 5)]).collect()));
        assert_eq!(waits.values().by[0].queue_mean, Some(3.0));
    }

    #[test]
    fn what_a_hostile_capture_gives_is_bounded() {
        let mut waits = WaitLooks::default();
        for number in 0..(TEXTS_MAX as u32 + 9) {
            waits.push(Time(1), WaitSeen::Text(number, String::new()));
            let group = WaitGroup { place: Some(number), count: u32::MAX, ..WaitGroup::default() };
            waits.push(Time(1), look(vec![group]));
        }
        assert_eq!((waits.texts.len(), waits.sums.len(), waits.values().by.len()), (TEXTS_MAX, WAITS_MAX, LISTED_MAX));
    }
}
