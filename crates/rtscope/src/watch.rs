//! Who looks on while a recording is analysed: gets what the analysis gets, and its pauses.
//! Owns that contract; refuses to change what is analysed.

use crate::pipeline::OnPause;
use rtscope_analyze::Context;
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

/// Looks at pauses only.
pub struct Pauses<'a>(pub OnPause<'a>);

impl Watch for Pauses<'_> {
    fn pause(&mut self, pause: &BlamedPause, tables: Tables<'_>) {
        (self.0)(pause, tables.kernel, tables.symbols);
    }
}
