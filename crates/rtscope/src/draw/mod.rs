//! Drawings and text tables as such: one writer of SVG with its axes, plots of lines, escaping, the layout of a
//! screen. Refuses to know a result, and to print.

pub(crate) mod escape;
pub(crate) mod markdown;
pub(crate) mod plot;
pub(crate) mod screen;
pub(crate) mod svg;
