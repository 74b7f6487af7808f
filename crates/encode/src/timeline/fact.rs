//! What is said of a span besides its name and its times. Owns what such a fact is about; refuses to know how a
//! format says it.

use std::borrow::Cow;

rtscope_model::listed! {
    /// What a fact is about, in the order of the numbers that Perfetto's traces give them.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum About: word {
        /// A green thread.
        Thread = "thread",
        /// The number of a pause.
        Id = "id",
        /// The lane that led it.
        Leader = "leader",
        /// The lane that stopped last.
        Straggler = "straggler",
        /// The generation collected.
        Generation = "generation",
        /// Bytes copied.
        CopiedBytes = "copied_bytes",
        /// Threads that collected.
        GcThreads = "gc_threads",
        /// Whether all of it is known.
        Quality = "quality",
        /// The lane that was waited for.
        Lane = "lane",
        /// Its thread.
        Tid = "tid",
        /// The process that had its CPU.
        WhoPid = "who_pid",
        /// What that executed.
        Code = "code",
        /// How sure a cause is.
        Confidence = "confidence",
        /// The stream that lost something.
        Source = "source",
        /// How much was lost.
        Count = "count",
        /// What else there is to say.
        Note = "note",
    }
}

/// A value of a fact.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum Fact<'a> {
    /// A number.
    Number(u64),
    /// A text.
    Text(Cow<'a, str>),
}
