(* keeper MODE WORKERS MILLIONS KEPT: each worker makes so many million lists of three
   and keeps the last KEPT of them: short-lived for a minor heap that holds more than
   those, long-lived for one that holds less. *)

let keep millions kept _ =
  let last = Array.make kept [] in
  for i = 0 to (millions * 1_000_000) - 1 do
    Array.unsafe_set last (i mod kept) [ i; i + 1; i + 2 ]
  done;
  ignore (Sys.opaque_identity last);
  millions

let () =
  let mode = Crew.mode_of_string (Crew.argument 1 "main") in
  let work = keep (Crew.number 3 20) (Crew.number 4 10_000) in
  Printf.printf "solves %d\n" (Crew.run mode (Crew.number 2 1) work)
