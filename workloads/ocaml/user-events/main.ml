open Runtime_events
type User.tag += Solve | Inner | Odd | Restart | Depth
let solve = User.register "solve" Solve Type.span
let inner = User.register "inner" Inner Type.span
let odd = User.register "odd" Odd Type.span
let restart = User.register "restart" Restart Type.unit
let depth = User.register "depth" Depth Type.int
let work n =
  let l = ref [] in
  for i = 1 to n do l := string_of_int i :: !l done;
  ignore (Sys.opaque_identity !l)
let body step () =
  for i = 1 to 200 do
    User.write solve Begin;
    work 5_000;
    User.write inner Begin;
    work 500;
    User.write depth (i * step - 3);
    if i mod 10 = 0 then User.write restart ();
    (* Out of order now and then, as fibres do. *)
    if i mod 2 = 0 then (User.write inner End; User.write solve End)
    else (User.write solve End; User.write inner End)
  done
let () =
  start ();
  let other = Domain.spawn (body 2) in
  body 1 ();
  User.write odd End;
  User.write odd Begin;
  Domain.join other
