//! What makes a ring unreadable as a whole. Damage behind its head is no error: it
//! becomes a [`rtscope_model::Loss`] and reading goes on.

use std::io;
use thiserror::Error;

/// Why a ring cannot be opened. Positions are bytes from its start.
#[derive(Debug, Error)]
pub enum RingError {
    /// No bytes at all.
    #[error(
        "the ring file is empty: the program was just starting, or died before it laid the file out; \
         record it with `rtscope record -- PROGRAM`"
    )]
    Empty,
    /// The first bytes are neither container's.
    #[error(
        "not a file of OCaml's runtime events; give a PID.events file that a program of OCaml 5 left \
         (OCAML_RUNTIME_EVENTS_START and OCAML_RUNTIME_EVENTS_PRESERVE set), or a capture of `rtscope record`"
    )]
    NotARing,
    /// Laid out by a machine of the other byte order.
    #[error("the ring file was written on a big-endian machine, which this version does not read")]
    BigEndian,
    /// The program has not finished its head.
    #[error("the ring file is not laid out yet: the program is just starting; try again")]
    NotReady,
    /// It ends inside its head.
    #[error(
        "the ring file ends at byte {position}, inside its head of {head} bytes: \
         the copy is incomplete, or the program died while starting"
    )]
    HeadCut {
        /// Where it ends.
        position: u64,
        /// Where its head should.
        head: u64,
    },
    /// Its head contradicts itself.
    #[error("the ring file's head is damaged at byte {position} ({what}); copy it again or record again")]
    HeadDamaged {
        /// Where.
        position: u64,
        /// What does not fit.
        what: &'static str,
    },
    /// A version that this rtscope has no table for.
    #[error(
        "OCaml {text} is not known: rings of 5.0 to 5.5 are read; if the program's runtime numbers its phases as one \
         of these does, name that one with --ocaml-version"
    )]
    UnknownVersion {
        /// As given.
        text: String,
    },
    /// The version given is not the one that wrote the ring.
    #[error("the ring was not written by OCaml {given}: {why}")]
    OtherVersion {
        /// The version given.
        given: &'static str,
        /// What contradicts it.
        why: String,
    },
    /// No version known writes such events.
    #[error("no known version of OCaml (5.0 to 5.5) wrote this ring: {why}")]
    NoVersion {
        /// What rules all of them out.
        why: String,
    },
    /// The events fit more than one numbering.
    #[error(
        "the ring does not tell which version of OCaml wrote it (it fits {fits}), and their events differ: \
         name the version with --ocaml-version, as `ocamlfind ocamlopt -version` or \
         `strings PROGRAM | grep '^5\\.'` says it"
    )]
    Undecided {
        /// Which versions it fits, as text.
        fits: String,
    },
    /// The operating system refused.
    #[error("cannot read the ring at byte {position}: {source}")]
    Io {
        /// Where.
        position: u64,
        /// Why.
        source: io::Error,
    },
}
