//! What was lately: queues in the order of time. Owns how they lose their oldest.

use std::collections::VecDeque;

/// Adds `value`; where there are `most` the oldest goes.
pub fn push<T>(queue: &mut VecDeque<T>, value: T, most: usize) {
    if queue.len() >= most {
        queue.pop_front();
    }
    queue.push_back(value);
}
