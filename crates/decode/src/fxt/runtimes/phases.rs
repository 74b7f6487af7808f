//! Phases by the names that OCaml's tools show, which are the same in every version. Owns the mapping between names
//! and [`Phase`]s; names and meanings are those of [`crate::ocaml_ring`].

use crate::ocaml_ring::{PHASES, neutral, phase_name};
use rtscope_model::Phase;

/// Any collection that the program asked for: events do not say which kind.
const EXPLICIT: &str = "explicit_gc";
/// Prefix of a detail without a name, as in `phase 61`.
pub const UNNAMED: &str = "phase ";

/// The phase with this name.
pub fn of_name(name: &[u8]) -> Option<Phase> {
    if name == EXPLICIT.as_bytes() {
        return Some(Phase::Explicit);
    }
    let number = PHASES.iter().position(|known| known.name.as_bytes() == name);
    let number = number.and_then(|number| u16::try_from(number).ok());
    number.map(neutral).or_else(|| unnamed(name).map(Phase::Detail))
}

/// The name under which `phase` is written; `None`: it has only a number.
pub fn name(phase: Phase) -> Option<&'static str> {
    match phase {
        Phase::Explicit => Some(EXPLICIT),
        Phase::Detail(number) => Some(phase_name(number)).filter(|name| !name.is_empty()),
        _ => (0..PHASES.len() as u16).find(|number| neutral(*number) == phase).map(phase_name),
    }
}

fn unnamed(name: &[u8]) -> Option<u16> {
    std::str::from_utf8(name.strip_prefix(UNNAMED.as_bytes())?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_is_found_under_the_name_that_it_is_written_under() {
        for (number, info) in (0..).zip(PHASES) {
            let phase = of_name(info.name.as_bytes()).unwrap();
            assert_eq!(phase, neutral(number));
            assert_eq!(name(phase).and_then(|name| of_name(name.as_bytes())), Some(phase), "{}", info.name);
        }
        let shown = [Phase::Wanted, Phase::Lead, Phase::Follow, Phase::MajorSlice, Phase::CycleEnd].map(name);
        let expected = ["empty_minor", "stw_leader", "stw_handler", "major", "major_gc_stw"].map(Some);
        assert_eq!(shown, expected);
        assert_eq!((of_name(b"phase 61"), name(Phase::Detail(61))), (Some(Phase::Detail(61)), None));
        assert_eq!((of_name(b"solve"), of_name(b""), of_name(b"phase x")), (None, None, None));
    }
}
