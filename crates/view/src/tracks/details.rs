//! The strings that details of spans refer to. Owns their numbers; holds a bounded number of strings, and further
//! ones have number 0.

use indexmap::IndexSet;
use rtscope_model::NameId;
use std::collections::HashMap;

/// Maximum number of strings.
const STRINGS_MAX: usize = 1 << 16;
/// Maximum bytes of a string.
const BYTES_MAX: usize = 256;

/// The table that a name is from.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub enum NameSource {
    Kernel,
    /// Names of user events.
    User,
}

#[derive(Default)]
pub struct Details {
    /// Strings that are not empty; their numbers begin with 1.
    strings: IndexSet<String>,
    /// The numbers of names that were looked up before.
    known: HashMap<(NameSource, NameId), u32>,
}

impl Details {
    /// The number of `text`; 0 if it is empty or has no room.
    pub fn of(&mut self, text: &str) -> u32 {
        let end = (0..=text.len().min(BYTES_MAX)).rev().find(|end| text.is_char_boundary(*end));
        let text = text.get(..end.unwrap_or(0)).unwrap_or_default();
        let place = match self.strings.get_index_of(text) {
            Some(place) => place,
            None if text.is_empty() || self.strings.len() + 1 >= STRINGS_MAX => return 0,
            None => self.strings.insert_full(text.into()).0,
        };
        place as u32 + 1
    }

    /// The number of a name; `text` resolves it.
    pub fn name<'t>(&mut self, table: NameSource, name: NameId, text: impl FnOnce() -> &'t str) -> u32 {
        if let Some(number) = self.known.get(&(table, name)) {
            return *number;
        }
        let number = self.of(text());
        if number != 0 && self.known.len() < STRINGS_MAX {
            self.known.insert((table, name), number);
        }
        number
    }

    /// All strings by number; the first is empty.
    pub fn strings(self) -> Vec<String> {
        std::iter::once(String::new()).chain(self.strings).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number_and_nothing_has_none() {
        let mut details = Details::default();
        assert_eq!([details.of(""), details.of("a"), details.of("b"), details.of("a")], [0, 1, 2, 1]);
        assert_eq!(details.name(NameSource::User, NameId(7), || "b"), 2);
        assert_eq!(details.name(NameSource::User, NameId(7), || unreachable!()), 2);
        assert_eq!(details.name(NameSource::Kernel, NameId(7), || "c"), 3);
        assert_eq!(details.strings(), ["", "a", "b", "c"]);
    }

    #[test]
    fn strings_have_bounds() {
        let mut details = Details::default();
        assert!((0..STRINGS_MAX * 2).all(|number| (details.of(&number.to_string()) as usize) < STRINGS_MAX));
        let long = "ä".repeat(BYTES_MAX);
        let mut details = Details::default();
        details.of(&long);
        assert!(details.strings().iter().all(|text| text.len() <= BYTES_MAX));
    }
}
