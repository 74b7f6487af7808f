//! `report --html`: one self-contained page, which loads nothing and needs a script only to browse snapshots of a
//! heap. `page` puts sections together, `table` and `verdict` write them, `svg_*` draw, `data` embeds the same
//! figures as JSON. Refuses to compute figures.

mod account;
mod compare;
mod data;
pub mod frame;
mod heap_map;
mod page;
mod plots;
mod requests;
mod side_by_side;
mod stm;
mod svg_bands;
mod svg_bar;
mod svg_histogram;
mod svg_lanes;
mod svg_memory;
mod svg_mirror;
mod svg_mmu;
pub mod svg_rates;
mod svg_requests;
mod svg_time;
mod svg_waterfall;
pub mod table;
mod verdict;

pub use compare::comparison;
pub use page::page;
pub use plots::{PLOTS_MAX, Plot, read as read_plots};
pub use svg_requests::document as requests_svg;

/// Largest page, in bytes.
pub const SIZE_MAX: usize = 1_000_000;
