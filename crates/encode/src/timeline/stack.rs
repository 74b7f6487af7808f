//! The open spans of one track, innermost last. Owns nesting: an end closes the spans inside, or reopens them; time
//! never runs backwards.

use super::State;
use rtscope_model::Time;

/// Limit of nested open spans; deeper ones are left out.
const DEPTH_MAX: usize = 64;

/// A finished span.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Closed {
    pub state: State,
    pub from: Time,
    pub to: Time,
    /// Number of enclosing spans.
    pub depth: u32,
    /// Its length without inner spans, in nanoseconds.
    pub self_ns: u64,
}

#[derive(Copy, Clone, Debug)]
struct OpenSpan {
    state: State,
    from: Time,
    inner_ns: u64,
}

/// A change of a track.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Step {
    /// A span begins.
    Open(State, Time),
    /// The innermost span ends.
    Close(Closed),
    /// A span without inner ones begins and ends.
    Leaf(Closed),
}

/// The open spans of one track.
#[derive(Default, Debug)]
pub struct Stack {
    frames: Vec<OpenSpan>,
    now: Time,
}

impl Stack {
    pub fn has(&self, state: State) -> bool {
        self.frames.iter().any(|frame| frame.state == state)
    }

    /// Opens `state` inside the open spans.
    pub fn open(&mut self, at: Time, state: State, steps: &mut Vec<Step>) {
        self.now = self.now.max(at);
        if self.frames.len() >= DEPTH_MAX {
            return;
        }
        self.frames.push(OpenSpan { state, from: self.now, inner_ns: 0 });
        steps.push(Step::Open(state, self.now));
    }

    /// Opens and closes `state` inside the open spans.
    pub fn leaf(&mut self, from: Time, to: Time, state: State, steps: &mut Vec<Step>) {
        let from = self.now.max(from);
        self.now = from;
        if self.frames.len() >= DEPTH_MAX {
            return;
        }
        self.now = from.max(to);
        let whole_ns = self.now.since(from);
        self.surround(whole_ns);
        let (to, depth) = (self.now, self.frames.len() as u32);
        steps.push(Step::Leaf(Closed { state, from, to, depth, self_ns: whole_ns }));
    }

    /// Accounts for an inner span of this length.
    fn surround(&mut self, inner_ns: u64) {
        if let Some(outer) = self.frames.last_mut() {
            outer.inner_ns = outer.inner_ns.saturating_add(inner_ns);
        }
    }

    /// Closes the innermost span of `state`, and reopens the spans inside it. Does nothing if there is none.
    pub fn close(&mut self, at: Time, state: State, steps: &mut Vec<Step>) {
        let Some(place) = self.frames.iter().rposition(|frame| frame.state == state) else { return };
        self.now = self.now.max(at);
        // Usually there are none; an empty list takes no memory.
        let inside: Vec<State> = self.frames.iter().skip(place + 1).map(|frame| frame.state).collect();
        (0..=inside.len()).for_each(|_| self.pop(steps));
        inside.into_iter().for_each(|state| self.open(at, state, steps));
    }

    pub fn close_all(&mut self, at: Time, steps: &mut Vec<Step>) {
        self.now = self.now.max(at);
        while !self.frames.is_empty() {
            self.pop(steps);
        }
    }

    fn pop(&mut self, steps: &mut Vec<Step>) {
        let Some(frame) = self.frames.pop() else { return };
        let whole_ns = self.now.since(frame.from);
        self.surround(whole_ns);
        let OpenSpan { state, from, inner_ns } = frame;
        let (to, depth, self_ns) = (self.now, self.frames.len() as u32, whole_ns.saturating_sub(inner_ns));
        steps.push(Step::Close(Closed { state, from, to, depth, self_ns }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtscope_model::LaneState;

    const STATES: [State; 4] =
        [State::Leads, State::Lane(LaneState::WaitingToStop), State::Lane(LaneState::Slice), State::Outside];

    /// Checks the order of one track's steps; returns the sum of all `self_ns`.
    fn check(steps: &[Step]) -> u64 {
        let mut open: Vec<(State, Time)> = Vec::new();
        let (mut now, mut own_ns) = (Time(0), 0);
        for step in steps {
            match *step {
                Step::Open(state, at) => {
                    assert!(at >= now);
                    now = at;
                    open.push((state, at));
                }
                Step::Close(closed) => {
                    assert_eq!(open.pop(), Some((closed.state, closed.from)));
                    assert!(closed.to >= now && closed.depth as usize == open.len());
                    now = closed.to;
                    own_ns += closed.self_ns;
                }
                Step::Leaf(closed) => {
                    assert!(closed.from >= now && closed.to >= closed.from && closed.depth as usize == open.len());
                    assert_eq!(closed.self_ns, closed.to.since(closed.from));
                    now = closed.to;
                    own_ns += closed.self_ns;
                }
            }
        }
        assert!(open.is_empty(), "{open:?}");
        own_ns
    }

    #[test]
    fn what_does_not_nest_is_cut_and_continues() {
        let (mut stack, mut steps) = (Stack::default(), Vec::new());
        stack.open(Time(10), State::Outside, &mut steps);
        stack.open(Time(20), State::Follows, &mut steps);
        stack.close(Time(30), State::Outside, &mut steps);
        stack.close(Time(35), State::Lane(LaneState::Slice), &mut steps);
        stack.close(Time(40), State::Follows, &mut steps);
        let closed = |state, from, to, depth, self_ns| {
            Step::Close(Closed { state, from: Time(from), to: Time(to), depth, self_ns })
        };
        let expected = [
            Step::Open(State::Outside, Time(10)),
            Step::Open(State::Follows, Time(20)),
            closed(State::Follows, 20, 30, 1, 10),
            closed(State::Outside, 10, 30, 0, 10),
            Step::Open(State::Follows, Time(30)),
            closed(State::Follows, 30, 40, 0, 10),
        ];
        assert_eq!(steps, expected);
        assert_eq!(check(&steps), 30);
    }

    #[test]
    fn depth_is_bounded() {
        let (mut stack, mut steps) = (Stack::default(), Vec::new());
        (0..1_000).for_each(|at| stack.open(Time(at), State::Lane(LaneState::Slice), &mut steps));
        assert_eq!(steps.len(), DEPTH_MAX);
    }

    proptest! {
        #[test]
        fn whatever_is_posted_nests(acts in prop::collection::vec((0..1_000u64, 0..4usize, 0..4u8), 0..200)) {
            let (mut stack, mut steps) = (Stack::default(), Vec::new());
            for (at, state, act) in acts {
                let state = STATES[state];
                match act {
                    0 | 1 => stack.open(Time(at), state, &mut steps),
                    3 => stack.leaf(Time(at), Time(at + 10), state, &mut steps),
                    _ => stack.close(Time(at), state, &mut steps),
                }
            }
            stack.close_all(Time(1_000), &mut steps);
            let outermost: u64 = steps.iter().map(|step| match step {
                Step::Close(closed) | Step::Leaf(closed) if closed.depth == 0 => closed.to.since(closed.from),
                _ => 0,
            }).sum();
            prop_assert_eq!(check(&steps), outermost);
        }
    }
}
