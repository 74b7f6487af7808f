//! Names that OCaml's compiler gives to code: whose code it is, and its name as people write it.
//! Owns the encoding and the list of the runtime's own functions; refuses to guess at a
//! name that follows no rule.

use super::files::Ocaml;
use crate::symbols::names::{Library, Names, Owner, Purposes, base, table};
use rtscope_model::Role;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The headers of both files say what they contain and how they were made.
static RUNTIME_PURPOSES: LazyLock<Purposes<'_>> = LazyLock::new(|| Purposes::read(include_str!("purposes.txt")));
static RUNTIME_NAMES: LazyLock<HashMap<&str, Owner>> = LazyLock::new(|| table(include_str!("ocaml_names.txt")));

/// Functions that the compiler generates in each program for calls with many arguments.
const MADE: [&str; 4] = ["apply", "curry", "tuplify", "send"];

impl Names for Ocaml {
    fn proves(&self, name: &str) -> bool {
        matches!(name, "caml_program" | "caml_c_call" | "caml_bytecode_interpreter" | "caml_interprete")
            || split(name).is_some()
    }

    fn owner(&self, name: &str) -> Owner {
        if split(name).is_some() {
            return Owner::Program;
        }
        match RUNTIME_NAMES.get(base(name)) {
            Some(owner) => *owner,
            None if made(name) => Owner::Runtime,
            // From another version of the runtime, or a library's with such a name.
            None if name.starts_with("caml_") => Owner::PerhapsRuntime,
            None => Owner::Other,
        }
    }

    /// `Stdlib.List.map` for `camlStdlib__List.map_312`, which compilers before 5.2 write
    /// `camlStdlib__List__map_312`. The number that distinguishes functions of one name is dropped,
    /// except for functions without a name of their own (`fun_464`).
    fn readable(&self, name: &str) -> String {
        let Some((unit, item)) = split(name) else { return name.to_owned() };
        // Dune's wrapper of a program's modules means nothing to people.
        let unit = unit.strip_prefix("Dune__exe__").unwrap_or(unit);
        let item = match item.rsplit_once('_') {
            Some((item, stamp)) if is_number(stamp) && item != "fun" && !item.is_empty() => item,
            _ => item,
        };
        format!("{}.{}", decode(&unit.replace("__", ".")), decode(item))
    }

    /// A program's C lies directly before the runtime, and its local functions before those that
    /// call them.
    fn is_runtimes(&self, neighbours: &[Owner]) -> bool {
        !neighbours.contains(&Owner::Other)
    }

    fn library(&self, name: &str) -> Option<Library> {
        (name.starts_with("libasmrun") || name.starts_with("libcamlrun")).then_some(Library::Runtime)
    }

    fn purpose(&self, name: &str) -> Option<Role> {
        RUNTIME_PURPOSES.of(name)
    }

    /// Whether a name marks where a unit's code begins or ends.
    fn is_label(&self, name: &str) -> bool {
        name.ends_with("code_begin") || name.ends_with("code_end")
    }
}

/// Unit and item, still encoded.
fn split(name: &str) -> Option<(&str, &str)> {
    let name = name.strip_prefix("caml").filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))?;
    let (unit, item) = name.split_once('.').or_else(|| name.rsplit_once("__"))?;
    (!unit.is_empty() && !item.is_empty()).then_some((unit, item))
}

/// `caml_program`, `caml_apply3`, `caml_curry4_1_app`.
fn made(name: &str) -> bool {
    let of_calls = |rest: &str| {
        MADE.iter()
            .any(|made| rest.strip_prefix(made).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())))
    };
    name == "caml_program" || name.strip_prefix("caml_").is_some_and(of_calls)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Decodes `$` and two hexadecimal digits to a byte; text that is not encoded stays.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, coded)) = rest.split_once('$') {
        bytes.extend_from_slice(plain.as_bytes());
        let digits = coded.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = coded.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(b'$');
                rest = coded;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_in_the_source() {
        for (symbol, name) in [
            ("camlStdlib__List.assoc_opt_488", "Stdlib.List.assoc_opt"),
            ("camlStdlib__List__assoc_opt_488", "Stdlib.List.assoc_opt"),
            ("camlDune__exe__Main.go_355", "Main.go"),
            ("camlStub.$2b$2b_272", "Stub.++"),
            ("camlStub.x$27_276", "Stub.x'"),
            ("camlStub.$c3$a9_447", "Stub.é"),
            ("camlStub.fun_590", "Stub.fun_590"),
            ("camlStub.entry", "Stub.entry"),
            ("camlStub.find_all_dps_1286", "Stub.find_all_dps"),
            ("camlStub.$zz$2_1", "Stub.$zz$2"),
            ("camlStub.$ff_1", "Stub.$ff"),
            ("camlStub._1", "Stub._1"),
            ("busy_stub", "busy_stub"),
            ("caml_alloc", "caml_alloc"),
            ("camlp4_main", "camlp4_main"),
            ("camlStub.", "camlStub."),
        ] {
            assert_eq!(Ocaml.readable(symbol), name);
        }
    }

    #[test]
    fn the_runtimes_code_is_distinguished_from_the_programs() {
        let runtime =
            ["caml_alloc", "caml_curry11_1_app", "caml_send0", "caml_program", "caml_unix_read", "caml_c_call"];
        for name in runtime {
            assert_eq!(Ocaml.owner(name), Owner::Runtime, "{name}");
        }
        assert_eq!(Ocaml.owner("add_frame_descriptors.constprop.0"), Owner::PerhapsRuntime);
        assert_eq!(Ocaml.owner("caml_mylib_busy"), Owner::PerhapsRuntime);
        assert_eq!(Ocaml.owner("camlStdlib__List.map_12"), Owner::Program);
        for name in ["busy_stub", "memcpy", "camlp4_main", "_start"] {
            assert_eq!(Ocaml.owner(name), Owner::Other, "{name}");
        }
        assert!(
            Ocaml.is_label("camlStub.code_begin")
                && Ocaml.is_label("caml_system__code_end")
                && !Ocaml.is_label("camlStub.entry")
        );
    }

    #[test]
    fn the_list_is_whole() {
        assert!(RUNTIME_NAMES.len() > 1500);
        for name in ["caml_minor_collection", "caml_try_run_on_all_domains", "backup_thread_func", "caml_c_call"] {
            assert!(RUNTIME_NAMES.contains_key(name), "{name}");
        }
    }
}
