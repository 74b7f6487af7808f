//! The machine under the recorder: clocks, the kernel's files, threads of its own. Refuses
//! anything that another user's program could have put there: that is `target`.

pub mod clock;
pub mod open_files;
pub mod procfs;
pub(crate) mod ready;
pub mod worker;
