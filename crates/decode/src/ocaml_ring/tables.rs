//! The numbers that OCaml's runtime gives to types of events, phases and counters, in one table for all versions.
//! Inside rtscope a phase has its number of 5.4, which has every phase of older versions.
//!
//! Source: `runtime_events.h` of 5.0.0 to 5.4.1, and the issues that 5.5 is based on.

use super::version::Version;

/// Types of events with bit 53 clear.
pub(super) mod kind {
    pub const INTERNAL: u8 = 0;
    pub const LIFECYCLE: u8 = 1;
    pub const BEGIN: u8 = 2;
    pub const END: u8 = 3;
    pub const COUNTER: u8 = 4;
    pub const ALLOC: u8 = 5;
    pub const FLUSH: u8 = 6;
}

/// Types of events with bit 53 set.
pub(super) mod user {
    pub const UNIT: u8 = 0;
    pub const INT: u8 = 1;
    pub const BEGIN: u8 = 2;
    pub const END: u8 = 3;
    pub const CUSTOM: u8 = 4;
}

/// Names of the types of user events.
pub(super) const USER_TYPES: [&str; 5] = ["unit", "int", "span_begin", "span_end", "custom"];

/// One phase.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct PhaseInfo {
    /// Its name in tools, the same in all versions.
    pub name: &'static str,
    /// Its number up to 5.2, where those versions write it.
    old: Option<u16>,
    /// The first version that writes it.
    pub since: Version,
}

macro_rules! phases {
    ($($number:literal $name:ident $text:literal $old:tt $since:ident;)*) => {
        // Most phases are only displayed.
        $(#[allow(dead_code)] pub(super) const $name: u16 = $number;)*

        /// Every phase, by its number in 5.4.
        pub const PHASES: &[PhaseInfo] =
            &[$(PhaseInfo { name: $text, old: phases!(@old $old), since: Version::$since },)*];
    };
    (@old -) => { None };
    (@old $old:literal) => { Some($old) };
}

// Number in 5.3 and later, constant, name, number up to 5.2, since.
phases! {
    0 EXPLICIT_GC_SET "explicit_gc_set" 0 V5_0;
    1 EXPLICIT_GC_STAT "explicit_gc_stat" 1 V5_0;
    2 EXPLICIT_GC_MINOR "explicit_gc_minor" 2 V5_0;
    3 EXPLICIT_GC_MAJOR "explicit_gc_major" 3 V5_0;
    4 EXPLICIT_GC_FULL_MAJOR "explicit_gc_full_major" 4 V5_0;
    5 EXPLICIT_GC_COMPACT "explicit_gc_compact" 5 V5_0;
    6 MAJOR "major" 6 V5_0;
    7 MAJOR_SWEEP "major_sweep" 7 V5_0;
    8 MAJOR_MARK_ROOTS "major_mark_roots" 8 V5_0;
    9 MAJOR_MEMPROF_ROOTS "major_memprof_roots" - V5_3;
    10 MAJOR_MARK "major_mark" 9 V5_0;
    11 MINOR "minor" 10 V5_0;
    12 MINOR_LOCAL_ROOTS "minor_local_roots" 11 V5_0;
    13 MINOR_MEMPROF_ROOTS "minor_memprof_roots" - V5_3;
    14 MINOR_MEMPROF_CLEAN "minor_memprof_clean" - V5_3;
    15 MINOR_FINALIZED "minor_finalized" 12 V5_0;
    16 EXPLICIT_GC_MAJOR_SLICE "explicit_gc_major_slice" 13 V5_0;
    17 FINALISE_UPDATE_FIRST "finalise_update_first" 14 V5_0;
    18 FINALISE_UPDATE_LAST "finalise_update_last" 15 V5_0;
    19 INTERRUPT_REMOTE "interrupt_remote" 16 V5_0;
    20 MAJOR_EPHE_MARK "major_ephe_mark" 17 V5_0;
    21 MAJOR_EPHE_SWEEP "major_ephe_sweep" 18 V5_0;
    22 MAJOR_FINISH_MARKING "major_finish_marking" 19 V5_0;
    23 MAJOR_GC_CYCLE_DOMAINS "major_gc_cycle_domains" 20 V5_0;
    24 MAJOR_GC_PHASE_CHANGE "major_gc_phase_change" 21 V5_0;
    25 MAJOR_GC_STW "major_gc_stw" 22 V5_0;
    26 MAJOR_MARK_OPPORTUNISTIC "major_mark_opportunistic" 23 V5_0;
    27 MAJOR_SLICE "major_slice" 24 V5_0;
    28 MAJOR_FINISH_CYCLE "major_finish_cycle" 25 V5_0;
    29 MINOR_CLEAR "minor_clear" 26 V5_0;
    30 MINOR_FINALIZERS_OLDIFY "minor_finalizers_oldify" 27 V5_0;
    31 MINOR_GLOBAL_ROOTS "minor_global_roots" 28 V5_0;
    32 MINOR_LEAVE_BARRIER "minor_leave_barrier" 29 V5_0;
    33 STW_API_BARRIER "stw_api_barrier" 30 V5_0;
    34 STW_HANDLER "stw_handler" 31 V5_0;
    35 STW_LEADER "stw_leader" 32 V5_0;
    36 MAJOR_FINISH_SWEEPING "major_finish_sweeping" 33 V5_0;
    37 MAJOR_MEMPROF_CLEAN "major_memprof_clean" - V5_3;
    38 MINOR_FINALIZERS_ADMIN "minor_finalizers_admin" 34 V5_0;
    39 MINOR_REMEMBERED_SET "minor_remembered_set" 35 V5_0;
    40 MINOR_REMEMBERED_SET_PROMOTE "minor_remembered_set_promote" 36 V5_0;
    41 MINOR_LOCAL_ROOTS_PROMOTE "minor_local_roots_promote" 37 V5_0;
    42 DOMAIN_CONDITION_WAIT "domain_condition_wait" 38 V5_0;
    43 DOMAIN_RESIZE_HEAP_RESERVATION "domain_resize_heap_reservation" 39 V5_0;
    44 COMPACT "compaction" 40 V5_2;
    45 COMPACT_EVACUATE "compaction_evacuate" 41 V5_2;
    46 COMPACT_FORWARD "compaction_forward" 42 V5_2;
    47 COMPACT_RELEASE "compaction_release" 43 V5_2;
    48 EMPTY_MINOR "empty_minor" - V5_4;
    49 MINOR_EPHE_CLEAN "minor_ephe_clean" - V5_4;
}

/// Numbers up to 5.2 of the phases that identify the version.
pub(super) mod old {
    pub const MINOR: u16 = 10;
}

/// The phase with number `id` in `version`, as its number in 5.4.
pub(super) fn phase(version: Version, id: u16) -> Option<u16> {
    let found = match version {
        Version::V5_0 | Version::V5_1 | Version::V5_2 => {
            PHASES.iter().position(|phase| phase.old == Some(id)).and_then(|index| u16::try_from(index).ok())
        }
        _ => Some(id),
    }?;
    PHASES.get(usize::from(found)).filter(|phase| phase.since <= version).map(|_| found)
}

/// The name of a phase by its number in 5.4, as in [`rtscope_model::Phase::Detail`]. Empty for an unused number.
pub fn phase_name(phase: u16) -> &'static str {
    PHASES.get(usize::from(phase)).map_or("", |info| info.name)
}

/// Counters by number: name and first version that writes it. Numbers are the same in all versions.
pub(crate) const COUNTERS: [(&str, Version); 28] = [
    ("force_minor_alloc_small", Version::V5_0),
    ("force_minor_make_vect", Version::V5_0),
    ("force_minor_set_minor_heap_size", Version::V5_0),
    ("force_minor_memprof", Version::V5_0),
    ("minor_promoted", Version::V5_0),
    ("minor_allocated", Version::V5_0),
    ("request_major_alloc_shr", Version::V5_0),
    ("request_major_adjust_gc_speed", Version::V5_0),
    ("request_minor_realloc_ref_table", Version::V5_0),
    ("request_minor_realloc_ephe_ref_table", Version::V5_0),
    ("request_minor_realloc_custom_table", Version::V5_0),
    ("major_heap_pool_words", Version::V5_1),
    ("major_heap_pool_live_words", Version::V5_1),
    ("major_heap_large_words", Version::V5_1),
    ("major_heap_pool_frag_words", Version::V5_1),
    ("major_heap_pool_live_blocks", Version::V5_1),
    ("major_heap_large_blocks", Version::V5_1),
    ("major_heap_words", Version::V5_3),
    ("major_allocated_words", Version::V5_3),
    ("major_allocated_work", Version::V5_3),
    ("major_dependent_work", Version::V5_3),
    ("major_extra_work", Version::V5_3),
    ("major_work_counter", Version::V5_3),
    ("major_alloc_counter", Version::V5_3),
    ("major_slice_target", Version::V5_3),
    ("major_slice_budget", Version::V5_3),
    ("minor_allocated_words", Version::V5_5),
    ("minor_promoted_words", Version::V5_5),
];

/// Counters that are read.
pub(super) mod counter {
    /// In bytes, despite its documentation.
    pub const MINOR_PROMOTED: u16 = 4;
    /// In bytes, despite its documentation.
    pub const MINOR_ALLOCATED: u16 = 5;
    pub const POOL_WORDS: u16 = 11;
    pub const POOL_LIVE_WORDS: u16 = 12;
    pub const LARGE_WORDS: u16 = 13;
    /// The last of the six that are posted together.
    pub const LARGE_BLOCKS: u16 = 16;
    pub const HEAP_WORDS: u16 = 17;
    /// Work of a slice in words, by origin: allocation in the major heap, memory that depends on its blocks, and
    /// resources that they hold.
    pub const ALLOCATED_WORK: u16 = 19;
    pub const DEPENDENT_WORK: u16 = 20;
    pub const EXTRA_WORK: u16 = 21;
}

/// Names of lifecycle events by number, the same in all versions.
pub(super) const LIFECYCLE: [&str; 8] = [
    "ring_start",
    "ring_stop",
    "ring_pause",
    "ring_resume",
    "fork_parent",
    "fork_child",
    "domain_spawn",
    "domain_terminate",
];

/// Lifecycle events that are used here.
pub(super) mod lifecycle {
    pub const RING_START: u16 = 0;
    pub const RING_STOP: u16 = 1;
    pub const RING_RESUME: u16 = 3;
    pub const FORK_PARENT: u16 = 4;
    pub const DOMAIN_SPAWN: u16 = 6;
    pub const DOMAIN_TERMINATE: u16 = 7;
}

/// Whether `version` writes the counter `id`.
pub(super) fn has_counter(version: Version, id: u16) -> bool {
    COUNTERS.get(usize::from(id)).is_some_and(|(_, since)| *since <= version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_numbers_its_phases_without_a_hole() {
        for (version, count) in Version::ALL.into_iter().zip([40, 40, 44, 48, 50, 50]) {
            let known: Vec<u16> = (0..100).filter_map(|id| phase(version, id)).collect();
            assert_eq!(known.len(), count, "{version}");
            assert!((0..count as u16).all(|id| phase(version, id).is_some()), "{version}");
            assert!(known.windows(2).all(|pair| pair[0] < pair[1]), "{version}");
        }
    }

    #[test]
    fn the_same_phase_has_other_numbers_in_other_versions() {
        assert_eq!(phase(Version::V5_2, 32), Some(STW_LEADER));
        assert_eq!(phase(Version::V5_3, 32), Some(MINOR_LEAVE_BARRIER));
        assert_eq!(phase(Version::V5_1, old::MINOR), Some(MINOR));
        assert_eq!((phase(Version::V5_1, 40), phase(Version::V5_2, 40)), (None, Some(COMPACT)));
        assert_eq!((phase(Version::V5_3, 48), phase(Version::V5_4, 48)), (None, Some(EMPTY_MINOR)));
        assert_eq!(phase_name(MAJOR_FINISH_SWEEPING), "major_finish_sweeping");
        assert_eq!(phase_name(50), "");
    }
}
