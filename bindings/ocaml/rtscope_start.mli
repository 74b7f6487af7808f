(** Start OCaml 5 programs as their machine allows.

    Depending on this library is enough. In native programs, minor heaps and space overhead
    follow the plan from the start, in every domain, and
    [Domain.recommended_domain_count] answers with physical cores and quotas in mind.
    Whatever [OCAMLRUNPARAM] says still wins. Two variables of the environment change it:

    - [RTSCOPE_GOAL]: [latency] (the default), [throughput] or [memory]
    - [RTSCOPE_PLAN]: [off] leaves everything as it would be without this library *)

(** What the program is to be good at. *)
type goal = Latency | Throughput | Memory

(** A plan for this process. *)
type plan = {
  goal : goal;
  domains : int;  (** how many are worth having, the main one counted *)
  minor_words : int;  (** minor heap of each, [s] of [OCAMLRUNPARAM] *)
  space_overhead : int;  (** [o] of [OCAMLRUNPARAM] *)
  followed : bool;  (** not so where [RTSCOPE_PLAN] is [off] *)
  reasons : string;
      (** what it follows from, a sentence for each step, and what was given *)
}

val plan : unit -> plan
(** The plan that was made at the start. *)

val domain_count : unit -> int
(** How many domains are worth having: the plan's, or fewer where the user caps them with
    [d] of [OCAMLRUNPARAM]. For programs in bytecode, where
    [Domain.recommended_domain_count] stays the runtime's own. *)
