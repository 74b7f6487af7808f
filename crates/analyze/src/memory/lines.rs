//! Memory lines: resident set, heap, blocks, live, residency, slop. Six different figures, never mixed.

use crate::folds::{End, Fold};
use crate::results::{Memory, MemoryLevel, MemoryLine, Results};
use rtscope_model::{Body, Class, Classes, Counter, Event, Runtime, Sample, Time};

const POINTS_MAX: usize = 1_024;

/// An increase by less than this fraction of the previous value makes no step in [`StepLine::stays`], so that a line
/// which only rises is kept in few steps.
const STEP: u64 = 64;

/// One line: each value holds until the next.
#[derive(Default)]
struct StepLine {
    first: Option<Time>,
    last: Option<(Time, u64)>,
    max: u64,
    /// Sum of value times nanoseconds.
    area: f64,
    points: Vec<(Time, u64)>,
    /// Points closer than this are joined; the larger value is kept.
    step_ns: u64,
    /// Levels below which the line did not fall again, with the time until which each held; both increase.
    stays: Vec<(Time, u64)>,
}

impl StepLine {
    fn push(&mut self, time: Time, value: u64) {
        self.first.get_or_insert(time);
        if let Some((at, held)) = self.last {
            self.area += held as f64 * time.since(at) as f64;
        }
        self.last = Some((time, value));
        self.max = self.max.max(value);
        self.step(time, value);
        self.draw(time, value);
    }

    fn step(&mut self, time: Time, value: u64) {
        // The last step held until now.
        if let Some(step) = self.stays.last_mut() {
            step.0 = time;
        }
        while self.stays.last().is_some_and(|step| step.1 >= value) {
            self.stays.pop();
        }
        if self.stays.last().is_none_or(|step| value - step.1 > step.1 / STEP) {
            self.stays.push((time, value));
        }
    }

    /// The smallest value from `from` to the end, to the precision of the steps.
    fn stayed(&self, from: Time) -> Option<u64> {
        let after = self.stays.partition_point(|step| step.0 <= from);
        self.stays.get(after).or(self.stays.last()).map(|step| step.1)
    }

    fn draw(&mut self, time: Time, value: u64) {
        match self.points.last_mut() {
            Some(point) if time.since(point.0) < self.step_ns => point.1 = point.1.max(value),
            _ => self.points.push((time, value)),
        }
        if self.points.len() > POINTS_MAX {
            let span = self.points.last().zip(self.points.first()).map_or(0, |(last, first)| last.0.since(first.0));
            self.step_ns = (self.step_ns * 2).max(span / (POINTS_MAX as u64 / 2)).max(1);
            for (at, value) in std::mem::take(&mut self.points) {
                match self.points.last_mut() {
                    Some(point) if at.since(point.0) < self.step_ns => point.1 = point.1.max(value),
                    _ => self.points.push((at, value)),
                }
            }
        }
    }

    fn level(&self, end: Time) -> Option<MemoryLevel> {
        let (at, last) = self.last?;
        let span = end.since(self.first?).max(at.since(self.first?));
        let area = self.area + last as f64 * end.since(at) as f64;
        let mean = if span > 0 { area / span as f64 } else { last as f64 };
        Some(MemoryLevel { max: self.max, last, mean })
    }
}

#[derive(Default)]
pub struct Lines {
    rss: StepLine,
    heap: StepLine,
    blocks: StepLine,
    live: StepLine,
    residency: StepLine,
    slop: StepLine,
}

impl Lines {
    pub fn levels(&self, end: Time) -> Memory {
        Memory {
            rss_bytes: self.rss.level(end),
            heap_bytes: self.heap.level(end),
            blocks_bytes: self.blocks.level(end),
            live_bytes: self.live.level(end),
            residency_bytes: self.residency.level(end),
            slop_bytes: self.slop.level(end),
        }
    }

    /// The memory that was resident all the time from `from` on.
    pub fn rss_stayed(&self, from: Time) -> Option<u64> {
        self.rss.stayed(from)
    }

    /// The lines that were seen, thinned.
    pub fn drawn(&self) -> Vec<MemoryLine> {
        let mut lines = vec![("rss", &self.rss), ("heap", &self.heap), ("blocks", &self.blocks)];
        // If live never falls, both are one line; else live is drawn on top.
        if self.residency.points != self.live.points {
            lines.push(("residency", &self.residency));
        }
        lines.push(("live", &self.live));
        let seen = lines.into_iter().filter(|(_, line)| !line.points.is_empty());
        seen.map(|(name, line)| MemoryLine { name, points: line.points.clone() }).collect()
    }
}

impl Fold for Lines {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Figures).with(Class::Heap)
    }

    fn samples(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        let (counter, value) = match event.body {
            Body::Runtime(Runtime::Count(counter, value)) => (counter, value),
            Body::Sample(Sample::Rss { bytes }) => return self.rss.push(event.time, bytes),
            _ => return,
        };
        match counter {
            Counter::HeapBytes => self.heap.push(event.time, value),
            Counter::BlocksBytes => self.blocks.push(event.time, value),
            // The non-moving collector's figure can fall below zero, and wraps.
            Counter::SlopBytes if value > i64::MAX as u64 => {}
            Counter::SlopBytes => self.slop.push(event.time, value),
            Counter::LiveBytes => {
                self.live.push(event.time, value);
                let largest = self.live.max;
                self.residency.push(event.time, largest);
            }
            _ => {}
        }
    }

    fn result(&mut self, end: &End<'_>, results: &mut Results) {
        results.memory = self.levels(end.end);
        results.drawing.memory = self.drawn();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::LaneId;

    fn count(at: u64, lane: u16, counter: Counter, value: u64) -> Event {
        Event { time: Time(at), lane: LaneId(lane), body: Body::Runtime(Runtime::Count(counter, value)) }
    }

    #[test]
    fn a_value_holds_until_the_next() {
        let mut lines = Lines::default();
        lines.event(&count(0, 0, Counter::HeapBytes, 10));
        lines.event(&count(30, 0, Counter::HeapBytes, 50));
        let heap = lines.levels(Time(40)).heap_bytes.unwrap();
        assert_eq!((heap.max, heap.last, heap.mean), (50, 50, (300.0 + 500.0) / 40.0));
        assert_eq!(lines.levels(Time(40)).rss_bytes, None);
    }

    #[test]
    fn what_falls_again_did_not_stay() {
        let stayed = |values: &[u64], from| {
            let mut line = StepLine::default();
            values.iter().zip(0..).for_each(|(value, at)| line.push(Time(at), *value));
            line.stayed(Time(from)).unwrap()
        };
        assert_eq!([0, 1, 2, 3].map(|from| stayed(&[10, 40, 20, 30], from)), [10, 20, 20, 30]);
        assert_eq!([0, 1, 2].map(|from| stayed(&[10, 10, 40], from)), [10, 10, 40]);
        assert_eq!(stayed(&[64, 10, 64], 1), 10);
        assert_eq!(StepLine::default().stayed(Time(0)), None);
    }

    #[test]
    fn a_line_that_rises_slowly_is_kept_in_few_steps() {
        let mut line = StepLine::default();
        (0..1_000_000).for_each(|at| line.push(Time(at), at));
        assert!(line.stays.len() < 1_000, "{}", line.stays.len());
        let stayed = line.stayed(Time(500_000)).unwrap();
        assert!((490_000..=510_000).contains(&stayed), "{stayed}");
    }

    #[test]
    fn residency_is_the_largest_live_so_far() {
        let mut lines = Lines::default();
        [5, 9, 3]
            .iter()
            .enumerate()
            .for_each(|(at, live)| lines.event(&count(at as u64, 0, Counter::LiveBytes, *live)));
        let memory = lines.levels(Time(3));
        assert_eq!(memory.live_bytes.unwrap().last, 3);
        assert_eq!(memory.residency_bytes.unwrap().last, 9);
    }

    #[test]
    fn residency_is_drawn_where_it_differs_from_live() {
        let drawn = |levels: &[u64]| -> Vec<&'static str> {
            let mut lines = Lines::default();
            levels.iter().zip(0..).for_each(|(live, at)| lines.event(&count(at, 0, Counter::LiveBytes, *live)));
            lines.drawn().iter().map(|line| line.name).collect()
        };
        assert_eq!(drawn(&[5, 9, 9]), ["live"]);
        assert_eq!(drawn(&[5, 9, 3]), ["residency", "live"]);
        assert!(drawn(&[]).is_empty());
    }

    #[test]
    fn a_drawn_line_is_thinned_and_keeps_its_peak() {
        let mut lines = Lines::default();
        for at in 0..100_000 {
            lines.event(&count(at * 1_000, 0, Counter::HeapBytes, if at == 77_777 { 999 } else { 5 }));
        }
        let drawn = lines.drawn();
        let points = &drawn.first().unwrap().points;
        assert!(points.len() <= POINTS_MAX && points.len() > POINTS_MAX / 8, "{}", points.len());
        assert!(points.iter().any(|point| point.1 == 999));
    }
}
