//! The line of states that `rtscope-analyze` recognises for a lane, as spans that nest: its part in a
//! collection around what it did in it. Owns that layout; refuses to recognise anything.

use super::stack::{Stack, Step};
use super::state::State;
use rtscope_analyze::basis::compose::Segment;
use rtscope_analyze::lanes::timeline::{self, Doing};
use rtscope_model::{LaneState, Time};

/// A lane's part in a collection that is drawn.
#[derive(Copy, Clone, Debug)]
pub struct Part {
    /// Which.
    pub of: timeline::Part,
    /// As far as its pieces are known.
    pub until: Time,
    /// Since when it stands still and not all others do: drawn as one span, whoever is waited for.
    pub still: Option<Time>,
}

/// What a log holds of runs of green threads.
#[derive(Copy, Clone, Debug)]
pub struct Runs {
    /// The runtime posts them.
    pub posted: bool,
    /// Each of them is there.
    pub every: bool,
}

/// Draws the next piece of a lane's line.
pub fn nest(stack: &mut Stack, part: &mut Option<Part>, piece: &Segment<Doing>, runs: Runs, steps: &mut Vec<Step>) {
    let Segment { from, to, state: Doing { state, green, part: within } } = *piece;
    if let Some(over) = part.take_if(|part| Some(part.of) != within || part.until != from) {
        if let Some(still) = over.still {
            span(stack, still, over.until, State::Lane(LaneState::WaitingToStop), steps);
        }
        stack.close_all(over.until, steps);
    }
    let Some(of) = within else {
        match (state, green) {
            (LaneState::Program, Some(green)) if runs.every => span(stack, from, to, State::Program(green), steps),
            (LaneState::Program, green) if green.is_some() || !runs.posted => {
                span(stack, from, to, State::Outside, steps);
            }
            (LaneState::WaitingToLead | LaneState::Slice, _) => span(stack, from, to, State::Lane(state), steps),
            // Nothing is known, or nothing is done.
            _ => {}
        }
        return;
    };
    let drawn = part.get_or_insert_with(|| {
        stack.open(from, if of.leads { State::Leads } else { State::Follows }, steps);
        Part { of, until: to, still: None }
    });
    drawn.until = to;
    if matches!(state, LaneState::WaitingForOthers | LaneState::WaitingToStop) && from < of.stopped {
        let still = *drawn.still.get_or_insert(from);
        if to < of.stopped {
            return;
        }
        span(stack, still, of.stopped, State::Lane(LaneState::WaitingToStop), steps);
        drawn.still = None;
        return;
    }
    if let Some(still) = drawn.still.take() {
        span(stack, still, from, State::Lane(LaneState::WaitingToStop), steps);
    }
    match state {
        state if state.collects() => span(stack, from, to, State::Lane(LaneState::Collecting), steps),
        LaneState::Release => span(stack, from, to, State::Lane(state), steps),
        _ => {}
    }
}

fn span(stack: &mut Stack, from: Time, to: Time, state: State, steps: &mut Vec<Step>) {
    if from < to {
        stack.open(from, state, steps);
        stack.close(to, false, |open| open == state, steps);
    }
}
