(** As much of HTTP/1.1 as a service needs whose requests have no body: connections that
    stay open, answers now or later. Domains share all connections: one that is free waits
    for what comes in and takes the first; then another waits while it answers. *)

type answer = {
  body : string;  (** JSON *)
  after : float;  (** seconds from now at which it is sent; 0: at once *)
}

val serve : port:int -> domains:int -> (unit -> answer) -> unit
(** Answers every GET at a port of 127.0.0.1 (0: one that is free), says on standard output
    where, and returns after SIGINT. Each domain answers one request at a time. *)
