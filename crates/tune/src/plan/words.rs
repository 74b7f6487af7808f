//! Phrases that several reasons of a plan share. [`rtscope_model::units`] formats the figures.

use rtscope_model::units;

/// `1 core`, `4 cores`: for nouns with a regular plural.
pub fn count(number: u64, one: &str) -> String {
    units::counted(number, one, &format!("{one}s"))
}

/// `16 MiB for each of 2 workers are 32 MiB`, `16 MiB for one worker`.
pub fn each(size: &str, number: u32, one: &str, total: u64) -> String {
    if number == 1 {
        format!("{size} for one {one}")
    } else {
        format!("{size} for each of {} are {}", count(number.into(), one), units::bytes(total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_read_as_people_say_them() {
        assert_eq!((count(1, "core"), count(0, "core")), ("1 core".into(), "0 cores".into()));
        assert_eq!(each("16 MiB", 1, "worker", 16 << 20), "16 MiB for one worker");
        assert_eq!(each("16 MiB", 2, "worker", 32 << 20), "16 MiB for each of 2 workers are 32 MiB");
    }
}
