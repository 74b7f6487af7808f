let () =
  if Array.length Sys.argv > 1 then failwith Sys.argv.(1);
  let kept = ref [] in
  for i = 1 to 300_000 do if i mod 7 = 0 then kept := (i, string_of_int i) :: !kept done;
  Printf.printf "%d\n" (List.length !kept)
