//! The runtimes whose programs can be planned for and tuned. Owns the list; everything about one
//! runtime is in its folder.

pub mod ghc;
pub mod ocaml;

#[cfg(test)]
mod options_tests;
#[cfg(test)]
mod properties;

use crate::dialect::Dialect;
use crate::runtime::{Given, TunableRuntime};

/// All of them; without a runtime or a program, the plan is for the first.
pub static ALL: [&TunableRuntime; 2] = [&ghc::RUNTIME, &ocaml::RUNTIME];

/// The runtime with this `id` on the command line.
pub fn find(id: &str) -> Option<&'static TunableRuntime> {
    ALL.into_iter().find(|runtime| runtime.dialect.info.id == id)
}

/// How the flags of each are spelled.
pub fn dialects() -> impl Iterator<Item = &'static Dialect> {
    ALL.into_iter().map(|runtime| runtime.dialect)
}

/// The options of a program from an environment and from `arguments`.
pub fn given(variable: impl Fn(&str) -> Option<String>, arguments: Vec<String>) -> Given {
    let of = |dialect: &'static Dialect| {
        Some((dialect.variable(), dialect.info.spelling.variables.iter().find_map(|name| variable(name))?))
    };
    Given { variables: dialects().filter_map(of).collect(), arguments }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{self, OF_STARTS, What, number};
    use ghc::knobs::*;
    use ocaml::knobs::*;

    fn knobs() -> impl Iterator<Item = What> {
        dialects().flat_map(|dialect| dialect.knobs).chain(&OF_STARTS).copied()
    }

    #[test]
    fn no_two_knobs_share_a_place() {
        let mut orders: Vec<u8> = knobs().map(|knob| knob.order).collect();
        orders.sort_unstable();
        let count = orders.len();
        orders.dedup();
        assert_eq!(orders.len(), count);
    }

    #[test]
    fn words_have_a_knob_and_a_number() {
        for (word, what, value) in [
            ("-N2", Some(&WORKERS), Some(2)),
            ("-N", Some(&WORKERS), None),
            ("-maxN8", Some(&WORKERS), Some(8)),
            ("-A256k", Some(&NURSERY), Some(256 << 10)),
            ("-AL1m", None, Some(1 << 20)),
            ("-n1m", Some(&CHUNK), Some(1 << 20)),
            ("-qg", Some(&COLLECTORS), None),
            ("-qg1", Some(&COLLECTORS), Some(1)),
            ("-qn2", Some(&COLLECTORS), Some(2)),
            ("-c", Some(&COMPACTION), None),
            ("-xn", Some(&OLD_GENERATION), None),
            ("-c30", None, Some(30)),
            ("-F1.5", Some(&FACTOR), Some(1)),
            ("-Iw60", None, Some(60)),
            ("--numa", Some(&NUMA), None),
            ("s=256k", Some(&MINOR_HEAP), Some(256 << 10)),
            ("d=2", Some(&MOST_DOMAINS), Some(2)),
            ("domains=2", Some(&dialect::DOMAINS), Some(2)),
            ("class=batch", Some(&dialect::CLASS), None),
            ("v=0x400", None, None),
            ("", None, None),
            ("-", None, None),
            ("-A99999999999999999999g", Some(&NURSERY), Some(u64::MAX)),
        ] {
            assert_eq!((dialect::of(knobs(), word), number(word)), (what, value), "{word}");
        }
        assert_eq!((size(4 << 20), size(256 << 10)), ("4m".into(), "256k".into()));
        assert_eq!((words(32 << 10), words(8 << 20)), ("32k".into(), "8M".into()));
    }
}
