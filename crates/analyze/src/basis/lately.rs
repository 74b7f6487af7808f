//! What was lately: queues in the order of time. Owns how they lose their oldest.

use rtscope_model::Time;
use std::collections::VecDeque;

/// Adds `value`; where there are `most` the oldest goes.
pub fn push<T>(queue: &mut VecDeque<T>, value: T, most: usize) {
    if queue.len() >= most {
        queue.pop_front();
    }
    queue.push_back(value);
}

/// Drops what was over `before` then: the last that began by then still holds.
pub fn prune<T>(queue: &mut VecDeque<T>, began: impl Fn(&T) -> Time, before: Time) {
    while queue.get(1).is_some_and(|next| began(next) <= before) {
        queue.pop_front();
    }
}
