//! Options of GHC's runtime: which set one thing, which there are from when on, and what a program's link lets through.
//! The parsers of 9.0, 9.6 and 9.10 were read for it, and their programs started with each.

use crate::manifest::Binary;
use crate::options::{AtLink, Spelling, matches};
use crate::program::{Link, Refusal, Rtsopts, Version};

/// How a program of GHC is given options.
pub(super) const SPELLING: Spelling = Spelling {
    variables: &["GHCRTS"],
    between: " ",
    equals: "",
    kinds: &KINDS,
    exclusive: EXCLUSIVE,
    link: Some(AtLink {
        of,
        usual: Rtsopts::Some,
        proven,
        refusal,
        says,
        doubt: "A program linked with GHC's default, -rtsopts=some, accepts it only at link time.",
        field: "ghc-options:",
        with: "-with-rtsopts=",
        threaded: "-threaded",
    }),
};

/// How many capabilities.
pub const WORKERS: &[&str] = &["-N#", "-maxN#", "-N"];
/// How many threads collect.
pub const COLLECTORS: &[&str] = &["-qn#", "-qg*"];
/// The allocation area of each capability.
pub const NURSERY: &[&str] = &["-A#"];
/// Pieces of allocation areas.
pub const CHUNK: &[&str] = &["-n#"];
/// A heap to start with.
pub const HEAP: &[&str] = &["-H#", "-H"];
/// The old generation's collector.
pub const OLD_GENERATION: &[&str] = &["--nonmoving-gc", "--copying-gc", "-xn", "-xns"];
/// The old generation compacted.
pub const COMPACTION: &[&str] = &["-c"];
/// Generations.
pub const GENERATIONS: &[&str] = &["-G#"];
/// How far the old generation grows.
pub const FACTOR: &[&str] = &["-F#"];
/// The collection of an idle program.
pub const IDLE: &[&str] = &["-I#"];
/// How long a thread of the program's runs at once.
pub const SWITCHING: &[&str] = &["-C#", "-C"];
/// The heap's limit.
pub const HEAP_LIMIT: &[&str] = &["-M#"];
/// NUMA.
pub const NUMA: &[&str] = &["--numa*"];

/// Collectors of the old generation: a program with two of them does not start.
const EXCLUSIVE: &[&str] = &["-c", "-G1", "--nonmoving-gc", "--copying-gc", "-xn", "-xns"];

/// Options of which the last counts, and those.
static KINDS: [&[&str]; 12] =
    [EXCLUSIVE, WORKERS, COLLECTORS, NURSERY, CHUNK, HEAP, GENERATIONS, FACTOR, IDLE, SWITCHING, HEAP_LIMIT, NUMA];

/// What `-rtsopts=some` lets through.
const HARMLESS: [&str; 15] = [
    "-N",
    "-N#",
    "-maxN*",
    "--numa*",
    "-xn",
    "--nonmoving-gc",
    "--copying-gc",
    "-T",
    "-t*",
    "-s*",
    "-S*",
    "-l*",
    "-ol*",
    "--long-gc-sync*",
    "--internal-counters",
];
/// What only the threaded runtime has.
const THREADED: [&str; 5] = ["-N", "-N#", "-maxN*", "-q*", "--numa*"];
/// What came later than GHC 8.0.
const SINCE: [(&str, Version); 5] = [
    ("-qn*", (8, 2, 0)),
    ("--numa*", (8, 2, 0)),
    ("-xn", (8, 10, 0)),
    ("--nonmoving-gc", (8, 10, 0)),
    ("-Iw*", (9, 0, 0)),
];

/// Why a program of that link does not take `word` from outside; `None`: it does. What is not known is not taken: an
/// option that a program does not take keeps it from starting.
pub fn refusal(link: &Link, word: &str) -> Option<Refusal> {
    let is = |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern, word));
    let since = SINCE.iter().find(|(pattern, _)| matches(pattern, word)).map(|(_, since)| *since);
    let threaded = is(&THREADED);
    if threaded && link.threaded == Some(false) {
        return Some(Refusal::NotThreaded);
    }
    if let Some(since) = since.filter(|since| link.version.is_some_and(|version| version < *since)) {
        return Some(Refusal::Since(since));
    }
    match link.rtsopts {
        None => Some(Refusal::Unknown),
        Some(_) if threaded && link.threaded.is_none() => Some(Refusal::PerhapsNotThreaded),
        Some(rtsopts @ (Rtsopts::None | Rtsopts::IgnoreAll)) => Some(Refusal::Link(rtsopts)),
        Some(Rtsopts::Some) if !is(&HARMLESS) => Some(Refusal::Link(Rtsopts::Some)),
        Some(Rtsopts::Some | Rtsopts::All | Rtsopts::Ignore) => None,
    }
}

/// What a binary says of its link.
fn of(binary: &Binary) -> Link {
    let threaded = binary.way.as_ref().map(|way| way.split('_').any(|part| part == "thr"));
    let named = |name: &String| Rtsopts::ALL.into_iter().find(|rtsopts| rtsopts.name() == name);
    Link { version: None, threaded, rtsopts: binary.rtsopts.as_ref().and_then(named) }
}

/// One of these is refused by `-rtsopts=some` in every version. An option that is not known proves nothing: later versions
/// let more through.
fn proven(words: &[&str]) -> bool {
    let refused = [COLLECTORS, NURSERY, CHUNK, HEAP, COMPACTION, GENERATIONS, FACTOR, IDLE, SWITCHING, HEAP_LIMIT];
    words.iter().any(|word| refused.iter().flat_map(|kind| *kind).any(|pattern| matches(pattern, word)))
}

fn says(refusal: Refusal) -> String {
    match refusal {
        Refusal::NotThreaded | Refusal::PerhapsNotThreaded => {
            "It needs the threaded runtime: relink the program.".to_owned()
        }
        Refusal::Since((major, minor, _)) => format!("It needs GHC {major}.{minor} or later."),
        Refusal::Unknown => "which options this program accepts is not known: link this one in.".to_owned(),
        Refusal::Link(rtsopts) => {
            format!("The program is linked with -rtsopts={}: it accepts this only at link time.", rtsopts.name())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Link = Link { version: Some((9, 6, 6)), threaded: Some(true), rtsopts: Some(Rtsopts::All) };

    #[test]
    fn the_default_link_lets_through_what_does_no_harm() {
        let some = Link { rtsopts: Some(Rtsopts::Some), ..OPEN };
        for word in ["-N", "-N4", "-maxN8", "--numa", "-xn", "--nonmoving-gc", "-T", "-s", "-l-ag", "-olx", "-S"] {
            assert_eq!(refusal(&some, word), None, "{word}");
        }
        for word in ["-A64m", "-qg", "-qn2", "-I0", "-Iw60", "-F4", "-c", "-H1g", "-M1g", "-xns", "-n4m", "-C0"] {
            assert_eq!(refusal(&some, word), Some(Refusal::Link(Rtsopts::Some)), "{word}");
            assert_eq!(refusal(&OPEN, word), None, "{word}");
        }
    }

    #[test]
    fn a_program_of_an_old_compiler_or_of_one_lane_lacks_options() {
        let old = Link { version: Some((8, 8, 4)), ..OPEN };
        assert_eq!(refusal(&old, "--nonmoving-gc"), Some(Refusal::Since((8, 10, 0))));
        assert_eq!(refusal(&old, "-Iw60"), Some(Refusal::Since((9, 0, 0))));
        let plain = Link { threaded: Some(false), ..OPEN };
        let unknown = Link { threaded: None, ..OPEN };
        for word in ["-N2", "-qg", "-qg1", "-qn2"] {
            assert_eq!(refusal(&plain, word), Some(Refusal::NotThreaded), "{word}");
            assert_eq!(refusal(&unknown, word), Some(Refusal::PerhapsNotThreaded), "{word}");
        }
        assert_eq!((refusal(&plain, "-A1m"), refusal(&unknown, "-A1m")), (None, None));
    }
}
