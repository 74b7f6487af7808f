//! Observers of an analysis, which see the events and the pauses that it sees. Owns that contract; refuses to
//! change what is analysed.

use rtscope_analyze::basis::compose::Segment;
use rtscope_analyze::lanes::timeline::{Doing, LaneDetail};
use rtscope_analyze::results::{BlamedPause, LanesOverTime};
use rtscope_analyze::window::Window;
use rtscope_analyze::{AccountPart, Context};
use rtscope_encode::Tables;
use rtscope_model::manifest::Manifest;
use rtscope_model::{Classes, Event, LaneId, Loss, Names, Symbols};

/// Called for each pause, in order, with the names and the symbols that its causes refer to.
pub type OnPause<'a> = &'a mut dyn FnMut(&BlamedPause, &Names, &Symbols);

/// Receives every event of an analysis in time order, and each pause once it is finished.
pub trait Observer {
    /// Classes of runtime events that it wants in addition to those of the analysis, which sees them too.
    fn classes(&self) -> Classes {
        Classes::NONE
    }

    /// What is known before the first event.
    fn start(&mut self, _context: &Context, _manifest: Option<&Manifest>) {}

    /// How much detail about lanes it wants.
    fn lanes(&self) -> LaneDetail {
        LaneDetail::Pauses
    }

    /// Whether it uses more of the results than losses, pauses and how the kernel was observed.
    fn figures(&self) -> bool {
        true
    }

    /// A piece of a lane's history, before the event that revealed it.
    fn segment(&mut self, _lane: LaneId, _piece: &Segment<Doing>, _tables: Tables<'_>) {}

    /// Whether it wants to know what lane time counts as.
    fn wants_parts(&self) -> bool {
        false
    }

    /// What a lane's time counts as, once that is settled; pieces of one lane come in order.
    fn part(&mut self, _lane: LaneId, _piece: &Segment<AccountPart>, _tables: Tables<'_>) {}

    /// The next event, in time order.
    fn event(&mut self, _event: &Event, _tables: Tables<'_>) {}

    /// A finished pause; they arrive nearly in order.
    fn pause(&mut self, _pause: &BlamedPause, _tables: Tables<'_>) {}

    /// Losses that were not known before.
    fn end(&mut self, _losses: &[Loss]) {}
}

/// Receives pauses.
pub struct Pauses<'a> {
    /// Called with each pause.
    pub on_pause: OnPause<'a>,
    /// Sums up what lanes did for a page; `None`: no page is made.
    pub lanes: Option<LanesOverTime>,
}

impl Observer for Pauses<'_> {
    fn wants_parts(&self) -> bool {
        self.lanes.is_some()
    }

    fn part(&mut self, lane: LaneId, piece: &Segment<AccountPart>, _tables: Tables<'_>) {
        if let Some(lanes) = &mut self.lanes {
            lanes.add(lane, (piece.from, piece.to), piece.state.lane_time());
        }
    }

    fn pause(&mut self, pause: &BlamedPause, tables: Tables<'_>) {
        (self.on_pause)(pause, tables.kernel, tables.symbols);
    }
}

impl Observer for Window {
    fn event(&mut self, event: &Event, _tables: Tables<'_>) {
        Window::event(self, event);
    }

    fn pause(&mut self, pause: &BlamedPause, _tables: Tables<'_>) {
        Window::pause(self, pause);
    }
}
