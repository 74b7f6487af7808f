external busy : int -> int = "busy_stub"
let () =
  let over = Atomic.make false in
  let call () = while not (Atomic.get over) do ignore (Sys.opaque_identity (busy 20)) done in
  let beside = Domain.spawn call in
  for _ = 1 to 15_000_000 do ignore (Sys.opaque_identity (ref 0)) done;
  Atomic.set over true;
  Domain.join beside
