(* Two domains: one makes items, the other uses them, through a place for one batch. The arguments: items in a batch,
   items in all. *)

let work item =
  let value = ref 1 in
  for left = 1 to 400 do
    value := ((!value * 7919) + left + item) mod 1000003
  done;
  !value

let mutex = Mutex.create ()
let changed = Condition.create ()
let place = ref [||]

let put batch =
  Mutex.lock mutex;
  while Array.length !place > 0 do
    Condition.wait changed mutex
  done;
  place := batch;
  Condition.broadcast changed;
  Mutex.unlock mutex

let take () =
  Mutex.lock mutex;
  while Array.length !place = 0 do
    Condition.wait changed mutex
  done;
  let batch = !place in
  place := [||];
  Condition.broadcast changed;
  Mutex.unlock mutex;
  batch

let () =
  let batch = int_of_string Sys.argv.(1) and items = int_of_string Sys.argv.(2) in
  let rounds = items / batch in
  let maker = Domain.spawn (fun () -> for _ = 1 to rounds do put (Array.init batch work) done) in
  let sum = ref 0 in
  for _ = 1 to rounds do
    Array.iter (fun item -> sum := !sum + work item) (take ())
  done;
  Domain.join maker;
  Printf.printf "%d\n" !sum
