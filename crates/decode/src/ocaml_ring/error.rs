//! Errors that make a ring unreadable as a whole. Damage after its head is not an error: it becomes a
//! [`rtscope_model::Loss`] and reading continues.

use std::io;
use thiserror::Error;

/// Why a ring cannot be opened. Positions are bytes from its start.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum RingError {
    #[error(
        "the ring file is empty: the program was just starting, or died before it laid the file out; \
         record it with `rtscope record -- PROGRAM`"
    )]
    Empty,
    #[error(
        "not a file of OCaml's runtime events; give a PID.events file that a program of OCaml 5 left \
         (OCAML_RUNTIME_EVENTS_START and OCAML_RUNTIME_EVENTS_PRESERVE set), or a capture of `rtscope record`"
    )]
    NotARing,
    #[error("the ring file was written on a big-endian machine, which this version does not read")]
    BigEndian,
    #[error("the ring file is not laid out yet: the program is just starting; try again")]
    NotReady,
    #[error(
        "the ring file ends at byte {position}, inside its head of {head} bytes: \
         the copy is incomplete, or the program died while starting"
    )]
    HeadCut { position: u64, head: u64 },
    #[error("the ring file's head is damaged at byte {position} ({what}); copy it again or record again")]
    HeadDamaged { position: u64, what: &'static str },
    #[error(
        "OCaml {text} is not known: rings of 5.0 to 5.5 are read; if the program's runtime numbers its phases as one \
         of these does, name that one with --ocaml-version"
    )]
    UnknownVersion { text: String },
    #[error("the ring was not written by OCaml {given}: {why}")]
    OtherVersion { given: &'static str, why: String },
    #[error("no known version of OCaml (5.0 to 5.5) wrote this ring: {why}")]
    NoVersion { why: String },
    #[error(
        "the ring does not say which version of OCaml wrote it (it fits {fits}), and their events differ: \
         name the version with --ocaml-version, as `ocamlfind ocamlopt -version` or \
         `strings PROGRAM | grep '^5\\.'` says it"
    )]
    Undecided { fits: String },
    #[error("cannot read the ring at byte {position}: {source}")]
    Io { position: u64, source: io::Error },
}
