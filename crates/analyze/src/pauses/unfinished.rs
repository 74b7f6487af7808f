//! Stops of the world that were requested but not seen to take place. Owns their number and time; refuses to decide
//! which stops these are.

use rtscope_model::{Loss, LossKind, Time};

#[derive(Default)]
pub(crate) struct Unfinished {
    count: u64,
    span: Option<(Time, Time)>,
}

impl Unfinished {
    /// Adds one; nothing of it is expected after `until`.
    pub fn add(&mut self, from: Time, until: Time) {
        self.count += 1;
        let span = self.span.get_or_insert((from, until));
        span.1 = span.1.max(until);
    }

    /// The loss that this makes of the source `of`; `None`: there was none.
    pub fn loss(&self, of: &str) -> Option<Loss> {
        let (from, to) = self.span?;
        Some(Loss { from: Some(from), to: Some(to), ..Loss::new(of, LossKind::Unfinished, self.count, "") })
    }
}
