//! The truth suite: each workload many times, is its finding the first one, is nothing
//! found that is not true, and does the remedy help that the report prints? One file
//! each: `command` (what is asked for), `order` (what runs when), `suite` (running it), `journal` (what was seen, a
//! line each), `remedy` (applying and judging one), `off` (its rule left out), `score` (counting), `table`.

pub mod command;
pub mod journal;
pub mod off;
pub mod order;
pub mod remedy;
pub mod score;
pub mod suite;
pub mod table;
