//! What a space is built from: settings with their levels, and a configuration on top of today's
//! values. Owns the shapes; refuses to know which words conflict.

use crate::dialect::{self, What, Words, number};
use crate::plan::{KeptOption, Refused};

/// A setting with its levels; absence is a level of every setting.
#[derive(Clone, Debug)]
pub struct Dimension {
    pub what: What,
    /// Its name for users: `-A`.
    pub name: &'static str,
    /// Why it is tried, as a sentence.
    pub why: String,
    /// Levels that form a product with those of other settings.
    pub product: Vec<String>,
    /// Levels that are only tried on bases.
    pub single: Vec<String>,
    /// Bases for the levels of `single`; none: the bases shared by all settings.
    pub bases: Vec<Words>,
}

/// What one runtime contributes to a space.
#[derive(Clone, Debug, Default)]
pub struct SpacePart {
    pub dimensions: Vec<Dimension>,
    /// Values that hold where a configuration has no word.
    pub today: Words,
    /// Options that the user gave, which are not varied.
    pub kept: Vec<KeptOption>,
    /// Flags that the program does not accept.
    pub refused: Vec<Refused>,
    /// A larger than usual nursery or minor heap, for the third base.
    pub roomy: Option<(What, String)>,
    /// A memory limit below the machine's, bytes.
    pub memory: Option<u64>,
}

/// The limits of the machine and the program that rules use.
#[derive(Copy, Clone, Debug, Default)]
pub struct Bounds {
    /// Memory that the program may use, bytes.
    pub memory: Option<u64>,
    /// CPUs that the program may run on.
    pub cpus: u32,
}

/// Conflicting words, and why they conflict.
pub type Broken = (Vec<String>, String);

/// `words` without those that already hold today.
pub fn plain(mut words: Words, today: &Words) -> Words {
    words.retain(|what, word| today.get(what) != Some(word));
    words
}

impl Dimension {
    /// A setting without levels.
    pub fn new(what: What, name: &'static str, why: impl Into<String>) -> Dimension {
        Dimension { what, name, why: why.into(), product: Vec::new(), single: Vec::new(), bases: Vec::new() }
    }
}

/// A configuration on top of today's values.
#[derive(Copy, Clone, Debug)]
pub struct View<'a> {
    pub words: &'a Words,
    /// The values of absent words, where they are known.
    pub today: &'a Words,
}

impl<'a> View<'a> {
    /// The word in effect.
    pub fn word(&self, what: What) -> Option<&'a str> {
        self.words.get(what).or_else(|| self.today.get(what)).map(String::as_str)
    }

    pub fn number(&self, what: What) -> Option<u64> {
        number(self.word(what)?)
    }

    /// The number in a word of the configuration itself.
    pub fn own_number(&self, what: What) -> Option<u64> {
        number(self.words.get(what)?)
    }

    /// The number of the word in effect as a count, at least 1.
    pub fn count(&self, what: What) -> Option<u32> {
        dialect::count(self.word(what)?)
    }

    /// The words in effect for `whats`, in that order: those that break a rule.
    pub fn named(&self, whats: &[What]) -> Vec<String> {
        whats.iter().filter_map(|what| self.word(what)).map(str::to_owned).collect()
    }

    /// Reports that the words in effect for `whats` conflict.
    pub fn because(&self, whats: &[What], why: &str) -> Option<Broken> {
        Some((self.named(whats), why.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::ghc::knobs::{CHUNK, NURSERY, WORKERS};

    #[test]
    fn absence_stands_for_what_is_today() {
        let today = Words::from([(&WORKERS as What, "-N3".to_owned()), (&NURSERY, "-A1m".to_owned())]);
        let words = Words::from([(&NURSERY as What, "-A4m".to_owned())]);
        let view = View { words: &words, today: &today };
        assert_eq!((view.count(&WORKERS), view.number(&NURSERY)), (Some(3), Some(4 << 20)));
        assert_eq!(view.named(&[&NURSERY, &CHUNK, &WORKERS]), ["-A4m", "-N3"]);
    }
}
