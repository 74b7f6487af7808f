//! What a program's binary accepts, read from its ELF file. Refuses to know a runtime: what
//! a runtime leaves in a file belongs to its own folder below `runtimes`.

mod bounded;
mod inspect;
mod inspected;
mod programs;

pub use crate::runtimes::link;
pub(crate) use bounded::Bounded;
pub use inspect::inspect;
pub(crate) use inspect::{inspect_image, inspect_opened, inspect_process, inspect_process_of, native};
pub(crate) use inspected::FileContents;
pub use inspected::{Inspected, RuntimeSymbols, StmSymbols};
