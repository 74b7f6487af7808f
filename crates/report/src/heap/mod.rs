//! Memory of a Haskell program as a map of its blocks: on a terminal, as a drawing, on the page.

pub mod layout;
pub mod map;
pub mod picture;
pub mod svg;
pub mod text;
