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

/// Forgets what another one has followed by `before`: the last that began `at` or before it stays.
pub fn forget<T>(queue: &mut VecDeque<T>, before: Time, at: impl Fn(&T) -> Time) {
    while queue.get(1).is_some_and(|next| at(next) <= before) {
        queue.pop_front();
    }
}
