//! What the program reports about itself: spans, moments and values, under names that its own code or one of its
//! libraries chose (OCaml's `Runtime_events.User`, Eio's events).
//!
//! Owns pairing begins with ends by lane and name: fibres and threads that share a lane end their spans in any order.
//! The latest begin of a name ends first; if two spans of one name overlap on a lane, their sum is right and the
//! single lengths may be swapped. A span with one end missing counts as cut and never gets a length.

use crate::folds::{End, Fold};
use crate::results::dist::{Dist, Quantiles};
use crate::results::{Results, UserEvents, UserValues};
use rtscope_model::{Body, Class, Classes, Event, LaneId, NameId, Names, Phase, Runtime, Time, UserEvent};
use std::collections::{BTreeMap, VecDeque};

/// Names that are distinguished; later ones are merged.
const NAMES_MAX: usize = 1_024;
/// Open spans of one lane; a new one replaces the oldest.
const OPEN_MAX: usize = 1_024;
/// Stands for all later names.
const OTHERS: NameId = NameId(u32::MAX);
/// Their name in reports.
const OTHERS_NAME: &str = "other names";

/// All data of one name.
struct Name {
    spans: Dist,
    /// Start and length of the longest span.
    longest: Option<(Time, u64)>,
    in_pauses_ns: u64,
    marks: u64,
    /// All but their mean, and their sum.
    values: Option<(UserValues, i128)>,
    cut: u64,
}

impl Default for Name {
    fn default() -> Self {
        let spans = Dist::with(Quantiles::Coarse);
        Name { spans, longest: None, in_pauses_ns: 0, marks: 0, values: None, cut: 0 }
    }
}

#[derive(Copy, Clone)]
struct Open {
    name: NameId,
    since: Time,
    /// Standstill of the lane up to `since`, nanoseconds.
    still_ns: u64,
}

#[derive(Default)]
struct LaneSpans {
    open: VecDeque<Open>,
    /// Spans by name that were dropped while open: an end may still follow for each.
    given_up: BTreeMap<NameId, u64>,
    /// Start of the section that the lane is in.
    section: Option<Time>,
    /// Time in past sections, nanoseconds.
    still_ns: u64,
}

impl LaneSpans {
    /// How long the lane has stood still by `now`.
    fn still_ns(&self, now: Time) -> u64 {
        self.still_ns.saturating_add(self.section.map_or(0, |since| now.since(since)))
    }

    fn section_ends(&mut self, now: Time) {
        self.still_ns = self.still_ns(now);
        self.section = None;
    }
}

#[derive(Default)]
pub struct User {
    names: BTreeMap<NameId, Name>,
    lanes: BTreeMap<LaneId, LaneSpans>,
}

impl User {
    fn posted(&mut self, event: &Event, name: NameId, posted: UserEvent) {
        let name = match self.names.len() < NAMES_MAX || self.names.contains_key(&name) {
            true => name,
            false => OTHERS,
        };
        let known = self.names.entry(name).or_default();
        let lane = self.lanes.entry(event.lane).or_default();
        match posted {
            UserEvent::Mark => known.marks += 1,
            UserEvent::Value(value) => known.value(value),
            UserEvent::Begin => {
                lane.open.push_back(Open { name, since: event.time, still_ns: lane.still_ns(event.time) });
                if lane.open.len() > OPEN_MAX
                    && let Some(oldest) = lane.open.pop_front()
                {
                    *lane.given_up.entry(oldest.name).or_default() += 1;
                    self.names.entry(oldest.name).or_default().cut += 1;
                }
            }
            UserEvent::End => match lane.open.iter().rposition(|open| open.name == name) {
                Some(index) => {
                    let still_ns = lane.still_ns(event.time);
                    known.ended(lane.open.remove(index), event.time, still_ns);
                }
                // Its begin may be that of a span that was counted when it was dropped.
                None => match lane.given_up.get_mut(&name).filter(|count| **count > 0) {
                    Some(count) => *count -= 1,
                    None => known.cut += 1,
                },
            },
        }
    }

    /// Drops the open spans of `lane`; `ends`: their ends may still follow.
    fn cut(&mut self, lane: LaneId, ends: bool) {
        let Some(lane) = self.lanes.get_mut(&lane) else { return };
        lane.section = None;
        for open in lane.open.drain(..) {
            self.names.entry(open.name).or_default().cut += 1;
            *lane.given_up.entry(open.name).or_default() += 1;
        }
        if !ends {
            lane.given_up.clear();
        }
    }

    /// All names, by total length, longest first. Spans that are still open are cut at the end.
    pub fn values(&mut self, names: &Names) -> Vec<UserEvents> {
        let lanes: Vec<LaneId> = self.lanes.keys().copied().collect();
        lanes.into_iter().for_each(|lane| self.cut(lane, false));
        let mut list: Vec<UserEvents> = self.names.iter().map(|(name, known)| known.reported(*name, names)).collect();
        let sum = |one: &UserEvents| one.spans_ns.sum.unwrap_or(0);
        list.sort_by(|a, b| sum(b).cmp(&sum(a)).then_with(|| a.name.cmp(&b.name)));
        list
    }
}

impl Fold for User {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Collection).with(Class::Lanes).with(Class::User)
    }

    fn event(&mut self, event: &Event) {
        let Body::Runtime(body) = event.body else { return };
        match body {
            Runtime::User(name, posted) => self.posted(event, name, posted),
            Runtime::PhaseBegin(Phase::Lead | Phase::Follow) => {
                self.lanes.entry(event.lane).or_default().section.get_or_insert(event.time);
            }
            Runtime::PhaseEnd(Phase::Lead | Phase::Follow) => {
                self.lanes.entry(event.lane).or_default().section_ends(event.time);
            }
            Runtime::Gap => self.cut(event.lane, true),
            // The next user of this lane starts afresh.
            Runtime::LaneCreated | Runtime::LaneDeleted => self.cut(event.lane, false),
            _ => {}
        }
    }

    fn result(&mut self, end: &End<'_>, results: &mut Results) {
        results.user = self.values(&end.tail.user_names);
    }
}

impl Name {
    fn value(&mut self, value: i64) {
        let none = UserValues { count: 0, min: value, max: value, last: value, mean: 0.0 };
        let (values, sum) = self.values.get_or_insert((none, 0));
        values.count += 1;
        *sum += i128::from(value);
        (values.min, values.max, values.last) = (values.min.min(value), values.max.max(value), value);
    }

    fn ended(&mut self, open: Option<Open>, at: Time, still_ns: u64) {
        let Some(open) = open else { return };
        let ns = at.since(open.since);
        self.spans.add(ns);
        let still = still_ns.saturating_sub(open.still_ns).min(ns);
        self.in_pauses_ns = self.in_pauses_ns.saturating_add(still);
        if self.longest.is_none_or(|(_, longest)| ns > longest) {
            self.longest = Some((open.since, ns));
        }
    }

    fn reported(&self, name: NameId, names: &Names) -> UserEvents {
        let values = self.values.map(|(values, sum)| UserValues { mean: sum as f64 / values.count as f64, ..values });
        UserEvents {
            name: if name == OTHERS { OTHERS_NAME } else { names.get(name) }.to_owned(),
            spans_ns: self.spans.values(),
            longest_at: self.longest.map(|(at, _)| at),
            in_pauses_ns: self.longest.map(|_| self.in_pauses_ns),
            cut: self.cut,
            marks: self.marks,
            values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;

    const BEGIN: UserEvent = UserEvent::Begin;
    const END: UserEvent = UserEvent::End;

    fn user(script: Script, at: u64, lane: u16, name: u32, posted: UserEvent) -> Script {
        script.rt(at, lane, Runtime::User(NameId(name), posted))
    }

    fn posted(events: &[(u64, u16, u32, UserEvent)]) -> Script {
        events.iter().fold(Script::default(), |script, (at, lane, name, what)| user(script, *at, *lane, *name, *what))
    }

    /// All events by name: "one" and "two" are the first two names.
    fn reported(script: Script) -> Vec<UserEvents> {
        let mut names = Names::default();
        assert_eq!((names.intern("one"), names.intern("two")), (NameId(1), NameId(2)));
        let mut fold = User::default();
        script.events().iter().for_each(|event| fold.event(event));
        fold.values(&names)
    }

    #[test]
    fn spans_of_fibres_end_in_any_order_and_lanes_do_not_mix() {
        let events = reported(posted(&[
            (10, 0, 1, BEGIN),
            (20, 0, 2, BEGIN),
            (25, 1, 1, BEGIN),
            (30, 0, 1, END),
            (40, 0, 2, END),
            (125, 1, 1, END),
        ]));
        let figures = |one: &UserEvents| (one.spans_ns.count, one.spans_ns.sum, one.longest_at, one.cut);
        assert_eq!(events[0].name, "one");
        assert_eq!(figures(&events[0]), (2, Some(120), Some(Time(25)), 0));
        assert_eq!(figures(&events[1]), (1, Some(20), Some(Time(20)), 0));
    }

    #[test]
    fn what_lies_in_sections_of_its_lane_is_reported() {
        let script = posted(&[(10, 0, 1, BEGIN), (60, 0, 2, BEGIN), (100, 0, 2, END), (200, 0, 1, END)]);
        let script = (script.rt(50, 0, Runtime::PhaseBegin(Phase::Follow)))
            .rt(70, 0, Runtime::PhaseEnd(Phase::Follow))
            .rt(90, 1, Runtime::PhaseBegin(Phase::Lead))
            .rt(190, 0, Runtime::PhaseBegin(Phase::Lead));
        let events = reported(script);
        assert_eq!((events[0].in_pauses_ns, events[1].in_pauses_ns), (Some(30), Some(10)));
    }

    #[test]
    fn a_span_of_which_one_end_is_missing_is_cut_once_and_has_no_length() {
        let lost = |cut: Runtime| {
            let script = posted(&[(10, 0, 1, BEGIN), (30, 0, 1, END), (40, 0, 2, END), (50, 0, 1, BEGIN)]);
            let events = reported(script.rt(20, 0, cut));
            let of = |name: &str| events.iter().find(|one| one.name == name).unwrap();
            assert!(events.iter().all(|one| one.spans_ns.count == 0 && one.in_pauses_ns.is_none()));
            (of("one").cut, of("two").cut)
        };
        // The end at 30 may belong to the lost span, unless the lane is new.
        assert_eq!(lost(Runtime::Gap), (2, 1));
        assert_eq!(lost(Runtime::LaneDeleted), (3, 1));
    }

    #[test]
    fn marks_and_values_are_counted() {
        let value = |value| UserEvent::Value(value);
        let events = reported(posted(&[
            (1, 0, 1, UserEvent::Mark),
            (2, 0, 2, value(-4)),
            (3, 1, 2, value(10)),
            (4, 0, 2, value(0)),
            (5, 0, 1, UserEvent::Mark),
        ]));
        assert_eq!((events[0].marks, &events[0].values), (2, &None));
        let values = UserValues { count: 3, min: -4, max: 10, last: 0, mean: 2.0 };
        assert_eq!((events[1].marks, events[1].values), (0, Some(values)));
    }

    #[test]
    fn names_and_open_spans_have_a_bound() {
        let mut fold = User::default();
        let push = |fold: &mut User, at: u64, name: u32, posted: UserEvent| {
            user(Script::default(), at, 0, name, posted).events().iter().for_each(|event| fold.event(event));
        };
        for name in 0..3_000 {
            push(&mut fold, u64::from(name), name, BEGIN);
        }
        // The span was dropped by now: its end is no second cut.
        push(&mut fold, 3_000, 5, END);
        push(&mut fold, 3_001, 2_999, END);
        assert!(fold.lanes.values().all(|lane| lane.open.len() <= OPEN_MAX));
        let events = fold.values(&Names::default());
        assert_eq!(events.len(), NAMES_MAX + 1);
        assert_eq!(events.iter().map(|one| one.cut).sum::<u64>(), 2_999);
        assert_eq!((events[0].name.as_str(), events[0].spans_ns.sum), (OTHERS_NAME, Some(2)));
    }
}
