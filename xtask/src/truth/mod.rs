//! The truth suite runs each workload many times: does its finding come first, is nothing false found, and
//! does the printed remedy help? One file each: `command` (the options), `order` (what runs when), `suite`
//! (running it), `journal` (a line per result), `remedy` (applying and judging one), `off` (leaving a rule
//! out), `score` (counting), `table`.

pub mod command;
pub mod journal;
pub mod off;
pub mod order;
pub mod remedy;
pub mod score;
pub mod suite;
pub mod table;
