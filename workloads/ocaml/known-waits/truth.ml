(* What is true of the threads of a program, one JSON object a line. *)

external thread : unit -> int = "known_thread"
external now : unit -> int = "known_now"

type t = {
  (* The system's number, once the thread has reported it. *)
  who : int;
  (* What it is a case of. *)
  case : string;
  (* A word of rtscope's. *)
  kind : string;
  (* The function on top of its stack. *)
  place : string;
  (* The thing: those that wait for the same have the same text. *)
  thing : string option;
  (* The thread that holds it, and what that thread does, in rtscope's terms. *)
  holder : (int * string) option;
  (* The function of the program that it called, where it is in foreign code. *)
  callee : string option;
}

let text = function Some text -> Printf.sprintf "%S" text | None -> "null"

let write it =
  let holder, doing =
    match it.holder with
    | Some (who, does) -> (string_of_int who, Printf.sprintf "[%S]" does)
    | None -> ("null", "[]")
  in
  Printf.printf
    "{\"phase\":1,\"thread\":%d,\"case\":%S,\"kind\":%S,\"place\":%S,\"object\":%s,\"holder\":%s,\"doing\":%s,\"callee\":%s}\n"
    it.who it.case it.kind it.place (text it.thing) holder doing (text it.callee)

(* From when to when all that was written holds. *)
let write_times from until = Printf.printf "{\"phase\":1,\"from\":%d,\"to\":%d}\n%!" from until
