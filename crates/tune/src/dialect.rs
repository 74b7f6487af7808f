//! Which flags of a runtime can be tried, as data; how they are passed is the runtime's matter. Owns the
//! data's shape, and the knobs of how any program is started; each runtime's knobs are in its folder.

use rtscope_model::RuntimeInfo;
pub use rtscope_model::options::matches;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The flags of a runtime that can be tried.
#[derive(Eq, PartialEq, Debug)]
pub struct Dialect {
    /// The runtime, which says how its flags are passed.
    pub info: &'static RuntimeInfo,
    pub knobs: &'static [What],
    /// Whether the program is started with each flag before the first trial, to check that its runtime
    /// accepts it: a second thread shows that the runtime has read its flags.
    pub probed: bool,
}

impl Dialect {
    pub fn variable(&self) -> &'static str {
        self.info.spelling.variable()
    }

    /// The knob that `word` sets, if it can be tried.
    pub fn knob(&self, word: &str) -> Option<What> {
        of(self.knobs.iter().copied(), word)
    }
}

impl Serialize for Dialect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.info.id)
    }
}

/// What a knob does, independent of the runtime.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Debug)]
pub enum Role {
    /// The number of workers.
    Workers,
    /// The upper limit on the number of workers.
    Ceiling,
    /// The number of workers that collect.
    Collectors,
    /// The memory that each worker allocates between collections.
    Nursery,
    /// Anything else.
    Other,
}

/// A knob: a dimension in which configurations differ.
#[derive(Eq, PartialEq, Ord, PartialOrd, Debug)]
pub struct Knob {
    /// Position of its word in a configuration.
    pub order: u8,
    /// Its spellings, see [`matches`]; [`Knob::word`] writes the first.
    pub words: &'static [&'static str],
    /// What the knob does.
    pub role: Role,
    /// Whether the runtime may refuse it in combination with other doubtful knobs.
    pub doubtful: bool,
}

pub type What = &'static Knob;

/// A configuration: one word for each knob that differs from today's setting.
pub type Words = BTreeMap<What, String>;

/// A number of domains, in an argument of the command.
pub static DOMAINS: Knob = Knob::new(20, &["domains=#"]);
/// The number of CPUs to run on.
pub static CPUS: Knob = Knob::new(100, &["cpus=#"]);
/// The scheduling class to run in.
pub static CLASS: Knob = Knob::new(101, &["class=*"]);
/// Knobs of how a program is started, for any runtime.
pub static OF_STARTS: [What; 3] = [&DOMAINS, &CPUS, &CLASS];

impl Knob {
    /// A knob without a role, which no other knob makes invalid.
    pub const fn new(order: u8, words: &'static [&'static str]) -> Knob {
        Knob { order, words, role: Role::Other, doubtful: false }
    }

    /// Its word for `value`, which begins with a number.
    pub fn word(&self, value: impl std::fmt::Display) -> String {
        format!("{}{value}", self.words.first().map_or("", |word| word.trim_end_matches('#')))
    }
}

/// The knob among `knobs` that `word` sets.
pub fn of(mut knobs: impl Iterator<Item = What>, word: &str) -> Option<What> {
    knobs.find(|knob| knob.words.iter().any(|pattern| matches(pattern, word)))
}

/// The number in a word: 65536 for `-A64k`; a fraction is truncated. `None`: it has none.
pub fn number(word: &str) -> Option<u64> {
    let (number, power) = parts(word).1?;
    // Casts from floats saturate.
    Some((number * f64::from(1_u32 << power)) as u64)
}

/// Splits a word into its name, which ends at the first digit, and its number with the exponent of
/// its unit as a power of two: `-A`, 64 and 10 for `-A64k`.
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

/// The number in a word as a count, at least 1.
pub fn count(word: &str) -> Option<u32> {
    number(word).map(|number| u32::try_from(number).unwrap_or(u32::MAX).max(1))
}
