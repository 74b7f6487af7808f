//! What OCaml's runtime does for a program that the program can avoid: see `overhead`.

use crate::findings::Rule;
use crate::findings::overhead::{self, OverheadWork};

pub static RULE: Rule = Rule { check: |facts| overhead::check(facts, &WORK), ..overhead::BASE };

static WORK: [OverheadWork; 12] = [
    OverheadWork::of(
        &["purpose:thread-locks"],
        "a loop of `Domain.cpu_relax` that waits for another domain, and by mutexes that several domains take all the \
         time",
        "Wait with `Condition.wait` or a semaphore where it takes longer than some microseconds; hold a mutex for \
         less, or use one for each part of the data.",
    ),
    OverheadWork::of(
        &["purpose:comparison"],
        "`compare`, `=`, `<`, `min`, `max`, `List.mem` and `List.assoc` where the type is not known at that place",
        "Compare with the function of the type (`Int.compare`, `String.equal`), or annotate the arguments with it.",
    ),
    // A look-up hashes its key once, and goes from key to key of one bucket.
    OverheadWork::of(
        &["purpose:comparison"],
        "a `Hashtbl` of which many keys are in one bucket, or large to compare: each look-up \
         hashes once, and comparing took at least eight times as long as hashing",
        "Hash all of the key that differs: `Hashtbl.hash` sees its first ten fields, `Hashtbl.hash_param` more, and \
         `Hashtbl.Make` takes a hash and an equality of the key's own.",
    )
    .called_by("Stdlib.Hashtbl.", "purpose:hashing", " for a `Hashtbl`"),
    OverheadWork::of(
        &["purpose:hashing"],
        "`Hashtbl.hash`, as by every use of a `Hashtbl` that no functor made",
        "Use `Hashtbl.Make` with a hash and an equality of the key's own.",
    ),
    OverheadWork::of(
        &["purpose:marshalling"],
        "`Marshal`",
        "Marshal less often and more at a time, or write a format of your own.",
    ),
    OverheadWork::of(
        &["purpose:domain-lifecycle"],
        "`Domain.spawn` and `Domain.join` for each piece of work",
        "Start as many domains as there are CPUs once, and give them work through a queue (domainslib, moonpool).",
    ),
    OverheadWork::of(
        &["purpose:idle-domains"],
        "domains that have nothing to do and take part in every collection",
        "Start no more domains than have work.",
    ),
    OverheadWork::of(
        &["purpose:write-barrier"],
        "writes of pointers to fields and arrays (`caml_modify`)",
        "Keep numbers in fields that are written often (`int`, unboxed floats, `Bigarray`), and write once what \
         changes several times.",
    ),
    OverheadWork::of(
        &["purpose:exceptions"],
        "exceptions that are raised for an ordinary result",
        "Raise with `raise_notrace`, or return an option.",
    ),
    OverheadWork::of(
        &["purpose:stack-traces"],
        "exceptions while backtraces are recorded (`OCAMLRUNPARAM=b`, `Printexc.record_backtrace true`)",
        "Raise with `raise_notrace` where an exception is an ordinary result, or do not record backtraces.",
    ),
    OverheadWork::of(
        &["purpose:allocation-sampling", "purpose:stack-traces", "purpose:polling"],
        "`Gc.Memprof`: each sample takes a stack and calls the tracker, and the runtime looks for samples at \
         allocations",
        "Lower the sampling rate of `Gc.Memprof.start` (1e-5 shows where memory is allocated), or stop it.",
    ),
    OverheadWork::of(
        &["purpose:continuations"],
        "effects that are performed for each small step",
        "Perform an effect for more at a time.",
    ),
];
