(* held WAY MILLIONS: the main domain makes so many million short-lived references while
   another one calls C code of 20 ms again and again, with its domain lock held or
   released. *)

external busy_held : int -> int = "busy_held"
external busy_released : int -> int = "busy_released"
external sleep_held : int -> int = "sleep_held"
external sleep_released : int -> int = "sleep_released"

let steps = 10_000_000

let call = function
  | "busy" -> fun () -> busy_held steps
  | "busy-released" -> fun () -> busy_released steps
  | "sleep" -> fun () -> sleep_held 20
  | "sleep-released" -> fun () -> sleep_released 20
  | other -> failwith (other ^ " is no way to call")

let () =
  let call = call (Crew.argument 1 "busy") in
  let millions = Crew.number 2 200 in
  let over = Atomic.make false in
  let caller () =
    let calls = ref 0 in
    while not (Atomic.get over) do
      ignore (Sys.opaque_identity (call ()));
      incr calls
    done;
    !calls
  in
  let beside = Domain.spawn caller in
  for _ = 1 to millions do
    for _ = 1 to 1_000_000 do
      ignore (Sys.opaque_identity (ref ()))
    done
  done;
  Atomic.set over true;
  Printf.printf "solves %d, calls %d\n" millions (Domain.join beside)
