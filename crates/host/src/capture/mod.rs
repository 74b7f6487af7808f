//! The capture on disk, held by descriptor, and what is taken out of it for strangers. Refuses
//! to know what is recorded.

pub mod folder;
pub mod redact;
pub mod store;
