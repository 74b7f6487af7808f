//! Rows and spaces for tests.

use crate::study::{Ask, Outcome, Row, Space, Stage, Taken};

/// A space; the first name is the default.
pub fn space(names: &[&str]) -> Space {
    Space::new(names.iter().map(|name| (*name).to_owned()).collect(), 0).unwrap()
}

/// A clean trial in a fresh block.
pub fn measured(block: usize, configuration: usize, value: f64) -> Row {
    let ask = Ask { number: 0, stage: Stage::Fresh, block, configuration, again: false };
    Row::new(Taken { ask, outcome: Outcome::Measured(value) })
}
