//! Drawings as SVG: the writer with its axes, line plots, escaping. Refuses to know results, and to print.
#![forbid(unsafe_code)]

pub mod escape;
pub mod plot;
pub mod svg;
