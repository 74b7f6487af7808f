//! CSS classes in drawings that are standalone files.

use std::collections::BTreeSet;

/// Classes of shapes in `svg`.
pub fn used(svg: &str) -> BTreeSet<&str> {
    let values = svg.split(" class=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0));
    values.flat_map(str::split_whitespace).collect()
}

/// Classes of shapes in `svg` that its own style does not define.
pub fn without_style(svg: &str) -> Vec<&str> {
    let style = svg.split_once("<style>").and_then(|(_, rest)| rest.split_once("</style>")).expect("a style").0;
    let is_styled =
        |class: &&str| style.split([',', '{', ' ', '}', '\n']).any(|word| word.strip_prefix('.') == Some(*class));
    used(svg).into_iter().filter(|class| !is_styled(class)).collect()
}
