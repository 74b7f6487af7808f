//! Points over time in bounded memory: those that lie too close to each other become one. Owns
//! how close that is, the closer the fewer there are.

use rtscope_model::Time;

/// At most `MAX` points.
#[derive(Default)]
pub struct Spaced<T, const MAX: usize> {
    points: Vec<(Time, T)>,
    /// Points closer than this are joined, nanoseconds.
    step_ns: u64,
}

impl<T, const MAX: usize> Spaced<T, MAX> {
    /// Adds one; `join` adds what a later point has to an earlier one, which keeps its time.
    pub fn push(&mut self, at: Time, value: T, join: impl Fn(&mut T, T)) {
        self.add(at, value, &join);
        if self.points.len() > MAX {
            let span = self.points.last().zip(self.points.first()).map_or(0, |(last, first)| last.0.since(first.0));
            self.step_ns = (self.step_ns * 2).max(span / (MAX as u64 / 2)).max(1);
            for (at, value) in std::mem::take(&mut self.points) {
                self.add(at, value, &join);
            }
        }
    }

    fn add(&mut self, at: Time, value: T, join: &impl Fn(&mut T, T)) {
        match self.points.last_mut() {
            Some((before, held)) if at.since(*before) < self.step_ns => join(held, value),
            _ => self.points.push((at, value)),
        }
    }

    /// What is kept, in order.
    pub fn points(&self) -> &[(Time, T)] {
        &self.points
    }
}
