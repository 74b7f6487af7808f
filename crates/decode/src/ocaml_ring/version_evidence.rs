//! Determines from its events which version wrote a ring: evidence rules versions out, until those left have the
//! same numbering. Owns the grammar; refuses to guess between several numberings, and to believe a version that
//! the events contradict.
//!
//! Four things rule versions out: whether there is a table of names (not in 5.0); numbers above a version's last; the
//! phase that ends after the two counters of a minor collection (it is `minor`, 10 up to 5.2 and 11 from 5.3 on); and
//! whether a domain that leads such a collection has posted before that it wants one (from 5.4 on).

use super::error::RingError;
use super::slot::{Filter, Pass, Raw, RingEvent, Slot, TYPES};
use super::tables::{self, COUNTERS, PHASES, counter, old};
use super::version::{Version, VersionSource, WrittenBy};

/// Events read from one ring before the next one's turn.
const TURN: usize = 1 << 14;
/// This many collections led without posting the wish cannot be an accident.
const LED_MANY: u64 = 32;
/// The phases after `minor` in a section that does nothing else.
const TAIL: [u16; 6] = [
    tables::MINOR_LEAVE_BARRIER,
    tables::MINOR_EPHE_CLEAN,
    tables::MINOR_MEMPROF_CLEAN,
    tables::MINOR_FINALIZED,
    tables::MINOR_FINALIZERS_ADMIN,
    tables::MINOR_CLEAR,
];

/// The evidence so far.
#[derive(Default)]
struct Evidence {
    has_names: bool,
    /// Highest numbers seen.
    phase_max: Option<u16>,
    counter_max: Option<u16>,
    /// `minor` ended with the number of versions up to 5.2, or from 5.3 on.
    minor_old: bool,
    minor_new: bool,
    /// Sections that a domain led for a minor collection and nothing else, without missing events before them.
    led: u64,
    /// Young heaps laid out anew: their sections look the same, and no domain posts before that it wants one.
    resized: u64,
    /// Words are missing.
    gaps: bool,
}

/// Parser state of a ring.
#[derive(Default)]
struct Grammar {
    /// After `minor_promoted`, and after a `minor_allocated` that follows it.
    promoted: bool,
    figures: bool,
    section: Section,
    /// No events of this domain since its last section are missing.
    whole: bool,
}

/// A section that this domain leads, as long as it is only a minor collection.
#[derive(Default)]
enum Section {
    /// No section, or one that does something else.
    #[default]
    Other,
    Led,
    Minor,
    Tail,
}

impl Grammar {
    /// At the start of a ring nothing is missing.
    fn fresh() -> Grammar {
        Grammar { whole: true, ..Grammar::default() }
    }

    fn take(&mut self, raw: Raw, seen: &mut Evidence) {
        let figures = std::mem::take(&mut self.figures);
        let promoted = std::mem::take(&mut self.promoted);
        match raw.what {
            RingEvent::Gap => {
                seen.gaps = true;
                *self = Grammar::default();
            }
            RingEvent::Counter(id, _) => {
                seen.counter_max = seen.counter_max.max(Some(id));
                self.promoted = id == counter::MINOR_PROMOTED;
                // 5.5 has two more figures of the same collection.
                self.figures = id == counter::MINOR_ALLOCATED && promoted || figures && id >= 26;
            }
            RingEvent::Begin(id) => {
                seen.phase_max = seen.phase_max.max(Some(id));
                seen.resized += u64::from(id == tables::DOMAIN_RESIZE_HEAP_RESERVATION);
                self.section = match std::mem::take(&mut self.section) {
                    _ if id == tables::STW_LEADER => Section::Led,
                    Section::Led if id == tables::STW_API_BARRIER => Section::Led,
                    Section::Led if id == tables::MINOR => Section::Minor,
                    Section::Tail if TAIL.contains(&id) => Section::Tail,
                    Section::Minor => Section::Minor,
                    _ => Section::Other,
                };
            }
            RingEvent::End(id) => {
                seen.phase_max = seen.phase_max.max(Some(id));
                seen.minor_old |= figures && id == old::MINOR;
                seen.minor_new |= figures && id == tables::MINOR;
                match (&self.section, id) {
                    (Section::Minor, tables::MINOR) => self.section = Section::Tail,
                    (section, tables::STW_LEADER) => {
                        seen.led += u64::from(self.whole && matches!(section, Section::Tail));
                        (self.section, self.whole) = (Section::Other, true);
                    }
                    _ => {}
                }
            }
            RingEvent::Lifecycle(..) | RingEvent::User { .. } => {}
        }
    }
}

impl Evidence {
    /// Why `version` did not write this; `None`: it may have.
    fn against(&self, version: Version, all_read: bool) -> Option<String> {
        if self.has_names != (version > Version::V5_0) {
            let has = if self.has_names { "has" } else { "has not" };
            return Some(format!("its file {has} the table of names that 5.1 brought"));
        }
        if let Some(id) = self.phase_max.filter(|id| tables::phase(version, *id).is_none()) {
            return Some(format!("it holds phase {id}, which {version} does not have"));
        }
        if let Some(id) = self.counter_max.filter(|id| !tables::has_counter(version, *id)) {
            return Some(format!("it holds counter {id}, which {version} does not have"));
        }
        let (older, newer) = (version <= Version::V5_2, version >= Version::V5_3);
        if self.minor_old && newer {
            return Some("its collections of young heaps are phase 10, as up to 5.2".into());
        }
        if self.minor_new && older {
            return Some("its collections of young heaps are phase 11, as from 5.3 on".into());
        }
        if version >= Version::V5_4 && self.lacks_wishes(all_read) {
            return Some("its domains do not say when they want a collection, as they do from 5.4 on".into());
        }
        None
    }

    /// Domains led collections without ever posting that they wanted them: 5.3.
    fn lacks_wishes(&self, all_read: bool) -> bool {
        let unposted = self.phase_max.is_none_or(|id| id < tables::EMPTY_MINOR);
        let many = self.led >= LED_MANY && self.resized == 0;
        // Missing words could explain a few.
        let few = all_read && self.led > self.resized && !self.gaps;
        unposted && self.minor_new && (many || few || all_read && self.led >= 2 * self.resized + LED_MANY)
    }

    fn fits(&self, all_read: bool) -> Vec<Version> {
        Version::ALL.into_iter().filter(|version| self.against(*version, all_read).is_none()).collect()
    }

    /// Whether more events cannot narrow it down: at most one version is left, or only versions with the same numbers.
    fn decided(fits: &[Version]) -> bool {
        let alike = |a: Version, b: Version| {
            a == b || [(Version::V5_1, Version::V5_2), (Version::V5_4, Version::V5_5)].contains(&(a, b))
        };
        match fits {
            [first, .., last] => fits.len() == 2 && alike(*first, *last),
            _ => true,
        }
    }
}

/// The events that the grammar needs.
pub(super) fn filter() -> Filter {
    let mut types = [false; TYPES];
    for kind in [tables::kind::BEGIN, tables::kind::END, tables::kind::COUNTER] {
        (0..64).for_each(|id| types[super::slot::index(kind, id)] = true);
    }
    Filter { types, beyond: true, user: [false; 5] }
}

/// The version of the rings that `pass` reads: `given`, if the events allow it.
///
/// # Errors
/// [`RingError::OtherVersion`], [`RingError::NoVersion`], [`RingError::Undecided`].
pub(super) fn determine_version(mut pass: Pass, given: Option<Version>) -> Result<WrittenBy, RingError> {
    let mut seen = Evidence { has_names: pass.layout.has_names, ..Evidence::default() };
    let mut slots: Vec<(Slot, Grammar)> = pass.slots().into_iter().map(|slot| (slot, Grammar::fresh())).collect();
    let mut fits = seen.fits(false);
    while !Evidence::decided(&fits) && !slots.is_empty() {
        slots.retain_mut(|(slot, grammar)| {
            for _ in 0..TURN {
                let Some(raw) = slot.advance(&mut pass) else { return false };
                grammar.take(raw, &mut seen);
            }
            true
        });
        fits = seen.fits(slots.is_empty());
    }
    conclude(&seen, &fits, given, slots.is_empty())
}

fn conclude(seen: &Evidence, fits: &[Version], given: Option<Version>, all_read: bool) -> Result<WrittenBy, RingError> {
    if let Some(given) = given {
        let against = seen.against(given, all_read);
        return match against {
            Some(why) => Err(RingError::OtherVersion { given: given.as_str(), why }),
            None => Ok(WrittenBy { oldest: given, newest: given, by: VersionSource::Caller }),
        };
    }
    match fits {
        [] => Err(RingError::NoVersion { why: seen.ruled_out() }),
        [oldest, ..] if Evidence::decided(fits) => Ok(WrittenBy {
            oldest: *oldest,
            newest: fits.last().copied().unwrap_or(*oldest),
            by: VersionSource::Stream,
        }),
        _ => {
            let names: Vec<String> = fits.iter().map(Version::to_string).collect();
            Err(RingError::Undecided { fits: names.join(", ") })
        }
    }
}

impl Evidence {
    fn ruled_out(&self) -> String {
        if self.phase_max.is_some_and(|id| usize::from(id) >= PHASES.len()) {
            return "it holds phases that are newer".into();
        }
        if self.counter_max.is_some_and(|id| usize::from(id) >= COUNTERS.len()) {
            return "it holds counters that are newer".into();
        }
        "its events contradict each other".into()
    }
}
