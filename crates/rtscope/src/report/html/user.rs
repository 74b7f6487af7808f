//! The page's tables of what the program said of itself: spans, then moments and values.

use super::table::table;
use crate::draw::escape::escape;
use crate::report::{further, units};
use rtscope_analyze::results::{Results, UserEvents};

/// Both tables; `None` where it said nothing.
pub(super) fn section(results: &Results) -> Option<String> {
    let tables: Vec<String> = [spans(results), others(results)].into_iter().flatten().collect();
    (!tables.is_empty()).then(|| tables.concat())
}

fn name(one: &UserEvents) -> String {
    format!("<code>{}</code>", escape(&one.name))
}

fn spans(results: &Results) -> Option<String> {
    let row = |one: &UserEvents| {
        let (spans, ns) = (&one.spans_ns, units::duration_or_dash);
        let at = one.longest_at.map_or_else(|| "-".into(), |at| units::duration(at.since(results.started)));
        vec![
            name(one),
            units::count(spans.count),
            ns(spans.p50),
            ns(spans.p99),
            ns(spans.max),
            at,
            ns(spans.sum),
            ns(one.in_pauses_ns),
            units::count(one.cut),
        ]
    };
    let rows: Vec<_> = further::user_spans(results).map(row).collect();
    let heads =
        ["span", "how many", "median", "99 in 100", "longest", "at", "in all", "standing still in pauses", "cut"];
    (!rows.is_empty()).then(|| table(&heads, &rows))
}

fn others(results: &Results) -> Option<String> {
    let row = |one: &UserEvents| {
        let figure = |of: fn(&rtscope_analyze::results::UserValues) -> String| {
            one.values.as_ref().map_or_else(|| "-".into(), of)
        };
        vec![
            name(one),
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
