//! GHC's flags that can be tried, and what a GHC program's link shows. Owns these types.

use crate::dialect::{Dialect, Knob, Role, What};
use rtscope_model::runtimes::{GHC, ghc::options};
use rtscope_model::{Link, Rtsopts, Version};

/// GHC's flags that can be tried.
pub static DIALECT: Dialect = Dialect { info: &GHC, knobs: &KNOBS, probed: true };

const fn doubtful(order: u8, words: &'static [&'static str]) -> Knob {
    Knob { doubtful: true, ..Knob::new(order, words) }
}

const fn role(order: u8, role: Role, words: &'static [&'static str]) -> Knob {
    Knob { role, ..Knob::new(order, words) }
}

pub static WORKERS: Knob = role(0, Role::Workers, options::WORKERS);
pub static COLLECTORS: Knob = role(1, Role::Collectors, options::COLLECTORS);
pub static NURSERY: Knob = role(2, Role::Nursery, options::NURSERY);
pub static CHUNK: Knob = Knob::new(3, options::CHUNK);
pub static HEAP: Knob = Knob::new(4, options::HEAP);
pub static OLD_GENERATION: Knob = doubtful(5, options::OLD_GENERATION);
pub static COMPACTION: Knob = doubtful(6, options::COMPACTION);
pub static GENERATIONS: Knob = doubtful(7, options::GENERATIONS);
pub static FACTOR: Knob = Knob::new(8, options::FACTOR);
pub static IDLE: Knob = Knob::new(9, options::IDLE);
pub static SWITCHING: Knob = Knob::new(10, options::SWITCHING);
pub static HEAP_LIMIT: Knob = doubtful(11, options::HEAP_LIMIT);
pub static NUMA: Knob = Knob::new(12, options::NUMA);

static KNOBS: [What; 13] = [
    &WORKERS,
    &COLLECTORS,
    &NURSERY,
    &CHUNK,
    &HEAP,
    &OLD_GENERATION,
    &COMPACTION,
    &GENERATIONS,
    &FACTOR,
    &IDLE,
    &SWITCHING,
    &HEAP_LIMIT,
    &NUMA,
];

/// What a GHC program's link shows.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Ghc {
    /// The compiler's version; `None`: not known.
    pub version: Option<Version>,
    /// Whether it is linked with `-threaded`; `None`: not known.
    pub threaded: Option<bool>,
    /// Which options it accepts from outside; `None`: not known.
    pub rtsopts: Option<Rtsopts>,
    /// Its `-with-rtsopts`.
    pub with_rtsopts: String,
    /// Whether `--numa` works; `None`: not known.
    pub numa: Option<bool>,
    /// Whether no binary was read: the other fields are the assumptions of a plan without a program.
    pub assumed: bool,
}

impl Ghc {
    /// The part of it that decides which flags the program accepts.
    pub fn link(&self) -> Link {
        Link { version: self.version, threaded: self.threaded, rtsopts: self.rtsopts }
    }

    /// A program that accepts every flag.
    pub fn any() -> Ghc {
        Ghc { threaded: Some(true), rtsopts: Some(Rtsopts::All), assumed: true, ..Ghc::default() }
    }
}

/// A size in the runtime's notation: `4k`, `16m`.
pub fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) { format!("{}m", bytes >> 20) } else { format!("{}k", bytes >> 10) }
}
