let () =
  let small = Array.init 300_000 (fun n -> Array.make 12 n) in
  let large = Array.init 200 (fun n -> Array.make 10_000 n) in
  for round = 1 to 40 do
    ignore (Sys.opaque_identity (List.init 50_000 (fun n -> n + round)));
    if round mod 4 = 0 then Gc.full_major ();
    Unix.sleepf 0.02
  done;
  print_int (Array.length small + Array.length large)
