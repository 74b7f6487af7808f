//! A word of a configuration: which setting it is of, and its value. Owns the spelling;
//! refuses to know what goes with what.

use std::collections::BTreeMap;

/// What configurations differ in, in the order in which words are written.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum What {
    /// `-N`.
    Workers,
    /// `-qg`, `-qn`.
    Collectors,
    /// `-A`.
    Nursery,
    /// `-n`.
    Chunk,
    /// `-H`.
    Heap,
    /// `--nonmoving-gc`.
    OldGeneration,
    /// `-c`.
    Compaction,
    /// `-G`.
    Generations,
    /// `-F`.
    Factor,
    /// `-I`.
    Idle,
    /// `-C`.
    Switching,
    /// `-M`.
    HeapLimit,
    /// `--numa`.
    Numa,
    /// `domains=`, for an argument of the command.
    Domains,
    /// `d=`.
    MostDomains,
    /// `s=`.
    MinorHeap,
    /// `o=`.
    Overhead,
    /// `cpus=`.
    Cpus,
    /// `class=`.
    Class,
}

/// Where the words of a configuration go.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Place {
    /// `GHCRTS`.
    Ghc,
    /// `OCAMLRUNPARAM`.
    Ocaml,
    /// How the process is started.
    Start,
}

impl What {
    /// Of what `word` is; `None`: nothing that is tried.
    pub fn of(word: &str) -> Option<What> {
        let number = |prefix: &str| {
            word.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        };
        const NUMBERS: [(&str, What); 16] = [
            ("-N", What::Workers),
            ("-maxN", What::Workers),
            ("-A", What::Nursery),
            ("-n", What::Chunk),
            ("-H", What::Heap),
            ("-G", What::Generations),
            ("-F", What::Factor),
            ("-I", What::Idle),
            ("-C", What::Switching),
            ("-M", What::HeapLimit),
            ("domains=", What::Domains),
            ("d=", What::MostDomains),
            ("s=", What::MinorHeap),
            ("o=", What::Overhead),
            ("cpus=", What::Cpus),
            ("-qn", What::Collectors),
        ];
        Some(match word {
            "-N" => What::Workers,
            "-H" => What::Heap,
            "-C" => What::Switching,
            "-c" => What::Compaction,
            "-xn" | "-xns" | "--nonmoving-gc" | "--copying-gc" => What::OldGeneration,
            _ if word.starts_with("-qg") => What::Collectors,
            _ if word.starts_with("--numa") => What::Numa,
            _ if word.starts_with("class=") => What::Class,
            _ => NUMBERS.into_iter().find(|(prefix, _)| number(prefix))?.1,
        })
    }

    /// Where its words go.
    pub fn place(self) -> Place {
        match self {
            What::Domains | What::Cpus | What::Class => Place::Start,
            What::MostDomains | What::MinorHeap | What::Overhead => Place::Ocaml,
            _ => Place::Ghc,
        }
    }
}

/// The number in a word: 65536 of `-A64k`; a fraction is cut. `None`: there is none.
pub fn number(word: &str) -> Option<u64> {
    let digits = word.get(word.find(|c: char| c.is_ascii_digit())?..)?;
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
    let (digits, unit) = digits.split_at(end);
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1024.0,
        "m" | "M" => 1024.0 * 1024.0,
        "g" | "G" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    // A conversion of floats saturates.
    Some((digits.parse::<f64>().ok()? * factor) as u64)
}

/// `4k`, `16m`: a size as GHC reads it.
pub fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) { format!("{}m", bytes >> 20) } else { format!("{}k", bytes >> 10) }
}

/// One configuration: a word for each setting that is not as it is today.
pub type Words = BTreeMap<What, String>;

/// A configuration over what holds without it.
#[derive(Copy, Clone, Debug)]
pub struct View<'a> {
    /// The configuration.
    pub words: &'a Words,
    /// What absence stands for, where that is known.
    pub today: &'a Words,
}

impl<'a> View<'a> {
    /// The word that holds.
    pub fn word(&self, what: What) -> Option<&'a str> {
        self.words.get(&what).or_else(|| self.today.get(&what)).map(String::as_str)
    }

    /// Its number.
    pub fn number(&self, what: What) -> Option<u64> {
        number(self.word(what)?)
    }

    /// Its number as a count, at least 1.
    pub fn count(&self, what: What) -> Option<u32> {
        self.number(what).map(|number| u32::try_from(number).unwrap_or(u32::MAX).max(1))
    }

    /// The words that hold for `whats`, in their order: the culprits of a rule.
    pub fn named(&self, whats: &[What]) -> Vec<String> {
        whats.iter().filter_map(|what| self.word(*what)).map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_a_setting_and_a_number() {
        for (word, what, value) in [
            ("-N2", Some(What::Workers), Some(2)),
            ("-N", Some(What::Workers), None),
            ("-maxN8", Some(What::Workers), Some(8)),
            ("-A256k", Some(What::Nursery), Some(256 << 10)),
            ("-AL1m", None, Some(1 << 20)),
            ("-n1m", Some(What::Chunk), Some(1 << 20)),
            ("-qg", Some(What::Collectors), None),
            ("-qg1", Some(What::Collectors), Some(1)),
            ("-qn2", Some(What::Collectors), Some(2)),
            ("-c", Some(What::Compaction), None),
            ("-xn", Some(What::OldGeneration), None),
            ("-c30", None, Some(30)),
            ("-F1.5", Some(What::Factor), Some(1)),
            ("-Iw60", None, Some(60)),
            ("--numa", Some(What::Numa), None),
            ("s=256k", Some(What::MinorHeap), Some(256 << 10)),
            ("d=2", Some(What::MostDomains), Some(2)),
            ("domains=2", Some(What::Domains), Some(2)),
            ("class=batch", Some(What::Class), None),
            ("v=0x400", None, None),
            ("", None, None),
            ("-", None, None),
            ("-A99999999999999999999g", Some(What::Nursery), Some(u64::MAX)),
        ] {
            assert_eq!((What::of(word), number(word)), (what, value), "{word}");
        }
        assert_eq!((size(4 << 20), size(256 << 10)), ("4m".into(), "256k".into()));
    }

    #[test]
    fn absence_stands_for_what_is_today() {
        let today = Words::from([(What::Workers, "-N3".to_owned()), (What::Nursery, "-A1m".to_owned())]);
        let words = Words::from([(What::Nursery, "-A4m".to_owned())]);
        let view = View { words: &words, today: &today };
        assert_eq!((view.count(What::Workers), view.number(What::Nursery)), (Some(3), Some(4 << 20)));
        assert_eq!(view.named(&[What::Nursery, What::Chunk, What::Workers]), ["-A4m", "-N3"]);
    }
}
