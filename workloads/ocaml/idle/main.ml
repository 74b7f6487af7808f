(* idle IDLERS MILLIONS: the main domain makes so many million short-lived references
   next to so many domains that wait for work which never comes. *)

let mutex = Mutex.create ()
let changed = Condition.create ()
let over = ref false

let wait_for_work () =
  Mutex.lock mutex;
  while not !over do
    Condition.wait changed mutex
  done;
  Mutex.unlock mutex

let () =
  let idlers = List.init (Crew.number 1 1) (fun _ -> Domain.spawn wait_for_work) in
  let millions = Crew.number 2 200 in
  for _ = 1 to millions do
    for _ = 1 to 1_000_000 do
      ignore (Sys.opaque_identity (ref ()))
    done
  done;
  Mutex.lock mutex;
  over := true;
  Condition.broadcast changed;
  Mutex.unlock mutex;
  List.iter Domain.join idlers;
  Printf.printf "solves %d\n" millions
