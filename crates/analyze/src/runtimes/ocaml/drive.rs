//! What drives the major heap's collector: allocation in that heap, or memory outside it that its blocks hold.
//!
//! Owns the sums of the work that slices had to do; before 5.3 the runtime does not post it. Refuses to say how long
//! it took.

use crate::folds::Fold;
use rtscope_model::{Body, Class, Classes, Counter, Event, Runtime};

#[derive(Default)]
pub struct Drive {
    /// Words of work caused by allocation.
    pub allocated: u64,
    /// Words of work caused by memory outside the heap.
    pub outside: u64,
    seen: bool,
}

impl Drive {
    /// The share of all work that memory outside the heap caused; `None`: not posted.
    pub fn outside_share(&self) -> Option<f64> {
        self.seen.then(|| self.outside as f64 / self.allocated.saturating_add(self.outside).max(1) as f64)
    }
}

impl Fold for Drive {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Figures)
    }

    fn event(&mut self, event: &Event) {
        let Body::Runtime(Runtime::Count(counter, words)) = event.body else { return };
        let sum = match counter {
            Counter::MajorWork => &mut self.allocated,
            Counter::OutsideWork => &mut self.outside,
            _ => return,
        };
        *sum = sum.saturating_add(words);
        self.seen = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;

    #[test]
    fn work_is_shared_out_by_what_requests_it() {
        let mut drive = Drive::default();
        assert_eq!(drive.outside_share(), None);
        let script = Script::default()
            .rt(1, 0, Runtime::Count(Counter::MajorWork, 100))
            .rt(1, 0, Runtime::Count(Counter::OutsideWork, 200))
            .rt(1, 1, Runtime::Count(Counter::OutsideWork, 100))
            .rt(2, 0, Runtime::Count(Counter::PromotedBytes, 9));
        script.events().iter().for_each(|event| drive.event(event));
        assert_eq!(drive.outside_share(), Some(0.75));
    }
}
