//! Options of GHC's runtime: which set the same thing, in which version they were added, and what a program's link
//! allows. Based on the parsers of 9.0, 9.6 and 9.10, and on starting their programs with each option.

use crate::manifest::Binary;
use crate::options::{AtLink, Spelling, matches};
use crate::program::{Link, Refusal, Rtsopts, Version};

/// How a GHC program gets its options.
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
        explain,
        unknown_note: "A program linked with GHC's default, -rtsopts=some, accepts it only at link time.",
        field: "ghc-options:",
        with: "-with-rtsopts=",
        threaded: "-threaded",
    }),
};

/// Number of capabilities.
pub const WORKERS: &[&str] = &["-N#", "-maxN#", "-N"];
/// Number of threads that collect.
pub const COLLECTORS: &[&str] = &["-qn#", "-qg*"];
/// The allocation area of each capability.
pub const NURSERY: &[&str] = &["-A#"];
/// Chunks of allocation areas.
pub const CHUNK: &[&str] = &["-n#"];
/// Suggested heap size.
pub const HEAP: &[&str] = &["-H#", "-H"];
/// Collector of the old generation.
pub const OLD_GENERATION: &[&str] = &["--nonmoving-gc", "--copying-gc", "-xn", "-xns"];
/// Compaction of the old generation.
pub const COMPACTION: &[&str] = &["-c"];
/// Number of generations.
pub const GENERATIONS: &[&str] = &["-G#"];
/// Growth factor of the old generation.
pub const FACTOR: &[&str] = &["-F#"];
/// Collection of an idle program.
pub const IDLE: &[&str] = &["-I#"];
/// Time slice of the program's threads.
pub const SWITCHING: &[&str] = &["-C#", "-C"];
/// Limit of the heap size.
pub const HEAP_LIMIT: &[&str] = &["-M#"];
/// Use of NUMA nodes.
pub const NUMA: &[&str] = &["--numa*"];

/// Collectors of the old generation: a program with two of these options does not start.
const EXCLUSIVE: &[&str] = &["-c", "-G1", "--nonmoving-gc", "--copying-gc", "-xn", "-xns"];

/// Groups of options of which the last one counts, including the exclusive ones.
static KINDS: [&[&str]; 12] =
    [EXCLUSIVE, WORKERS, COLLECTORS, NURSERY, CHUNK, HEAP, GENERATIONS, FACTOR, IDLE, SWITCHING, HEAP_LIMIT, NUMA];

/// Options that `-rtsopts=some` allows.
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
/// Options of the threaded runtime only.
const THREADED: [&str; 5] = ["-N", "-N#", "-maxN*", "-q*", "--numa*"];
/// Options added after GHC 8.0.
const SINCE: [(&str, Version); 5] = [
    ("-qn*", (8, 2, 0)),
    ("--numa*", (8, 2, 0)),
    ("-xn", (8, 10, 0)),
    ("--nonmoving-gc", (8, 10, 0)),
    ("-Iw*", (9, 0, 0)),
];

/// Why a program with that link does not accept `word` from outside; `None`: it does. Unknown counts as refused: an
/// option that a program does not accept keeps it from starting.
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

/// The link of a binary.
fn of(binary: &Binary) -> Link {
    let threaded = binary.way.as_ref().map(|way| way.split('_').any(|part| part == "thr"));
    let named = |name: &String| Rtsopts::ALL.into_iter().find(|rtsopts| rtsopts.name() == name);
    Link { version: None, threaded, rtsopts: binary.rtsopts.as_ref().and_then(named) }
}

/// Whether one of these options is refused by `-rtsopts=some` in every version. An unknown option proves nothing:
/// later versions allow more.
fn proven(words: &[&str]) -> bool {
    let refused = [COLLECTORS, NURSERY, CHUNK, HEAP, COMPACTION, GENERATIONS, FACTOR, IDLE, SWITCHING, HEAP_LIMIT];
    words.iter().any(|word| refused.iter().flat_map(|kind| *kind).any(|pattern| matches(pattern, word)))
}

fn explain(refusal: Refusal) -> String {
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
