//! Minimum mutator utilisation (Cheng and Blelloch, PLDI 2001): for each window length the smallest share of any
//! window of that length that lay outside pauses. Exact, in one pass: the pause time inside a sliding window is
//! largest where the window starts or ends with a pause. `bounded` is the bounded minimum (Sachindran and Moss, 2003)
//! over the windows listed.
//!
//! Owns the windows. Refuses overlapping or disordered spans: the input is their union. Windows that do not fit into
//! the recording, or whose pauses do not fit into memory, are left out.

use crate::results::Mmu;
use rtscope_model::Time;
use std::collections::VecDeque;

const WINDOWS_NS: [u64; 13] = [
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];
/// Pauses remembered at once (4 MiB).
const SPANS_MAX: usize = 131_072;

#[derive(Copy, Clone)]
struct Span {
    from: u64,
    to: u64,
    /// Pause time before `from`.
    before: u64,
}

struct Window {
    ns: u64,
    /// First span (counted from the start of the stream) that a window ending now can touch.
    low: u64,
    /// First span whose window has not been judged from its start yet.
    start: u64,
    worst: u64,
    dropped: bool,
}

pub struct Utilisation {
    spans: VecDeque<Span>,
    /// Index of the first span kept.
    first: u64,
    total: u64,
    windows: Vec<Window>,
    origin: Option<u64>,
}

impl Default for Utilisation {
    fn default() -> Self {
        let window = |ns: &u64| Window { ns: *ns, low: 0, start: 0, worst: 0, dropped: false };
        Utilisation {
            spans: VecDeque::new(),
            first: 0,
            total: 0,
            windows: WINDOWS_NS.iter().map(window).collect(),
            origin: None,
        }
    }
}

impl Utilisation {
    /// The recording starts; later starts are ignored.
    pub fn start(&mut self, at: Time) {
        if self.origin.is_none() {
            self.origin = Some(at.0);
            // An empty span: windows may start with the recording.
            self.add(at, at);
        }
    }

    /// Adds one span of the union of pauses, in order.
    pub fn add(&mut self, from: Time, to: Time) {
        let from = from.0.max(self.spans.back().map_or(0, |last| last.to));
        let span = Span { from, to: to.0.max(from), before: self.total };
        self.total += span.to - span.from;
        self.spans.push_back(span);
        let index = self.first + self.spans.len() as u64 - 1;
        let origin = self.origin.unwrap_or(from);
        for window in &mut self.windows {
            judge(&self.spans, self.first, window, span, index, origin);
        }
        self.forget();
    }

    fn forget(&mut self) {
        loop {
            let needed =
                self.windows.iter().filter(|window| !window.dropped).map(|window| window.low.min(window.start));
            let needed = needed.min().unwrap_or(u64::MAX);
            while self.first < needed && self.spans.len() > 1 {
                self.spans.pop_front();
                self.first += 1;
            }
            if self.spans.len() <= SPANS_MAX {
                return;
            }
            // Too many pauses in the longest window: that window is dropped.
            match self.windows.iter_mut().rev().find(|window| !window.dropped) {
                Some(longest) => longest.dropped = true,
                None => return,
            }
        }
    }

    pub fn finish(mut self, end: Time) -> Vec<Mmu> {
        let Some(origin) = self.origin else { return Vec::new() };
        // An empty span: windows may end with the recording.
        self.add(end, end);
        let span = end.0.saturating_sub(origin);
        let fits = self.windows.iter().filter(|window| window.ns <= span && !window.dropped);
        let share = |window: &Window| 1.0 - window.worst.min(window.ns) as f64 / window.ns as f64;
        let mut curve: Vec<Mmu> = fits
            .map(|window| Mmu { window_ns: window.ns, utilization: share(window), bounded: share(window) })
            .collect();
        let mut least = 1.0f64;
        for point in curve.iter_mut().rev() {
            least = least.min(point.utilization);
            point.bounded = least;
        }
        curve
    }
}

/// Judges the window that ends with the newest span, and those that start with an earlier span and have now ended.
fn judge(spans: &VecDeque<Span>, first: u64, window: &mut Window, newest: Span, index: u64, origin: u64) {
    let get = |number: u64| spans.get((number - first) as usize);
    if window.dropped {
        return;
    }
    let low = newest.to.saturating_sub(window.ns);
    while window.low < index && get(window.low).is_some_and(|span| span.to <= low) {
        window.low += 1;
    }
    if newest.to >= origin.saturating_add(window.ns)
        && let Some(span) = get(window.low)
    {
        let cut = low.saturating_sub(span.from).min(span.to - span.from);
        window.worst = window.worst.max(newest.before + (newest.to - newest.from) - span.before - cut);
    }
    while window.start <= index
        && let Some(span) = get(window.start)
        && let end = span.from.saturating_add(window.ns)
        && end <= newest.to
    {
        let last = end.saturating_sub(newest.from);
        window.worst = window.worst.max(newest.before + last - span.before);
        window.start += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mmu(spans: &[(u64, u64)], end: u64) -> Vec<Mmu> {
        let mut fold = Utilisation::default();
        fold.start(Time(0));
        spans.iter().for_each(|span| fold.add(Time(span.0), Time(span.1)));
        fold.finish(Time(end))
    }

    /// Brute force over every window that starts at a multiple of `step`.
    fn naive(spans: &[(u64, u64)], end: u64, window: u64, step: u64) -> f64 {
        let inside = |from: u64| -> u64 {
            spans.iter().map(|span| span.1.min(from + window).saturating_sub(span.0.max(from))).sum()
        };
        let worst = (0..=(end - window) / step).map(|at| inside(at * step)).max().unwrap_or(0);
        1.0 - worst as f64 / window as f64
    }

    #[test]
    fn one_long_pause_leaves_nothing_of_a_window_inside_it() {
        let found = mmu(&[(3_000_000, 8_000_000)], 20_000_000);
        let of = |ns| found.iter().find(|mmu| mmu.window_ns == ns).map(|mmu| mmu.utilization);
        assert_eq!(of(1_000_000), Some(0.0));
        assert_eq!(of(5_000_000), Some(0.0));
        assert_eq!(of(10_000_000), Some(0.5));
        assert_eq!(of(20_000_000), Some(0.75));
        assert_eq!(of(50_000_000), None, "does not fit");
    }

    proptest! {
        #[test]
        fn equals_the_count_over_all_windows(gaps in proptest::collection::vec((0u64..40, 1u64..40), 1..60)) {
            let step = 100_000;
            let mut at = 0;
            let mut spans = Vec::new();
            for (gap, length) in gaps {
                let from = at + gap * step;
                at = from + length * step;
                spans.push((from, at));
            }
            let end = at + 3 * step;
            for found in mmu(&spans, end) {
                let expected = naive(&spans, end, found.window_ns, step);
                prop_assert!((found.utilization - expected).abs() < 1e-9, "{} {} {}", found.window_ns, found.utilization, expected);
            }
        }
    }
}
