//! What OCaml's runtime does for a program that the program can avoid: see `overhead`.

use crate::findings::Rule;
use crate::findings::overhead::{self, OverheadWork};

pub static RULE: Rule = Rule { check: |facts| overhead::check(facts, &WORK), ..overhead::BASE };

static WORK: [OverheadWork; 11] = [
    OverheadWork {
        ids: &["purpose:thread-locks"],
        cause: "a loop of `Domain.cpu_relax` that waits for another domain, and by mutexes that several domains take all the time",
        change: "Wait with `Condition.wait` or a semaphore where it takes longer than some microseconds; hold a mutex for less, \
                 or use one for each part of the data.",
    },
    OverheadWork {
        ids: &["purpose:comparison"],
        cause: "`compare`, `=`, `<`, `min`, `max`, `List.mem` and `List.assoc` where the type is not known at that place, and \
                from a `Hashtbl` of which many keys have one hash",
        change: "Compare with the function of the type (`Int.compare`, `String.equal`), or annotate the arguments with it; \
                 `Hashtbl.hash` sees the first ten fields of a key, `Hashtbl.Make` takes a hash that sees all.",
    },
    OverheadWork {
        ids: &["purpose:hashing"],
        cause: "`Hashtbl.hash`, as by every use of a `Hashtbl` that no functor made",
        change: "Use `Hashtbl.Make` with a hash and an equality of the key's own.",
    },
    OverheadWork {
        ids: &["purpose:marshalling"],
        cause: "`Marshal`",
        change: "Marshal less often and more at a time, or write a format of your own.",
    },
    OverheadWork {
        ids: &["purpose:domain-lifecycle"],
        cause: "`Domain.spawn` and `Domain.join` for each piece of work",
        change: "Start as many domains as there are CPUs once, and give them work through a queue (domainslib, moonpool).",
    },
    OverheadWork {
        ids: &["purpose:idle-domains"],
        cause: "domains that have nothing to do and take part in every collection",
        change: "Start no more domains than have work.",
    },
    OverheadWork {
        ids: &["purpose:write-barrier"],
        cause: "writes of pointers to fields and arrays (`caml_modify`)",
        change: "Keep numbers in fields that are written often (`int`, unboxed floats, `Bigarray`), and write once what changes \
                 several times.",
    },
    OverheadWork {
        ids: &["purpose:exceptions"],
        cause: "exceptions that are raised for an ordinary result",
        change: "Raise with `raise_notrace`, or return an option.",
    },
    OverheadWork {
        ids: &["purpose:stack-traces"],
        cause: "exceptions while backtraces are recorded (`OCAMLRUNPARAM=b`, `Printexc.record_backtrace true`)",
        change: "Raise with `raise_notrace` where an exception is an ordinary result, or do not record backtraces.",
    },
    OverheadWork {
        ids: &["purpose:allocation-sampling", "purpose:stack-traces", "purpose:polling"],
        cause: "`Gc.Memprof`: each sample takes a stack and calls the tracker, and the runtime looks for samples at allocations",
        change: "Lower the sampling rate of `Gc.Memprof.start` (1e-5 shows where memory is allocated), or stop it.",
    },
    OverheadWork {
        ids: &["purpose:continuations"],
        cause: "effects that are performed for each small step",
        change: "Perform an effect for more at a time.",
    },
];
