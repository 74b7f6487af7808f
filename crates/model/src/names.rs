//! Interned strings, so that events stay small and copyable.

use std::collections::HashMap;

/// Id of a string in a [`Names`] table.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default)]
pub struct NameId(pub u32);

/// An append-only table of strings. Entry 0 is the empty string.
#[derive(Clone, Debug)]
pub struct Names {
    strings: Vec<Box<str>>,
    index: HashMap<Box<str>, NameId>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Names { strings: Vec::new(), index: HashMap::new() };
        names.intern("");
        names
    }
}

impl Names {
    /// The id of `text`, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> NameId {
        if let Some(id) = self.index.get(text) {
            return *id;
        }
        let id = NameId(self.strings.len() as u32);
        self.strings.push(text.into());
        self.index.insert(text.into(), id);
        id
    }

    /// The string with the id `id`; empty for an id of another table.
    pub fn get(&self, id: NameId) -> &str {
        self.strings.get(id.0 as usize).map_or("", |text| text)
    }
}
