//! Lanes: the state of each one, and what its time was spent on. Refuses to know how a runtime posts it: events
//! arrive in one vocabulary.

pub mod timeline;
pub(crate) mod times;
