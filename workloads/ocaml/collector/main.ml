(* collector WAY MIB ROUNDS: a program with so many MiB of small live values does so
   many rounds of work, and after each calls
   - [full]: [Gc.full_major], as programs do that once leaked;
   - [compact]: [Gc.compact];
   - [never]: nothing. *)

let collect = function
  | "full" -> Gc.full_major
  | "compact" -> Gc.compact
  | "never" -> Fun.id
  | other -> failwith (other ^ " is no way to collect")

let round _ =
  let sum = ref 0 in
  for i = 1 to 2_000_000 do
    sum := !sum + List.length (Sys.opaque_identity [ i; i ])
  done;
  !sum

let () =
  let collect = collect (Crew.argument 1 "full") in
  let mib = Crew.number 2 200 and rounds = Crew.number 3 20 in
  (* A list cell has 24 bytes with its header. *)
  let live = List.init (mib * 1024 * 1024 / 24) Fun.id in
  let work _ =
    for i = 1 to rounds do
      ignore (Sys.opaque_identity (round i));
      collect ()
    done;
    rounds
  in
  let done_ = Crew.run Crew.Main (Crew.number 4 1) work in
  Printf.printf "solves %d, live %d\n" done_ (List.length (Sys.opaque_identity live))
