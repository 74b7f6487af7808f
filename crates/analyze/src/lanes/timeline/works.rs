//! When a lane worked in a collection, as its own thread posts it. Owns these spans until the pause that they
//! are of is over, bounded; refuses to say what was collected.

use rtscope_model::{Phase, Runtime, Time};
use std::collections::VecDeque;

/// Spans that are remembered; the oldest make room.
const SPANS_MAX: usize = 1_024;

/// Spans of work of one lane.
#[derive(Default)]
pub struct Works {
    since: Option<Time>,
    spans: VecDeque<(Time, Time)>,
}

impl Works {
    /// Takes an event of the lane's.
    pub fn push(&mut self, body: Runtime, at: Time) {
        match body {
            Runtime::WorkBegin | Runtime::PhaseBegin(Phase::Minor | Phase::CycleEnd | Phase::Compact) => {
                self.since.get_or_insert(at);
            }
            Runtime::WorkIdle
            | Runtime::WorkEnd
            | Runtime::CollectEnd
            | Runtime::PhaseEnd(Phase::Minor | Phase::CycleEnd | Phase::Compact | Phase::Lead | Phase::Follow) => {
                let Some(since) = self.since.take() else { return };
                if self.spans.len() >= SPANS_MAX {
                    self.spans.pop_front();
                }
                self.spans.push_back((since, at));
            }
            _ => {}
        }
    }

    /// The spans between two moments, cut at these, in order and apart.
    pub fn between(&self, from: Time, to: Time) -> impl Iterator<Item = (Time, Time)> {
        let open = self.since.map(|since| (since, to));
        let mut now = from;
        self.spans.iter().copied().chain(open).filter_map(move |(begin, end)| {
            let span = (begin.max(now), end.min(to));
            (span.0 < span.1).then(|| {
                now = span.1;
                span
            })
        })
    }

    /// Nobody asks for what was before `until` any more.
    pub fn forget(&mut self, until: Time) {
        while self.spans.front().is_some_and(|span| span.1 <= until) {
            self.spans.pop_front();
        }
    }
}
