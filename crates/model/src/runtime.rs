//! The runtimes known to this process: those of [`crate::runtimes`], and those that a program [`register`]s before
//! it reads anything.

pub use crate::runtime_info::{Change, ForeignCall, Knobs, LaneThreads, OwnArgs, Posts, RuntimeInfo, UNKNOWN};

use crate::runtimes;
use std::sync::{PoisonError, RwLock};

static REGISTERED: RwLock<Vec<&'static RuntimeInfo>> = RwLock::new(Vec::new());

/// Registers a runtime; an already known id is ignored.
pub fn register(info: &'static RuntimeInfo) {
    if find(Some(info.id)) == &UNKNOWN && info.is_known() {
        REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(info);
    }
}

/// The runtime with the id `id` in files; [`UNKNOWN`] if there is no id, or an unknown one.
pub fn find(id: Option<&str>) -> &'static RuntimeInfo {
    let Some(id) = id else { return &UNKNOWN };
    let known = runtimes::ALL.iter().copied().find(|info| info.id == id);
    let registered = || {
        let more = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
        more.iter().copied().find(|info| info.id == id)
    };
    known.or_else(registered).unwrap_or(&UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Setting;

    static FLINT: RuntimeInfo = RuntimeInfo { id: "flint-of-a-test", name: "Flint", ..UNKNOWN };

    #[test]
    fn an_unknown_runtime_is_unknown_until_it_is_registered() {
        assert_eq!(find(None), &UNKNOWN);
        assert_eq!(find(Some("")), &UNKNOWN);
        assert_eq!(find(Some(FLINT.id)), &UNKNOWN);
        assert_eq!((UNKNOWN.lanes_flag(2), UNKNOWN.sequential_flag()), (None, None));
        register(&FLINT);
        register(&UNKNOWN);
        assert_eq!(find(Some(FLINT.id)), &FLINT);
        assert!(!find(Some("")).is_known());
    }

    #[test]
    fn a_heap_to_keep_to_has_a_size() {
        let of = |info: &RuntimeInfo, bytes| info.heap_size_flag(bytes);
        assert_eq!(of(&runtimes::GHC, (300 << 20) + 1), Some(Setting::option("-H301m")));
        assert_eq!((of(&runtimes::OCAML, 1), of(&UNKNOWN, 1)), (None, None));
    }

    #[test]
    fn ids_are_unique() {
        let mut ids: Vec<_> = runtimes::ALL.iter().map(|info| info.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), runtimes::ALL.len());
    }
}
