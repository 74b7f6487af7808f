//! `rtscope report A --compare B`: reads and analyses one of both. `report` compares them.

use rtscope_analyze::compare::sample::Samples;
use rtscope_read::input::{self, Input};
use rtscope_read::pipeline;
use rtscope_report::compared::Analysed;
use rtscope_terminal::user_error::UserError;

/// Reads and analyses one FILE; `for_page` includes what only a page draws.
pub fn analyse(path: &std::path::Path, options: &pipeline::Options, for_page: bool) -> Result<Analysed, UserError> {
    let input = input::open(path, options.version.as_deref())?;
    let mut samples = Samples::default();
    let analyse = if for_page { pipeline::analyse_for_page } else { pipeline::analyse };
    let (results, names) = analyse(&input, options, &mut |pause, _, _| samples.add(pause))?;
    let manifest = match input {
        Input::Capture(capture) => Some(capture.manifest().clone()),
        Input::Log(log) => log.facts().manifest,
    };
    Ok(Analysed { results, samples, names, manifest })
}
