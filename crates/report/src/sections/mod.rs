//! The content of a report, as sections in reading order, the same for every medium. Owns the order; refuses to compute
//! figures and to lay anything out.

pub mod compare;
mod findings;
mod memory;
mod pauses;
mod program;
pub mod requests;
pub mod stm;

use crate::{account, waits, words};
use rtscope_analyze::results::Results;
use rtscope_draw::present::{Block, Section, TextForm};

pub use findings::{cards, section as findings, verdict_in_short};
pub(crate) use memory::levels;
pub use pauses::longest;
pub(crate) use pauses::{causes, lanes};

/// What every medium shows, except for what is drawn for pages alone; sections may be empty.
pub fn all(results: &Results) -> Vec<Section<'_>> {
    vec![
        findings(results),
        requests::section(results),
        Section::new("account", "Where the time went", [account::run(results), account::slowest(results)].map(tree)),
        waited(results),
        pauses::section(results),
        pauses::distribution(results),
        pauses::over_time(results),
        pauses::lanes_over_time(results),
        pauses::utilisation(results),
        memory::section(results),
        memory::rates(results),
        stm::section(results),
        program::code(results),
        memory::allocation(results),
        program::user(results),
        program::concurrent(results),
        program::sparks(results),
    ]
}

fn tree(tree: Option<rtscope_draw::tree::Tree<'_>>) -> Option<Block<'_>> {
    tree.map(Block::Tree)
}

/// What threads waited for while lanes had nothing to run.
fn waited(results: &Results) -> Section<'_> {
    let found = results.waits.as_ref();
    let sentences = found.map(|found| waits::sentences(found, results.runtime.info())).unwrap_or_default();
    let basis = found.filter(|_| !sentences.is_empty()).map(|found| waits::basis(found) + ".");
    let blocks = [Block::text("Waited for", TextForm::List, sentences), Block::text("", TextForm::Faint, basis)];
    Section::new("waits", "What threads waited for", blocks)
}

/// The end of a report: what was not seen and what recording cost; `absent` says which sections a page lacks.
pub fn unseen(results: &Results, absent: Vec<String>, most: usize, more: fn(usize) -> String) -> Section<'_> {
    let mut items = absent;
    items.extend(words::losses(results));
    items = words::cut(items, most, more);
    items.extend(words::limits(results).into_iter().take(most));
    if items.is_empty() {
        items.push("Nothing is known to be missing.".to_owned());
    }
    let blocks = [
        Block::text("Not seen", TextForm::List, items),
        Block::text("Recording", TextForm::Faint, words::recording(results)),
    ];
    Section::new("losses", "What was not seen", blocks)
}
