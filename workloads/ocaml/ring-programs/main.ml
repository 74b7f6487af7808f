let busy seconds =
  let until = Unix.gettimeofday () +. seconds in
  let count = ref 0 in
  while Unix.gettimeofday () < until do
    for _ = 1 to 1000 do ignore (Sys.opaque_identity (ref !count)) done;
    incr count
  done
let domains count seconds =
  List.init (count - 1) (fun _ -> Domain.spawn (fun () -> busy seconds)) |> fun others ->
  busy seconds; List.iter Domain.join others
let together count =
  let over = Atomic.make false in
  let rest () = while not (Atomic.get over) do busy 0.01 done in
  let others = List.init (count - 1) (fun _ -> Domain.spawn rest) in
  Atomic.set over true; List.iter Domain.join others
let wait pid = ignore (Unix.waitpid [] pid)
let () =
  match Array.to_list Sys.argv with
  | _ :: "domains" :: count :: seconds :: _ ->
    domains (int_of_string count) (float_of_string seconds); print_endline "done"
  | _ :: "together" :: count :: _ -> together (int_of_string count); print_endline "done"
  | _ :: "collect" :: count :: _ ->
    for _ = 1 to int_of_string count do ignore (Sys.opaque_identity (ref 0)); Gc.minor () done;
    print_endline "done"
  | _ :: "children" :: _ ->
    (match Unix.fork () with 0 -> busy 1.0; print_endline "forked"; exit 0 | pid -> wait pid);
    wait (Unix.create_process Sys.executable_name [| "p"; "domains"; "1"; "1.0" |] Unix.stdin Unix.stdout Unix.stderr);
    busy 0.5;
    Unix.execv Sys.executable_name [| "p"; "domains"; "1"; "1.0" |]
  | _ -> prerr_endline "what?"; exit 2
