(** Says what an OCaml 5 program does in its runtime's event rings: which kernel thread
    serves which domain, and spans, marks and values of the program's own.

    Depending on this library is enough for threads: a new domain's thread is called
    [dom 3] (3 is its ring's index), its backup thread [dom 3 backup] from the first
    collection that it serves, and the user event [rtscope.thread] carries the kernel's id
    of the thread. Everything else is a call. Where no ring is on, nothing is written; no
    function here raises or ends the program for the rings' sake.

    Two words in the environment change it: [RTSCOPE_THREADS=names] writes no [rtscope.thread],
    and [RTSCOPE_THREADS=off] names no threads either. What the program calls stays.

    Needs OCaml 5.2: 5.0 has no user events, and 5.1 may end in a deadlock where several
    domains write events and does not tell a program whether the rings are on. *)

val start : unit -> bool
(** Starts the rings if they are not, and says whether they are on now. [false] where the
    ring's file cannot be made ([OCAML_RUNTIME_EVENTS_DIR], else the working directory), or
    where they are paused. *)

val span : string -> (unit -> 'a) -> 'a
(** [span name work] is [work ()] between a begin and an end, whether it returns or raises.
    Where [work] is suspended by an effect and resumed in another domain, its end is in that
    domain's ring. *)

val mark : string -> unit
(** A moment. *)

val value : string -> int -> unit
(** A figure at a moment. *)

val name_thread : ?name:string -> unit -> unit
(** Names the calling thread, by default [dom] and its domain's index, and says in the ring
    that it serves the calling domain. For a thread of the threads library, which has no
    name of its own, and for domains that shall have better names. The kernel keeps 15
    bytes; the rest is cut. Called by the program's first thread it renames the process, as
    [ps] and [pkill] see it. *)

val lane : unit -> int
(** Index of the calling domain's ring. Those of domains that ended are used again. *)

val thread_id : unit -> int
(** Of the calling thread, in the program's own pid namespace. *)

(** Names are those of the whole program, 127 bytes at most; the rest is cut. There can be
    2048 of each kind: later ones are written as [rtscope.other]. *)
