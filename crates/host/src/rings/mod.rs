//! OCaml's runtime events: rings in a file that the runtime maps and overwrites. What
//! makes a program write them, room for them on the disk, and the threads that copy
//! their words into a capture before they are overwritten.
//!
//! Owns the file's layout as far as copying needs it, and the form of `rings/N.ring`
//! (`docs/formats/ring-stream.md`). Refuses to know what an event means. Ring files
//! are read with `pread` and never mapped: a program that execs another one may cut
//! its ring short, and reading a mapping of it would kill the recorder.

mod by_hand;
mod copy;
mod found;
mod layout;
pub mod parameters;
mod pen;
mod place;
mod reader;
mod stream;

pub use by_hand::{ByHand, NoRings};
pub use found::{Mapped, mapped_by};
pub use place::Place;
pub use reader::{Config, Copied, Reader};
