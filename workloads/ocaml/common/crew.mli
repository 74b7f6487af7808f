(** Workers that all do the same: as processes, as domains next to a main domain that
    only waits for them, or as domains of which the main one is one. *)

type mode =
  | Processes
  | Domains  (** the main domain sleeps in [Domain.join] *)
  | Main  (** the main domain is worker 0 *)

val mode_of_string : string -> mode

val run : mode -> int -> (int -> int) -> int
(** [run mode workers work] does [work i] in worker [i] for each [i] below [workers]
    and gives the sum of what they give. A process that fails makes it fail. *)

val argument : int -> string -> string
(** [argument n default] is the program's [n]-th argument. *)

val number : int -> int -> int
(** The argument as a number. *)
