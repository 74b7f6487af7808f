//! The parts of the program that can be tested without running it: what is read
//! and how it flows to results, how results are shown to people (text, page) and
//! to programs (JSON), how failures are put into words.
//!
//! Owns wiring and presentation; refuses to compute any figure (those come from
//! `analyze`) and to touch the machine (that is `host`).
#![forbid(unsafe_code)]

pub mod bench;
mod cli;
pub mod code;
pub mod compare;
pub mod doctor;
mod draw;
mod explain;
pub mod export;
pub mod heap;
pub mod input;
pub mod kinds;
pub mod line;
mod load;
mod log_version;
pub mod machine;
pub mod observer;
mod pack;
pub mod pipeline;
pub mod plan;
pub mod program;
mod record;
pub mod report;
mod requests;
mod run;
mod sources;
mod stm;
pub mod style;
pub mod top;
pub mod tune;
mod user_error;
pub mod view;
pub mod words;
