//! The variables that make an OCaml program write its rings: `OCAMLRUNPARAM` as the
//! runtime reads it, the ring size that is safe for a number of domains, and the
//! merge with the user's settings. Pure: no I/O.
//!
//! The runtime computes the length of the file in a C `int` and checks no bound: a
//! size that is too large kills the program at its start, one of a few words hangs
//! it. Neither is ever set here, nor left in place if the recorder enables the rings.

use super::layout;

/// Number of rings in a runtime without a setting for it.
const DOMAINS_DEFAULT: u64 = 128;
/// More than the runtime accepts.
const DOMAINS_MAX: u64 = 4096;
/// The runtime's own choice.
const SIZE_DEFAULT: u32 = 16;
/// Requested if there is room: 90 ms at 110,000 collections a second.
const SIZE_WANTED: u32 = 20;
/// The smallest size that the recorder requests by itself.
const SIZE_LEAST: u32 = 12;
/// Below this an event of the program's own may not fit into its ring, and the
/// runtime waits for ever.
const SIZE_SAFE_LEAST: u32 = 8;

/// If present, the rings are enabled.
pub const START: &str = "OCAML_RUNTIME_EVENTS_START";
pub const DIRECTORY: &str = "OCAML_RUNTIME_EVENTS_DIR";
/// If present, the file is not removed at the end.
pub const PRESERVE: &str = "OCAML_RUNTIME_EVENTS_PRESERVE";
const PARAMETERS: [&str; 2] = ["OCAMLRUNPARAM", "CAMLRUNPARAM"];

/// The inputs for choosing the ring size.
#[derive(Copy, Clone, Debug)]
pub struct Request<'a> {
    pub ocamlrunparam: Option<&'a str>,
    /// The user's `CAMLRUNPARAM`, which counts if the other is not set.
    pub camlrunparam: Option<&'a str>,
    pub release: Option<(u32, u32)>,
    /// Largest permitted file, in bytes.
    pub room: u64,
    /// Size to use whatever the room, as the power of two of its words.
    pub forced: Option<u32>,
}

/// The chosen ring size.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Choice {
    /// The variable to set and its value; `None`: the present value is right.
    pub set: Option<(&'static str, String)>,
    /// Length of the file that the runtime will make.
    pub length: u64,
    pub added: Option<String>,
    pub note: Option<String>,
}

/// Chooses a size; `None` if there is room for no ring.
pub fn choose(request: &Request<'_>) -> Option<Choice> {
    let (variable, text) = match (request.ocamlrunparam, request.camlrunparam) {
        (Some(text), _) => (PARAMETERS[0], text),
        (None, Some(text)) => (PARAMETERS[1], text),
        (None, None) => (PARAMETERS[0], ""),
    };
    let domains = domains(text, request.release);
    let length = |size| layout::file_length(domains, 1_u64.checked_shl(size)?);
    let safe = |size: &u32| *size >= SIZE_SAFE_LEAST && length(*size).is_some_and(layout::is_safe);
    let fits = |size: &u32| safe(size) && length(*size).is_some_and(|length| length <= request.room);
    let users = value(text, 'e').map(|size| u32::try_from(size).unwrap_or(u32::MAX));
    let (size, note) = match (request.forced, users) {
        (Some(forced), _) if safe(&forced) => (forced, None),
        (Some(forced), _) => {
            let size = nearest(forced, safe)?;
            (size, Some(format!("rings of 2^{forced} words would keep the program from running; 2^{size} are used")))
        }
        (None, Some(own)) if safe(&own) => (own, None),
        (None, Some(own)) => {
            let size = nearest(own, safe)?;
            let note = format!(
                "{variable}: with e={own} the runtime would not survive writing its events ({domains} rings); it was \
                 started with e={size}"
            );
            (size, Some(note))
        }
        (None, None) => ((SIZE_LEAST..=SIZE_WANTED).rev().find(fits)?, None),
    };
    let needless = request.forced.is_none() && users == Some(size);
    let set = (!needless).then(|| {
        let own = text.trim_end_matches(',');
        let value = if own.is_empty() { format!("e={size}") } else { format!("{own},e={size}") };
        (variable, value)
    });
    let added = set.as_ref().map(|(variable, _)| format!("{variable}: e={size}"));
    let few = size < SIZE_DEFAULT && request.forced.is_none() && users.is_none();
    let note = note.or_else(|| {
        few.then(|| {
            format!(
                "there is room for rings of 2^{size} words only: events may be lost; record to a larger disk with -o"
            )
        })
    });
    Some(Choice { set, length: length(size)?, added, note })
}

/// The safe size that is nearest to an unsafe one.
fn nearest(size: u32, safe: impl Fn(&u32) -> bool) -> Option<u32> {
    let mut below = (SIZE_SAFE_LEAST..size.min(64)).rev();
    below.find(&safe).or_else(|| (SIZE_SAFE_LEAST..64).find(&safe))
}

/// How many rings the runtime makes. Up to 5.2 their number is fixed; for an unknown
/// release, the larger number.
fn domains(text: &str, release: Option<(u32, u32)>) -> u64 {
    let own = value(text, 'd').map(|count| count.clamp(1, DOMAINS_MAX));
    match (own, release) {
        (Some(count), Some(release)) if release >= (5, 3) => count,
        (Some(count), None) => count.max(DOMAINS_DEFAULT),
        _ => DOMAINS_DEFAULT,
    }
}

/// The runtime's value of `key`, `None` if the text does not name it. The last
/// mention wins; one without a number means 1.
fn value(text: &str, key: char) -> Option<u64> {
    let mentions = text.split(',').filter_map(|entry| entry.strip_prefix(key));
    mentions.map(|rest| number(rest).unwrap_or(1)).next_back()
}

/// Parses `=20`, `=0x14`, `=4k`. The rest is ignored.
fn number(rest: &str) -> Option<u64> {
    let rest = rest.strip_prefix('=')?.trim_start();
    let rest = rest.strip_prefix('+').unwrap_or(rest);
    let hex = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((rest, 10), |digits| (digits, 16));
    let end = digits.find(|letter: char| !letter.is_digit(radix)).unwrap_or(digits.len());
    let (digits, tail) = digits.split_at(end);
    let shift = match tail.chars().next() {
        Some('k') => 10,
        Some('M') => 20,
        Some('G') => 30,
        _ => 0,
    };
    // A number of more than 32 bits is invalid to the runtime, too.
    let number = u32::from_str_radix(digits, radix).ok()?;
    Some(u64::from(number) << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLENTY: u64 = 8 << 30;

    fn request(text: Option<&str>) -> Request<'_> {
        Request { ocamlrunparam: text, camlrunparam: None, release: Some((5, 4)), room: PLENTY, forced: None }
    }

    fn set(request: &Request<'_>) -> Option<(&'static str, String)> {
        choose(request).unwrap().set
    }

    #[test]
    fn parameters_are_read_as_the_runtime_reads_them() {
        for (text, size) in [
            ("e=17", Some(17)),
            ("e=18,e=17", Some(17)),
            ("b,,e=17,", Some(17)),
            ("e=0x11", Some(17)),
            ("e=+17", Some(17)),
            ("e=16k", Some(16 << 10)),
            ("e17", Some(1)),
            ("e=", Some(1)),
            ("ee=17", Some(1)),
            ("be=17", None),
            ("v=0,s=256k", None),
            ("", None),
        ] {
            assert_eq!(value(text, 'e'), size, "{text}");
        }
    }

    #[test]
    fn the_size_is_added_to_what_the_user_set_and_counts_where_that_does() {
        assert_eq!(set(&request(None)), Some(("OCAMLRUNPARAM", "e=20".into())));
        assert_eq!(set(&request(Some("s=64k,b"))), Some(("OCAMLRUNPARAM", "s=64k,b,e=20".into())));
        assert_eq!(set(&request(Some(""))), Some(("OCAMLRUNPARAM", "e=20".into())));
        let other = Request { camlrunparam: Some("b"), ..request(None) };
        assert_eq!(set(&other), Some(("CAMLRUNPARAM", "b,e=20".into())));
        let both = Request { camlrunparam: Some("e=9"), ..request(Some("b,")) };
        assert_eq!(set(&both), Some(("OCAMLRUNPARAM", "b,e=20".into())));
    }

    #[test]
    fn a_size_of_the_users_stays_unless_it_would_kill_the_program() {
        for own in ["e=16", "e=10", "d=8,e=24", "e=20"] {
            let choice = choose(&request(Some(own))).unwrap();
            assert_eq!((choice.set, choice.note), (None, None), "{own}");
        }
        for (own, safe) in [("e=21", 20), ("e=24", 20), ("d=256,e=20", 19), ("e=16k", 20), ("e", 8), ("e=0", 8)] {
            let choice = choose(&request(Some(own))).unwrap();
            assert_eq!(choice.set, Some(("OCAMLRUNPARAM", format!("{own},e={safe}"))));
            assert!(choice.note.unwrap().contains(&format!("e={safe}")));
        }
        // The number of rings is a parameter only since 5.3.
        let old = Request { release: Some((5, 2)), ..request(Some("d=8,e=24")) };
        assert_eq!(set(&old).unwrap().1, "d=8,e=24,e=20");
        let unknown = Request { release: None, ..request(Some("d=8,e=24")) };
        assert_eq!(set(&unknown).unwrap().1, "d=8,e=24,e=20");
    }

    #[test]
    fn the_size_follows_the_room_down_to_none() {
        let size = |room| choose(&Request { room, ..request(None) }).map(|choice| choice.set.unwrap().1);
        assert_eq!(size(1 << 30).as_deref(), Some("e=19"));
        assert_eq!(size(300 << 20).as_deref(), Some("e=18"));
        assert_eq!(size(6 << 20).as_deref(), Some("e=12"));
        assert_eq!(size(5 << 20), None);
        let note = choose(&Request { room: 6 << 20, ..request(None) }).unwrap().note.unwrap();
        assert!(note.contains("2^12") && note.contains("-o"), "{note}");
    }

    #[test]
    fn a_forced_size_is_used_where_it_is_safe() {
        let forced = |size| choose(&Request { forced: Some(size), ..request(Some("e=18")) }).unwrap();
        assert_eq!(forced(9).set.unwrap().1, "e=18,e=9");
        let wrong = forced(40);
        assert_eq!(wrong.set.unwrap().1, "e=18,e=20");
        assert!(wrong.note.unwrap().contains("2^40"));
    }

    /// What the runtime does with a text, by its own rules: the length of its file in
    /// a C `int`, and whether the largest event fits into a ring.
    fn survives(text: &str) -> bool {
        let rings = value(text, 'd').unwrap_or(128);
        let Some(size) = value(text, 'e').or(Some(16)).filter(|size| *size < 32) else { return false };
        let total = i128::from(rings) * (1_i128 << size) * 8 + i128::from(rings) * 80 + 64 + (1 << 20);
        size >= 8 && total <= i128::from(i32::MAX)
    }

    #[test]
    fn no_user_s_parameters_become_ones_that_kill() {
        let sizes = [None, Some(0), Some(1), Some(7), Some(8), Some(16), Some(20), Some(21), Some(22), Some(31)];
        let more = [Some(32), Some(63), Some(64), Some(65), Some(4096), Some(u32::MAX)];
        let rings = [None, Some(1), Some(2), Some(8), Some(127), Some(128), Some(129), Some(1000), Some(4096)];
        for size in sizes.into_iter().chain(more) {
            for ring in rings {
                for room in [0, 5 << 20, 1 << 27, 1 << 31, u64::MAX] {
                    for forced in [None, Some(0), Some(9), Some(20), Some(33), Some(u32::MAX)] {
                        let entry = |key, value: Option<u32>| value.map(|value| format!("{key}={value}"));
                        let text = [entry('e', size), entry('d', ring)].into_iter().flatten().collect::<Vec<_>>();
                        let text = text.join(",");
                        let request = Request { room, forced, ..request(Some(&text)) };
                        let Some(choice) = choose(&request) else { continue };
                        let after = choice.set.map_or(text.clone(), |(_, value)| value);
                        assert!(survives(&after), "{text} became {after}");
                    }
                }
            }
        }
    }
}
