//! The page of a comparison.

use crate::compare::Compared;

/// The page.
pub fn comparison(compared: &Compared) -> String {
    let _ = compared;
    String::new()
}
