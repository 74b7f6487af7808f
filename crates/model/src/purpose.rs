//! The purposes of a runtime's functions: one table that all runtimes share. Owns the ids, their texts and
//! categories, and the purpose of a call chain; refuses to know functions or names of runtimes.

use serde::{Deserialize, Serialize};

/// The category of a purpose.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PurposeClass {
    /// Work of a collection.
    Collecting,
    /// Spinning, yielding or sleeping until other collector threads are done or a stop is complete.
    Waiting,
    /// Work for the program outside collections.
    Serving,
}

/// One purpose.
#[derive(Debug)]
pub struct Purpose {
    /// Stable kebab-case id: used in `code/symbols.json` and in reports.
    pub id: &'static str,
    /// Text for the user, as the object of "time for".
    pub words: &'static str,
    /// Its category.
    pub part: PurposeClass,
    /// Whether it is an operation that the program calls, and that cannot stop for a collection before it returns.
    pub primitive: bool,
    /// More specific purposes, if the enclosing collection is known to be of the youngest generation, or of
    /// an older one.
    pub by_age: Option<[&'static str; 2]>,
    /// More specific purposes in a collection that copies, and in one that marks in order to compact.
    pub by_way: Option<[&'static str; 2]>,
}

const fn purpose(part: PurposeClass, id: &'static str, words: &'static str) -> Purpose {
    Purpose { id, words, part, primitive: false, by_age: None, by_way: None }
}

const fn collecting(id: &'static str, words: &'static str) -> Purpose {
    purpose(PurposeClass::Collecting, id, words)
}

const fn serving(id: &'static str, words: &'static str) -> Purpose {
    purpose(PurposeClass::Serving, id, words)
}

const fn primitive(id: &'static str, words: &'static str) -> Purpose {
    Purpose { primitive: true, ..serving(id, words) }
}

/// All purposes.
pub static PURPOSES: &[Purpose] = &[
    Purpose {
        by_age: Some(["copying-young", "copying-old"]),
        ..collecting("copying", "copying objects that are alive")
    },
    Purpose { by_way: Some(["large-objects", "marking"]), ..collecting("tracing", "following pointers") },
    Purpose {
        by_way: Some(["static-objects", "marking"]),
        ..collecting("tracing-objects", "following pointers to objects")
    },
    collecting("copying-young", "copying young objects that are alive"),
    collecting("copying-old", "copying old objects that are alive"),
    collecting("promotion", "promoting young objects"),
    collecting("roots", "scanning roots"),
    collecting("stacks", "scanning threads' stacks"),
    collecting("mutable-objects", "scanning mutable objects"),
    collecting("remembered-set", "scanning the remembered set"),
    collecting("static-objects", "scanning static objects"),
    collecting("large-objects", "large objects"),
    collecting("compact-regions", "compact regions"),
    collecting("selectors", "selector thunks"),
    collecting("weak-pointers", "weak pointers"),
    collecting("ephemerons", "weak pointers and ephemerons"),
    collecting("finalisers", "finalisers"),
    collecting("stable-names", "stable names and pointers"),
    collecting("threads", "lists of threads"),
    collecting("custom-memory", "memory of custom blocks"),
    collecting("marking", "marking"),
    collecting("sweeping", "sweeping"),
    collecting("compacting", "compacting"),
    collecting("block-allocation", "allocating and freeing blocks of the heap"),
    collecting("giving-memory-back", "giving memory back to the system"),
    collecting("heap-sizing", "sizing the heap and its nurseries"),
    collecting("collection-control", "starting and ending collections"),
    collecting("statistics", "statistics of collections"),
    collecting("census", "heap profiles"),
    collecting("heap-checks", "checks of the heap (debug runtime)"),
    purpose(PurposeClass::Waiting, "waiting-for-collectors", "waiting for other collectors"),
    purpose(PurposeClass::Waiting, "stopping", "stopping the others and restarting them"),
    serving("allocation", "allocation"),
    serving("allocation-sampling", "sampling of allocations"),
    serving("applying", "applying functions"),
    primitive("arithmetic", "arithmetic and conversion of numbers"),
    primitive("arrays", "arrays"),
    serving("black-holes", "values under evaluation"),
    primitive("checksums", "checksums"),
    primitive("comparison", "comparison"),
    serving("continuations", "continuations and effects"),
    serving("coverage", "counting coverage"),
    serving("domain-lifecycle", "starting and ending domains"),
    serving("entering-the-runtime", "leaving the program for the runtime"),
    serving("errors", "messages of errors"),
    serving("evaluating", "evaluating and updating delayed values"),
    serving("exceptions", "exceptions"),
    serving("foreign-calls", "foreign calls"),
    serving("frame-tables", "tables of stack frames"),
    primitive("hashing", "hashing"),
    serving("idle-domains", "serving idle domains"),
    serving("input-output", "input, output and the system"),
    primitive("inspecting", "inspecting the heap"),
    serving("interpreting", "interpreting bytecode"),
    serving("linking", "linking code at run time"),
    serving("locks", "the runtime's locks"),
    serving("log-reading", "reading the runtime's log"),
    serving("log-writing", "writing the runtime's log"),
    primitive("marshalling", "marshalling"),
    serving("mutable-variables", "mutable variables"),
    serving("object-layout", "reading the layout of objects"),
    primitive("parsing", "lexers and parsers"),
    serving("polling", "answering signals and requests"),
    primitive("primitives", "primitive operations"),
    serving("profiling", "profiling"),
    serving("runtime-memory", "the runtime's own memory"),
    serving("runtime-tables", "the runtime's own tables"),
    serving("scheduling", "scheduling"),
    serving("signals", "signals"),
    serving("sparks", "sparks"),
    serving("stack-growth", "growing stacks"),
    primitive("stack-traces", "stack traces"),
    serving("start-and-end", "starting and ending the program"),
    primitive("strings", "strings"),
    serving("thread-locks", "locks between the program's threads"),
    serving("timers", "timers"),
    serving("transactions", "transactions"),
    serving("write-barrier", "recording changes of objects"),
];

/// A purpose, as an index into [`PURPOSES`]; serialized as its id.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub struct PurposeId(u8);

impl PurposeId {
    /// The purpose with the id `id`; `None`: there is none.
    pub fn of(id: &str) -> Option<PurposeId> {
        let index = PURPOSES.iter().position(|purpose| purpose.id == id)?;
        u8::try_from(index).ok().map(PurposeId)
    }

    /// The entry in [`PURPOSES`].
    pub fn get(self) -> &'static Purpose {
        // Only `of` creates these ids.
        &PURPOSES[usize::from(self.0)]
    }

    /// The specific purpose in a collection up to `generation` (0 is the youngest), which copies or `compacts`.
    pub fn in_collection(self, generation: Option<u16>, compacts: bool) -> PurposeId {
        let of_way = self.get().by_way.map(|[copies, marks]| if compacts { marks } else { copies });
        of_way.and_then(Self::of).unwrap_or_else(|| self.of_age(generation))
    }

    /// The specific purpose in a collection up to `generation`, whatever its method.
    pub fn of_age(self, generation: Option<u16>) -> PurposeId {
        let ages = self.get().by_age.zip(generation);
        ages.and_then(|([young, old], generation)| Self::of(if generation == 0 { young } else { old })).unwrap_or(self)
    }
}

impl Serialize for PurposeId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.get().id)
    }
}

impl<'de> Deserialize<'de> for PurposeId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        PurposeId::of(&id).ok_or_else(|| serde::de::Error::custom("no such purpose"))
    }
}

/// The role of a function in call chains.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, Serialize, Deserialize)]
pub struct Role {
    /// Purpose of its own code, if `calls` is set or no caller has a purpose.
    pub own: PurposeId,
    /// Purpose of the functions that it calls, if they have none of their own; `None`: it serves its callers.
    pub calls: Option<PurposeId>,
    /// Whether it only leads to other functions: those that serve many callers, but have a purpose by
    /// themselves, keep it.
    #[serde(default)]
    pub leads: bool,
}

/// A frame of a user-space call chain, as far as purposes need it.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Frame {
    /// A known function of a runtime.
    Runtime(Role),
    /// Code that serves its callers: the C library, a linker's stub.
    Serving,
    /// Code of the program, or unknown code.
    Program,
}

/// The purpose of a call chain, `frames` from the innermost: its own, or the nearest caller's if the innermost
/// function serves its callers. If all known functions serve, the outermost of them decides.
/// A caller that only leads there keeps the purpose found so far, except copying, which is for its callers.
/// The chain ends where the program's code begins: callers of that code do not matter.
pub fn of_chain(frames: impl IntoIterator<Item = Frame>) -> Option<PurposeId> {
    let mut served = None;
    for (depth, frame) in frames.into_iter().enumerate() {
        match frame {
            Frame::Runtime(Role { own, calls: Some(calls), leads }) => {
                let copies = |served: PurposeId| served.get().by_age.is_some();
                return Some(match served {
                    _ if depth == 0 => own,
                    _ if !leads => calls,
                    Some(served) if copies(served) => calls,
                    // A collection does not lead to work for the program: there, such a purpose is reading the layout
                    // of objects, or a lock, for itself.
                    Some(served) if served.get().part <= calls.get().part => served,
                    _ => own,
                });
            }
            Frame::Runtime(Role { own, .. }) => served = Some(own),
            Frame::Serving => {}
            Frame::Program => break,
        }
    }
    served
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(id: &str) -> PurposeId {
        PurposeId::of(id).unwrap()
    }

    fn frame(own: &str, calls: Option<&str>) -> Frame {
        Frame::Runtime(Role { own: id(own), calls: calls.map(id), leads: false })
    }

    fn leading(own: &str, calls: &str) -> Frame {
        Frame::Runtime(Role { own: id(own), calls: Some(id(calls)), leads: true })
    }

    #[test]
    fn ids_are_stable_words() {
        let mut ids: Vec<&str> = PURPOSES.iter().map(|purpose| purpose.id).collect();
        assert!(ids.iter().all(|id| id.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase())), "{ids:?}");
        assert!(!ids.iter().any(|id| matches!(*id, "other" | "unknown" | "misc")));
        for purpose in PURPOSES {
            assert_eq!(PurposeId::of(purpose.id).unwrap().get().id, purpose.id);
            let settled = purpose.by_age.iter().chain(&purpose.by_way).flatten();
            assert!(settled.copied().all(|id| PurposeId::of(id).is_some()));
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), PURPOSES.len());
        assert_eq!(PurposeId::of("other"), None);
    }

    #[test]
    fn what_a_collection_settles() {
        let of = |purpose: &str, generation| id(purpose).in_collection(generation, false).get().id;
        assert_eq!(of("copying", Some(0)), "copying-young");
        assert_eq!(of("copying", Some(2)), "copying-old");
        assert_eq!(of("copying", None), "copying");
        assert_eq!(of("stacks", Some(0)), "stacks");
        assert_eq!(of("tracing", None), "large-objects");
        assert_eq!(id("tracing").in_collection(Some(1), true).get().id, "marking");
    }

    #[test]
    fn serving_functions_take_the_nearest_callers_purpose() {
        let copies = frame("copying", None);
        let stacks = frame("stacks", Some("stacks"));
        let waits = frame("waiting-for-collectors", Some("remembered-set"));
        let of = |frames: &[Frame]| of_chain(frames.iter().copied()).map(|purpose| purpose.get().id);
        assert_eq!(of(&[copies, frame("object-layout", None), stacks]), Some("stacks"));
        assert_eq!(of(&[stacks, waits]), Some("stacks"));
        assert_eq!(of(&[frame("object-layout", None), copies, Frame::Program]), Some("copying"));
        assert_eq!(of(&[waits]), Some("waiting-for-collectors"));
        assert_eq!(of(&[copies, waits]), Some("remembered-set"));
        let leads = leading("tracing", "tracing-objects");
        assert_eq!(of(&[leads]), Some("tracing"));
        assert_eq!(of(&[copies, frame("large-objects", None), leads]), Some("large-objects"));
        assert_eq!(of(&[copies, leads]), Some("tracing-objects"));
        assert_eq!(of(&[frame("object-layout", None), leads]), Some("tracing"), "it reads the layout for itself");
        assert_eq!(of(&[frame("object-layout", None), copies, leads]), Some("tracing-objects"));
        assert_eq!(
            of(&[Frame::Serving, frame("allocation", None), leading("foreign-calls", "foreign-calls")]),
            Some("allocation")
        );
        assert_eq!(of(&[Frame::Serving, leading("foreign-calls", "foreign-calls")]), Some("foreign-calls"));
        assert_eq!(of(&[Frame::Serving, Frame::Serving, stacks]), Some("stacks"));
        assert_eq!(of(&[Frame::Serving, copies]), Some("copying"));
        assert_eq!(of(&[copies, Frame::Program, stacks]), Some("copying"), "who called the program is none of it");
        assert_eq!(of(&[Frame::Serving, Frame::Program, stacks]), None, "another language's code is the program's");
        assert_eq!(of(&[Frame::Program, stacks]), None);
        assert_eq!(of(&[]), None);
    }
}
