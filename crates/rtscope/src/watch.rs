//! Who looks on while a recording is analysed: gets what the analysis gets, and its pauses.
//! Owns that contract; refuses to change what is analysed.

use crate::pipeline::OnPause;
use rtscope_analyze::Context;
use rtscope_analyze::lanes::timeline::{LaneShares, LanesOverTime};
use rtscope_analyze::results::BlamedPause;
use rtscope_encode::Tables;
use rtscope_model::manifest::Manifest;
use rtscope_model::{Classes, Event, Loss};

/// An onlooker.
pub trait Watch {
    /// Classes of runtime events that it wants beside those of the analysis. The analysis
    /// sees them too.
    fn classes(&self) -> Classes {
        Classes::NONE
    }

    /// What is known before the first event.
    fn start(&mut self, _context: &Context, _manifest: Option<&Manifest>) {}

    /// The next event, in time order.
    fn event(&mut self, _event: &Event, _tables: Tables<'_>) {}

    /// A pause that is over; they come nearly in order.
    fn pause(&mut self, _pause: &BlamedPause, _tables: Tables<'_>) {}

    /// Losses that were not known before.
    fn end(&mut self, _losses: &[Loss]) {}
}

/// Looks at pauses, and sums up for a page what lanes did.
pub struct Page<'a> {
    on_pause: OnPause<'a>,
    lanes: Option<LaneShares>,
}

impl<'a> Page<'a> {
    /// Pauses go to `on_pause` too.
    pub fn new(on_pause: OnPause<'a>) -> Page<'a> {
        Page { on_pause, lanes: None }
    }

    /// What the lanes did, when the recording is over.
    pub fn lanes(self) -> Option<LanesOverTime> {
        self.lanes.map(LaneShares::finish).filter(|found| !found.lanes.is_empty())
    }
}

impl Watch for Page<'_> {
    fn start(&mut self, context: &Context, _manifest: Option<&Manifest>) {
        self.lanes = Some(LaneShares::new(context));
    }

    fn event(&mut self, event: &Event, _tables: Tables<'_>) {
        if let Some(lanes) = &mut self.lanes {
            lanes.push(event);
        }
    }

    fn pause(&mut self, pause: &BlamedPause, tables: Tables<'_>) {
        (self.on_pause)(pause, tables.kernel, tables.symbols);
    }
}

/// Looks at pauses only.
pub struct Pauses<'a>(pub OnPause<'a>);

impl Watch for Pauses<'_> {
    fn pause(&mut self, pause: &BlamedPause, tables: Tables<'_>) {
        (self.0)(pause, tables.kernel, tables.symbols);
    }
}
