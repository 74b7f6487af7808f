//! `report --html`: one self-contained page, which loads nothing and needs a script only to browse snapshots of a
//! heap and to copy. `page` adds to the sections of a report what only a page has, `data` embeds the same figures as
//! JSON. Refuses to compute figures.

mod compare;
mod data;
mod page;
mod plots;
mod side_by_side;
mod worst;

pub use compare::comparison;
pub use page::page;
pub use plots::{PLOTS_MAX, Plot, read as read_plots};
