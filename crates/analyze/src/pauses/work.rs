//! One lane's part of a pause, as its own thread posts it: when it worked, and moments at which it was on a CPU. Owns
//! the sums; refuses to know how a runtime posts them.

use rtscope_model::Time;

/// Marks kept per lane and pause: more do not improve votes.
const MARKS_MAX: usize = 32;
/// Initial capacity for marks: enough for most parts.
const MARKS: usize = 8;

/// What a lane's thread did in a pause.
#[derive(Default)]
pub(crate) struct LaneWork {
    since: Option<Time>,
    /// First start of work.
    pub begin: Option<Time>,
    /// Last end of work.
    pub end: Option<Time>,
    /// Sum of its spans, nanoseconds.
    pub ns: u64,
    /// Moments at which it posted something.
    pub marks: Vec<Time>,
}

impl LaneWork {
    /// The thread posted something.
    pub fn mark(&mut self, time: Time) {
        if self.marks.len() < MARKS_MAX {
            if self.marks.capacity() == 0 {
                self.marks.reserve(MARKS);
            }
            self.marks.push(time);
        }
    }

    /// The thread starts or resumes work.
    pub fn start(&mut self, time: Time) {
        self.since.get_or_insert(time);
        self.begin.get_or_insert(time);
    }

    /// The thread pauses or ends work.
    pub fn pause(&mut self, time: Time) {
        if let Some(since) = self.since.take() {
            self.ns += time.since(since);
            self.end = Some(time);
        }
    }

    /// Whether the thread is at work.
    pub fn continues(&self) -> bool {
        self.since.is_some()
    }
}
