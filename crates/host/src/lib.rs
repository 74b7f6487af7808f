//! System calls.

pub mod kernel;
