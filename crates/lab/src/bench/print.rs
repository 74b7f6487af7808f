//! Output of experiments, the same for all of them: what is printed and which files are written.

use rtscope_draw::present::Section;
use rtscope_model::units;
use rtscope_terminal::present;
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Style, Tone};
use rtscope_terminal::user_error::{UserError, print_results};
use rtscope_tune::stats::{INTERVAL_FROM, Median};
use serde::Serialize;
use std::fs;
use std::path::Path;

/// Prints what was found as `text` or as one JSON document, and writes both into the requested folder: as files
/// of this `name`, along with what was `drawn`.
pub fn show(
    (folder, as_json): (Option<&Path>, bool),
    name: &str,
    found: &impl Serialize,
    text: impl Fn(&Style) -> String,
    drawn: impl FnOnce() -> Vec<(String, String)>,
) -> Result<(), UserError> {
    let document = rtscope_terminal::style::json(found)
        .map_err(|error| UserError::new("cannot put the results into JSON").because(error))?;
    if let Some(folder) = folder {
        write(folder, format!("{name}.txt"), &text(&Style::plain(100)))?;
        write(folder, format!("{name}.json"), &document)?;
        drawn().into_iter().try_for_each(|(name, content)| write(folder, name, &content))?;
    }
    print_results(&if as_json { document + "\n" } else { text(&Style::of_stdout()) })
}

/// Writes a file into `folder`, which is created if necessary.
fn write(folder: &Path, name: String, content: &str) -> Result<(), UserError> {
    let path = folder.join(name);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, content));
    written.map_err(|error| UserError::unwritable(&path, error).next("give another folder with --output"))
}

/// Numbers of workers or threads, ascending and without duplicates.
pub fn rising(numbers: &[u32]) -> Vec<u32> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The text of an experiment: its title, facts about all of it, its tables, notes on the measurement.
pub fn sheet(title: &str, facts: &[String], sections: &[Section<'_>], notes: &[String], style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.line(&style.paint(Tone::Strong, title));
    screen.line(&facts.join(style.dot()));
    sections.iter().for_each(|section| present::titled(&mut screen, section));
    screen.blank();
    notes.iter().for_each(|note| screen.paragraph("", 0, None, note));
    screen.finish()
}

/// Why there are no intervals if there are too few runs for them; `option` gives more.
pub fn too_few(runs: u32, option: &str) -> Option<String> {
    let few = (runs as usize) < INTERVAL_FROM;
    few.then(|| format!("An interval takes at least {INTERVAL_FROM} runs: give {option} {INTERVAL_FROM} or more."))
}

/// Facts about the whole experiment, a few words each.
pub fn facts(runs: u32, seed: u64, cpus: Option<usize>) -> Vec<String> {
    let runs = format!("{} of each", units::counted(u64::from(runs), "run", "runs"));
    let cpus = cpus.map(|cpus| units::counted(cpus as u64, "CPU", "CPUs"));
    [runs, format!("order of seed {seed}")].into_iter().chain(cpus).collect()
}

/// "1.2 to 1.4".
pub fn interval(found: &Median, shown: impl Fn(f64) -> String) -> String {
    found.interval.map_or_else(|| "-".into(), |(low, high)| format!("{} to {}", shown(low), shown(high)))
}
