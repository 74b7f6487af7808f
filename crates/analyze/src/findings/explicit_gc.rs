//! `explicit-gc`: collections that the program asks for itself. Owns what the rule is in every
//! runtime; how a call shows in its log each runtime says for itself.

use super::Rule;

/// Of fewer calls nothing is said.
pub const COUNT_MIN: u64 = 3;

/// Without its `check`: a fiftieth of the wall clock in at least three.
pub const EXPLICIT_GC: Rule = Rule {
    id: "explicit-gc",
    explains: &["collecting", "standing-still"],
    order: 190,
    share_min: 0.02,
    also: ", three of them",
    why: "a call after a large phase costs little",
    ..Rule::BLANK
};
