//! Names that GHC gives to code: whose code it is, and its name as people write it. Owns
//! the encoding and the list of the runtime's own functions; refuses to guess at
//! a name that follows no rule.

use super::files::Ghc;
use crate::symbols::names::{Library, Names, Owner, Purposes, base, table};
use rtscope_model::Role;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The headers of both files say what they contain and how they were made.
static RUNTIME_PURPOSES: LazyLock<Purposes<'_>> = LazyLock::new(|| Purposes::read(include_str!("purposes.txt")));
static RUNTIME_NAMES: LazyLock<HashMap<&str, Owner>> = LazyLock::new(|| table(include_str!("rts_names.txt")));

/// Suffixes of names of Haskell code.
const ENDINGS: [&str; 12] = [
    "_info",
    "_entry",
    "_ret",
    "_slow",
    "_fast",
    "_con_info",
    "_con_entry",
    "_static_info",
    "_static_entry",
    "_info_dsp",
    "_alt",
    "_dflt",
];

impl Names for Ghc {
    /// A name that a static function of the runtime merely shares proves nothing.
    fn proves(&self, name: &str) -> bool {
        matches!(name, "hs_main" | "hs_init_ghc") || self.owner(name) == Owner::Program
    }

    fn owner(&self, name: &str) -> Owner {
        if name.starts_with("stg_") || name.starts_with("__stg_") {
            return Owner::Runtime;
        }
        match RUNTIME_NAMES.get(base(name)) {
            Some(owner) => *owner,
            None if haskell(name).is_some() => Owner::Program,
            None => Owner::Other,
        }
    }

    /// `Main.$wspin` for `Main_zdwspin_info`.
    fn readable(&self, name: &str) -> String {
        match haskell(name) {
            Some((module, item)) => format!("{}.{}", decode(module), decode(item)),
            None => name.to_owned(),
        }
    }

    /// The encoded module with its package.
    fn module<'n>(&self, name: &'n str) -> Option<&'n str> {
        let (_, item) = haskell(name)?;
        name.get(..name.rfind(&format!("_{item}_"))?)
    }

    fn readable_module(&self, module: &str) -> String {
        decode(module.rsplit('_').next().unwrap_or(module))
    }

    fn purpose(&self, name: &str) -> Option<Role> {
        RUNTIME_PURPOSES.of(name)
    }

    fn unnamed(&self) -> Option<&'static str> {
        Some("compile it with `-g1`, or with `-finfo-table-map` and a log")
    }

    fn is_best(&self, name: &str) -> bool {
        name.ends_with("_info")
    }

    fn is_runtimes(&self, neighbours: &[Owner]) -> bool {
        neighbours.contains(&Owner::Runtime)
    }

    fn library(&self, name: &str) -> Option<Library> {
        let library = name.strip_prefix("libHS")?;
        Some(if library.starts_with("rts") { Library::Runtime } else { Library::Code })
    }
}

/// Module and item, still encoded, of `package_Module_item_ending` or
/// `Module_item_ending`. The encoding writes an underscore as `zu`, so the
/// remaining ones are separators.
fn haskell(name: &str) -> Option<(&str, &str)> {
    if !ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return None;
    }
    let mut parts = name.split('_');
    let first = parts.next()?;
    let module = match first.chars().next()? {
        _ if starts_module(first) => first,
        'a'..='z' => parts.next().filter(|part| starts_module(part))?,
        _ => return None,
    };
    let item = parts.next().filter(|item| !item.is_empty())?;
    // A suffix alone is not an item.
    parts.next().map(|_| (module, item))
}

fn starts_module(part: &str) -> bool {
    part.starts_with(|letter: char| letter.is_ascii_uppercase() && letter != 'Z')
}

/// Undoes GHC's z-encoding; text that is not encoded stays.
fn decode(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['z', 'Z']) {
        let (plain, coded) = rest.split_at(at);
        out.push_str(plain);
        match escape(coded) {
            Some((meant, used)) => {
                out.push_str(&meant);
                rest = coded.get(used..).unwrap_or_default();
            }
            None => {
                out.push_str(coded.get(..1).unwrap_or_default());
                rest = coded.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

/// The meaning of an escape, and its length.
fn escape(coded: &str) -> Option<(String, usize)> {
    // Two letters, and their meaning.
    const LETTERS: [&str; 25] = [
        "za&", "zb|", "zc^", "zd$", "ze=", "zg>", "zh#", "zi.", "zl<", "zm-", "zn!", "zp+", "zq'", "zr\\", "zs/",
        "zt*", "zu_", "zv%", "zzz", "ZZZ", "ZL(", "ZR)", "ZM[", "ZN]", "ZC:",
    ];
    let mut letters = LETTERS.iter().map(|letters| letters.split_at(2));
    if let Some((_, meant)) = letters.find(|(escape, _)| coded.starts_with(escape)) {
        return Some((meant.to_owned(), 2));
    }
    let digits = coded.get(1..)?;
    let length = digits.find(|letter: char| !letter.is_ascii_hexdigit() || letter.is_ascii_uppercase())?;
    let (digits, end) = (digits.get(..length)?, digits.get(length..=length)?);
    let used = length + 2;
    match (coded.get(..1)?, end) {
        ("z", "U") => char::from_u32(u32::from_str_radix(digits, 16).ok()?).map(|letter| (letter.to_string(), used)),
        ("Z", "T") => tuple(digits, "").map(|text| (text, used)),
        ("Z", "H") => tuple(digits, "#").map(|text| (text, used)),
        _ => None,
    }
}

/// `(,,)` with this many parts.
fn tuple(digits: &str, hash: &str) -> Option<String> {
    let parts: usize = digits.parse().ok().filter(|parts| *parts <= 64)?;
    Some(format!("({hash}{}{hash})", ",".repeat(parts.saturating_sub(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_in_the_source() {
        for (symbol, name) in [
            ("Main_zdwspin_info", "Main.$wspin"),
            ("base_GHCziBase_zpzp_info", "GHC.Base.++"),
            ("containerszm0zi6zi7_DataziMapziInternal_zdwgo15_info", "Data.Map.Internal.$wgo15"),
            ("ghczmprim_GHCziTuple_Z3T_con_info", "GHC.Tuple.(,,)"),
            ("Main_foozqzubar_slow", "Main.foo'_bar"),
            ("Main_z0e9t_entry", "Main.z0e9t"),
            ("Main_ze9Ut_entry", "Main.=9Ut"),
            ("Main_zac_info", "Main.&c"),
            ("Main_z03bbUx_info", "Main.λx"),
            ("Main_zy_info", "Main.zy"),
            ("c_busy", "c_busy"),
            ("sort_info", "sort_info"),
            ("Main_info", "Main_info"),
        ] {
            assert_eq!(Ghc.readable(symbol), name);
        }
    }

    #[test]
    fn modules_of_names() {
        assert_eq!(Ghc.module("Main_zdwspin_info"), Some("Main"));
        assert_eq!(Ghc.module("base_GHCziBase_map_info"), Some("base_GHCziBase"));
        assert_eq!(Ghc.module("c_busy"), None);
    }

    #[test]
    fn the_runtimes_code_is_distinguished_from_the_programs() {
        for name in ["stg_ap_pp_info", "GarbageCollect", "scheduleDoGC", "evacuate1.constprop.0", "stg_upd_frame_info"]
        {
            assert!(matches!(Ghc.owner(name), Owner::Runtime | Owner::PerhapsRuntime), "{name}");
        }
        assert_eq!(Ghc.owner("Main_zdwspin_info"), Owner::Program);
        for name in ["c_busy", "main", "memcpy", "sort_info", "_IO_file_info_entry"] {
            assert_eq!(Ghc.owner(name), Owner::Other, "{name}");
        }
    }

    #[test]
    fn the_list_is_sorted_and_whole() {
        assert!(RUNTIME_NAMES.len() > 1500);
        for name in ["performMajorGC", "scavenge_block", "schedule", "hs_main", "StgRun"] {
            assert!(RUNTIME_NAMES.contains_key(name), "{name}");
        }
    }
}
