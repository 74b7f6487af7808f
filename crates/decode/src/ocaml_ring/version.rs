//! Versions of OCaml whose rings can be read, and how the version of a ring is known. Refuses names that it does not
//! know: the numbers of phases differ between versions.

use super::error::RingError;
use std::fmt;

rtscope_model::listed! {
    /// A version of OCaml, as far as it matters for rings.
    #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
    pub enum Version: as_str {
        /// 5.0: no events of the program's own, no names.
        V5_0 = "5.0",
        /// 5.1: events of the program's own, with names.
        V5_1 = "5.1",
        /// 5.2: compaction.
        V5_2 = "5.2",
        /// 5.3: phases of memprof are inserted, which shifts the numbers after them.
        V5_3 = "5.3",
        /// 5.4: posts how long a domain tries to become leader.
        V5_4 = "5.4",
        /// 5.5: as described by its issues.
        V5_5 = "5.5",
    }
}

impl Version {
    /// Parses a text such as `5.4`, `5.4.1`, `5.4.0~beta1` or `5.4.1+trunk`.
    ///
    /// # Errors
    /// [`RingError::UnknownVersion`]: any other text.
    pub fn parse(text: &str) -> Result<Version, RingError> {
        let known = |version: &&Version| {
            let rest = text.trim().strip_prefix(version.as_str());
            rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
        };
        let unknown = || RingError::UnknownVersion { text: text.trim().to_owned() };
        Version::ALL.iter().find(known).copied().ok_or_else(unknown)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How the version of a ring is known.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum VersionSource {
    /// The caller gave it, from the program's file or from the user. The events agree.
    Caller,
    /// The events themselves.
    Stream,
}

/// The version of a ring. If the events leave two open, both have the same numbers for everything in it.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct WrittenBy {
    pub oldest: Version,
    pub newest: Version,
    pub by: VersionSource,
}

impl fmt::Display for WrittenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.oldest == self.newest {
            true => self.oldest.fmt(f),
            false => write!(f, "{} or {}", self.oldest, self.newest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_known_by_its_first_two_numbers() {
        let ok = [("5.4", Version::V5_4), ("5.3.0", Version::V5_3), ("5.5.0~rc1", Version::V5_5)];
        for (text, version) in ok.into_iter().chain([(" 5.1.1+dev2\n", Version::V5_1)]) {
            assert_eq!(Version::parse(text).ok(), Some(version), "{text}");
        }
        for text in ["", "5", "5.", "5.6", "5.6.0", "4.14.1", "5.40", "trunk", "5.4x", "15.4"] {
            let error = Version::parse(text).expect_err(text).to_string();
            assert!(error.contains("--ocaml-version") && error.contains(text.trim()), "{error}");
        }
    }
}
