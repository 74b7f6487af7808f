//! The known formats of runtimes' logs: each has its own folder, and a program may [`register`] more before it reads
//! anything. Owns the list; refuses to read a log.

pub use crate::log::{BATCH, Counted, Events, GrowingLog, HEAD, Log, LogError, LogFacts, LogFormat, Opening, Piece};
use crate::source::ReadAt;
use crate::{fxt, ghc_eventlog, ocaml_ring};
use std::sync::{PoisonError, RwLock};

static BUILT_IN: [&dyn LogFormat; 3] = [&ghc_eventlog::EventlogFormat, &ocaml_ring::RingFormat, &fxt::FxtFormat];
static REGISTERED: RwLock<Vec<&'static dyn LogFormat>> = RwLock::new(Vec::new());

/// Registers a format. Formats registered earlier are asked first.
pub fn register(format: &'static dyn LogFormat) {
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(format);
}

/// All known formats.
pub fn all() -> Vec<&'static dyn LogFormat> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    BUILT_IN.iter().chain(registered.iter()).copied().collect()
}

/// The format of a file that begins with `head`.
pub fn find(head: &[u8]) -> Option<&'static dyn LogFormat> {
    all().into_iter().find(|format| format.recognises(head))
}

/// The format that explains what is wrong with a file of unknown format.
pub fn first() -> &'static dyn LogFormat {
    BUILT_IN[0]
}

/// The first bytes of `source`, up to [`HEAD`].
pub fn head(source: &dyn ReadAt) -> Vec<u8> {
    let mut head = vec![0; HEAD];
    let count = source.read_full(&mut head, 0).unwrap_or(0);
    head.truncate(count);
    head
}

/// Checks that `version` is a known version for every format that depends on one.
///
/// # Errors
/// The error of such a format, if it does not know the version.
pub fn check_version(version: &str) -> Result<(), LogError> {
    all().into_iter().try_for_each(|format| format.check_version(version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Flints;

    impl LogFormat for Flints {
        fn recognises(&self, head: &[u8]) -> bool {
            head.starts_with(b"flints of a test")
        }

        fn open(&self, _: Opening<'_>) -> Result<Box<dyn Log>, LogError> {
            Err("it is of a test".into())
        }
    }

    #[test]
    fn a_registered_format_is_found_and_an_unknown_one_is_not() {
        let bytes = b"flints of a test, and more".to_vec();
        assert!(find(&bytes).is_none());
        register(&Flints);
        let format = find(&head(&bytes)).expect("is known");
        let opening = || Opening::new(Arc::new(bytes.clone()), "x");
        assert_eq!(format.open(opening()).err().map(|error| error.to_string()), Some("it is of a test".to_owned()));
        assert!(format.follow(opening(), true).is_err());
        let unknown = first().open(Opening::new(Arc::new(b"none".to_vec()), "x"));
        assert!(unknown.err().is_some_and(|error| error.to_string().contains("not a GHC eventlog")));
    }

    #[test]
    fn a_version_is_checked_by_the_format_that_needs_one() {
        assert!(check_version("5.4.1").is_ok());
        assert!(check_version("9.9").is_err());
    }
}
