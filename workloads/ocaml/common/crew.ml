type mode =
  | Processes
  | Domains
  | Main

let mode_of_string = function
  | "processes" -> Processes
  | "domains" -> Domains
  | "main" -> Main
  | other -> failwith (other ^ " is none of processes, domains, main")

let argument n default = if Array.length Sys.argv > n then Sys.argv.(n) else default
let number n default = int_of_string (argument n (string_of_int default))

(* What a child found comes back through a pipe, as eight bytes. *)
let start_process work i =
  let from_child, to_parent = Unix.pipe () in
  match Unix.fork () with
  | 0 ->
    Unix.close from_child;
    let answer = Bytes.create 8 in
    Bytes.set_int64_le answer 0 (Int64.of_int (work i));
    let written = Unix.write to_parent answer 0 8 in
    Unix._exit (if written = 8 then 0 else 1)
  | pid ->
    Unix.close to_parent;
    (pid, from_child)

let join_process (pid, from_child) =
  let answer = Bytes.create 8 in
  let read = Unix.read from_child answer 0 8 in
  Unix.close from_child;
  match Unix.waitpid [] pid with
  | _, Unix.WEXITED 0 when read = 8 -> Int64.to_int (Bytes.get_int64_le answer 0)
  | _ -> failwith "a worker failed"

let spawn work i = Domain.spawn (fun () -> work i)
let sum join started = List.fold_left (fun all one -> all + join one) 0 started

let run mode workers work =
  match mode with
  | Processes -> sum join_process (List.init workers (start_process work))
  | Domains -> sum Domain.join (List.init workers (spawn work))
  | Main ->
    let others = List.init (workers - 1) (fun i -> spawn work (i + 1)) in
    let own = work 0 in
    own + sum Domain.join others
