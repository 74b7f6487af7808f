//! Names of phases as OCaml's tools show them, in every version alike, and what each is
//! to rtscope. Owns the way from a name to a [`Phase`] and back.

use rtscope_model::Phase;

/// Display names by the phase's number in OCaml 5.4: what [`Phase::Detail`] holds.
const NAMES: [&str; 50] = [
    "explicit_gc_set",
    "explicit_gc_stat",
    "explicit_gc_minor",
    "explicit_gc_major",
    "explicit_gc_full_major",
    "explicit_gc_compact",
    "major",
    "major_sweep",
    "major_mark_roots",
    "major_memprof_roots",
    "major_mark",
    "minor",
    "minor_local_roots",
    "minor_memprof_roots",
    "minor_memprof_clean",
    "minor_finalized",
    "explicit_gc_major_slice",
    "finalise_update_first",
    "finalise_update_last",
    "interrupt_remote",
    "major_ephe_mark",
    "major_ephe_sweep",
    "major_finish_marking",
    "major_gc_cycle_domains",
    "major_gc_phase_change",
    "major_gc_stw",
    "major_mark_opportunistic",
    "major_slice",
    "major_finish_cycle",
    "minor_clear",
    "minor_finalizers_oldify",
    "minor_global_roots",
    "minor_leave_barrier",
    "stw_api_barrier",
    "stw_handler",
    "stw_leader",
    "major_finish_sweeping",
    "major_memprof_clean",
    "minor_finalizers_admin",
    "minor_remembered_set",
    "minor_remembered_set_promote",
    "minor_local_roots_promote",
    "domain_condition_wait",
    "domain_resize_heap_reservation",
    "compaction",
    "compaction_evacuate",
    "compaction_forward",
    "compaction_release",
    "empty_minor",
    "minor_ephe_clean",
];

/// Names of phases that are more than details. The first name of a phase is the one that
/// it is written under.
const PHASES: [(&str, Phase); 20] = [
    ("empty_minor", Phase::Wanted),
    ("stw_leader", Phase::Lead),
    ("stw_handler", Phase::Follow),
    ("stw_api_barrier", Phase::Barrier),
    ("minor", Phase::Minor),
    ("minor_leave_barrier", Phase::LeaveBarrier),
    ("major", Phase::MajorSlice),
    ("explicit_gc_major_slice", Phase::MajorSlice),
    ("major_gc_stw", Phase::CycleEnd),
    ("compaction", Phase::Compact),
    ("interrupt_remote", Phase::Interrupt),
    ("domain_condition_wait", Phase::Condition),
    ("explicit_gc_full_major", Phase::Explicit),
    ("explicit_gc_minor", Phase::Explicit),
    ("explicit_gc_major", Phase::Explicit),
    ("explicit_gc_compact", Phase::Explicit),
    ("minor_finalized", Phase::Finalise),
    ("finalise_update_first", Phase::Finalise),
    ("finalise_update_last", Phase::Finalise),
    ("domain_resize_heap_reservation", Phase::Resize),
];

/// The phase that is shown under this name.
pub(super) fn of_name(name: &[u8]) -> Option<Phase> {
    if let Some((_, phase)) = PHASES.iter().find(|(known, _)| known.as_bytes() == name) {
        return Some(*phase);
    }
    let detail = NAMES.iter().position(|known| known.as_bytes() == name);
    let number = detail.and_then(|number| u16::try_from(number).ok()).or_else(|| unnamed(name));
    number.map(Phase::Detail)
}

/// The name that `phase` is written under; `None`: it has but a number.
pub(super) fn name(phase: Phase) -> Option<&'static str> {
    match phase {
        Phase::Detail(number) => NAMES.get(usize::from(number)).copied(),
        _ => PHASES.iter().find(|(_, known)| *known == phase).map(|(name, _)| *name),
    }
}

/// A detail that has no name: `phase 61`.
pub(super) const UNNAMED: &str = "phase ";

fn unnamed(name: &[u8]) -> Option<u16> {
    std::str::from_utf8(name.strip_prefix(UNNAMED.as_bytes())?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_is_found_under_the_name_that_it_is_written_under() {
        for (text, phase) in PHASES {
            assert_eq!(of_name(text.as_bytes()), Some(phase));
            assert_eq!(name(phase).and_then(|name| of_name(name.as_bytes())), Some(phase));
        }
        for (number, text) in NAMES.iter().enumerate() {
            let found = of_name(text.as_bytes()).unwrap();
            assert!(found == Phase::Detail(number as u16) || PHASES.contains(&(text, found)), "{text}: {found:?}");
        }
        assert_eq!(of_name(b"phase 61"), Some(Phase::Detail(61)));
        assert_eq!((of_name(b"solve"), of_name(b""), of_name(b"phase x")), (None, None, None));
    }
}
