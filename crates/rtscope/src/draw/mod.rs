//! Building blocks of drawings and text: the SVG writer with its axes, line plots, escaping, the layout of a screen.
//! Refuses to know results, and to print.

pub(crate) mod escape;
pub(crate) mod markdown;
pub(crate) mod plot;
pub(crate) mod screen;
pub(crate) mod svg;
