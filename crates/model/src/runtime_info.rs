//! A runtime as data: its names, what it posts, how threads serve its lanes, its knobs, and the
//! explicit unknown. Refuses to know any: each is a constant of its own, see [`crate::runtimes`].

use crate::finding::{Figure, Remedy};
use crate::options::Spelling;
use crate::setting::Setting;
use std::fmt;

/// A runtime.
#[derive(Debug)]
pub struct RuntimeInfo {
    /// What files and `--json` call it: "ghc". Empty for [`UNKNOWN`].
    pub id: &'static str,
    /// What people call it: "GHC".
    pub name: &'static str,
    /// The language of its programs: "Haskell".
    pub language: &'static str,
    /// What it stops, one and many: "capability", "capabilities".
    pub lane: (&'static str, &'static str),
    /// What its threads wait to take, one and many: "MVar", "MVars".
    pub lock: (&'static str, &'static str),
    /// Parts of names of its library's functions in which a thread waits until it can write.
    pub writing: &'static [&'static str],
    /// How its programs read and write through a buffer; empty: not known.
    pub buffering: &'static str,
    /// Beginnings of names of its library's functions in which threads queue for something that they share, with what makes
    /// them queue less.
    pub locking: &'static [(&'static str, &'static str)],
    /// What it writes its events to: "eventlog".
    pub log: &'static str,
    /// Of a program of it that writes none: why, and how one is made to.
    pub log_is_off: &'static str,
    /// Which of its programs can be followed while they run.
    pub followed: &'static str,
    /// Its own flags among the arguments of its programs.
    pub own_args: OwnArgs,
    /// How its programs are given its options.
    pub spelling: Spelling,
    /// Who counts productivity without the waiting: "+RTS -s says".
    pub own_count: &'static str,
    /// What its log holds.
    pub posts: Posts,
    /// How kernel threads serve its lanes.
    pub lane_threads: LaneThreads,
    /// Flags that change how it runs.
    pub knobs: Knobs,
}

/// Where a runtime's own flags are among the arguments of a program; the default: it has none there.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct OwnArgs {
    /// They begin and end behind these words; behind the last of them are no more.
    pub words: Option<[&'static str; 3]>,
    /// What those begin with that say where its log goes, and what is in it.
    pub of_log: &'static [&'static str],
}

/// What a runtime's log holds, at the finest detail that it can write.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Posts {
    /// Runs of green threads, and so when a lane has none to run.
    pub runs: bool,
    /// Every wait of a lane in the system.
    pub idle: bool,
    /// How long writing the log itself held a lane.
    pub writes: bool,
    /// That lanes compete for leading a collection.
    pub leadership: bool,
}

/// How kernel threads serve lanes.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum LaneThreads {
    /// Any thread may serve any lane: found anew in each pause.
    PerPause,
    /// A lane has threads of its own for life.
    Fixed,
}

/// Flags of a runtime, and what else can be changed in its programs; `None` where it has none for that.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Knobs {
    /// The option that sets the number of lanes; the number follows at once.
    pub lanes: Option<&'static str>,
    /// Lets one thread collect.
    pub sequential: Option<&'static str>,
    /// Names a heap size to keep to; the size in MiB and `m` follow at once.
    pub heap_size: Option<&'static str>,
    /// Makes the runtime give memory back at once, so that it has to be found again.
    pub return_at_once: Option<&'static str>,
    /// How a foreign call lets collections go on without it.
    pub foreign_call: Option<ForeignCall>,
    /// What makes stops for the old heap shorter or fewer, best first; `{}` stands for the memory that it takes.
    pub old_heap: &'static [Change],
}

/// How a foreign call gives its lane up; `{}` stands for the function's name.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct ForeignCall {
    /// What to do.
    pub text: &'static str,
    /// What to write.
    pub line: &'static str,
}

impl ForeignCall {
    /// What to write for the function of that name; `None`: the line needs a name that is not known.
    pub fn line_for(&self, name: Option<&str>) -> Option<String> {
        name.map(|name| self.line.replace("{}", name))
            .or_else(|| (!self.line.contains("{}")).then(|| self.line.to_owned()))
    }
}

/// One thing to change, as data.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Change {
    /// What to do, in words.
    pub text: &'static str,
    /// It is an alternative to one that is listed before it.
    pub or: bool,
    /// The option of the runtime.
    pub option: Option<&'static str>,
    /// What falls then.
    pub falls: Figure,
}

impl Change {
    /// As a remedy, with `fill` where the text has `{}`; `first`: none is listed before it.
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
    /// None.
    pub const NONE: Knobs = Knobs {
        lanes: None,
        sequential: None,
        heap_size: None,
        return_at_once: None,
        foreign_call: None,
        old_heap: &[],
    };
}

/// No runtime that is known.
pub static UNKNOWN: RuntimeInfo = RuntimeInfo {
    id: "",
    name: "unknown runtime",
    language: "the program's language",
    lane: ("lane", "lanes"),
    lock: ("lock", "locks"),
    writing: &[],
    buffering: "",
    locking: &[],
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
    /// Whether it is known.
    pub fn is_known(&self) -> bool {
        !self.id.is_empty()
    }

    /// What to change where threads queue in the library's function at `place`; `None`: nothing is known of it.
    pub fn of_library(&self, place: &str) -> Option<&'static str> {
        self.locking.iter().find(|(function, _)| place.starts_with(function)).map(|(_, text)| *text)
    }

    /// What sets the number of lanes.
    pub fn lanes_flag(&self, lanes: usize) -> Option<Setting> {
        self.knobs.lanes.map(|option| Setting::option(format!("{option}{lanes}")))
    }

    /// What lets one thread collect.
    pub fn sequential_flag(&self) -> Option<Setting> {
        self.knobs.sequential.map(Setting::option)
    }

    /// What names a heap of so many bytes to keep to, rounded up to MiB.
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
