//! The program: its command line and commands. Each command is a file or a folder here, or in the room that does its
//! work: `view` in `view`; `plan`, `tune`, `load` and `bench` in `lab`. Owns wiring; refuses to compute a figure (those
//! come from `analyze`), to show one (that is `report`), and to touch the machine (that is `host`).
#![forbid(unsafe_code)]

mod cli;
pub mod compare;
pub mod doctor;
mod explain;
pub mod export;
pub mod heap;
pub mod machine;
mod pack;
pub mod program;
mod record;
mod stm;
pub mod top;
