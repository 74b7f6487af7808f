//! The line of states that `rtscope-analyze` recognises for a lane, as spans that nest: its part in a
//! collection around what it did in it. Owns that layout; refuses to recognise anything.

use super::stack::{Stack, Step};
use super::state::{State, Work};
use rtscope_analyze::timeline::{self, Doing, LaneState, Segment};
use rtscope_model::Time;

/// A lane's part in a collection that is drawn.
#[derive(Copy, Clone, Debug)]
pub struct Part {
    /// Which.
    pub of: timeline::Part,
    /// As far as its pieces are known.
    pub until: Time,
}

/// Draws the next piece of a lane's line. Of a program's run the thread is told where `every` run is known.
pub fn nest(stack: &mut Stack, part: &mut Option<Part>, piece: &Segment<Doing>, every: bool, steps: &mut Vec<Step>) {
    let Segment { from, to, state: Doing { state, green, part: within } } = *piece;
    if let Some(over) = part.take_if(|part| Some(part.of) != within || part.until != from) {
        stack.close_all(over.until, steps);
    }
    let Some(of) = within else {
        match (state, green) {
            (LaneState::Program, Some(green)) if every => span(stack, from, to, State::Program(green), steps),
            (LaneState::Program, Some(_)) => span(stack, from, to, State::Outside, steps),
            // Nothing is known, or nothing is done.
            _ => {}
        }
        return;
    };
    if part.is_none() {
        stack.open(from, if of.leads { State::Leads } else { State::Follows }, steps);
    }
    *part = Some(Part { of, until: to });
    match state {
        LaneState::WaitingForOthers => span(stack, from, to.min(of.stopped), State::WaitingToStop, steps),
        LaneState::Collecting(_) => span(stack, from, to, State::Collecting(Work::Any), steps),
        LaneState::Release => span(stack, from, to, State::Release, steps),
        _ => {}
    }
}

fn span(stack: &mut Stack, from: Time, to: Time, state: State, steps: &mut Vec<Step>) {
    if from < to {
        stack.open(from, state, steps);
        stack.close(to, false, |open| open == state, steps);
    }
}
