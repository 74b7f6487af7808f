//! Drawings and pages: the forms of what a report consists of, SVG with its axes and line plots, HTML, escaping. Refuses
//! to know results, and to print.
#![forbid(unsafe_code)]

pub mod escape;
pub mod html;
pub mod page;
pub mod plot;
pub mod present;
pub mod svg;
pub mod theme;
pub mod tree;
