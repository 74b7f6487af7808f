//! Lanes: which state one is in, what its time came to. Refuses to know
//! how a runtime posts it: events arrive in one vocabulary.

pub mod timeline;
pub(crate) mod times;
