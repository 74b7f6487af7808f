//! Facts about a span in addition to its name and times. Owns the subjects of facts; refuses to know how a
//! format writes them.

use std::borrow::Cow;

rtscope_model::listed! {
    /// The subject of a fact, in the order of the numbers in Perfetto traces.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum About: word {
        /// A green thread.
        Thread = "thread",
        /// Id of a pause.
        Id = "id",
        /// The lane that led the pause.
        Leader = "leader",
        /// The lane that stopped last in the pause.
        Straggler = "straggler",
        Generation = "generation",
        CopiedBytes = "copied_bytes",
        GcThreads = "gc_threads",
        /// Whether the pause is completely known.
        Quality = "quality",
        /// The lane that was waited for.
        Lane = "lane",
        Tid = "tid",
        /// The process that had the thread's CPU.
        WhoPid = "who_pid",
        /// The code that the thread executed.
        Code = "code",
        Confidence = "confidence",
        /// The stream with losses.
        Source = "source",
        Count = "count",
        Note = "note",
    }
}

#[derive(Clone, Eq, PartialEq, Debug)]
pub enum Fact<'a> {
    Number(u64),
    Text(Cow<'a, str>),
}
