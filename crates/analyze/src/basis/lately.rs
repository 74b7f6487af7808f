//! Recent history: queues in time order. Owns how they drop their oldest entries.

use rtscope_model::Time;
use std::collections::VecDeque;

/// Adds `value`; drops the oldest if there are `most` already.
pub fn push<T>(queue: &mut VecDeque<T>, value: T, most: usize) {
    if queue.len() >= most {
        queue.pop_front();
    }
    queue.push_back(value);
}

/// Drops what was over by `before`: the last entry that began by then still holds.
pub fn prune<T>(queue: &mut VecDeque<T>, began: impl Fn(&T) -> Time, before: Time) {
    while queue.get(1).is_some_and(|next| began(next) <= before) {
        queue.pop_front();
    }
}
