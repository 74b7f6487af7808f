(* allocator MODE WORKERS MILLIONS: each worker makes so many million short-lived
   references, as the simple allocator of the article does. *)

let allocate millions _ =
  for _ = 1 to millions do
    for _ = 1 to 1_000_000 do
      ignore (Sys.opaque_identity (ref ()))
    done
  done;
  millions

let () =
  let mode = Crew.mode_of_string (Crew.argument 1 "domains") in
  let done_ = Crew.run mode (Crew.number 2 2) (allocate (Crew.number 3 200)) in
  Printf.printf "solves %d\n" done_
