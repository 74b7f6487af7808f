//! Maps threads of a trace to lanes. Owns the conventions of the known writers; a thread is a lane if it posts phases
//! of a runtime.

use super::shape;
use super::tables::Thread;
use rtscope_model::LaneId;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Limit of remembered threads, and of their names.
const THREADS_MAX: usize = 1 << 16;
/// Longest name that is examined.
const NAME_MAX: usize = 64;

/// Threads seen in a trace.
#[derive(Clone, Default, Debug)]
pub(super) struct Threads {
    /// Those that post phases, in the order of their first one.
    posting: Vec<Posting>,
    known: HashSet<Thread>,
    names: HashMap<u64, Box<[u8]>>,
}

#[derive(Copy, Clone, Debug)]
struct Posting {
    thread: Thread,
    /// Its phases have eio-trace's category.
    eio: bool,
}

/// The lanes of a trace.
#[derive(Clone, Default, Debug)]
pub(super) struct Lanes {
    of: HashMap<Thread, LaneId>,
    /// Threads that claim the lane of a thread of another process.
    pub rivals: BTreeSet<Thread>,
}

impl Lanes {
    pub fn of(&self, thread: Thread) -> Option<LaneId> {
        self.of.get(&thread).copied()
    }

    pub fn len(&self) -> usize {
        self.of.len()
    }
}

impl Threads {
    /// Records that `thread` has posted a phase.
    pub fn posts(&mut self, thread: Thread, eio: bool) {
        if self.posting.len() < THREADS_MAX && self.known.insert(thread) {
            self.posting.push(Posting { thread, eio });
        }
    }

    /// Records the name of the thread with this id.
    pub fn named(&mut self, id: u64, name: &[u8]) {
        if self.names.len() < THREADS_MAX && name.len() <= NAME_MAX {
            self.names.insert(id, name.into());
        }
    }

    /// The lanes: of a trace that rtscope wrote, by the numbers of their timelines; else by the numbers that the
    /// writer gave its rings; else by order.
    pub fn lanes(&self) -> Lanes {
        let mut lanes = Lanes::default();
        let mut taken: HashMap<u16, Thread> = HashMap::new();
        for posting in &self.posting {
            let Some(number) = self.number(posting) else { continue };
            match taken.get(&number) {
                Some(other) if process(*other) != process(posting.thread) => {
                    lanes.rivals.insert(posting.thread);
                }
                Some(_) => {}
                None => {
                    taken.insert(number, posting.thread);
                    lanes.of.insert(posting.thread, LaneId(number));
                }
            }
        }
        let mut free = (0..u16::MAX).filter(|number| !taken.contains_key(number));
        for thread in self.posting.iter().map(|posting| posting.thread) {
            if !lanes.of.contains_key(&thread)
                && !lanes.rivals.contains(&thread)
                && let Some(number) = free.next()
            {
                lanes.of.insert(thread, LaneId(number));
            }
        }
        lanes
    }

    /// The writer's number for the ring.
    fn number(&self, posting: &Posting) -> Option<u16> {
        let thread = match posting.thread {
            Thread::Known { thread, .. } => thread,
            // olly refers to rings by number and never registers them.
            Thread::Numbered(index) => return u16::from(index).checked_sub(1),
        };
        if let Some(lane) = shape::lane_of(thread) {
            return Some(lane.0);
        }
        let named = self.names.get(&thread).and_then(|name| number_in(name));
        // In eio-trace the two lowest bits are the kind: 1 is a ring, 2 a fiber.
        let eio = || (posting.eio && thread & 3 == 1).then(|| u16::try_from(thread >> 2).ok()).flatten();
        named.or_else(eio)
    }
}

fn process(thread: Thread) -> Option<u64> {
    match thread {
        Thread::Known { process, .. } => Some(process),
        Thread::Numbered(_) => None,
    }
}

/// `ring3`, `Ring_id 3`, `domain 3`, `lane 3`.
fn number_in(name: &[u8]) -> Option<u16> {
    let name = std::str::from_utf8(name).ok()?.to_ascii_lowercase();
    let number = ["ring_id", "ring", "domain", "lane"].iter().find_map(|word| name.strip_prefix(word))?;
    number.trim_start_matches([' ', '_', '#']).parse().ok().filter(|number| *number < u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(process: u64, thread: u64) -> Thread {
        Thread::Known { process, thread }
    }

    fn lanes(postings: &[(Thread, bool)], names: &[(u64, &str)]) -> Vec<Option<u16>> {
        let mut threads = Threads::default();
        names.iter().for_each(|(id, name)| threads.named(*id, name.as_bytes()));
        postings.iter().for_each(|(thread, eio)| threads.posts(*thread, *eio));
        let lanes = threads.lanes();
        postings.iter().map(|(thread, _)| lanes.of(*thread).map(|lane| lane.0)).collect()
    }

    #[test]
    fn rings_are_identified_by_the_conventions_of_their_writers() {
        let eio = [(known(70, 13), true), (known(70, 1), true)];
        assert_eq!(lanes(&eio, &[]), [Some(3), Some(0)]);
        let olly = [(Thread::Numbered(3), false), (Thread::Numbered(1), false)];
        assert_eq!(lanes(&olly, &[]), [Some(2), Some(0)]);
        let named = [(known(0, 1), false), (known(2, 3), false)];
        assert_eq!(lanes(&named, &[(1, "Ring_id 0"), (3, "Ring_id 2")]), [Some(0), Some(2)]);
        let own = [(known(9, shape::lane_id(LaneId(7))), true)];
        assert_eq!(lanes(&own, &[]), [Some(7)]);
        let unknown = [(known(9, 400), false), (known(9, 300), false), (known(9, 5), true)];
        assert_eq!(lanes(&unknown, &[(300, "worker")]), [Some(0), Some(2), Some(1)]);
    }

    #[test]
    fn a_ring_of_another_process_is_no_second_lane() {
        let two = [(known(70, 1), true), (known(71, 1), true), (known(71, 5), true)];
        assert_eq!(lanes(&two, &[]), [Some(0), None, Some(1)]);
        let mut threads = Threads::default();
        two.iter().for_each(|(thread, eio)| threads.posts(*thread, *eio));
        assert_eq!(threads.lanes().rivals.into_iter().collect::<Vec<_>>(), [known(71, 1)]);
    }
}
