//! The description of a runtime: its names, its events, how threads serve its lanes, its options, and an explicit
//! unknown runtime. Refuses to describe any particular one: each is a constant of its own, see [`crate::runtimes`].

use crate::finding::{Figure, Remedy};
use crate::options::Spelling;
use crate::setting::Setting;
use std::fmt;

/// Description of a runtime.
#[derive(Debug)]
pub struct RuntimeInfo {
    /// Id in files and `--json`: "ghc". Empty for [`UNKNOWN`].
    pub id: &'static str,
    /// Name for display: "GHC".
    pub name: &'static str,
    /// The language of its programs: "Haskell".
    pub language: &'static str,
    /// Its lanes, singular and plural: "capability", "capabilities".
    pub lane: (&'static str, &'static str),
    /// What its manuals call its generations, youngest first; empty: by their numbers.
    pub generations: &'static [&'static str],
    /// Its locks that threads wait for, singular and plural: "MVar", "MVars".
    pub lock: (&'static str, &'static str),
    /// Parts of the names of library functions in which a thread waits until it can write.
    pub writing: &'static [&'static str],
    /// Advice on buffered reading and writing in its programs; empty: not known.
    pub buffering: &'static str,
    /// Prefixes of the names of library functions in which threads queue for a shared resource, with advice
    /// on reducing that.
    pub locking: &'static [(&'static str, &'static str)],
    /// Advice where one thread evaluates what others left unevaluated; empty: values are computed where they are made.
    pub unevaluated: &'static str,
    /// Advice where the program's first thread hands over all the time; empty: it is a thread like others.
    pub first_thread: &'static str,
    /// Its word for the destination of its events: "eventlog".
    pub log: &'static str,
    /// Why a program of this runtime writes no log, and how to make it write one.
    pub log_is_off: &'static str,
    /// Which of its programs can be followed while they run.
    pub followed: &'static str,
    /// Its own flags among the arguments of its programs.
    pub own_args: OwnArgs,
    /// How its programs get its options.
    pub spelling: Spelling,
    /// The count of productivity that excludes waiting: "+RTS -s says".
    pub own_count: &'static str,
    /// The events of its log.
    pub posts: Posts,
    /// How kernel threads serve its lanes.
    pub lane_threads: LaneThreads,
    /// Options that change how it runs.
    pub knobs: Knobs,
}

/// Where a runtime's own flags are among the arguments of a program; the default: it has none there.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct OwnArgs {
    /// The words that begin and end them, and the word after which there are no more.
    pub words: Option<[&'static str; 3]>,
    /// Prefixes of the flags that set its log's destination and content.
    pub of_log: &'static [&'static str],
}

/// The events of a runtime's log, at the finest detail that it can write.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Posts {
    /// Runs of green threads, and therefore when a lane has none to run.
    pub runs: bool,
    /// Every wait of a lane in the system.
    pub idle: bool,
    /// How long writing the log itself held up a lane.
    pub writes: bool,
    /// That lanes compete for leading a collection.
    pub leadership: bool,
}

/// How kernel threads serve lanes.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum LaneThreads {
    /// Any thread may serve any lane: determined in each pause.
    PerPause,
    /// Each lane has its own threads for life.
    Fixed,
}

/// Options of a runtime, and other possible changes to its programs; `None`: it has none for that.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Knobs {
    /// The option for the number of lanes, directly followed by the number.
    pub lanes: Option<&'static str>,
    /// The option that makes one thread collect.
    pub sequential: Option<&'static str>,
    /// The option for the heap size to use, directly followed by the size in MiB and `m`.
    pub heap_size: Option<&'static str>,
    /// The option that makes the runtime return memory at once; the memory then has to be faulted in again.
    pub return_at_once: Option<&'static str>,
    /// How a foreign call can let collections proceed without it.
    pub foreign_call: Option<ForeignCall>,
    /// Changes that make stops for the old heap shorter or fewer, best first; `{}` stands for the memory
    /// that they need.
    pub old_heap: &'static [Change],
}

/// How a foreign call releases its lane; `{}` stands for the function's name.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct ForeignCall {
    /// The advice.
    pub text: &'static str,
    /// The source line to write.
    pub line: &'static str,
}

impl ForeignCall {
    /// The source line for a function; `None`: the line needs a name, and it is not known.
    pub fn line_for(&self, name: Option<&str>) -> Option<String> {
        name.map(|name| self.line.replace("{}", name))
            .or_else(|| (!self.line.contains("{}")).then(|| self.line.to_owned()))
    }
}

/// A possible change, as data.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Change {
    /// Description of the change.
    pub text: &'static str,
    /// Whether it is an alternative to one listed before it.
    pub or: bool,
    /// The runtime's option for it.
    pub option: Option<&'static str>,
    /// Whether it needs a CPU that the program leaves idle.
    pub needs_cpu: bool,
    /// The figure that falls as a result.
    pub falls: Figure,
}

impl Change {
    /// The change as a remedy, with `fill` in place of `{}`; `first`: none is listed before it.
    pub fn remedy(&self, fill: &str, first: bool) -> Remedy {
        let text = self.text.replace("{}", fill);
        let remedy = match text.char_indices().nth(1) {
            Some((second, _)) if self.or && !first => Remedy::or(text[..second].to_lowercase() + &text[second..]),
            _ => Remedy::new(text),
        };
        remedy.set(self.option.map(Setting::option)).falls(self.falls)
    }
}

impl Knobs {
    /// A runtime without options.
    pub const NONE: Knobs = Knobs {
        lanes: None,
        sequential: None,
        heap_size: None,
        return_at_once: None,
        foreign_call: None,
        old_heap: &[],
    };
}

/// Stands for any runtime that is not known.
pub static UNKNOWN: RuntimeInfo = RuntimeInfo {
    id: "",
    name: "unknown runtime",
    language: "the program's language",
    lane: ("lane", "lanes"),
    generations: &[],
    lock: ("lock", "locks"),
    writing: &[],
    buffering: "",
    locking: &[],
    unevaluated: "",
    first_thread: "",
    log: "log",
    log_is_off: "it writes no log",
    followed: "",
    own_args: OwnArgs { words: None, of_log: &[] },
    spelling: Spelling::PLAIN,
    own_count: "the runtime itself counts",
    posts: Posts { runs: false, idle: false, writes: false, leadership: false },
    lane_threads: LaneThreads::PerPause,
    knobs: Knobs::NONE,
};

impl RuntimeInfo {
    /// Whether the runtime is known.
    pub fn is_known(&self) -> bool {
        !self.id.is_empty()
    }

    /// The name of a generation: "generation 1", "major".
    pub fn generation(&self, number: u16) -> String {
        self.generations
            .get(usize::from(number))
            .map_or_else(|| format!("generation {number}"), |name| (*name).to_owned())
    }

    /// Advice for threads that queue in the library function at `place`; `None`: there is none.
    pub fn of_library(&self, place: &str) -> Option<&'static str> {
        self.locking.iter().find(|(function, _)| place.starts_with(function)).map(|(_, text)| *text)
    }

    /// The setting for the number of lanes.
    pub fn lanes_flag(&self, lanes: usize) -> Option<Setting> {
        self.knobs.lanes.map(|option| Setting::option(format!("{option}{lanes}")))
    }

    /// The setting that makes one thread collect.
    pub fn sequential_flag(&self) -> Option<Setting> {
        self.knobs.sequential.map(Setting::option)
    }

    /// The setting for a heap size to use, in bytes, rounded up to MiB.
    pub fn heap_size_flag(&self, bytes: u64) -> Option<Setting> {
        self.knobs.heap_size.map(|option| Setting::option(format!("{option}{}m", bytes.div_ceil(1 << 20))))
    }
}

impl PartialEq for RuntimeInfo {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for RuntimeInfo {}

impl fmt::Display for RuntimeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
