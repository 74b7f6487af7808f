//! The Haskell heap of a live process or a core file.

mod found;
mod sampled;
mod source;
mod take;
mod touched;

pub(super) use found::{HeapTarget, refusal};
pub use found::{Refusal, found};
pub(super) use sampled::Sampled;
pub use take::{Ask, Failed, of_core, take};
