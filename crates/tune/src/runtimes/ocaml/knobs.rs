//! What can be tried of an OCaml program, its sizes, and what is known of its release. Owns these types.

use crate::dialect::{Dialect, Knob, Role, What};
use crate::plan::memory::Sizes;
use rtscope_model::runtimes::OCAML;
use rtscope_model::runtimes::OcamlRelease;

/// OCaml's parameters that can be tried.
pub static DIALECT: Dialect = Dialect { info: &OCAML, knobs: &KNOBS, probed: false };

pub static MOST_DOMAINS: Knob = Knob { role: Role::Ceiling, ..Knob::new(30, &["d=#"]) };
pub static MINOR_HEAP: Knob = Knob::new(31, &["s=#"]);
pub static OVERHEAD: Knob = Knob::new(32, &["o=#"]);

static KNOBS: [What; 3] = [&MOST_DOMAINS, &MINOR_HEAP, &OVERHEAD];

/// Minor heaps, in words of 8 bytes: all together use at most a tenth of memory.
pub const MINOR_HEAPS: Sizes = Sizes { planned: &[8 << 20, 4 << 20, 1 << 20, 256 << 10, 32 << 10], unit: 8, part: 10 };
/// The runtime's default minor heap, words.
pub const MINOR_DEFAULT: u64 = 256 << 10;

/// What is known about an OCaml program.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Ocaml {
    /// The releases that its runtime can be; `None`: not known.
    pub release: Option<OcamlRelease>,
}

/// The letters that an `OCAMLRUNPARAM` sets, each with its entry.
pub fn parameters(text: &str) -> Vec<(char, &str)> {
    let entries = text.split(',');
    entries.filter_map(|entry| Some((entry.chars().next()?, entry))).collect()
}

/// A number of words in the runtime's notation: `256k`, `1M`.
pub fn words(words: u64) -> String {
    if words.is_multiple_of(1 << 20) { format!("{}M", words >> 20) } else { format!("{}k", words >> 10) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::memory::Choice;

    const MIB: u64 = 1 << 20;

    #[test]
    fn minor_heaps_take_at_most_a_tenth() {
        // 4 domains of 1 Mi words are 32 MiB.
        assert_eq!(MINOR_HEAPS.choose(4, 1 << 20, Some(320 * MIB)).size, 1 << 20);
        assert_eq!(MINOR_HEAPS.choose(4, 1 << 20, Some(320 * MIB - 1)).size, 256 << 10);
        assert_eq!(MINOR_HEAPS.choose(4, 4 << 20, None).size, 4 << 20);
        assert_eq!(
            MINOR_HEAPS.choose(4, 1 << 20, Some(MIB)),
            Choice { size: 32 << 10, too_large: true, for_memory: true }
        );
        assert_eq!(MINOR_HEAPS.choose(2, 256 << 10, Some(1 << 30)).size, 256 << 10);
        let sizes = MINOR_HEAPS.planned.iter().rev().skip(1).copied();
        assert_eq!(MINOR_HEAPS.others(sizes, 4, 1 << 20, None), [256 << 10, 4 << 20, 8 << 20]);
    }

    #[test]
    fn parameters_are_known_by_their_letter() {
        let found = parameters("b,s=4M,,v=0x400");
        assert_eq!(found, [('b', "b"), ('s', "s=4M"), ('v', "v=0x400")]);
        assert!(parameters("").is_empty());
    }
}
