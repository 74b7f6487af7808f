//! Which of a runtime's flags can be tried: data; how they are given is the runtime's own. Owns the shape, and the
//! knobs of how any program is started; each runtime has its own in its folder.

use rtscope_model::RuntimeInfo;
pub use rtscope_model::options::matches;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// What can be tried of a runtime's flags.
#[derive(Eq, PartialEq, Debug)]
pub struct Dialect {
    /// The runtime, which says how its flags are given.
    pub info: &'static RuntimeInfo,
    pub knobs: &'static [What],
    /// Whether the program is started with each flag before the first trial, to see whether its
    /// runtime takes it: it has started a second thread when it has read them.
    pub probed: bool,
}

impl Dialect {
    pub fn variable(&self) -> &'static str {
        self.info.spelling.variable()
    }

    /// What `word` turns, of what can be tried.
    pub fn knob(&self, word: &str) -> Option<What> {
        of(self.knobs.iter().copied(), word)
    }
}

impl Serialize for Dialect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.info.id)
    }
}

/// What a knob is to those who know no runtime.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Debug)]
pub enum Role {
    /// How many work at once.
    Workers,
    /// How many may at most.
    Ceiling,
    /// How many of them collect.
    Collectors,
    /// How much each allocates between collections.
    Nursery,
    /// Anything else.
    Other,
}

/// A knob: what configurations differ in.
#[derive(Eq, PartialEq, Ord, PartialOrd, Debug)]
pub struct Knob {
    /// Words of a configuration are written in this order.
    pub order: u8,
    /// Its words, see [`matches`]; the first is the one that [`Knob::word`] writes.
    pub words: &'static [&'static str],
    /// What it does.
    pub role: Role,
    /// Whether it may be refused together with others of which that is true.
    pub doubtful: bool,
}

pub type What = &'static Knob;

/// One configuration: a word for each knob that is not as it is today.
pub type Words = BTreeMap<What, String>;

/// A number of domains in an argument of the command.
pub static DOMAINS: Knob = Knob::new(20, &["domains=#"]);
/// CPUs to run on.
pub static CPUS: Knob = Knob::new(100, &["cpus=#"]);
/// The scheduling class.
pub static CLASS: Knob = Knob::new(101, &["class=*"]);
/// Knobs of how a program is started, whatever its runtime.
pub static OF_STARTS: [What; 3] = [&DOMAINS, &CPUS, &CLASS];

impl Knob {
    /// A knob of no role, which no other makes invalid.
    pub const fn new(order: u8, words: &'static [&'static str]) -> Knob {
        Knob { order, words, role: Role::Other, doubtful: false }
    }

    /// Its word with `value`, which begins with a number.
    pub fn word(&self, value: impl std::fmt::Display) -> String {
        format!("{}{value}", self.words.first().map_or("", |word| word.trim_end_matches('#')))
    }
}

/// The one of `knobs` that `word` turns.
pub fn of(mut knobs: impl Iterator<Item = What>, word: &str) -> Option<What> {
    knobs.find(|knob| knob.words.iter().any(|pattern| matches(pattern, word)))
}

/// The number in a word: 65536 of `-A64k`; a fraction is cut. `None`: there is none.
pub fn number(word: &str) -> Option<u64> {
    let (number, power) = parts(word).1?;
    // A conversion of floats saturates.
    Some((number * f64::from(1_u32 << power)) as u64)
}

/// A word's name, which ends where digits begin, and its number with the power of two that its unit stands for:
/// `-A`, 64 and 10 of `-A64k`.
pub(crate) fn parts(word: &str) -> (&str, Option<(f64, u32)>) {
    let (name, value) = word.split_at(word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len()));
    let (digits, unit) = value.split_at(value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len()));
    let power = match unit {
        "" => Some(0),
        "k" | "K" => Some(10),
        "m" | "M" => Some(20),
        "g" | "G" => Some(30),
        _ => None,
    };
    (name, digits.parse().ok().zip(power))
}

/// The number of a word as a count, at least 1.
pub fn count(word: &str) -> Option<u32> {
    number(word).map(|number| u32::try_from(number).unwrap_or(u32::MAX).max(1))
}
