//! The parts of the program that can be tested without running it: how results
//! are shown to people (text, page) and to programs (JSON), and how failures
//! are put into words.
//!
//! Owns presentation; refuses to compute any figure: those come from `analyze`.
#![forbid(unsafe_code)]

pub mod doctor;
pub mod report;
pub mod style;
pub mod trouble;
