//! What a space is built from: settings with their levels, and a configuration over what holds without
//! it. Owns the shapes; refuses to know what goes with what.

use crate::dialect::{self, What, Words, number};
use crate::plan::{Kept, Refused};

/// A setting with its levels; absence is a level of each.
#[derive(Clone, Debug)]
pub struct Dimension {
    pub what: What,
    /// Its name for people: `-A`.
    pub name: &'static str,
    /// Why it is tried: a sentence.
    pub why: String,
    /// Levels whose product with those of other settings is taken.
    pub product: Vec<String>,
    /// Levels that are tried on bases only.
    pub single: Vec<String>,
    /// What a level of `single` is put on; none: on the bases of all.
    pub bases: Vec<Words>,
}

/// What one runtime adds to a space.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub dimensions: Vec<Dimension>,
    /// What holds without a word.
    pub today: Words,
    /// What the user gave, which is not varied.
    pub kept: Vec<Kept>,
    /// Flags that the program does not take.
    pub refused: Vec<Refused>,
    /// A size of nursery or minor heap that is larger than most: of the third base.
    pub roomy: Option<(What, String)>,
    /// A smaller bound of memory than the machine's, bytes.
    pub memory: Option<u64>,
}

/// What of the machine and the program rules go by.
#[derive(Copy, Clone, Debug, Default)]
pub struct Bounds {
    /// Bytes that the program may have.
    pub memory: Option<u64>,
    /// CPUs that it may run on.
    pub cpus: u32,
}

/// The words that do not go together, and why.
pub type Broken = (Vec<String>, String);

/// `words` without those that are so today anyway.
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

/// A configuration over what holds without it.
#[derive(Copy, Clone, Debug)]
pub struct View<'a> {
    pub words: &'a Words,
    /// What absence stands for, where that is known.
    pub today: &'a Words,
}

impl<'a> View<'a> {
    /// The word that holds.
    pub fn word(&self, what: What) -> Option<&'a str> {
        self.words.get(what).or_else(|| self.today.get(what)).map(String::as_str)
    }

    pub fn number(&self, what: What) -> Option<u64> {
        number(self.word(what)?)
    }

    /// The number of a word that the configuration itself has.
    pub fn own_number(&self, what: What) -> Option<u64> {
        number(self.words.get(what)?)
    }

    /// Its number as a count, at least 1.
    pub fn count(&self, what: What) -> Option<u32> {
        dialect::count(self.word(what)?)
    }

    /// The words that hold for `whats`, in their order: the culprits of a rule.
    pub fn named(&self, whats: &[What]) -> Vec<String> {
        whats.iter().filter_map(|what| self.word(what)).map(str::to_owned).collect()
    }

    /// The words that hold for `whats` do not go together.
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
