//! The table of docs/purposes.md: the shares over all seeds, for each kind of work and runtime.

use super::row::PurposeRow;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The range from the smallest to the largest.
fn spread(shares: impl Iterator<Item = f64> + Clone) -> String {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let (least, most) = (shares.clone().fold(f64::MAX, f64::min), shares.fold(0.0, f64::max));
    if percent(least) == percent(most) { percent(most) } else { format!("{} – {}", percent(least), percent(most)) }
}

/// Formats it as Markdown.
pub fn draw(rows: &[PurposeRow]) -> String {
    let mut groups: BTreeMap<(&str, &str), Vec<&PurposeRow>> = BTreeMap::new();
    for row in rows {
        groups.entry((&row.runtime, &row.kind)).or_default().push(row);
    }
    let mut text = "| runtime | work | seeds | samples | with a purpose, % | purpose right, % |\n| --- | --- | ---: | ---: | ---: | ---: |\n".to_owned();
    for ((runtime, kind), rows) in groups {
        let samples: u64 = rows.iter().map(|row| row.samples).sum();
        let with = spread(rows.iter().map(|row| row.with_purpose));
        let right = spread(rows.iter().map(|row| row.right));
        let _ = writeln!(text, "| {runtime} | {kind} | {} | {samples} | {with} | {right} |", rows.len());
    }
    text
}
