//! What is said of a span besides its name and its times. Owns what such a fact is about; refuses to know how a
//! format says it.

use std::borrow::Cow;

rtscope_model::listed! {
    /// What a fact is about, in the order of the numbers that Perfetto's traces give them.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum About: word {
        /// A green one.
        Thread = "thread",
        /// Of a pause.
        Id = "id",
        /// The lane that led it.
        Leader = "leader",
        /// The lane that stopped last.
        Straggler = "straggler",
        Generation = "generation",
        CopiedBytes = "copied_bytes",
        GcThreads = "gc_threads",
        /// Whether all of it is known.
        Quality = "quality",
        /// The lane that was waited for.
        Lane = "lane",
        Tid = "tid",
        /// The process that had its CPU.
        WhoPid = "who_pid",
        /// What that executed.
        Code = "code",
        Confidence = "confidence",
        /// The stream that lost something.
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
