//! Names of user events. Owns looking them up when an event first needs one: an event can precede its name.

use super::captured::NAME;
use super::layout::{Container, Layout, name};
use crate::source::ReadAt;
use rtscope_model::{NameId, Names};
use std::collections::HashMap;

/// Limit of look-ups for an id whose name is missing.
const TRIES: u8 = 16;
/// Name under which the program's own library posts each domain's thread.
const THREAD: &str = "rtscope.thread";

/// Ids to names.
#[derive(Default)]
pub(super) struct UserNames {
    pub(super) names: Names,
    ids: HashMap<u16, Id>,
}

#[derive(Copy, Clone)]
struct Id {
    name: NameId,
    is_thread: bool,
    /// Number of look-ups that failed.
    tries: u8,
}

impl UserNames {
    /// The name of user event `id`; `user event N`: it has none. Also whether the name marks a domain's thread.
    pub(super) fn of(&mut self, id: u16, layout: &Layout, source: &dyn ReadAt) -> (NameId, bool) {
        let known = self.ids.get(&id).copied();
        if let Some(known) = known.filter(|known| known.tries == 0 || known.tries >= TRIES) {
            return (known.name, known.is_thread);
        }
        let found = find(id, layout, source);
        let tries = if found.is_some() { 0 } else { known.map_or(0, |known| known.tries) + 1 };
        let text = found.unwrap_or_else(|| format!("user event {id}"));
        let name = self.names.intern(&text);
        self.ids.insert(id, Id { name, is_thread: text == THREAD, tries });
        (name, text == THREAD)
    }
}

fn find(id: u16, layout: &Layout, source: &dyn ReadAt) -> Option<String> {
    match &layout.container {
        Container::Captured(frames) => frames.names.get(&id).cloned(),
        Container::File { names: 0, .. } => None,
        Container::File { names, .. } => {
            let mut bytes = [0; NAME];
            let count = source.read_full(&mut bytes, names + u64::from(id) * NAME as u64).ok()?;
            name(bytes.get(..count)?)
        }
    }
}
