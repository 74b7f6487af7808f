//! One sample of a program's transaction counts, and why there is none. Owns when a figure is
//! not trusted; refuses to find where the counts are.

use super::code::TOKENS;
use crate::target::memory::Memory;
use rtscope_decode::stm::{HEADER_BYTES, Header, fill_commits, named};
use rtscope_model::{StmCounts, StmNamed};
use std::io;
use std::ops::Range;

/// More capabilities than any machine has.
const CAPABILITIES_MAX: u32 = 4096;
/// How often the runtime's count is reread because it changed meanwhile.
const TRIES_MAX: u32 = 64;

/// Messages for a package that does not count, or not correctly.
const NOT_LED: &str =
    "the package rtscope-stm is linked in, but without its options for the linker: the runtime does not call it";
const CROWDED: &str =
    "there are more capabilities than the package rtscope-stm has lanes for, and those that share one miss counts";

/// The result of one sample.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct StmLook {
    /// Outcomes of attempts; `None`: the package is not linked in.
    pub outcomes: Option<Outcomes>,
    /// Attempts as the runtime counts them; `None`: it does not, or the place is unknown, or it
    /// changed during every read.
    pub attempts: Option<u64>,
}

/// The package's counts.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Outcomes {
    /// The runtime calls the package: else it counts nothing.
    pub led: bool,
    /// The mode of its scheduler: what it may do.
    pub mode: u32,
    /// There are more capabilities than lanes: the counts are not trusted.
    pub crowded: bool,
    /// By capability number; the last possible lane may combine several capabilities.
    pub lanes: Vec<(u16, StmCounts)>,
    /// By number of the name.
    pub names: Vec<(String, StmNamed)>,
}

/// Where the counts of a process are.
#[derive(Clone, Debug)]
pub struct StmCounters<M> {
    pub(super) memory: M,
    /// The package's block.
    pub(super) block: Option<u64>,
    pub(super) runtime: Option<RuntimeCounter>,
    /// Address of the number of capabilities, 32 bits.
    pub(super) n_capabilities: Option<u64>,
    /// Why the package's or the runtime's counts are not read.
    pub(super) no_block: Option<String>,
    pub(super) no_runtime: Option<String>,
}

/// The runtime's own count, as run-time addresses.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) struct RuntimeCounter {
    pub(super) max_commits: u64,
    pub(super) token_locked: u64,
    pub(super) n_capabilities: u64,
    pub(super) capabilities: u64,
    /// `capabilities` is a pointer to their array.
    pub(super) pointed: bool,
    /// Offset of the tokens in a capability.
    pub(super) tokens: u32,
}

impl<M: Memory> StmCounters<M> {
    /// Why outcomes of attempts are not counted, if `look` shows that they are not: the package is
    /// not there, the runtime does not call it, or it cannot count correctly. Also why the runtime's
    /// own count is not read, if so.
    pub fn no_outcomes_because(&self, look: &StmLook) -> Option<String> {
        let crowded = look.outcomes.as_ref().is_some_and(|outcomes| outcomes.crowded);
        let why = match self.block {
            Some(_) if crowded => CROWDED,
            Some(_) => NOT_LED,
            None => self.no_block.as_deref()?,
        };
        Some(self.no_runtime.as_ref().map_or_else(|| why.to_owned(), |no_runtime| format!("{why}; {no_runtime}")))
    }

    /// Reads all counts. Each figure was true at some moment of the sample.
    ///
    /// # Errors
    /// The process is gone, or its memory may not be read.
    pub fn look(&self) -> io::Result<StmLook> {
        let outcomes = self.block.map(|at| self.outcomes(at)).transpose()?.flatten();
        let attempts = self.runtime.map(|runtime| self.attempts(&runtime)).transpose()?.flatten();
        Ok(StmLook { outcomes, attempts })
    }

    fn outcomes(&self, at: u64) -> io::Result<Option<Outcomes>> {
        let mut head = [0; HEADER_BYTES];
        self.memory.read(at, &mut head)?;
        let Ok(header) = Header::parse(&head) else { return Ok(None) };
        let count = self.n_capabilities.and_then(|at| self.memory.read_u32(at).ok()).unwrap_or(u32::MAX);
        let part = |range: Range<u64>| {
            let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap_or(0)];
            self.memory.read(at.wrapping_add(range.start), &mut bytes).map(|()| bytes)
        };
        // Before the runtime has started it has no capability, and nothing was counted.
        let mut lanes: Vec<(u16, StmCounts)> = (0..).zip(header.lanes(&part(header.lane_range(count))?)).collect();
        let (last, range) = header.last_lane();
        if lanes.len() <= last as usize {
            lanes.extend(u16::try_from(last).ok().zip(header.lanes(&part(range)?).pop()));
        }
        fill_commits(lanes.iter_mut().map(|(_, lane)| lane));
        let mut names: Vec<(String, StmNamed)> =
            header.names(&part(header.name_range())?).into_iter().map(|text| (text, StmNamed::default())).collect();
        for (lane, _) in lanes.iter().take_while(|_| header.names > 0) {
            let counts = part(header.named_range(u32::from(*lane)))?;
            names.iter_mut().zip(named(&counts)).for_each(|((_, sum), counts)| *sum = sum.plus(&counts));
        }
        let Header { redirected, crowded, mode, .. } = header;
        Ok(Some(Outcomes { led: redirected && !crowded, mode, crowded, lanes, names }))
    }

    /// What the runtime gave minus what capabilities have left, at a moment in which it gave
    /// nothing: the total given is equal before and after, and the lock was free at the first
    /// read (the total is counted before the tokens are stored).
    fn attempts(&self, at: &RuntimeCounter) -> io::Result<Option<u64>> {
        for _ in 0..TRIES_MAX {
            let given = self.memory.read_u64(at.max_commits)?;
            if self.memory.read_u64(at.token_locked)? & 0xff != 0 {
                continue;
            }
            let Some(left) = self.tokens_left(at)? else { continue };
            if self.memory.read_u64(at.max_commits)? == given {
                return Ok(given.checked_sub(left).filter(|_| given.is_multiple_of(TOKENS)));
            }
        }
        Ok(None)
    }

    /// Tokens that capabilities have left; `None`: the numbers are impossible. When the number of
    /// capabilities changes their array is replaced.
    fn tokens_left(&self, at: &RuntimeCounter) -> io::Result<Option<u64>> {
        let count = u64::from(self.memory.read_u32(at.n_capabilities)?.min(CAPABILITIES_MAX));
        if count == 0 {
            return Ok(Some(0));
        }
        let array = if at.pointed { self.memory.read_u64(at.capabilities)? } else { at.capabilities };
        let mut capabilities = vec![0; count as usize];
        let words = |range: Range<u64>, into: &mut [u64]| self.memory.read_words(std::slice::from_ref(&range), into);
        if words(array..array.wrapping_add(8 * count), &mut capabilities).is_err() {
            return Ok(None);
        }
        let tokens = |capability: &u64| {
            let from = capability.wrapping_add(u64::from(at.tokens));
            from..from.wrapping_add(8)
        };
        let ranges: Vec<Range<u64>> = capabilities.iter().map(tokens).collect();
        let mut left = capabilities;
        if self.memory.read_words(&ranges, &mut left).is_err() {
            return Ok(None);
        }
        // A number of 32 bits; the other half belongs to another field.
        left.iter_mut().for_each(|tokens| *tokens &= u64::from(u32::MAX));
        Ok(left.iter().all(|tokens| *tokens <= TOKENS).then(|| left.iter().sum()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    type WordsByAddress = Vec<(u64, u64)>;
    type Act<'t> = Box<dyn Fn(u64, &mut WordsByAddress) + 't>;

    /// Memory in which reading a place has a side effect.
    struct Acting<'t> {
        words: RefCell<WordsByAddress>,
        act: Act<'t>,
    }

    impl Memory for &Acting<'_> {
        fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
            let mut words = self.words.borrow_mut();
            for (index, part) in buffer.chunks_mut(8).enumerate() {
                let at = address + 8 * index as u64;
                (self.act)(at, &mut words);
                let word = words.iter().find(|word| word.0 == at).ok_or(io::ErrorKind::UnexpectedEof)?;
                part.copy_from_slice(&word.1.to_ne_bytes()[..part.len()]);
            }
            Ok(())
        }
    }

    const GIVEN: u64 = 0x1000;
    const LOCKED: u64 = 0x1008;
    const COUNT: u64 = 0x1010;
    const ARRAY: u64 = 0x1018;
    const POINTERS: u64 = 0x2000;
    const FIRST: u64 = 0x3000;
    const SECOND: u64 = 0x4000;
    const AT: u32 = 0x560;

    fn memory<'t>(act: impl Fn(u64, &mut WordsByAddress) + 't) -> Acting<'t> {
        let words = vec![
            (GIVEN, 3 * 1024),
            (LOCKED, 0),
            (COUNT, 2),
            (ARRAY, POINTERS),
            (POINTERS, FIRST),
            (POINTERS + 8, SECOND),
            (FIRST + u64::from(AT), 1000),
            (SECOND + u64::from(AT), 24),
        ];
        Acting { words: RefCell::new(words), act: Box::new(act) }
    }

    fn counted(memory: &Acting<'_>, pointed: bool, capabilities: u64) -> Option<u64> {
        let runtime = RuntimeCounter {
            max_commits: GIVEN,
            token_locked: LOCKED,
            n_capabilities: COUNT,
            capabilities,
            pointed,
            tokens: AT,
        };
        let (no_block, no_runtime) = (None, None);
        let all =
            StmCounters { memory, block: None, runtime: Some(runtime), n_capabilities: None, no_block, no_runtime };
        all.look().unwrap().attempts
    }

    fn set(words: &mut [(u64, u64)], address: u64, value: u64) {
        words.iter_mut().find(|word| word.0 == address).unwrap().1 = value;
    }

    #[test]
    fn attempts_are_what_was_given_less_what_is_left() {
        assert_eq!(counted(&memory(|_, _| ()), true, ARRAY), Some(2048));
        assert_eq!(counted(&memory(|_, _| ()), false, POINTERS), Some(2048));
    }

    #[test]
    fn a_runtime_that_has_not_started_has_counted_nothing() {
        let none = memory(|_, words| {
            set(words, COUNT, 0);
            set(words, GIVEN, 0);
        });
        assert_eq!(counted(&none, true, ARRAY), Some(0));
    }

    /// A capability without tokens gets 1024 during a sample: at each step of the reader.
    #[test]
    fn what_is_just_being_given_is_never_counted() {
        for step in 0..14 {
            for (gap, locked) in [(0, false), (1, true), (2, true)] {
                let reads = RefCell::new(0);
                let giving = memory(|_, words| {
                    let now = *reads.borrow();
                    *reads.borrow_mut() += 1;
                    // Locks, counts and gives, each `gap` reads after the previous step.
                    if now == 0 {
                        set(words, FIRST + u64::from(AT), 0);
                    }
                    if now == step && locked {
                        set(words, LOCKED, 1);
                    }
                    if now == step + gap {
                        set(words, GIVEN, 4 * 1024);
                    }
                    if now == step + 2 * gap {
                        set(words, FIRST + u64::from(AT), 1024);
                    }
                    if now == step + 3 * gap {
                        set(words, LOCKED, 0);
                    }
                });
                let found = counted(&giving, true, ARRAY);
                assert_eq!(found, Some(3 * 1024 - 24), "at {step}, {gap} apart");
            }
        }
    }

    #[test]
    fn figures_that_cannot_be_are_none() {
        let wrong = memory(|_, words| set(words, FIRST + u64::from(AT), 1025));
        assert_eq!(counted(&wrong, true, ARRAY), None);
        let odd = memory(|_, words| set(words, GIVEN, 3 * 1024 + 1));
        assert_eq!(counted(&odd, true, ARRAY), None);
        let always = memory(|_, words| set(words, LOCKED, 1));
        assert_eq!(counted(&always, true, ARRAY), None);
        let less = memory(|_, words| set(words, GIVEN, 0));
        assert_eq!(counted(&less, true, ARRAY), None);
        let gone = memory(|_, words| words.clear());
        let no = StmCounters {
            memory: &gone,
            block: Some(8),
            runtime: None,
            n_capabilities: None,
            no_block: None,
            no_runtime: None,
        };
        assert!(no.look().is_err());
    }

    #[test]
    fn a_block_is_read_as_far_as_there_are_capabilities() {
        let lane = |attempts| StmCounts { attempts, commits: attempts, ..StmCounts::default() };
        let named = StmNamed { attempts: 4, commits: 3, ..StmNamed::default() };
        let bytes =
            rtscope_decode::stm::builder::block(&[lane(10), lane(20), lane(0), lane(7)], &[("swap", named)], 1, 1);
        let words = bytes.chunks(8).enumerate().map(|(index, word)| {
            let word = u64::from_ne_bytes(word.try_into().unwrap());
            (0x8000 + 8 * index as u64, word)
        });
        let words = words.chain([(COUNT, 2)]).collect();
        let memory = Acting { words: RefCell::new(words), act: Box::new(|_, _| ()) };
        let at = StmCounters {
            memory: &memory,
            block: Some(0x8000),
            runtime: None,
            n_capabilities: Some(COUNT),
            no_block: None,
            no_runtime: None,
        };
        let outcomes = at.look().unwrap().outcomes.unwrap();
        assert_eq!((outcomes.led, outcomes.mode), (true, 1));
        assert_eq!(outcomes.lanes, [(0, lane(10)), (1, lane(20)), (3, lane(7))]);
        assert_eq!(outcomes.names, [("swap".to_owned(), named)]);
        let all = StmCounters { n_capabilities: None, ..at };
        assert_eq!(all.look().unwrap().outcomes.unwrap().lanes.len(), 4);
    }
}
