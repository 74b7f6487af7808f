(* Two things that are wrong, one after the other. The arguments: for how many tenths of a second it recurs deeply and
   allocates on its way, so that each collection scans the stack; for how many it sorts by the comparison of any type;
   whether it sorts first. *)

let keep value = ignore (Sys.opaque_identity value)

let during tenths what =
  let deadline = Unix.gettimeofday () +. (float_of_string tenths /. 10.) in
  while Unix.gettimeofday () < deadline do
    what ()
  done

let fields line = String.split_on_char ';' (Printf.sprintf "%d;%d;%d;name" line (line * 7) (line land 255))
let rec deep left = if left = 0 then 0 else List.length (fields left) + deep (left - 1)

type order = { day : int; amount : int; number : int }

let orders = List.init 1_000 (fun at -> { day = at * 7919 mod 50; amount = at * 31 mod 7; number = at })

let () =
  let scans () = during Sys.argv.(1) (fun () -> keep (deep 300_000)) in
  let compares () = during Sys.argv.(2) (fun () -> keep (List.sort compare orders)) in
  if Sys.argv.(3) = "compares-first" then (compares (); scans ()) else (scans (); compares ())
