//! The Haskell heap of a live process or a core file.

mod found;
mod source;
mod take;
mod touched;

pub(super) use found::refusal;
pub use found::{Refusal, Target, found};
pub use source::Source;
pub use take::{Ask, Failed, of_core, take};
