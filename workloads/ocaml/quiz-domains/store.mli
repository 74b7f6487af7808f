(** What the service keeps in memory: questions, and what it knows of each student. *)

module Numbers : Map.S with type key = int

type question = { number : int; difficulty : float; prompt : string; choices : string list; right : int }
type answer = { question : int; chosen : int; correct : bool }

type student = {
  mastery : float Numbers.t;  (** by topic, 0 to 1 *)
  seen : int Numbers.t;  (** by question: in which of the student's quizzes it was last *)
  quizzes : int;
  recent : answer list;
}

type t

val make : int -> t
(** With so many students. *)

val topics : int
val topic : t -> int -> question list
val in_topic : question -> int

val change : t -> int -> (student -> student * 'a) -> int * student * 'a
(** [change store turn f] puts [f student] in a student's place; no other domain changes it
    meanwhile. Which one follows from the turn. Gives its number and what it was before. *)

val mix : int -> int
(** Scatters numbers; never negative. *)
