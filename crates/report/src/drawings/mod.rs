//! The drawings of a page: a file for each, as SVG, except for the map of the heap, which a script browses. Refuses to
//! compute figures.

pub(crate) mod bands;
pub(crate) mod bar;
pub(crate) mod heap_map;
pub(crate) mod histogram;
pub(crate) mod lanes;
pub(crate) mod memory;
pub(crate) mod mirror;
pub(crate) mod mmu;
pub mod rates;
pub(crate) mod requests;
pub(crate) mod time;
pub(crate) mod transactions;
pub(crate) mod waterfall;

pub use requests::document as requests_svg;

use crate::kinds::SpanKind;

/// The class of a drawing of `kind`.
fn fill(kind: SpanKind) -> String {
    format!("fill-{}", kind.look().1)
}
