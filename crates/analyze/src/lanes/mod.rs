//! Lanes: which thread serves one, which state it is in, what its time came to. Refuses to know
//! how a runtime posts it: events arrive in one vocabulary.

pub mod lane_thread;
pub mod still;
pub mod timeline;
pub mod times;
pub mod tracer;
