(* Two domains allocate, promote and collect; user events around it. What the corpus's
   rings are made of: collect.exe DOMAINS ROUNDS *)

module R = Runtime_events

type R.User.tag += Step | Span | Mark

let step = R.User.register "corpus.step" Step R.Type.int
let span = R.User.register "corpus.span" Span R.Type.span
let mark = R.User.register "corpus.mark" Mark R.Type.unit
let kept = Array.make 64 []

let work domain rounds () =
  for round = 1 to rounds do
    R.User.write span R.Type.Begin;
    kept.((domain * 8) + (round mod 8)) <- List.init 1000 (fun n -> (n, Bytes.create 16));
    R.User.write span R.Type.End;
    if round mod 10 = 0 then R.User.write step (round - 50)
  done

let () =
  let domains = int_of_string Sys.argv.(1) and rounds = int_of_string Sys.argv.(2) in
  R.User.write mark ();
  Array.init domains (fun n -> Domain.spawn (work n rounds)) |> Array.iter Domain.join;
  Gc.full_major ();
  Gc.compact ();
  ignore (Sys.opaque_identity kept)
