//! The page's tables of what the program said of itself: spans, then moments and values.

use super::table::{some, table};
use crate::draw::escape::escape;
use crate::report::{tables, units};
use rtscope_analyze::results::{Results, UserEvents};

/// Both tables; `None` where it said nothing.
pub(super) fn section(results: &Results) -> Option<String> {
    let tables: Vec<String> =
        [some(tables::user_spans(results, usize::MAX, name)), others(results)].into_iter().flatten().collect();
    (!tables.is_empty()).then(|| tables.concat())
}

fn name(name: &str) -> String {
    format!("<code>{}</code>", escape(name))
}

fn others(results: &Results) -> Option<String> {
    let row = |one: &UserEvents| {
        let figure = |of: fn(&rtscope_analyze::results::UserValues) -> String| {
            one.values.as_ref().map_or_else(|| "-".into(), of)
        };
        vec![
            name(&one.name),
            units::count(one.marks),
            figure(|values| units::count(values.count)),
            figure(|values| values.min.to_string()),
            figure(|values| values.max.to_string()),
            figure(|values| format!("{:.1}", values.mean)),
            figure(|values| values.last.to_string()),
        ]
    };
    let posted = results.user.iter().filter(|one| one.marks > 0 || one.values.is_some());
    let rows: Vec<_> = posted.map(row).collect();
    let heads = ["event", "moments", "values", "least", "most", "mean", "last"];
    (!rows.is_empty()).then(|| table(&heads, &rows))
}
