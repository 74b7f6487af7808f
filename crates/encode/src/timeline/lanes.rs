//! A lane's segments from `rtscope-analyze` as nested spans: its part in a collection, around its states during it.
//! Owns that layout; refuses to recognise anything.

use super::stack::{Stack, Step};
use super::state::State;
use rtscope_analyze::basis::compose::Segment;
use rtscope_analyze::lanes::timeline::{self, Doing};
use rtscope_model::{LaneState, Time};

/// The part of a lane in a collection that is being drawn.
#[derive(Copy, Clone, Debug)]
pub struct OpenPart {
    pub of: timeline::LanePart,
    /// As far as its segments are known.
    pub until: Time,
}

/// Draws the next segment of a lane; `every_run`: every run of a green thread is recorded.
pub fn nest(
    stack: &mut Stack,
    part: &mut Option<OpenPart>,
    piece: &Segment<Doing>,
    every_run: bool,
    steps: &mut Vec<Step>,
) {
    let Segment { from, to, state: Doing { state, green, part: within } } = *piece;
    if let Some(over) = part.take_if(|part| Some(part.of) != within || part.until != from) {
        stack.close_all(over.until, steps);
    }
    if let Some(of) = within {
        if part.is_none() {
            stack.open(from, if of.leads { State::Leads } else { State::Follows }, steps);
        }
        *part = Some(OpenPart { of, until: to });
    }
    let drawn = match (state, green) {
        (LaneState::Program, Some(green)) if every_run => State::Program(green),
        (LaneState::Program, _) => State::Outside,
        // The span of its part shows this; idle lanes and gaps have no span.
        (LaneState::WaitingForOthers | LaneState::Idle | LaneState::Gap, _) => return,
        (state, _) => State::Lane(state),
    };
    if from < to {
        stack.leaf(from, to, drawn, steps);
    }
}
