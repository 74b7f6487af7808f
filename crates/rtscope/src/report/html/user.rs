//! The page's tables of what the program said of itself: spans, then moments and values.

use super::frame::joined;
use super::table::{optional, shared};
use crate::draw::escape::escape;
use crate::report::{tables, units};
use rtscope_analyze::results::{Results, UserEvents, UserValues};

/// Both tables; `None` where it said nothing.
pub(super) fn section(results: &Results) -> Option<String> {
    joined([shared(tables::user_spans(results, usize::MAX, name)), others(results)])
}

fn name(name: &str) -> String {
    format!("<code>{}</code>", escape(name))
}

fn others(results: &Results) -> Option<String> {
    let row = |one: &UserEvents| {
        let figure = |of: fn(&UserValues) -> String| one.values.as_ref().map_or_else(|| "-".into(), of);
        [
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
    optional(&["event", "moments", "values", "least", "most", "mean", "last"], posted.map(row))
}
